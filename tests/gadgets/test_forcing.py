"""Laws of the gadgets: forcing inequalities are proved row by row, and every planted flaw is found."""

import itertools
import operator

import numpy as np
import pytest
from support.gadgets import SMALL, small_instance

from geomdp.core.errors import CapacityError, CertificateError
from lp_gadgets.embedding import Embedding
from lp_gadgets.gadgets.encoding import encode, tree_nodes
from lp_gadgets.gadgets.forcing import (
    Gadget,
    check_combinations,
    check_sharper,
    find_combinations,
    find_sharper,
    in_layers,
    rows_are_valid,
)
from lp_gadgets.gadgets.slack import peeling_bounds, slack_denominator, weight_lists, weights
from lp_gadgets.relation import Relation
from lp_gadgets.rows import stack

GADGETS = (
    (Gadget("check", 3, Embedding(4)), "facets"),
    (Gadget("check", 3, Embedding(8)), "implications"),
    (Gadget("check", 4, Embedding(4)), "facets"),
    (Gadget("check", 3, Embedding(4, "cube")), "implications"),
    (Gadget("trace", 0, Embedding(2)), "facets"),
    (Gadget("trace", 0, Embedding(4, "cube")), "facets"),
    (Gadget("trace", 0, Embedding(8)), "facets"),
    (Gadget("trace", 0, Embedding(16, "cube")), "implications"),
)


def local_of(gadget, encoding):
    """The rows of a relation behind those of its symbols."""
    relation = (
        Relation.trace(gadget.embedding)
        if gadget.kind == "trace"
        else Relation.check(gadget.degree, gadget.embedding)
    )
    symbols = [gadget.embedding.polytope_rows(f"z{i}") for i in range(relation.symbols)]
    own = encode(relation, encoding).rows.select(("relation", "equation", "bit"))
    rows = stack([*symbols, own], relation.variables)
    return rows.A.astype(np.int64), rows.b.astype(np.int64)


@pytest.mark.parametrize(("gadget", "encoding"), GADGETS, ids=str)
def test_every_forcing_inequality_is_proved(gadget, encoding):
    """The multipliers that are found pass the check, and the inequalities are valid and tight."""
    local = local_of(gadget, encoding)
    found = find_combinations(gadget, local)
    check_combinations(gadget, local, found)
    assert rows_are_valid(gadget, local)
    points = gadget.points(gadget.tuples())
    for labels in gadget.tuples():
        for target in gadget.targets():
            f = gadget.inequality(labels, target)
            values = points @ f[:-1] + f[-1]
            assert values.min() >= 0
            assert (values == 0).any()


@pytest.mark.parametrize("flaw", ["row", "multiplier", "scale", "negative", "missing", "index"])
def test_planted_flaws_are_found(flaw):
    """A multiplier, a scale or a row that is off by one is refused."""
    gadget = Gadget("check", 3, Embedding(4))
    local = local_of(gadget, "facets")
    found = [(list(r), list(y), s) for r, y, s in find_combinations(gadget, local)]
    rows, multipliers, scale = found[7]
    if flaw == "row":
        A, b = local[0].copy(), local[1]
        A[rows[0], 0] += 1
        local = A, b
    elif flaw == "multiplier":
        multipliers[0] += 1
    elif flaw == "scale":
        found[7] = (rows, multipliers, scale + 1)
    elif flaw == "negative":
        multipliers[0] = -1
    elif flaw == "missing":
        found.pop()
    else:
        rows[0] = 10**6
    with pytest.raises(CertificateError, match="forcing"):
        check_combinations(gadget, local, found)


