"""Which order statistic of simulated values bounds a quantile, by exact binomial tails."""

from __future__ import annotations

from fractions import Fraction

from geomdp.core.errors import ArgumentError, check_fraction, check_integer, describe


def order_index(
    draws: int, level: Fraction | float, confidence_loss: Fraction | float = Fraction(1, 10**6)
) -> int:
    """Return the least j with P(Bin(draws, level) >= j) <= confidence_loss.

    The j-th smallest of `draws` iid values is then at least the true `level`-quantile, except with
    probability confidence_loss: it is smaller only if j or more values fall below the quantile. draws + 1
    means that no order statistic is good enough.

    All terms are integers times powers of two, rounded up to 256 binary digits from the top term down, so the
    sum compared is an upper bound, larger by less than one part in 2^200.

    Args:
        draws: number of simulated values, 1 to 10^8.
        level: the quantile's level, 0 < level < 1.
        confidence_loss: allowed probability of an index too low.

    Raises:
        ArgumentError: unless ``draws`` is an integer with 1 <= draws <= 10^8, and ``level`` and
            ``confidence_loss`` lie strictly between 0 and 1.

    Example:
        >>> from math import comb
        >>> sum(comb(20, i) for i in range(order_index(20, 0.5, 0.01), 21)) / 2**20 <= 0.01
        True
    """
    check_integer("draws", draws, 1, 10**8)
    p, loss = check_fraction("level", level), check_fraction("confidence_loss", confidence_loss)
    for name, value in (("level", p), ("confidence_loss", loss)):
        if not 0 < value < 1:
            raise ArgumentError(name, "a number strictly between 0 and 1", describe(value))
    odds_up, odds_down = p.numerator, p.denominator - p.numerator
    term, exponent = _power_up(p, draws)
    total, total_exponent = 0, exponent
    for i in range(draws, -1, -1):
        total, total_exponent = _add_up(total, total_exponent, term, exponent)
        if not _at_most(total, total_exponent, loss):
            return i + 1
        term = -(-term * i * odds_down // ((draws - i + 1) * odds_up))
        term, exponent = _shorten(term, exponent)
    return 0


def _shorten(mantissa: int, exponent: int) -> tuple[int, int]:
    """Return mantissa * 2^exponent rounded up to a mantissa of exactly 256 bits."""
    excess = mantissa.bit_length() - 256
    if excess <= 0:
        return mantissa << -excess, exponent + excess
    return -(-mantissa >> excess), exponent + excess


def _power_up(base: Fraction, power: int) -> tuple[int, int]:
    """Return an upper bound mantissa * 2^exponent of base^power by repeated squaring."""
    result, square = (1, 0), _shorten(-(-(base.numerator << 320) // base.denominator), -320)
    while power:
        if power & 1:
            result = _shorten(result[0] * square[0], result[1] + square[1])
        square = _shorten(square[0] ** 2, 2 * square[1])
        power >>= 1
    return result


def _add_up(a: int, a_exponent: int, b: int, b_exponent: int) -> tuple[int, int]:
    if a_exponent < b_exponent:
        a, a_exponent, b, b_exponent = b, b_exponent, a, a_exponent
    shift = a_exponent - b_exponent
    return (
        _shorten(a + -(-b >> shift), a_exponent) if shift > 1000 else _shorten((a << shift) + b, b_exponent)
    )


def _at_most(mantissa: int, exponent: int, bound: Fraction) -> bool:
    if exponent >= 0:
        return mantissa * bound.denominator << exponent <= bound.numerator
    if mantissa.bit_length() + exponent < -4096 and bound > Fraction(1, 2**4000):
        return True
    return mantissa * bound.denominator <= bound.numerator << -exponent
