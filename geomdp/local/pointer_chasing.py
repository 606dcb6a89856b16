"""Pointer chasing: one round more of interaction saves a factor of about l in the number of users.

Alice holds a vector a, Bob a vector b, of l pointers each. The pointers p_0 = 0, p_t = a[p_(t-1)] for odd t,
b[p_(t-1)] for even t, are to be followed up to p_k. With k rounds each round finds one pointer. With k - 1
rounds the last pointer must be asked for before it is known where it starts: every entry of the last vector
is asked for, and all but one of the answers are wasted. That this is about the best possible is a theorem
(M. Joseph, J. Mao, A. Roth, Exponential Separations in Local Differential Privacy, Section 6, after N. Nisan
and A. Wigderson).

Users hold ("Alice", a) or ("Bob", b), roles are fair coins, and every user answers with one bit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_integer
from geomdp.local.finite import check_ratio
from geomdp.local.kernels import RoleRR
from geomdp.local.models import Cohort, Pool
from geomdp.local.protocol import Ask, Coin, MakeProtocol, Steps
from geomdp.local.signs import Signs, check_key, elect, keyed_integer, toss_signs
from geomdp.local.votes import code_rates, least_users, majority_success, stage_success, stage_users
from geomdp.protocol.transcript import PARTIES

Vector = tuple[int, ...]
_BLOCK_BITS = 16  # a message of the last vector has at most 2^16 values


@dataclass(frozen=True)
class Pointers:
    """An instance: two vectors of l pointers.

    Args:
        a: Alice's, entries in 0..l-1.
        b: Bob's.

    Raises:
        ArgumentError: unless both are vectors of one length >= 1 whose entries are positions in them.

    Example:
        >>> Pointers((2, 0, 1), (1, 1, 0)).chase(3)
        (2, 0, 2)
    """

    a: Vector
    b: Vector

    def __post_init__(self) -> None:
        for name, vector in (("a", self.a), ("b", self.b)):
            if len(vector) != len(self.a) or not vector:
                raise ArgumentError(name, "a vector of the common length >= 1", f"one of {len(vector)}")
            for pointer in vector:
                check_integer(name, pointer, 0, len(vector) - 1)

    @classmethod
    def draw(cls, size: int, key: int) -> Pointers:
        """Return the instance of a key, with uniform pointers.

        Raises:
            ArgumentError: unless ``size`` is an integer >= 1 and ``key`` one >= 0.
        """
        check_integer("size", size, 1)
        check_integer("key", key, 0)
        rows = [tuple(keyed_integer(size, key, role, i) for i in range(size)) for role in PARTIES]
        return cls(*rows)

    @property
    def size(self) -> int:
        """The number l of pointers in a vector."""
        return len(self.a)

    def vector(self, role: str) -> Vector:
        """Return the vector of "Alice" or "Bob"."""
        return self.a if role == PARTIES[0] else self.b

    def chase(self, k: int) -> Vector:
        """Return p_1, ..., p_k.

        Raises:
            ArgumentError: unless ``k`` is an integer >= 1.
        """
        found: list[int] = []
        for step in range(1, check_integer("k", k, 1) + 1):
            found.append(self.vector(owner(step))[found[-1] if found else 0])
        return tuple(found)

    def users(self, roles: Sequence[str]) -> list[tuple[str, Vector]]:
        """Return one input per role."""
        return [(role, self.vector(role)) for role in roles]


def owner(step: int) -> str:
    """Return who knows p_step: Alice for odd steps, Bob for even ones."""
    return PARTIES[1 - step % 2]


def chase_rounds(k: int, size: int, users: int, ratio: Fraction, key: int | None = None) -> MakeProtocol:
    """Return the sequential protocol of k rounds: a fresh cohort finds one pointer per round.

    A user of the right role sends the public random sign of the next pointer by randomised response, others
    a fair coin; the pointer whose signs agree with most answers is followed. The answer is (p_1, ..., p_k)
    as found.

    Args:
        k: number of pointers, >= 1.
        size: l >= 1.
        users: users in each round, >= 1; k * users in all.
        ratio: odds of a true sign, e.g. odds(epsilon).
        key: of the public signs, >= 0; None tosses one as a public coin.

    Raises:
        ArgumentError: when an argument is out of range.

    Proof note. Every user answers once, by RoleRR of odds `ratio`: log(ratio)-DP, its role included. Signs
    and earlier pointers are public.

    Example:
        >>> from geomdp.local.models import Sequential
        >>> from geomdp.local.protocol import run
        >>> instance = Pointers((2, 0, 1), (1, 1, 0))
        >>> inputs = instance.users(["Alice", "Bob"] * 30)
        >>> run(chase_rounds(2, 3, 30, Fraction(10**6)), inputs, Sequential(rounds=2), rng=0).answer
        (2, 0)
    """
    _check(k, size, users)
    odds, key = check_ratio(ratio), check_key(key)

    def steps() -> Steps:
        pool, signs = Pool(k * users), (yield from toss_signs(key))
        found = [0]
        for step in range(1, k + 1):
            cohort = pool.take(users)
            bits = yield _question(signs, step, cohort, size=size, ratio=odds, place=found[-1])
            found.append((yield from elect(signs.scores(step, cohort.users, size, bits))))
        return tuple(found[1:])

    return steps


@dataclass(frozen=True)
class EarlyPlan:
    """Cohorts of :func:`chase_early`.

    Attributes:
        users: for each of p_1, ..., p_(k-1).
        last: for each block of entries of the last vector.
        block: entries in a block, >= 1.
    """

    users: int
    last: int
    block: int = 1

    def total(self, k: int, size: int) -> int:
        """Return the users of all cohorts."""
        return (k - 1) * self.users + -(-size // self.block) * self.last


def chase_early(k: int, size: int, plan: EarlyPlan, ratio: Fraction, key: int | None = None) -> MakeProtocol:
    """Return the sequential protocol of k - 1 rounds, k >= 2: the last pointer is asked for in advance.

    The last round holds the cohort of p_(k-1), and a cohort for each block of entries of the last vector,
    whose entries make one of l^block messages. Once p_(k-1) is known, only the answers about its block are
    read.

    Args:
        k: number of pointers, >= 2.
        size: l >= 1.
        plan: cohorts, e.g. of :func:`plan_early`.
        ratio: odds of a true sign.
        key: of the public signs.

    Raises:
        ArgumentError: unless ``k`` is an integer >= 2 and ``key`` None or one >= 0.

    Proof note. As for :func:`chase_rounds`: one answer per user.

    Example:
        >>> from geomdp.local.models import NonInteractive
        >>> from geomdp.local.protocol import run
        >>> instance = Pointers((2, 0, 1), (1, 1, 0))
        >>> inputs = instance.users(["Alice", "Bob"] * 60)
        >>> early = chase_early(2, 3, EarlyPlan(30, 30), Fraction(10**6))
        >>> run(early, inputs, NonInteractive(), rng=0).answer
        (2, 0)
    """
    check_integer("k", k, 2)
    _check(k, size, min(plan.users, plan.last, plan.block))
    odds, key = check_ratio(ratio), check_key(key)
    users, last, block = plan.users, plan.last, plan.block
    cells, messages = -(-size // block), size**block

    def steps() -> Steps:
        pool, signs = Pool(plan.total(k, size)), (yield from toss_signs(key))
        found = [0]
        for step in range(1, k - 1):
            cohort = pool.take(users)
            bits = yield _question(signs, step, cohort, size=size, ratio=odds, place=found[-1])
            found.append((yield from elect(signs.scores(step, cohort.users, size, bits))))
        cohort, ahead = pool.take(users), pool.take(cells * last)
        ask = _question(signs, k - 1, cohort, size=size, ratio=odds, place=found[-1])
        rows = {user: signs.row(k, user, messages) for user in ahead.users}
        first = ahead.users.start
        early = ahead.ask(
            lambda u: RoleRR(owner(k), odds, _block_sign((u - first) // last, block, size, rows[u]))
        )
        bits = yield Ask((*ask.queries, *early.queries))
        found.append((yield from elect(signs.scores(k - 1, cohort.users, size, bits[:users]))))
        start = found[-1] // block * last
        answers = bits[users + start : users + start + last]
        scores = signs.scores(k, ahead.users[start : start + last], messages, answers)
        message = yield from elect(scores)
        found.append(message // size ** (found[-1] % block) % size)
        return tuple(found[1:])

    return steps


def _question(signs: Signs, step: int, cohort: Cohort, *, size: int, ratio: Fraction, place: int) -> Ask:
    """Ask each user for the sign of the pointer at a place."""
    kernels = {
        user: RoleRR(owner(step), ratio, _sign(place, signs.row(step, user, size))) for user in cohort.users
    }
    return cohort.ask(kernels.__getitem__)


def _sign(place: int, row: int) -> Callable[[Any], int]:
    return lambda vector: row >> vector[place] & 1


def _block_sign(cell: int, block: int, size: int, row: int) -> Callable[[Vector], int]:
    """Return the sign of a block: entry j of it counts size^j."""

    def sign(vector: Vector) -> int:
        entries = vector[cell * block : (cell + 1) * block]
        return row >> sum(entry * int(size**j) for j, entry in enumerate(entries)) & 1

    return sign


def chase_bits(k: int, size: int, users: int, ratio: Fraction) -> MakeProtocol:
    """Return the sequential protocol of k rounds that reads a pointer bit by bit.

    User u of a cohort answers about bit u mod log2(l) of the pointer; a majority, or a public coin, decides
    each bit. A pointer above l - 1 is read as l - 1.

    Args:
        k: number of pointers, >= 1.
        size: l >= 2.
        users: users in each round, >= 1.
        ratio: odds of a true bit.

    Raises:
        ArgumentError: unless ``size`` is an integer >= 2.

    Proof note. As for :func:`chase_rounds`: one randomised response per user.
    """
    _check(k, size, users)
    width = (check_integer("size", size, 2) - 1).bit_length()
    odds = check_ratio(ratio)

    def steps() -> Steps:
        pool, found = Pool(k * users), [0]
        for step in range(1, k + 1):
            kernels = [RoleRR(owner(step), odds, _digit(found[-1], digit)) for digit in range(width)]
            cohort = pool.take(users)
            questions = {u: kernels[i % width] for i, u in enumerate(cohort.users)}
            bits = yield cohort.ask(questions.__getitem__)
            found.append((yield from _read(bits, width, size)))
        return tuple(found[1:])

    return steps


def _digit(place: int, digit: int) -> Callable[[Any], int]:
    return lambda vector: vector[place] >> digit & 1


def _read(bits: Sequence[int], width: int, size: int) -> Generator[Coin, int, int]:
    pointer = 0
    for digit in range(width):
        votes = bits[digit::width]
        ones = sum(votes)
        pointer |= (yield from elect([len(votes) - ones, ones])) << digit
    return min(pointer, size - 1)


def code_users(size: int, ratio: Fraction, target: float = 0.95) -> int:
    """Return the least cohort that finds one of `size` pointers by signs with probability >= target."""
    return stage_users(size, code_rates(ratio), target)


def bit_success(users: int, size: int, ratio: Fraction) -> float:
    """Return the probability that a cohort reads a pointer bit by bit, exactly for a power of two.

    Raises:
        ArgumentError: unless ``size`` is an integer >= 2 and ``users`` is an integer >= 0.
    """
    width = (check_integer("size", size, 2) - 1).bit_length()
    each, more = divmod(check_integer("users", users, 0), width)
    return majority_success(each + 1, ratio) ** more * majority_success(each, ratio) ** (width - more)


def bit_users(size: int, ratio: Fraction, target: float = 0.95) -> int:
    """Return the least cohort that reads a pointer bit by bit with probability >= target.

    Example:
        >>> from geomdp.local.kernels import odds
        >>> bit_users(1024, odds(1)) > 2 * code_users(1024, odds(1))
        True
    """
    return least_users(lambda n: bit_success(n, size, ratio), target)


def rounds_users(k: int, size: int, ratio: Fraction, target: float = 0.95) -> int:
    """Return the users of :func:`chase_rounds` when each pointer is found with probability >= target.

    Raises:
        ArgumentError: unless ``k`` is an integer >= 1.
    """
    return check_integer("k", k, 1) * code_users(size, ratio, target)


@lru_cache(maxsize=256)
def plan_early(
    k: int, size: int, ratio: Fraction, target: float = 0.95, most_bits: int = _BLOCK_BITS
) -> EarlyPlan:
    """Return the plan with the fewest users that finds each pointer with probability >= target.

    Args:
        k: number of pointers, >= 2.
        size: l >= 1.
        ratio: odds of a true sign.
        target: success of each cohort that is read.
        most_bits: blocks have at most 2^most_bits messages; 0 asks for every entry on its own.

    Raises:
        ArgumentError: unless ``k`` is an integer >= 2 and ``most_bits`` one >= 0.

    Example:
        >>> from geomdp.local.kernels import odds
        >>> plan_early(2, 16, odds(1), most_bits=0).block, plan_early(2, 16, odds(1)).block
        (1, 4)
    """
    check_integer("most_bits", most_bits, 0)
    users = code_users(size, ratio, target)
    plans = [
        EarlyPlan(users, code_users(size**block, ratio, target), block)
        for block in range(1, size + 1)
        if block == 1 or size**block <= 2**most_bits
    ]
    return min(plans, key=lambda plan: plan.total(check_integer("k", k, 2), size))


def early_users(k: int, size: int, ratio: Fraction, target: float = 0.95) -> int:
    """Return the users of :func:`chase_early` when each pointer is found with probability >= target.

    Example:
        >>> from geomdp.local.kernels import odds
        >>> early_users(2, 64, odds(1)) / rounds_users(2, 64, odds(1)) > 64 / 4
        True
    """
    return plan_early(k, size, ratio, target).total(k, size)


def chase_success(k: int, size: int, users: int, ratio: Fraction) -> float:
    """Return the probability that :func:`chase_rounds` finds every pointer: cohorts are independent."""
    return stage_success(users, size, code_rates(ratio)) ** k


def early_success(k: int, size: int, budget: int, ratio: Fraction) -> float:
    """Return the best probability of finding every pointer in k - 1 rounds with a given number of users.

    All block lengths up to 2^16 messages are tried, and all splits of the users between the cohorts of
    p_1, ..., p_(k-1) (equal ones) and those of the last vector's blocks (equal ones).

    Raises:
        ArgumentError: unless ``k`` is an integer >= 2 and ``budget`` is an integer >= 0.
    """
    check_integer("k", k, 2)
    check_integer("budget", budget, 0)
    rates, best = code_rates(ratio), 0.0
    for block in range(1, size + 1):
        if block > 1 and size**block > 2**_BLOCK_BITS:
            break
        cells = -(-size // block)
        for last in range(budget // cells + 1):
            users = (budget - cells * last) // (k - 1)
            found = stage_success(users, size, rates) ** (k - 1)
            best = max(best, found * stage_success(last, size**block, rates))
    return best


def simulate_chase(
    instance: Pointers, k: int, users: Sequence[int], ratio: Fraction, rng: np.random.Generator
) -> Vector:
    """Simulate the signs and answers of the users that are read; returns the pointers as found.

    Args:
        instance: the vectors.
        k: number of pointers.
        users: size of the cohort that is read for each pointer: equal numbers for :func:`chase_rounds`; for
            :func:`chase_early` with blocks of one entry, the last one is that of one entry, as answers about
            other entries are not read.
        ratio: odds of a true sign.
        rng: of the simulation.

    Raises:
        ArgumentError: unless ``users`` holds one cohort size >= 0 for each of the k steps.

    Example:
        >>> instance = Pointers.draw(256, key=1)
        >>> found = simulate_chase(instance, 3, [60] * 3, Fraction(10**9), np.random.default_rng(0))
        >>> found == instance.chase(3)
        True
    """
    if len(users) != k:
        raise ArgumentError("users", f"{k} cohort sizes", f"{len(users)} numbers")
    for n in users:
        check_integer("users", n, 0)
    found = [0]
    for step, n in enumerate(users, 1):
        pointer = instance.vector(owner(step))[found[-1]]
        scores = _scores(instance.size, pointer, n, float(ratio / (1 + ratio)), rng)
        best = np.flatnonzero(scores == scores.max())
        found.append(int(best[rng.integers(len(best))]))
    return tuple(found[1:])


def _scores(size: int, pointer: int, users: int, keep: float, rng: np.random.Generator) -> NDArray[np.int64]:
    signs = rng.integers(0, 2, (users, size), dtype=np.uint8)
    knows = rng.random(users) < 0.5
    flipped = rng.random(users) >= np.where(knows, keep, 0.5)
    return np.asarray((signs == (signs[:, pointer] ^ flipped).reshape(-1, 1)).sum(axis=0))


def _check(k: int, size: int, users: int) -> None:
    check_integer("k", k, 1)
    check_integer("size", size, 1)
    check_integer("users", users, 1)
