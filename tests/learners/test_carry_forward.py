"""Laws of the component-by-component learner: invariant, totality, partition, modes, oracles."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.learners.accounting import Allocation, Layout, Reservoir, allocate, blocks
from geomdp.learners.carry_forward import CarryForwardLearner
from geomdp.learners.classes.halfspace import Halfspaces
from geomdp.learners.classes.interval import intervals
from geomdp.learners.classes.threshold import thresholds
from geomdp.learners.components import (
    BlockOracle,
    CompletionOracle,
    EnvelopeOracle,
    FiniteClass,
    PrefixState,
    default_completion,
)
from geomdp.learners.composition import Loss, exp_lower, exp_upper
from geomdp.learners.domains import Dyadic, Integers
from geomdp.learners.growth import Profile, composition_profile, halfspace_profile
from geomdp.learners.layouts import draw, partition, stretch
from geomdp.learners.modes import RunPlan, paper, rigorous, validated
from geomdp.learners.oracles.ip_concave import halfspace_maximisers
from geomdp.learners.pac_empirical import (
    LN4,
    ClosureOracle,
    EmpiricalLearner,
    ScoreLearner,
    empirical_loss,
    least_records,
    rank_by_value,
)
from geomdp.learners.perturbation import Perturbation, in_general_position
from geomdp.privacy.sampler import SimSampler

ONE = Fraction(1)
HALF = Fraction(1, 2)


def _rectangle(t, X):
    """Label +1 inside [t1, t2) x [t3, t4)."""
    x, y = X[:, 0], X[:, 1]
    return np.where((x >= t[0]) & (x < t[1]) & (y >= t[2]) & (y < t[3]), 1, -1)


RECTANGLES = FiniteClass((Integers(0, 5),) * 4, _rectangle, 2)
#: Name, class, profile, feature count, radius of the records.
WORLD = [
    ("halfspaces d=1", Halfspaces((Dyadic(4, 6),)), halfspace_profile(1, 8, merged=False), 1),
    ("halfspaces d=2", Halfspaces((Dyadic(4, 6),) * 2), halfspace_profile(2, 8, merged=False), 2),
    ("halfspaces d=2 merged", Halfspaces((Dyadic(4, 6),) * 2, merged=True), halfspace_profile(2, 8), 2),
    ("intervals", intervals(Integers(-8, 8)), composition_profile(2, 17), 1),
    ("rectangles", RECTANGLES, Profile("r", (6,) * 4, lambda i, m: (m + 1) ** 4, 4, 6**4), 2),
]
IDS = [name for name, *_ in WORLD]


def _inputs(d):
    """Records that are no hypothesis's labels, contradictions, duplicates, zeros, constant labels."""
    rng = np.random.default_rng(d)
    X = rng.integers(-8, 9, (60, d))
    yield X, rng.choice([-1, 1], 60)
    yield np.zeros((60, d), int), rng.choice([-1, 1], 60)
    yield np.repeat(X[:3], 20, axis=0), np.tile([1, -1], 30)
    yield X, np.ones(60, int)
    yield X, -np.ones(60, int)
    yield np.outer(np.arange(60) % 5, np.ones(d, int)), np.where(np.arange(60) % 2, 1, -1)


@pytest.mark.parametrize(("name", "C", "profile", "d"), WORLD, ids=IDS)
@pytest.mark.parametrize("method", ["carrier-boost", "label-boost"])
def test_every_state_after_the_first_is_realizable_on_any_input(name, C, profile, d, method):
    """Whatever the data, each sample that an oracle but the first one sees is realized by its class."""
    for number, (X, y) in enumerate(_inputs(d)):
        for initial in (False, True) if number < 2 else (False,):
            plan = validated(profile, len(X), Fraction(3), method=method, initial=initial)
            states = []
            learner = CarryForwardLearner(C, plan, strict=True)
            found = learner.fit(X, y, SimSampler(number), states.append)
            assert len(states) == len(found.components) == C.k
            assert all(state.realizable for state in states[not initial :])
            assert [len(state.X) for state in states] == list(plan.m)
            ends = C.predict(found.components, X)
            assert set(ends.tolist()) <= {-1, 1}


