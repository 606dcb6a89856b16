"""Exact audits of single steps on tiny domains: the automaton that relabels, and the perturbation of records.

Whole runs are audited in :mod:`geomdp.learners.audits`, which lists these with its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.learners.accounting import Layout, allocate, factor
from geomdp.learners.carry_forward import CarryForwardLearner
from geomdp.learners.classes.boolean import Boolean
from geomdp.learners.classes.halfspace import Halfspaces
from geomdp.learners.composition import Loss
from geomdp.learners.domains import Explicit, Integers
from geomdp.learners.modes import RunPlan
from geomdp.learners.perturbation import Perturbation
from geomdp.learners.relabel.automaton import Trellis
from geomdp.learners.relabel.carrier_boost import carrier_boost
from geomdp.learners.relabel.label_boost import label_boost, stacked
from geomdp.privacy.audit import Audit
from geomdp.privacy.runs import Runs, audit_program
from geomdp.testers.audits.check import Check

#: (point, label) of every record.
Data = tuple[tuple[int, int], ...]
View = Callable[[NDArray[Any], NDArray[Any], Runs], Hashable]
LOUD = Fraction(6)
#: Labels of the carrier's three points under x >= s xor x >= t: all but + - +.
XOR = Boolean.of(lambda s, t: s != t, 2, Integers(0, 2))
CARRIER = np.array([[0], [1], [2]])


def audit(view: View, points: Sequence[int], n: int) -> Audit:
    """Audit a view of n labelled records on a line over all neighbouring datasets.

    Example:
        >>> from geomdp.privacy.runs import clamp
        >>> def noisy(X, y, runs):
        ...     return clamp(int((y > 0).sum()) + int(runs.discrete_laplace(Fraction(1), 1)[0]), -1, 3)
        >>> audit(noisy, (0,), 2).holds(Fraction(1) + Fraction(1, 10**9))
        True
    """
    records = list(product(points, (-1, 1)))
    pairs = [
        (data, (*data[:i], other, *data[i + 1 :]))
        for data in product(records, repeat=n)
        for i in range(n)
        for other in records
        if other != data[i]
    ]

    def program(data: Data, runs: Runs) -> Hashable:
        X = np.array([[x] for x, _ in data])
        return view(X, np.array([label for _, label in data], dtype=np.int8), runs)

    return audit_program(program, pairs, 5)


def relabelled(boost: Callable[..., Any], epsilon: Fraction) -> View:
    """Return the view of who sees the carrier's labels alone."""
    return lambda X, y, runs: tuple(boost(XOR, X, y, CARRIER, epsilon, runs).labels_T.tolist())


def _counted_twice(X: NDArray[Any], y: NDArray[Any], runs: Runs) -> Hashable:
    """Draw from an automaton in which each agreement counts twice."""
    trellis = XOR.carrier_labelings(*stacked(X, y, CARRIER)).trellis
    layers = tuple(
        tuple(tuple(arc._replace(gain=2 * arc.gain) for arc in arcs) for arcs in layer)
        for layer in trellis.layers
    )
    return Trellis(layers).sample(LOUD, runs)


def _perturbation(n: int) -> Perturbation:
    return Perturbation(1, 1, n, Fraction(99, 100))


#: Thresholds on perturbed records; all but one of either sign are on the same side of most of them.
SKEWED = Halfspaces((Explicit([Fraction(1, 2), *(Fraction(-i, 100) for i in range(50, 66))]),), merged=True)


def _learner(n: int, m: int, epsilon: Fraction) -> CarryForwardLearner:
    """Return a learner of one component on a sample of m out of n records."""
    layout = Layout((epsilon,), ())
    allocation = replace(allocate(layout, (m,), epsilon), epsilon=epsilon)
    (reservoir,) = allocation.reservoirs
    allocation = replace(allocation, reservoirs=(replace(reservoir, size=n),))
    return CarryForwardLearner(
        SKEWED, RunPlan("validated", layout, (m,), allocation, ""), shuffle=False, strict=True
    )


def perturbed(m: int, epsilon: Fraction) -> View:
    """Return the release of a learner that perturbs its records."""

    def view(X: NDArray[Any], y: NDArray[Any], runs: Runs) -> Hashable:
        moved = _perturbation(len(X)).apply(X, runs)
        return _learner(len(X), m, epsilon).fit(moved, y, runs).components

    return view


def _led(X: NDArray[Any], y: NDArray[Any], runs: Runs) -> Hashable:
    """Move all records by the first one's label."""
    moved = _perturbation(len(X))
    shift = moved.spread if y[0] > 0 else -moved.spread
    table = np.array([[int(x) * moved.resolution + shift] for (x,) in X], dtype=object)
    return _learner(len(X), len(X), LOUD).fit(table, y, runs).components


def checks() -> Iterator[Check]:
    """Yield the audits of single steps."""
    boosted = Fraction(Loss(factor("label-boost", LOUD, "sample")).epsilon)
    automaton = "the carrier's labels; two labelled records on three points, exclusive or of two thresholds"
    yield Check(
        "relabelling: CarrierBoost by an automaton",
        automaton,
        LOUD,
        partial(audit, relabelled(carrier_boost, LOUD), (0, 1, 2), 2),
    )
    yield Check(
        "relabelling: LabelBoost by an automaton",
        automaton,
        boosted,
        partial(audit, relabelled(label_boost, LOUD), (0, 1, 2), 2),
    )
    yield Check(
        "perturbation: one record, every noise",
        "the released component; one record on three points",
        LOUD,
        partial(audit, perturbed(1, LOUD), (-1, 0, 1), 1),
    )


def planted() -> Iterator[Check]:
    """Yield the planted bugs of single steps."""
    yield Check(
        "relabelling: agreements counted twice",
        "the carrier's labels; two labelled records on three points",
        LOUD,
        partial(audit, _counted_twice, (0, 1, 2), 2),
        bug="the automaton's gains are doubled",
    )
    yield Check(
        "perturbation: noise led by a label",
        "the released component; two records on two points",
        LOUD,
        partial(audit, _led, (0, 1), 2),
        bug="all records are moved by the first one's label",
    )
