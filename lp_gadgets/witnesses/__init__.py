"""Points of a program: what proves that it is feasible, or that an optimum is no larger."""
