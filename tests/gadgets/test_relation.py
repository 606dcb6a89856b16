from __future__ import annotations

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.exact.simplex import ConeMembership
from lp_gadgets.embedding import Embedding
from lp_gadgets.field import trace_table
from lp_gadgets.gadgets.encoding import ENCODINGS, encode, predict, tree_nodes
from lp_gadgets.gadgets.facet_rows import upper_bound
from lp_gadgets.polytopes import closed_forms
from lp_gadgets.polytopes.double_description import independent_rows
from lp_gadgets.relation import Relation
from lp_gadgets.rows import stack

E2, E4, E8 = Embedding(2), Embedding(4), Embedding(8)
C2, C4, C8 = (Embedding(q, "cube") for q in (2, 4, 8))
LIST = Relation.of([[0, 1, 1], [3, 2, 0], [1, 1, 0], [2, 0, 1]], 2, E4)
RELATIONS = {
    **{
        f"check {e.q} {e.kind}, {r}": Relation.check(r, e) for e in (E2, E4, C2, C4, C8) for r in (1, 2, 3, 4)
    },
    "check 8 parabola, 3": Relation.check(3, E8),
    **{f"trace {e.q} {e.kind}": Relation.trace(e) for e in (E2, E4, E8, C2, C4, C8)},
    "parity": Relation.parity(),
    "list": LIST,
}
CASES = [
    (name, kind)
    for name, relation in RELATIONS.items()
    for kind in ENCODINGS
    if "tree" not in kind or relation.kind == "check"
]
FORCED = [
    (name, kind)
    for name, kind in CASES
    if RELATIONS[name].symbols + RELATIONS[name].bits <= 4 and not name.startswith("check 8 cube")
]


def words(relation):
    """All words over the alphabets of a relation, tuples or not."""
    sizes = [relation.embedding.q] * relation.symbols + [2] * relation.bits
    return np.array(list(itertools.product(*map(range, sizes))), dtype=np.int64)


def is_implied(A, b, c, bound):
    """Whether A x <= b implies c x <= bound, proved by non-negative multipliers in exact arithmetic."""
    generators = np.vstack([np.column_stack([A, b]), [[0] * A.shape[1] + [1]]])
    return ConeMembership(np.unique(generators, axis=0), [*map(int, c), int(bound)]).solve() is None


def fixed(rows, point, free):
    """The rows on the free variables that remain when the others are fixed at a point."""
    held = [i for i in range(len(rows.variables)) if i not in free]
    return rows.A[:, free], rows.b - rows.A[:, held] @ point[held]


@pytest.mark.parametrize("name", RELATIONS)
def test_tuples_are_the_relation(name):
    """The tuples are, in order, exactly the words that satisfy the relation's definition."""
    relation = RELATIONS[name]
    table = words(relation)
    if relation.kind == "check":
        table = table[np.bitwise_xor.reduce(table, axis=1) == 0]
    elif relation.kind == "trace":
        table = table[trace_table(relation.embedding.q)[table[:, 0], table[:, 1]] == table[:, 2]]
    elif relation.kind == "parity":
        table = table[table.sum(axis=1) % 2 == 0]
    else:
        table = np.array(sorted(relation.listed))
    assert np.array_equal(relation.tuples, table)
    assert relation.count == len(table)
    assert relation.embed(table).shape == (len(table), len(relation.variables))


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_encodings_accept_exactly_the_tuples(name, kind):
    """Every tuple satisfies the rows, and no other word does, whatever labels the auxiliary symbols take."""
    relation = RELATIONS[name]
    encoding = encode(relation, kind)
    assert encoding.rows.holds(encoding.lift(relation.tuples)).all()
    if kind == "facets" or (kind == "implications" and relation.kind == "check"):
        table = words(relation)
        inside = encoding.rows.holds(relation.embed(table))
        assert np.array_equal(table[inside], relation.tuples)
    elif "tree" in kind and relation.symbols == 4 and relation.embedding.q <= 4:
        table, points = words(relation), encoding.lift(words(relation))
        step, q = relation.embedding.dimension, relation.embedding.q
        inside = np.zeros(len(table), dtype=bool)
        for label in range(q):
            points[:, -step:] = relation.embedding.points[label]
            inside |= encoding.rows.holds(points)
        assert np.array_equal(table[inside], relation.tuples)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_predicted_size_is_the_size(name, kind):
    """The size that is predicted is the size that is built."""
    relation = RELATIONS[name]
    expected = predict(relation, kind)
    assert expected.exact
    assert encode(relation, kind).size == expected


