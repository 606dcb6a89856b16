r"""The net mechanism: a party selects, privately, the best of all small synthetic datasets.

A dataset D of s records stands in for S of n records with weights n net_D in units of q = s. Its cost is
max_h |s <h, net_S> - n <h, net_D>| (twice s times the largest error in mistakes). Only net_D matters, so the
list holds every net vector of s records once.

Approximation: for every S some D costs at most the smaller of

* rounding: round the s-fold shares of the k atoms (cell and label) so that they add up to s, the largest
  fractions up. If R are rounded up, the rest lose R (k - R)/k altogether at most, so every set of atoms is
  off by at most floor(k^2/4)/k records of D; the cost is at most 2n floor(k^2/4)/k.
* sampling: s draws with replacement from S are off by more than alpha s for one labelling with probability at
  most 2 exp(-2 s alpha^2) (Hoeffding). With N labellings and alpha^2 > ln(2N)/(2s) some draw is good for all.

Source: (paper, Theorem 4.11), after Blum, Ligett and Roth; permute-and-flip in place of the exponential
mechanism, the explicit constants, rounding and net vectors are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from geomdp.privacy.law import pf_gap
from geomdp.privacy.sampler import noise_scale
from geomdp.protocol.party import Party, converse
from geomdp.protocol.script import Script, Turn
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.synthetic import (
    SyntheticTester,
    published,
    query_count,
    query_signs,
    weights_schema,
)

#: Most candidates, and most evaluations (candidates times labellings), of one selection.
MOST_CANDIDATES, MOST_EVALUATIONS = 20_000, 2**22
#: Domains with more points have too many datasets of any useful size.
MOST_POINTS = 24


def net_count(m: int, s: int, label: int) -> int:
    """Return how many net vectors s records on m points have.

    Args:
        m, s: numbers of points and records.
        label: 0 for records of either label, else the label of all.

    Example:
        >>> [net_count(2, 3, 0), len(list(net_vectors(2, 3, 0))), net_count(3, 2, 1)]
        [16, 16, 6]
    """
    if label:
        return math.comb(m + s - 1, s)
    sizes = range(s, 0, -2)
    total = sum(2**i * math.comb(m, i) * math.comb(j - 1, i - 1) for j in sizes for i in range(1, m + 1))
    return int(total) + (s % 2 == 0)


def net_vectors(m: int, s: int, label: int) -> Iterator[tuple[int, ...]]:
    """Yield every net vector that s records on m points can have, each once.

    With either label these are the integer vectors of size |v|_1 = s, s - 2, ...: opposite records cancel in
    pairs.
    """

    def exact(m: int, size: int) -> Iterator[tuple[int, ...]]:
        if m == 1:
            yield from {(size,), (-size,)} if not label else {(label * size,)}
            return
        for first in range(size + 1):
            for rest in exact(m - 1, size - first):
                for sign in {1, -1} if first and not label else {label or 1}:
                    yield (sign * first, *rest)

    for size in (s,) if label else range(s, -1, -2):
        yield from exact(m, size)


@lru_cache(maxsize=8)
def net_array(m: int, s: int, label: int) -> NDArray[np.int64]:
    """Return :func:`net_vectors` as a (C, m) array."""
    return np.array(list(net_vectors(m, s, label)), dtype=np.int64)


def approximation(n: int, s: int, atoms: int, queries: int) -> int:
    """Return a bound on the cost of the best of all datasets of s records, for any n records.

    Example:
        >>> approximation(100, 8, 3, 3)  # rounding: 2 n * 2/3
        134
    """
    rounding = Fraction(2 * n * (atoms**2 // 4), atoms)
    sampling = 2 * s * n * math.sqrt(math.log(2 * queries) / (2 * s)) * (1 + 1e-9) + 1e-6
    return min(math.ceil(rounding), math.ceil(sampling))


class NetMechanism(SyntheticTester):
    """Alice publishes the selected dataset; Bob answers (or publishes his own).

    Privacy note. Precondition: n, s and the list of net vectors are public. Replacing one record moves
    <h, net_S> by at most 2 for every h, so the cost of each candidate, a maximum of sizes, by at most 2s, in
    any direction. Permute-and-flip at scale >= 2 * 2s/epsilon over the negated costs, which are integers,
    is then epsilon-DP. Conclusion: so is the published dataset, for every sample.

    Args:
        setting: the public setting, halfspaces.
        one_way: True if Bob answers with a noisy minimum, False if he publishes a dataset too.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> from geomdp.testers.base import Setting
        >>> D = Domain([[0, 1], [1, 1], [2, 1]])
        >>> NetMechanism(Setting(D, 400, 400, Fraction(1), labels="disjoint")).feasible
        True
    """

    name = "net-mechanism"
    most_points = MOST_POINTS

    def _prepare(self) -> str:
        setting = self.setting
        m, queries = setting.domain.m, query_count(setting.domain)
        label = int(setting.labels == "disjoint")
        best: tuple[Fraction, int] | None = None
        for s in range(1, 400):
            count = net_count(m, s, label)
            if count > min(MOST_CANDIDATES, MOST_EVALUATIONS // queries):
                break
            self.unit = s
            found = (Fraction(self._margin(setting.beta, Fraction(1)), s), s)
            best = found if best is None else min(best, found)
        if best is None:
            return "too many labellings to compare even the smallest datasets with"
        self.unit = best[1]
        return ""

    def _error(self, n: int, level: Fraction) -> int:
        m, s = self.setting.domain.m, self.unit
        disjoint = self.setting.labels == "disjoint"
        count = net_count(m, s, int(disjoint))
        start = approximation(n, s, m if disjoint else 2 * m, query_count(self.setting.domain))
        return start + pf_gap(count - 1, noise_scale(4 * s, self.setting.epsilon), level) - 1

    def _publish(self, name: str, transcript: Transcript) -> Script[NDArray[np.int64]]:
        schema = weights_schema(self.setting, self.setting.epsilon)
        message = yield Turn(name, schema, lambda party: self._select(party, transcript))
        return published(message, self.setting)

    def _select(self, party: Party, transcript: Transcript) -> Message:
        """Release n times the net vector of the selected dataset."""
        setting, s = self.setting, self.unit
        label = {"Alice": -1, "Bob": 1}[party.name] if setting.labels == "disjoint" else 0
        n = setting.n_alice if party.name == "Alice" else setting.n_bob
        party.reserve(setting.epsilon)
        candidates = net_array(setting.domain.m, s, label)
        signs = query_signs(setting.domain).astype(np.int64)
        truth = s * (signs @ party.sample.net)
        costs = np.abs(truth[:, None] - n * (signs @ candidates.T)).max(axis=0)
        chosen = party.sampler.permute_and_flip(-costs, noise_scale(4 * s, setting.epsilon))
        weights = (n * candidates[chosen]).tolist()
        return converse(transcript, party.release("synthetic counts", {"weights": weights}, setting.epsilon))
