"""Arithmetic of F_q, q = 2^s, on integer labels: tables only, exact and tiny.

The label j of an element is its polynomial over F_2 read as bits: label 0 is zero, label 1 is one, and the
sum of two elements is the exclusive or of their labels. The modulus is the least irreducible polynomial of
degree s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_integer, describe

#: Largest alphabet: its multiplication table has 2^16 entries.
MAX_Q = 256


def check_alphabet(q: object, name: str = "q") -> int:
    """Return the alphabet size as an int.

    Raises:
        ArgumentError: when it is not one of 2, 4, 8, ..., 256.

    Example:
        >>> check_alphabet(8)
        8
    """
    mend = "Choose 2, 4, 8, 16, 32, 64, 128 or 256."
    try:
        number = check_integer(name, q, 2, MAX_Q)
    except ArgumentError:
        number = 0
    if number == 0 or number & (number - 1):
        raise ArgumentError(name, f"a power of two between 2 and {MAX_Q}", describe(q), mend)
    return number


def check_symbols(name: str, word: object, length: int, q: int) -> NDArray[np.int64]:
    """Return a word over F_q as an array of labels.

    Args:
        name: argument name for the message.
        word: sequence of ``length`` integers in 0..q-1.
        length: required number of symbols.
        q: alphabet size.

    Raises:
        ArgumentError: when the length or a symbol is wrong; the message never holds the word.

    Example:
        >>> check_symbols("u", [0, 3, 1], 3, 4).tolist()
        [0, 3, 1]
    """
    requirement = f"a sequence of {length} integers in 0..{q - 1}"
    try:
        labels = np.asarray(word)
    except ValueError:
        raise ArgumentError(name, requirement, "a ragged nested sequence") from None
    if labels.shape != (length,):
        raise ArgumentError(name, requirement, f"an array of shape {labels.shape}")
    if length == 0:
        return np.zeros(0, dtype=np.int64)
    if labels.dtype.kind not in "iu" and not (
        labels.dtype == object and all(isinstance(x, int) and not isinstance(x, bool) for x in labels)
    ):
        raise ArgumentError(name, requirement, f"an array of {labels.dtype}")
    if min(labels.tolist()) < 0 or max(labels.tolist()) >= q:
        raise ArgumentError(name, requirement, "a sequence with a symbol outside the alphabet")
    return labels.astype(np.int64)


def _carryless_product(a: int, b: int) -> int:
    product = 0
    while b:
        if b & 1:
            product ^= a
        a, b = a << 1, b >> 1
    return product


def _remainder(a: int, modulus: int) -> int:
    while a.bit_length() >= modulus.bit_length():
        a ^= modulus << (a.bit_length() - modulus.bit_length())
    return a


@cache
def modulus(s: int) -> int:
    """Return the least irreducible polynomial of degree s over F_2, its coefficients read as bits.

    Example:
        >>> [bin(modulus(s)) for s in (1, 2, 3, 4, 8)]
        ['0b10', '0b111', '0b1011', '0b10011', '0b100011011']
    """
    candidates = range(1 << s, 2 << s)
    return next(p for p in candidates if all(_remainder(p, f) for f in range(2, 1 << (s // 2 + 1))))


def multiply(a: int, b: int, s: int) -> int:
    """Return the label of a * b in F_{2^s}; any s.

    Example:
        >>> multiply(2, 3, 2), multiply(7, 7, 3)
        (1, 3)
    """
    return _remainder(_carryless_product(a, b), modulus(s))


@cache
def powers_of_primitive(s: int) -> tuple[int, ...]:
    """Return 1, w, w^2, ..., w^(2^s - 2) for the least label w that generates the non-zero elements.

    Example:
        >>> sorted(powers_of_primitive(3))
        [1, 2, 3, 4, 5, 6, 7]
    """
    order = (1 << s) - 1
    primes = [p for p in range(2, order + 1) if order % p == 0 and all(p % f for f in range(2, p))]
    for w in range(1, 1 << s):
        if all(_power(w, order // p, s) != 1 for p in primes):
            powers = [1]
            while len(powers) < order:
                powers.append(multiply(powers[-1], w, s))
            return tuple(powers)
    raise AssertionError  # the multiplicative group of a finite field is cyclic


def _power(a: int, exponent: int, s: int) -> int:
    power = 1
    for bit in bin(exponent)[2:]:
        power = multiply(power, power, s)
        if bit == "1":
            power = multiply(power, a, s)
    return power


def relative_trace(a: int, s: int, b: int) -> int:
    """Return the trace of a from F_{2^s} to F_{2^b}: the sum of a^(2^(b i)) over i < s / b.

    Example:
        >>> [relative_trace(a, 2, 1) for a in range(4)]
        [0, 0, 1, 1]
    """
    total = 0
    for _ in range(s // b):
        total ^= a
        for _ in range(b):
            a = multiply(a, a, s)
    return total


@cache
def multiplication_table(q: int) -> NDArray[np.int64]:
    """Return the (q, q) table of the labels of a * b; read only.

    Example:
        >>> multiplication_table(4).tolist()
        [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]]
    """
    s = check_alphabet(q).bit_length() - 1
    table = np.array([[multiply(a, b, s) for b in range(q)] for a in range(q)], dtype=np.int64)
    table.setflags(write=False)
    return table


@cache
def traces(q: int) -> NDArray[np.int64]:
    """Return Tr(a) = a + a^2 + a^4 + ... + a^(q/2) in {0, 1} for every label a of F_q; read only.

    Example:
        >>> traces(4).tolist(), int(traces(8).sum())
        ([0, 0, 1, 1], 4)
    """
    s = check_alphabet(q).bit_length() - 1
    table = np.array([relative_trace(a, s, 1) for a in range(q)], dtype=np.int64)
    table.setflags(write=False)
    return table


@cache
def trace_table(q: int) -> NDArray[np.int64]:
    """Return the (q, q) table of Tr(a b): symmetric, bilinear and non-degenerate; read only.

    Example:
        >>> trace_table(2).tolist()
        [[0, 0], [0, 1]]
    """
    table = traces(q)[multiplication_table(q)]
    table.setflags(write=False)
    return table


def trace_inner_product(
    u: Sequence[int] | NDArray[np.int64], v: Sequence[int] | NDArray[np.int64], q: int
) -> int:
    """Return the exclusive or over i of Tr(u_i v_i), for words of one length over F_q.

    Raises:
        ArgumentError: when a word has a symbol outside the alphabet, or the lengths differ.

    Example:
        >>> trace_inner_product([1, 2], [2, 3], 4)
        1
    """
    length = len(u)
    a, b = check_symbols("u", u, length, q), check_symbols("v", v, length, q)
    return int(trace_table(q)[a, b].sum()) & 1