@pytest.mark.parametrize(("name", "kind"), FORCED)
def test_encodings_force_the_last_position(name, kind):
    """With all positions but a determined one fixed at a tuple, the rows imply the last deficit is 0."""
    relation = RELATIONS[name]
    encoding = encode(relation, kind)
    rng = np.random.default_rng(0)
    tuples = relation.tuples[rng.permutation(relation.count)[:4]]
    for word in tuples:
        point = encoding.lift([word])[0]
        for position in filter(relation.determined, range(len(word))):
            block = relation.block(position)
            free = [*range(block.start, block.stop), *range(len(relation.variables), len(point))]
            A, b = fixed(encoding.rows, point, free)
            table, _ = relation.deficits(position)
            deficit = table[word[position]]
            c = np.zeros(len(free), dtype=np.int64)
            c[: len(deficit) - 1] = deficit[:-1]
            assert is_implied(A, b, c, -deficit[-1])


@pytest.mark.parametrize(("q", "kind"), [(4, "tree"), (4, "implication tree"), (2, "tree")])
def test_tree_forces_one_unknown_leaf(q, kind):
    """In the tree of degree 8, seven known leaves force the eighth, through the auxiliary symbols."""
    relation = Relation.check(8, Embedding(q))
    encoding = encode(relation, kind)
    rng = np.random.default_rng(1)
    word = rng.integers(0, q, 8)
    word[7] ^= np.bitwise_xor.reduce(word)
    point = encoding.lift([word])[0]
    for leaf in (0, 7):
        free = [2 * leaf, 2 * leaf + 1, *range(16, len(point))]
        A, b = fixed(encoding.rows, point, free)
        deficit = relation.embedding.deficits[word[leaf]]
        assert is_implied(A, b, [*deficit[:2], *[0] * (len(free) - 2)], -deficit[2])


@pytest.mark.parametrize(("name", "kind"), [case for case in FORCED if "8" not in case[0]])
def test_gains_bound_the_deficits(name, kind):
    """The rows imply that a determined deficit is at most the sum of the others times their gains."""
    relation = RELATIONS[name]
    encoding = encode(relation, kind)
    rng = np.random.default_rng(2)
    for word in relation.tuples[rng.permutation(relation.count)[:2]]:
        for position in range(len(word)):
            gains = encoding.gains(position)
            assert (gains is not None) == relation.determined(position)
            if gains is None:
                continue
            c, constant = np.zeros(len(encoding.rows.variables), dtype=np.int64), 0
            for j, gain in enumerate(gains):
                table, _ = relation.deficits(j)
                scale = 1 if j == position else -gain
                c[relation.block(j)] += scale * table[word[j]][:-1]
                constant += scale * int(table[word[j]][-1])
            assert is_implied(encoding.rows.A, encoding.rows.b, c, -constant)


def test_gains_of_the_tree_of_degree_eight():
    """In the tree of eight leaves a leaf has one other at one node, two at three and four at four nodes."""
    for leaf in range(8):
        gains = encode(Relation.check(8, E4), "implication tree").gains(leaf)
        assert sorted(gains) == [0, 9, 9**3, 9**3, *[9**4] * 4]
        assert sum(gains) == 27_711
    assert encode(Relation.check(8, C4), "tree").gains(0) == (0, *[1] * 7)
    assert encode(Relation.trace(E8)).gains(2) == (1, 1, 0)
    assert encode(Relation.trace(E8)).gains(0) is None


