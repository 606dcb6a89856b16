"""The hidden layers problem on trees of any depth: paths, lazily labelled layers, instances.

A tree of arity A has vertices in layers 0..D. Alice knows an even layer a < D and an edge out of each of its
vertices, Bob an odd layer b < D with an edge out of each of its vertices. The answer is a leaf whose path
takes Alice's edge in layer a and Bob's in layer b; many exist. (M. Joseph, J. Mao, A. Roth, Exponential
Separations in Local Differential Privacy, Section 4, after A. Ganor, G. Kol, R. Raz. There A = 2^(4k), and D
is triply exponential in k; here A and D are free.)

Labels are values of a keyed hash of the vertex, so that a tree of depth 2^1024 takes no space. So are long
stretches of a path along which nothing is to be decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geomdp.core.errors import ArgumentError, check_choice, check_integer, describe
from geomdp.local.signs import keyed_integer
from geomdp.protocol.transcript import PARTIES

ALICE, BOB = PARTIES
#: Paths of at most this length are always spelt out, child by child.
SPELT = 4096


@dataclass(frozen=True)
class Stretch:
    """Steps start..start+length-1 of an endless public walk: the child taken at each is a keyed hash.

    Attributes:
        key: of the walk.
        arity: number of children of a vertex.
        start: first step.
        length: number of steps, >= 0.
    """

    key: int
    arity: int
    start: int
    length: int

    def child(self, i: int) -> int:
        """Return the child taken at the i-th step of the stretch."""
        return keyed_integer(self.arity, self.key, "step", self.start + i)

    def first(self, length: int) -> Stretch:
        """Return the beginning of the stretch."""
        return Stretch(self.key, self.arity, self.start, length)


@dataclass(frozen=True)
class Path:
    """The way from the root to a vertex: children one by one, and stretches.

    Paths of at most 4096 steps are spelt out, so that they are equal exactly if they lead to the same vertex.
    A deeper vertex goes by its description: a run of a protocol describes it in one way only.

    Args:
        parts: tuples of children and stretches, in order.

    Example:
        >>> path = Path().then(2).along(Stretch(1, 4, 0, 2**1024)).then(3)
        >>> len(bin(path.length)) - 2, path.child(0), path.child(path.length - 1)
        (1025, 2, 3)
        >>> path.prefix(1) == Path((( 2,),)), path.prefix(5).child(4) == path.child(4)
        (True, True)
    """

    parts: tuple[tuple[int, ...] | Stretch, ...] = ()

    def __post_init__(self) -> None:
        parts = [part for part in self.parts if _size(part)]
        if all(isinstance(part, tuple) for part in parts) or sum(map(_size, parts)) <= SPELT:
            steps = tuple(step for part in parts for step in _steps(part))
            parts = [steps] if steps else []
        object.__setattr__(self, "parts", tuple(parts))

    @property
    def length(self) -> int:
        """The layer of the vertex, >= 0."""
        return sum(map(_size, self.parts))

    def then(self, child: int) -> Path:
        """Return the path of a child."""
        if self.parts and isinstance(self.parts[-1], tuple):
            return Path((*self.parts[:-1], (*self.parts[-1], child)))
        return Path((*self.parts, (child,)))

    def along(self, stretch: Stretch) -> Path:
        """Return the path continued along a stretch."""
        return Path((*self.parts, stretch))

    def child(self, layer: int) -> int:
        """Return the child that the path takes out of its vertex in a layer < length.

        Raises:
            ArgumentError: unless ``layer`` is an integer with 0 <= layer <= length - 1.
        """
        left = check_integer("layer", layer, 0, self.length - 1)
        for part in self.parts:
            if left < _size(part):
                return part[left] if isinstance(part, tuple) else part.child(left)
            left -= _size(part)
        raise AssertionError

    def prefix(self, layer: int) -> Path:
        """Return the path to the vertex in a layer <= length.

        Raises:
            ArgumentError: unless ``layer`` is an integer with 0 <= layer <= length.
        """
        left = check_integer("layer", layer, 0, self.length)
        parts: list[tuple[int, ...] | Stretch] = []
        for part in self.parts:
            take = min(left, _size(part))
            parts.append(part[:take] if isinstance(part, tuple) else part.first(take))
            left -= take
        return Path(tuple(parts))

    def spell(self) -> Iterator[int]:
        """Yield integers that describe the path: equal for equal paths only."""
        for part in self.parts:
            if isinstance(part, tuple):
                yield from (0, len(part), *part)
            else:
                yield from (1, part.key, part.arity, part.start, part.length)


def _size(part: tuple[int, ...] | Stretch) -> int:
    return len(part) if isinstance(part, tuple) else part.length


def _steps(part: tuple[int, ...] | Stretch) -> Iterator[int]:
    if isinstance(part, tuple):
        yield from part
    else:
        yield from (part.child(i) for i in range(part.length))


@dataclass(frozen=True)
class Layer:
    """One hidden layer: its level, and a label (a child) for each of its vertices, made when asked for.

    Attributes:
        level: the layer of its vertices.
        arity: number of children of a vertex.
        key: of the labels.
    """

    level: int
    arity: int
    key: int

    def label(self, vertex: Path) -> int:
        """Return the label of a vertex of the layer, a child in 0..arity-1.

        Example:
            >>> layer = Layer(1, 4, 7)
            >>> layer.label(Path(((2,),))) == layer.label(Path().then(2))
            True
        """
        return keyed_integer(self.arity, self.key, "label", *vertex.spell())


@dataclass(frozen=True, eq=False)
class ListedLayer:
    """One hidden layer given by a table, for enumerations.

    Attributes:
        level: the layer of its vertices.
        labels: path -> child; every vertex of the layer.
    """

    level: int
    labels: Mapping[Path, int]

    def label(self, vertex: Path) -> int:
        """Return the label of a vertex of the layer."""
        return self.labels[vertex]


#: What a user holds: ("Alice", an even layer) or ("Bob", an odd one).
User = tuple[str, Layer | ListedLayer]


def level_of(x: Any) -> int:
    """Return the level of a user's layer."""
    return int(x[1].level)