def test_realizability_agrees_with_a_search_over_all_hypotheses():
    """The invariant as states see it is what brute force over rectangles finds."""
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 6, (40, 2)), rng.choice([-1, 1], 40)
    plan = validated(WORLD[-1][2], 40, Fraction(2))
    seen = []
    CarryForwardLearner(RECTANGLES, plan, strict=True).fit(X, y, SimSampler(0), seen.append)
    values = [Fraction(v) for v in range(6)]
    for state in seen[1:]:
        rest = 4 - len(state.C.prefix)
        tails = itertools.product(values, repeat=rest)
        assert any(bool((_rectangle((*state.C.prefix, *t), state.X) == state.y).all()) for t in tails)


def test_learns_a_user_s_class():
    """With much budget, a user's class of rectangles is learned almost without error."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (300, 2))
    y = _rectangle((1, 4, 2, 5), X)
    plan = validated(WORLD[-1][2], 300, Fraction(40))
    found = CarryForwardLearner(RECTANGLES, plan, strict=True).fit(X, y, SimSampler(2))
    assert (RECTANGLES.predict(found.components, X) != y).mean() <= 0.05


class _Broken:
    """An oracle that fails on the data it should be quiet about."""

    epsilon, delta, everywhere = HALF, Fraction(0), True

    def choose(self, C, X, y, sampler):
        raise ValueError(f"record {X[0].tolist()}")


def test_failures_become_public_defaults():
    """A failing oracle is replaced by the middle of its domain; with strict its error shows."""
    plan = validated(composition_profile(2, 17), 60, Fraction(3))
    C = intervals(Integers(-8, 8))
    X, y = next(_inputs(1))
    broken = CarryForwardLearner(C, plan, (_Broken(), CompletionOracle(HALF)))
    found = broken.fit(X, y, SimSampler(0))
    assert found.components[0] == default_completion(C)[0] == 0
    with pytest.raises(ValueError, match="record"):
        CarryForwardLearner(C, plan, (_Broken(), CompletionOracle(HALF)), strict=True).fit(
            X, y, SimSampler(0)
        )


def test_public_limits_are_raised():
    """A class that cannot handle samples of a public size says so, whatever the mode of failure."""
    big = FiniteClass((Integers(0, 999),) * 2, lambda t, X: np.where(X[:, 0] >= t[0], 1, -1), 1)
    plan = validated(Profile("b", (1000, 1000), lambda i, m: m + 1, 1, 1000), 60, Fraction(3))
    with pytest.raises(CapacityError):
        CarryForwardLearner(big, plan).fit(np.zeros((60, 1), int), np.ones(60, int), SimSampler(0))


def test_no_refusal_depends_on_records():
    """A refusal inside a round becomes a public default; limits of sizes are known before a record is."""

    class Narrow(CompletionOracle):
        def choose(self, C, X, y, sampler):
            raise CapacityError("X", "other records", "these")

    C, plan = intervals(Integers(-8, 8)), validated(composition_profile(2, 17), 60, Fraction(3))
    X, y = next(_inputs(1))
    oracles = tuple(Narrow(loss) for loss in plan.layout.oracles)
    found = CarryForwardLearner(C, plan, oracles).fit(X, y, SimSampler(0))
    assert found.components == default_completion(C)
    four = halfspace_profile(4, 3)
    with pytest.raises(CapacityError, match="3 features"):
        CarryForwardLearner(Halfspaces((Dyadic(1, 2),) * 4, merged=True), validated(four, 90, Fraction(9)))


def test_the_reported_cost_is_recomputed():
    """A plan that understates its cost is not believed: the learner reports at least its ledger's losses."""
    C = intervals(Integers(0, 9))
    layout = Layout((Fraction(5),) * 2, (Fraction(5),))
    pair = (Reservoir(2, ("R0",)), Reservoir(2, ("T1",)))
    plan = RunPlan("validated", layout, (2, 2), Allocation("fresh", pair, Fraction(1, 100), Fraction(0)), "")
    learner = CarryForwardLearner(C, plan)
    found = learner.fit(np.arange(4)[:, None], np.array([1, -1, 1, 1]), SimSampler(0))
    assert found.epsilon == Fraction(max(row.after for row in found.ledger)) > 10
    true = validated(composition_profile(2, 10), 50, ONE)
    assert CarryForwardLearner(C, true).guarantee == (1, 0)
    assert max(row.after for row in CarryForwardLearner(C, true).ledger()) <= 1
    for bad in (
        (Reservoir(4, ("R0", "T1")),),
        (Reservoir(2, ("R0",)),),
        (Reservoir(2, ("R0",)), Reservoir(1, ("T1",))),
        (*pair, Reservoir(2, ("T1",))),
    ):
        with pytest.raises(ArgumentError, match="plan"):
            CarryForwardLearner(C, replace(plan, allocation=replace(plan.allocation, reservoirs=bad)))


