"""Exact audits: right mechanisms sit exactly at their claim, planted bugs are refuted."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from geomdp.core.errors import ArgumentError
from geomdp.privacy.audit import (
    Audit,
    History,
    audit_protocol,
    datasets,
    laplace_law,
    neighbour_pairs,
    power,
    selection_law,
    worst_log_ratio,
)
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.law import dlap_pmf, dlap_sf
from geomdp.privacy.sampler import noise_scale

RECORDS = [(x, y) for x in range(3) for y in (-1, 1)]
R = Fraction(4, 5)  # in place of exp(-1/scale)


def _counts(data: Any) -> tuple[int, ...]:
    """Return the net count of each of the three cells: L1 sensitivity 2."""
    return tuple(sum(y for x, y in data if x == cell) for cell in range(3))


def _histogram(data: Any, r: Fraction | Interval = R) -> dict[Any, Fraction | Interval]:
    """Return the joint law of the three noisy net counts, clamped."""
    columns = [laplace_law(c, r, -4, 4) for c in _counts(data)]
    law: dict[Any, Fraction | Interval] = {}
    for values in product(range(-4, 5), repeat=3):
        p: Any = 1
        for column, value in zip(columns, values, strict=True):
            p = p * column[value]
        law[values] = p
    return law


def _mistakes(data: Any) -> dict[int, int]:
    """Return for each threshold 0..3 minus its number of mistakes: each score changes by at most 1."""
    return {t: -sum((1 if x >= t else -1) != y for x, y in data) for t in range(4)}


def test_pairs_are_all_neighbours() -> None:
    """The generator gives exactly the ordered pairs of distinct multisets that share all but one record."""
    size = 3
    everything = list(datasets(RECORDS, size))
    assert len(everything) == math.comb(len(RECORDS) + size - 1, size)
    found = list(neighbour_pairs(RECORDS, size))
    assert len(found) == len(set(found))

    def shared(a: Any, b: Any) -> int:
        left = list(b)
        return sum(1 for record in a if record in left and left.remove(record) is None)

    expected = {(a, b) for a in everything for b in everything if a != b and shared(a, b) == size - 1}
    assert set(found) == expected


def test_laplace_law_is_the_clamped_pmf() -> None:
    """The clamped law has the pmf inside, the tails at the ends, and total 1 exactly."""
    scale = Fraction(3)
    law = laplace_law(1, Interval.exp_neg(1 / scale), -3, 4)
    for value in range(-2, 4):
        assert float(law[value].lo) == pytest.approx(dlap_pmf(value - 1, scale), rel=1e-14)
    assert float(law[4].hi) == pytest.approx(dlap_sf(3, scale), rel=1e-14)
    assert float(law[-3].hi) == pytest.approx(dlap_sf(4, scale), rel=1e-14)
    assert sum(laplace_law(0, R, -5, 7).values()) == 1
    with pytest.raises(ArgumentError, match="center"):
        laplace_law(5, R, -5, 5)


def test_histogram_is_exactly_at_its_claim() -> None:
    """The worst ratio of the noisy histogram is r^-2 exactly (L1 sensitivity 2): neither bound has slack."""
    audit = worst_log_ratio(_histogram, [p for p in neighbour_pairs(RECORDS, 2) if p[0] < p[1]])
    assert audit.lower == audit.upper == R**-2
    assert audit.witness is not None


def test_forgotten_sensitivity_is_refuted() -> None:
    """A histogram that claims the sensitivity 1 of a single count is refuted at the real scale."""
    epsilon = Fraction(1, 2)
    scale = noise_scale(1, epsilon)  # the bug: L1 sensitivity is 2
    pairs = [(((0, 1),), ((1, 1),)), (((1, 1),), ((0, 1),))]
    audit = worst_log_ratio(lambda data: _histogram(data, Interval.exp_neg(1 / scale)), pairs)
    assert audit.violates(epsilon)
    assert not audit.violates(2 * epsilon)
    assert audit.log_lower == pytest.approx(1.0, abs=1e-9)
    right = noise_scale(2, epsilon)
    audit = worst_log_ratio(lambda data: _histogram(data, Interval.exp_neg(1 / right)), pairs)
    assert not audit.violates(epsilon)
    assert audit.holds(epsilon + Fraction(1, 10**12))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_selection_meets_its_claim(epsilon: Fraction) -> None:
    """Selection over scores of sensitivity 1 costs 2/scale, exactly: scale 1/epsilon is refuted."""

    def law(r: Any) -> Callable[[Any], Any]:
        return lambda data: selection_law(_mistakes(data), r)

    pairs = list(neighbour_pairs(RECORDS, 3))
    exact = worst_log_ratio(law(R), pairs)
    assert exact.lower == exact.upper == R**-2
    assert exact.pairs == len(pairs)
    right = worst_log_ratio(law(Interval.exp_neg(1 / noise_scale(2, epsilon))), pairs)
    assert right.holds(epsilon + Fraction(1, 10**12))
    assert not right.violates(epsilon)
    wrong = worst_log_ratio(law(Interval.exp_neg(1 / noise_scale(1, epsilon))), pairs)
    assert wrong.violates(epsilon)
    assert not wrong.holds(epsilon)


def test_one_moving_score_needs_half_the_noise() -> None:
    """If a replacement moves one score only, by 1, selection at scale 1/epsilon stays within epsilon."""
    candidates = [(a, b, c) for a in range(3) for b in range(3) for c in range(3)]
    one = [
        (s, t)
        for s in candidates
        for t in candidates
        if sum(abs(x - y) for x, y in zip(s, t, strict=True)) == 1
    ]
    audit = worst_log_ratio(lambda s: selection_law(dict(enumerate(s)), R), one)
    assert audit.upper <= 1 / R
    same_way = [(s, tuple(x + 1 for x in s)) for s in candidates] + [
        (s, (s[0] + 1, s[1] + 1, s[2])) for s in candidates
    ]
    audit = worst_log_ratio(lambda s: selection_law(dict(enumerate(s)), R), same_way)
    assert audit.upper <= 1 / R
    both_ways = [(s, (s[0] + 1, s[1] - 1, s[2])) for s in candidates]
    audit = worst_log_ratio(lambda s: selection_law(dict(enumerate(s)), R), both_ways)
    assert 1 / R < audit.lower <= audit.upper <= R**-2


def _two_turns(second: Callable[[Any, History], Any]) -> Audit:
    """Audit a party that sends a noisy count, hears "a" or "b", and answers with `second`."""

    def law(data: Any, history: History) -> Any:
        if not history:
            return laplace_law(sum(data), R, -1, 3)
        return second(data, history)

    return audit_protocol(
        law,
        neighbour_pairs([0, 1], 2),
        turn=lambda h: ("own", "other", "own", "end")[len(h)],
        alphabet=lambda h: "ab",
    )


def test_protocol_composes() -> None:
    """Two noisy counts cost the sum; fresh noise at half the scale costs three units, exactly."""
    assert _two_turns(lambda data, h: laplace_law(sum(data), R, -1, 3)).upper == R**-2
    audit = _two_turns(lambda data, h: laplace_law(sum(data), R * R, -1, 3))
    assert audit.lower == audit.upper == R**-3


def test_reused_noise_is_refuted() -> None:
    """A second message with the first one's noise is a function of data and first message: ratio infinite."""

    def second(data: Any, history: History) -> Any:
        noise = history[0] - sum(data)
        return {2 * sum(data) + noise: Fraction(1)}

    audit = _two_turns(second)
    assert audit.lower == audit.upper == math.inf
    assert audit.violates(100)
    assert audit.log_upper == math.inf


