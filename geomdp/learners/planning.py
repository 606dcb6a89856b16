"""How many records a private learner needs: every method's sample size, and what it rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from geomdp.core.errors import ArgumentError, check_beta, check_choice, check_epsilon, check_fraction
from geomdp.learners import calibration, stated
from geomdp.learners.accounting import Allocation, Layout
from geomdp.learners.blocks import exponential_excess
from geomdp.learners.generalisation import (
    finite_class_size,
    least_pure_proper,
    least_without_privacy,
    sample_size,
)
from geomdp.learners.growth import Profile, composition_profile, halfspace_profile
from geomdp.learners.interior import interior_run
from geomdp.learners.plane import PlaneGrid

CLASSES = ("halfspaces", "thresholds", "intervals", "compositions")


@dataclass(frozen=True)
class Row:
    """One method's sample size.

    Attributes:
        name: the method.
        n: records needed; None where no distribution-free guarantee exists.
        kind: "stated" (literal constants of the paper), "rigorous", "lower bound", "without privacy" or
            "baseline".
        rests_on: what the number rests on, in a sentence.
        pure: whether the guarantee is epsilon-DP with delta = 0.
        runs: whether a learner of this package carries the guarantee out.
        m: sizes of the samples, for component-by-component methods.
        layout: their privacy parameters.
        allocation: their reservoirs.
        rates: the shares of alpha that the rounds may lose.
    """

    name: str
    n: int | None
    kind: str
    rests_on: str
    pure: bool = True
    runs: bool = True
    m: tuple[int, ...] = ()
    layout: Layout | None = None
    allocation: Allocation | None = None
    rates: tuple[Fraction, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain = {key: getattr(self, key) for key in ("name", "n", "kind", "rests_on", "pure", "runs")}
        return {**plain, "m": list(self.m)}


@dataclass(frozen=True)
class LearningPlan:
    """Sample sizes by method for one class and one guarantee.

    With probability >= 1 - beta the hypothesis has error at most alpha, if the records are independent draws
    of a distribution that some hypothesis of the class labels without error.

    Attributes:
        profile: the class.
        epsilon, delta, alpha, beta: the guarantee.
        rows: the methods.
    """

    profile: Profile
    epsilon: Fraction
    delta: Fraction
    alpha: Fraction
    beta: Fraction
    rows: tuple[Row, ...]

    def row(self, name: str) -> Row:
        """Return the row of a method.

        Raises:
            ArgumentError: when there is none of that name.
        """
        for row in self.rows:
            if row.name == name:
                return row
        raise ArgumentError("name", "one of " + ", ".join(repr(row.name) for row in self.rows), repr(name))

    @property
    def best(self) -> Row:
        """The rigorous row with the fewest records, of those that run."""
        rigorous = [row for row in self.rows if row.kind == "rigorous" and row.runs and row.n is not None]
        return min(rigorous, key=lambda row: row.n or 0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "class": self.profile.name,
            "epsilon": float(self.epsilon), "delta": float(self.delta),
            "alpha": float(self.alpha), "beta": float(self.beta),
            "rows": [row.to_dict() for row in self.rows],
        }  # fmt: skip


def learning_plan(
    cls: str = "halfspaces",
    *,
    d: int = 2,
    k: int | None = None,
    epsilon: Any = 1,
    delta: Any = Fraction(1, 10**6),
    alpha: Any = Fraction(1, 10),
    beta: Any = Fraction(1, 10),
    radius: int = 512,
    size: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> LearningPlan:
    """Return the number of records that each method needs to learn a class.

    Args:
        cls: "halfspaces" (d features in [-radius, radius]), "thresholds", "intervals" or "compositions" of k
            thresholds under any Boolean function, on a domain of `size` values.
        d: number of features.
        k: number of thresholds.
        epsilon, delta: the privacy guarantee; delta = 0 for pure privacy.
        alpha, beta: error and failure probability.
        radius: the halfspaces' grid.
        size: the thresholds' domain, 2 radius + 1 by default.
        progress: called with the fraction done.

    Returns:
        The plan; each row says what its number rests on.

    Example:
        >>> plan = learning_plan("halfspaces", d=1, radius=512)
        >>> plan.best.name, plan.best.n < 1000
        ('exponential mechanism', True)
    """
    check_choice("cls", cls, CLASSES)
    loss, share, error, failure = _checked(epsilon, delta, alpha, beta)
    values = 2 * radius + 1 if size is None else size
    layouts: dict[str, tuple[Profile, str, bool]]
    if cls == "halfspaces":
        profile = halfspace_profile(d, radius)
        apart = halfspace_profile(d, radius, merged=False)
        layouts = {
            "carrier-boost, merged": (profile, "carrier-boost", False),
            "label-boost, merged": (profile, "label-boost", False),
            "carrier-boost, separate": (apart, "carrier-boost", False),
            "label-boost, separate": (apart, "label-boost", False),
            "label-boost, separate, initial": (apart, "label-boost", True),
        }
    else:
        profile = composition_profile(
            {"thresholds": 1, "intervals": 2}.get(cls, 2 if k is None else k), values
        )
        layouts = {
            "carrier-boost": (profile, "carrier-boost", False),
            "label-boost": (profile, "label-boost", False),
            "label-boost, initial": (profile, "label-boost", True),
        }
    if cls == "halfspaces":
        rows = [_exponential(profile, loss, error, failure, runs=d == 1)]
    else:
        rows = [_tuples(profile, (values + 1) ** profile.k, loss, error, failure)]
    if cls == "halfspaces" and d == 2:
        rows.append(_dual_grid(profile, radius, loss, error, failure))
    for number, (name, (shape, method, initial)) in enumerate(layouts.items()):
        if progress is not None:
            progress(number / len(layouts))
        rows.append(_component(name, shape, method, initial, (loss, share, error, failure)))
    if cls == "halfspaces":
        rows.append(_interior(profile, (loss, share, error, failure)))
        rows += _stated(d, radius, (loss, share, error, failure))
    rows += _references(profile, values, loss, error, failure)
    if progress is not None:
        progress(1.0)
    return LearningPlan(profile, loss, share, error, failure, tuple(rows))


def _checked(
    epsilon: Any, delta: Any, alpha: Any, beta: Any
) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    share = check_fraction("delta", delta)
    if not 0 <= share < Fraction(1, 2):
        raise ArgumentError("delta", "a number with 0 <= delta < 1/2", str(share))
    error = check_beta(alpha, "alpha")
    if error > Fraction(1, 2):
        raise ArgumentError("alpha", "at most 1/2, the error of a coin", str(error))
    return check_epsilon(epsilon), share, error, check_beta(beta)


def _component(
    name: str,
    profile: Profile,
    method: str,
    initial: bool,
    target: tuple[Fraction, Fraction, Fraction, Fraction],
) -> Row:
    made = calibration.calibrate(profile, *target, method=method, initial=initial)
    boost = "CarrierBoost" if method == "carrier-boost" else "LabelBoost"
    start = f"{boost} also before the first component; " if initial else ""
    return Row(
        name,
        made.allocation.n,
        "rigorous",
        f"{start}exponential mechanism on quasi-concave envelopes, {boost} between components, exact growth "
        f"functions, double-sample bound, {made.allocation.name} reservoirs",
        made.allocation.delta == 0,
        True,
        made.m,
        made.layout,
        made.allocation,
        made.rates,
    )


def _interior(profile: Profile, target: tuple[Fraction, Fraction, Fraction, Fraction]) -> Row:
    made = interior_run(profile, *target)
    return Row(
        "interior-point, merged",
        made.allocation.n,
        "rigorous",
        "block completions by LP, private interior point or stabbing, CarrierBoost between components, union "
        "and double-sample bounds, fresh reservoirs",
        target[1] == 0,
        True,
        made.m,
        made.layout,
        made.allocation,
        made.rates,
    )


def _exponential(profile: Profile, epsilon: Fraction, alpha: Fraction, beta: Fraction, *, runs: bool) -> Row:
    how = "all of them" if runs else "which are too many to weigh by data here"
    return Row(
        "exponential mechanism",
        _selected(profile, profile.members, epsilon, alpha, beta),
        "rigorous",
        f"one candidate for each of at most {_short(profile.members)} labellings of the public domain, {how};"
        " union or double-sample bound",
        runs=runs,
    )


def _tuples(profile: Profile, tuples: int, epsilon: Fraction, alpha: Fraction, beta: Fraction) -> Row:
    return Row(
        "exponential mechanism",
        _selected(profile, tuples, epsilon, alpha, beta),
        "rigorous",
        f"all {_short(tuples)} tuples of thresholds, several for one labelling; union or double-sample bound",
    )


def _dual_grid(profile: Profile, radius: int, epsilon: Fraction, alpha: Fraction, beta: Fraction) -> Row:
    grid = PlaneGrid.complete(min(radius, 2**17))
    return Row(
        "exponential mechanism, dual grid",
        _selected(profile, grid.size, epsilon, alpha, beta) if radius <= grid.radius else None,
        "rigorous",
        f"all {_short(grid.size)} halfplanes with dyadic slopes and offsets, which give every labelling of "
        "the square; union or double-sample bound",
    )


def _selected(profile: Profile, candidates: int, epsilon: Fraction, alpha: Fraction, beta: Fraction) -> int:
    """Return the records for one exponential mechanism over a complete set; the best of three splits of beta.

    The candidate drawn has at most E - 1 mistakes; at most profile.members labellings can have an error above
    alpha in spite of that.
    """
    found = []
    for share in (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)):
        errors = exponential_excess(candidates, epsilon, beta * share) - 1
        rest = float(beta * (1 - share)) * (1 - 1e-15)
        found.append(finite_class_size(profile.members, errors, float(alpha), rest))
        found.append(_ghost_size(profile, errors, float(alpha), rest))
    return min(found)


def _ghost_size(profile: Profile, errors: int, alpha: float, beta: float) -> int:
    def growth(points: int) -> int:
        return min(profile.growth(0, points), profile.members)

    return sample_size(lambda m: errors, alpha, beta, growth, pairs=False, start=errors)


def _short(number: int) -> str:
    """Return an integer of any size in scientific notation."""
    digits = str(number)
    return digits if len(digits) < 7 else f"{digits[0]}.{digits[1]}e{len(digits) - 1}"


def _stated(d: int, radius: int, target: tuple[Fraction, Fraction, Fraction, Fraction]) -> list[Row]:
    epsilon, delta, alpha, beta = target
    if delta == 0 or epsilon > 1:
        return []  # the stated guarantee is for epsilon <= 1 and delta > 0
    rows = []
    for oracle, words in (
        ("quasi-concave", "exponential mechanism as the quasi-concave optimiser"),
        (
            "interior-point",
            "block maximisers by Blumer's bound, exponential mechanism as interior-point solver",
        ),
    ):
        n = stated.stated_size(d, radius, float(epsilon), float(delta), float(alpha), float(beta), oracle)
        text = f"the paper's constants as written, perturbation to general position, {words}"
        rows.append(Row(f"stated constants, {oracle}", n, "stated", text, pure=False))
    return rows


def _references(
    profile: Profile, values: int, epsilon: Fraction, alpha: Fraction, beta: Fraction
) -> list[Row]:
    a, b = float(alpha), float(beta)
    learner = sample_size(lambda m: 0, a, b, lambda M: profile.growth(0, M), pairs=False)
    any_learner = least_without_privacy(profile.vc, a, b)
    proper = max(any_learner, least_pure_proper(values, a, b, float(epsilon)))
    none = "no guarantee for every realizable distribution: a convex surrogate loss, simulated only"
    return [
        Row("consistent hypothesis", learner, "without privacy", "double-sample bound, no privacy at all"),
        Row("any learner", any_learner, "lower bound", "shattered points that the sample has not seen"),
        Row("any proper pure learner", proper, "lower bound", "packing of thresholds and group privacy"),
        Row("objective perturbation", None, "baseline", none),
        Row("noisy gradient descent", None, "baseline", none, pure=False),
        Row("majority label", None, "baseline", "a constant hypothesis: error up to 1/2", pure=True),
    ]
