"""Laws of finite kernels: exact probabilities, computed losses, rounding to the safe side."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.local import random_table

from geomdp.core.errors import ArgumentError
from geomdp.local.finite import Kernel, check_probability, log_up, odds, ratio_of
from geomdp.local.kernels import (
    GeneralisedRR,
    HadamardBit,
    RandomisedResponse,
    RoleRR,
    Scope,
    Table,
    YesNo,
)
from geomdp.local.twoparty import SentBit
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.sampler import SecureSampler, SimSampler

EPSILONS = ["0.000001", "0.1", "1/3", "0.5", 1, 2, 4, 20, 100]
ROLES = [("Alice", 0), ("Alice", 1), ("Bob", 0), ("Bob", 1)]
R = Fraction(3)
ZOO = [
    (RandomisedResponse(R), [0, 1], R),
    (RandomisedResponse(R), [0, 1, None], R),
    (RandomisedResponse(R), [0, None], Fraction(2)),
    (RandomisedResponse(Fraction(1)), [0, 1, None], Fraction(1)),
    (RoleRR("Alice", R), ROLES, R),
    (RoleRR("Alice", R), [("Alice", 1), ("Bob", 1)], Fraction(2)),
    (RoleRR("Alice", R), [("Bob", 0), ("Bob", 1)], Fraction(1)),
    (GeneralisedRR(5, R), range(5), R),
    (GeneralisedRR(1, R), [0], Fraction(1)),
    (YesNo.symmetric(R), [True, False], R),
    (YesNo.unary(R), [True, False], Fraction(2)),
    (YesNo(Fraction(1), Fraction(0)), [True, False], math.inf),
    (HadamardBit(5, R), range(8), R),
    (HadamardBit(0, R), range(8), Fraction(1)),
    (Table(("a", "b"), {0: (1, 0), 1: (1, 0)}), [0, 1], Fraction(1)),
    (Table(("a", "b"), {0: (1, 1), 1: (1, 0)}), [0, 1], math.inf),
    (SentBit("Alice", lambda x: x, Fraction(1, 4)), ROLES, R),
]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_odds_are_just_below_the_exponential(epsilon):
    """odds(epsilon) is a rational in (e^epsilon - 2^-46, e^epsilon], decided by an enclosure."""
    value = odds(epsilon)
    real = Interval.of(1) / Interval.exp_neg(Fraction(epsilon), 1024)
    assert value <= real.lo
    assert real.hi - value < Fraction(1, 2**46)
    assert value.denominator <= 2**48


@pytest.mark.parametrize("epsilon", [0, -1, "-0.5", 101, math.inf, math.nan, True, None])
def test_odds_refuse_what_is_no_budget(epsilon):
    """A privacy loss must be a number with 0 < epsilon <= 100."""
    with pytest.raises(ArgumentError, match="Argument 'epsilon' must be"):
        odds(epsilon)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", 1, 2, 4])
def test_the_computed_loss_of_textbook_kernels_is_epsilon(epsilon):
    """Kernels built with odds(epsilon) have a computed loss of epsilon to 1e-12, rounded up by less."""
    r, half = odds(epsilon), odds(Fraction(epsilon) / 2)
    target = float(Fraction(epsilon))
    for kernel, domain in [
        (RandomisedResponse(r), [0, 1, None]),
        (RoleRR("Bob", r), ROLES),
        (GeneralisedRR(7, r), range(7)),
        (HadamardBit(3, r), [*range(4), None]),
        (SentBit("Bob", Fraction, 1 / (1 + r)), ROLES),
    ]:
        assert abs(kernel.loss(domain) - target) < 1e-12
        assert kernel.worst_ratio(domain) == r
    for kernel in (YesNo.symmetric(half), YesNo.unary(r)):
        assert abs(log_up(kernel.pair_ratio) - target) < 1e-12
        assert kernel.pair_ratio <= 1 / Interval.exp_neg(Fraction(epsilon), 512).hi


@pytest.mark.parametrize(("kernel", "domain", "ratio"), ZOO)
def test_laws_sum_to_one_and_ratios_are_as_by_hand(kernel, domain, ratio):
    """A law sums to exactly 1, floats agree with it, and the worst ratio is the maximum over all pairs."""
    for x in domain:
        law = kernel.law(x)
        assert tuple(law) == kernel.outputs
        assert sum(law.values()) == 1
        assert np.allclose(kernel.pmf(x), [float(p) for p in law.values()], rtol=1e-15)
    assert kernel.worst_ratio(domain) == ratio
    pairs = itertools.product(domain, domain, range(len(kernel.outputs)))
    quotients = [
        kernel.probabilities(x)[y] / kernel.probabilities(z)[y] if kernel.probabilities(z)[y] else math.inf
        for x, z, y in pairs
        if kernel.probabilities(x)[y]
    ]
    assert max(quotients) == ratio
    assert kernel.full_support(domain) == all(all(kernel.probabilities(x)) for x in domain)


@pytest.mark.parametrize(("kernel", "domain", "ratio"), ZOO)
def test_samples_follow_the_law(kernel, domain, ratio):
    """Over all values of the drawn integer, outputs occur exactly as often as weighted."""
    for x in domain:
        total = sum(kernel.weights(x))
        if total > 1000:
            continue
        counts = Counter(kernel.sample(x, _Fixed(value, total)) for value in range(total))
        assert {y: Fraction(counts[y], total) for y in kernel.outputs} == kernel.law(x)


class _Fixed:
    """A sampler whose uniform integer is given."""

    simulated = True

    def __init__(self, value, bound):
        self.value, self.bound = value, bound

    def uniform(self, bound):
        assert bound == self.bound
        return self.value


def test_secure_and_simulated_samplers_serve_kernels():
    """Both samplers draw outputs of the kernel; the simulated one reproduces them."""
    kernel = GeneralisedRR(4, odds(1))
    assert kernel.sample(2, SecureSampler()) in kernel.outputs
    draws = [[kernel.sample(2, sampler) for _ in range(50)] for sampler in (SimSampler(1), SimSampler(1))]
    assert draws[0] == draws[1]


@settings(max_examples=100, deadline=None)
@given(st.fractions(1, 10**6), st.integers(0, 10**12))
def test_log_up_never_falls_below_the_logarithm(ratio, bump):
    """exp(log_up(r)) >= r, by an exact enclosure, and log_up(r) is close to log(r)."""
    value = ratio + Fraction(bump, 10**18)
    claimed = log_up(value)
    assert 1 / Interval.exp_neg(Fraction(claimed), 256).lo >= value
    assert claimed <= math.log(value) * (1 + 1e-12) + 1e-12


def test_ratio_of_degenerate_events():
    """An impossible event has ratio 1, an event possible for some inputs only has ratio infinity."""
    zero, half = Fraction(0), Fraction(1, 2)
    assert [ratio_of([zero, zero]), ratio_of([zero, half]), ratio_of([half, half])] == [1, math.inf, 1]


def test_scoped_questions_answer_as_their_scope_says():
    """A question made by `at` says yes exactly for inputs of its level with its label at its place."""
    kernel = YesNo.symmetric(Fraction(2)).at(
        Scope(1, "v", 7), level=lambda x: x[0], label=lambda x, place: x[1][place]
    )
    assert kernel.scope == Scope(1, "v", 7)
    for x in [(0, {}), (1, {"v": 6}), (1, {"v": 7})]:
        assert kernel.law(x)[1] == (kernel.p if x == (1, {"v": 7}) else kernel.q)


def test_hadamard_rows_are_orthogonal():
    """The expected signs of a kernel over all rows identify the category: rows are orthogonal."""
    size, keep = 8, (R - 1) / (R + 1)
    mean = [[2 * HadamardBit(row, R).law(category)[1] - 1 for row in range(size)] for category in range(size)]
    for a, b in itertools.product(range(size), repeat=2):
        inner = sum(x * y for x, y in zip(mean[a], mean[b], strict=True))
        assert inner == (size * keep**2 if a == b else 0)


@pytest.mark.parametrize("seed", range(5))
def test_tables_normalise_their_rows(seed):
    """A table's law is its rows divided by their sums, whatever the scale."""
    kernel = random_table(seed, 4, range(3), 4)
    scaled = Table(kernel.labels, {x: [Fraction(v, 7) for v in row] for x, row in kernel.rows.items()})
    assert all(kernel.law(x) == scaled.law(x) for x in range(3))


