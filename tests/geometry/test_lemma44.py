"""The lemma behind the testers: far from a common classifier, low-error sets are separated.

With opt >= t, the sets G_P = {w : at most k mistakes on the records of party P} have

* disjoint convex hulls for k <= (t-1)/(d+2), whatever the representatives (Kirchberger), and
* a strictly separating hyperplane through 0, or one of them empty, for k <= (t-1)/(d+1), if no
  representative has <w, x> = 0 at a domain point (Gordan).
"""

from __future__ import annotations

import numpy as np
import pytest

from geomdp.core.domain import Domain
from geomdp.core.sample import Sample
from geomdp.geometry.arrangement import dichotomies
from geomdp.geometry.convexity import CommonPoint, Hyperplane, separate

DOMAINS = {
    "line": Domain.grid([("x", 0, 1, 7)]),
    "grid": Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)]),
    "slab": Domain.grid([("x", 0, 1, 7), ("y", 0, 1, 2)]),
    "cube": Domain.grid([("x", 0, 1, 2), ("y", 0, 1, 2), ("z", 0, 1, 2)]),
    "scattered": Domain(np.column_stack([np.random.default_rng(0).integers(-20, 21, (9, 2)), [1] * 9])),
    "repeated": Domain([[0, 0, 1], [0, 0, 1], [1, 0, 1], [2, 0, 1], [0, 1, 1], [0, 2, 2], [1, 1, 1]]),
}
MENUS = {name: dichotomies(domain, generic=True) for name, domain in DOMAINS.items()}


def records(rng, m, style):
    """Positive and negative counts of both parties, easy and adversarial."""
    if style == "disjoint":
        zero = np.zeros(m, dtype=int)
        return (zero, rng.integers(0, 6, m)), (rng.integers(0, 6, m), zero)
    if style == "mixed":
        return tuple((rng.integers(0, 4, m), rng.integers(0, 4, m)) for _ in range(2))
    if style == "heavy":  # a few heavy cells per party and label, light conflicts between them
        return tuple(
            tuple(rng.integers(0, 2, m) + 40 * (rng.random(m) < 0.3) for _ in range(2)) for _ in range(2)
        )
    zero = np.zeros(m, dtype=int)  # one party empty
    return (zero, zero), (rng.integers(0, 4, m), rng.integers(0, 4, m))


def errors(name, rng, style):
    """f_A, f_B on all representatives, and opt."""
    domain, W = DOMAINS[name], MENUS[name]
    pair = records(rng, domain.m, style)
    f_A, f_B = (W.mistakes(Sample.from_counts(domain, *counts)) for counts in pair)
    return f_A, f_B, int((f_A + f_B).min())


@pytest.mark.parametrize("style", ["disjoint", "mixed", "heavy", "one empty"])
@pytest.mark.parametrize("name", DOMAINS)
def test_far_data_have_separated_low_error_sets(name, style):
    """With opt >= t, k = floor((t-1)/(d+1)) give a strict linear separator, or an empty side."""
    rng = np.random.default_rng(sorted(DOMAINS).index(name))
    W, d = MENUS[name], DOMAINS[name].d
    assert W.generic
    for _ in range(12):
        f_A, f_B, t = errors(name, rng, style)
        if t == 0:
            continue
        k = (t - 1) // (d + 1)
        active = rng.random(len(W)) < rng.choice([0.2, 1.0])  # inside every subset of candidates too
        G_A, G_B = W.weights[active & (f_A <= k)], W.weights[active & (f_B <= k)]
        answer = separate(G_A, G_B, kind="cone")
        assert isinstance(answer, Hyperplane) or not (len(G_A) and len(G_B))
        assert answer.verify(G_A, G_B)
        k = (t - 1) // (d + 2)
        G_A, G_B = W.weights[f_A <= k], W.weights[f_B <= k]
        plane = separate(G_A, G_B)
        assert isinstance(plane, Hyperplane)
        assert plane.verify(G_A, G_B)


