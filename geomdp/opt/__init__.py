"""opt_H exactly: one file per algorithm behind one front door."""
