"""The exponential mechanism over groups of candidates that share a score and are too many to list."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeVar

from geomdp.learners.blocks import Block, exponential
from geomdp.privacy.sampler import Sampler

Key = TypeVar("Key")


def draw_from_groups(
    groups: Iterable[tuple[Key, int, int]], epsilon: Fraction, sampler: Sampler
) -> tuple[Key, int]:
    """Draw a candidate with probability proportional to exp(epsilon score / 2), exactly.

    Args:
        groups: (key, number of candidates, score) of every group; empty groups are skipped.
        epsilon: the privacy loss, if one record moves each candidate's score by at most 1.
        sampler: the source of randomness.

    Returns:
        The key of the group and the candidate's place in it, counted from 0.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> groups = [("bad", 10**9, 0), ("none", 0, 999), ("good", 1, 200)]
        >>> draw_from_groups(groups, Fraction(1), SimSampler(0))
        ('good', 0)
    """
    keys: list[Key] = []
    blocks: list[Block] = []
    start = 0
    for key, size, score in groups:
        if size:
            keys.append(key)
            blocks.append(Block(start, start + size - 1, score))
            start += size
    rank = exponential(blocks, epsilon, sampler)
    group = bisect_right(blocks, rank, key=lambda block: block.first) - 1
    return keys[group], rank - blocks[group].first
