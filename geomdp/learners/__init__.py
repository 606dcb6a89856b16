"""Private learners that choose a hypothesis component by component, and the practical ones beside them."""
