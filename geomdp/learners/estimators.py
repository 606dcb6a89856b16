"""Front door in the style of scikit-learn: fit(X, y), predict(X), plain parameters.

Parameters are plain values; budget, ledger and randomness live outside them. With `random_state=None` the
operating system's entropy is used and the result is a private release; with an integer the run can be
repeated, is marked as simulated, and is no release.

Nothing but the following is taken from the data: the hypothesis, drawn by a private mechanism. The number of
records, the labels' names and the grid are public parameters. Records off the grid are moved to the nearest
grid point, each one by itself, which keeps neighbours neighbours. A fitted object holds no record. Promises
are about the records as moved: points of different labels that meet on one grid point are realizable no more.

The guarantee is that of one fit on records prepared by public constants. A scaler, selector or imputer fitted
on the same records depends on all of them, and the guarantee of a pipeline with it is void. A search over
parameters and a cross-validation fit many times (each fit is a release, losses add up) and compare by scores
that are not private: run them on simulated or public data, then fit once on the records.

Refusals come before the budget is charged, and follow from parameters and public sizes, with one exception: a
table that cannot be read (a missing number, a label that is none of the two) is refused for the eyes of its
holder, who mends it first. Keep such a message to yourself: it may depend on one record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import (
    ArgumentError,
    CapacityError,
    check_beta,
    check_choice,
    check_fraction,
    check_integer,
)
from geomdp.learners.carry_forward import Learned, Progress, Spent
from geomdp.learners.classes.boolean import MOST, Boolean
from geomdp.learners.classes.halfspace import Halfspaces, check_features
from geomdp.learners.domains import Integers
from geomdp.learners.estimator_base import Account, Estimator, Grid
from geomdp.learners.exponential import exponential_halfspace, exponential_thresholds
from geomdp.learners.generic import GenericRun, halfspace_run, tuple_run
from geomdp.learners.growth import Profile, composition_profile, coordinate_domains, halfspace_profile
from geomdp.learners.layouts import draw
from geomdp.learners.perturbation import Perturbation
from geomdp.learners.promises import HALFSPACES, TUPLES
from geomdp.learners.records import as_numbers, compact_domain, halfspace_of, snapped
from geomdp.privacy.sampler import Sampler

#: Rules on k truth values "x >= t_i".
RULES: dict[str, Callable[..., bool]] = {
    "threshold": lambda *passed: passed[0],
    "interval": lambda *passed: passed[0] and not passed[1],
    "xor": lambda *passed: sum(passed) % 2 == 1,
    "majority": lambda *passed: 2 * sum(passed) > len(passed),
}
_FIXED = {"threshold": 1, "interval": 2}
_PERTURBED = 1024  # largest radius of perturbed records in the plane
_WIDE = 2**53  # integers up to here are doubles


@dataclass(repr=False, eq=False)
class PrivateHalfspaceLearner(Estimator):
    """A private linear classifier x -> [<a, x> >= w] on integer records.

    Args:
        epsilon, delta: the guarantee for the replacement of one record. delta = 0 is pure privacy.
        method: "exponential" (the generic mechanism over a public grid of at most 8 features: by far the
            fewest records on every domain that fits a computer; always pure), "carrier-boost" or
            "label-boost" (component by component).
        radius: coordinates are integers in [-radius, radius]; others are moved to the nearest such point.
        scale: public factor by which X is multiplied before that. Choose it so that records with different
            labels stay apart: X in [0, 1] has two places left at scale=1, and promises are about those.
        mode: "validated", "rigorous" (needs alpha; with "exponential" up to two features, and for two on at
            most 5,000 random rows unless alpha needs more) or "paper" (component by component).
        alpha: error that the rigorous mode certifies, at most 1/2; on records as moved to the grid, if there
            they are independent draws that some hypothesis labels without error.
        beta: failure probability of the promise.
        m: sample sizes for the validated mode, component by component; by default as large as n and time
            allow.
        initial: relabel the first sample as the paper does.
        reservoirs: "best", "fresh" or "alternating".
        merged: choose (w, a_1) together.
        coordinates: "compact" (see :func:`compact_domain`: fewer elements, hence fewer records) or
            "complete" (a domain that holds a consistent value in every realizable state; the rigorous mode
            uses it).
        position: "half-open" (records as they are; closed and open constraints tell boundaries apart) or
            "perturbed" (the paper's: each record is moved to general position by noise first, see
            :mod:`geomdp.learners.perturbation`; component by component in up to two features, in modes
            "paper" and "validated"; `coordinates` has no say). Costs no budget, but numbers of many digits.
        shuffle: split rows in random order.
        classes: the public pair of labels, negative one first.
        random_state: None for a release; an integer for a simulated run.

    Attributes:
        classifier_: homogeneous integer weights, the bias last, on scaled coordinates.
        components_: w and a, as they were chosen (of perturbed records: on the rescaled grid).
        perturbation_: its public numbers, or None.
        grid_, classes_: scale, least and largest coordinate, and labels, as they were in the fit; parameters
            set later do not change what is predicted.
        epsilon_, delta_, ledger_, promise_, simulated_: the public account.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.integers(-512, 513, (3000, 2))
        >>> y = np.where(3 * X[:, 0] - X[:, 1] >= 200, "yes", "no")
        >>> learner = PrivateHalfspaceLearner(epsilon=2, classes=("no", "yes"), random_state=1).fit(X, y)
        >>> learner.score(X, y) > 0.9, learner.epsilon_, learner.simulated_
        (True, Fraction(2, 1), True)
    """

    method: str = "exponential"
    radius: int = 512
    _: KW_ONLY
    merged: bool = True
    coordinates: str = "compact"
    position: str = "half-open"

    def fit(
        self, X: Any, y: Any, budget: Account | None = None, progress: Progress = None
    ) -> PrivateHalfspaceLearner:
        """Learn from records.

        Args:
            X: (n, d) numbers, d >= 1.
            y: (n,) labels out of `classes`.
            budget: is charged epsilon before anything is drawn, if given.
            progress: called with the fraction done.

        Returns:
            The learner itself, fitted.

        Raises:
            ArgumentError: on a bad parameter, or when n is too small for what is asked.
            CapacityError: when the class cannot handle samples of the sizes asked for, or so many features
                (more than 3 component by component).
        """
        grid = self._grid()
        table = snapped(X, *grid)
        n, d = table.shape
        self._checked(n)
        names = self._pair()
        check_choice("coordinates", self.coordinates, ("compact", "complete"))
        check_choice("position", self.position, ("half-open", "perturbed"))
        signs = self._signs(y, n, names)
        moved: Perturbation | None = None
        if self.method == "exponential":
            if self.position != "half-open":
                mend = "The perturbation belongs to 'carrier-boost' and 'label-boost'."
                raise ArgumentError(
                    "position", "'half-open' with method='exponential'", repr(self.position), mend
                )
            goal = self._goal()
            run = halfspace_run(d, self.radius, n, goal)
            assert run.grid is not None  # noqa: S101 - of halfspaces
            sampler = self._sampler()
            self._charge(budget)
            rows = draw(range(n), run.rows, sampler)  # all of them as they are, or a uniform subset
            classifier = exponential_halfspace(
                table[rows], signs[rows], run.grid, goal.epsilon, sampler, progress=progress
            )
            learned = _generic(classifier.weights, run, n, self.mode, goal.epsilon, sampler)
        else:
            moved = self._perturbation(d, n)
            learned = self._by_components(table, signs, moved, budget, progress)
            found = learned.components
            classifier = halfspace_of(found) if moved is None else moved.classifier(found)
        self._record(learned, names, grid, d)
        self.classifier_, self.perturbation_ = classifier, moved
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels of records, moved to the grid as for :meth:`fit`.

        Raises:
            ArgumentError: unless ``X`` is a table with the columns of the fit.
        """
        self._fitted()
        table = snapped(X, *self.grid_, self.n_features_in_)
        return self._named(self.classifier_.predict(np.column_stack([table, np.ones(len(table), np.int64)])))

    def _by_components(
        self,
        table: NDArray[np.int64],
        signs: NDArray[np.int8],
        moved: Perturbation | None,
        budget: Account | None,
        progress: Progress,
    ) -> Learned:
        """Learn component by component."""
        d = table.shape[1]
        check_features(d)
        C, profile = self._shape(d, moved)
        C = replace(C, radius=self.radius)
        most = None
        if self.mode == "validated" and self.m is None:
            most = C.largest(self.radius, self.method, initial=self.initial)
        records = table, signs
        return self._learn(C, profile, records, budget, progress, most=most, moved=moved, grid=HALFSPACES)

    def _perturbation(self, d: int, n: int) -> Perturbation | None:
        """Return the paper's perturbation, or None where records stay as they are."""
        if self.position == "half-open":
            return None
        if self.mode == "rigorous":
            raise ArgumentError(
                "position",
                "'half-open' in mode 'rigorous'",
                "'perturbed'",
                "Noise certifies nothing more.",
            )
        if d > 2:
            raise CapacityError(
                "X",
                "of at most 2 features with position='perturbed'",
                f"of {d}",
                "In three, coordinates have 10^5 bits. Use position='half-open'.",
            )
        if d == 2 and self.radius > _PERTURBED:
            mend = "Its 64th power enters each coordinate. Use position='half-open'."
            raise CapacityError(
                "radius",
                f"at most {_PERTURBED:,} with position='perturbed' in two features",
                self.radius,
                mend,
            )
        return Perturbation(d, self.radius, n, check_beta(self.beta))

    def _shape(self, d: int, moved: Perturbation | None) -> tuple[Halfspaces, Profile]:
        """Return the class with its coordinate domains, and what sample sizes depend on."""
        if moved is not None:
            return Halfspaces(moved.domains(), self.merged), moved.profile(merged=self.merged)
        profile = halfspace_profile(d, self.radius, merged=self.merged)
        if self.coordinates == "complete" or self.mode != "validated":
            return Halfspaces(coordinate_domains(d, self.radius), self.merged), profile
        domain = compact_domain(self.radius)
        first = (2 * domain.size,) if self.merged else (2, domain.size)
        sizes = (*first, *(domain.size for _ in range(d - 1)))
        return Halfspaces((domain,) * d, self.merged), replace(profile, sizes=sizes)

    def _grid(self) -> Grid:
        radius = check_integer("radius", self.radius, 1, 2**26)
        return check_fraction("scale", self.scale), -radius, radius


