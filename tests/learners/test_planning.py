"""Laws of sample sizes: growth, coordinate domains, double samples, calibrated runs, and the plan's rows."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError
from geomdp.geometry.arrangement import dichotomies
from geomdp.geometry.count import count_dichotomies
from geomdp.learners.accounting import blocks
from geomdp.learners.calibration import calibrate
from geomdp.learners.composition import exp_lower
from geomdp.learners.generalisation import (
    finite_class_size,
    least_pure_proper,
    least_without_privacy,
    log_double_sample,
    log_hypergeometric_tail,
    sample_size,
)
from geomdp.learners.growth import (
    completions,
    composition_profile,
    compositions,
    coordinate_domains,
    halfspace_profile,
    halfspaces,
)
from geomdp.learners.interior import interior_run
from geomdp.learners.oracles.ip_concave import blocks_needed
from geomdp.learners.planning import learning_plan
from geomdp.learners.stated import stated_size

ONE, TENTH = Fraction(1), Fraction(1, 10)


def _moment_curve(points, d):
    return [[t**i for i in range(1, d + 1)] + [1] for t in range(points)]


@pytest.mark.parametrize(("d", "points"), [(1, 1), (1, 6), (2, 1), (2, 5), (2, 9), (3, 8)])
def test_halfspaces_on_general_points_reach_their_growth(d, points):
    """Points of the moment curve have exactly 2 sum C(M-1, i) labellings."""
    assert count_dichotomies(Domain(_moment_curve(points, d))) == halfspaces(d, points)


def test_completions_count_cells_of_the_dual():
    """With offset and slope given, M points cut a line of last coefficients into M + 1 cells."""
    assert [completions(1, m) for m in range(4)] == [1, 2, 3, 4]
    assert [completions(0, m) for m in range(4)] == [1, 1, 1, 1]
    assert completions(2, 4) == 1 + 4 + 6


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("points", [0, 1, 3, 4])
def test_compositions_stay_within_their_growth(k, points):
    """No Boolean function has more labellings than the bound; the exclusive or reaches it."""
    masks = list(product(range(points + 1), repeat=k))
    tables = product((0, 1), repeat=1 << k) if k < 3 else [tuple(s.bit_count() % 2 for s in range(8))]
    most = 0
    for table in tables:
        seen = {
            tuple(table[sum((t <= x) << i for i, t in enumerate(ts))] for x in range(points)) for ts in masks
        }
        most = max(most, len(seen))
        if k > 1:  # the first threshold fixed at each place
            for first in range(points + 1):
                rest = {
                    tuple(
                        table[sum((t <= x) << i for i, t in enumerate((first, *ts)))] for x in range(points)
                    )
                    for ts in product(range(points + 1), repeat=k - 1)
                }
                assert len(rest) <= compositions(k, points, 1)
    assert most == compositions(k, points)


def _best_second(points, labels, w, a):
    """The open interval of a_2 that put a x_1 + a_2 x_2 on the right side of w at every point."""
    low, high = None, None
    for (x, y), label in zip(points, labels, strict=True):
        rest = w - a * x
        if y == 0:
            if (rest < 0) != (label > 0) or rest == 0:
                return None
            continue
        end = Fraction(rest) / y
        if (y > 0) == (label > 0):
            low = end if low is None else max(low, end)
        else:
            high = end if high is None else min(high, end)
    return None if low is not None and high is not None and low >= high else (low, high)


@pytest.mark.parametrize("radius", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_coordinate_domains_hold_a_solution_of_every_labelled_grid(radius):
    """For every labelling of the square some w, a_1, a_2 of the domains explains it strictly."""
    first, second = coordinate_domains(2, radius)
    points = list(product(range(-radius, radius + 1), repeat=2))
    domain = Domain([[*p, 1] for p in points])
    signs = dichotomies(domain).signs
    choices = [(w, first.value(i)) for w in (-1, 1) for i in range(first.size)]
    missing = {tuple(row) for row in signs.tolist()}
    for w, a in choices:
        for labels in list(missing):
            found = _best_second(points, labels, w, a)
            if found is None:
                continue
            low, high = found
            index = 0 if low is None else second.first_above(low)
            assert index < second.size
            assert high is None or second.value(index) < high
            missing.discard(labels)
        if not missing:
            break
    assert not missing


@pytest.mark.parametrize("radius", [1, 3])
def test_coordinate_domains_in_one_feature_hold_every_threshold(radius):
    """Each labelling of -X..X by +-[x >= t] has a domain value with w = +-1."""
    (domain,) = coordinate_domains(1, radius)
    xs = range(-radius, radius + 1)
    seen = {
        tuple(a * x >= w for x in xs) for w in (-1, 1) for a in (domain.value(i) for i in range(domain.size))
    }
    assert len(seen) == halfspaces(1, 2 * radius + 1)


@given(st.integers(2, 60), st.data())
def test_hypergeometric_tails_are_bounded_from_above_and_tightly(total, data):
    """Log P(H <= e) is at least the exact one, and within 1e-7 of it below the mean."""
    marked = data.draw(st.integers(1, total))
    drawn = data.draw(st.integers(1, total))
    most = data.draw(st.integers(0, min(marked, drawn)))
    exact = sum(
        math.comb(marked, h) * math.comb(total - marked, drawn - h)
        for h in range(most + 1)
        if drawn - h <= total - marked
    ) / math.comb(total, drawn)
    full = log_hypergeometric_tail(total, marked, drawn, most)
    rough = log_hypergeometric_tail(total, marked, drawn, most, full=False)
    if exact == 0:
        assert full == rough == -math.inf
        return
    assert math.log(exact) <= full + 1e-15
    assert full <= rough + 1e-9
    if most * total < drawn * marked and most < min(marked, drawn):
        assert full <= math.log(exact) + 1e-7


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 4), st.integers(1, 6))
def test_the_worst_number_of_disagreements_is_the_one_used(m, ghost, errors, K):
    """P(H <= min(e, Z - K)) over Z is largest at Z = K + e."""
    K = min(K, ghost)

    def chance(Z, most):
        ways = sum(
            math.comb(Z, h) * math.comb(m + ghost - Z, m - h) for h in range(min(most, m) + 1) if h <= Z
        )
        return Fraction(ways, math.comb(m + ghost, m))

    values = [chance(Z, min(errors, Z - K)) for Z in range(K, m + ghost + 1)]
    at = min(K + errors, m + ghost)
    assert max(values) == chance(at, min(errors, at - K))


def test_sample_sizes_hold_in_simulation():
    """At the size found no interval of mass > b holds at most e points, but with chance < beta."""
    errors, rate, beta = 3, 0.2, 0.1
    m = sample_size(lambda m: errors, rate, beta, lambda M: M + 1, pairs=True)
    rng = np.random.default_rng(5)
    draws = np.sort(rng.random((4000, m)), axis=1)
    padded = np.concatenate([np.zeros((4000, 1)), draws, np.ones((4000, 1))], axis=1)
    widest = (padded[:, errors + 1 :] - padded[:, : -errors - 1]).max(axis=1)
    assert (widest > rate).mean() < beta
    assert m < 400


def test_sample_sizes_keep_their_bound_and_grow_the_right_way():
    """The bound at m is within beta; more errors, a smaller rate or pairs need more points."""

    def size(errors=5, rate=0.1, beta=0.01, pairs=False):
        return sample_size(lambda m: errors, rate, beta, lambda M: M + 1, pairs=pairs)

    m = size()
    assert log_double_sample(m, 5, 0.1, lambda M: M + 1, pairs=False) <= math.log(0.01)
    assert size(errors=9) > m
    assert size(rate=0.05) > m
    assert size(pairs=True) > m
    assert finite_class_size(1000, 5, 0.1, 0.01) > finite_class_size(10, 5, 0.1, 0.01)


def _certify(profile, found, epsilon, alpha, beta, method):
    """Compute every round again by scipy's hypergeometric law, from the definition."""
    from scipy.stats import hypergeom

    k = profile.k
    share = float(beta) / (3 * k - 1 + (found.layout.initial is not None))
    assert sum(found.rates) == alpha
    for i in range(k):
        m = found.m[i]

        def excess(candidates, loss):
            return math.ceil(2 / float(loss) * math.log(candidates / share)) - 1

        e = excess(profile.sizes[i], found.layout.oracles[i])
        if i < k - 1:
            points = found.m[i + 1] + (0 if method == "carrier-boost" else m)
            e += excess(profile.growth(i + 1, points), found.layout.relabels[i])
        if i == 0 and found.layout.initial is not None:
            e += excess(profile.growth(0, m), found.layout.initial)
        bounds = []
        for ghost in (m, 2 * m, 4 * m, 8 * m, 16 * m):
            K = math.floor(found.rates[i] * ghost)
            pairs = math.log(profile.growth(i, m + ghost)) * (1 if i == 0 else 2) - (math.log(2) if i else 0)
            bounds.append(math.log(2) + pairs + hypergeom.logcdf(e, m + ghost, K + e, m))
        assert min(bounds) <= math.log(share) + 1e-5
    for block, reservoir, m in zip(blocks(found.layout), found.allocation.reservoirs, found.m, strict=True):
        assert 1 + Fraction(m, reservoir.size) * (block.loss.ratio - 1) <= exp_lower(epsilon)