def test_malicious_counterpart_is_found() -> None:
    """A question to which the party answers with twice the loss is found, wherever it hides."""

    def second(data: Any, history: History) -> Any:
        return laplace_law(sum(data), R * R if history[1] == "b" else R, -1, 3)

    audit = _two_turns(second)
    assert audit.lower == audit.upper == R**-3
    assert audit.witness is not None
    assert audit.witness[2][1] == "b"


def test_history_dependent_stop() -> None:
    """A party that stops after a negative noisy count pays for what it sends, not for what it might send."""
    audit = audit_protocol(
        lambda data, h: laplace_law(sum(data), R, -1, 2),
        [((0,), (1,)), ((1,), (0,))],
        turn=lambda h: "end" if h and (h[0] < 0 or len(h) == 2) else "own",
        alphabet=lambda h: (),
    )
    assert audit.lower == audit.upper == R**-2


def test_tree_equals_joint_law() -> None:
    """The dynamic programme equals the worst ratio of the joint law of all own messages."""

    def first(data: Any) -> Any:
        return selection_law({"l": sum(data), "r": 1}, R)

    def second(data: Any, choice: str) -> Any:
        return laplace_law(sum(data) * (2 if choice == "l" else 1), R, -1, 5)

    def joint(data: Any) -> Any:
        return {(c, v): p * q for c, p in first(data).items() for v, q in second(data, c).items()}

    pairs = list(neighbour_pairs([0, 1], 2))
    tree = audit_protocol(
        lambda data, h: second(data, h[0]) if h else first(data),
        pairs,
        turn=lambda h: "end" if len(h) == 2 else "own",
        alphabet=lambda h: (),
    )
    flat = worst_log_ratio(joint, pairs)
    assert (tree.lower, tree.upper) == (flat.lower, flat.upper)


