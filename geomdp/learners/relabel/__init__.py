"""Private relabelling of an active sample by a hypothesis of a prefix class."""
