"""Exact integer samplers: their laws, enclosed by replaying whole trees of bits."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Hashable
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from geomdp.core.errors import ArgumentError
from geomdp.privacy import enclosure, exact
from geomdp.privacy.audit import selection_law
from geomdp.privacy.enclosure import Interval, exp_neg
from geomdp.privacy.selection import pf_law


class _ExhaustedError(Exception):
    pass


class _Script:
    """A bit source that replays given bits and then stops."""

    def __init__(self, bits: tuple[int, ...]) -> None:
        self.script, self.used = bits, 0

    def bits(self, count: int) -> int:
        if self.used + count > len(self.script):
            raise _ExhaustedError
        value = 0
        for bit in self.script[self.used : self.used + count]:
            value = 2 * value + bit
        self.used += count
        return value


def bit_tree(
    draw: Callable[[exact.BitSource], Hashable], depth: int
) -> tuple[dict[Hashable, Fraction], Fraction]:
    """Return the exact mass of each value decided within `depth` bits, and the undecided mass."""
    decided: dict[Hashable, Fraction] = {}
    undecided = Fraction(0)
    stack: list[tuple[int, ...]] = [()]
    while stack:
        script = stack.pop()
        source = _Script(script)
        try:
            value = draw(source)
        except _ExhaustedError:
            if len(script) < depth:
                stack += [(*script, 0), (*script, 1)]
            else:
                undecided += Fraction(1, 2**depth)
            continue
        decided[value] = decided.get(value, Fraction(0)) + Fraction(1, 2**source.used)
    return decided, undecided


def _assert_law(
    draw: Callable[[exact.BitSource], Hashable],
    law: dict[Any, Interval | Fraction],
    depth: int,
    undecided_below: Fraction,
) -> None:
    decided, undecided = bit_tree(draw, depth)
    assert undecided < undecided_below
    assert sum(decided.values()) + undecided == 1
    for value, p in law.items():
        enclosed = Interval.of(p)
        assert decided.get(value, 0) <= enclosed.hi
        assert decided.get(value, 0) + undecided >= enclosed.lo


def test_exp_neg_encloses() -> None:
    """The integer enclosure of exp(-q) is valid and at most 3 units wide, against 400 digits of mpmath."""
    import mpmath

    rng = Random(5)  # noqa: S311
    with mpmath.workprec(1400):
        for _ in range(300):
            num, den = (
                rng.randrange(0, 10 ** rng.randrange(1, 25)),
                rng.randrange(1, 10 ** rng.randrange(1, 25)),
            )
            bits = rng.randrange(1, 300)
            lo, hi = exp_neg(num, den, bits)
            value = mpmath.exp(-mpmath.mpf(num) / den) * mpmath.mpf(2) ** bits
            assert lo <= value <= hi
            assert hi - lo <= 3


def test_uniform_tree() -> None:
    """Uniform integers below 5: every value has one fifth of the decided mass, exactly."""
    decided, undecided = bit_tree(lambda s: exact.uniform(s, 5), 15)
    assert set(decided) == set(range(5))
    assert set(decided.values()) == {(1 - undecided) / 5}


def test_bernoulli_tree() -> None:
    """A coin of probability 3/7 shows heads on mass 3/7 of all bits, up to the undecided rest."""
    _assert_law(
        lambda s: exact.bernoulli(s, 3, 7),
        {True: Fraction(3, 7), False: Fraction(4, 7)},
        12,
        Fraction(1, 2**11),
    )


@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 5), Fraction(3)])
def test_bernoulli_exp_tree(q: Fraction) -> None:
    """The coin of probability exp(-q) has that mass on the tree of bits."""
    p = Interval.exp_neg(q)
    _assert_law(
        lambda s: exact.bernoulli_exp(s, q.numerator, q.denominator),
        {True: p, False: 1 - p},
        18,
        Fraction(1, 250),
    )


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3, 2)])
def test_discrete_laplace_tree(scale: Fraction) -> None:
    """Discrete Laplace noise has the mass (1-r)/(1+r) r^|z| on the tree of bits."""
    r = Interval.exp_neg(1 / scale)
    law = {z: (1 - r) / (1 + r) * Interval.exp_neg(abs(z) / scale) for z in range(-12, 13)}
    _assert_law(lambda s: exact.discrete_laplace(s, scale), law, 17, Fraction(1, 3))


def test_permute_and_flip_tree() -> None:
    """The walk over listed scores has the law of the polynomial integral."""
    law = selection_law({0: 0, 1: 2, 2: 1}, Interval.exp_neg(Fraction(1, 2)))
    _assert_law(lambda s: exact.permute_and_flip(s, [0, 2, 1], Fraction(2)), law, 18, Fraction(1, 50))


def test_exponential_tree() -> None:
    """The lazy exponential lies in each dyadic interval with mass exp(-a) - exp(-b)."""

    def draw(source: exact.BitSource) -> int:
        real = exact._exponential(source, 1)
        real.refine(2)
        return real.value >> real.width - 2

    law = {k: Interval.exp_neg(Fraction(k, 4)) - Interval.exp_neg(Fraction(k + 1, 4)) for k in range(20)}
    _assert_law(draw, law, 17, Fraction(1, 5))


@pytest.mark.parametrize(
    ("sizes", "scores"), [([1, 1], [0, 1]), ([2, 1], [0, 0]), ([1, 0, 3], [5, 9, 4]), ([3], [7])]
)
def test_groups_tree(sizes: list[int], scores: list[int]) -> None:
    """The grouped race has the exact law of permute-and-flip over single candidates."""
    top = max(s for s, m in zip(scores, sizes, strict=True) if m)
    coins = [Interval.exp_neg(Fraction(max(top - s, 0), 2)) for s in scores]
    groups = pf_law(coins, sizes)
    law = {(g, i): groups[g] / m for g, m in enumerate(sizes) for i in range(m)}
    _assert_law(
        lambda s: exact.permute_and_flip_groups(s, sizes, scores, Fraction(2), word=1),
        law,
        15,
        Fraction(2, 3),
    )


def test_race_bounds() -> None:
    """The coarse and the fine enclosures of a group's arrival both hold its value, in 300 digits."""
    import mpmath

    rng = Random(2)  # noqa: S311
    with mpmath.workprec(1000):
        for _ in range(300):
            size, gap = (
                rng.randrange(1, 2 ** rng.randrange(1, 80)),
                rng.randrange(0, 10 ** rng.randrange(1, 4)),
            )
            scale = Fraction(rng.randrange(1, 99), rng.randrange(1, 99))
            real = exact._Real(_Random(rng), rng.getrandbits(66), 64)
            entry = exact._Entry(0, size, gap, real)
            low, high = entry.magnitude(scale)
            ends = []
            for step in (0, 1):
                x = mpmath.mpf(real.value + step) / 2**real.width / size
                arrival = -mpmath.expm1(-x) * mpmath.exp(
                    mpmath.mpf(gap * scale.denominator) / scale.numerator
                )
                assert mpmath.mpf(2) ** low <= arrival * (1 + mpmath.mpf(2) ** -900)
                assert arrival <= mpmath.mpf(2) ** high * (1 + mpmath.mpf(2) ** -900)
                ends.append(-mpmath.expm1(-x))
            before = (real.value, real.width)
            lo, hi = entry.heads(200, 320)
            assert real.value >> real.width - before[1] == before[0]
            assert ends[0] <= mpmath.mpf(hi) / 2**320
            assert mpmath.mpf(lo) / 2**320 <= ends[1]