@pytest.mark.parametrize("kind", ENCODINGS)
@pytest.mark.parametrize("embedding", [E4, C4])
def test_half_way_between_two_codewords(kind, embedding):
    """Symbols of a stopping set may stay half-way: the mean of tuples that change an even number of them."""
    relation = Relation.check(6, embedding)
    encoding = encode(relation, kind)
    word, beta, where = np.array([1, 2, 3, 0, 1, 1]), 3, (0, 2, 5)
    assert np.bitwise_xor.reduce(word) == 0
    mixture = []
    for pattern in itertools.product((0, 1), repeat=3):
        if sum(pattern) % 2 == 0:
            changed = word.copy()
            changed[list(where)] ^= beta * np.array(pattern)
            mixture.append(changed)
    total = encoding.lift(mixture).sum(axis=0)
    mean = [Fraction(int(value), len(mixture)) for value in total]
    assert encoding.rows.holds([mean]).all()
    points = embedding.points
    for i in where:
        halves = [Fraction(int(v), 2) for v in points[word[i]] + points[word[i] ^ beta]]
        assert mean[relation.block(i)] == halves


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_list_of_tuples(data):
    """For any relation, facets and implication rows hold on its tuples, and facets on no other word."""
    embedding = data.draw(st.sampled_from([E2, E4, C4]))
    symbols, bits = data.draw(st.sampled_from([(1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]))
    entry = [st.integers(0, embedding.q - 1)] * symbols + [st.integers(0, 1)] * bits
    table = data.draw(st.lists(st.tuples(*entry), min_size=1, max_size=6))
    relation = Relation.of(table, symbols, embedding)
    everything = words(relation)
    members = {tuple(t) for t in table}
    rows = encode(relation).rows
    inside = rows.holds(relation.embed(everything))
    assert {tuple(w) for w in everything[inside].tolist()} == members
    assert encode(relation, "implications").rows.holds(relation.embed(relation.tuples)).all()
    assert predict(relation, "implications") == encode(relation, "implications").size


@pytest.mark.parametrize("degree", [3, 4, 6, 8])
def test_binary_implications_are_the_odd_sets(degree):
    """Over F_2 the implication rows are the odd-set inequalities, 2^(r-1) of them."""
    relation = Relation.check(degree, C2)
    implications = encode(relation, "implications").rows.select(["relation"])
    facets = encode(relation).rows.select(["relation"])
    assert len(implications) == 2 ** (degree - 1)
    both = [set(map(tuple, np.column_stack([r.A, r.b]).tolist())) for r in (implications, facets)]
    assert both[0] == both[1]


@pytest.mark.parametrize("degree", [3, 4, 5, 8])
def test_binary_closed_form_is_the_hull(degree):
    """Odd sets and bounds are the enumerated facets of the even words."""
    hull = Relation.check(degree, C2).hull()
    assert np.array_equal(
        np.unique(hull.functions, axis=0), np.unique(closed_forms.binary_check(degree), axis=0)
    )


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_cube_check_is_a_product(degree):
    """In the cube the product of binary checks is the enumerated hull."""
    relation = Relation.check(degree, C4)
    rows = encode(relation).rows
    hull = relation.hull()
    expected = [*zip(hull.A.tolist(), hull.b.tolist(), strict=True)]
    inside = rows.A[[".e" not in name for name in rows.names]]
    assert len(inside) == len(expected)
    if not len(hull.E):
        assert sorted((*a, b) for a, b in expected) == sorted(
            map(tuple, np.column_stack([rows.A, rows.b]).tolist())
        )


LONG = [pytest.param(degree, marks=pytest.mark.exhaustive) for degree in (6, 7)]


@pytest.mark.parametrize("degree", [4, 5, *LONG])
def test_quaternary_closed_form_is_the_hull(degree):
    """Over F_4 on the parabola the closed form is the enumerated list, proved complete up to degree 7."""
    hull = Relation.check(degree, E4).hull()
    assert np.array_equal(np.unique(hull.functions, axis=0), closed_forms.quaternary_check(degree))
    assert encode(Relation.check(degree, E4)).completeness.startswith("complete: closed form")


def test_quaternary_closed_form_at_degree_eight():
    """At degree 8 the closed form has 48,032 rows, each a facet, and does not claim to be complete."""
    relation = Relation.check(8, E4)
    size = predict(relation)
    assert (size.rows, size.bounds, size.exact) == (48032, 32, True)
    assert closed_forms.quaternary_check_count(7) == 11420
    encoding = encode(relation)
    assert encoding.size == size
    assert encoding.completeness.startswith("valid")
    assert "complete up to degree 6" in encoding.completeness
    points = np.column_stack([relation.embed(relation.tuples), np.ones(relation.count, dtype=np.int64)])
    rows = np.column_stack([-encoding.rows.A, encoding.rows.b])
    rng = np.random.default_rng(0)
    for row in rows[rng.permutation(len(rows))[:300]]:
        values = points @ row
        assert values.min() == 0
        assert len(independent_rows(points[values == 0], 16)) == 16


@pytest.mark.parametrize(
    ("relation", "kind", "rows"),
    [
        (Relation.check(8, E2), "facets", 128 + 16 + 16),
        (Relation.check(8, C2), "facets", 144),
        (Relation.check(8, C4), "facets", 288),
        (Relation.check(8, C8), "facets", 3 * 144),
        (Relation.check(8, E4), "tree", 6 * 26 - 5 * 2),
        (Relation.check(8, E8), "tree", 6 * 1044 - 5 * 7),
        (Relation.check(8, E8), "implication tree", 6 * 3 * 64 + 13 * 8),
        (Relation.trace(C4), "facets", 20),
        (Relation.trace(Embedding(256)), "implications", 256**2 + 2 * 256 + 2),
    ],
    ids=str,
)
def test_known_sizes(relation, kind, rows):
    """Sizes of the encodings that instances use; auxiliary symbols' rows are shared by their two nodes."""
    assert predict(relation, kind).rows == rows


@pytest.mark.parametrize("degree", [3, 4, 5, 8, 13])
def test_trees_are_shallow_and_complete(degree):
    """A tree has r - 2 nodes and r - 3 auxiliary symbols; each leaf is in one node, each auxiliary in two."""
    nodes = tree_nodes(degree)
    symbols = [symbol for node in nodes for symbol in node]
    assert len(nodes) == degree - 2
    assert len({s for s in symbols if s.startswith("t")}) == degree - 3
    assert all(symbols.count(s) == (1 if s.startswith("z") else 2) for s in symbols)
    sums = encode(Relation.check(degree, E4), "tree").sums
    assert max(map(len, sums), default=0) <= max(degree - 2, 0)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_names_fit_any_file_format(name, kind):
    """Names are different, made of letters, digits and dots, and none looks like a number."""
    rows = encode(RELATIONS[name], kind).rows
    for text in (*rows.names, *rows.variables):
        assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9.]*", text)
    assert len(set(rows.names)) == len(rows)


