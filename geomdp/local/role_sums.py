"""Means over the answers of two kinds of users, for all numbers of users of one kind at once, in floats.

Of n users, h answer 1 with probability `own` and n - h with probability `other`. The law of the number of
ones has the characteristic function A(t)^h B(t)^(n-h), which is negligible but for a few frequencies t, about
as many for a million users as for a hundred. So the mean of any function of the count, for thousands of h,
takes one Fourier transform of the function and few terms for each h.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_SMALL = -50.0  # logarithm of a negligible characteristic function
_SPARE = 75.0  # minus the logarithm of the mass of a law that may be left out


def reach(variance: float, spare: float = _SPARE) -> float:
    """Return a distance from its mean that a sum of independent bits passes with probability 2 exp(-spare).

    Bernstein's inequality: P(|S - ES| >= t) <= 2 exp(-t^2/(2 (V + t/3))), V the variance of S.

    Example:
        >>> t = reach(25.0, 10.0)
        >>> abs(t**2 / (2 * (25 + t / 3)) - 10) < 1e-9
        True
    """
    return spare / 3 + math.sqrt(spare**2 / 9 + 2 * spare * variance)


@lru_cache(maxsize=4096)
def binomial(n: int, p: float, spare: float = _SPARE) -> tuple[int, Floats]:
    """Return (low, the probabilities of low, low + 1, ... under Bin(n, p)), about sqrt(n) of them.

    What is left out has a mass of 2 exp(-spare) at most.

    Example:
        >>> low, law = binomial(2, 0.25)
        >>> low, law.round(12).tolist()
        (0, [0.5625, 0.375, 0.0625])
    """
    from scipy.special import gammaln, xlog1py, xlogy

    width = reach(n * p * (1 - p), spare)
    low, high = max(0, math.floor(n * p - width)), min(n, math.ceil(n * p + width))
    k = np.arange(low, high + 1, dtype=np.float64)
    logs = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p)
    values: Floats = np.exp(logs)
    values = values / float(values.sum())
    values.flags.writeable = False  # shared by all callers
    return low, values


def binomial_part(n: int, p: float, low: int, high: int, spare: float = _SPARE) -> Floats:
    """Return the probabilities of low..high under Bin(n, p), 0 where :func:`binomial` leaves them out."""
    start, law = binomial(n, p, spare)
    part = np.zeros(max(0, high - low + 1))
    first, last = max(low, start), min(high, start + len(law) - 1)
    if first <= last:
        part[first - low : last - low + 1] = law[first - start : last - start + 1]
    return part


def means(n: int, kinds: range, rates: tuple[float, float], values: Callable[[int, int], Floats]) -> Floats:
    """Return E[f(Bin(h, own) + Bin(n - h, other))] for each h.

    Args:
        n: number of users, >= 0.
        kinds: the numbers h, consecutive, within 0..n, at least one.
        rates: (own, other), probabilities.
        values: (low, high) -> f at low..high, in [0, 1].

    Returns:
        One mean for each h, but for a mass of 1e-32; rounding adds about 1e-16 sqrt(n).

    Example:
        >>> found = means(3, range(4), (0.5, 0.25), lambda low, high: np.arange(low, high + 1) == 3)
        >>> np.allclose(found, [0.25**3, 0.5 * 0.25**2, 0.5**2 * 0.25, 0.5**3], atol=1e-15)
        True
    """
    low, high = _window(n, kinds, rates)
    size = high - low + 1
    place = np.arange(size // 2 + 1)
    angle = 2 * math.pi * place / size
    with np.errstate(divide="ignore"):
        own, other = (np.log(1 - p + p * np.exp(1j * angle)) for p in rates)
    ends = np.stack([_real(own, h) + _real(other, n - h) for h in (kinds[0], kinds[-1])])
    kept = ends.max(axis=0) > _SMALL
    own, other, angle = own[kept], other[kept], angle[kept]
    twice = np.where((place == 0) | (2 * place == size), 1.0, 2.0)[kept]
    weights = twice * np.fft.rfft(values(low, high))[kept] / size
    h = np.arange(kinds[0], kinds[-1] + 1)[:, None]
    terms = weights * np.exp(_times(own, h) + _times(other, n - h) - 1j * angle * low)
    return np.asarray(np.clip(terms.sum(axis=1).real, 0.0, 1.0))


def _window(n: int, kinds: range, rates: tuple[float, float]) -> tuple[int, int]:
    """Return the counts between which almost all of the mass lies, for every h."""
    own, other = rates
    lows, highs = [], []
    for h in (kinds[0], kinds[-1]):
        mean = h * own + (n - h) * other
        width = reach(h * own * (1 - own) + (n - h) * other * (1 - other))
        lows.append(mean - width)
        highs.append(mean + width)
    return max(0, math.floor(min(lows))), min(n, math.ceil(max(highs)))


def _real(logs: NDArray[np.complex128], times: int) -> Floats:
    return logs.real * times if times else np.zeros(len(logs))


def _times(logs: NDArray[np.complex128], times: NDArray[np.int64]) -> NDArray[np.complex128]:
    """Return the products; the logarithm of a zero, taken 0 times, is 0."""
    finite = np.where(np.isfinite(logs.real), logs, complex(-800.0))
    return np.asarray(finite * times)
