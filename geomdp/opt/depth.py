"""Halfspace (Tukey) depth: the optimum of a sample in which every record has the same label."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import integer_array, products
from geomdp.core.errors import ArgumentError, describe
from geomdp.core.sample import Sample
from geomdp.opt.certificate import Certificate
from geomdp.opt.incumbent import exact_vector


@dataclass(frozen=True)
class DepthResult:
    """lower <= depth <= upper.

    Attributes:
        lower, upper: certain bounds.
        optimal: whether they agree.
        direction: integers u whose closed halfspace {x: <u, x - point> >= 0} holds ``upper`` records.
        n: number of records.
        method: the algorithm that ran.
        seconds: wall time.
        certificate: a proof of both bounds, for :func:`verify_depth`.
    """

    lower: int
    upper: int
    optimal: bool
    direction: tuple[int, ...]
    n: int
    method: str
    seconds: float
    certificate: Certificate


def halfspace_depth(
    point: Any,
    sample: Sample,
    *,
    time_limit: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> DepthResult:
    """Return the halfspace depth of a point: the least number of records in a closed halfspace that holds it.

        depth(p) = min over u != 0 of #{x: <u, x - p> >= 0}

    A record at x is wrong for w in the instance of negative records at x - p exactly if <w, x - p> >= 0, so
    the depth is the optimum of that instance without w = 0; w = 0 costs n and can only tie. On grid domains
    the bias coordinate of both is dropped with the difference. Labels are ignored.

    Args:
        point: d integers, or on a grid the r = d - 1 levels.
        sample: the records.
        time_limit: seconds, after which an interval is returned.
        progress: told the fraction of the work done.

    Returns:
        Bounds lower <= depth <= upper in records, equal unless the time ran out, with a direction u that
        attains the upper one and a certificate.

    Raises:
        ArgumentError: when the point does not have as many coordinates as the records.

    Source: Tukey (1975); the mixed open and closed form of it is opt of halfspaces.

    Example:
        >>> from geomdp import Domain
        >>> D = Domain.grid([("x", 0, 4, 5), ("y", 0, 4, 5)])
        >>> X = [[0, 0, 1], [4, 0, 1], [0, 4, 1], [4, 4, 1], [2, 2, 1]]
        >>> S = Sample.from_points(D, X, [1, 1, 1, -1, -1])
        >>> halfspace_depth([2, 2], S).upper, halfspace_depth([0, 1], S).upper
        (3, 1)
    """
    from geomdp.opt.portfolio import certified_optimum

    started = time.perf_counter()
    X, negatives = _differences(point, sample)
    solved = certified_optimum(
        X, np.zeros_like(negatives), negatives, time_limit=time_limit, progress=progress
    )
    direction = solved.weights
    if not any(direction):
        direction = _any_direction(X, negatives, solved.upper)
    return DepthResult(
        solved.lower,
        solved.upper,
        solved.lower == solved.upper,
        direction,
        sample.n,
        solved.method,
        time.perf_counter() - started,
        solved.certificate,
    )


def verify_depth(certificate: Certificate, point: Any, sample: Sample) -> bool:
    """Return True if a certificate proves its interval for the depth of the point.

    Raises:
        CertificateError: naming the step that fails.
        ArgumentError: when the point does not have as many coordinates as the records.

    Example:
        >>> from geomdp import Domain
        >>> S = Sample.from_points(Domain([[0, 0], [2, 0], [0, 2]]), [[0, 0], [2, 0], [0, 2]], [1, 1, 1])
        >>> verify_depth(halfspace_depth([1, 0], S).certificate, [1, 0], S)
        True
    """
    from geomdp.opt.verifier import verify_points

    X, negatives = _differences(point, sample)
    return verify_points(certificate, X, np.zeros_like(negatives), negatives)


def _differences(point: Any, sample: Sample) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if not isinstance(sample, Sample):
        raise ArgumentError("sample", "a Sample", describe(sample))
    p = integer_array("point", point, 1)
    X = sample.points
    if sample.domain.features is not None and len(p) == X.shape[1] - 1:
        X = X[:, :-1]
    if len(p) != X.shape[1]:
        raise ArgumentError("point", f"{X.shape[1]} integers", f"{len(p)} of them")
    sizes = [max(abs(int(a.min())), abs(int(a.max()))) if a.size else 0 for a in (X, p)]
    if sum(sizes) >= 2**62:
        X, p = X.astype(object), p.astype(object)
    return X - p, np.asarray(sample.positives + sample.negatives)


def _any_direction(X: NDArray[Any], negatives: NDArray[np.int64], depth: int) -> tuple[int, ...]:
    """Return u != 0 for a depth that w = 0 attains: then every direction holds all records."""
    d = int(X.shape[1])
    for axis in range(d):
        for side in (1, -1):
            u = [side if c == axis else 0 for c in range(d)]
            inside = np.asarray(products(X, exact_vector(u)) >= 0, dtype=bool)
            if int(negatives[inside].sum()) == depth:
                return tuple(u)
    return (0,) * d
