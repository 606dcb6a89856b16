"""The direct HiGHS loop agrees with the program as written in CVXPY."""

from __future__ import annotations

import numpy as np
import pytest
from support.zoo import POINTS, labellings

from geomdp.lp.highs import SignSystem, as_integers, positive_combination, strict_direction
from geomdp.lp.models import sign_vector_optimum


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", ["square", "cross polytope", "centred three by three", "multiples"])
def test_sign_program_agrees_with_its_twin(name: str, strict: bool) -> None:
    """Optimum by optimum, the model switched by bounds equals the readable program."""
    rows = np.array([row for row in POINTS[name] if any(row)])
    system = SignSystem(rows, strict)
    rng = np.random.default_rng(0)
    for _ in range(6):
        signs = rng.integers(-1, 2, len(rows))
        for i, s in enumerate(signs.tolist()):
            system.set_sign(i, s)
        direct, _ = system.solve()
        readable, _ = sign_vector_optimum(rows, signs, strict)
        assert direct == pytest.approx(readable, abs=1e-7)


@pytest.mark.parametrize("name", ["square", "cross polytope", "antipodes"])
def test_sign_program_decides_realisability(name: str) -> None:
    """A full sign vector has a positive optimum exactly when the rational oracle lists it."""
    rows = np.array(POINTS[name])
    realised = {tuple(row) for row in labellings(rows.tolist()).tolist()}
    system = SignSystem(rows, strict=False)
    for code in range(2 ** len(rows)):
        signs = [1 if (code >> i) & 1 else -1 for i in range(len(rows))]
        for i, s in enumerate(signs):
            system.set_sign(i, s)
        t, _ = system.solve()
        assert (t > 1e-9) == (tuple(signs) in realised)


def test_suggestions_are_only_suggestions() -> None:
    """Direction and combination are found where they exist, and None is returned where they do not."""
    one_sided, balanced = np.array([[1, 0], [-1, 5]]), np.array([[1, 0], [-1, 1], [0, -1]])
    u = strict_direction(one_sided)
    assert u is not None
    assert (one_sided @ u > 0).all()
    assert strict_direction(balanced) is None
    assert positive_combination(one_sided) is None
    c = positive_combination(balanced)
    assert c is not None
    assert (c > 0).all()
    assert as_integers(np.zeros(2)).tolist() == [0, 0]


def test_the_solver_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing reaches standard output, so that machine-readable output stays clean."""
    strict_direction(np.array([[1, 0], [0, 1]]))
    captured = capfd.readouterr()
    assert captured.out == ""
