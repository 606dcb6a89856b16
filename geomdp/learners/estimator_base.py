"""What the learners of the front door share: plain parameters, labels, the account, and the order of a fit.

Parameters are fields of a dataclass, so a subclass declares its own ones only, and scikit-learn finds all of
them in the signature. A fit checks, plans, charges the budget, and draws: in this order. What is fitted is
assigned last and holds the grid and the labels' names of its fit, so that a fit that fails leaves an earlier
one whole, and parameters set later change the next fit alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
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
    describe,
)
from geomdp.learners import modes
from geomdp.learners.carry_forward import CarryForwardLearner, Learned, Progress
from geomdp.learners.classes.base import PrefixClass
from geomdp.learners.generic import Goal
from geomdp.learners.growth import Profile
from geomdp.learners.perturbation import Perturbation
from geomdp.learners.promises import GRID, check_error
from geomdp.privacy.sampler import Sampler, SecureSampler, SimSampler

METHODS = ("carrier-boost", "label-boost", "exponential")
_RESERVOIRS = ("best", "fresh", "alternating")
#: How records are moved: the scale, and the least and the largest integer of a coordinate.
Grid = tuple[Fraction, int, int]


class Account(Protocol):
    """What a release is charged to, such as a :class:`geomdp.privacy.budget.Budget`."""

    def spend(self, epsilon: Fraction) -> None:
        """Charge a release, or raise an error; called once, before anything is drawn."""


@dataclass(repr=False, eq=False)
class Estimator:
    """The parameters that all learners have, and what they do with labels, samplers and accounts."""

    epsilon: Any = 1
    delta: Any = 0
    _: KW_ONLY
    method: str = "exponential"
    scale: Any = 1
    mode: str = "validated"
    alpha: Any = None
    beta: Any = 0.1
    m: Any = None
    initial: bool = False
    reservoirs: str = "best"
    shuffle: bool = True
    classes: tuple[Any, Any] = (-1, 1)
    random_state: int | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as they were given; `deep` makes no difference."""
        del deep  # no parameter is an estimator
        return {name: getattr(self, name) for name in _names(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Set params by name and return the estimator.

        Returns:
            The estimator itself.

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
        """Return the share of records X whose labels y are met. Not private: for public or simulated data.

        A label that is none of the two is not met.

        Raises:
            ArgumentError: on an empty table, or unless there is one label for each record.
        """
        found = self.predict(X)
        if not len(found):
            raise ArgumentError("X", "a table of at least one record", "empty")
        given, (negative, positive) = self._given(y, len(found), self.classes_), self.classes_
        met = np.where(_equal(found, positive), _equal(given, positive), _equal(given, negative))
        return float(np.mean(met))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels of records X."""
        raise NotImplementedError

    def _fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise ArgumentError("self", "fitted before it predicts", "fitted yet", "Call fit(X, y) first.")

    @staticmethod
    def _given(y: Any, n: int, names: NDArray[Any]) -> NDArray[Any]:
        """Return labels as an (n,) array, each as it was given where the two names are of unlike types."""
        if np.ma.is_masked(y):
            raise ArgumentError("y", "an array of labels", "one with missing labels")
        try:
            given = np.asarray(y, dtype=object if names.dtype == object else None)
        except ValueError:
            raise ArgumentError("y", "an array of labels", "rows of different lengths") from None
        if given.shape != (n,):
            raise ArgumentError("y", f"one label for each of the {n} rows of X", f"of shape {given.shape}")
        return given

    def _signs(self, y: Any, n: int, names: NDArray[Any]) -> NDArray[np.int8]:
        """Return labels +1 and -1 of the public pair of names."""
        given = self._given(y, n, names)
        positive, negative = _equal(given, names[1]), _equal(given, names[0])
        if not (positive | negative).all():
            raise ArgumentError(
                "y",
                f"of the two labels {tuple(names.tolist())}",
                "an array with another value, or a missing one",
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
            check_error(self.alpha)
        elif self.mode == "rigorous":
            raise ArgumentError("alpha", "the error to certify, such as 0.1", "None")
        for name in ("initial", "shuffle", "merged"):
            value = getattr(self, name, False)
            if not isinstance(value, (bool, np.bool_)):
                raise ArgumentError(name, "True or False", describe(value))
        self._check_sizes()
        if n < 1:
            raise ArgumentError("X", "a table of at least one record", "empty")

    def _pair(self) -> NDArray[Any]:
        """Return the two names of labels, negative one first, in an array of its own."""
        pair: Any = self.classes
        wanted = "a list, tuple or one-dimensional array of two different labels, the negative one first"
        if not (isinstance(pair, (list, tuple)) or (isinstance(pair, np.ndarray) and pair.ndim == 1)):
            raise ArgumentError("classes", wanted, describe(pair))
        listed = list(pair)
        if len(listed) != 2:
            raise ArgumentError("classes", wanted, f"{len(listed)} of them")
        if any(np.ndim(name) for name in listed) or not _distinct(*listed):
            raise ArgumentError("classes", wanted, "equal, nested or missing ones")
        names = np.asarray(listed)
        if all(_same(a, b) for a, b in zip(names, listed, strict=True)):
            return names
        return np.array(listed, dtype=object)  # of unlike types

    def _check_sizes(self) -> None:
        """Check m, which belongs to the validated mode component by component."""
        if self.m is None:
            return
        if self.method == "exponential" or self.mode != "validated":
            mend = "Sample sizes belong to 'carrier-boost' and 'label-boost' in mode 'validated'."
            raise ArgumentError("m", "None for this method and mode", "given", mend)
        flat = self.m.ndim == 1 if isinstance(self.m, np.ndarray) else isinstance(self.m, Sequence)
        if not flat or isinstance(self.m, str):
            raise ArgumentError("m", "a list of sample sizes", describe(self.m))
        for size in self.m:
            check_integer("m", size, 1, 2**53)

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
        alpha = check_error(self.alpha) if self.mode == "rigorous" else None
        return Goal(check_epsilon(self.epsilon), alpha, check_beta(self.beta))

    def _named(self, signs: NDArray[Any]) -> NDArray[Any]:
        named: NDArray[Any] = self.classes_[(signs > 0).astype(int)]
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
        *,
        most: Sequence[int] | None = None,
        moved: Perturbation | None = None,
        grid: str = GRID,
    ) -> Learned:
        """Plan, charge the budget, perturb if asked to, run: in this order."""
        n = len(records[0])
        if self.m is not None and len(self.m) != profile.k:
            wanted = "1 sample size" if profile.k == 1 else f"{profile.k} sample sizes"
            raise ArgumentError("m", f"a list of {wanted}", f"one of {len(self.m)}")
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
            most=most,
            moved=grid,
        )
        learner = CarryForwardLearner(C, plan, shuffle=self.shuffle, progress=progress)
        sampler = self._sampler()
        self._charge(budget)
        X, y = records
        return learner.fit(X if moved is None else moved.apply(X, sampler), y, sampler)

    def _record(self, learned: Learned, names: NDArray[Any], grid: Grid, columns: int) -> None:
        """Keep what was learned, and by what records and labels are read from now on."""
        self.classes_, self.grid_, self.n_features_in_ = names, grid, columns
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
    most: Sequence[int] | None = None,
    moved: str = GRID,
) -> modes.RunPlan:
    """Return the run's plan in one of the three modes; see :mod:`geomdp.learners.modes`.

    Raises:
        ArgumentError: on an unknown mode, or without ``alpha`` where an error is to be certified.
    """
    check_choice("mode", mode, modes.MODES)
    if mode == "paper":
        return modes.paper(profile.k, n, epsilon, delta)
    if mode == "rigorous":
        if alpha is None:
            raise ArgumentError("alpha", "the error to certify, such as 0.1", "None")
        return modes.rigorous(
            profile, n, epsilon, delta, alpha=alpha, beta=beta, method=method, initial=initial, moved=moved
        )
    return modes.validated(
        profile, n, epsilon, delta, method=method, initial=initial, m=m, reservoirs=reservoirs, most=most
    )


def _equal(given: NDArray[Any], label: object) -> NDArray[np.bool_]:
    """Return which labels are this one; a missing label is none."""
    try:
        found = np.asarray(given == label)
        if found.dtype == np.bool_ and found.shape == given.shape:
            return found
    except (TypeError, ValueError):  # of a label that cannot be compared, such as a missing one
        pass
    return np.array([_same(value, label) for value in given.tolist()], dtype=np.bool_)


def _same(value: object, label: object) -> bool:
    try:
        return bool(value == label)
    except (TypeError, ValueError):
        return False


def _distinct(one: object, two: object) -> bool:
    """Return whether two labels differ and each is equal to itself, as missing ones are not."""
    return _same(one, one) and _same(two, two) and not _same(one, two)


def _names(cls: type) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(cls).parameters)
