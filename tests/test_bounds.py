"""Laws of the population form: closed forms, monotonicity, and coverage on populations known exactly."""

import json
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from support.zoo import POINTS, labellings

import geomdp as g
from geomdp import data
from geomdp.bounds import (
    Conversion,
    fixed_lower,
    log_growth,
    population_bounds,
    relative_bounds,
    uniform_upper,
    verdict_interval,
)
from geomdp.privacy.binomial import binomial_upper, clopper_pearson, log_binomial_tail

GRID = g.Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
LINE = g.Domain.line(5)


def _tail(k, n, p):
    """P(Bin(n, p) <= k), exactly."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def _poisson_binomial(rates):
    """The exact law of a sum of independent indicators."""
    law = [Fraction(1)]
    for p in rates:
        law = [a * (1 - p) + b * p for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return law


@pytest.mark.parametrize("n", [1, 2, 7, 30, 101])
def test_binomial_tails_are_bounded_closely(n):
    """The logarithmic tail lies above the exact rational one, by at most 10^-7."""
    for k in range(0, n, max(1, n // 6)):
        for p in (Fraction(k + 1, n + 1), Fraction(k + 3, n + 3), Fraction(99, 100)):
            if k >= n * p:
                assert log_binomial_tail(k, n, float(p)) == 0
                continue
            exact = _tail(k, n, Fraction(float(p)))
            assert -1e-12 <= log_binomial_tail(k, n, float(p)) - math.log(exact) <= 1e-7


@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6)])
def test_limits_are_proved_and_tight(level):
    """At the upper limit the exact tail is at most the level, and a millionth below it is not."""
    for n in (1, 5, 40):
        for k in range(n):
            p = Fraction(binomial_upper(k, n, level))
            assert _tail(k, n, p) <= level
            below = p - Fraction(1, 10**6)
            assert below <= Fraction(k, n) or _tail(k, n, below) > level
    assert binomial_upper(7, 7, level) == 1


def test_clopper_pearson_is_symmetric_and_known_at_the_ends():
    """No success in n trials gives 0 .. 1 - (loss/2)^(1/n); limits of k and n - k mirror each other."""
    low, high = clopper_pearson(0, 50, Fraction(1, 10))
    assert low == 0
    assert high == pytest.approx(1 - 0.05 ** (1 / 50), abs=1e-9)
    for k in range(11):
        low, high = clopper_pearson(k, 10, Fraction(1, 10))
        assert (1 - high, 1 - low) == pytest.approx(clopper_pearson(10 - k, 10, Fraction(1, 10)))


def test_large_tails_are_summed_in_part():
    """With many terms the geometric rest keeps the bound close to the normal approximation."""
    n, p = 10**9, 0.5
    k = n // 2 - 2 * 15811
    assert math.exp(log_binomial_tail(k, n, p)) == pytest.approx(0.0228, abs=3e-4)


@pytest.mark.parametrize("n", [4, 9])
def test_hoeffding_comparison_covers_unequal_rates(n):
    """For unequal rates, a mean below the lower limit makes k or more unlikely; likewise above."""
    rng = np.random.default_rng(n)
    level = Fraction(1, 8)
    for _ in range(60):
        rates = [Fraction(int(v), 16) for v in rng.integers(0, 17, n)]
        law, mean = _poisson_binomial(rates), sum(rates) / n
        for k in range(n + 1):
            if mean < Fraction(fixed_lower(k, n, level)):
                assert sum(law[k:]) <= level
            if mean > Fraction(uniform_upper(k, n, level, 1)):
                assert sum(law[: k + 1]) <= level


def test_bounds_grow_with_opt_and_with_confidence():
    """Both ends increase in opt; a smaller beta, a larger class and a wider interval widen the bounds."""
    ends = [population_bounds(60, k, domain=GRID) for k in range(0, 61, 6)]
    for name in ("lower", "upper"):
        values = [getattr(b, name) for b in ends]
        assert values == sorted(values)
    one = population_bounds(60, 20, domain=GRID)
    for wider in (
        population_bounds(60, 20, domain=GRID, beta=0.01),
        population_bounds(60, (15, 22), domain=GRID, opt_beta=0),
        population_bounds(60, 20, domain=g.Domain.grid([("x", 0, 1, 9), ("y", 0, 1, 9)])),
    ):
        assert wider.lower <= one.lower
        assert wider.upper >= one.upper
    assert population_bounds(600, 200, domain=GRID).lower > one.lower


def test_the_closed_form_at_opt_zero():
    """If no record conflicts, R* <= 1 - (beta / (2 N))^(1/(2n)) with N labellings, and R* >= 0."""
    b = population_bounds(100, 0, domain=GRID, beta=Fraction(1, 5))
    count = g.count_dichotomies(GRID)
    assert b.lower == 0
    assert b.exact[1] == pytest.approx(1 - (0.1 / count) ** (1 / 200), abs=1e-9)
    assert b.pooled[1] == b.exact[1]
    assert not b.rules_out(0)


def test_everything_conflicting_is_bounded_by_a_half():
    """An optimum of n says R* is near 1/2; with both constants in the class it is no larger."""
    b = population_bounds(500, 500, domain=GRID)
    assert 0.4 < b.lower < b.upper == 0.5
    assert b.rules_out("0.4")


def test_relative_bounds_solve_their_inequalities():
    """The upper one solves R = r + 2 sqrt(c R), the lower one is r - 2 sqrt(c r), and eta = 4 c dominates."""
    for r in (0.0, 0.01, 0.2):
        for c in (0.001, 0.02):
            below, above = relative_bounds(r, r, c)
            assert above == pytest.approx(r + 2 * math.sqrt(c * above), rel=1e-9)
            assert above <= r + math.sqrt(4 * c * r) + 4 * c + 1e-12
            assert below == pytest.approx(max(0, r - 2 * math.sqrt(c * r)), rel=1e-9)


@pytest.mark.parametrize(
    "name", ["square", "three by three", "segment", "centred three by three", "antipodes"]
)
def test_growth_bounds_every_set_of_points(name):
    """The number of labellings of a point set never exceeds the growth bound at its size."""
    points = POINTS[name]
    domain = g.Domain(points)
    count = len(labellings(points))
    assert math.log(count) <= log_growth(domain.m, domain.d, pointed=domain.pointed) + 1e-12
    assert math.log(count) <= log_growth(domain.m, domain.d) + 1e-12
    assert log_growth(5, 3) == pytest.approx(math.log(26))
    assert log_growth(3, 7) == pytest.approx(3 * math.log(2))
    assert log_growth(10**6, 500) >= log_growth(10**6, 400)


@pytest.mark.parametrize(("n_a", "n_b"), [(7, 7), (4, 10), (12, 3)])
def test_conversion_brackets_every_split(n_a, n_b):
    """However mistakes are divided between the parties, the average rate lies between the two conversions."""
    ends = Conversion(n_a, n_b)
    for a in range(n_a + 1):
        for b in range(n_b + 1):
            rate = (a / n_a + b / n_b) / 2
            assert ends.least(a + b) - 1e-12 <= rate <= ends.largest(a + b) + 1e-12
    for total in range(n_a + n_b + 1):
        splits = [(a / n_a + (total - a) / n_b) / 2 for a in range(n_a + 1) if 0 <= total - a <= n_b]
        assert min(splits) == pytest.approx(ends.least(total))
        assert max(splits) == pytest.approx(ends.largest(total))


def _signs(domain, classes):
    if classes == "thresholds":
        return np.array([[1 if rank >= t else -1 for rank in range(domain.m)] for t in range(domain.m + 1)])
    return labellings(domain.points)


@pytest.mark.parametrize(("domain", "classes"), [(GRID, "halfspaces"), (LINE, "thresholds")])
@pytest.mark.parametrize("sizes", [(30, 30), (60, 15)])
@pytest.mark.parametrize("noise", [0.0, 0.15, 0.5])
def test_coverage_on_known_populations(domain, classes, sizes, noise):
    """On populations with known R* each end fails in at most beta/2 of 400 samples, up to 4 deviations.

    opt and R* are computed here by trying every labelling, independently of the package.
    """
    rng = np.random.default_rng([domain.m, sizes[1], int(100 * noise)])
    signs, beta = _signs(domain, classes), 0.4
    plus = []
    for _ in range(2):  # the chance of each cell and label
        cells = rng.dirichlet(np.ones(domain.m))
        label = np.where(signs[len(signs) // 3] > 0, 1 - noise, noise)
        plus.append(np.stack([cells * label, cells * (1 - label)]))
    rates = [np.where(signs > 0, P[1], P[0]).sum(axis=1) for P in plus]
    least = ((rates[0] + rates[1]) / 2).min()
    pooled = ((sizes[0] * rates[0] + sizes[1] * rates[1]) / sum(sizes)).min()
    misses = np.zeros(6, dtype=int)
    for _ in range(400):
        wrong = 0
        for P, n in zip(plus, sizes, strict=True):
            counts = rng.multinomial(n, P.ravel()).reshape(P.shape)
            wrong = wrong + np.where(signs > 0, counts[1], counts[0]).sum(axis=1)
        b = population_bounds(sizes, int(wrong.min()), domain=domain, classes=classes, beta=beta)
        truths = (b.lower, b.upper, *b.vc)
        misses += [t > least + 1e-12 if i % 2 == 0 else t < least - 1e-12 for i, t in enumerate(truths)] + [
            b.pooled[0] > pooled + 1e-12,
            b.pooled[1] < pooled - 1e-12,
        ]
    allowed = 400 * beta / 2 + 4 * math.sqrt(400 * beta / 2)
    assert (misses <= allowed).all()
    assert misses[2] == misses[3] == 0  # the relative VC bounds are wide


def test_without_a_domain_only_the_vc_bound_is_above():
    """A class known by its dimension has an upper bound by relative VC, and the same lower bound as ever."""
    free = population_bounds(10**5, 300, dimension=3)
    assert free.exact[1] == 1
    assert free.upper == free.vc[1] < 0.02
    assert free.lower == population_bounds(10**5, 300, domain=GRID).lower
    bare = population_bounds(10**5, 300)
    assert (bare.upper, bare.dimension, bare.eta) == (1, None, None)


def test_an_exact_lower_bound_needs_far_fewer_records():
    """Where relative VC says nothing, the binomial end already rules out a small error."""
    b = population_bounds(200, 40, domain=GRID)
    assert b.vc[0] == 0
    assert b.rules_out("0.05")


def test_verdicts_become_intervals():
    """Match bounds opt from above, Far from below; a private run's interval works, too."""
    assert verdict_interval("Match", 10, 10) == (0, 9)
    assert verdict_interval("Far", 10, 50) == (1, 50)
    assert verdict_interval("Inconclusive", 10, 50) == (0, 50)
    S = g.Sample.from_cells(LINE, [0] * 50 + [4] * 50, [-1] * 50 + [1] * 50)
    outcome = g.plan(LINE, n=100, epsilon=4).best.run(S, S, rng=1)
    b = population_bounds(100, outcome.opt_interval, domain=LINE, beta="0.1", opt_beta="0.1")
    assert b.confidence == Fraction(4, 5)
    assert b.lower == 0 < b.upper < 0.5
    assert b.to_dict()["opt"] == list(outcome.opt_interval)


