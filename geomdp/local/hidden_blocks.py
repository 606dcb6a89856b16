"""Both hidden layers announced in a block code, one cohort for a block of each role.

It completes :mod:`geomdp.local.hidden_baselines`, whose :func:`announce_both` shares cohorts bit by bit. Here
the two numbers are cut into blocks of up to 16 bits, and a cohort sends a block of both at once. The labels
on the common path depend on what was found before, and have cohorts of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from geomdp.core.errors import check_integer
from geomdp.local.finite import check_ratio
from geomdp.local.hidden_baselines import BLOCK, conversation
from geomdp.local.hidden_layers import level_of
from geomdp.local.hidden_messages import Message, ask_blocks, bits_of, blocks_of
from geomdp.local.models import Pool
from geomdp.local.protocol import Ask, Coin, MakeProtocol, Steps
from geomdp.local.signs import KEY, Signs
from geomdp.local.votes import (
    both_success,
    check_target,
    code_rates,
    shared_users,
    stage_success,
    stage_users,
)
from geomdp.protocol.transcript import PARTIES


@dataclass(frozen=True)
class SharedPlan:
    """Sizes for :func:`announce_blocks`.

    Attributes:
        block: bits of a full block.
        shared: bits of a block of the layers' numbers -> users who send one of each role.
        alone: bits of a block of a label -> users who send it.
        users: of all blocks.
        success: a lower bound on the probability of a right answer.
    """

    block: int
    shared: tuple[tuple[int, int], ...]
    alone: tuple[tuple[int, int], ...]
    users: int
    success: float


def announce_blocks(arity: int, depth: int, ratio: Fraction, plan: SharedPlan) -> MakeProtocol:
    """Return the sequential protocol that announces both layers at once, in a block code.

    Args:
        arity: number of children of a vertex, >= 1.
        depth: layer of the leaves, >= 2.
        ratio: odds of a true sign.
        plan: block length and cohort sizes, see :func:`plan_blocks`.

    Proof note. A user answers one randomised response in the run, about a bit that its input and public signs
    determine, or with a fair coin: log(ratio)-DP, its role included.
    """
    check_ratio(ratio)
    shared, alone = dict(plan.shared), dict(plan.alone)
    half = dict.fromkeys(PARTIES, _half)

    def steps() -> Steps:
        pool, signs = Pool(plan.users), Signs((yield Coin(KEY)))
        ask = functools.partial(ask_blocks, signs, block=plan.block, ratio=ratio)
        numbers = yield from ask(
            0, lambda bits: pool.take(shared[bits]).users, width=bits_of((depth + 1) // 2), messages=half
        )

        def send(role: str, size: int, message: Message, stage: int) -> Generator[Ask | Coin, Any, int]:
            if stage < len(PARTIES):
                return min(numbers[role], size - 1)
            read = yield from ask(
                stage,
                lambda bits: pool.take(alone[bits]).users,
                width=bits_of(size),
                messages={role: message},
            )
            return min(read[role], size - 1)

        return (yield from conversation(arity, depth, send))

    return steps


def _half(x: Any) -> int:
    return level_of(x) // 2


@lru_cache(maxsize=256)
def plan_blocks(arity: int, depth: int, ratio: Fraction, target: float = 0.9) -> SharedPlan:
    """Return the plan with the fewest users, over blocks of 1 to 16 bits.

    With S shared blocks and L blocks of labels, 2 S + L messages must arrive, each with the (2 S + L)-th root
    of the target if they were independent. Cohorts are; the two messages of a cohort are charged by their
    exact joint law. Plans are certified in the order of a lower bound of their users.

    Args:
        arity: number of children of a vertex, >= 1.
        depth: layer of the leaves, >= 2.
        ratio: odds of a true sign, > 1.
        target: success, between 0 and 1.

    Raises:
        ArgumentError: unless ``arity`` is an integer >= 1, ``depth`` one >= 2 and ``target`` lies between 0
            and 1.

    Example:
        >>> from geomdp.local.finite import odds
        >>> from geomdp.local.hidden_baselines import plan_coded
        >>> plan = plan_blocks(16, 2**16, odds(1))
        >>> plan.success >= 0.9, plan.users < 0.9 * plan_coded(16, 2**16, odds(1)).users
        (True, True)
    """
    check_integer("arity", arity, 1)
    check_integer("depth", depth, 2)
    check_target(target)
    width, label, rates = bits_of((depth + 1) // 2), bits_of(arity), code_rates(ratio)
    guesses = []
    for block in range(1, BLOCK + 1):
        numbers, labels = _counts(width, block), _counts(label, block)
        total = 2 * (sum(numbers.values()) + sum(labels.values()))
        each = min(target ** (1 / max(total, 1)) * (1 + 1e-14), 1 - 1e-12)
        alone = {size: stage_users(1 << size, rates, each) for size in labels}
        rest = sum(2 * count * alone[size] for size, count in labels.items())
        least = rest + sum(n * stage_users(1 << size, rates, each) for size, n in numbers.items())
        guesses.append((least, block, each, rest, numbers, labels, alone))
    best: SharedPlan | None = None
    for least, block, each, rest, numbers, labels, alone in sorted(guesses, key=lambda guess: guess[:2]):
        if best is not None and least >= best.users:
            break
        shared = {size: shared_users(1 << size, rates, each) for size in numbers}
        success = 1.0
        for size, count in numbers.items():
            success *= both_success(shared[size], 1 << size, rates) ** count
        for size, count in labels.items():
            success *= stage_success(alone[size], 1 << size, rates) ** (2 * count)
        users = rest + sum(count * shared[size] for size, count in numbers.items())
        if best is None or users < best.users:
            best = SharedPlan(block, tuple(shared.items()), tuple(alone.items()), users, success)
    assert best is not None  # noqa: S101 - the first guess is certified
    return best


def _counts(width: int, block: int) -> dict[int, int]:
    """Return bits of a block -> the number of such blocks of a message."""
    found: dict[int, int] = {}
    for size in blocks_of(width, block):
        found[size] = found.get(size, 0) + 1
    return found
