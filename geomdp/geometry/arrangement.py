"""Dual discretisation: one integer representative for every labelling of a domain by a halfspace.

Labellings follow sign(0) = +1. The set is complete and free of repetitions by proof: every
representative's labels are computed in integers, they are pairwise different, and their number equals
:func:`count_dichotomies`, which is found another way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, products
from geomdp.core.domain import Domain
from geomdp.core.errors import (
    ArgumentError,
    CapacityError,
    GeomdpError,
    check_choice,
    check_integer,
    describe,
)
from geomdp.core.sample import Sample
from geomdp.geometry.count import count_dichotomies, counted_strata, more_than, steps
from geomdp.geometry.cyclic import Stratum
from geomdp.geometry.flats import Lines, compact_minors, distinct_lines
from geomdp.geometry.restrict import chambers_by_restriction
from geomdp.geometry.rounding import round_witnesses, shorten_witnesses
from geomdp.geometry.walk import half_chambers

__all__ = ["Dichotomies", "Estimate", "count_dichotomies", "dichotomies", "estimate"]

#: More dichotomies than this are refused unless ``limit`` allows them.
DEFAULT_LIMIT = 5_000_000
#: More memory than this (an estimate) is refused unless ``limit`` is given.
MOST_BYTES = 8 * 10**9
#: Labels evaluated at a time: a block of inner products stays in the processor's cache.
BLOCK = 2**17
#: A count of more steps than this (about half a minute) is preceded by the count of a part of the lines.
LONG_COUNT = 10**9
#: From so many cells on, the search in Python integers announces itself by a warning.
SLOW = 10_000
#: Seeds of hash keys and of perturbations inside cells: geometry of a public domain, no privacy.
HASH_SEED, SPREAD_SEED = 2024, 2025


@dataclass(frozen=True, eq=False)
class Dichotomies:
    """All labellings of a domain by halfspaces, each with one integer representative.

    Attributes:
        domain: the domain X of m points.
        weights: (N, d) integers; row i labels x with +1 iff <w_i, x> >= 0.
        packed: (N, ceil(m/8)) uint8, labels as bits (1 for +1), most significant bit first.
        generic: True if no representative has <w, x> = 0 at a non-zero domain point.

    Example:
        >>> W = dichotomies(Domain([[0, 1], [1, 1]]))
        >>> len(W), sorted(map(tuple, W.signs.tolist()))
        (4, [(-1, -1), (-1, 1), (1, -1), (1, 1)])
    """

    domain: Domain
    weights: NDArray[Any]
    packed: NDArray[np.uint8]
    generic: bool

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def signs(self) -> NDArray[np.int8]:
        """(N, m) labels +1 / -1, written out on first use; see :meth:`blocks` for large sets."""
        return _unpack(self.packed, self.domain.m)

    def blocks(self, size: int | None = None) -> Iterator[tuple[slice, NDArray[np.int8]]]:
        """Yield (rows, labels) for consecutive rows, so that the (N, m) array is never written out.

        Args:
            size: rows per block; by default about 10^5 labels.

        Raises:
            ArgumentError: unless ``size`` is None or an integer >= 1.
        """
        size = max(1, BLOCK // self.domain.m) if size is None else check_integer("size", size, 1)
        for start in range(0, len(self), size):
            rows = slice(start, min(start + size, len(self)))
            yield rows, _unpack(self.packed[rows], self.domain.m)

    def classifier(self, index: int) -> Halfspace:
        """Return representative number ``index`` as a classifier."""
        return Halfspace.of(self.weights[index])

    def mistakes(self, sample: Sample) -> NDArray[np.int64]:
        """Return f(w) = the number of records that each representative labels wrongly, shape (N,).

        Eight cells are priced at a time through a table of their 256 label patterns.

        Raises:
            ArgumentError: unless ``sample`` is a Sample on the same domain.

        Example:
            >>> D = Domain([[0, 1], [1, 1]])
            >>> W = dichotomies(D)
            >>> S = Sample.from_counts(D, [0, 3], [2, 0])
            >>> int(W.mistakes(S).min()), int(W.mistakes(S).max())
            (0, 5)
        """
        if not isinstance(sample, Sample):
            raise ArgumentError("sample", "a Sample", describe(sample))
        if sample.domain != self.domain:
            raise ArgumentError("sample", "a sample on the same domain", "one on another domain")
        net = np.zeros(8 * self.packed.shape[1], dtype=np.int64)
        net[: self.domain.m] = sample.net
        total = np.full(len(self), int(sample.positives.sum()), dtype=np.int64)
        patterns = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
        for byte in np.flatnonzero(net.reshape(-1, 8).any(axis=1)):
            total -= (patterns @ net[8 * byte : 8 * byte + 8])[self.packed[:, byte]]
        return total

    def __repr__(self) -> str:
        return f"Dichotomies(N={len(self)}, domain={self.domain!r})"


@dataclass(frozen=True)
class Estimate:
    """What an enumeration will take.

    Attributes:
        count: the exact number of dichotomies.
        bytes: memory at the peak, about.
        seconds: time on one thread, a rough guess for an ordinary core.
    """

    count: int
    bytes: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.count:,} dichotomies, about {self.bytes / 1e9:.2g} GB and {self.seconds:.2g} s"


def estimate(domain: Domain) -> Estimate:
    """Return the exact number of dichotomies with the memory and time that listing them takes.

    Args:
        domain: m points in Z^d.

    Returns:
        The count, exact, with bytes at the peak and seconds on one thread, both rough.

    Raises:
        ArgumentError: unless ``domain`` is a Domain.

    Example:
        >>> estimate(Domain([[0, 1], [1, 1]])).count
        4
    """
    return _estimate(domain, count_dichotomies(domain))


def _estimate(domain: Domain, count: int) -> Estimate:
    labels = -(-domain.m // 8)
    table = 8 * (1 << max(2, count.bit_length()))
    size = count * (labels + 12 * domain.d + 4) + table + 2**26
    seconds = count * (2e-7 * 2 ** max(domain.d - 2, 0) + 1.5e-9 * domain.m * domain.d)
    return Estimate(count, size, seconds)


def dichotomies(
    domain: Domain,
    *,
    method: str = "walk",
    generic: bool = False,
    limit: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Dichotomies:
    """Return one integer representative w for every labelling x -> +1 iff <w, x> >= 0 of the domain.

    Args:
        domain: m points in Z^d, degenerate or not.
        method: "walk" (circles with hashing) or "lp" (tree of sign vectors, one linear program each). Where
            coordinates are too wide for floats, from about 2^20 on, either goes on in Python integers.
        generic: move the representatives inside their cells into linearly general position (a few more
            bits), as far as the cells allow: a face keeps its span, and a domain of rank r < d keeps
            representatives on r coordinates. On pointed domains no representative ever lies on a
            hyperplane x^perp, asked or not.
        limit: refuse more dichotomies than this; 5 million by default.
        progress: called with the fraction done, from 0 to 1.

    Returns:
        The labellings, each once; N of them, N = count_dichotomies(domain).

    Raises:
        CapacityError: before any work, with count, memory and time, when N exceeds the limit or, without a
            limit, when the memory exceeds 8 GB.
        ArgumentError: unless ``method`` is "walk" or "lp", ``domain`` is a Domain and ``limit`` is None or an
            integer >= 1.
        GeomdpError: should the representatives found fail the check by count: a bug to report.

    Source: paper, Lemma 4.3.

    Example:
        >>> D = Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)])
        >>> W = dichotomies(D)
        >>> bool((np.where(W.weights @ D.points.T >= 0, 1, -1) == W.signs).all()), len(W)
        (True, 174)
    """
    check_choice("method", method, ("walk", "lp"))
    if not isinstance(domain, Domain):
        raise ArgumentError("domain", "a Domain", describe(domain))
    top = DEFAULT_LIMIT if limit is None else check_integer("limit", limit, 1)
    if domain.ordered:
        _check_size(domain, 2 * domain.m, top, limit)
    lines = distinct_lines(domain.points)
    if steps(lines) > LONG_COUNT and more_than(lines, top):
        _refuse(top, "more (part of its points have more already)")
    parts = counted_strata(domain)
    count = sum(size for _, size in parts)
    _check_size(domain, count, top, limit)
    progress = _rising(progress)
    find = _programs if method == "lp" else _walk
    result = None
    for exact in (False, True):
        if result is None:
            result = _verified(domain, find(domain, parts, generic, exact, progress), count)
    if result is None:
        raise GeomdpError("The dichotomies found failed the check by count; please report this domain.")
    if progress is not None:
        progress(1.0)
    return result


def _check_size(domain: Domain, count: int, top: int, limit: int | None) -> None:
    """Refuse too many dichotomies, or, where no limit was given, too much memory."""
    if count > 2**200:
        _refuse(top, f"about 2^{count.bit_length() - 1} dichotomies")
    guess = _estimate(domain, count)
    if count > top:
        _refuse(top, str(guess))
    if limit is None and guess.bytes > MOST_BYTES:
        raise CapacityError(
            "domain",
            f"one whose dichotomies fit in {MOST_BYTES / 1e9:.0f} GB",
            str(guess),
            "Use fewer levels, or set a limit to allow it.",
        )


def _refuse(limit: int, got: str) -> None:
    raise CapacityError(
        "domain",
        f"one of at most {limit:,} dichotomies",
        got,
        "Use fewer levels, or set a higher limit to allow it.",
    )


def _programs(
    domain: Domain,
    parts: list[tuple[Stratum, int]],
    generic: bool,
    exact: bool,
    progress: Callable[[float], None] | None,
) -> list[tuple[NDArray[Any], bool]]:
    """Return the representatives that a tree of sign vectors finds by programs in floats, or in integers."""
    from geomdp.geometry.exact_tree import weights_by_exact_tree
    from geomdp.geometry.tree import weights_by_tree

    if exact:
        _warn_if_slow(sum(size for _, size in parts))
    grow = weights_by_exact_tree if exact else weights_by_tree
    rng = np.random.default_rng(SPREAD_SEED) if generic else None
    found = grow(domain.points, pointed=len(parts) == 1, rng=rng, progress=_part(progress, 0, 1))
    return [] if found is None else [(found, False)]


def _walk(
    domain: Domain,
    parts: list[tuple[Stratum, int]],
    generic: bool,
    exact: bool,
    progress: Callable[[float], None] | None,
) -> list[tuple[NDArray[Any], bool]]:
    """Return the representatives of every stratum, in the domain's coordinates; True: stands for +-W."""
    del domain
    pieces, done, count = [], 0, sum(size for _, size in parts)
    for stratum, size in parts:
        report = _part(progress, done / count, size / count)
        inner, mirrored = _inside(stratum.lines, size, generic, exact, report)
        lifted = products(np.ascontiguousarray(stratum.lift.T), np.ascontiguousarray(inner.T)).T
        pieces.append((np.ascontiguousarray(lifted), mirrored))
        done += size
    return pieces