@pytest.mark.parametrize("domain", [LINE, GRID])
def test_bounds_are_never_empty(domain):
    """Whatever is known of a possible opt, the lower end is at most the upper one, and never above 1/2."""
    for n in (1, 3, (1, 9), (40, 2)):
        total = sum(n) if isinstance(n, tuple) else 2 * n
        for opt in range(total // 2 + 1):
            for beta in ("0.001", "0.999"):
                b = population_bounds(n, opt, domain=domain, beta=beta)
                assert 0 <= b.lower <= b.upper <= 0.5
                assert b.pooled[0] <= b.pooled[1]


@pytest.mark.parametrize(
    ("given", "name"),
    [(("Far", 10, 50, 10), "tolerance"), (("Match", 51, 50), "resolution"), (("Far", 0, 50), "resolution")],
)
def test_impossible_verdicts_are_refused(given, name):
    """A certified verdict has tolerance < resolution <= the largest opt."""
    with pytest.raises(g.ArgumentError) as caught:
        verdict_interval(*given)
    assert caught.value.name == name


def test_long_lines_are_counted_without_being_written_out():
    """A line of 2^200 ranks has 2^200 + 1 labellings; its dimension is 1."""
    b = population_bounds(1000, 3, domain=g.Domain.line(2**200))
    assert b.labellings == 2**200 + 1
    assert 0 < b.lower < b.upper < 0.2
    assert b.vc[1] < 0.2


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"n": 0}, "n"),
        ({"n": (5, 5, 5)}, "n"),
        ({"opt": 21}, "opt"),
        ({"opt": (5, 4)}, "opt"),
        ({"opt": -1}, "opt"),
        ({"beta": 0}, "beta"),
        ({"opt_beta": 1}, "opt_beta"),
        ({"opt_beta": "0.9"}, "opt_beta"),
        ({"opt": (2, 4)}, "opt_beta"),
        ({"opt": (3, 3)}, "opt_beta"),
        ({"opt": 11}, "opt"),
        ({"opt": (11, 12), "opt_beta": 0}, "opt"),
        ({"domain": 3}, "domain"),
        ({"classes": "trees"}, "classes"),
        ({"classes": "thresholds"}, "classes"),
        ({"dimension": 0}, "dimension"),
    ],
)
def test_bad_arguments_are_named(arguments, name):
    """Each argument outside its range raises an ArgumentError with its name."""
    given = {"n": 10, "opt": 3, "domain": GRID, **arguments}
    with pytest.raises(g.ArgumentError) as caught:
        population_bounds(given.pop("n"), given.pop("opt"), **given)
    assert caught.value.name == name


