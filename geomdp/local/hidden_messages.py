"""Messages of one role to everybody, sent by cohorts of fresh users under public random signs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from fractions import Fraction
from typing import Any

from geomdp.core.errors import check_integer
from geomdp.local.hidden_layers import BOB, Path, label_of, level_of
from geomdp.local.kernels import RandomisedResponse
from geomdp.local.protocol import Ask, Coin
from geomdp.local.signs import Signs, elect

#: Input of a user of the right role -> message in 0..size-1.
Message = Callable[[Any], int]


def bits_of(size: int) -> int:
    """Return the number of bits of a message in 0..size-1.

    Raises:
        ArgumentError: unless ``size`` is an integer >= 1.
    """
    return (check_integer("size", size, 1) - 1).bit_length()


def ask_coded(
    signs: Signs, stage: int, users: range, *, size: int, role: str, message: Message, ratio: Fraction
) -> Generator[Ask | Coin, Any, int]:
    """Ask a cohort for a message of one role by random signs, and return the value that agrees most."""
    read = yield from ask_both(signs, stage, users, sizes={role: size}, messages={role: message}, ratio=ratio)
    return read[role]


def ask_both(
    signs: Signs,
    stage: int,
    users: range,
    *,
    sizes: Mapping[str, int],
    messages: Mapping[str, Message],
    ratio: Fraction,
) -> Generator[Ask | Coin, Any, dict[str, int]]:
    """Ask one cohort for a message of each role at once, and return role -> the value that agrees most.

    A user has a public random sign for each value of each role, and sends the sign of its own role's message
    by randomised response; a user of a role that is not asked sends a fair coin. To the signs of the other
    role its answer is a fair coin, whatever it says about its own message, because the rows of signs are
    independent. Given the number of users of each role the two votes are therefore independent, each with
    its own users knowing: :func:`~geomdp.local.votes.both_success` is their exact law.

    Args:
        signs: public signs.
        stage: number of the question, another one for each question of a run.
        users: the cohort.
        sizes: role -> number of values.
        messages: role -> input of a user of that role -> its message.
        ratio: odds of a true sign, >= 1.

    Proof note. A user answers one randomised response about a bit that its input and public signs determine,
    or with a fair coin: log(ratio)-DP, its role included.
    """
    stages = {role: stage << 1 | (role == BOB) for role in sizes}
    rows = {role: {user: signs.row(stages[role], user, sizes[role]) for user in users} for role in sizes}

    def kernel(user: int) -> RandomisedResponse:
        own = {role: row[user] for role, row in rows.items()}
        return RandomisedResponse(
            ratio, lambda x: own[x[0]] >> messages[x[0]](x) & 1 if x[0] in own else None
        )

    bits = yield Ask.each(users, kernel)
    read = {}
    for role, size in sizes.items():
        read[role] = yield from elect(signs.scores(stages[role], users, size, bits))
    return read


def blocks_of(bits: int, block: int) -> list[int]:
    """Return the lengths of the blocks into which a message of so many bits is cut.

    Example:
        >>> blocks_of(7, 3), blocks_of(0, 3)
        ([3, 3, 1], [])
    """
    return [block] * (bits // block) + ([bits % block] if bits % block else [])


def ask_blocks(
    signs: Signs,
    stage: int,
    cohort: Callable[[int], range],
    *,
    width: int,
    block: int,
    messages: Mapping[str, Message],
    ratio: Fraction,
) -> Generator[Ask | Coin, Any, dict[str, int]]:
    """Ask for long messages block by block, a cohort for a block of every role; return role -> message.

    Args:
        signs: public signs.
        stage: number of the question, another one for each question of a run.
        cohort: bits of a block -> fresh users for it.
        width: bits of the messages.
        block: bits of a full block.
        messages: role -> input of a user of that role -> its message.
        ratio: odds of a true sign, >= 1.

    Proof note. As for :func:`ask_both`, if the cohorts are disjoint: one answer per user.
    """
    received, left = dict.fromkeys(messages, 0), width
    for number, size in enumerate(blocks_of(width, block)):
        left -= size
        read = yield from ask_both(
            signs,
            stage << 32 | number,
            cohort(size),
            sizes=dict.fromkeys(messages, 1 << size),
            messages={role: _part(message, left, size) for role, message in messages.items()},
            ratio=ratio,
        )
        received = {role: before << size | read[role] for role, before in received.items()}
    return received


def _part(message: Message, shift: int, block: int) -> Message:
    return lambda x: message(x) >> shift & (1 << block) - 1


def takes_edge(x: Any, path: Path) -> bool:
    """Return whether a path takes a user's edge; False if it ends above the user's layer."""
    level = level_of(x)
    return level < path.length and path.child(level) == label_of(x, path.prefix(level))


def first_taking(paths: list[Path]) -> Message:
    """Return the message: which path is the first to take the user's edge; 0 if none does."""
    return lambda x: next((i for i, path in enumerate(paths) if takes_edge(x, path)), 0)