def _part(
    progress: Callable[[float], None] | None, start: float, share: float
) -> Callable[[float], None] | None:
    """Return a progress callback for a part of the work; the final check is the last tenth."""
    if progress is None:
        return None
    return lambda fraction: progress(0.9 * (start + share * fraction))


def _rising(progress: Callable[[float], None] | None) -> Callable[[float], None] | None:
    """Return a progress callback that is silent while a second attempt repeats what was done."""
    if progress is None:
        return None
    top = -1.0

    def tell(fraction: float) -> None:
        nonlocal top
        if fraction >= top:
            top = fraction
            progress(fraction)

    return tell


def _inside(
    lines: Lines, count: int, generic: bool, exact: bool, progress: Callable[[float], None] | None
) -> tuple[NDArray[Any], bool]:
    """Return integer vectors (r entries) inside the chambers of the hyperplanes of the lines.

    One in every chamber; or one in every antipodal pair of chambers, and True. Rows too long for the
    compiled walk, or cells too thin for its floats, go to the search in Python integers.
    """
    rows, r = lines.rows, lines.rank
    if r == 0:
        return np.zeros((1, 0), dtype=np.int64), False
    spread = np.random.default_rng(SPREAD_SEED) if generic else None
    if not exact and compact_minors(rows)[0]:
        found = half_chambers(rows, count, np.random.default_rng(HASH_SEED), progress)
        if found is not None and float(found[1].min()) > 0:
            return round_witnesses(*found, spread), True
    _warn_if_slow(count)
    return shorten_witnesses(rows, chambers_by_restriction(rows.tolist(), r, progress), spread), False


