"""One file per tester, and the planner that chooses among them by certified resolution."""
