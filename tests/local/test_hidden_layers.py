"""Hidden layers: lazy instances, the fully interactive search and its engines, sequential baselines."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError, CertificateError
from geomdp.local.account import Composition, OneYes, Realised
from geomdp.local.audits import layers
from geomdp.local.coding import amplify
from geomdp.local.finite import odds
from geomdp.local.hidden_baselines import (
    announce,
    announce_bits,
    announce_one,
    announce_success,
    announce_users,
    plan_coded,
)
from geomdp.local.hidden_layers import HiddenLayers, Layer, ListedLayer, Path, Stretch, fair_roles
from geomdp.local.hidden_leaves import plan_random_leaf, plan_separate, random_leaf, separate
from geomdp.local.hidden_prices import naive_users, price_of_interaction
from geomdp.local.hidden_solver import (
    composed_ratio_log,
    one_bit_search,
    one_bit_users,
    search_users,
    tree_search,
    walk_counts,
    walk_fast,
    walk_signs,
    walk_users,
)
from geomdp.local.kernels import YesNo
from geomdp.local.models import FullyInteractive, InteractionError, Sequential
from geomdp.local.protocol import run
from geomdp.local.signs import keyed_integer
from geomdp.local.transcripts import answer_law
from geomdp.local.twoparty import BSC, to_ldp
from geomdp.local.votes import both_success, code_rates, exact_both_success, vote_rates

SUE, OUE = YesNo.symmetric(Fraction(2)), YesNo.unary(Fraction(4))
SURE = YesNo(Fraction(1), Fraction(0))
FI = FullyInteractive()


def test_keyed_integers_are_fixed_uniform_and_tell_lists_apart():
    """A keyed integer is a function of its parts, below its bound, and all values occur about equally."""
    values = [keyed_integer(5, 3, "x", i) for i in range(5000)]
    assert values == [keyed_integer(5, 3, "x", i) for i in range(5000)]
    counts = np.bincount(values, minlength=5)
    assert len(counts) == 5
    assert ((counts - 1000) ** 2 / 1000).sum() < 20
    assert keyed_integer(2**2000 + 1, 1) >> 1900
    assert len({keyed_integer(2**64, *parts) for parts in [(1, 2), (12,), (1, "2"), ("12",), (1, b"2")]}) == 5


def test_a_vertex_has_one_label():
    """Labels depend on the layer's key and on the vertex alone, however the vertex was reached."""
    layer = Layer(3, 7, key=5)
    stretch = Stretch(9, 7, 0, 2)
    path = Path().along(stretch).then(4)
    spelt = Path().then(stretch.child(0)).then(stretch.child(1)).then(4)
    assert path == spelt
    assert layer.label(path) == layer.label(spelt)
    labels = {layer.label(Path((vertex,))) for vertex in itertools.product(range(7), repeat=3)}
    assert labels == set(range(7))
    assert any(
        layer.label(Path(((i, 0, 0),))) != Layer(3, 7, key=6).label(Path(((i, 0, 0),))) for i in range(9)
    )


