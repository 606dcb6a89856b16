"""Public finite sets of halfspaces: directions times offsets, evenly spaced or at all scales."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace
from geomdp.core.errors import ArgumentError, CapacityError, check_epsilon, check_integer
from geomdp.learners.blocks import exponential_excess

#: Most features, by the size of the cube of directions.
MOST_FEATURES = 8
_MOST = 5_000_000  # directions, or offsets of either sign


@dataclass(frozen=True, eq=False)
class HalfspaceGrid:
    """A public finite set of halfspaces in r features: directions times offsets, both sides.

    Attributes:
        directions: (J, r) integers, one of each pair +-u.
        steps: (J,) positive integers.
        offsets: (m,) integers in strictly ascending order.

    Raises:
        ArgumentError: unless ``directions`` are (J, r) integers, J >= 1, without a zero row, ``steps`` one
            positive integer for each of them, and ``offsets`` integers in strictly ascending order.

    Example:
        >>> grid = HalfspaceGrid.uniform(2, radius=8, levels=2)
        >>> grid.directions.tolist(), grid.size
        ([[2, -2], [2, -1], [2, 0], [2, 1], [2, 2], [-1, 2], [0, 2], [1, 2]], 1072)
    """

    directions: NDArray[np.int64]
    steps: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.directions.ndim != 2 or not len(self.directions) or not self.directions.any(axis=1).all():
            raise ArgumentError("directions", "(J, r) integers without a zero row, J >= 1", "others")
        if self.steps.shape != (len(self.directions),) or (self.steps < 1).any():
            raise ArgumentError("steps", "one positive integer for each direction", "others")
        if self.offsets.ndim != 1 or not len(self.offsets) or (np.diff(self.offsets) <= 0).any():
            raise ArgumentError("offsets", "integers in strictly ascending order", "others")

    @property
    def features(self) -> int:
        """The number of features r."""
        return int(self.directions.shape[1])

    @property
    def size(self) -> int:
        """The number of members, 2 J m."""
        return 2 * len(self.directions) * len(self.offsets)

    @classmethod
    def uniform(cls, features: int, radius: int, levels: int, parts: int | None = None) -> HalfspaceGrid:
        """Return directions on the surface of the cube [-levels, levels]^r, and evenly spaced offsets.

        Args:
            features: r >= 1.
            radius: coordinates are integers in [-radius, radius].
            levels: half the number of steps along an edge of the cube; about r (2 levels)^(r-1) directions.
            parts: offsets per unit of the leading coordinate, 1 <= parts <= levels; by default as many as
                make about 10^4 offsets.

        Raises:
            CapacityError: when the grid is too large to list.
            ArgumentError: unless 1 <= features <= 8, 1 <= radius <= 2^40, 1 <= levels <= 2^12 and 1 <= parts
                are integers.
        """
        check_integer("features", features, 1, MOST_FEATURES)
        check_integer("radius", radius, 1, 2**40)
        check_integer("levels", levels, 1, 2**12)
        many = ((2 * levels + 1) ** features - (2 * levels - 1) ** features) // 2
        if many > _MOST:
            raise CapacityError(
                "levels", f"so few that at most {_MOST:,} directions arise", f"{many:,} of them"
            )
        inner, full = range(-levels + 1, levels), range(-levels, levels + 1)
        faces = (  # the first coordinate of full size is positive: one of each pair +-u
            product(*[inner] * axis, (levels,), *[full] * (features - axis - 1)) for axis in range(features)
        )
        u = np.array([vector for face in faces for vector in face], dtype=np.int64)
        top = features * levels * radius
        step = max(1, top // 5000) if parts is None else max(1, levels // check_integer("parts", parts, 1))
        if top // step > _MOST:
            raise CapacityError(
                "parts", f"so few that at most {2 * _MOST:,} offsets arise", f"{2 * (top // step):,} of them"
            )
        offsets = np.arange(-(top // step) - 1, top // step + 2, dtype=np.int64)
        return cls(u, np.full(len(u), step, dtype=np.int64), offsets)

    @classmethod
    def scales(cls, features: int, radius: int, bits: int = 5) -> HalfspaceGrid:
        """Return directions and offsets with a relative precision of 2^-bits at every scale.

        For data whose scales differ by orders of magnitude: slopes +-(2^bits + i) / 2^(bits + e) between any
        two axes for all e up to the radius's number of bits, and offsets +-(2^bits + i) 2^e.

        Args:
            features: 1 or 2.
            radius: coordinates are integers in [-radius, radius].
            bits: 1 to 8.

        Raises:
            ArgumentError: unless ``features`` is 1 or 2, ``bits`` an integer with 1 <= bits <= 8, and
                ``radius`` one with 1 <= radius <= 2^26 (2^50 for one feature).

        Example:
            >>> grid = HalfspaceGrid.scales(2, 2**16)
            >>> len(grid.directions), len(grid.offsets)
            (2180, 1155)
        """
        check_integer("features", features, 1, 2)
        check_integer("radius", radius, 1, 2**26 if features == 2 else 2**50)
        check_integer("bits", bits, 1, 8)
        one, deepest = 1 << bits, radius.bit_length()
        vectors, steps = [[one] + [0] * (features - 1)], [1]
        if features == 2:
            vectors.append([0, one])
            steps.append(1)
            pairs = {(one + i, e) for e in range(1, deepest + 1) for i in range(one)} | {(one, 0)}
            for (mantissa, e), side in product(sorted(pairs, key=lambda p: (p[1], p[0])), (1, -1)):
                vectors.append([side * mantissa, one << e])
                steps.append(1 << e)
                if (mantissa, e) != (one, 0):
                    vectors.append([one << e, side * mantissa])
                    steps.append(1 << e)
        reach = 2 * radius * one + 1  # |<u, x>| / step is at most this
        values = set(range(1, one))
        scale = 0
        while one << scale <= reach:
            values |= {(one + i) << scale for i in range(one) if (one + i) << scale <= reach}
            scale += 1
        values |= {reach + 1}
        offsets = sorted({0} | values | {-v for v in values})
        return cls(np.array(vectors, dtype=np.int64), np.array(steps), np.array(offsets, dtype=np.int64))

    def member(self, direction: int, offset: int, *, flipped: bool) -> Halfspace:
        """Return a member as homogeneous integer weights, the bias last.

        floor(<u, x>/s) >= t is <u, x> - s t >= 0; the other labelling is -<u, x> + s t - 1 >= 0 on integers.

        Example:
            >>> HalfspaceGrid.uniform(1, 4, 1).member(0, 7, flipped=False)
            Halfspace(weights=(1, -2))
        """
        u, bound = self.directions[direction], int(self.steps[direction]) * int(self.offsets[offset])
        if flipped:
            return Halfspace((*(-int(v) for v in u), bound - 1))
        return Halfspace((*(int(v) for v in u), -bound))

    def excess(self, epsilon: Fraction, beta: Fraction) -> int:
        """Return E: with probability >= 1 - beta the member drawn has more than max - E correct records.

        Raises:
            ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.
        """
        return exponential_excess(self.size, check_epsilon(epsilon), beta)


def default_grid(features: int, radius: int) -> HalfspaceGrid:
    """Return a grid that runs in seconds: all scales up to two features, evenly spaced directions beyond."""
    if features == 1 or (features == 2 and radius <= 2**26):
        return HalfspaceGrid.scales(features, radius)
    return HalfspaceGrid.uniform(features, radius, {2: 256, 3: 16, 4: 5}.get(features, 2))