@pytest.mark.parametrize("method", ["carrier-boost", "label-boost"])
@pytest.mark.parametrize("initial", [False, True])
def test_calibrated_runs_are_certified_by_the_definition(method, initial):
    """Excesses, double samples, shares and reservoirs of a calibration hold when computed afresh."""
    for profile in (halfspace_profile(2, 512), composition_profile(3, 2**40)):
        found = calibrate(profile, ONE, Fraction(0), TENTH, TENTH, method=method, initial=initial)
        _certify(profile, found, ONE, TENTH, TENTH, method)


def test_interior_point_runs_are_certified_by_the_definition():
    """Nets, double samples and reservoirs of an interior-point run hold when computed afresh."""
    from scipy.stats import hypergeom

    profile, delta = halfspace_profile(2, 2**200), Fraction(1, 10**6)
    found = interior_run(profile, ONE, delta, TENTH, TENTH)
    share = 0.1 / 7
    for i in range(2):
        m, loss = found.m[i], found.layout.oracles[i]
        size, beta = profile.sizes[i], Fraction(1, 70)
        t = min(blocks_needed(size, loss, delta / 2, beta, how=how) for how in ("interior", "stabbing"))
        relabel = 0
        if i == 0:
            candidates = profile.growth(1, found.m[1])
            relabel = math.ceil(2 / float(found.layout.relabels[0]) * math.log(candidates / share)) - 1
        log_labellings = math.log(profile.growth(i, m))
        rho = -math.expm1(-(log_labellings + math.log(t / share)) / (m // t))
        e = math.floor(rho * m) + relabel
        bounds = []
        for ghost in (2 * m, 4 * m, 8 * m):
            K = math.floor(0.05 * ghost)
            pairs = math.log(profile.growth(i, m + ghost)) * (1 + i) - i * math.log(2)
            bounds.append(math.log(2) + pairs + hypergeom.logcdf(e, m + ghost, K + e, m))
        assert min(bounds) <= math.log(share) + 1e-3
    for block, reservoir, m in zip(blocks(found.layout), found.allocation.reservoirs, found.m, strict=True):
        q = Fraction(m, reservoir.size)
        over = max(Fraction(0), 1 + q * (block.loss.ratio - 1) - exp_lower(ONE)) / (1 + block.loss.ratio)
        assert q * block.loss.delta + over <= delta


def test_interior_points_hardly_depend_on_the_domain():
    """From 2^500 to 2^2000 the logarithm of the class grows 4-fold, this size by less than a tenth."""

    def sizes(bits):
        profile = halfspace_profile(2, 2**bits)
        run = interior_run(profile, ONE, Fraction(1, 10**6), TENTH, TENTH)
        return run.allocation.n, math.log(profile.members)

    (small, few), (large, many) = sizes(500), sizes(2000)
    assert many > 3.9 * few
    assert large < 1.1 * small


def test_targets_in_the_plane_and_in_space():
    """At epsilon 1, alpha = beta = 0.1, X = 512: CarrierBoost needs <= 3.0e4 (d=2), 1.9e5 (d=3)."""
    assert learning_plan(d=2).row("carrier-boost, merged").n <= 30_000
    assert learning_plan(d=3).row("carrier-boost, merged").n <= 190_000
    assert learning_plan(d=1).row("carrier-boost, merged").n <= 800


@pytest.mark.parametrize(
    ("d", "oracle", "n"),
    [
        (1, "quasi-concave", 4.0e11), (2, "quasi-concave", 2.8e12), (3, "quasi-concave", 7.0e13),
        (1, "interior-point", 1.1e14), (2, "interior-point", 4.2e15), (3, "interior-point", 1.5e17),
    ],
)  # fmt: skip
def test_stated_constants(d, oracle, n):
    """The constants as written give these sizes."""
    assert stated_size(d, 512, 1, 1e-6, 0.1, 0.1, oracle) == pytest.approx(n, rel=0.13)


def test_rows_are_ordered_as_the_theory_says():
    """Lower bounds < no privacy < exponential mechanism < CarrierBoost < LabelBoost < stated constants."""
    plan = learning_plan(d=2)
    names = [
        "any learner", "any proper pure learner", "consistent hypothesis", "exponential mechanism",
        "exponential mechanism, dual grid", "carrier-boost, merged", "label-boost, merged",
        "carrier-boost, separate", "label-boost, separate", "label-boost, separate, initial",
        "interior-point, merged", "stated constants, quasi-concave", "stated constants, interior-point",
    ]  # fmt: skip
    sizes = [plan.row(name).n for name in names]
    order = [0, 1, 2, 3, 4, 5, 6]
    assert [sizes[i] for i in order] == sorted(sizes[i] for i in order)
    assert sizes[7] < sizes[8] < sizes[9] < sizes[10] < sizes[11] < sizes[12]
    assert plan.best.name == "exponential mechanism, dual grid"
    assert all(row.rests_on for row in plan.rows)
    assert plan.to_dict()["rows"][0]["name"] == "exponential mechanism"
    assert plan.row("objective perturbation").n is None


@pytest.mark.parametrize(
    "arguments",
    [
        {"cls": "thresholds", "size": 2**64}, {"cls": "intervals", "size": 2**20}, {"d": 1, "delta": 0},
        {"cls": "compositions", "k": 4, "size": 1000}, {"d": 2, "epsilon": 3, "radius": 2**31},
        {"d": 4, "radius": 3, "alpha": "0.3"},
    ],
)  # fmt: skip
def test_plans_of_other_classes(arguments):
    """Every class gets rows whose rigorous sizes exceed the lower bounds, and rows without size say why."""
    plan = learning_plan(**arguments)
    floor = plan.row("any learner").n
    for row in plan.rows:
        assert row.n is None or row.n >= floor
    assert plan.best.n >= plan.row("any proper pure learner").n
    stated = [row for row in plan.rows if row.kind == "stated"]
    asked = arguments.get("cls", "halfspaces") == "halfspaces" and arguments.get("delta", 1) != 0
    assert bool(stated) == (asked and arguments.get("epsilon", 1) <= 1)


def test_sizes_move_with_the_guarantee():
    """A smaller alpha or epsilon needs more records."""

    def n(**arguments):
        return learning_plan("intervals", size=2**16, **arguments).row("carrier-boost").n

    assert n(alpha="0.2") < n() < n(alpha="0.05")
    assert n(epsilon=2) < n() < n(epsilon="0.5")


def test_lower_bounds():
    """The bounds grow with the dimension, the domain and 1/epsilon, and never exceed what suffices."""
    assert least_without_privacy(50, 0.1, 0.1) > least_without_privacy(3, 0.1, 0.1)
    assert least_without_privacy(2, 0.4, 0.45) >= 1
    sizes = [least_pure_proper(2**bits, 0.1, 0.1, 1.0) for bits in (2, 16, 64)]
    assert sizes == sorted(sizes)
    assert least_pure_proper(2**64, 0.1, 0.1, 0.5) > sizes[-1]
    enough = learning_plan("thresholds", size=2**64).row("exponential mechanism").n
    assert sizes[-1] <= enough
    assert sizes[-1] >= 64 * math.log(2) / 0.2 * 0.5


def test_progress_ends_at_one():
    """Progress rises to 1."""
    seen = []
    learning_plan("intervals", size=99, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_refusals():
    """Requests that make no sense are refused by name."""
    for name, arguments in {
        "cls": {"cls": "circles"}, "delta": {"delta": 1}, "alpha": {"alpha": "0.7"}, "beta": {"beta": 0},
        "epsilon": {"epsilon": 0}, "d": {"d": 0}, "radius": {"radius": 0},
        "k": {"cls": "compositions", "k": 0},
    }.items():  # fmt: skip
        with pytest.raises(ArgumentError, match=f"'{name}'"):
            learning_plan(**arguments)
    with pytest.raises(ArgumentError, match="'name'"):
        learning_plan(d=1).row("nothing")


TINY = Fraction(1, 10**400)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("radius", {"radius": 2**20_000}), ("radius", {"radius": -(2**20_000)}), ("radius", {"radius": 2.5}),
        ("size", {"cls": "intervals", "size": 2**20_000}), ("size", {"size": 9}), ("d", {"d": 13}),
        ("k", {"cls": "compositions", "k": 10**9}), ("k", {"cls": "thresholds", "k": 2}), ("k", {"k": 1}),
        ("alpha", {"alpha": TINY}), ("beta", {"beta": TINY}), ("beta", {"beta": 1 - TINY}),
        ("delta", {"delta": TINY}), ("epsilon", {"epsilon": Fraction(1, 10**9)}),
        ("epsilon", {"epsilon": Fraction(1, 10**6)}),
        ("epsilon, alpha", {"d": 1, "epsilon": Fraction(1, 10**5), "alpha": Fraction(1, 10**9)}),
    ],
)  # fmt: skip
def test_extremes_beyond_the_arithmetic_are_refused_by_name(name, arguments):
    """What no plan can be made for within a minute, or by floats, is refused with the argument's name."""
    with pytest.raises(ArgumentError) as caught:
        learning_plan(**arguments)
    assert caught.value.name == name
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "arguments",
    [
        {"radius": 1, "d": 1}, {"cls": "compositions", "k": 1, "size": 1}, {"cls": "thresholds", "size": 1},
        {"d": 1, "radius": 2**4000}, {"d": 1, "beta": Fraction(1, 10**60)},
        {"d": 1, "delta": Fraction(1, 10**60)},
        {"d": 1, "beta": 1 - Fraction(1, 10**30), "alpha": "0.5"}, {"d": 1, "alpha": Fraction(1, 10**9)},
        {"d": 1, "epsilon": 100}, {"d": 1, "delta": 0, "epsilon": Fraction(1, 10**3)},
    ],
)  # fmt: skip
def test_extremes_within_the_arithmetic_are_planned(arguments):
    """Small and long domains, chances near 0 and 1, and large losses have plans that end in JSON."""
    import json

    plan = learning_plan(**arguments)
    assert plan.best.n >= 1
    assert json.loads(json.dumps(plan.to_dict()))["rows"]


def test_long_numbers_are_shown_with_their_first_digits_and_power():
    """The short form is that of the digits, also where those are too many to print."""
    from geomdp.learners.planning import _short

    for number in (0, 7, 999_999, 10**6, 10**6 - 1, 12_345_678, 99_999_999, 10**40 - 1, 10**40, 3 * 10**4000):
        digits = str(number)
        wanted = digits if number < 10**6 else f"{digits[0]}.{digits[1]}e{len(digits) - 1}"
        assert _short(number) == wanted
    assert _short(7 * 10**6000 + 1) == "7.0e6000"


def test_rows_that_exceed_a_class_do_not_claim_to_run():
    """In three features the sizes exceed what the sweeps take; in two and one all components run."""
    assert not any(row.runs for row in learning_plan(d=3).rows if row.m)
    assert all(row.runs for row in learning_plan(d=1).rows if row.m)
