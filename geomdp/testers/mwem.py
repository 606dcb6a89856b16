r"""MWEM: multiplicative weights with private selection, pure epsilon-DP, as a two-party tester.

A party learns a public distribution on cells and labels round by round, from the labelling that the
distribution predicts worst; see :mod:`geomdp.testers.mwem_plan` for the rounds and the certified error. Its
error grows with n like n^(2/3), but with the domain only through log m and the number of labellings.

Source: the practical form of (paper, Theorem 4.11); Hardt, Ligett and McSherry, A Simple and Practical
Algorithm for Differentially Private Data Release.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geomdp.protocol.party import Party, converse, within
from geomdp.protocol.schema import Integer, Schema
from geomdp.protocol.script import Script, Turn
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.histogram import LARGEST, scalar_schema
from geomdp.testers.mwem_plan import GRAIN, Schedule, best_schedule
from geomdp.testers.synthetic import (
    PUBLISHING,
    SyntheticTester,
    agreements,
    published,
    query_count,
    query_signs,
    weights_schema,
)

#: More labellings than this are not searched in every round.
MOST_QUERIES = 50_000
#: Domains with more points have more labellings than that.
MOST_POINTS = 2**12


class Weights:
    """The public distribution: log weights on the atoms, updated from released values only.

    Args:
        m: number of cells.
        labels: the labels that records can have: (-1, 1), or one of them with disjoint labels.

    Attributes:
        mean: (m,) mean over the rounds of (share of +1 atoms) - (share of -1 atoms).

    Example:
        >>> W = Weights(2, (-1, 1))
        >>> W.net().tolist()
        [0.0, 0.0]
    """

    def __init__(self, m: int, labels: tuple[int, ...]) -> None:
        self.labels = np.array(labels, dtype=np.float64)
        self.logs = np.zeros((len(labels), m))
        self.mean = np.zeros(m)

    def net(self) -> NDArray[np.float64]:
        """Return (m,) the share of +1 atoms minus the share of -1 atoms; sizes add up to at most 1."""
        shares = np.exp(self.logs - self.logs.max())
        return np.asarray(self.labels @ (shares / shares.sum()))

    def update(self, signs: NDArray[np.int8], answer: float) -> None:
        """Move towards a released share of mistakes of one labelling."""
        share = (1 - float(signs @ self.net())) / 2
        wrong = self.labels[:, None] != signs[None, :]
        self.logs += 4 * (min(max(answer, 0.0), 1.0) - share) * wrong


def predictions(signs: NDArray[np.int8], net: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """Return (N,) integers near GRAIN/2 times n <h, net>: public, a function of released values only."""
    return np.asarray(np.rint(GRAIN // 2 * n * agreements(signs, net)), dtype=np.int64)


class MWEM(SyntheticTester):
    """Alice publishes the counts that multiplicative weights learned; Bob answers (or publishes his own).

    Privacy note. Precondition: the distribution before a round is a function of released values, and so are
    the integers that stand for its predictions, however they were rounded. Given them,

    * selection: the score of h is the size of (GRAIN/2) <h, net_S> minus a public integer. Replacing one
      record moves <h, net_S> by at most 2, so every score by at most GRAIN, in any direction:
      permute-and-flip at scale >= 2 GRAIN/e costs e.
    * answer: the mistakes of the selected h on S move by at most 1: discrete Laplace noise of scale >= 1/e
      costs e.

    The shares of all rounds are exact fractions that add up to epsilon, and each is charged before its draw.
    Weights published at the end are post-processing and cost nothing. Conclusion: epsilon-DP for every
    sample.

    Args:
        setting: the public setting, halfspaces.
        one_way: True if Bob answers with a noisy minimum, False if he publishes counts too.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> from geomdp.testers.base import Setting
        >>> D = Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)])
        >>> MWEM(Setting(D, 10**5, 10**5, Fraction(1))).feasible
        True
    """

    name = "mwem"
    most_points = MOST_POINTS

    def _prepare(self) -> str:
        domain = self.setting.domain
        if query_count(domain) > MOST_QUERIES:
            return f"more than {MOST_QUERIES} labellings would be compared in every round"
        self.unit = 1 << (4 * domain.m).bit_length()
        return ""

    def schedule(self, n: int) -> Schedule:
        """Return the public schedule of a party with n records."""
        setting = self.setting
        atoms = setting.domain.m * (1 if setting.labels == "disjoint" else 2)
        level = PUBLISHING * setting.beta if self.one_way else setting.beta / 2
        return best_schedule(n, atoms, query_count(setting.domain), setting.epsilon, level)

    def _error(self, n: int, level: Fraction) -> int:
        """Return the certified error in units of 1/(2q) record; rounding every weight costs m/2 of them."""
        return int(2 * self.unit * self.schedule(n).error(level)) + self.setting.domain.m // 2 + 2

    def _publish(self, name: str, transcript: Transcript) -> Script[NDArray[np.int64]]:
        setting = self.setting
        n = setting.n_alice if name == "Alice" else setting.n_bob
        own = {"Alice": (-1,), "Bob": (1,)}[name] if setting.labels == "disjoint" else (-1, 1)
        weights = yield from learn(name, transcript, self.schedule(n), query_signs(setting.domain), own)
        counts = np.rint(self.unit * n * weights.mean).astype(np.int64).tolist()

        def publish(party: Party) -> Message:
            message = party.release("synthetic counts", {"weights": counts}, Fraction(0))
            return converse(transcript, message)

        return published((yield Turn(name, weights_schema(setting, Fraction(0)), publish)), setting)


def learn(
    name: str, transcript: Transcript, schedule: Schedule, signs: NDArray[np.int8], labels: tuple[int, ...]
) -> Script[Weights]:
    """Yield all rounds of one party and return the public distribution, a function of its messages."""
    n, weights = schedule.n, Weights(signs.shape[1], labels)
    picked = Schema("selection", {"labelling": Integer(0, len(signs) - 1)}, schedule.selecting)
    told = scalar_schema("mistakes", "value", schedule.measuring)
    for _ in range(schedule.rounds):
        current = weights.net()
        weights.mean += current / schedule.rounds
        public = predictions(signs, current, n)

        def select(party: Party, public: NDArray[np.int64] = public) -> Message:
            party.reserve(schedule.selecting)
            scores = np.abs(GRAIN // 2 * agreements(signs, party.sample.net) - public)
            chosen = party.sampler.permute_and_flip(scores, schedule.selection_scale)
            message = party.release("selection", {"labelling": int(chosen)}, schedule.selecting)
            return converse(transcript, message)

        message = yield Turn(name, picked, select)
        row = signs[int(message.payload["labelling"])]

        def measure(party: Party, row: NDArray[np.int8] = row) -> Message:
            party.reserve(schedule.measuring)
            mistakes = (party.sample.n - int(row.astype(np.int64) @ party.sample.net)) // 2
            noise = int(party.sampler.discrete_laplace(schedule.answer_scale, 1)[0])
            payload = {"value": within([mistakes + noise], LARGEST)[0]}
            message = party.release("mistakes", payload, schedule.measuring)
            return converse(transcript, message)

        message = yield Turn(name, told, measure)
        weights.update(row, int(message.payload["value"]) / n)
    return weights
