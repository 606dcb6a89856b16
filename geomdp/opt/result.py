"""What an exact optimiser returns, and the recount that it must pass."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.errors import GeomdpError
from geomdp.core.sample import Sample


class RecountError(GeomdpError, AssertionError):
    """A classifier does not make the mistakes it was credited with: an error in geomdp itself."""

    def __init__(self, method: str) -> None:
        super().__init__(
            f"The classifier of method '{method}' does not make the number of mistakes that was computed for "
            "it. This is an error in geomdp: please report it with the domain."
        )


@dataclass(frozen=True)
class Found:
    """What a search gives: lower <= opt <= upper, weights that attain upper, and the method."""

    lower: int
    upper: int
    weights: tuple[int, ...]
    method: str


@dataclass(frozen=True)
class OptResult:
    """The least number of mistakes of a class on pooled samples: lower <= opt <= upper.

    Attributes:
        lower, upper: certain bounds; the classifier makes exactly ``upper`` mistakes.
        optimal: whether lower == upper.
        classifier: a :class:`~geomdp.core.classifier.Halfspace` with integer weights, or a
            :class:`~geomdp.core.classifier.Threshold`.
        method: the algorithm that ran.
        n: number of pooled records.
        seconds: wall time.
        certificate: a proof of ``lower`` that can be replayed, or None.
        reason: why lower < upper: "time limit", "interrupted", or "too many rows" (more than can be branched
            on, of a high rank); empty when the bounds are equal.

    Example:
        >>> from geomdp import Domain, Sample
        >>> from geomdp.opt.threshold import opt_threshold
        >>> r = opt_threshold(Sample.from_cells(Domain.line(9), [2, 5, 7], [1, -1, 1]))
        >>> r.lower, r.upper, r.optimal, r.classifier
        (1, 1, True, Threshold(theta=0))
    """

    lower: int
    upper: int
    optimal: bool
    classifier: Halfspace | Threshold
    method: str
    n: int
    seconds: float
    certificate: Any = None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values; integer weights beyond 2^53 are written in full.

        Example:
            >>> OptResult(0, 0, True, Threshold(3), "sort", 7, 0.0).to_dict()["classifier"]
            {'threshold': 3}
        """
        if isinstance(self.classifier, Threshold):
            classifier: dict[str, Any] = {"threshold": self.classifier.theta}
        else:
            classifier = {"weights": list(self.classifier.weights)}
        certificate = self.certificate
        if certificate is not None and hasattr(certificate, "to_dict"):
            certificate = certificate.to_dict()
        return {
            "lower": self.lower,
            "upper": self.upper,
            "optimal": self.optimal,
            "classifier": classifier,
            "seconds": self.seconds,
            "method": self.method,
            "n": self.n,
            "reason": self.reason,
            "certificate": certificate,
        }


def recounted(
    sample: Sample,
    bounds: tuple[int, int],
    classifier: Halfspace | Threshold,
    method: str,
    started: float,
) -> OptResult:
    """Return the result after counting the classifier's mistakes on the pooled sample once more.

    Args:
        sample: the pooled sample.
        bounds: (lower, upper) to report.
        classifier: the witness of ``upper``.
        method: name of the algorithm.
        started: the :func:`time.perf_counter` instant at which the work began.

    Raises:
        RecountError: when the recount differs from ``upper``, or lower > upper.
    """
    lower, upper = bounds
    if classifier.mistakes(sample) != upper or not 0 <= lower <= upper:
        raise RecountError(method)
    seconds = time.perf_counter() - started
    return OptResult(lower, upper, lower == upper, classifier, method, sample.n, seconds)
