"""Classes of hypotheses that are fixed component by component."""
