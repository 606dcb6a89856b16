"""Coding for two-party protocols over a noisy channel with feedback: majority, and a walk that backtracks.

Both parties see every bit as it arrived, so no tree codes are needed. Failure probabilities are binomial
tails, enclosed in rationals; a number of repetitions is the least one that is certified.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from geomdp.core.errors import ArgumentError, CapacityError, check_beta, check_integer, describe
from geomdp.local.finite import check_probability
from geomdp.local.protocol import Coin, called
from geomdp.local.twoparty import Bit, TwoPartyProtocol, TwoPartySteps, chance_of, played, step_of
from geomdp.privacy.enclosure import Interval
from geomdp.protocol.transcript import PARTIES

_MOST = 10**7  # copies of one bit; beyond, an enclosure takes minutes
_BITS = 256  # binary digits after the point of a binomial tail


def binomial_tail(n: int, k: int, p: Fraction) -> Interval:
    """Return an enclosure of P(Bin(n, p) >= k), as a rule less than 2^-200 wide.

    For k below the mean the complement is taken, so that the terms fall from k on. The term at k is a product
    of n factors more or less, and the next ones follow by their quotients; each operation is rounded outward
    to a multiple of 2^-256. The sum stops when a term is below one unit and the quotient below 1/2: quotients
    decrease from there on, so that a geometric series bounds the rest.

    Args:
        n: number of trials, >= 0.
        k: least number of successes.
        p: probability of success, in [0, 1].

    Raises:
        ArgumentError: unless ``n`` is an integer >= 0.

    Example:
        >>> tail = binomial_tail(3, 2, Fraction(1, 4))
        >>> tail.lo <= Fraction(10, 64) <= tail.hi, tail.hi - tail.lo < Fraction(1, 2**200)
        (True, True)
    """
    check_integer("n", n, 0)
    chance = check_probability("p", p)
    if k <= 0 or k > n or chance in (0, 1):
        return Interval.of(int(k <= 0 or (k <= n and chance == 1)))
    if k < n * chance:
        rest = _falling_tail(n, n - k + 1, 1 - chance)
        return Interval(1 - rest.hi, 1 - rest.lo)
    return _falling_tail(n, k, chance)


def _falling_tail(n: int, k: int, p: Fraction) -> Interval:
    """Return an enclosure of P(Bin(n, p) >= k) for k from about the mean on."""
    low, high = _binomial_term(n, k, p)
    up, down = p.numerator, p.denominator - p.numerator
    total_low, total_high = low, high
    for i in range(k, n):
        top, bottom = (n - i) * up, (i + 1) * down
        low, high = low * top // bottom, -(-high * top // bottom)
        total_low, total_high = total_low + low, total_high + high
        if high <= 1 and 2 * top < bottom:
            total_high += 2  # all later quotients are below 1/2
            break
    unit = 1 << _BITS
    return Interval(Fraction(total_low, unit), min(Fraction(total_high, unit), Fraction(1)))


def _binomial_term(n: int, k: int, p: Fraction) -> tuple[int, int]:
    """Return lo, hi enclosing 2^256 C(n, k) p^k (1-p)^(n-k); factors are ordered to keep products near 1."""
    unit = 1 << _BITS
    up, down, whole = p.numerator, p.denominator - p.numerator, p.denominator
    low = high = unit
    chosen, missed = 0, 0
    while chosen < k or missed < n - k:
        if missed < n - k and (high > unit or chosen == k):
            top, bottom, missed = down, whole, missed + 1
        else:
            chosen += 1
            top, bottom = (n - k + chosen) * up, chosen * whole
        low, high = low * top // bottom, -(-high * top // bottom)
    return low, high


def majority_error(n: int, crossover: Fraction) -> Interval:
    """Return an enclosure of the probability that the majority of n sent copies is wrong.

    Args:
        n: number of copies, odd.
        crossover: of the channel, 0 <= crossover <= 1/2.

    Example:
        >>> majority_error(1, Fraction(1, 8)).hi - Fraction(1, 8) < Fraction(1, 2**200)
        True
    """
    return binomial_tail(_odd("n", n), (n + 1) // 2, _crossover(crossover))


def repetitions(crossover: Fraction, error: Fraction | float | str) -> int:
    """Return the least odd n for which majority_error(n) <= error is certified.

    The error decreases in n, so floats may look for n and two enclosures decide it.

    Args:
        crossover: of the channel, 0 <= crossover < 1/2.
        error: tolerated probability, 0 < error < 1.

    Raises:
        ArgumentError: when the channel transmits nothing (crossover 1/2).
        CapacityError: when more than about 10^7 copies are needed.

    Example:
        >>> repetitions(Fraction(1, 4), "0.05")
        9
    """
    c, target = _crossover(crossover), _target("error", error)
    if c == Fraction(1, 2):
        raise ArgumentError("crossover", "below 1/2", describe(c), "A fair coin carries no information.")
    half = _least(
        lambda h: majority_error(2 * h + 1, c).hi <= target,
        lambda h: _float_tail(2 * h + 1, h + 1, float(c)),
        float(target),
    )
    return 2 * half + 1


def _float_tail(n: int, k: int, p: float) -> float:
    """Return P(Bin(n, p) >= k) in floats, to look for a number that an enclosure then certifies."""
    from scipy.special import bdtrc

    return float(bdtrc(k - 1, n, p))


def _least(good: Callable[[int], bool], guess: Callable[[int], float], target: float) -> int:
    """Return the least h >= 0 with good(h), an increasing condition.

    Args:
        good: the certified condition.
        guess: float approximation of a decreasing failure probability; it only says where to look.
        target: the failure probability wanted.

    Raises:
        CapacityError: when the float search passes 10^7.
    """
    low, high = -1, 1
    while guess(high) > target:
        low, high = high, 2 * high
        if high > _MOST:
            raise CapacityError("crossover", f"such that {_MOST} repetitions suffice", "a noisier channel")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if guess(middle) > target else (low, middle)
    if good(high):
        while high > 0 and good(high - 1):
            high -= 1
        return high
    high += 1
    while not good(high):
        high += 1
    return high


def amplify(protocol: TwoPartyProtocol, copies: int) -> TwoPartyProtocol:
    """Return the protocol in which each bit is sent `copies` times and read as the majority.

    Over a channel of crossover c it is the protocol over a channel of crossover majority_error(copies, c). By
    a union bound, T bits all arrive right except with probability T * majority_error(copies, c).

    Args:
        protocol: the protocol.
        copies: odd number of copies.

    Example:
        >>> def send():
        ...     bit = yield Bit("Alice", lambda x: x)
        ...     return bit
        >>> amplify(TwoPartyProtocol(send), 3).noiseless(1, 0)
        1
    """
    _odd("copies", copies)

    return TwoPartyProtocol(lambda: played(called(protocol.steps), lambda bit: _repeat(bit, copies), step_of))


def _repeat(bit: Bit, copies: int) -> Generator[Bit, int, int]:
    """Send a bit several times and return the majority."""
    ones = 0
    for _ in range(copies):
        ones += yield bit
    return int(2 * ones > copies)


def walk(protocol: TwoPartyProtocol, steps: int, copies: int) -> TwoPartyProtocol:
    """Return a protocol that walks the tree of the given one and steps back when a party objects.

    One step at a path of bits: Alice says whether her bits on the path are right, Bob too, and if nobody
    objects the owner of the next bit sends it; each of these bits is the majority of `copies` copies. After
    an objection the last bit is taken back. Beyond the end of the protocol a counter grows in place of the
    path. The walk returns the answer at the path where it ends, None if that path is not complete.

    Args:
        protocol: protocol whose owners send definite bits (no private coins), of at most T bits per run.
        steps: number of steps; see :func:`walk_steps`.
        copies: odd number of copies of each bit.

    Raises:
        ArgumentError: unless ``steps`` is an integer >= 0.

    Proof note. Public coins are tossed once per node and kept, so one path is right: the noiseless run's.
    Let e be the error of a majority. Take as potential the length of the right prefix (counter included)
    minus the length of the wrong rest. If the path is right and the three bits of the step arrive right
    (probability at least (1-e)^3), the potential grows by 1; if the path is wrong, it suffices that an
    objection arrives (1-e). Otherwise it falls by at most 1. So after S steps it is at least 2B - S in law,
    B ~ Bin(S, (1-e)^3), and the walk ends right when it is at least T: failure has probability at most
    P(B < (S + T)/2).

    Example:
        >>> def parity():
        ...     a = yield Bit("Alice", lambda x: x % 2)
        ...     b = yield Bit("Bob", lambda y: y % 2)
        ...     return a ^ b
        >>> walk(TwoPartyProtocol(parity), 2, 1).noiseless(3, 4)
        1
    """
    check_integer("steps", steps, 0)
    _odd("copies", copies)

    def walking() -> TwoPartySteps:
        coins: dict[tuple[int, ...], list[int]] = {}
        path: list[int] = []
        beyond = 0
        for _ in range(steps):
            place = yield from _replay(protocol, path, coins)
            if not (yield from _agreed(place, path, copies)):
                if beyond:
                    beyond -= 1
                elif path:
                    path.pop()
            elif place.next is None:
                beyond += 1
            else:
                path.append((yield from _repeat(place.next, copies)))
        return (yield from _replay(protocol, path, coins)).answer

    return TwoPartyProtocol(walking)


@dataclass(frozen=True)
class _Place:
    """Where a path of bits leads: the questions on it, the next one (None at the end), and the answer."""

    bits: list[Bit]
    next: Bit | None
    answer: Any


def _replay(
    protocol: TwoPartyProtocol, path: list[int], coins: dict[tuple[int, ...], list[int]]
) -> Generator[Coin, int, _Place]:
    """Replay a path; a public coin is tossed when its place is reached for the first time."""
    inner = called(protocol.steps)
    step, answer = step_of(inner, None)
    bits: list[Bit] = []
    used = 0
    while step is not None:
        if isinstance(step, Coin):
            kept = coins.setdefault(tuple(path[: len(bits)]), [])
            if used == len(kept):
                kept.append((yield step))
            outcome, used = kept[used], used + 1
        elif len(bits) == len(path):
            return _Place(bits, step, None)
        else:
            outcome, used = path[len(bits)], 0
            bits.append(step)
        step, answer = step_of(inner, outcome)
    return _Place(bits, None, answer)


def _agreed(place: _Place, path: list[int], copies: int) -> Generator[Bit, int, bool]:
    """Ask the parties in turn whether their bits on the path are right, until one objects."""
    for owner in PARTIES:
        mine = [(bit, sent) for bit, sent in zip(place.bits, path, strict=True) if bit.owner == owner]
        if mine and not (yield from _repeat(Bit(owner, _checker(mine)), copies)):
            return False
    return True


def _checker(mine: list[tuple[Bit, int]]) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        chances = [chance_of(bit.send, value) for bit, _ in mine]
        if any(chance not in (0, 1) for chance in chances):
            raise ValueError  # reported by chance_of, without a value
        return int(all(chance == sent for chance, (_, sent) in zip(chances, mine, strict=True)))

    return check


def walk_failure(bits: int, steps: int, error: Fraction) -> Fraction:
    """Return an upper bound on the failure probability of :func:`walk`: P(2 B - steps < bits).

    Args:
        bits: number of bits T of the protocol.
        steps: number of steps S.
        error: probability that a majority is wrong, or a bound on it.

    Raises:
        ArgumentError: unless ``bits`` and ``steps`` are integers >= 0 and ``error`` a probability.

    Example:
        >>> walk_failure(2, 2, Fraction(0)), walk_failure(2, 1, Fraction(0))
        (Fraction(0, 1), Fraction(1, 1))
    """
    check_integer("bits", bits, 0)
    check_integer("steps", steps, 0)
    bad = 1 - (1 - check_probability("error", error)) ** 3
    needed = -(-(steps + bits) // 2)
    return binomial_tail(steps, steps - needed + 1, bad).hi


def walk_steps(bits: int, error: Fraction, failure: Fraction | float | str) -> int:
    """Return the least S = bits, bits + 2, ... with walk_failure(bits, S, error) <= failure.

    Two more steps help whenever (1-error)^3 >= 1/2 and bits >= 1, so that the condition is monotone.

    Raises:
        ArgumentError: when (1-error)^3 <= 1/2: the walk would not move forward.

    Example:
        >>> walk_steps(64, Fraction(1, 20), "0.05") < 120
        True
    """
    check_integer("bits", bits, 1)
    target = _target("failure", failure)
    rate = check_probability("error", error)
    if (1 - rate) ** 3 <= Fraction(1, 2):
        raise ArgumentError("error", "such that (1 - error)^3 > 1/2", describe(rate), "Send more copies.")
    bad = float(1 - (1 - rate) ** 3)
    pairs = _least(
        lambda j: walk_failure(bits, bits + 2 * j, rate) <= target,
        lambda j: _float_tail(bits + 2 * j, j + 1, bad),
        float(target),
    )
    return bits + 2 * pairs


@dataclass(frozen=True)
class CodingPlan:
    """How to send T bits over a channel with a total failure probability.

    Attributes:
        name: "majority" or "walk".
        copies: copies of each bit.
        steps: steps of the walk; T for the majority.
        uses: largest number of channel uses (or users): T * copies, or 3 * steps * copies.
    """

    name: str
    copies: int
    steps: int
    uses: int


def plan_majority(bits: int, crossover: Fraction, failure: Fraction | float | str) -> CodingPlan:
    """Return the plan of :func:`amplify` by the union bound: error failure/bits for each bit.

    Raises:
        ArgumentError: unless ``bits`` is an integer >= 1 and ``failure`` is a number with
            10^-300 <= failure <= 1 - 10^-12.

    Example:
        >>> plan_majority(64, Fraction(1, 4), "0.05").copies
        35
    """
    count = check_integer("bits", bits, 1)
    copies = repetitions(crossover, check_beta(failure, "failure") / count)
    return CodingPlan("majority", copies, count, count * copies)


def plan_walk(bits: int, crossover: Fraction, failure: Fraction | float | str) -> CodingPlan:
    """Return the plan of :func:`walk` with the fewest uses, over all copies with an error of at most 0.206.

    With a larger error the walk hardly moves forward. As a walk takes at least one step per bit, a number of
    copies is hopeless once 3 * bits * copies reaches the least number of uses found.

    Raises:
        ArgumentError: unless ``bits`` is an integer >= 1.

    Example:
        >>> plan_walk(64, Fraction(1, 4), "0.05").name
        'walk'
    """
    count = check_integer("bits", bits, 1)
    copies, best = repetitions(crossover, Fraction(103, 500)), None
    while best is None or 3 * count * copies < best.uses:
        error = majority_error(copies, crossover).hi
        error = Fraction(-(-error.numerator * 2**64 // error.denominator), 2**64)
        steps = walk_steps(count, error, failure)
        if best is None or 3 * steps * copies < best.uses:
            best = CodingPlan("walk", copies, steps, 3 * steps * copies)
        copies += 2
    return best


def _target(name: str, value: Fraction | float | str) -> Fraction:
    target = check_beta(value, name)
    if target < Fraction(1, 2**200):
        raise ArgumentError(name, "at least 2^-200", describe(target), "Enclosures are not finer.")
    return target


def _odd(name: str, value: int) -> int:
    number = check_integer(name, value, 1)
    if number % 2 == 0:
        raise ArgumentError(name, "odd", number, "An odd number of copies leaves no tie.")
    return number


def _crossover(value: Fraction) -> Fraction:
    crossover = check_probability("crossover", value)
    if crossover > Fraction(1, 2):
        raise ArgumentError("crossover", "at most 1/2", describe(crossover), "Flip the received bits.")
    return crossover