def test_deltas_of_oracles_enter_the_paper_mode_s_account():
    """Where oracles spend a delta that the paper allows, the ledger shows it, and the guarantee holds it."""
    C, delta = intervals(Integers(0, 9)), Fraction(1, 10**6)
    plan = paper(2, 10**7, ONE, delta)
    share = delta / 100
    oracles = (BlockOracle(Fraction(4), share, how="interior"),) * 2
    learner = CarryForwardLearner(C, plan, oracles)
    kept = blocks(replace(plan.layout, deltas=(share, share)))
    for row, block, reservoir in zip(learner.ledger(), kept, plan.allocation.reservoirs, strict=False):
        assert row.delta == block.loss.delta * Fraction(row.m, reservoir.size) > 0
    assert learner.guarantee == (1, delta)
    pure = replace(plan, allocation=replace(plan.allocation, delta=Fraction(0)))
    assert CarryForwardLearner(C, pure).guarantee[1] == 0
    with pytest.raises(ArgumentError, match="within the losses"):
        CarryForwardLearner(C, pure, oracles)


@pytest.mark.parametrize("method", ["carrier-boost", "label-boost"])
def test_a_target_that_needs_a_threshold_beyond_the_last_value_is_learned(method):
    """All records at or above the last value, or none of them: the certified error holds for such targets."""
    size, rate = composition_profile(1, 8), Fraction(1, 5)
    x = np.arange(2000)[:, None] % 8
    plan = rigorous(size, 2000, Fraction(5), Fraction(0), alpha=rate, beta=Fraction(1, 10), method=method)
    for y in (np.full(2000, -1), np.where(x[:, 0] >= 7, 1, -1), np.ones(2000, int)):
        C = thresholds(Integers(0, 7))
        t = CarryForwardLearner(C, plan).fit(x, y, SimSampler(3)).components
        assert (C.predict(t, x) != y).mean() <= rate


def test_the_first_oracle_must_be_private_everywhere():
    """Without an initial relabelling, an oracle for realizable samples only is refused as the first one."""

    class Promised(CompletionOracle):
        @property
        def everywhere(self):
            return False

    plan = validated(composition_profile(2, 17), 60, Fraction(3))
    C, oracles = intervals(Integers(-8, 8)), (Promised(HALF), Promised(HALF))
    with pytest.raises(ArgumentError, match="private on all inputs"):
        CarryForwardLearner(C, plan, oracles)
    again = validated(composition_profile(2, 17), 60, Fraction(3), method="label-boost", initial=True)
    small = (Promised(again.layout.oracles[0]), Promised(again.layout.oracles[1]))
    assert CarryForwardLearner(C, again, small).oracles == small


