"""Laws of the arithmetic of F_q."""

import itertools

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError
from lp_gadgets import field

SIZES = [2, 4, 8, 16]


@pytest.mark.parametrize("q", SIZES)
def test_multiplication_makes_a_field(q):
    """Products associate, commute and distribute over exclusive or; non-zero elements are invertible."""
    table = field.multiplication_table(q)
    a, b, c = np.array(list(itertools.product(range(q), repeat=3))).T
    assert np.array_equal(table, table.T)
    assert np.array_equal(table[table[a, b], c], table[a, table[b, c]])
    assert np.array_equal(table[a, b ^ c], table[a, b] ^ table[a, c])
    assert np.array_equal(table[1], np.arange(q))
    assert all(sorted(row) == list(range(q)) for row in table[1:].tolist())


@pytest.mark.parametrize("q", [*SIZES, 32, 64, 128, 256])
def test_the_trace_is_a_balanced_additive_map_to_bits(q):
    """Tr(a + b) = Tr(a) + Tr(b), Tr(a^2) = Tr(a), and half of the elements have trace 1."""
    trace, table = field.traces(q), field.multiplication_table(q)
    a, b = np.arange(q)[:, None], np.arange(q)
    assert np.array_equal(trace[a ^ b], trace[a] ^ trace[b])
    assert np.array_equal(trace[np.diag(table)], trace)
    assert trace.sum() == q // 2
    assert set(trace.tolist()) == {0, 1}


@pytest.mark.parametrize("q", [*SIZES, 256])
def test_the_trace_form_is_non_degenerate(q):
    """Every non-zero a has Tr(a b) = 1 for exactly half of the b."""
    assert (field.trace_table(q)[1:].sum(axis=1) == q // 2).all()


@pytest.mark.parametrize("s", range(1, 13))
def test_the_modulus_is_irreducible(s):
    """x^(2^s) = x modulo the polynomial, and for no proper divisor of s in place of s (Rabin's test)."""

    def frobenius(times):
        power = field.multiply(2, 1, s)
        for _ in range(times):
            power = field.multiply(power, power, s)
        return power

    assert frobenius(s) == field.multiply(2, 1, s)
    assert all(frobenius(t) != 2 for t in range(1, s) if s % t == 0)


@pytest.mark.parametrize("s", [1, 2, 3, 6, 9])
def test_powers_of_the_primitive_element_are_all_non_zero_elements(s):
    """The powers of the least primitive element list every non-zero element once."""
    assert sorted(field.powers_of_primitive(s)) == list(range(1, 2**s))


@pytest.mark.parametrize(("s", "b"), [(2, 1), (4, 2), (6, 2), (6, 3), (9, 3)])
def test_the_relative_trace_maps_onto_the_subfield_evenly(s, b):
    """The trace to F_{2^b} takes its 2^b values, each fixed by the b-fold squaring, equally often."""
    values = [field.relative_trace(a, s, b) for a in range(2**s)]
    assert len(set(values)) == 2**b
    assert all(values.count(x) == 2 ** (s - b) for x in set(values))


@pytest.mark.parametrize("q", [0, 1, 3, 6, 512, -2, 2.0, True, "4", None])
def test_only_powers_of_two_are_alphabets(q):
    """An alphabet that is not a power of two between 2 and 256 is refused by name."""
    with pytest.raises(ArgumentError, match="Argument 'q' must be a power of two"):
        field.check_alphabet(q)


@pytest.mark.parametrize(
    "word", [[0, 1], [0, 1, 4], [0, 1, -1], [0.0, 1.0, 2.0], [[0, 1, 2]], [[0], [1, 2]], "abc"]
)
def test_words_of_another_length_or_alphabet_are_refused(word):
    """A word that is not three labels of F_4 is refused, and the message does not hold the word."""
    with pytest.raises(ArgumentError, match=r"Argument 'u' must be a sequence of 3 integers in 0\.\.3"):
        field.check_symbols("u", word, 3, 4)