@pytest.mark.parametrize("length", [1, 5, 4095, 5000, 2**70, 2**1024])
def test_prefixes_and_children_agree(length):
    """The child at a layer is the same in a path and in its prefixes; lengths add up."""
    path = Path().then(1).along(Stretch(3, 4, 10, length)).then(2)
    assert path.length == length + 2
    assert path.child(length + 1) == 2
    assert path.child(0) == 1
    for layer in {1, length // 2 + 1, length}:
        assert path.prefix(layer).length == layer
        assert path.prefix(layer + 1).child(layer) == path.child(layer)
        if layer > 0:
            assert path.child(layer) == Stretch(3, 4, 10, length).child(layer - 1)
    assert path.prefix(path.length) == path
    assert path.prefix(0) == Path()
    with pytest.raises(ArgumentError):
        path.child(path.length)


def test_small_instances_have_all_solutions_that_the_definition_has():
    """A leaf is accepted exactly if its path takes both edges: arity^(depth-2) leaves of arity^depth."""
    for key in range(5):
        instance = HiddenLayers.draw(2, 5, key)
        accepted = [leaf for leaf in itertools.product(range(2), repeat=5) if instance.accepts(Path((leaf,)))]
        a, b = instance.alice, instance.bob
        assert accepted == [
            leaf
            for leaf in itertools.product(range(2), repeat=5)
            if a.label(Path((leaf[: a.level],))) == leaf[a.level]
            and b.label(Path((leaf[: b.level],))) == leaf[b.level]
        ]
        assert len(accepted) == 2**3


@pytest.mark.parametrize("depth", [2, 3, 8, 2**100])
def test_adjacent_layers_are_neighbours(depth):
    """Hard instances have layers that differ by one, in both orders."""
    instances = [HiddenLayers.adjacent(2, depth, key) for key in range(30)]
    assert all(abs(i.alice.level - i.bob.level) == 1 for i in instances)
    assert len({i.alice.level < i.bob.level for i in instances}) == (2 if depth > 2 else 1)


def test_levels_have_the_right_parity_and_cover_the_tree():
    """Levels are even for Alice and odd for Bob, below the depth, and each one occurs."""
    instances = [HiddenLayers.draw(3, 5, key) for key in range(60)]
    assert {instance.alice.level for instance in instances} == {0, 2, 4}
    assert {instance.bob.level for instance in instances} == {1, 3}


@pytest.mark.parametrize("depth", [2, 7, 30])
@pytest.mark.parametrize("arity", [1, 2, 5])
def test_without_noise_the_search_always_succeeds(arity, depth):
    """With certain answers one user of each role is enough, in the protocol and in every engine."""
    rng = np.random.default_rng(0)
    rates = vote_rates(SURE)
    for key in range(4):
        instance = HiddenLayers.draw(arity, depth, key)
        inputs = instance.users(["Alice", "Bob"])
        result = run(tree_search(arity, depth, 2, SURE), inputs, FI, rng=key)
        assert instance.accepts(result.answer)
        assert (result.rounds, result.messages) == (depth, 2 * depth * arity)
        assert instance.accepts(walk_users(instance, ["Alice", "Bob"], SURE, rng))
        assert instance.accepts(walk_counts(instance, 1, 1, rates, rng))
        assert instance.accepts(walk_fast(instance, 1, 1, rates, rng))


@pytest.mark.parametrize("kernel", [SUE, OUE])
@pytest.mark.parametrize(("arity", "depth", "users"), [(2, 2, 1), (2, 2, 2), (2, 3, 1), (3, 2, 1), (2, 4, 1)])
def test_the_protocol_succeeds_with_the_exact_probability(kernel, arity, depth, users):
    """The success summed over all transcripts and roles is the formula's, at every depth."""
    instance = HiddenLayers.draw(arity, depth, key=depth)
    population = [instance.users(["Alice", "Bob"])] * users
    law = answer_law(tree_search(arity, depth, users, kernel), population, FI)
    success = sum(p for leaf, p in law.items() if instance.accepts(leaf))
    assert success == exact_both_success(users, arity, vote_rates(kernel))


@pytest.mark.parametrize("kernel", [SUE, OUE])
def test_engines_draw_leaves_with_the_protocols_law(kernel):
    """Per-user, counts and fast engines reproduce the exact law of the leaf: chi-square over all leaves."""
    instance = HiddenLayers.draw(2, 3, key=4)
    roles, runs = ["Alice", "Bob"], 2000
    law = answer_law(tree_search(2, 3, 2, kernel), [[x] for x in instance.users(roles)], FI)
    rng = np.random.default_rng(2)
    rates = vote_rates(kernel)
    engines = [
        lambda: walk_users(instance, roles, kernel, rng),
        lambda: walk_counts(instance, 1, 1, rates, rng),
        lambda: walk_fast(instance, 1, 1, rates, rng),
    ]
    for engine in engines:
        leaves = [engine() for _ in range(runs)]
        chi = sum((leaves.count(leaf) - runs * p) ** 2 / (runs * p) for leaf, p in law.items())
        assert len(law) == 8
        assert chi < 26  # 7 degrees of freedom: probability 5e-4


@pytest.mark.parametrize("depth", [16, 2**40, 2**1024, 2**5000])
def test_success_does_not_depend_on_the_depth(depth):
    """The fast engine succeeds at the exact rate, on trees that no computer holds."""
    rng, runs, users = np.random.default_rng(7), 200, 60
    rates = vote_rates(YesNo.symmetric(odds(1)))
    wins = 0
    for key in range(runs):
        alices = int(rng.binomial(users, 0.5))
        instance = HiddenLayers.draw(16, depth, key)
        wins += instance.accepts(walk_fast(instance, alices, users - alices, rates, rng))
    exact = both_success(users, 16, rates)
    assert abs(wins / runs - exact) < 4 * math.sqrt(exact * (1 - exact) / runs)


def test_one_bit_engines_succeed_as_often():
    """The one-bit search: protocol, per-user and counts engines succeed at the exact rate."""
    rng, users, arity, depth = np.random.default_rng(3), 24, 4, 4
    ratio = Fraction(20)
    exact = both_success(users, arity, code_rates(ratio))
    results = {"protocol": [], "users": [], "counts": []}
    for key in range(150):
        instance = HiddenLayers.draw(arity, depth, key)
        roles = fair_roles(users, rng)
        if key < 100:
            search = one_bit_search(arity, depth, users, ratio)
            leaf = run(search, instance.users(roles), FI, rng=key).answer
            results["protocol"].append(instance.accepts(leaf))
        results["users"].append(instance.accepts(walk_signs(instance, roles, ratio, rng)))
        alices = roles.count("Alice")
        counts = walk_counts(instance, alices, users - alices, code_rates(ratio), rng)
        results["counts"].append(instance.accepts(counts))
    for wins in results.values():
        assert abs(np.mean(wins) - exact) < 4 * math.sqrt(exact * (1 - exact) / len(wins))


def test_the_one_yes_accountant_sees_epsilon_where_composition_adds_up():
    """One-yes accounting is exact on the search, and composition states arity * depth answers."""
    inputs = layers(2, 3)
    search = tree_search(2, 3, 2, SUE)
    for seed in range(20):
        composition, realised, one = Composition(inputs), Realised(inputs), OneYes()
        run(search, [inputs[0], inputs[5]], FI, rng=seed, accountants=(composition, realised, one))
        for user in (0, 1):
            assert realised.ratio(user) == one.ratio(user, complete=True)
            assert realised.ratio(user) <= one.certificate(user) == SUE.pair_ratio == 4
            assert composition.ratio(user) == Fraction(2) ** 6
    with pytest.raises(CertificateError):
        run(one_bit_search(2, 2, 1, Fraction(3), key=0), [inputs[0]], FI, rng=0, accountants=[OneYes()])


def test_the_search_is_refused_as_a_sequential_protocol():
    """A user answers many times: the sequential model refuses the second question."""
    inputs = HiddenLayers.draw(2, 4, 0).users(["Alice"])
    with pytest.raises(InteractionError):
        run(tree_search(2, 4, 1, SUE), inputs, Sequential(), rng=0)


def test_numbers_of_users_that_suffice():
    """Users for 90 percent at epsilon = 1: logarithmic in the arity, independent of depth, and exact."""
    votes = YesNo.symmetric(odds("1/2"))
    found = [search_users(arity, votes) for arity in (2, 4, 16, 256, 4096)]
    assert all(abs(n / target - 1) < 0.05 for n, target in zip(found, (88, 138, 213, 343, 465), strict=True))
    for arity, n in zip((2, 16), (found[0], found[2]), strict=True):
        assert (
            both_success(n, arity, vote_rates(votes)) >= 0.9 > both_success(n - 1, arity, vote_rates(votes))
        )
    assert found[4] - found[3] < found[3] - found[2]
    unary = [search_users(arity, YesNo.unary(odds(1))) for arity in (16, 256)]
    assert all(abs(n / m - 1) < 0.02 for n, m in zip(unary, found[2:4], strict=True))
    assert found[2] < one_bit_users(16, odds(1)) < 1.2 * found[2]
    assert naive_users(2**16, found[2]) == 2**16 * found[2]
    assert round(composed_ratio_log(16, 1024, votes)) == 8192


def test_the_sufficient_number_of_the_union_bound_is_loose():
    """The exact number is below (2/g^2) ln(2 (A-1)/gamma), g = tanh(epsilon/4)/2, which Hoeffding gives."""
    for epsilon, arity in ((1, 16), (2, 256), ("1/2", 4)):
        g = math.tanh(float(Fraction(epsilon)) / 4) / 2
        bound = 2 / g**2 * math.log(2 * (arity - 1) / 0.1)
        exact = search_users(arity, YesNo.symmetric(odds(Fraction(epsilon) / 2)))
        assert exact < bound < 6 * exact


@pytest.mark.parametrize("depth", [2, 3, 16, 2**64 + 1, 2**1024])
@pytest.mark.parametrize("arity", [1, 3, 16])
def test_announcing_without_noise_always_succeeds(arity, depth):
    """Without noise the two-party baseline finds a right leaf with the stated number of bits."""
    for key in range(3):
        instance = HiddenLayers.draw(arity, depth, key)
        result = announce(arity, depth).run(instance.alice, instance.bob, BSC(Fraction(0)), rng=key)
        assert instance.accepts(result.answer)
        assert result.messages == announce_bits(arity, depth)


def test_announcing_bit_by_bit_succeeds_as_often_as_computed():
    """Compiled to one user per bit copy, the baseline succeeds at least at its exact rate for all bits."""
    ratio, arity, depth = Fraction(20), 4, 2**10
    bits, users = announce_bits(arity, depth), announce_users(arity, depth, ratio)
    copies = users // bits
    success = announce_success(arity, depth, ratio, copies)
    assert success >= 0.9 > announce_success(arity, depth, ratio, copies - 2)
    private = to_ldp(amplify(announce(arity, depth), copies), ratio, users)
    rng, wins = np.random.default_rng(5), []
    for key in range(60):
        instance = HiddenLayers.draw(arity, depth, key)
        inputs = instance.users(fair_roles(users, rng))
        wins.append(instance.accepts(run(private, inputs, Sequential(), rng=key).answer))
    assert np.mean(wins) > success - 4 * math.sqrt(success * (1 - success) / len(wins))


def test_announcing_one_layer_succeeds_as_often_as_computed():
    """The block-coded baseline reaches its bound, below and above Bob's layer, on a deep tree too."""
    ratio, rng = Fraction(20), np.random.default_rng(6)
    for arity, depth, runs in ((4, 40, 25), (3, 2**70, 10)):
        plan = plan_coded(arity, depth, ratio)
        wins = []
        for key in range(runs):
            instance = HiddenLayers.draw(arity, depth, key)
            inputs = instance.users(fair_roles(plan.users, rng))
            result = run(announce_one(arity, depth, ratio, plan), inputs, Sequential(), rng=key)
            assert result.messages == plan.users
            wins.append(instance.accepts(result.answer))
        assert plan.success >= 0.9
        assert np.mean(wins) > plan.success - 4 * math.sqrt(0.09 / len(wins))


def test_separating_layers_works_on_uniform_layers_and_not_on_neighbours():
    """Uniform layers are separated by a few bits, neighbours are not; announcing one layer works on them."""
    ratio, arity, depth, rng = Fraction(20), 3, 2**60, np.random.default_rng(9)
    plan, coded = plan_separate(arity, ratio), plan_coded(arity, depth, ratio)
    wins = {"uniform": [], "adjacent": [], "one layer": []}
    for key in range(25):
        uniform, near = HiddenLayers.draw(arity, depth, key), HiddenLayers.adjacent(arity, depth, key)
        for name, instance in (("uniform", uniform), ("adjacent", near)):
            inputs = instance.users(fair_roles(plan.users, rng))
            leaf = run(separate(arity, depth, ratio, plan), inputs, Sequential(), rng=key).answer
            wins[name].append(leaf is not None and instance.accepts(leaf))
        if key < 10:
            inputs = near.users(fair_roles(coded.users, rng))
            leaf = run(announce_one(arity, depth, ratio, coded), inputs, Sequential(), rng=key).answer
            wins["one layer"].append(near.accepts(leaf))
    assert np.mean(wins["uniform"]) > plan.success - 4 * math.sqrt(0.09 / 25)
    assert np.mean(wins["adjacent"]) < 0.2
    assert np.mean(wins["one layer"]) > coded.success - 4 * math.sqrt(0.09 / 10)


def test_random_leaves_succeed_as_often_as_computed():
    """The random-leaf baseline reaches its bound, whatever the depth."""
    ratio, rng, wins = Fraction(50), np.random.default_rng(8), []
    plan = plan_random_leaf(3, ratio)
    for key in range(20):
        instance = HiddenLayers.draw(3, 2**80, key)
        inputs = instance.users(fair_roles(plan.users, rng))
        leaf = run(random_leaf(3, 2**80, ratio, plan), inputs, Sequential(), rng=key).answer
        wins.append(leaf is not None and instance.accepts(leaf))
    assert plan.success >= 0.9
    assert np.mean(wins) > plan.success - 4 * math.sqrt(0.09 / len(wins))


def test_the_price_of_interaction_grows_exponentially():
    """From arity 4 to 4096 the search adds a constant per doubling, the baselines double at the end."""
    prices = [price_of_interaction(m) for m in (2, 4, 6, 8, 10, 12)]
    searches = [price.search for price in prices]
    steps = [b - a for a, b in itertools.pairwise(searches)]
    assert max(steps) <= 80
    assert 4 < prices[0].factor < 6
    assert 2500 < prices[-1].factor < 3000
    assert prices[-1].best_factor > 600
    assert prices[-1].uniform < 10 * prices[-1].search
    for name in ("announce", "together", "blocks", "one_layer", "leaf"):
        values = [getattr(price, name) for price in prices]
        assert values[-1] / values[-2] > 4


def test_bad_instances_are_refused():
    """Levels of the wrong parity or outside the tree, short leaves and unknown roles end in a sentence."""
    with pytest.raises(ArgumentError, match="alice"):
        HiddenLayers(2, 4, Layer(1, 2, 0), Layer(1, 2, 0))
    with pytest.raises(ArgumentError, match="bob"):
        HiddenLayers(2, 4, Layer(0, 2, 0), Layer(5, 2, 0))
    with pytest.raises(ArgumentError, match="depth"):
        HiddenLayers.draw(2, 1, 0)
    instance = HiddenLayers.draw(2, 2**200, 0)
    with pytest.raises(ArgumentError, match="leaf"):
        instance.accepts(Path().then(1))
    with pytest.raises(ArgumentError, match="role"):
        instance.users(["Eve"])
    with pytest.raises(ArgumentError, match="users"):
        tree_search(2, 2, 0, SUE)
    assert ListedLayer(0, {Path(): 1}).label(Path()) == 1