def test_oracles_may_not_exceed_the_layout():
    """Oracles with more loss than the accounting knows are refused."""
    plan = validated(composition_profile(2, 17), 60, Fraction(1))
    too_much = tuple(CompletionOracle(loss * 2) for loss in plan.layout.oracles)
    with pytest.raises(ArgumentError, match="within the losses"):
        CarryForwardLearner(intervals(Integers(-8, 8)), plan, too_much)


def test_partition_depends_on_sizes_and_coins_only():
    """Equal coins give equal reservoirs whatever the records are, disjoint and of the public sizes."""
    plan = validated(composition_profile(3, 17), 100, Fraction(2))
    one, two = (partition(100, plan.allocation, SimSampler(4)) for _ in range(2))
    assert one == two
    listed = [row for rows in one.rows for row in rows]
    assert sorted(listed) == list(range(100))
    assert [len(rows) for rows in one.rows] == [r.size for r in plan.allocation.reservoirs]


def test_draws_are_uniform_subsets():
    """Every pair of five rows is drawn equally often, up to chance."""
    sampler = SimSampler(0)
    counts = {}
    for _ in range(2000):
        key = tuple(sorted(draw(range(5), 2, sampler)))
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 10
    assert sum((c - 200) ** 2 / 200 for c in counts.values()) < 27.9  # chi-square, 9 degrees, 0.999


def test_a_stretched_allocation_keeps_its_guarantee():
    """Sharing out left-over records never makes a reservoir smaller, so no share of a sample grows."""
    layout = Layout((HALF,) * 3, (HALF,) * 2)
    for n in (2000, 2001, 9999):
        made = allocate(layout, (100, 90, 80), ONE)
        wide = stretch(made, n)
        assert wide.n == n
        assert all(a.size <= b.size for a, b in zip(made.reservoirs, wide.reservoirs, strict=True))


@pytest.mark.parametrize("method", ["carrier-boost", "label-boost"])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_modes_never_spend_more_than_epsilon(method, delta, k):
    """Each block of a validated run, amplified, stays within epsilon in every fresh reservoir."""
    plan = validated(composition_profile(k, 64), 500, ONE, delta, method=method, reservoirs="fresh")
    sizes = {use: r.size for r in plan.allocation.reservoirs for use in r.uses}
    for block, m in zip(blocks(plan.layout), plan.m, strict=True):
        amplified = block.loss.subsampled(Fraction(m, sizes[block.name]))
        assert delta or amplified.ratio <= exp_lower(ONE)
    assert plan.n == 500


def test_paper_mode_runs_its_constants():
    """The literal constants give m = eps n / (12 e^9 sqrt(k ln(2/delta))) and three equal reservoirs."""
    delta, n = Fraction(1, 10**6), 2_000_000
    plan = paper(2, n, ONE, delta)
    assert plan.m == (int(n / (12 * np.e**9 * np.sqrt(2 * np.log(2e6)))),) * 2 == (3, 3)
    assert {r.size for r in plan.allocation.reservoirs} == {n // 3}
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (n, 1))
    learner = CarryForwardLearner(intervals(Integers(-8, 8)), plan, shuffle=False, strict=True)
    found = learner.fit(X, np.where(X[:, 0] > 0, 1, -1), SimSampler(0))
    assert (found.mode, found.epsilon, found.delta, len(found.components)) == ("paper", 1, delta, 2)


def test_rigorous_mode_names_the_number_it_needs():
    """Too few records: the error holds the planner's number; with that number the run is made."""
    profile, tenth = halfspace_profile(2, 512), Fraction(1, 10)
    with pytest.raises(ArgumentError, match="at least") as caught:
        rigorous(profile, 1000, ONE, Fraction(0), alpha=tenth, beta=tenth)
    need = int(caught.value.requirement.split()[2].replace(",", ""))
    assert 5_000 < need <= 31_000
    plan = rigorous(profile, need, ONE, Fraction(0), alpha=tenth, beta=tenth)
    assert plan.n == need
    assert "0.1 " in plan.promise
    more = rigorous(profile, 2 * need, ONE, Fraction(0), alpha=tenth, beta=tenth)
    assert "0.1 " not in more.promise


