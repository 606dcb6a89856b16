"""A class of listed hypotheses, by brute force: oracle and stand-in for the classes of the learners.

With it come the exact comparison of two laws on common points, and all neighbours of tiny inputs.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from geomdp.learners.blocks import Block, exponential
from geomdp.learners.classes.base import Labelling


class ListedSurvey:
    """Listed candidates (labels, witness, score)."""

    def __init__(self, entries):
        self.entries = sorted(entries, key=lambda e: e[2])

    def candidates(self):
        for labels, witness, score in self.entries:
            yield Labelling(np.array(labels, dtype=np.int8), witness), score

    def select(self, epsilon, sampler):
        blocks = [Block(i, i, e[2]) for i, e in enumerate(self.entries)]
        labels, witness, _ = self.entries[exponential(blocks, epsilon, sampler)]
        return Labelling(np.array(labels, dtype=np.int8), witness)


class Listed:
    """Hypotheses given as functions of a record."""

    prefix = ()
    k = 1

    def __init__(self, rules):
        self.rules = rules

    def growth(self, m):
        return min(2**m, len(self.rules))

    def _tables(self, X, y):
        rows = [tuple(int(v) for v in row) for row in X]
        wanted = [0] * len(rows) if y is None else list(y)
        for at, rule in enumerate(self.rules):
            labels = tuple(rule(*row) for row in rows)
            yield labels, (at,), sum(a == b for a, b in zip(labels, wanted, strict=True) if b)

    def labelings(self, X, y=None):
        return ListedSurvey(list({e[0]: e for e in self._tables(X, y)}.values()))

    def carrier_labelings(self, X, y):
        best = {}
        for labels, witness, score in self._tables(X, y):
            key = tuple(a for a, b in zip(labels, y, strict=True) if not b)
            if key not in best or best[key][2] < score:
                best[key] = labels, witness, score
        return ListedSurvey(list(best.values()))


def law_of(survey, base, columns=None):
    """Return {labels on some columns: probability} with weights base^score; `base` stands for e^(eps/2)."""
    law = {}
    for labelling, score in survey.candidates():
        labels = labelling.labels.tolist()
        key = tuple(labels if columns is None else (labels[c] for c in columns))
        law[key] = law.get(key, 0) + Fraction(base) ** score
    total = sum(law.values())
    return {key: weight / total for key, weight in law.items()}


def by_point(law, points):
    """Return a law on labels of listed points as a law on {point: label}, stored as sorted pairs."""
    out = {}
    for labels, weight in law.items():
        key = tuple(sorted(set(zip(points, labels, strict=True))))
        out[key] = out.get(key, 0) + weight
    return out


def restrict(law, common):
    """Return the law of the labels on the common points."""
    out = {}
    for key, weight in law.items():
        part = tuple(pair for pair in key if pair[0] in common)
        out[part] = out.get(part, 0) + weight
    return out


def worst_ratio(first, second, points, others):
    """Return the largest ratio of the two laws' weights of a labelling of the common points."""
    common = set(points) & set(others)
    one, two = restrict(first, common), restrict(second, common)
    if one.keys() != two.keys():
        return float("inf")
    return max(max(one[z] / two[z], two[z] / one[z]) for z in one)


def samples(domain, n):
    """Return all unordered labelled samples of size n over a domain, as lists of (point, label)."""
    records = list(product(domain, (-1, 1)))
    return [list(c) for c in product(records, repeat=n) if list(c) == sorted(c)]


def replaced(items, pool):
    """Yield the items with one of them replaced, sorted."""
    for at in range(len(items)):
        for other in pool:
            if other != items[at]:
                yield sorted([*items[:at], other, *items[at + 1 :]])
