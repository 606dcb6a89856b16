"""Audits of the mechanisms by themselves: counts, selection listed and grouped, the noisy first crossing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction

from geomdp.privacy.audit import Audit, neighbour_pairs
from geomdp.privacy.runs import Runs, audit_program, clamp
from geomdp.privacy.sampler import noise_scale
from geomdp.testers.audits.check import Check, Data, sample
from geomdp.testers.audits.interior_point import DOMAIN, EPSILON, PLACES, Listed, everything
from geomdp.testers.crossing import descending

EPS = Fraction(1)
SIZE = 3


def checks() -> Iterator[Check]:
    """Yield the audits of this module."""
    of_thresholds = f"thresholds of {PLACES} places, {SIZE} records"
    yield Check("discrete Laplace count", f"{SIZE} records", EPS, lambda: over_places(count, SIZE + 2))
    yield Check(
        "discrete Laplace counts of nested cells",
        f"a count and a part of it: L1 sensitivity 2, {SIZE} records",
        EPS,
        lambda: over_places(nested, SIZE + 2),
    )
    yield Check(
        "permute-and-flip", f"mistakes of {of_thresholds}; scale 2/epsilon", EPS, lambda: over_places(flip, 1)
    )
    yield Check(
        "permute-and-flip, grouped",
        f"mistakes of {of_thresholds}, equal ones in one group of data-dependent size",
        EPS,
        lambda: over_places(grouped, 1),
    )
    yield Check(
        "selection of the median's node",
        "4 leaves, even blocks of 4 records: one score moves, scale 1/epsilon",
        EPS,
        lambda: audit_depth(4),
    )
    yield Check(
        "noisy first crossing, record moved",
        f"{PLACES} places, 2 records of the scanned label",
        EPSILON,
        lambda: audit_program(crossing, neighbour_pairs([(x, -1) for x in range(PLACES)], 2), 1),
    )
    yield Check(
        "noisy first crossing, record added",
        f"{PLACES} places, 1 and 2 records: the larger share of level and place only",
        SCAN.epsilon_added,
        lambda: audit_program(crossing, _added(), 1),
    )


SCAN = Listed(2, EPSILON / 4, 3 * EPSILON / 4)


def over_places(view: Callable[[Data, Runs], Hashable], reach: int) -> Audit:
    """Audit a view over all neighbouring datasets of labelled places."""
    return audit_program(view, neighbour_pairs(everything(), SIZE), reach)


def count(data: Data, runs: Runs, scale: Fraction | None = None) -> Hashable:
    """Return the noisy number of positive records."""
    noise = runs.discrete_laplace(scale or noise_scale(1, EPS), 1)
    return clamp(sum(y > 0 for _, y in data) + int(noise[0]), -1, SIZE + 1)


def nested(data: Data, runs: Runs) -> Hashable:
    """Return the noisy numbers of positive records, and of those at place 0."""
    noise = runs.discrete_laplace(noise_scale(2, EPS), 2)
    counts = sum(y > 0 for _, y in data), sum(y > 0 and x == 0 for x, y in data)
    return tuple(clamp(c + int(z), -1, SIZE + 1) for c, z in zip(counts, noise, strict=True))


def _scores(data: Data) -> list[int]:
    return [-sum((1 if x >= t else -1) != y for x, y in data) for t in range(PLACES + 1)]


def flip(data: Data, runs: Runs) -> Hashable:
    """Return a threshold with few mistakes."""
    return runs.permute_and_flip(_scores(data), noise_scale(2, EPS))


def grouped(data: Data, runs: Runs) -> Hashable:
    """Return the same, selected by group and offset."""
    scores = _scores(data)
    values = sorted(set(scores))
    groups = [[t for t, s in enumerate(scores) if s == value] for value in values]
    g, offset = runs.permute_and_flip_groups([len(group) for group in groups], values, noise_scale(2, EPS))
    return groups[g][offset]


def audit_depth(k: int) -> Audit:
    """Audit permute-and-flip over two nodes of a tree on 4 leaves, by the depth of the median in them.

    A node's score is ceil(k/2) less its larger side's records: with k even one record moves one positive
    score, with k odd it may lower one and raise the other, which costs twice as much.
    """

    def program(data: tuple[int, ...], runs: Runs) -> Hashable:
        half = (k + 1) // 2
        scores = [
            max(0, half - max(sum(x < low for x in data), sum(x >= high for x in data)))
            for low, high in ((0, 2), (2, 4))
        ]
        return runs.permute_and_flip([*scores, 1], noise_scale(1, EPS))

    return audit_program(program, neighbour_pairs(range(4), k), 1)


def crossing(data: Data, runs: Runs) -> Hashable:
    """Return how many places the scan passes."""
    return SCAN.draw(descending(sample(DOMAIN, data), -1), runs)


def _added() -> Iterator[tuple[Data, Data]]:
    places = [(x, -1) for x in range(PLACES)]
    for a in places:
        for b in places:
            yield (a,), (a, b)
            yield (a, b), (a,)