def test_input_is_checked():
    """Labels, shapes and numbers of records that do not fit are refused before anything is drawn."""
    plan = validated(composition_profile(2, 17), 60, Fraction(3))
    learner = CarryForwardLearner(intervals(Integers(-8, 8)), plan)
    X, y = next(_inputs(1))
    with pytest.raises(ArgumentError, match="at least 60"):
        learner.fit(X[:59], y[:59], SimSampler(0))
    with pytest.raises(ArgumentError, match="labels"):
        learner.fit(X, np.zeros(60, int), SimSampler(0))
    with pytest.raises(ArgumentError, match="one label for each"):
        learner.fit(X, y[:5], SimSampler(0))
    with pytest.raises(ArgumentError, match="column"):
        learner.fit(np.column_stack([X, X]), y, SimSampler(0))
    with pytest.raises(ArgumentError, match="integers"):
        learner.fit(X + 0.5, y, SimSampler(0))
    with pytest.raises(ArgumentError, match="components"):
        CarryForwardLearner(thresholds(Integers(0, 9)), plan)


def test_order_inside_a_sample_does_not_change_objectives():
    """Scores of components and labellings are functions of the multiset of records."""
    rng = np.random.default_rng(1)
    for _, C, _, d in WORLD:
        X, y = rng.integers(0, 6, (12, d)), rng.choice([-1, 1], 12)
        order = rng.permutation(12)
        assert C.objective(X, y) == C.objective(X[order], y[order])
        half = np.where(np.arange(12) < 6, y, 0)
        if d == 1:
            D = C.extend(C.component(0))
            one = sorted(s for _, s in D.carrier_labelings(X, half).candidates())
            two = sorted(s for _, s in D.carrier_labelings(X[order], half[order]).candidates())
            assert one == two


def test_finite_class_agrees_with_the_boolean_class():
    """Intervals by brute force and by dynamic programming have one objective and one set of labellings."""
    fast = intervals(Integers(0, 7))
    slow = FiniteClass(
        (Integers(0, 8),) * 2, lambda t, X: np.where((X[:, 0] >= t[0]) & (X[:, 0] < t[1]), 1, -1), 1
    )
    rng = np.random.default_rng(5)
    for _ in range(10):
        X, y = rng.integers(0, 7, (7, 1)), rng.choice([-1, 1], 7)
        assert fast.objective(X, y) == slow.objective(X, y)
        t = Fraction(int(rng.integers(0, 7)))
        a, b = fast.extend(t), slow.extend(t)
        assert a.objective(X, y) == b.objective(X, y)
        half = np.where(np.arange(7) < 4, y, 0)
        for kind in ("labelings", "carrier_labelings"):
            one, two = (
                sorted(
                    (s, tuple(z.labels[half == 0] if kind[0] == "c" else z.labels))
                    for z, s in getattr(c, kind)(X, half).candidates()
                )
                for c in (a, b)
            )
            assert one == two


def test_envelope_and_block_oracles_fit_the_learner():
    """Envelope and block oracles are total, and good where the state is realizable."""
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (2000, 2))
    y = np.where(2 * X[:, 0] + X[:, 1] >= 3, 1, -1)
    C = Halfspaces((Dyadic(4, 6),) * 2)
    plan = validated(halfspace_profile(2, 8, merged=False), 2000, Fraction(30))
    solver = lambda C: halfspace_maximisers([*C.prefix], C.coordinates)  # noqa: E731
    losses = plan.layout.oracles
    oracles = (
        EnvelopeOracle(losses[0]),
        BlockOracle(losses[1], blocks=12, solver=solver),
        BlockOracle(losses[2], blocks=12, how="stabbing"),
    )
    learner = CarryForwardLearner(C, plan, oracles, strict=True)
    found = learner.fit(X, y, SimSampler(1))
    assert (C.predict(found.components, X) != y).mean() < 0.2
    for X, y in _inputs(2):
        learner = CarryForwardLearner(
            C, validated(halfspace_profile(2, 8, merged=False), 60, Fraction(30)), ()
        )
        assert len(learner.fit(X, y, SimSampler(0)).components) == 3


