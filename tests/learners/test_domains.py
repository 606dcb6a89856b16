"""Laws of ordered domains: rank and value are inverse to each other, for every kind."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError
from geomdp.learners.domains import Dyadic, Explicit, FractionPairs, Integers, floor_sum

rationals = st.fractions(min_value=-8, max_value=8, max_denominator=9)
DOMAINS = [
    Integers(-3, 4),
    Integers(2, 2),
    Dyadic(1, 0),
    Dyadic(3, 2),
    Explicit([Fraction(1, 3), 5, -2, 5]),
    *(FractionPairs(s, t) for s in (1, 2, 5) for t in (1, 3, 6)),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@given(x=rationals)
def test_ranks_count_the_elements_below(domain, x):
    """first_at_least counts the elements < x and first_above those <= x."""
    values = [domain.value(i) for i in range(domain.size)]
    assert values == sorted(values)
    assert domain.first_at_least(x) == sum(v < x for v in values)
    assert domain.first_above(x) == sum(v <= x for v in values)


@pytest.mark.parametrize(("S", "T"), [(1, 1), (3, 4), (7, 5)])
def test_pairs_are_all_there(S, T):
    """The values of the pairs are all quotients s/t, with repetition."""
    domain = FractionPairs(S, T)
    listed = sorted(Fraction(s, t) for s in range(-S, S + 1) for t in range(1, T + 1))
    assert [domain.value(i) for i in range(domain.size)] == listed


@pytest.mark.parametrize("domain", [Dyadic(512, 5000), FractionPairs(2**60, 2**120), Integers(-(2**99), 7)])
def test_huge_domains_are_addressed_by_rank(domain):
    """On domains that cannot be listed, the rank of a value brackets the rank that gave it."""
    for index in (0, 1, domain.size // 3, domain.size - 1):
        value = domain.value(index)
        assert domain.first_at_least(value) <= index < domain.first_above(value)


@given(st.integers(0, 20), st.integers(1, 20), st.integers(-40, 40), st.integers(-40, 40))
def test_floor_sums(n, m, a, b):
    """Euclid's evaluation equals the plain sum."""
    assert floor_sum(n, m, a, b) == sum((a * i + b) // m for i in range(n))


def test_bad_domains_are_refused():
    """Empty ranges, radius 0 and ranks outside raise ArgumentError."""
    for make in (
        lambda: Integers(2, 1),
        lambda: Dyadic(0, 3),
        lambda: Explicit([]),
        lambda: FractionPairs(0, 1),
    ):
        with pytest.raises(ArgumentError):
            make()
    with pytest.raises(ArgumentError):
        Dyadic(1, 1).value(5)
