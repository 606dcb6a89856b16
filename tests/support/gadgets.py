"""Small codes for tests of hard instances."""

from lp_gadgets.instance import HardInstance
from lp_gadgets.tanner import TannerCode

#: (graph, q, embedding, encoding): every encoding and embedding, redundant and one-sided checks.
SMALL = (
    ("fano", 2, "parabola", "facets"),
    ("fano", 2, "cube", "facets"),
    ("fano", 2, "parabola", "implications"),
    ("fano", 4, "cube", "facets"),
    ("fano", 4, "parabola", "facets"),
    ("fano", 4, "cube", "implications"),
    ("chain", 4, "parabola", "facets"),
    ("degenerate", 2, "parabola", "facets"),
    ("degenerate", 4, "cube", "facets"),
    ("degenerate", 4, "parabola", "tree"),
    ("wide", 4, "parabola", "tree"),
    ("wide", 4, "parabola", "implication tree"),
    ("wide", 2, "parabola", "tree"),
    ("wide", 4, "cube", "tree"),
)


def graph(name):
    """Return one of the named graphs."""
    if name == "fano":
        return TannerCode.geometry("Fano")
    if name == "chain":
        return TannerCode(3, ((0, 1), (1, 2)), "chain")
    if name == "degenerate":  # an empty check, a repetition, a check of one variable, an isolated variable
        return TannerCode(5, ((), (0, 1, 2), (0, 1, 2), (3,), (1, 2)), "degenerate")
    return TannerCode(8, ((0, 1, 2, 3, 4), (2, 3, 4, 5), (1, 4, 5, 6, 7), (0, 6, 7)), "wide")


def small_instance(name, q, embedding, encoding, J=40, L=3):
    """Return a hard instance on a named graph."""
    return HardInstance(graph(name), q, J, L, embedding=embedding, encoding=encoding)