def test_empirical_loss_is_the_exact_binomial_ratio():
    """The closed form equals the sum over the binomial law, and M from least_records keeps epsilon."""
    from math import comb, exp, log

    for m, M, e in ((3, 7, 1.0), (10, 24, 0.5), (40, 90, 1.3)):
        law = [comb(m, k) * (1 / M) ** k * (1 - 1 / M) ** (m - k) for k in range(m + 1)]
        up = sum(p * exp(e * k) for k, p in enumerate(law))
        down = sum(p * exp(-e * k) for k, p in enumerate(law))
        bound = empirical_loss(m, M, Loss(exp_upper(Fraction(str(e)))))
        assert abs(bound.epsilon - log(up / down)) < 1e-9
    for m in (1, 10, 1000):
        M = least_records(m, ONE)
        assert empirical_loss(m, M, Loss(exp_lower(ONE))).ratio <= exp_upper(ONE)
        assert m == 1 or empirical_loss(m, M - 2, Loss(exp_upper(ONE))).ratio > exp_lower(ONE)
    assert 2.3 < least_records(1000, ONE) / 1000 < 2.4


def test_empirical_conversion_is_private_on_all_neighbours():
    """A learner on two draws from three records keeps its stated loss on all neighbours, exactly."""
    from geomdp.privacy.runs import audit_program

    inner = ScoreLearner(thresholds(Integers(0, 2)), ONE)
    hat = EmpiricalLearner(inner, 2, 3)
    points = [(x, s) for x in (0, 1) for s in (-1, 1)]

    def program(data, runs):
        X, y = np.array([[x] for x, _ in data]), np.array([s for _, s in data])
        return hat.learn(X, y, runs)

    pairs = [
        (data, (*data[:2], other))
        for data in itertools.product(points, repeat=3)
        for other in points
        if other != data[2] and data[0] <= data[1]
    ]
    assert audit_program(program, pairs, 1).holds(Fraction(hat.loss.epsilon))


def test_closure_oracle_is_total_and_finds_components():
    """Proposition 8.16's oracle returns a threshold with a good completion, and some threshold always."""
    C, H = intervals(Integers(-8, 8)), thresholds(Integers(-8, 8))
    oracle = ClosureOracle(H, ScoreLearner(H, Fraction(6)), Fraction(6), rank_by_value)
    assert oracle.epsilon >= Fraction(12) + LN4 > 13
    X = np.arange(-8, 9).repeat(6).reshape(-1, 1)
    y = np.where((X[:, 0] >= -2) & (X[:, 0] < 5), 1, -1)
    chosen = C.component(oracle.choose(C, X, y, SimSampler(0)))
    best = max(b.score for b in C.extend(chosen).objective(X, y))
    assert best >= len(X) - 12
    for X, y in _inputs(1):
        assert 0 <= oracle.choose(C, X, y, SimSampler(1)) < 17