@pytest.fixture
def command(geomdp):
    """Run `geomdp population`: (exit code, stdout, stderr)."""
    return partial(geomdp, "population")


def test_the_command_prints_the_same_bounds(command):
    """`geomdp population` takes opt, an interval or a verdict; its JSON is the library's answer."""
    grid = str(data.path("penguins/grid8.json"))
    domain = g.Domain.from_grid_file(grid)
    base = ["--grid", grid, "--n", "500,400", "--json"]
    for given, opt in (
        (["--opt", 12], (12, 12)),
        (["--opt-interval", "3,60", "--opt-beta", "0.1"], (3, 60)),
        (["--opt-interval", "3,600", "--opt-beta", "0"], (3, 450)),
        (["--verdict", "Match", "--resolution", 48, "--opt-beta", "0.05"], (0, 47)),
        (["--verdict", "Far", "--resolution", 48, "--tolerance", 2, "--opt-beta", "0.1"], (3, 450)),
        (["--verdict", "Inconclusive", "--resolution", 48, "--opt-beta", "0"], (0, 450)),
    ):
        code, out, _ = command(*base, *given)
        noise = given[given.index("--opt-beta") + 1] if "--opt-beta" in given else 0
        assert code == 0
        assert json.loads(out) == population_bounds((500, 400), opt, domain=domain, opt_beta=noise).to_dict()
    code, out, _ = command("--grid", grid, "--n", 500, "--opt", 0)
    assert code == 0
    assert "R*" in out


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["--opt", 3, "--opt-interval", "1,4"],
        ["--opt-interval", "1;4"],
        ["--verdict", "Far"],
        ["--opt", 10**6],
        ["--opt", 101],
        ["--opt", -1],
        ["--opt", 3, "--opt-beta", "0.95"],
        ["--opt", 3, "--resolution", 5],
        ["--opt", 3, "--tolerance", 5],
        ["--opt-interval", "3,60"],
        ["--opt-interval", "101,120", "--opt-beta", "0.1"],
        ["--opt-interval", "60,3", "--opt-beta", "0.1"],
        ["--verdict", "Far", "--resolution", 48],
        ["--verdict", "Far", "--resolution", 48, "--opt-beta", "0.9"],
        ["--verdict", "Far", "--resolution", 48, "--tolerance", 48, "--opt-beta", "0.1"],
        ["--verdict", "Match", "--resolution", 101, "--opt-beta", "0.1"],
    ],
)
def test_the_command_refuses_what_it_cannot_read(command, given):
    """What is missing, garbled, contradictory or impossible ends with exit code 2; 100 + 100 records."""
    code, out, err = command("--grid", data.path("penguins/grid8.json"), "--n", 100, *given)
    assert (code, out) == (2, "")
    assert err.startswith("geomdp: Argument '")