def _warn_if_slow(count: int) -> None:
    if count > SLOW:
        warnings.warn(
            f"Coordinates this long are enumerated in Python integers: {count:,} cells will take a while.",
            stacklevel=5,
        )


def _verified(domain: Domain, pieces: list[tuple[NDArray[Any], bool]], count: int) -> Dichotomies | None:
    """Label the domain in integers; prove that labellings are distinct and none is missing, or return None.

    A mirrored piece W stands for W followed by -W: one product labels both.
    """
    points, m = domain.points, domain.m
    if not pieces:
        return None
    weights = np.concatenate([part for W, mirrored in pieces for part in ((W, -W) if mirrored else (W,))])
    if len(weights) != count:
        return None
    packed = np.empty((count, -(-m // 8)), dtype=np.uint8)
    evaluate = _evaluator(points, weights)
    trivial = m - int((points != 0).any(axis=1).sum())
    block, base, generic = max(1, BLOCK // m), 0, True
    for W, mirrored in pieces:
        n = len(W)
        for start in range(0, n, block):
            values = evaluate(W[start : start + block])
            rows = slice(base + start, base + start + len(values))
            at_least = values >= 0
            packed[rows] = np.packbits(at_least, axis=1)
            at_most = values <= 0
            if mirrored:
                packed[rows.start + n : rows.stop + n] = np.packbits(at_most, axis=1)
            at_most &= at_least
            generic = generic and int(np.count_nonzero(at_most)) == trivial * len(values)
        base += 2 * n if mirrored else n
    if not _distinct(packed):
        return None
    return Dichotomies(domain, weights, packed, generic)


def _evaluator(points: NDArray[Any], weights: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return an exact product W -> W @ points.T in the fastest number type that cannot round or wrap."""
    if points.dtype != object and weights.dtype != object and len(weights):
        top = _largest(weights) * _largest(points) * points.shape[1]
        if top < 2**53:
            reach: Any = np.abs(points).max(axis=0, initial=0)
            columns: Any = {kind: points.T.astype(kind) for kind in (np.float32, np.float64)}

            def in_floats(W: NDArray[Any]) -> NDArray[Any]:
                sizes: Any = np.abs(W)
                kind = np.float32 if int((sizes @ reach).max()) < 2**24 else np.float64
                return np.asarray(W.astype(kind) @ columns[kind])

            return in_floats
        if top < 2**62:
            return lambda W: np.asarray(W @ points.T)
    wide = points.astype(object).T
    return lambda W: np.asarray(W.astype(object) @ wide)


def _largest(array: NDArray[Any]) -> int:
    return max(abs(int(array.min())), abs(int(array.max())))


def _distinct(packed: NDArray[np.uint8]) -> bool:
    """Return whether all rows differ: by different hashes, or where hashes agree, row by row."""
    n, width = packed.shape
    words = -(-width // 8)
    keys = np.random.default_rng(HASH_SEED).integers(0, 2**64, words, dtype=np.uint64)
    codes = np.zeros(n, dtype=np.uint64)
    block = max(1, BLOCK // words)
    for start in range(0, n, block):
        part = packed[start : start + block]
        if width % 8:
            part = np.pad(part, ((0, 0), (0, 8 * words - width)))
        code = np.zeros(len(part), dtype=np.uint64)
        for word, key in zip(part.view(np.uint64).T, keys, strict=True):
            code ^= word ^ key  # then two multiplications with shifts: every bit moves half of the others
            code *= np.uint64(0x9E3779B97F4A7C15)
            code ^= code >> np.uint64(29)
            code *= np.uint64(0xBF58476D1CE4E5B9)
            code ^= code >> np.uint64(32)
        codes[start : start + block] = code
    codes.sort()
    if bool((codes[1:] != codes[:-1]).all()):
        return True
    return bool(len(np.unique(packed, axis=0)) == n)


def _unpack(packed: NDArray[np.uint8], m: int) -> NDArray[np.int8]:
    bits = np.unpackbits(packed, axis=1, count=m).view(np.int8)
    bits *= 2
    bits -= 1
    return bits