def test_closure_oracle_score_has_matched_sensitivity():
    """The completion score of labellings that agree on common records differs by at most one."""
    C = intervals(Integers(0, 5))
    rng = np.random.default_rng(0)
    for _ in range(30):
        X, y = rng.integers(0, 6, (5, 1)), rng.choice([-1, 1], 5)
        X2, y2 = X.copy(), y.copy()
        X2[0], y2[0] = rng.integers(0, 6), rng.choice([-1, 1])
        for one, two in itertools.product(range(6), repeat=2):
            a, b = np.where(X[:, 0] >= one, 1, -1), np.where(X2[:, 0] >= two, 1, -1)
            if (a[1:] == b[1:]).all():
                scores = [C.extend(Fraction(t)).complete(Z, z)[0] for t, Z, z in ((one, X, y), (two, X2, y2))]
                assert abs(scores[0] - scores[1]) <= 1


def test_perturbation_gives_general_position_and_keeps_labels():
    """Perturbed records are in general position, near their originals, and as separable as before."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (9, 2))
    moved = Perturbation(2, 3, 9, Fraction(1, 100))
    far = moved.apply(X, SimSampler(0))
    assert in_general_position(far)
    assert not in_general_position(np.array([[0, 0], [1, 1], [5, 5], [2, 0]]))
    scale = moved.resolution
    assert all(
        abs(int(v) - int(x) * scale) <= moved.spread for v, x in zip(far.ravel(), X.ravel(), strict=True)
    )
    y = np.where(2 * X[:, 0] - 3 * X[:, 1] >= 1, 1, -1)
    C = Halfspaces((Dyadic(4, 6),) * 2)
    assert PrefixState(C, far, y).realizable
    assert moved.scaled_radius >= max(abs(int(v)) for v in far.ravel())


def test_perturbed_domains_have_the_paper_s_order_of_size():
    """Coordinate domains after perturbation: hundreds of bits in one feature, thousands in two."""
    sizes = [
        Perturbation(d, 512, n, Fraction(1, 20)).domains()[-1].size.bit_length()
        for d, n in ((1, 4 * 10**11), (2, 3 * 10**12))
    ]
    assert 300 < sizes[0] < 400
    assert 4500 < sizes[1] < 5500


def test_public_carrier_is_private_on_all_neighbours():
    """With public points the release keeps epsilon on all neighbouring records, and no witness leaks."""
    from geomdp.learners.public_carrier import public_carrier
    from geomdp.privacy.runs import audit_program

    C = FiniteClass(
        (Integers(0, 3),) * 2, lambda t, X: np.where((X[:, 0] >= t[0]) & (X[:, 0] < t[1]), 1, -1), 1
    )
    records = [(x, s) for x in range(3) for s in (-1, 1)]
    pairs = [(data, (data[0], other)) for data in itertools.product(records, repeat=2) for other in records]
    for carrier in ([[0], [2]], [[1]], [[0], [1], [1], [2]]):

        def program(data, runs, carrier=carrier):
            X, y = np.array([[x] for x, _ in data]), np.array([s for _, s in data])
            return public_carrier(C, X, y, np.array(carrier), epsilon=ONE, sampler=runs)

        found = audit_program(program, [pair for pair in pairs if pair[0] != pair[1]], 1)
        assert found.holds(ONE)
        assert found.violates(Fraction(1, 4))


def test_public_carrier_learns_on_any_grid():
    """300 records and 80 public points on a grid of 2^40 levels suffice; bad carriers are refused."""
    from geomdp.learners.public_carrier import public_carrier

    rng = np.random.default_rng(0)
    draw_points = lambda n: rng.integers(-(2**40), 2**40, (n, 2))  # noqa: E731
    X, T, fresh = draw_points(300), draw_points(80), draw_points(500)
    C = Halfspaces((Integers(-1, 1),) * 2)
    found = public_carrier(C, X, np.where(X[:, 0] >= X[:, 1], 1, -1), T, epsilon=4, sampler=SimSampler(0))
    assert (C.predict(found, fresh) != np.where(fresh[:, 0] >= fresh[:, 1], 1, -1)).mean() < 0.1
    with pytest.raises(ArgumentError, match="carrier"):
        public_carrier(C, X, np.ones(300, int), T[:0], epsilon=4, sampler=SimSampler(0))
