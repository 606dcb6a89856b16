"""Exact verification: the privacy loss of a whole local protocol, by enumeration of its transcripts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from geomdp.core.errors import (
    ArgumentError,
    CapacityError,
    ProtocolError,
    check_fraction,
    check_integer,
    describe,
)
from geomdp.local.domains import check_domain
from geomdp.local.finite import check_ratio, log_up
from geomdp.local.models import Model
from geomdp.local.protocol import MakeProtocol, check_blind
from geomdp.local.transcripts import Leaf, Outcomes, transcripts
from geomdp.privacy.enclosure import Interval


@dataclass(frozen=True)
class ExactLoss:
    """The exact privacy loss of one user.

    Attributes:
        ratio: largest P(transcript | x) / P(transcript | x') over transcripts and inputs x, x'; a Fraction,
            or math.inf.
        transcripts: number of transcripts examined.
        witness: outcomes of a transcript that attains the ratio, or None if there is only the empty loss.

    Example:
        >>> ExactLoss(Fraction(2), 4, None).holds("0.7"), ExactLoss(Fraction(2), 4, None).loss > 0.69
        (True, True)
    """

    ratio: Fraction | float
    transcripts: int
    witness: Outcomes | None

    @property
    def loss(self) -> float:
        """log(ratio), rounded up."""
        return log_up(self.ratio)

    def holds(self, epsilon: Fraction | int | float | str) -> bool:
        """Return whether epsilon-DP is proved: ratio <= exp(epsilon), decided by an enclosure.

        A ratio that was built with odds(epsilon) is below exp(epsilon) and passes.

        Raises:
            ArgumentError: unless ``epsilon`` is a number >= 0.
        """
        budget = check_fraction("epsilon", epsilon)
        if budget < 0:
            raise ArgumentError("epsilon", "a number >= 0", describe(budget))
        return self.ratio <= 1 / Interval.exp_neg(budget, 512).hi


def exact_loss(
    protocol: MakeProtocol,
    user: int,
    domain: Iterable[Any],
    others: Mapping[int, Any],
    model: Model,
    *,
    recheck: bool = True,
    limit: int = 10**6,
    progress: Callable[[float], None] | None = None,
) -> ExactLoss:
    """Return the exact loss of a user's whole transcript, over all transcripts and all pairs of inputs.

    Args:
        protocol: function without arguments returning the generator of steps.
        user: whose input varies.
        domain: every input that a user may hold, distinct.
        others: the other users' inputs. They matter for the check of sums only: where an answer is possible
            for some input and not for this one, the transcripts of the other inputs are walked as well.
        model: interaction model whose rules every replay must obey.
        recheck, limit, progress: see :func:`~geomdp.local.transcripts.transcripts`.

    Raises:
        ProtocolError: when the protocol is no function of the transcript, or asks an unknown user, or when
            probabilities do not sum to 1.
        DataAccessError: when it holds the inputs.
        InteractionError: when it breaks the model's rules.
        CapacityError: when there are more transcripts than `limit`.
        ArgumentError: when ``others`` lists the user whose loss is asked for, or ``limit`` is no integer >=
            1.

    Proof note. The probability of a transcript is (coins) x (product over users of the probability of the
    user's answers). For a fixed transcript, the other users' factors cancel in the ratio of two inputs of
    this user. The largest ratio over transcripts that some inputs of the others make possible is therefore
    the maximum over all others' inputs too. Conclusion: the protocol is log(ratio)-DP in this user's input
    and no less.

    Example:
        >>> from geomdp.local.kernels import RandomisedResponse
        >>> from geomdp.local.models import FullyInteractive
        >>> from geomdp.local.protocol import Ask
        >>> def twice():
        ...     first = yield Ask.each([0], RandomisedResponse(Fraction(2)))
        ...     second = yield Ask.each([0], RandomisedResponse(Fraction(2)))
        ...     return first, second
        >>> exact_loss(twice, 0, [0, 1], {}, FullyInteractive()).ratio
        Fraction(4, 1)
    """
    inputs = check_domain(domain)
    check_integer("limit", limit, 1)
    if not isinstance(others, Mapping):
        raise ArgumentError("others", "a mapping of users to their inputs", describe(others))
    if user in others:
        raise ArgumentError("others", f"the inputs of users other than {user}", "one that lists it")
    candidates = {v: (x, *(z for z in inputs if z is not x)) for v, x in others.items()}
    candidates[user] = inputs
    check_blind(protocol, others)
    worst: Fraction | float = Fraction(1)
    witness, count = None, 0
    sums: dict[int, list[int]] = {}  # by denominator: few of them, so that little is reduced
    for leaf in transcripts(protocol, candidates, model, recheck=recheck, limit=limit, progress=progress):
        count += 1
        row, below = leaf.chances[user]
        low = min(row)
        ratio = Fraction(max(row), low) if low else math.inf  # never all 0: the leaf is possible
        if ratio > worst or witness is None:
            worst, witness = max(ratio, worst), leaf.outcomes
        rest = _rest(leaf, user) / below
        for i, p in enumerate(row if rest else ()):
            sums.setdefault(rest.denominator, [0] * len(inputs))[i] += rest.numerator * p
    if any(sum(Fraction(row[i], below) for below, row in sums.items()) != 1 for i in range(len(inputs))):
        raise ProtocolError("The probabilities of a protocol's transcripts must sum to 1 for every input.")
    return ExactLoss(worst, count, witness)


def _rest(leaf: Leaf, user: int) -> Fraction:
    """Return the probability of everything but one user's answers, the others having their first input."""
    others = (Fraction(row[0], below) for v, (row, below) in leaf.chances.items() if v != user)
    return math.prod(others, start=leaf.coins)


def exact_delta(
    protocol: MakeProtocol,
    user: int,
    domain: Iterable[Any],
    users: int,
    model: Model,
    *,
    ratio: Fraction | int,
    limit: int = 10**6,
) -> Fraction:
    """Return the least delta such that the protocol is (log ratio, delta)-DP in one user's input.

    That is the maximum over pairs of inputs, and over the other users' inputs, of the sum over transcripts
    of max(0, P(transcript | x) - ratio P(transcript | x')).

    Args:
        protocol: function without arguments returning the generator of steps.
        user: whose input varies.
        domain: every input that a user may hold.
        users: number of users; the others' inputs are enumerated.
        model: interaction model.
        ratio: e^epsilon, >= 1.
        limit: largest number of transcripts, and of assignments of the others.

    Raises:
        CapacityError: when the other users have more assignments than the limit.
        ArgumentError: unless ``users`` and ``limit`` are integers >= 1 and ``user`` one of 0..users-1.

    Example:
        >>> from geomdp.local.kernels import RandomisedResponse
        >>> from geomdp.local.models import NonInteractive
        >>> from geomdp.local.protocol import Ask
        >>> def ask():
        ...     yield Ask.each([0], RandomisedResponse(Fraction(3)))
        >>> [exact_delta(ask, 0, [0, 1], 1, NonInteractive(), ratio=r) for r in (1, 2, 3)]
        [Fraction(1, 2), Fraction(1, 4), Fraction(0, 1)]
    """
    inputs = check_domain(domain)
    factor = check_ratio(ratio)
    check_integer("users", users, 1)
    check_integer("limit", limit, 1)
    check_integer("user", user, 0, users - 1)
    if len(inputs) ** (users - 1) > limit:
        raise CapacityError("users", f"such that at most {limit} assignments of the others exist", users)
    leaves = list(transcripts(protocol, dict.fromkeys(range(users), inputs), model, limit=limit))
    likelihoods = [leaf.likelihood for leaf in leaves]
    rest = [v for v in range(users) if v != user]
    worst = Fraction(0)
    for choice in itertools.product(range(len(inputs)), repeat=len(rest)):
        chosen = dict(zip(rest, choice, strict=True))
        weights = [
            math.prod((row[v][i] for v, i in chosen.items()), start=leaf.coins)
            for leaf, row in zip(leaves, likelihoods, strict=True)
        ]
        for a, b in itertools.permutations(range(len(inputs)), 2):
            excess = (
                w * (row[user][a] - factor * row[user][b])
                for row, w in zip(likelihoods, weights, strict=True)
            )
            worst = max(worst, sum((e for e in excess if e > 0), Fraction(0)))
    return worst
