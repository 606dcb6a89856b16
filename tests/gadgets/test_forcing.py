"""Laws of the gadgets: forcing inequalities are proved row by row, and every planted flaw is found."""

import itertools
import operator

import numpy as np
import pytest
from support.gadgets import SMALL, small_instance

from geomdp.core.errors import CapacityError, CertificateError
from lp_gadgets.embedding import Embedding
from lp_gadgets.encoding import encode
from lp_gadgets.forcing import (
    Gadget,
    check_combinations,
    find_combinations,
    in_layers,
    rows_are_valid,
)
from lp_gadgets.relation import Relation
from lp_gadgets.rows import stack
from lp_gadgets.slack import peeling_bounds, slack_denominator, weights

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
