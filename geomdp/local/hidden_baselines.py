"""Sequentially interactive protocols for the hidden layers problem: what to compare the search with.

Each user speaks once here, so that voting at every layer is hopeless: it takes a fresh cohort per layer.
Better protocols let the two roles talk, a cohort of fresh users for each message:

* *announce* (:func:`announce`): both roles publish the number of their layer, log2(depth) - 1 bits each, and
  then their labels on a common path, bit by bit.
* *announce together* (:func:`announce_both`): the same, but one cohort serves both roles' bits at once; in
  blocks of bits, under a random code, :mod:`geomdp.local.hidden_blocks`.
* *announce one layer* (:func:`announce_one`): only Alice's kind publishes its layer. Bob's kind names one of
  some public random paths that takes its edge: a few bits more than log2(arity). Bits are sent in blocks
  under a random code, which uses the channel better than majorities.
* *random leaf* (:mod:`geomdp.local.hidden_leaves`): Alice's kind names a public random leaf that takes its
  edge, Bob's kind says whether it takes Bob's; about `arity` trials, whatever the depth.
* *separate* (there too): the roles publish a few leading bits of their layers' numbers, with one cohort for
  both. If these differ, a layer between the two is known, and each role names a path on its side. A few
  bits do if the layers are drawn uniformly; if they are neighbours, only all bits would.

All but the last succeed with the stated probability on every instance. They are the best that we know, not
proved to be the best. For the original problem, whose depth is triply exponential in log2(arity), every
sequential protocol needs a number of users that is a power of the arity (M. Joseph, J. Mao, A. Roth,
Exponential Separations in Local Differential Privacy, Corollary 4.1.1). That proof says little about smaller
depths: if only Alice and Bob had to know the leaf, not everybody who reads the transcript, they could find a
layer between theirs by comparing hashes, with about log(log(depth)) bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from geomdp.core.errors import ArgumentError, CapacityError, check_integer, describe
from geomdp.local.finite import check_ratio
from geomdp.local.hidden_layers import ALICE, BOB, Path, label_of, level_of
from geomdp.local.hidden_messages import Message, ask_blocks, bits_of, blocks_of, first_taking
from geomdp.local.hidden_solver import skip
from geomdp.local.kernels import RandomisedResponse
from geomdp.local.models import Pool
from geomdp.local.protocol import Ask, Coin, MakeProtocol, Steps
from geomdp.local.signs import KEY, Signs
from geomdp.local.twoparty import Bit, TwoPartyProtocol, TwoPartySteps
from geomdp.local.votes import (
    both_majority_success,
    check_target,
    code_rates,
    least_users,
    majority_success,
    majority_users,
    stage_success,
    stage_users,
)
from geomdp.protocol.transcript import PARTIES

BLOCK = 16  # largest number of bits in one code word: 65,536 candidates to compare


def announce_bits(arity: int, depth: int) -> int:
    """Return the bits of :func:`announce`: two layer numbers and two labels.

    Example:
        >>> announce_bits(16, 2**16)
        38
    """
    return bits_of((depth + 1) // 2) + bits_of(depth // 2) + 2 * bits_of(arity)


def announce(arity: int, depth: int) -> TwoPartyProtocol:
    """Return the two-party protocol that announces layers and labels bit by bit.

    Alice holds an even layer, Bob an odd one. Without noise it always succeeds. For private users, send each
    bit several times and compile: to_ldp(amplify(announce(arity, depth), copies), ratio, users).

    Args:
        arity: number of children of a vertex, >= 1.
        depth: layer of the leaves, >= 2.

    Example:
        >>> from geomdp.local.hidden_layers import HiddenLayers
        >>> instance = HiddenLayers.draw(16, 2**64, key=2)
        >>> instance.accepts(announce(16, 2**64).noiseless(instance.alice, instance.bob, rng=0))
        True
    """

    def send(role: str, size: int, message: Message, stage: int) -> Generator[Bit | Coin, Any, int]:
        del stage
        received = 0
        for place in reversed(range(bits_of(size))):
            received = received << 1 | (yield Bit(role, _bit(role, message, place)))
        return min(received, size - 1)

    def steps() -> TwoPartySteps:
        return (yield from conversation(arity, depth, send))

    return TwoPartyProtocol(steps)


def _bit(role: str, message: Message, place: int) -> Callable[[Any], int]:
    return lambda value: message((role, value)) >> place & 1


def announce_both(arity: int, depth: int, ratio: Fraction, copies: int) -> MakeProtocol:
    """Return the sequential protocol that announces both layers at once, a bit of each role per cohort.

    The layers' numbers do not depend on each other, so that a cohort can be asked for a bit of both: a user
    sends its own role's bit times its public sign for that role. Each bit is read by a majority under that
    role's signs. The remaining bit of the longer number and the labels, which depend on what was found
    before, have cohorts of their own.

    Args:
        arity: number of children of a vertex, >= 1.
        depth: layer of the leaves, >= 2.
        ratio: odds of a true bit.
        copies: users of a cohort, odd; `announce_shape` counts the cohorts.

    Raises:
        ArgumentError: unless ``copies`` is an odd integer >= 1 and ``ratio`` a number >= 1.

    Proof note. A user answers one randomised response in the run, about a bit that its input and public signs
    determine: log(ratio)-DP, its role included.
    """
    check_ratio(ratio)
    if check_integer("copies", copies, 1) % 2 == 0:
        raise ArgumentError("copies", "odd", copies, "An odd number of copies leaves no tie.")
    shared, alone = announce_shape(arity, depth)
    sizes = {ALICE: (depth + 1) // 2, BOB: depth // 2}

    def steps() -> Steps:
        pool, signs = Pool((shared + alone) * copies), Signs((yield Coin(KEY)))

        def vote(stage: int, bits: dict[str, Message]) -> Generator[Ask | Coin, Any, dict[str, int]]:
            cohort = pool.take(copies)
            rows = {user: signs.row(stage, user, 2) for user in cohort.users}
            answers = yield cohort.ask(lambda user: RandomisedResponse(ratio, _signed(bits, rows[user])))
            got = {}
            for role in bits:
                ones = sum(b ^ rows[u] >> (role == BOB) & 1 for u, b in zip(cohort, answers, strict=True))
                got[role] = int(2 * ones > copies)
            return got

        def send(role: str, size: int, message: Message, stage: int) -> Generator[Ask | Coin, Any, int]:
            if stage < 2:
                return min(halves[role], size - 1)
            received = 0
            for place in reversed(range(bits_of(size))):
                bit = yield from vote(stage << 32 | place, {role: _place(message, place)})
                received = received << 1 | bit[role]
            return min(received, size - 1)

        halves = dict.fromkeys(PARTIES, 0)
        for place in range(max(bits_of(size) for size in sizes.values())):
            half = _place(lambda x: level_of(x) // 2, place)
            got = yield from vote(place, {r: half for r in PARTIES if place < bits_of(sizes[r])})
            for role, bit in got.items():
                halves[role] |= bit << place
        return (yield from conversation(arity, depth, send))

    return steps


def _place(message: Message, place: int) -> Message:
    return lambda x: message(x) >> place & 1


def _signed(bits: dict[str, Message], row: int) -> Callable[[Any], int | None]:
    """Return a user's bit under its role's sign, or None (a fair coin) if its role is not asked."""
    return lambda x: bits[x[0]](x) ^ row >> (x[0] == BOB) & 1 if x[0] in bits else None


def announce_shape(arity: int, depth: int) -> tuple[int, int]:
    """Return the cohorts of :func:`announce_both`: those that serve both roles, and the others.

    Example:
        >>> announce_shape(16, 2**16), sum(announce_shape(16, 2**16)) < announce_bits(16, 2**16)
        ((15, 8), True)
    """
    first, second = bits_of((depth + 1) // 2), bits_of(depth // 2)
    return min(first, second), abs(first - second) + 2 * bits_of(arity)


def announce_one(arity: int, depth: int, ratio: Fraction, plan: CodedPlan) -> MakeProtocol:
    """Return the sequential protocol in which Alice's layer is announced and Bob's is not.

    1. Alice's kind: the number a of its layer. 2. Bob's kind: which of plan.paths public random paths to
    layer a takes its edge (any, if its layer is not above a). 3. Alice's kind: its label at the end of that
    path. 4. Bob's kind: which of as many continuations to a leaf takes its edge (any, if its layer is above).

    Each message is cut into blocks of bits. A block is sent by a cohort: users of the right role give the
    public random sign of the block's value by randomised response, the others a fair coin; the value whose
    signs agree most is read.

    Args:
        arity: number of children of a vertex, >= 1.
        depth: layer of the leaves, >= 2.
        ratio: odds of a true sign.
        plan: list length, block length and cohort sizes, see :func:`plan_coded`.

    Proof note. A user answers one randomised response, or with a fair coin: log(ratio)-DP.
    """
    check_ratio(ratio)

    def steps() -> Steps:
        pool = Pool(plan.users)
        signs = Signs((yield Coin(KEY)))

        def send(role: str, size: int, message: Message, stage: int) -> Generator[Ask | Coin, Any, int]:
            got = yield from ask_blocks(
                signs,
                stage,
                lambda block: pool.take(plan.cohort(block)).users,
                width=bits_of(size),
                block=plan.block,
                messages={role: message},
                ratio=ratio,
            )
            return min(got[role], size - 1)

        return (yield from _one_layer(arity, depth, plan.paths, send))

    return steps


def conversation(
    arity: int, depth: int, send: Callable[[str, int, Message, int], Generator[Any, Any, int]]
) -> Generator[Any, Any, Path]:
    """Announce both levels, then walk: labels at the two layers, public stretches elsewhere.

    Raises:
        ArgumentError: unless ``arity`` is an integer >= 1 and ``depth`` one >= 2.
    """
    check_integer("arity", arity, 1)
    check_integer("depth", depth, 2)
    sizes = {ALICE: (depth + 1) // 2, BOB: depth // 2}
    levels = {}
    for stage, role in enumerate(PARTIES):
        half = yield from send(role, sizes[role], lambda x: level_of(x) // 2, stage)
        levels[role] = 2 * half + (role == BOB)
    path = Path()
    for stage, role in enumerate(sorted(PARTIES, key=levels.__getitem__), 2):
        path = skip(path, levels[role], arity, (yield Coin(KEY)))
        vertex = path
        message = _label(levels[role], vertex)
        path = path.then((yield from send(role, arity, message, stage)))
    return skip(path, depth, arity, (yield Coin(KEY)))


def _one_layer(
    arity: int, depth: int, paths: int, send: Callable[[str, int, Message, int], Generator[Any, Any, int]]
) -> Generator[Any, Any, Path]:
    """Announce Alice's layer; Bob's kind chooses the path above it, then the one below it."""
    level = 2 * (yield from send(ALICE, (depth + 1) // 2, lambda x: level_of(x) // 2, 0))
    key = yield Coin(2**64)
    above = [skip(Path(), level, arity, key << 32 | i) for i in range(paths)]
    path = above[(yield from send(BOB, paths, first_taking(above), 1))]
    path = path.then((yield from send(ALICE, arity, _label(level, path), 2)))
    key = yield Coin(2**64)
    below = [skip(path, depth, arity, key << 32 | i) for i in range(paths)]
    return below[(yield from send(BOB, paths, first_taking(below), 3))]


def _label(level: int, vertex: Path) -> Message:
    """Return the label at a vertex; 0 if the level was misunderstood."""
    return lambda x: label_of(x, vertex) if level_of(x) == level else 0


@dataclass(frozen=True)
class CodedPlan:
    """Sizes for :func:`announce_one`: blocks of at most `block` bits, one cohort each.

    Attributes:
        paths: length of a list of public random paths.
        block: bits of a full block.
        cohorts: bits of a block -> users.
        users: of all blocks.
        success: a lower bound on the probability of a right answer.
    """

    paths: int
    block: int
    cohorts: tuple[tuple[int, int], ...]
    users: int
    success: float

    def blocks(self, bits: int) -> list[int]:
        """Return the lengths of the blocks of a message."""
        return blocks_of(bits, self.block)

    def cohort(self, block: int) -> int:
        """Return the number of users of a block."""
        return dict(self.cohorts)[block]


@lru_cache(maxsize=256)
def plan_coded(arity: int, depth: int, ratio: Fraction, target: float = 0.9) -> CodedPlan:
    """Return the plan with the fewest users, over blocks of 1 to 16 bits and three list lengths.

    A list of L random paths holds one with Bob's edge with probability 1 - (1 - 1/arity)^L, and only the list
    that covers Bob's layer matters. Cohorts are disjoint and roles fair, so that blocks are independent: each
    of N blocks gets the N-th root of what is left of the target.

    Raises:
        ArgumentError: unless ``arity`` is an integer >= 1.
        CapacityError: on a target above 0.9999.

    Example:
        >>> from geomdp.local.finite import odds
        >>> plan = plan_coded(16, 2**16, odds(1))
        >>> plan.success >= 0.9, plan.users < announce_users(16, 2**16, odds(1)) / 2
        (True, True)
    """
    check_integer("arity", arity, 1)
    check_target(target)
    plans = [
        plan
        for paths in {1 if arity == 1 else arity << extra for extra in (2, 3, 4)}
        for block in range(1, BLOCK + 1)
        if (plan := _coded(arity, depth, ratio, target, paths=paths, block=block)) is not None
    ]
    if not plans:
        raise CapacityError("target", "at most 0.9999", describe(target), "Longer lists would be needed.")
    return min(plans, key=lambda plan: (plan.users, plan.paths, plan.block))


def _coded(
    arity: int, depth: int, ratio: Fraction, target: float, *, paths: int, block: int
) -> CodedPlan | None:
    found = 1 - (1 - 1 / arity) ** paths
    if found <= target:
        return None
    counts: dict[int, int] = {}
    for size in ((depth + 1) // 2, paths, arity, paths):
        for part, number in ((block, bits_of(size) // block), (bits_of(size) % block, 1)):
            if part and number:
                counts[part] = counts.get(part, 0) + number
    wanted = (target / found) ** (1 / max(sum(counts.values()), 1))
    rates = code_rates(ratio)
    cohorts = {part: stage_users(1 << part, rates, min(wanted * (1 + 1e-14), 1 - 1e-12)) for part in counts}
    users = sum(cohorts[part] * number for part, number in counts.items())
    chances = (stage_success(cohorts[part], 1 << part, rates) ** number for part, number in counts.items())
    return CodedPlan(paths, block, tuple(sorted(cohorts.items())), users, found * math.prod(chances))


def announce_users(arity: int, depth: int, ratio: Fraction, target: float = 0.9) -> int:
    """Return the users of :func:`announce` with each bit sent by the least odd cohort.

    All bits arrive right with probability >= target. Cohorts are disjoint, hence independent.

    Example:
        >>> from geomdp.local.finite import odds
        >>> announce_users(4, 16, odds(1))
        970
    """
    bits, wanted = announce_bits(arity, depth), check_target(target)
    return bits * majority_users(ratio, wanted ** (1 / bits)) if bits else 0


def announce_success(arity: int, depth: int, ratio: Fraction, copies: int) -> float:
    """Return the probability that all bits arrive, each by the majority of `copies` fresh users."""
    return majority_success(copies, ratio) ** announce_bits(arity, depth)


@lru_cache(maxsize=256)
def together_users(arity: int, depth: int, ratio: Fraction, target: float = 0.9) -> int:
    """Return the users of :func:`announce_both` with the least odd cohorts that succeed with the target.

    Raises:
        ArgumentError: unless ``ratio`` is a number > 1: at 1 the answers do not depend on the inputs.

    Example:
        >>> from geomdp.local.finite import odds
        >>> together_users(16, 2**16, odds(1)) < announce_users(16, 2**16, odds(1))
        True
    """
    shared, alone = announce_shape(arity, depth)
    if not shared + alone:
        return 0
    if check_ratio(ratio) == 1:
        raise ArgumentError("ratio", "a number > 1", "1", "At 1 the answers do not depend on the inputs.")
    half = least_users(lambda n: together_success(arity, depth, ratio, 2 * n - 1), target)
    return (shared + alone) * (2 * half - 1)


def together_success(arity: int, depth: int, ratio: Fraction, copies: int) -> float:
    """Return the probability that all bits of :func:`announce_both` arrive: cohorts are independent."""
    shared, alone = announce_shape(arity, depth)
    return both_majority_success(copies, ratio) ** shared * majority_success(copies, ratio) ** alone
