"""Classes with a tiny domain each, for audits over all tiny inputs: (class, points, records of S, of T)."""

from __future__ import annotations

from fractions import Fraction

from geomdp.learners.classes.halfspace import Halfspaces
from geomdp.learners.classes.interval import intervals
from geomdp.learners.classes.threshold import thresholds
from geomdp.learners.domains import Dyadic, Integers
from support.listed import Listed

GRID = Dyadic(2, 1)
LINE = Integers(-1, 4)
#: exp(epsilon/2), as a rational: the comparisons hold for every real number above 1
BASES = (Fraction(9, 8), Fraction(2), Fraction(30))
FIVE = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]
THREE = [(0,), (1,), (2,)]
CLASSES = {
    "thresholds": (thresholds(LINE), THREE, 2, 2),
    "intervals": (intervals(LINE), THREE, 2, 2),
    "intervals after t_1": (intervals(LINE).extend(Fraction(1)), THREE, 2, 2),
    "points": (Listed([lambda x, a=a: 1 if x == a else -1 for a in range(4)]), THREE, 2, 2),
    "all": (Listed([lambda x, b=b: 1 if b >> x & 1 else -1 for b in range(8)]), THREE, 2, 2),
    "halfspaces d=1": (Halfspaces((GRID,)), [(-1,), (0,), (1,)], 2, 2),
    "halfspaces d=1 after w": (Halfspaces((GRID,)).extend(Fraction(1)), [(-1,), (0,), (2,)], 2, 2),
    "halfspaces d=2": (Halfspaces((GRID, GRID)), FIVE, 1, 2),
    "halfspaces d=2 after w": (Halfspaces((GRID, GRID)).extend(Fraction(1)), FIVE, 1, 2),
    "halfspaces d=2 after (w, a_1)": (
        Halfspaces((GRID, GRID), merged=True).extend((Fraction(1), Fraction(1))), FIVE, 1, 2,
    ),
}  # fmt: skip