def label_of(x: Any, vertex: Any) -> int:
    """Return the label that a user's layer gives to a vertex."""
    return int(x[1].label(vertex))


@dataclass(frozen=True)
class HiddenLayers:
    """An instance: arity, depth, and the two hidden layers.

    Args:
        arity: number of children of each vertex, >= 1.
        depth: number of layers with labels, >= 2; the leaves are in layer `depth`.
        alice: an even layer < depth.
        bob: an odd layer < depth.

    Raises:
        ArgumentError: unless ``arity`` is an integer >= 1, ``depth`` one >= 2, Alice's layer even, Bob's odd,
            and both in front of the leaves.

    Example:
        >>> instance = HiddenLayers.draw(16, 2**1024, key=5)
        >>> instance.alice.level % 2, instance.bob.level % 2
        (0, 1)
        >>> small = HiddenLayers.draw(2, 2, key=1)
        >>> sum(small.accepts(Path(((i, j),))) for i in range(2) for j in range(2))
        1
    """

    arity: int
    depth: int
    alice: Layer | ListedLayer
    bob: Layer | ListedLayer

    def __post_init__(self) -> None:
        check_integer("arity", self.arity, 1)
        check_integer("depth", self.depth, 2)
        for name, layer, rest in (("alice", self.alice, 0), ("bob", self.bob, 1)):
            if layer.level % 2 != rest or not 0 <= layer.level < self.depth:
                kind = "an odd" if rest else "an even"
                raise ArgumentError(name, f"{kind} layer in front of the leaves", "another one")

    @classmethod
    def draw(cls, arity: int, depth: int, key: int) -> HiddenLayers:
        """Return the instance of a key: uniform levels of the right parity, uniform labels.

        Each vertex has `arity` children. Uniform levels are far apart, which makes them easy for sequential
        protocols; see :meth:`adjacent`.

        Raises:
            ArgumentError: unless ``depth`` is an integer >= 2 and ``key`` one >= 0.
        """
        check_integer("depth", depth, 2)
        check_integer("key", key, 0)
        even = 2 * keyed_integer((depth + 1) // 2, key, "level", ALICE)
        odd = 2 * keyed_integer(depth // 2, key, "level", BOB) + 1
        return cls._labelled(arity, depth, key, (even, odd))

    @classmethod
    def adjacent(cls, arity: int, depth: int, key: int) -> HiddenLayers:
        """Return an instance of an arity and depth with neighbouring hidden layers, by a key.

        Raises:
            ArgumentError: unless ``depth`` is an integer >= 2 and ``key`` one >= 0.

        Example:
            >>> instance = HiddenLayers.adjacent(16, 2**1024, key=5)
            >>> abs(instance.alice.level - instance.bob.level)
            1
        """
        check_integer("key", key, 0)
        low = keyed_integer(check_integer("depth", depth, 2) - 1, key, "adjacent")
        return cls._labelled(arity, depth, key, (low + low % 2, low + 1 - low % 2))

    @classmethod
    def _labelled(cls, arity: int, depth: int, key: int, levels: tuple[int, int]) -> HiddenLayers:
        keys = [keyed_integer(2**128, key, "labels", role) for role in PARTIES]
        return cls(arity, depth, Layer(levels[0], arity, keys[0]), Layer(levels[1], arity, keys[1]))

    def layer(self, role: str) -> Layer | ListedLayer:
        """Return the layer of "Alice" or "Bob".

        Raises:
            ArgumentError: unless ``role`` is one of :data:`PARTIES`.
        """
        return self.alice if check_choice("role", role, PARTIES) == ALICE else self.bob

    def users(self, roles: Sequence[str]) -> list[User]:
        """Return one input for each of the roles, "Alice" or "Bob"."""
        return [(role, self.layer(role)) for role in roles]

    def accepts(self, leaf: Path) -> bool:
        """Return whether a leaf solves the instance.

        Raises:
            ArgumentError: when the path does not end in a leaf.
        """
        if not isinstance(leaf, Path):
            raise ArgumentError("leaf", "a Path", describe(leaf))
        if leaf.length != self.depth:
            raise ArgumentError("leaf", f"a path of length {_short(self.depth)}", _short(leaf.length))
        return all(
            leaf.child(layer.level) == layer.label(leaf.prefix(layer.level))
            for layer in (self.alice, self.bob)
        )


def _short(number: int) -> str:
    return str(number) if number < 10**12 else f"a number of {number.bit_length()} bits"


def fair_roles(n: int, rng: np.random.Generator) -> list[str]:
    """Return n roles, each "Alice" or "Bob" with probability 1/2.

    Raises:
        ArgumentError: unless ``n`` is an integer >= 0.
    """
    return [PARTIES[bit] for bit in rng.integers(0, 2, check_integer("n", n, 0)).tolist()]
