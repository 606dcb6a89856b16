"""How many records a private learner needs: every method's sample size, and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from geomdp.core.errors import (
    ArgumentError,
    CapacityError,
    check_choice,
    check_epsilon,
    check_fraction,
    check_integer,
    describe,
)
from geomdp.learners import calibration, stated
from geomdp.learners.accounting import Allocation, Layout
from geomdp.learners.blocks import exponential_excess
from geomdp.learners.classes.base import Limited
from geomdp.learners.classes.boolean import MOST, Boolean
from geomdp.learners.classes.halfspace import Halfspaces
from geomdp.learners.domains import Integers
from geomdp.learners.generalisation import (
    finite_class_size,
    least_pure_proper,
    least_without_privacy,
    sample_size,
)
from geomdp.learners.growth import Profile, composition_profile, halfspace_profile
from geomdp.learners.interior import interior_run
from geomdp.learners.plane import MOST_ROWS, PlaneGrid
from geomdp.learners.promises import check_error

#: What is planned within a minute (bits of a radius or size, features), and where floats still guide.
_BITS, _MOST_FEATURES = 20_000, 12
_LEAST_CHANCE, _LEAST_ERROR = Fraction(1, 10**60), Fraction(1, 10**9)
_LEAST_LOSS = Fraction(1, 10**5)
CLASSES = ("halfspaces", "thresholds", "intervals", "compositions")


@dataclass(frozen=True)
class Row:
    """One method's sample size.

    Attributes:
        name: the method.
        n: records needed; None where no distribution-free guarantee exists, or none that can be listed.
        kind: "stated" (literal constants of the paper), "rigorous", "lower bound", "without privacy" or
            "baseline".
        rests_on: what the number rests on, in a sentence.
        pure: whether the guarantee is epsilon-DP with delta = 0.
        runs: whether a learner of this package carries the guarantee out, at these sample sizes; False where
            there is no guarantee, and for lower bounds.
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
        """The rigorous row with the fewest records: of those that run, or of all where none does."""
        rigorous = [row for row in self.rows if row.kind == "rigorous" and row.n is not None]
        running = [row for row in rigorous if row.runs]
        return min(running or rigorous, key=lambda row: row.n or 0)

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
    d: int | None = None,
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
        d: number of features of halfspaces, at most 12; 2 by default.
        k: number of thresholds of compositions, at most 6; 2 by default.
        epsilon, delta: the privacy guarantee; delta = 0 for pure privacy.
        alpha, beta: error and failure probability.
        radius: the halfspaces' grid.
        size: the thresholds' domain, 2 radius + 1 by default.
        progress: called with the fraction done.

    Returns:
        The plan; each row says what its number rests on.

    Raises:
        ArgumentError: on a class that is none of :data:`CLASSES`, on numbers that make no sense, belong to
            another class, or are too small for the arithmetic (the message says which).
        CapacityError: when a radius or size has more than 20,000 bits, or when no method needs fewer than
            2^50 records.

    Example:
        >>> plan = learning_plan("halfspaces", d=1, radius=512)
        >>> plan.best.name, plan.best.n < 1000
        ('exponential mechanism', True)
    """
    check_choice("cls", cls, CLASSES)
    loss, share, error, failure = _checked(epsilon, delta, alpha, beta)
    features, values = _values(cls, d, k, radius, size)
    try:
        return _planned(cls, (features, k, radius, values), (loss, share, error, failure), progress)
    except OverflowError:
        raise CapacityError(
            "epsilon, alpha",
            "a guarantee that fewer than 2^50 records can give",
            "one that needs more",
            "Ask for a larger alpha or epsilon.",
        ) from None


def _values(cls: str, d: object, k: object, radius: object, size: object) -> tuple[int, int]:
    """Check the numbers of a class; return the number of features and the size of the thresholds' domain.

    Raises:
        ArgumentError: on numbers that make no sense or belong to another class.
        CapacityError: on a grid of more bits, or more features or thresholds, than is planned in seconds.
    """
    for name, number in (("radius", radius), ("size", size)):
        if isinstance(number, int) and abs(number).bit_length() > _BITS:
            raise CapacityError(name, f"an integer of at most {_BITS:,} bits", "a longer one")
    if d is not None and cls != "halfspaces":
        raise ArgumentError("d", f"None for {cls}", describe(d), "Thresholds have one feature.")
    features = 2 if d is None else check_integer("d", d, 1, _MOST_FEATURES)
    count = {"thresholds": 1, "intervals": 2}.get(cls)
    if k is not None and (cls == "halfspaces" or check_integer("k", k, 1, MOST) != (count or k)):
        raise ArgumentError("k", f"None for {cls}", describe(k), "It belongs to cls='compositions'.")
    reach = check_integer("radius", radius, 1)
    if size is None:
        return features, 2 * reach + 1
    if cls == "halfspaces":
        raise ArgumentError("size", "None for halfspaces", "given", "Their grid has a radius.")
    return features, check_integer("size", size, 1)


def _planned(
    cls: str,
    numbers: tuple[int, int | None, int, int],
    target: tuple[Fraction, Fraction, Fraction, Fraction],
    progress: Callable[[float], None] | None,
) -> LearningPlan:
    (d, k, radius, values), (loss, share, error, failure) = numbers, target
    layouts: dict[str, tuple[Profile, Limited, str, bool]]
    if cls == "halfspaces":
        profile = halfspace_profile(d, radius)
        domain = (Integers(0, 0),) * d  # limits follow from sizes alone
        one = profile, Halfspaces(domain, merged=True, radius=radius)
        two = halfspace_profile(d, radius, merged=False), Halfspaces(domain, radius=radius)
        layouts = {
            "carrier-boost, merged": (*one, "carrier-boost", False),
            "label-boost, merged": (*one, "label-boost", False),
            "carrier-boost, separate": (*two, "carrier-boost", False),
            "label-boost, separate": (*two, "label-boost", False),
            "label-boost, separate, initial": (*two, "label-boost", True),
        }
    else:
        count = {"thresholds": 1, "intervals": 2}.get(cls, 2 if k is None else k)
        profile = composition_profile(count, values)
        C = Boolean.of(lambda *passed: passed[0], count, Integers(0, 0))
        layouts = {
            "carrier-boost": (profile, C, "carrier-boost", False),
            "label-boost": (profile, C, "label-boost", False),
            "label-boost, initial": (profile, C, "label-boost", True),
        }
    if cls == "halfspaces":
        rows = [_exponential(profile, loss, error, failure, runs=d == 1)]
    else:
        rows = [_tuples(profile, (values + 1) ** profile.k, loss, error, failure)]
    if cls == "halfspaces" and d == 2:
        rows.append(_dual_grid(profile, radius, loss, error, failure))
    for number, (name, layout) in enumerate(layouts.items()):
        if progress is not None:
            progress(number / len(layouts))
        rows.append(_component(name, *layout, (loss, share, error, failure)))
    if cls == "halfspaces":
        rows.append(_interior(profile, layouts["carrier-boost, merged"][1], (loss, share, error, failure)))
        rows += _stated(d, radius, (loss, share, error, failure))
    rows += _references(profile, values, loss, error, failure)
    if progress is not None:
        progress(1.0)
    return LearningPlan(profile, loss, share, error, failure, tuple(rows))


def _checked(
    epsilon: Any, delta: Any, alpha: Any, beta: Any
) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    share = check_fraction("delta", delta)
    if share and not _LEAST_CHANCE <= share < Fraction(1, 2):
        raise ArgumentError("delta", "0, or a number with 10^-60 <= delta < 1/2", describe(share))
    error, failure = check_error(alpha), check_fraction("beta", beta)
    if error < _LEAST_ERROR:
        raise ArgumentError("alpha", "at least 10^-9", describe(error))
    if not _LEAST_CHANCE <= failure <= 1 - _LEAST_CHANCE:
        raise ArgumentError("beta", "between 10^-60 and 1 - 10^-60", describe(failure))
    loss = check_epsilon(epsilon)
    if loss < _LEAST_LOSS:
        raise ArgumentError(
            "epsilon", "at least 10^-5", describe(loss), "Parts of it would fall below 10^-6."
        )
    return loss, share, error, failure


def _component(  # noqa: PLR0917
    name: str,
    profile: Profile,
    C: Limited,
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
        _admitted(C, made.m, method, initial=initial),
        made.m,
        made.layout,
        made.allocation,
        made.rates,
    )


def _admitted(C: Limited, m: tuple[int, ...], method: str, *, initial: bool) -> bool:
    """Return whether a class handles samples of these sizes."""
    try:
        C.admit(m, method, initial=initial)
    except CapacityError:
        return False
    return True


def _interior(profile: Profile, C: Limited, target: tuple[Fraction, Fraction, Fraction, Fraction]) -> Row:
    made = interior_run(profile, *target)
    return Row(
        "interior-point, merged",
        made.allocation.n,
        "rigorous",
        "block completions by LP, private interior point or stabbing, CarrierBoost between components, union "
        "and double-sample bounds, fresh reservoirs",
        target[1] == 0,
        _admitted(C, made.m, "carrier-boost", initial=False),
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
    needed = _selected(profile, grid.size, epsilon, alpha, beta) if radius <= grid.radius else None
    return Row(
        "exponential mechanism, dual grid",
        needed,
        "rigorous",
        f"all {_short(grid.size)} halfplanes with dyadic slopes and offsets, which give every labelling of "
        "the square; union or double-sample bound",
        runs=needed is not None and needed <= MOST_ROWS,
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
    if number < 10**6:
        return str(number)
    power = int((number.bit_length() - 1) * math.log10(2)) - 1  # at most the number of digits minus one
    while number >= 10 ** (power + 1):
        power += 1
    lead = number // 10 ** (power - 1)
    return f"{lead // 10}.{lead % 10}e{power}"


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
        rows.append(Row(f"stated constants, {oracle}", n, "stated", text, pure=False, runs=d <= 2))
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
        Row(
            "any learner",
            any_learner,
            "lower bound",
            "shattered points that the sample has not seen",
            runs=False,
        ),
        Row(
            "any proper pure learner",
            proper,
            "lower bound",
            "packing of thresholds and group privacy",
            runs=False,
        ),
        Row("objective perturbation", None, "baseline", none, runs=False),
        Row("noisy gradient descent", None, "baseline", none, pure=False, runs=False),
        Row("majority label", None, "baseline", "a constant hypothesis: error up to 1/2", runs=False),
    ]