class _Random:
    """A seeded bit source for tests."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def bits(self, count: int) -> int:
        return self.rng.getrandbits(count)


def test_digits_are_drawn_until_decided() -> None:
    """Two arrivals that agree to 500 digits are still told apart, and the order is antisymmetric."""
    for bit in (0, 1):
        first = exact._Real(_Script(()), (1 << 2000) + bit, 2000)
        second = exact._Real(_Script(()), (1 << 2000) + (1 - bit) * 8, 2000)
        source = _Random(Random(3))  # noqa: S311
        first.source = second.source = source
        one, two = exact._Entry(0, 3, 5, first), exact._Entry(1, 3, 5, second)
        assert exact._earlier(one, two, Fraction(2)) is not bool(bit)
        assert exact._earlier(two, one, Fraction(2)) is bool(bit)


@pytest.mark.parametrize(("sizes", "scores"), [([], []), ([0, 0], [1, 2]), ([1], [1, 2])])
def test_groups_refuse(sizes: list[int], scores: list[int]) -> None:
    """No candidate at all, or unequal lengths, is refused by name."""
    with pytest.raises(ArgumentError, match=r"Argument 's(izes|cores)' must be"):
        exact.permute_and_flip_groups(exact.OsBits(), sizes, scores, Fraction(1))


def test_os_bits_width() -> None:
    """The operating system's bits come in any width, and blocks join without gap or overlap."""
    source = exact.OsBits()
    for count in (0, 1, 7, 64, 8 * 4096 - 3, 10, 10**5):
        value = source.bits(count)
        assert 0 <= value < 2**count or value == count == 0
    ones = sum(source.bits(1) for _ in range(40_000))
    assert abs(ones - 20_000) < 600  # six standard deviations


class _NoFloat(int):
    """An integer that survives arithmetic as itself and refuses to become a float."""

    def __float__(self) -> float:
        raise AssertionError("A float was formed.")

    def __truediv__(self, other: object) -> float:
        raise AssertionError("A float was formed.")

    __rtruediv__ = __truediv__


def _lift(name: str) -> Callable[..., Any]:
    plain = getattr(int, name)

    def method(self: int, *others: int) -> Any:
        assert not any(isinstance(other, float) for other in others)
        value = plain(self, *others)
        return _NoFloat(value) if type(value) is int else value

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod", "lshift", "rshift", "or", "and", "xor", "neg", "pow"):
    setattr(_NoFloat, f"__{_name}__", _lift(f"__{_name}__"))
    if _name != "neg":
        setattr(_NoFloat, f"__r{_name}__", _lift(f"__r{_name}__"))


class _NoFloatBits:
    def __init__(self) -> None:
        self.source = exact.OsBits()

    def bits(self, count: int) -> int:
        return _NoFloat(self.source.bits(int(count)))


def test_no_float_is_formed() -> None:
    """With integers that refuse to become floats as bits, scores and sizes, every sampler still draws."""
    with pytest.raises(AssertionError):
        (_NoFloat(3) * 2 + 1) / 2
    source = _NoFloatBits()
    scale = Fraction(2.7)
    for _ in range(200):
        exact.discrete_laplace(source, scale)
        exact.permute_and_flip(source, [_NoFloat(s) for s in (1, 4, 9)], scale)
        sizes = [_NoFloat(s) for s in (2**66, 3, 1)]
        exact.permute_and_flip_groups(source, sizes, [_NoFloat(s) for s in (0, 40, 41)], scale)


@pytest.mark.parametrize("module", [exact, enclosure])
def test_release_path_has_no_float(module: Any) -> None:
    """The modules of the exact samplers hold no float literal, no float(), no numpy and no math import."""
    tree = ast.parse(inspect.getsource(module))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imported = {n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names}
    literals = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, float)]
    assert not names & {"float", "math", "np", "random"}
    assert imported <= {"os"}
    assert literals == []
    if module is exact:
        assert not any(isinstance(node, ast.Div) for node in ast.walk(tree))
