"""Laws of the seeded draws: the same numbers as numpy's, and the generator left in the same state."""

from fractions import Fraction

import numpy as np
import pytest

from geomdp.privacy.sampler import SimSampler
from geomdp.privacy.seeded import geometric


@pytest.mark.parametrize("p", [0.05, 0.33, 1 / 3, 0.3333334, 0.3935, 0.5, 0.75, 0.999, 1 - 2**-40, 1.0])
@pytest.mark.parametrize("size", [7, 70_001, (300, 256)])
def test_draws_are_numpy_s_own(p, size):
    """For every probability and shape each draw equals numpy's, twice in a row; so does the next float."""
    ours, theirs = np.random.default_rng(11), np.random.default_rng(11)
    for _ in range(2):
        assert np.array_equal(geometric(ours, p, size), theirs.geometric(p, size))
    assert ours.random() == theirs.random()


def test_simulated_noise_is_the_difference_of_two_geometrics():
    """Seeded discrete Laplace noise is numpy's, whichever way its geometric variables are found."""
    theirs = np.random.default_rng(4)
    heads = -np.expm1(-1 / 2.0)
    expected = theirs.geometric(heads, 80_000) - theirs.geometric(heads, 80_000)
    assert np.array_equal(SimSampler(4).discrete_laplace(Fraction(2), 80_000), expected)
