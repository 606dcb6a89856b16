"""The exact optimum on the shipped tables, and against linear programming where it is zero."""

import numpy as np
import pytest
from scipy.optimize import linprog

from geomdp import Domain, Sample, data
from geomdp.io import read_table
from geomdp.opt.halfspace import opt_halfspace
from geomdp.opt.sup import sup_field

TABLES = [
    ("penguins/adelie_gentoo.csv", "species", "Gentoo", "Adelie", 0),
    ("penguins/adelie_chinstrap.csv", "species", "Chinstrap", "Adelie", 2),
    ("wdbc/wdbc.csv", "diagnosis", "malignant", "benign", 20),
]


@pytest.mark.parametrize(("name", "label", "positive", "negative", "opt"), TABLES)
def test_known_optima(name, label, positive, negative, opt):
    """The published optima of three real tables at 32 levels are found, with a witness."""
    D = Domain.from_grid_file(data.path(name.split("/")[0] + "/grid.json"))
    S = read_table(D, data.path(name), label=label, positive=positive, negative=negative)
    r = opt_halfspace(S)
    assert r.lower == r.upper == r.classifier.mistakes(S) == opt
    assert sup_field(D, S.net[None, :])[0] == S.n - 2 * opt


def test_parts_and_whole():
    """Pooling cannot help: the optima of the parts add up to at most the optimum of the whole."""
    D = Domain.from_grid_file(data.path("wdbc/grid.json"))
    parts = [
        read_table(
            D, data.path(f"wdbc/wdbc_{half}.csv"), label="diagnosis", positive="malignant", negative="benign"
        )
        for half in "ab"
    ]
    assert sum(opt_halfspace(S).upper for S in parts) <= opt_halfspace(*parts).upper == 20


@pytest.mark.parametrize("d", [2, 3, 4])
def test_zero_exactly_when_the_program_is_feasible(d):
    """Opt is 0 iff <w, x> >= 0 on the + points, <= -1 on the - points, has a solution (by homogeneity)."""
    rng = np.random.default_rng(d)
    seen = set()
    for _ in range(40):
        X = rng.integers(-2, 3, (int(rng.integers(2, 9)), d))
        X = np.unique(X, axis=0)
        y = rng.choice([-1, 1], len(X))
        S = Sample.from_points(Domain(X), X, y)
        bounds = np.where(y > 0, 0, -1)
        program = linprog(np.zeros(d), A_ub=-y[:, None] * X, b_ub=bounds, bounds=(None, None))
        assert (opt_halfspace(S).upper == 0) == (program.status == 0)
        seen.add(program.status)
    assert seen == {0, 2}
