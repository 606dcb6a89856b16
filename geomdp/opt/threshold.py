"""opt of the one-sided thresholds rank -> +1 iff rank >= theta: one cumulative sum over occupied ranks."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Threshold
from geomdp.core.errors import ArgumentError
from geomdp.core.sample import Sample, pool
from geomdp.opt.certificate import Certificate, Lemma, commitment
from geomdp.opt.result import OptResult, recounted


def opt_threshold(*samples: Sample) -> OptResult:
    """Return the least number of mistakes of a threshold on the pooled samples.

    With the occupied ranks r_0 < ... < r_{k-1}, labelling +1 exactly the ranks from r_j on makes
    sum_{i < j} positives_i + sum_{i >= j} negatives_i mistakes, j = 0..k; nothing else can be told apart by
    the sample. The ranks are held sorted, so this takes O(k) additions, at any domain size.

    Args:
        *samples: one or more samples on one ordered domain (a line or a one-feature grid).

    Returns:
        An optimal result; of several optima the largest set of +1 (the least theta). The classifier's theta
        is 0 for "always +1", m for "always -1", and otherwise an occupied rank.

    Raises:
        ArgumentError: when there is no sample, the domains differ, or the domain has no order.

    Source: the joint optimum of Section 3 of the paper, for its thresholds on a line.

    Example:
        >>> from geomdp import Domain
        >>> S = Sample.from_cells(Domain.line(2**64), [5, 2**63, 2**63 + 1], [-1, 1, -1])
        >>> r = opt_threshold(S)
        >>> r.upper, r.classifier.theta == 2**63, r.classifier.mistakes(S)
        (1, True, 1)
    """
    started = time.perf_counter()
    sample = pool(*samples)
    if not sample.domain.ordered:
        raise ArgumentError(
            "samples",
            "samples on a line or a one-feature grid",
            f"samples on {sample.domain!r}",
            "Use opt_halfspace, or a grid with one feature.",
        )
    mistakes = suffix_mistakes(sample)
    j = int(mistakes.argmin())
    best = int(mistakes[j])
    found = Threshold(cut(sample, j))
    proof = _certificate(sample, best, found)
    return replace(recounted(sample, (best, best), found, "sort", started), certificate=proof)


def _certificate(sample: Sample, best: int, found: Threshold) -> Certificate:
    """The verifier repeats the sweep: nothing else needs to be said."""
    salt = secrets.token_hex(32)
    digest = commitment(salt, sample.points, sample.positives, sample.negatives)
    return Certificate(best, best, sample.n, found, (Lemma("threshold", best),), salt, digest)


def suffix_mistakes(sample: Sample) -> NDArray[np.int64]:
    """Return the (k + 1,) mistakes of labelling +1 the occupied cells from the j-th on, j = 0..k."""
    mistakes = np.zeros(len(sample.cells) + 1, dtype=np.int64)
    mistakes[1:] = np.cumsum(sample.positives - sample.negatives)
    return np.asarray(mistakes + sample.negatives.sum())


def cut(sample: Sample, j: int) -> int:
    """Return a theta that labels +1 the occupied cells from the j-th on, and no others."""
    if j == 0:
        return 0
    return sample.domain.m if j == len(sample.cells) else int(sample.cells[j])