@dataclass(repr=False, eq=False)
class PrivateThresholdTuple(Estimator):
    """A private classifier of numbers, x -> G(x >= t_1, ..., x >= t_k).

    Args:
        epsilon, delta: the guarantee for the replacement of one record.
        rule: "threshold" (k = 1), "interval" (k = 2), "xor" or "majority" of k.
        k: number of thresholds, 1 to 6; None for the rule's own, or 2.
        low, high: thresholds and records are integers in low..high.
        method: "exponential" (over all tuples: far fewer records), "carrier-boost" (k <= 2, or few records)
            or "label-boost".
        scale, mode, alpha, beta, m, initial, reservoirs, shuffle, classes, random_state: as for
            :class:`PrivateHalfspaceLearner`.

    Attributes:
        classifier_: the thresholds.
        grid_, classes_: scale, low and high, and labels, as they were in the fit.
        components_, epsilon_, delta_, ledger_, promise_, simulated_: the public account.

    Example:
        >>> X = np.arange(4000).reshape(-1, 1) % 1000
        >>> y = np.where((X[:, 0] >= 200) & (X[:, 0] < 600), 1, -1)
        >>> learner = PrivateThresholdTuple(2, rule="interval", high=999, random_state=0).fit(X, y)
        >>> learner.score(X, y) > 0.9
        True
    """

    rule: str = "interval"
    k: int | None = None
    _: KW_ONLY
    low: int = 0
    high: int = 1023

    def fit(
        self, X: Any, y: Any, budget: Account | None = None, progress: Progress = None
    ) -> PrivateThresholdTuple:
        """Learn from records: X is (n, 1) or (n,), y (n,) labels; budget and progress as for halfspaces.

        Returns:
            The learner itself, fitted.

        Raises:
            ArgumentError: on a bad parameter, or when n is too small for what is asked.
        """
        C, grid = self._class(), self._grid()
        table = snapped(_column(X), *grid, 1)
        n = len(table)
        self._checked(n)
        names = self._pair()
        signs = self._signs(y, n, names)
        if self.method == "exponential":
            goal = self._goal()
            run = tuple_run(C.k, C.thresholds.size, n, goal)
            sampler = self._sampler()
            self._charge(budget)
            drawn = exponential_thresholds(table, signs, C.thresholds, C.table, goal.epsilon, sampler)
            end = Fraction(self.high + 1)
            values = tuple(end if t is None else Fraction(t) for t in drawn.values)
            learned = _generic(values, run, n, self.mode, goal.epsilon, sampler)
        else:
            profile = composition_profile(C.k, C.thresholds.size)
            learned = self._learn(C, profile, (table, signs), budget, progress, grid=TUPLES)
        self._record(learned, names, grid, 1)
        self.classifier_, self._hypotheses = self.components_, C
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels of records X, moved to the grid as for :meth:`fit`."""
        self._fitted()
        table = snapped(_column(X), *self.grid_, 1)
        return self._named(self._hypotheses.predict(self.components_, table))

    def _class(self) -> Boolean:
        check_choice("rule", self.rule, tuple(RULES))
        fixed = _FIXED.get(self.rule, 2)
        k = fixed if self.k is None else check_integer("k", self.k, 1, MOST)
        if self.rule in _FIXED and k != fixed:
            raise ArgumentError("k", f"{fixed} or None for rule {self.rule!r}", k)
        _, low, high = self._grid()
        return Boolean.of(RULES[self.rule], k, Integers(low, high))

    def _grid(self) -> Grid:
        low = check_integer("low", self.low, -_WIDE, _WIDE)
        return check_fraction("scale", self.scale), low, check_integer("high", self.high, low, _WIDE)


def _column(X: Any) -> NDArray[np.float64]:
    """Return numbers as a table; a list of them is its only column."""
    values = as_numbers(X)
    return values.reshape(-1, 1) if values.ndim == 1 else values


def _generic(  # noqa: PLR0917 - the public account, item by item
    components: Sequence[Any], run: GenericRun, n: int, mode: str, epsilon: Fraction, sampler: Sampler
) -> Learned:
    loss = float(epsilon)
    shown = loss if Fraction(loss) >= epsilon else math.nextafter(loss, math.inf)
    row = Spent("all", run.rows, n, shown, shown, Fraction(0))
    return Learned(tuple(components), epsilon, Fraction(0), (row,), mode, run.promise, sampler.simulated)