def test_roles_tell_what_a_program_may_leave_out():
    """Rows of role "bound" are implied by the polytopes of the symbols."""
    for name, kind in CASES:
        relation = RELATIONS[name]
        if relation.embedding.q > 4 or relation.symbols > 3:
            continue
        rows = encode(relation, kind).rows
        polytopes = [relation.embedding.polytope_rows(z) for z in relation.names[: relation.symbols]]
        bounds = rows.select(["bound"])
        if not len(bounds):
            continue
        own = stack(polytopes, rows.variables)
        if relation.kind == "list" or relation.symbols == 1:
            continue  # such a relation may confine a single symbol further
        for row, bound in zip(bounds.A, bounds.b, strict=True):
            assert is_implied(own.A, own.b, row, bound)


def test_upper_bound_theorem():
    """The bound on the number of facets holds for every enumerated polytope of full dimension."""
    for relation in (Relation.trace(E4), Relation.trace(E8), Relation.check(3, E4), Relation.check(4, E4)):
        n = len(relation.variables)
        assert len(relation.hull().A) <= upper_bound(relation.count, n)
    assert [upper_bound(n, 2) for n in (3, 4, 7)] == [3, 4, 7]


def test_sizes_that_do_not_fit():
    """What cannot be built is refused before anything is built, with what to do instead."""
    big = Relation.check(8, E8)
    with pytest.raises(CapacityError, match=r"at most 12 coordinates.*not of 16.*tree"):
        encode(big)
    with pytest.raises(CapacityError, match="16777280"):
        encode(big, "implications")
    with pytest.raises(CapacityError, match="to be listed"):
        _ = Relation.check(9, E8).tuples
    with pytest.raises(CapacityError):
        encode(Relation.check(5, Embedding(32)), "tree")
    assert not predict(big).exact
    assert encode(big, "tree").size.auxiliaries == 5


def test_bad_arguments():
    """Unknown encodings, trees of other relations, and entries outside the alphabets are refused."""
    with pytest.raises(ArgumentError, match="'implication tree'"):
        encode(Relation.check(4, E4), "magic")
    with pytest.raises(ArgumentError, match="parity checks"):
        encode(Relation.trace(E4), "tree")
    with pytest.raises(ArgumentError, match="parity checks"):
        predict(Relation.parity(), "implication tree")
    with pytest.raises(ArgumentError, match="'degree'"):
        Relation.check(0, E4)
    for tuples in ([[0, 4]], [[0, -1]], [], [[]], [0, 1], [[0.5, 1]]):
        with pytest.raises(ArgumentError, match="'tuples'"):
            Relation.of(np.array(tuples), 2, E4)
    with pytest.raises(ArgumentError, match="'tuples'"):
        Relation.of([[0, 2]], 1, E4)


def test_few_tuples_of_many_symbols():
    """A few tuples in many coordinates are enumerated; many possible facets are refused, not tried."""
    rng = np.random.default_rng(3)
    simplex = Relation.of(rng.integers(0, 4, (5, 12)), 12, E4)
    assert predict(simplex).exact
    assert encode(simplex).rows.holds(simplex.embed(simplex.tuples)).all()
    single = Relation.of([[3, 0, 1]], 2, E4)
    assert encode(single).size == predict(single)
    with pytest.raises(CapacityError, match="enumerated"):
        encode(Relation.of(rng.integers(0, 2, (60, 20)), 0, E2))