SECRET = 123456789


def _fails(x):
    raise KeyError(x)


@pytest.mark.parametrize(
    "kernel",
    [
        RandomisedResponse(R),
        RandomisedResponse(R, lambda x: x + 1),
        RandomisedResponse(R, _fails),
        GeneralisedRR(4, R),
        GeneralisedRR(4, R, _fails),
        YesNo.symmetric(R),
        YesNo.symmetric(R, lambda x: None),
        HadamardBit(2, R, lambda x: -x),
        HadamardBit(2, R, _fails),
        RoleRR("Alice", R),
        Table((0, 1), {0: (1, 1)}),
        SentBit("Alice", _fails, Fraction(1, 4)),
    ],
)
def test_no_error_holds_an_input(kernel):
    """An input that a kernel cannot answer about raises an error that neither shows nor carries it."""
    with pytest.raises(ArgumentError) as caught:
        kernel.law(SECRET)
    chain, error = [], caught.value
    while error is not None:
        chain.append(str(error) + repr(error.args))
        error = error.__cause__ or error.__context__
    assert not any(str(SECRET) in text for text in chain)
    with pytest.raises(ArgumentError) as caught:
        kernel.law(("Alice", SECRET))
    assert str(SECRET) not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: RandomisedResponse(Fraction(1, 2)), "ratio"),
        (lambda: RandomisedResponse(0), "ratio"),
        (lambda: RoleRR("Alice", -1), "ratio"),
        (lambda: GeneralisedRR(0, R), "size"),
        (lambda: GeneralisedRR(3, "x"), "ratio"),
        (lambda: YesNo(Fraction(3, 2), Fraction(1, 2)), "p"),
        (lambda: YesNo(Fraction(1, 2), -1), "q"),
        (lambda: YesNo.symmetric(Fraction(1, 2)), "half"),
        (lambda: HadamardBit(-1, R), "row"),
        (lambda: Table((), {}), "labels"),
        (lambda: Table(("a", "a"), {}), "labels"),
        (lambda: Table(("a", "b"), {0: (1,)}), "rows"),
        (lambda: Table(("a", "b"), {0: (0, 0)}), "rows"),
        (lambda: Table(("a", "b"), {0: (2, -1)}), "rows"),
        (lambda: check_probability("p", 2), "p"),
        (lambda: RandomisedResponse(R).worst_ratio([]), "domain"),
    ],
)
def test_bad_arguments_are_named(make, name):
    """A bad parameter raises ArgumentError that names it."""
    with pytest.raises(ArgumentError) as caught:
        make()
    assert caught.value.name == name


def test_kernels_state_their_contract():
    """A kernel's text shows its parameters, and the base class cannot be instantiated."""
    assert repr(RandomisedResponse(R)) == "RandomisedResponse(ratio=Fraction(3, 1), statistic=None)"
    with pytest.raises(TypeError):
        Kernel()
