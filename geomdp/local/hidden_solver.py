"""Fully interactive solution of the hidden layers problem, at a privacy cost that depth does not raise.

The search walks from the root to a leaf and lets all users vote at every vertex. A user's layer concerns one
vertex of the path, so that it says yes once among any number of questions.

Two protocols, for :func:`geomdp.local.protocol.run`, are the only ones that release anything. The three
`walk_...` functions simulate them, in decreasing detail and increasing speed; they know the instance, and
serve to find out how often the search succeeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import check_integer
from geomdp.local.finite import check_ratio
from geomdp.local.hidden_layers import HiddenLayers, Path, Stretch, label_of, level_of
from geomdp.local.kernels import RandomisedResponse, Scope, YesNo
from geomdp.local.protocol import Ask, MakeProtocol, Steps
from geomdp.local.signs import check_key, elect, toss_signs
from geomdp.local.votes import Rates, both_users, code_rates, vote_rates


def tree_search(arity: int, depth: int, users: int, kernel: YesNo) -> MakeProtocol:
    """Return the search by yes/no votes: arity * depth questions to each user.

    At each vertex of the path every user is asked, for each child, "is this the edge of your layer here?".
    The child with most ones is next; a public coin breaks ties.

    Args:
        arity: number of children of a vertex, >= 1.
        depth: layer of the leaves, >= 1.
        users: number of users, >= 1; inputs are ("Alice" or "Bob", layer).
        kernel: how a vote is randomised: YesNo.symmetric(odds(epsilon/2)) as in the paper, or
            YesNo.unary(odds(epsilon)), which publishes fewer ones. Both cost epsilon.

    Proof note. Precondition: an input has one level, and one label at each vertex. Fix a transcript: it fixes
    the path, and the path has one vertex in each layer. The input says yes to one question only, the one with
    its own level, the path's vertex there and its label. Two inputs differ in at most two answers, one from
    yes to no, one from no to yes, which changes the transcript's probability by at most kernel.pair_ratio;
    the answers to all other questions have the same law. Conclusion: log(pair_ratio)-DP, whatever the depth,
    and as inputs with different labels attain it, no less. (M. Joseph, J. Mao, A. Roth, Exponential
    Separations in Local Differential Privacy, Theorem 4.2.)

    Example:
        >>> from geomdp.local.models import FullyInteractive
        >>> from geomdp.local.protocol import run
        >>> instance = HiddenLayers.draw(3, 6, key=1)
        >>> inputs = instance.users(["Alice", "Bob"])
        >>> sure = YesNo(Fraction(1), Fraction(0))
        >>> instance.accepts(run(tree_search(3, 6, 2, sure), inputs, FullyInteractive(), rng=0).answer)
        True
    """
    _check_sizes(arity, depth, users)

    def steps() -> Steps:
        path = Path()
        for level in range(depth):
            questions = [kernel.at(Scope(level, path, c), level_of, label_of) for c in range(arity)]
            bits = yield Ask(tuple((user, q) for q in questions for user in range(users)))
            path = path.then((yield from elect([sum(bits[c * users :][:users]) for c in range(arity)])))
        return path

    return steps


def one_bit_search(
    arity: int, depth: int, users: int, ratio: Fraction, key: int | None = None
) -> MakeProtocol:
    """Return the search with one bit per user and level, in place of `arity` bits.

    Every user has a public random sign for each child. In its own layer it sends the sign of its label by
    randomised response; elsewhere a fair coin. The child whose signs agree with most answers is next.

    Args:
        arity: number of children of a vertex, >= 1.
        depth: layer of the leaves, >= 1.
        users: number of users, >= 1.
        ratio: odds of the true sign: odds(epsilon), the full budget.
        key: of the public signs, >= 0; None tosses one as a public coin.

    Raises:
        ArgumentError: when an argument is out of range.

    Proof note. Precondition: an input has one level. Two inputs of one level change one answer, from a sign
    to another, by a factor of at most ratio. Inputs of different levels change two answers between a sign and
    a fair coin: the factor is at most (2 ratio/(1+ratio)) / (2/(1+ratio)) = ratio. The signs are public and
    independent of inputs. Conclusion: log(ratio)-DP, whatever the depth.

    Example:
        >>> from geomdp.local.models import FullyInteractive
        >>> from geomdp.local.protocol import run
        >>> instance = HiddenLayers.draw(2, 4, key=1)
        >>> inputs = instance.users(["Alice", "Bob"] * 12)
        >>> search = one_bit_search(2, 4, 24, Fraction(10**6))
        >>> instance.accepts(run(search, inputs, FullyInteractive(), rng=0).answer)
        True
    """
    _check_sizes(arity, depth, users)
    odds, key = check_ratio(ratio), check_key(key)

    def steps() -> Steps:
        signs, path = (yield from toss_signs(key)), Path()
        for level in range(depth):
            rows = (signs.row(level, user, arity) for user in range(users))
            kernels = [RandomisedResponse(odds, _sign(level, path, row)) for row in rows]
            bits = yield Ask(tuple(enumerate(kernels)))
            path = path.then((yield from elect(signs.scores(level, range(users), arity, bits))))
        return path

    return steps


def _sign(level: int, vertex: Path, row: int) -> Callable[[Any], int | None]:
    return lambda x: row >> label_of(x, vertex) & 1 if level_of(x) == level else None


def search_users(arity: int, kernel: YesNo, target: float = 0.9) -> int:
    """Return the least number of users for which the search succeeds with probability >= target.

    The depth does not matter: only the two hidden layers can go wrong. Exact law, no bound.

    Args:
        arity: number of children of a vertex.
        kernel: how a user answers a yes/no question.
        target: probability of success, between 0 and 1.

    Returns:
        Users in all, of either role with probability 1/2 each.

    Example:
        >>> from geomdp.local.kernels import odds
        >>> [search_users(arity, YesNo.symmetric(odds("1/2"))) for arity in (2, 16, 256)]
        [88, 213, 343]
    """
    return both_users(arity, vote_rates(kernel), target)


def one_bit_users(arity: int, ratio: Fraction, target: float = 0.9) -> int:
    """Return the same for :func:`one_bit_search`."""
    return both_users(arity, code_rates(ratio), target)


def composed_ratio_log(arity: int, depth: int, kernel: YesNo) -> float:
    """Return the loss that adding up all questions would state: arity * depth * log(ratio of one answer).

    Example:
        >>> from geomdp.local.kernels import odds
        >>> round(composed_ratio_log(16, 1024, YesNo.symmetric(odds("1/2"))))
        8192
    """
    one = max(kernel.p / kernel.q, (1 - kernel.q) / (1 - kernel.p))
    return arity * depth * math.log(one)


def walk_users(instance: HiddenLayers, roles: list[str], kernel: YesNo, rng: np.random.Generator) -> Path:
    """Simulate :func:`tree_search` bit by bit: arity * users random bits at each level. Returns the leaf."""
    is_alice = np.array([role == "Alice" for role in roles])

    def votes(knowing: NDArray[np.bool_], label: int | None) -> list[int]:
        chance = np.full((len(roles), instance.arity), float(kernel.q))
        if label is not None:
            chance[knowing, label] = float(kernel.p)
        return [int(count) for count in (rng.random(chance.shape) < chance).sum(axis=0)]

    return _walk(instance, is_alice, votes, rng)


def walk_signs(instance: HiddenLayers, roles: list[str], ratio: Fraction, rng: np.random.Generator) -> Path:
    """Simulate :func:`one_bit_search` bit by bit. Returns the leaf."""
    keep = float(ratio / (1 + ratio))
    is_alice = np.array([role == "Alice" for role in roles])

    def votes(knowing: NDArray[np.bool_], label: int | None) -> list[int]:
        signs = rng.integers(0, 2, (len(roles), instance.arity), dtype=np.uint8)
        bits = rng.integers(0, 2, len(roles), dtype=np.uint8)
        if label is not None:
            kept = rng.random(len(roles)) < keep
            bits = np.where(knowing, signs[:, label] ^ ~kept, bits)
        return [int(count) for count in (signs == bits.reshape(-1, 1)).sum(axis=0)]

    return _walk(instance, is_alice, votes, rng)


def _walk(
    instance: HiddenLayers,
    is_alice: NDArray[np.bool_],
    votes: Callable[[NDArray[np.bool_], int | None], list[int]],
    rng: np.random.Generator,
) -> Path:
    path = Path()
    for level in range(instance.depth):
        knowing, label = np.zeros_like(is_alice), None
        for layer, mine in ((instance.alice, is_alice), (instance.bob, ~is_alice)):
            if layer.level == level:
                knowing, label = mine, layer.label(path)
        path = path.then(_top(votes(knowing, label), rng))
    return path


def walk_counts(
    instance: HiddenLayers, alices: int, bobs: int, rates: Rates, rng: np.random.Generator
) -> Path:
    """Simulate the numbers of ones alone: one binomial count per child and level. Returns the leaf.

    Args:
        instance: the instance.
        alices, bobs: how many users hold each layer.
        rates: vote_rates(kernel), or code_rates(ratio) for the one-bit search, whose scores have the law
            of such counts (see :mod:`geomdp.local.votes`).
        rng: of the simulation.
    """
    path = Path()
    for level in range(instance.depth):
        knowing, label = 0, None
        for layer, count in ((instance.alice, alices), (instance.bob, bobs)):
            if layer.level == level:
                knowing, label = count, layer.label(path)
        path = path.then(_vote(instance.arity, label, knowing, alices + bobs, rates=rates, rng=rng))
    return path


def walk_fast(instance: HiddenLayers, alices: int, bobs: int, rates: Rates, rng: np.random.Generator) -> Path:
    """Simulate the two votes that matter and skip the rest, however deep the tree. Returns the leaf.

    Off the hidden layers all children's counts have one law, so that the winner is uniform and independent of
    everything else: a stretch of a random key stands for these levels.

    Args:
        instance: arity, depth and hidden layers.
        alices, bobs: numbers of users who know Alice's and Bob's layer.
        rates: P(1 | yes) and P(1 | no) of the users' answers, see :func:`geomdp.local.votes.vote_rates`.
        rng: of the simulation.

    Returns:
        The leaf at which the walk ends.

    Example:
        >>> instance = HiddenLayers.draw(16, 2**1024, key=3)
        >>> sure = (Fraction(1), Fraction(0))
        >>> instance.accepts(walk_fast(instance, 1, 1, sure, np.random.default_rng(0)))
        True
    """
    layers = sorted(((instance.alice, alices), (instance.bob, bobs)), key=lambda pair: pair[0].level)
    path = Path()
    for layer, knowing in layers:
        path = skip(path, layer.level, instance.arity, int.from_bytes(rng.bytes(16), "little"))
        label = layer.label(path)
        path = path.then(_vote(instance.arity, label, knowing, alices + bobs, rates=rates, rng=rng))
    return skip(path, instance.depth, instance.arity, int.from_bytes(rng.bytes(16), "little"))


def skip(path: Path, level: int, arity: int, key: int) -> Path:
    """Return the path continued to a level along the public walk of a key."""
    length = level - path.length
    return path.along(Stretch(key, arity, 0, length)) if length else path


def _vote(
    arity: int, label: int | None, knowing: int, users: int, *, rates: Rates, rng: np.random.Generator
) -> int:
    own, other = float(rates[0]), float(rates[1])
    counts = rng.binomial(users, other, arity)
    if label is not None:
        counts[label] = rng.binomial(knowing, own) + rng.binomial(users - knowing, other)
    return _top([int(count) for count in counts], rng)


def _top(counts: list[int], rng: np.random.Generator) -> int:
    most = max(counts)
    best = [child for child, count in enumerate(counts) if count == most]
    return best[int(rng.integers(len(best)))]


def _check_sizes(arity: int, depth: int, users: int) -> None:
    check_integer("arity", arity, 1)
    check_integer("depth", depth, 1)
    check_integer("users", users, 1)
