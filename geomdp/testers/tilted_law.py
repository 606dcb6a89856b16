"""Field laws: integer noise on the cells by an exact sampler, the sup-tilted one among them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geomdp.core.domain import Domain
from geomdp.core.errors import CapacityError
from geomdp.privacy.sampler import Sampler
from geomdp.privacy.tilt import TiltedLaplace, tilted
from geomdp.testers.cell_orders import closed_orders, sweep_orders
from geomdp.testers.histogram_law import Progress, unsolvable
from geomdp.testers.suprema import supremum_of, supremum_seconds, table_size

#: A supremum over the whole class is part of the tilt only where few fields take less than this (seconds).
_QUICK = 0.3


class FieldLaw(Protocol):
    """Noise on the cells, by an exact sampler; its law is symmetric and does not depend on any data."""

    @property
    def domain(self) -> Domain:
        """Where the noise is added."""
        ...

    @property
    def classes(self) -> str:
        """Which classifiers read it."""
        ...

    @property
    def unit(self) -> int:
        """The noise is in units of 1/unit of a net count."""
        ...

    @property
    def symmetric(self) -> bool:
        """True if the law is invariant under the symmetries of a grid."""
        ...

    @property
    def draws(self) -> int:
        """How many draws a table has."""
        ...

    @property
    def key(self) -> dict[str, object]:
        """JSON values that determine the law."""
        ...

    def draw(self, sampler: Sampler, size: int, progress: Progress = None) -> NDArray[np.int64]:
        """Return (size, m) independent fields."""
        ...


def default_tilt(domain: Domain, classes: str) -> Fraction:
    """Return the share of the budget that is spent on the supremum, by the size of the public domain.

    More of it lowers the supremum further, but the acceptance falls exponentially: about
    exp(-share * E sup / 2), with E sup growing like sqrt(m) times the noise of a cell.

    Example:
        >>> default_tilt(Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)]), "halfspaces")
        Fraction(3, 25)
    """
    m = domain.m
    for most, share in ((24, "3/10"), (80, "1/5"), (140, "4/25"), (300, "3/25"), (640, "9/100")):
        if m <= most:
            return Fraction(share)
    return Fraction(6, 100) if m <= 1100 else Fraction(1, 50)


@dataclass(frozen=True)
class TiltedField:
    """Sup-tilted discrete Laplace noise on every cell.

    Attributes:
        domain, classes: where it is added, and which classifiers read it.
        epsilon: the privacy loss of the release, exactly covered.
        tilt: the share of it that is spent on the supremum.
        draws: size of the calibration tables.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> field = TiltedField(Domain.line(6), "thresholds", Fraction(1), Fraction(1, 5), 2000)
        >>> field.draw(SimSampler(0), 3).shape, field.noise.epsilon <= 1
        ((3, 6), True)
    """

    domain: Domain
    classes: str
    epsilon: Fraction
    tilt: Fraction
    draws: int = 10_000

    @property
    def unit(self) -> int:
        """Noise is counted in whole net counts."""
        return 1

    @cached_property
    def symmetric(self) -> bool:
        """True if the tilt sees the whole class, or orders that are closed under the grid's symmetries."""
        return self.noise.supremum is not None or self.domain.features is not None

    @property
    def key(self) -> dict[str, object]:
        """JSON values that determine the law."""
        return {"noise": "tilted", "epsilon": str(self.epsilon), "tilt": str(self.tilt)}

    @cached_property
    def noise(self) -> TiltedLaplace:
        """The exact sampler; the tilt sees the whole class where its supremum is quick, else some orders."""
        orders = sweep_orders(self.domain)
        if self.domain.ordered and orders is not None:
            return tilted(self.epsilon, self.tilt, orders)
        if orders is not None and supremum_seconds(self.domain, self.classes, 16) > _QUICK:
            closed = orders if self.domain.features is None else closed_orders(self.domain, orders)
            return tilted(self.epsilon, self.tilt, closed)
        bounded = orders is not None
        start = np.arange(self.domain.m, dtype=np.int64)[None, :] if orders is None else orders[:12]
        supremum = supremum_of(self.domain, self.classes)
        return tilted(self.epsilon, self.tilt, start, supremum, bounded=bounded)

    def draw(self, sampler: Sampler, size: int, progress: Progress = None) -> NDArray[np.int64]:
        """Return (size, m) independent fields."""
        return self.noise.draw(sampler, size, progress)


def tilted_field(
    domain: Domain, classes: str, epsilon: Fraction, tilt: Fraction | None = None
) -> TiltedField | str:
    """Return the field noise with the default tilt and table size, or why there is none."""
    reason = unsolvable(domain, classes)
    if reason:
        return reason
    share = default_tilt(domain, classes) if tilt is None else tilt
    field = TiltedField(domain, classes, epsilon, share, table_size(domain, classes))
    if field.draws == 0:
        return "simulating its noise tables would take too long"
    try:
        _ = field.noise
    except CapacityError as error:
        return str(error)
    return field