def test_states_merge_without_change() -> None:
    """Merging histories by what the future depends on changes no bound, and asks for fewer laws."""
    calls: list[History] = []

    def law(data: Any, history: History) -> Any:
        calls.append(history)
        return laplace_law(sum(data) + (history[-1] == "b"), R, -1, 4)

    def run(state: Callable[[History], Any] | None) -> Audit:
        calls.clear()
        return audit_protocol(
            law,
            [((0, 1), (1, 1))],
            turn=lambda h: "end" if len(h) == 6 else ("other", "own")[len(h) % 2],
            alphabet=lambda h: "ab",
            state=state,
        )

    whole = run(None)
    many = len(calls)
    merged = run(lambda h: (len(h), h[-1] if h else None))
    assert (whole.lower, whole.upper) == (merged.lower, merged.upper) == (R**-3, R**-3)
    assert len(calls) < many / 10


def test_scale_off_by_two_is_refuted() -> None:
    """Half the noise of a count is refuted, the right noise is not, at the float scale that is used."""
    epsilon = Fraction(3, 10)
    pairs = list(neighbour_pairs([0, 1], 3))

    def law(scale: Fraction) -> Callable[[Any], Any]:
        return lambda data: laplace_law(sum(data), Interval.exp_neg(1 / scale), -1, 4)

    scale = noise_scale(1, epsilon)
    right = worst_log_ratio(law(scale), pairs)
    assert not right.violates(epsilon)
    assert right.log_upper - float(epsilon) < 1e-11
    assert worst_log_ratio(law(scale / 2), pairs).violates(epsilon)


def test_unequal_supports_are_infinite() -> None:
    """An output that only one of two neighbours can produce refutes every epsilon."""
    audit = worst_log_ratio(lambda data: {data: 1}, [(0, 1), (1, 0)])
    assert audit.lower == audit.upper == math.inf
    assert worst_log_ratio(lambda data: {0: 1}, [(0, 1)]) == Audit(Fraction(1), Fraction(1), (0, 1, 0), 1)
    assert worst_log_ratio(lambda data: {0: 1}, []).witness is None


@pytest.mark.parametrize("law", [{0: Fraction(1, 2)}, {0: Fraction(1), 1: Fraction(1, 10**9)}, {}])
def test_malformed_law(law: Any) -> None:
    """A law that does not add up to 1 is refused."""
    with pytest.raises(ArgumentError, match="add up to 1"):
        worst_log_ratio(lambda data: law, [(0, 1)])


def test_malformed_tree() -> None:
    """A turn by nobody, or a counterpart without a message, is refused."""
    for turn, alphabet in ((lambda h: "me", lambda h: "a"), (lambda h: "other", lambda h: "")):
        with pytest.raises(ArgumentError):
            audit_protocol(lambda d, h: {0: 1}, [(0, 1)], turn, alphabet)


def test_interval_arithmetic_encloses() -> None:
    """Sums, differences, products, quotients and powers of intervals hold those of their points."""
    points = [Fraction(-3, 2), Fraction(-1, 7), Fraction(0), Fraction(2, 5), Fraction(3)]
    boxes = [Interval(a, b) for a in points for b in points if a <= b]
    for x, y in product(boxes, repeat=2):
        for a, b in product((x.lo, (x.lo + x.hi) / 2, x.hi), (y.lo, (y.lo + y.hi) / 2, y.hi)):
            for box, value in ((x + y, a + b), (x - y, a - b), (x * y, a * b), (1 - x, 1 - a)):
                assert box.lo <= value <= box.hi
            if not y.lo <= 0 <= y.hi:
                assert (x / y).lo <= a / b <= (x / y).hi
    with pytest.raises(ZeroDivisionError):
        Interval.of(1) / Interval(Fraction(-1), Fraction(1))
    cube = power(Interval(Fraction(1, 3), Fraction(1, 2)), 3)
    assert cube.lo <= Fraction(1, 27) < Fraction(1, 8) <= cube.hi