@pytest.mark.parametrize("degree", [2, 3, 5, 8])
@pytest.mark.parametrize("embedding", [Embedding(2), Embedding(2, "cube"), Embedding(8, "cube")], ids=str)
def test_binary_checks_force_layer_by_layer(degree, embedding):
    """Facets of binary and cube checks contain all odd rows; without any one of them they do not."""
    gadget = Gadget("check", degree, embedding)
    A, b = local_of(gadget, "facets")
    assert in_layers(gadget, (A, b))
    assert rows_are_valid(gadget, (A, b))
    odd = [i for i in range(len(A)) if (A[i] != 0).sum() >= degree > 2]
    for i in odd[:3]:
        rest = np.delete(np.arange(len(A)), i)
        assert not in_layers(gadget, (A[rest], b[rest]))
    b = b.copy()
    b[-1] -= 1
    assert not rows_are_valid(gadget, (A, b))


def test_rows_that_do_not_force_are_refused():
    """The bare polytopes of the symbols force nothing."""
    gadget = Gadget("check", 3, Embedding(4))
    relation = Relation.check(3, gadget.embedding)
    rows = stack([gadget.embedding.polytope_rows(f"z{i}") for i in range(3)], relation.variables)
    with pytest.raises(CertificateError, match="force"):
        find_combinations(gadget, (rows.A.astype(np.int64), rows.b.astype(np.int64)))
    with pytest.raises(CapacityError, match="tuples"):
        Gadget("check", 9, Embedding(16)).tuples()


def test_peeling_bounds_by_brute_force():
    """B_t is the largest weighted sum over all assignments of earlier bounds to the other symbols."""
    lists = [[1, 1, 1], [9, 81, 81, 9], [2]]
    bounds = []
    for _ in range(4):
        best = 0
        for own in lists:
            pool = [*bounds, *[1] * len(own)]
            assignments = itertools.permutations(pool, len(own))
            best = max(best, *(sum(map(operator.mul, own, chosen)) for chosen in assignments))
        bounds.append(best)
    assert peeling_bounds(lists, 4) == bounds


@pytest.mark.parametrize(("D", "k", "N"), [(4, 17, 59), (8, 35, 797), (12, 67, 12247)])
def test_slacks_of_binary_checks_of_degree_eight(D, k, N):
    """For weights 1 and seven other symbols N = k - (D - 1) + sum of B_t, the sharper of two chains."""
    bounds = []
    for t in range(1, D):
        known = sorted(bounds, reverse=True)[: min(t - 1, 7)]
        bounds.append(sum(known) + 7 - len(known))
    assert slack_denominator(k, D - 1, [[1] * 7]) == k - (D - 1) + sum(bounds) == N


def test_weights_of_trees():
    """A leaf's weight is the product of the factors on its way to the target; without a tree the factor."""
    nodes = [("a", "b", "t"), ("t", "c", "s"), ("s", "d", "e")]
    assert weights(nodes, [2, 3, 5], "a") == [2, 6, 30, 30]
    assert weights(nodes, [2, 3, 5], "c") == [6, 6, 15, 15]
    assert weights([("a", "b", "c", "d")], [7], "b") == [7, 7, 7]


@pytest.mark.parametrize("small", SMALL, ids=str)
def test_instances_know_why_their_gadgets_force(small):
    """Every gadget of an instance is layered with factor 1, or has its combinations."""
    for gadget in small_instance(*small).gadgets.values():
        assert (gadget["combinations"] is None) == (gadget["factor"] == 1 and gadget["kind"] != "trace")


def _tree_lists(degree, tail=lambda sharper: sharper):
    """Return the lists of weights of a tree over F_4, for every target leaf."""
    place = Embedding(4)
    rows = encode(Relation.check(3, place)).rows
    gadget = Gadget("check", 3, place)
    proved = check_sharper(gadget, (rows.A, rows.b), tail(find_sharper(gadget, (rows.A, rows.b))))
    nodes = tree_nodes(degree)
    count = len(nodes)
    return [weight_lists(nodes, [9] * count, f"z{i}", [proved] * count, 4) for i in range(degree)]