@pytest.mark.parametrize("name", DOMAINS)
def test_a_common_point_is_a_good_classifier(name):
    """Where the sets first meet, the common point errs at most as often as its members together.

    So opt <= (d+2)k at the first k with meeting hulls, and opt <= (d+1)k at the first k without a
    separating hyperplane through 0, pure circuits included.
    """
    rng = np.random.default_rng(7)
    W, d, points = MENUS[name], DOMAINS[name].d, DOMAINS[name].points.astype(object)
    for style in ("disjoint", "mixed", "heavy"):
        f_A, f_B, opt = errors(name, rng, style)
        for kind, factor in (("affine", d + 2), ("cone", d + 1)):
            for k in sorted({*f_A.tolist(), *f_B.tolist()}):
                A, B = np.flatnonzero(f_A <= k), np.flatnonzero(f_B <= k)
                common = separate(W.weights[A], W.weights[B], kind=kind)
                if isinstance(common, CommonPoint) and len(A) and len(B):
                    assert opt <= factor * k
                    if common.pure:  # two opposite representatives, say: every record is wrong for one
                        break
                    labels = (points @ np.array(common.point, dtype=object)) >= 0
                    for side, numbers in ((common.left, A), (common.right, B)):
                        members = W.signs[[numbers[i] for i, _ in side]] > 0
                        agree = (members == labels).any(axis=0)
                        assert agree.all()  # wrong only where some member is wrong
                    cost = sum(f_A[A[i]] for i, _ in common.left) + sum(f_B[B[j]] for j, _ in common.right)
                    assert opt <= cost <= factor * k
                    break


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize(
    "heavy_B", [[(0, 1), (0, -1), (1, 0)], [(1, 20), (1, -20)]], ids=["on a line", "generic"]
)
def test_the_constant_of_the_cone_form_is_tight(heavy_B, k):
    """In d = 2, at k = opt/3 = opt/(d+1) the cones meet, so k <= (t-1)/(d+1) cannot be weakened.

    In the second example no representative is on a plane of the domain.
    """
    alice = {(-1, 9): 10 * k, (-1, -9): 10 * k, (1, 11): k, (1, -11): k}  # negative records
    bob = dict.fromkeys(heavy_B, 10 * k) | {(-1, 0): k}  # positive records
    D = Domain([*alice, *bob])
    negative = np.array([*alice.values(), *[0] * len(bob)])
    positive = np.array([*[0] * len(alice), *bob.values()])
    none = np.zeros(D.m, dtype=int)
    S_A, S_B = Sample.from_counts(D, none, negative), Sample.from_counts(D, positive, none)
    W = dichotomies(D)
    f_A, f_B = W.mistakes(S_A), W.mistakes(S_B)
    assert (f_A + f_B).min() == 3 * k
    A, B = np.array([[10, 1], [10, -1]]), np.array([[1, 0]])
    assert (D.points @ np.vstack([A, B]).T != 0).all() == ((0, 1) not in heavy_B)
    assert (negative @ (D.points @ A.T >= 0)).tolist() == [k, k]
    assert (positive @ (D.points @ B.T < 0)).tolist() == [k]
    common = separate(A, B, kind="cone")
    assert isinstance(common, CommonPoint)
    assert common.size == 3
    assert common.verify(A, B)
    assert not ((f_A < k).any() and (f_B < k).any())  # with one mistake fewer, one side is empty


def test_generic_representatives_are_needed_for_cones():
    """Representatives (1, 0), (-1, 0) on the plane of (0, 1): k = 0 < opt, and no line through 0.

    The convex hulls are disjoint all the same: that form needs no genericity.
    """
    D = Domain([[0, 1]])
    S_A, S_B = Sample.from_counts(D, [9], [0]), Sample.from_counts(D, [0], [9])
    W = dichotomies(D)
    assert int((W.mistakes(S_A) + W.mistakes(S_B)).min()) == 9
    A, B = [[1, 0], [-1, 0]], [[0, -1]]  # no mistake for Alice, none for Bob
    circuit = separate(A, B, kind="cone")
    assert isinstance(circuit, CommonPoint)
    assert circuit.pure
    assert circuit.verify(A, B)
    assert isinstance(separate(A, B), Hyperplane)
