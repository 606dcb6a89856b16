r"""A field law for larger grids: cells and overlapping hats are counted, and decoded into one noisy field.

On a grid with many cells a classifier's noise adds up over all of them. Counting smooth regions as well
helps: g x g bilinear hats (products of the two tent functions around nodes spread evenly over the axes) form
a partition of unity, so that each record weighs the same in them. With integer weights, a record at x adds
w = (1 - share) q to its own cell's query and share q in all to the hats around x.

Write T for the (g^2, m) integer hats times their weight, nu and mu for the noises of the cell and hat
queries, both discrete Laplace of one scale. The queries are w net + nu and T net + mu. Their combination

    rho = w (T net + mu) - T (w net + nu) = w mu - T nu

does not depend on the data, and w net + nu + K rho, K = T' (w^2 + T T')^-1, is the least-squares estimate of
w net. It is unbiased for any K whatever, so the inverse is rounded to fixed point once, and K rho to
integers: the field that is released is w net + zeta, zeta = nu + round(K rho), in units of 1/w of a net
count.

Source: the matrix mechanism of Li, Hay, Rastogi, Miklau and McGregor, with this one strategy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, check_fraction, check_integer, describe
from geomdp.privacy.sampler import Sampler, noise_scale
from geomdp.privacy.tilt import TiltedLaplace, shares
from geomdp.testers.cell_orders import closed_orders, sweep_orders
from geomdp.testers.histogram_law import Progress
from geomdp.testers.suprema import table_size

#: Sum of a level's tent weights, even.
WHOLE = 10
#: Binary digits of the decoder after the point.
_DIGITS = 36


def tents(levels: int, nodes: int, whole: int = WHOLE) -> NDArray[np.int64]:
    """Return (nodes, levels) integer tents around evenly spread nodes, of sum `whole` at every level.

    The two weights of a level are the exact ones rounded to integers, mirrored about the middle.

    Example:
        >>> tents(5, 3, 2).tolist()
        [[2, 1, 0, 0, 0], [0, 1, 2, 1, 0], [0, 0, 0, 1, 2]]
    """
    table = np.zeros((nodes, levels), dtype=np.int64)
    for i in range((levels + 1) // 2):
        node, rest = divmod(i * (nodes - 1), levels - 1)
        right = (2 * whole * rest + levels - 1) // (2 * (levels - 1))
        for at, weight in ((node, whole - right), (node + 1, right)):
            if weight:
                table[at, i] = table[nodes - 1 - at, levels - 1 - i] = weight
    return table


def default_nodes(domain: Domain) -> int:
    """Return g for a two-feature grid, or 0 where counting cells alone is no worse.

    Example:
        >>> [default_nodes(Domain.grid([("x", 0, 1, n), ("y", 0, 1, n)])) for n in (16, 32, 64)]
        [0, 5, 7]
    """
    if domain.features is None or domain.d != 3:
        return 0
    levels = [axis.levels for axis in domain.features]
    if min(levels) < 8 or domain.m < 640:
        return 0
    return 5 if domain.m <= 1600 else 7


@dataclass(frozen=True)
class HatField:
    """Net counts measured by cells and g x g hats on a two-feature grid.

    Privacy note. Precondition: one replaced record changes the net counts by v, |v|_1 <= 2. Every column of
    the stacked integer queries (w I over T) adds up to q = w + (sum of the hats at a cell), all entries being
    >= 0, so that the queries move by at most 2 q in L1. Discrete Laplace noise of scale >= 2 q / epsilon in
    every query is epsilon-DP, and the released field is computed from the noisy queries alone. Conclusion:
    w net + zeta is epsilon-DP.

    The law is symmetric under sign (rounding is), and under the symmetries of the grid, as the inverse is
    averaged over them in integers.

    Attributes:
        domain, classes: where it is added, and which classifiers read it.
        epsilon: the privacy loss of the release.
        nodes: g >= 2, at most the number of levels.
        share: weight of the hats, strictly between 0 and 1.
        tilt: share of epsilon that is spent on the supremum; 0 for none.
        draws: size of the calibration tables.

    Raises:
        ArgumentError: unless the domain is a two-feature grid, or on arguments out of range.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> D = Domain.grid([("x", 0, 1, 9), ("y", 0, 1, 5)])
        >>> law = HatField(D, "halfspaces", Fraction(1), 3)
        >>> law.unit, law.draw(SimSampler(1), 2).shape, bool((law.hats.sum(axis=0) * 7 == law.unit * 3).all())
        (700, (2, 45), True)
    """

    domain: Domain
    classes: str
    epsilon: Fraction
    nodes: int
    share: Fraction = Fraction(3, 10)
    tilt: Fraction = Fraction(0)
    draws: int = 2000

    def __post_init__(self) -> None:
        if self.domain.features is None or self.domain.d != 3:
            raise ArgumentError("domain", "a grid of two features", repr(self.domain))
        check_integer("nodes", self.nodes, 2, min(axis.levels for axis in self.domain.features))
        share = check_fraction("share", self.share)
        if not 0 < share < 1:
            raise ArgumentError("share", "a number with 0 < share < 1", describe(share))

    @classmethod
    def default(cls, domain: Domain, classes: str, epsilon: Fraction) -> HatField | None:
        """Return the law recommended for a domain, or None where plain cells are no worse."""
        nodes, draws = default_nodes(domain), table_size(domain, classes)
        if not nodes or not draws:
            return None
        if nodes < 7:  # here a tilt gains 3 % and makes the tables ten times as slow
            return cls(domain, classes, epsilon, nodes, draws=draws)
        return cls(domain, classes, epsilon, nodes, tilt=Fraction(1, 50), draws=min(draws, 2500))

    @property
    def symmetric(self) -> bool:
        """The law is invariant under the symmetries of the grid."""
        return True

    @property
    def key(self) -> dict[str, object]:
        """JSON values that determine the law."""
        return {
            "noise": "hats",
            "nodes": self.nodes,
            "share": str(self.share),
            "tilt": str(self.tilt),
            "epsilon": str(self.epsilon),
        }

    @property
    def _levels(self) -> tuple[int, int]:
        rows, columns = (axis.levels for axis in self.domain.features or ())
        return rows, columns

    @cached_property
    def hats(self) -> NDArray[np.int64]:
        """T: (g^2, m) integers >= 0."""
        rows, columns = self._levels
        table = np.kron(tents(rows, self.nodes), tents(columns, self.nodes))
        return np.asarray(self.share.numerator * table, dtype=np.int64)

    @cached_property
    def unit(self) -> int:
        """W: what a record adds to its own cell's query."""
        whole = int(self.hats[:, 0].sum()) // self.share.numerator
        return (self.share.denominator - self.share.numerator) * whole

    @cached_property
    def stretch(self) -> int:
        """Q: the sum of every column of the queries."""
        return self.unit + int(self.hats.sum(axis=0).max())

    @cached_property
    def noise(self) -> TiltedLaplace:
        """The exact sampler of the tilted law; the tilt sees the prefixes of some orders of the cells.

        Raises:
            ArgumentError: unless ``tilt`` is a number > 0.
        """
        orders = sweep_orders(self.domain, 3)
        if orders is None or not self.tilt:
            raise ArgumentError("tilt", "a number > 0", describe(self.tilt))
        scale, rate = shares(self.epsilon, self.tilt, self.stretch)
        m = self.domain.m
        return TiltedLaplace(
            scale,
            rate,
            closed_orders(self.domain, orders),
            decode=lambda noise: self.decode(noise[:, :m], noise[:, m:]),
            queries=m + len(self.hats),
            unit=self.unit,
            stretch=self.stretch,
        )

    @cached_property
    def core(self) -> NDArray[np.int64]:
        """The inverse of w^2 + T T' in units of 2^-36 / (symmetries averaged): (g^2, g^2) integers."""
        T, g = self.hats.astype(np.float64), self.nodes
        inverse = np.linalg.inv(float(self.unit) ** 2 * np.eye(len(T)) + T @ T.T)
        block = np.rint(inverse * 2.0**_DIGITS).astype(np.int64).reshape(g, g, g, g)
        block = block + block[::-1, :, ::-1, :]
        block = block + block[:, ::-1, :, ::-1]
        if self._square:
            block = block + block.transpose(1, 0, 3, 2)
        return np.ascontiguousarray(block.reshape(g * g, g * g))

    @property
    def _square(self) -> bool:
        return self._levels[0] == self._levels[1]

    @property
    def _denominator(self) -> int:
        return (8 if self._square else 4) << _DIGITS

    def decode(self, cells: NDArray[np.int64], hats: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return zeta (B, m) from the noises of the queries, (B, m) and (B, g^2); in integers throughout."""
        rho = self.unit * hats - self._hats_of(cells)
        lifted = self._spread(_product(rho, self.core))
        size = (2 * np.abs(lifted) + self._denominator) // (2 * self._denominator)
        return np.asarray(cells + np.sign(lifted) * size, dtype=np.int64)

    @cached_property
    def _tents(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows, columns = self._levels
        return self.share.numerator * tents(rows, self.nodes), tents(columns, self.nodes)

    def _hats_of(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return cells @ T' axis by axis: the hats are products of tents."""
        return _both_axes(cells, self._levels, self._tents[0].T, self._tents[1].T)

    def _spread(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return weights @ T axis by axis."""
        return _both_axes(weights, (self.nodes, self.nodes), *self._tents)

    def draw(self, sampler: Sampler, size: int, progress: Progress = None) -> NDArray[np.int64]:
        """Return (size, m) independent fields zeta."""
        if self.tilt:
            return self.noise.draw(sampler, size, progress)
        m, width, scale = self.domain.m, len(self.hats), noise_scale(2 * self.stretch, self.epsilon)
        out = np.empty((size, m), dtype=np.int64)
        for first in range(0, size, 256):
            count = min(256, size - first)
            noise = sampler.discrete_laplace(scale, count * (m + width)).reshape(count, m + width)
            out[first : first + count] = self.decode(noise[:, :m], noise[:, m:])
            if progress is not None:
                progress((first + count) / size)
        return out


def _both_axes(
    table: NDArray[Any], shape: tuple[int, int], first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[Any]:
    """Return first' X second for every row X, (B, rows * columns) read as matrices."""
    rows, columns = shape
    half = _product(table.reshape(-1, columns), second).reshape(len(table), rows, -1).swapaxes(1, 2)
    both = _product(half.reshape(-1, rows), first).reshape(len(table), second.shape[1], -1)
    return both.swapaxes(1, 2).reshape(len(table), -1)


def _product(A: NDArray[Any], B: NDArray[np.int64]) -> NDArray[Any]:
    """Return A @ B in 64-bit integers where no partial sum can exceed 2^61, else in Python's integers."""
    bound = int(np.abs(A).max(initial=0)) * int(np.abs(B).sum(axis=0).max(initial=0))
    if bound < 2**61:
        return np.asarray(A.astype(np.int64) @ B)
    return np.asarray(A.astype(object) @ B.astype(object))
