from __future__ import annotations

from fractions import Fraction

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError
from lp_gadgets.embedding import Embedding, pinned_region, tangent_identity
from lp_gadgets.hull import facets
from lp_gadgets.rows import Rows, stack

mpl.use("Agg")

ALPHABETS = [2**s for s in range(1, 9)]
EMBEDDINGS = [Embedding(q, kind) for q in ALPHABETS for kind in ("parabola", "cube")]


@pytest.mark.parametrize("q", ALPHABETS)
def test_tangent_identity(q):
    """The tangent at every element of the parabola supports all others strictly, up to q = 256."""
    assert tangent_identity(q)
    embedding = Embedding(q)
    j = np.arange(q)
    values = embedding.deficits[:, :2] @ embedding.points.T + embedding.deficits[:, 2:]
    assert np.array_equal(values, (j[:, None] - j[None, :]) ** 2)
    assert values.max() == embedding.largest_deficit


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=str)
def test_deficits_and_pins(embedding):
    """A deficit is 0 at its own element and at least 1 at every other, so a pin leaves one element."""
    ends = np.column_stack([embedding.points, np.ones(embedding.q, dtype=np.int64)])
    values = embedding.deficits @ ends.T
    assert np.array_equal(values == 0, np.identity(embedding.q, dtype=bool))
    assert values.min() == 0
    assert values.max() == embedding.largest_deficit
    for j in {0, 1, embedding.q // 2, embedding.q - 1}:
        assert pinned_region(embedding, j) == [j]


@pytest.mark.parametrize("embedding", [e for e in EMBEDDINGS if e.kind == "parabola" or e.q <= 64], ids=str)
def test_polytope_rows_are_the_facets(embedding):
    """The written rows of P_q are exactly its enumerated facets and equations."""
    hull = facets(embedding.points)
    expected = {(*row, bound) for row, bound in zip(hull.A.tolist(), hull.b.tolist(), strict=True)}
    for row, value in zip(hull.E.tolist(), hull.e.tolist(), strict=True):
        expected |= {(*row, value), (*(-a for a in row), -value)}
    rows = embedding.polytope_rows("z")
    assert set(map(tuple, np.column_stack([rows.A, rows.b]).tolist())) == expected
    assert len(rows) == len(expected)


@given(st.data())
def test_pin_forces_every_mixture(data):
    """A mixture of elements satisfies P_q, and its deficit is the mean squared distance: 0 at e(j) alone."""
    embedding = Embedding(data.draw(st.sampled_from([2, 4, 8, 16])))
    weights = data.draw(st.lists(st.integers(0, 5), min_size=embedding.q, max_size=embedding.q).filter(any))
    j = data.draw(st.integers(0, embedding.q - 1))
    total = sum(weights)
    point = [
        Fraction(int(sum(w * x for w, x in zip(weights, c, strict=True))), total) for c in embedding.points.T
    ]
    assert embedding.polytope_rows("z").holds([point]).all()
    mean = Fraction(sum(w * (i - j) ** 2 for i, w in enumerate(weights)), total)
    a, b, c = (int(v) for v in embedding.deficits[j])
    assert a * point[0] + b * point[1] + c == mean
    pinned = bool(embedding.pin("z", j).holds([point])[0])
    assert pinned == (point == list(embedding.points[j]))


def test_embed_concatenates_symbols():
    """A word of r symbols becomes r blocks of coordinates, in order."""
    assert Embedding(4).embed([3, 1]).tolist() == [3, 9, 1, 1]
    assert Embedding(8, "cube").embed([[5, 0]]).tolist() == [[1, 0, 1, 0, 0, 0]]


@pytest.mark.parametrize("q", [0, 1, 3, 6, 512, 2.0, "4", True, None])
def test_bad_alphabet(q):
    """The alphabet size is a power of two between 2 and 256."""
    with pytest.raises(ArgumentError, match="power of two"):
        Embedding(q)


def test_bad_kind_and_label():
    """An unknown embedding, and a pin for no element, are refused."""
    with pytest.raises(ArgumentError, match="'parabola', 'cube'"):
        Embedding(4, "circle")
    with pytest.raises(ArgumentError, match="'j'"):
        Embedding(4).pin("z", 4)


def test_rows_refuse_what_does_not_fit():
    """Rows need one name and role per row, one column per variable, and no name twice."""
    with pytest.raises(ArgumentError, match="'A'"):
        Rows(("x",), np.array([[1, 2]]), np.array([0]), ("a",), ("bound",))
    with pytest.raises(ArgumentError, match="'b'"):
        Rows(("x",), np.array([[1]]), np.array([0, 1]), ("a",), ("bound",))
    with pytest.raises(ArgumentError, match="'variables'"):
        Rows(("x", "x"), np.array([[1, 2]]), np.array([0]), ("a",), ("bound",))
    with pytest.raises(ArgumentError, match="'roles'"):
        Rows(("x",), np.array([[1]]), np.array([0]), ("a",), ("wish",))
    with pytest.raises(ArgumentError, match="'roles'"):
        Embedding(4).polytope_rows("z").select(["wish"])
    left = Rows(("x",), np.array([[1]]), np.array([0]), ("a",), ("bound",))
    right = Rows(("x",), np.array([[1]]), np.array([1]), ("a",), ("bound",))
    with pytest.raises(ArgumentError, match="'names'"):
        stack([left, right])


def test_rows_without_rows():
    """A system of no rows holds everywhere and prints as nothing."""
    empty = Embedding(4).polytope_rows("z").select(["pin"])
    assert (len(empty), str(empty), empty.holds([[10**30, -5]]).tolist()) == (0, "", [True])
    assert empty.variables == stack([empty]).variables == ("z.1", "z.2")


def test_picture_of_a_pin():
    """The picture's polytope has the area of P_q, and the pinned part is the element's point."""
    from matplotlib import pyplot as plt

    from lp_gadgets.pictures import draw_symbol

    figure, axes = plt.subplots(1, 3)
    picture = draw_symbol(Embedding(8), 5, axes[0])
    assert picture.polytope.area == 8 * 7 * 6 / 6
    assert (picture.pinned.x, picture.pinned.y) == (5, 25)
    assert picture.axes is axes[0]
    line = picture.artists["pin"].get_xydata()
    assert np.allclose(10 * line[:, 0] - line[:, 1], 25)
    assert len(picture.artists["elements"].get_offsets()) == 8
    segment = draw_symbol(Embedding(2), None, axes[1])
    assert (segment.polytope.geom_type, segment.pinned) == ("LineString", None)
    assert draw_symbol(Embedding(4, "cube"), 2, axes[2]).polytope.area == 1
    with pytest.raises(ArgumentError, match="two coordinates"):
        draw_symbol(Embedding(8, "cube"))
    plt.close(figure)
