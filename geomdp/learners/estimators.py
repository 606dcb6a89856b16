"""Front door in the style of scikit-learn: fit(X, y), predict(X), plain parameters.

Parameters are plain values; budget, ledger and randomness live outside them. With `random_state=None` the
operating system's entropy is used and the result is a private release; with an integer the run can be
repeated, is marked as simulated, and is no release.

Nothing but the following is taken from the data: the hypothesis, drawn by a private mechanism. The number of
records, the labels' names and the grid are public parameters. Records off the grid are moved to the nearest
grid point, each one by itself, which keeps neighbours neighbours. A fitted object holds no record.

Refusals come before the budget is charged, and follow from parameters and public sizes, with one exception: a
table that cannot be read (a missing number, a label that is none of the two) is refused for the eyes of its
holder, who mends it first. Keep such a message to yourself: it may depend on one record.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import (
    ArgumentError,
    check_beta,
    check_choice,
    check_epsilon,
    check_fraction,
    check_integer,
)
from geomdp.learners import modes
from geomdp.learners.carry_forward import CarryForwardLearner, Learned, Progress, Spent
from geomdp.learners.classes.base import PrefixClass
from geomdp.learners.classes.boolean import MOST, Boolean
from geomdp.learners.classes.halfspace import Halfspaces
from geomdp.learners.domains import Integers, OrderedDomain
from geomdp.learners.exponential import exponential_halfspace, exponential_thresholds
from geomdp.learners.generic import GenericRun, Goal, halfspace_run, tuple_run
from geomdp.learners.growth import Profile, composition_profile, coordinate_domains, halfspace_profile
from geomdp.learners.layouts import draw
from geomdp.learners.records import as_numbers, compact_domain, halfspace_of, snapped
from geomdp.privacy.sampler import Sampler, SecureSampler, SimSampler

METHODS = ("carrier-boost", "label-boost", "exponential")
#: Rules on k truth values "x >= t_i".
RULES: dict[str, Callable[..., bool]] = {
    "threshold": lambda *passed: passed[0],
    "interval": lambda *passed: passed[0] and not passed[1],
    "xor": lambda *passed: sum(passed) % 2 == 1,
    "majority": lambda *passed: 2 * sum(passed) > len(passed),
}
_FIXED = {"threshold": 1, "interval": 2}
_RESERVOIRS = ("best", "fresh", "alternating")
_WIDE = 2**53  # integers up to here are doubles


class Account(Protocol):
    """What a release is charged to, such as a :class:`geomdp.privacy.budget.Budget`."""

    def spend(self, epsilon: Fraction) -> None:
        """Charge a release, or raise an error; called once, before anything is drawn."""


class _Estimator:
    """What both learners share: parameters, labels, the choice of the sampler and the account."""

    epsilon: Any
    delta: Any
    method: str
    mode: str
    alpha: Any
    beta: Any
    m: Any
    initial: bool
    reservoirs: str
    shuffle: bool
    classes: tuple[Any, Any]
    random_state: int | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as they were given."""
        del deep  # no parameter is an estimator
        return {name: getattr(self, name) for name in _names(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Raises:
            ArgumentError: on a name that is none.
        """
        for name, value in params.items():
            check_choice("params", name, _names(type(self)))
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value != defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classifier_")

    def __sklearn_tags__(self) -> Any:  # called by scikit-learn only, which is then installed
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=False),
            input_tags=InputTags(),
        )

    def score(self, X: Any, y: Any) -> float:
        """Return the share of records labelled rightly. Not private: for public or held-out data."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels of records."""
        raise NotImplementedError

    def _fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise ArgumentError("self", "fitted before it predicts", "fitted yet", "Call fit(X, y) first.")

    def _signs(self, y: Any, n: int) -> NDArray[np.int8]:
        """Return labels +1 and -1 of the public pair of classes."""
        try:
            given = np.asarray(y)
        except ValueError:
            raise ArgumentError("y", "an array of labels", "rows of different lengths") from None
        if given.shape != (n,):
            raise ArgumentError("y", f"one label for each of the {n} rows of X", f"of shape {given.shape}")
        positive, negative = given == self.classes[1], given == self.classes[0]
        if not (positive | negative).all():
            raise ArgumentError(
                "y",
                f"of the two labels {self.classes}",
                "an array with another value",
                "Name your labels: classes=(negative, positive).",
            )
        return np.where(positive, 1, -1).astype(np.int8)

    def _checked(self, n: int) -> None:
        """Check every parameter that both learners share, whether the method uses it or not."""
        check_choice("method", self.method, METHODS)
        check_choice("mode", self.mode, modes.MODES)
        check_choice("reservoirs", self.reservoirs, _RESERVOIRS)
        check_epsilon(self.epsilon)
        share = check_fraction("delta", self.delta)
        if not 0 <= share < 1:
            raise ArgumentError("delta", "a number with 0 <= delta < 1", str(share))
        check_beta(self.beta)
        if self.alpha is not None:
            check_beta(self.alpha, "alpha")
        elif self.mode == "rigorous":
            raise ArgumentError("alpha", "the error to certify, such as 0.1", "None")
        for name in ("initial", "shuffle", "merged"):
            value = getattr(self, name, False)
            if not isinstance(value, (bool, np.bool_)):
                raise ArgumentError(name, "True or False", f"a {type(value).__name__}")
        self._check_classes()
        self._check_sizes()
        if n < 1:
            raise ArgumentError("X", "a table of at least one record", "empty")

    def _check_classes(self) -> None:
        pair = self.classes
        try:
            good = len(pair) == 2 and not isinstance(pair, str) and bool(pair[0] != pair[1])
        except (TypeError, ValueError, KeyError):
            good = False
        if not good:
            raise ArgumentError("classes", "two different labels, the negative one first", "others")

    def _check_sizes(self) -> None:
        """Check m, which belongs to the validated mode component by component."""
        if self.m is None:
            return
        if self.method == "exponential" or self.mode != "validated":
            mend = "Sample sizes belong to 'carrier-boost' and 'label-boost' in mode 'validated'."
            raise ArgumentError("m", "None for this method and mode", "given", mend)
        try:
            sizes = [self.m[i] for i in range(len(self.m))]
        except TypeError:
            raise ArgumentError("m", "a list of sample sizes", f"a {type(self.m).__name__}") from None
        for size in sizes:
            check_integer("m", size, 1)

    def _goal(self) -> Goal:
        """Return what the generic mechanism is asked for.

        Raises:
            ArgumentError: on the paper's mode, which is about another algorithm.
        """
        if self.mode == "paper":
            mend = "The paper's constants belong to 'carrier-boost' and 'label-boost'."
            raise ArgumentError(
                "mode", "'validated' or 'rigorous' with method='exponential'", "'paper'", mend
            )
        alpha = check_beta(self.alpha, "alpha") if self.mode == "rigorous" else None
        return Goal(check_epsilon(self.epsilon), alpha, check_beta(self.beta))

    def _named(self, signs: NDArray[Any]) -> NDArray[Any]:
        named: NDArray[Any] = np.asarray(self.classes)[(signs > 0).astype(int)]
        return named

    def _sampler(self) -> Sampler:
        if self.random_state is None:
            return SecureSampler()
        return SimSampler(check_integer("random_state", self.random_state, 0))

    def _learn(
        self,
        C: PrefixClass,
        profile: Profile,
        records: tuple[NDArray[Any], NDArray[np.int8]],
        budget: Account | None,
        progress: Progress,
    ) -> Learned:
        """Plan, charge the budget, run: in this order."""
        n = len(records[0])
        if self.m is not None and len(self.m) != profile.k:
            raise ArgumentError("m", f"{profile.k} sample sizes", f"{len(self.m)}")
        epsilon, delta = check_epsilon(self.epsilon), check_fraction("delta", self.delta)
        plan = plan_run(
            profile,
            n,
            epsilon,
            delta,
            mode=self.mode,
            method=self.method,
            initial=self.initial,
            alpha=self.alpha,
            beta=self.beta,
            m=self.m,
            reservoirs=self.reservoirs,
        )
        learner = CarryForwardLearner(C, plan, shuffle=self.shuffle, progress=progress)
        sampler = self._sampler()
        self._charge(budget)
        return learner.fit(*records, sampler)

    def _record(self, learned: Learned) -> None:
        self.classes_ = np.asarray(self.classes)
        self.components_ = learned.components
        self.epsilon_, self.delta_ = learned.epsilon, learned.delta
        self.ledger_, self.simulated_ = learned.ledger, learned.simulated
        self.promise_ = learned.promise

    def _charge(self, budget: Account | None) -> None:
        """Spend epsilon from a budget, before anything is drawn."""
        if budget is None:
            return
        if self.random_state is not None:
            raise ArgumentError(
                "random_state", "None where a budget is charged", "a seed", "A seeded run is no release."
            )
        if check_fraction("delta", self.delta) > 0:
            raise ArgumentError("budget", "None where delta > 0", "a pure budget")
        budget.spend(check_epsilon(self.epsilon))


def plan_run(
    profile: Profile,
    n: int,
    epsilon: Fraction,
    delta: Fraction,
    *,
    mode: str,
    method: str,
    initial: bool = False,
    alpha: Any = None,
    beta: Any = Fraction(1, 10),
    m: Sequence[int] | None = None,
    reservoirs: str = "best",
) -> modes.RunPlan:
    """Return the run's plan in one of the three modes; see :mod:`geomdp.learners.modes`."""
    check_choice("mode", mode, modes.MODES)
    if mode == "paper":
        return modes.paper(profile.k, n, epsilon, delta)
    if mode == "rigorous":
        if alpha is None:
            raise ArgumentError("alpha", "the error to certify, such as 0.1", "None")
        return modes.rigorous(
            profile, n, epsilon, delta, alpha=alpha, beta=beta, method=method, initial=initial
        )
    return modes.validated(
        profile, n, epsilon, delta, method=method, initial=initial, m=m, reservoirs=reservoirs
    )


class PrivateHalfspaceLearner(_Estimator):
    """A private linear classifier x -> [<a, x> >= w] on integer records.

    Args:
        epsilon, delta: the guarantee for the replacement of one record. delta = 0 is pure privacy.
        method: "exponential" (the generic mechanism over a public grid of at most 8 features: by far the
            fewest records on every domain that fits a computer; always pure), "carrier-boost" or
            "label-boost" (component by component).
        radius: coordinates are integers in [-radius, radius]; others are moved to the nearest such point.
        scale: public factor by which X is multiplied before that.
        mode: "validated", "rigorous" (needs alpha; with "exponential" up to two features, and for two on at
            most 5,000 random rows unless alpha needs more) or "paper" (component by component).
        alpha: error of the rigorous mode.
        beta: failure probability of the promise.
        m: sample sizes for the validated mode, component by component; by default as large as n allows.
        initial: relabel the first sample as the paper does.
        reservoirs: "best", "fresh" or "alternating".
        merged: choose (w, a_1) together.
        coordinates: "compact" (see :func:`compact_domain`: fewer elements, hence fewer records) or
            "complete" (a domain that holds a consistent value in every realizable state; the rigorous mode
            uses it).
        shuffle: split rows in random order.
        classes: the public pair of labels, negative one first.
        random_state: None for a release; an integer for a simulated run.

    Attributes:
        classifier_: homogeneous integer weights, the bias last, on scaled coordinates.
        components_: w and a, as they were chosen.
        epsilon_, delta_, ledger_, promise_, simulated_: the public account.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.integers(-512, 513, (3000, 2))
        >>> y = np.where(3 * X[:, 0] - X[:, 1] >= 200, "yes", "no")
        >>> learner = PrivateHalfspaceLearner(epsilon=2, classes=("no", "yes"), random_state=1).fit(X, y)
        >>> learner.score(X, y) > 0.9, learner.epsilon_, learner.simulated_
        (True, Fraction(2, 1), True)
    """

    def __init__(
        self,
        epsilon: Any = 1,
        delta: Any = 0,
        method: str = "exponential",
        radius: int = 512,
        *,
        scale: Any = 1,
        mode: str = "validated",
        alpha: Any = None,
        beta: Any = 0.1,
        m: Any = None,
        initial: bool = False,
        reservoirs: str = "best",
        merged: bool = True,
        coordinates: str = "compact",
        shuffle: bool = True,
        classes: tuple[Any, Any] = (-1, 1),
        random_state: int | None = None,
    ) -> None:
        self.epsilon, self.delta, self.method = epsilon, delta, method
        self.radius, self.scale, self.mode = radius, scale, mode
        self.alpha, self.beta, self.m, self.initial = alpha, beta, m, initial
        self.reservoirs, self.merged, self.coordinates = reservoirs, merged, coordinates
        self.shuffle, self.classes, self.random_state = shuffle, classes, random_state

    def fit(
        self, X: Any, y: Any, budget: Account | None = None, progress: Progress = None
    ) -> PrivateHalfspaceLearner:
        """Learn from records.

        Args:
            X: (n, d) numbers, d >= 1.
            y: (n,) labels out of `classes`.
            budget: is charged epsilon before anything is drawn, if given.
            progress: called with the fraction done.

        Raises:
            ArgumentError: on a bad parameter, or when n is too small for what is asked.
            CapacityError: when the class cannot handle so many records or features (d >= 3 component by
                component).
        """
        table = self._snapped(X)
        n, d = table.shape
        self._checked(n)
        check_choice("coordinates", self.coordinates, ("compact", "complete"))
        signs = self._signs(y, n)
        if self.method == "exponential":
            goal = self._goal()
            run = halfspace_run(d, self.radius, n, goal)
            assert run.grid is not None  # noqa: S101 - of halfspaces
            sampler = self._sampler()
            self._charge(budget)
            rows = draw(range(n), run.rows, sampler)  # all of them as they are, or a uniform subset
            self.classifier_ = exponential_halfspace(
                table[rows], signs[rows], run.grid, goal.epsilon, sampler, progress=progress
            )
            self._record(_generic(self.classifier_.weights, run, n, self.mode, goal.epsilon, sampler))
        else:
            profile = halfspace_profile(d, self.radius, merged=self.merged)
            domains = self._domains(d)
            if self._compact:
                sizes = [domain.size for domain in domains]
                first = (2 * sizes[0],) if self.merged else (2, sizes[0])
                profile = Profile(
                    profile.name, (*first, *sizes[1:]), profile.growth, profile.vc, profile.members
                )
            learned = self._learn(Halfspaces(domains, self.merged), profile, (table, signs), budget, progress)
            self.classifier_ = halfspace_of(learned.components)
            self._record(learned)
        self.n_features_in_ = d
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels of records, moved to the grid as for :meth:`fit`."""
        self._fitted()
        table = self._snapped(X)
        if table.shape[1] != self.n_features_in_:
            wanted = f"an array of {self.n_features_in_} columns"
            raise ArgumentError("X", wanted, f"{table.shape[1]} columns")
        return self._named(self.classifier_.predict(np.column_stack([table, np.ones(len(table), np.int64)])))

    @property
    def _compact(self) -> bool:
        return self.coordinates == "compact" and self.mode == "validated"

    def _domains(self, d: int) -> tuple[OrderedDomain, ...]:
        if self._compact:
            return (compact_domain(self.radius),) * d
        return coordinate_domains(d, self.radius)

    def _snapped(self, X: Any) -> NDArray[np.int64]:
        radius = check_integer("radius", self.radius, 1, 2**26)
        return snapped(X, check_fraction("scale", self.scale), -radius, radius)


class PrivateThresholdTuple(_Estimator):
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
        components_, epsilon_, delta_, ledger_, promise_, simulated_: the public account.

    Example:
        >>> X = np.arange(4000).reshape(-1, 1) % 1000
        >>> y = np.where((X[:, 0] >= 200) & (X[:, 0] < 600), 1, -1)
        >>> learner = PrivateThresholdTuple(2, rule="interval", high=999, random_state=0).fit(X, y)
        >>> learner.score(X, y) > 0.9
        True
    """

    def __init__(
        self,
        epsilon: Any = 1,
        delta: Any = 0,
        rule: str = "interval",
        k: int | None = None,
        *,
        low: int = 0,
        high: int = 1023,
        method: str = "exponential",
        scale: Any = 1,
        mode: str = "validated",
        alpha: Any = None,
        beta: Any = 0.1,
        m: Any = None,
        initial: bool = False,
        reservoirs: str = "best",
        shuffle: bool = True,
        classes: tuple[Any, Any] = (-1, 1),
        random_state: int | None = None,
    ) -> None:
        self.epsilon, self.delta, self.rule, self.k = epsilon, delta, rule, k
        self.low, self.high, self.method, self.scale = low, high, method, scale
        self.mode, self.alpha, self.beta, self.m = mode, alpha, beta, m
        self.initial, self.reservoirs, self.shuffle = initial, reservoirs, shuffle
        self.classes, self.random_state = classes, random_state

    def fit(
        self, X: Any, y: Any, budget: Account | None = None, progress: Progress = None
    ) -> PrivateThresholdTuple:
        """Learn from records: X is (n, 1) or (n,); budget and progress as for halfspaces.

        Raises:
            ArgumentError: on a bad parameter, or when n is too small for what is asked.
        """
        C = self._class()
        table = self._snapped(X)
        n = len(table)
        self._checked(n)
        signs = self._signs(y, n)
        if self.method == "exponential":
            goal = self._goal()
            run = tuple_run(C.k, C.thresholds.size, n, goal)
            sampler = self._sampler()
            self._charge(budget)
            drawn = exponential_thresholds(table, signs, C.thresholds, C.table, goal.epsilon, sampler)
            end = Fraction(self.high + 1)
            values = tuple(end if t is None else Fraction(t) for t in drawn.values)
            self._record(_generic(values, run, n, self.mode, goal.epsilon, sampler))
        else:
            profile = composition_profile(C.k, C.thresholds.size)
            self._record(self._learn(C, profile, (table, signs), budget, progress))
        self.classifier_ = self.components_
        self.n_features_in_ = 1
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels of records, moved to the grid as for :meth:`fit`."""
        self._fitted()
        return self._named(self._class().predict(self.components_, self._snapped(X)))

    def _class(self) -> Boolean:
        check_choice("rule", self.rule, tuple(RULES))
        fixed = _FIXED.get(self.rule, 2)
        k = fixed if self.k is None else check_integer("k", self.k, 1, MOST)
        if self.rule in _FIXED and k != fixed:
            raise ArgumentError("k", f"{fixed} or None for rule {self.rule!r}", k)
        low, high = self._range()
        return Boolean.of(RULES[self.rule], k, Integers(low, high))

    def _range(self) -> tuple[int, int]:
        low = check_integer("low", self.low, -_WIDE, _WIDE)
        return low, check_integer("high", self.high, low, _WIDE)

    def _snapped(self, X: Any) -> NDArray[np.int64]:
        values = as_numbers(X)
        column = values.reshape(-1, 1) if values.ndim == 1 else values
        return snapped(column, check_fraction("scale", self.scale), *self._range(), 1)


def _generic(  # noqa: PLR0917 - the public account, item by item
    components: Sequence[Any], run: GenericRun, n: int, mode: str, epsilon: Fraction, sampler: Sampler
) -> Learned:
    loss = float(epsilon)
    shown = loss if Fraction(loss) >= epsilon else math.nextafter(loss, math.inf)
    row = Spent("all", run.rows, n, shown, shown, Fraction(0))
    return Learned(tuple(components), epsilon, Fraction(0), (row,), mode, run.promise, sampler.simulated)


def _names(cls: type) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(cls).parameters)