def _most(rows, place, labels, point, target, slack):
    """Return the largest deficit of one symbol by an LP, the others' being at most given numbers."""
    from scipy.optimize import linprog

    tight = rows.A[rows.A @ point == rows.b].astype(float)
    deficits = np.zeros((len(labels), rows.A.shape[1]))
    for i, label in enumerate(labels):
        deficits[i, 2 * i : 2 * i + 2] = place.deficits[label][:2]
    others = [i for i in range(len(labels)) if i != target]
    bounds = np.r_[np.zeros(len(tight)), slack]
    limits = np.vstack([tight, deficits[others]])
    answer = linprog(-deficits[target], A_ub=limits, b_ub=bounds, bounds=(None, None), method="highs")
    return -answer.fun


def _worst_amplification(degree, words, targets):
    """Return the largest deficit in a tree over F_4 when those of all other leaves are at most 1, by LPs."""
    place = Embedding(4)
    tree = encode(Relation.check(degree, place), "tree")
    found = [
        _most(tree.rows, place, word, point, target, np.ones(degree - 1))
        for word, point in zip(words, tree.lift(words), strict=True)
        for target in targets
    ]
    return max(found)


def test_weights_of_trees_hold_for_a_solver():
    """For random words and deficits of the other leaves, an LP never exceeds what the weights allow."""
    place, degree = Embedding(4), 6
    tree, lists = encode(Relation.check(degree, place), "tree"), _tree_lists(degree)
    rng = np.random.default_rng(0)
    for _ in range(40):
        word = rng.integers(0, 4, degree)
        word[-1] ^= np.bitwise_xor.reduce(word)
        target, slack = int(rng.integers(degree)), rng.integers(0, 9, degree - 1)
        largest = sorted(slack.tolist())
        allowed = max(sum(w * s for w, s in zip(own, largest, strict=True)) for own in lists[target])
        assert _most(tree.rows, place, word, tree.lift([word])[0], target, slack) <= allowed + 1e-6


def test_label_dependent_weights_are_far_below_the_generic_ones():
    """A check of eight symbols over F_4: 765 in place of 27,711; the LP's own worst case is 159."""
    lists = _tree_lists(8)
    assert {max(map(sum, own)) for own in lists} == {765}
    assert sum(weights(tree_nodes(8), [9] * 6, "z0")) == 4 * 9**4 + 2 * 9**3 + 9 == 27711
    assert set.union(*_tree_lists(8, lambda sharper: [])) == {tuple(weights(tree_nodes(8), [9] * 6, "z0"))}
    words = [w for w in itertools.product((0, 1), repeat=8) if sum(w) % 2 == 0]
    assert 100 < _worst_amplification(8, words[::16], range(8)) <= 159 + 1e-6


@pytest.mark.exhaustive
def test_the_worst_amplification_of_a_tree_is_159():
    """Over all words and leaves; two labels add up to q - 1 in pairs, so words of labels 0 and 1 suffice."""
    words = [w for w in itertools.product((0, 1), repeat=8) if sum(w) % 2 == 0]
    assert _worst_amplification(8, words, range(8)) == pytest.approx(159)


def test_false_sharper_weights_are_refused():
    """A weight that is too small, a tuple outside the relation, or a wrong number of weights is refused."""
    place = Embedding(4)
    rows = encode(Relation.check(3, place)).rows
    gadget, local = Gadget("check", 3, place), (rows.A, rows.b)
    labels, target, own, combination = find_sharper(gadget, local)[0]
    assert check_sharper(gadget, local, [[labels, target, own, combination]])
    for wrong in (
        [labels, target, [own[0] - 1, own[1]], combination],
        [labels, target, [-1, own[1]], combination],
        [labels, target, [0.5, own[1]], combination],
        [labels, target, own[:1], combination],
        [labels, 3, own, combination],
        [[1, 1, 1], target, own, combination],
        [labels, target, own, (combination[0], combination[1], 0)],
    ):
        with pytest.raises(CertificateError):
            check_sharper(gadget, local, [wrong])
