"""Small local protocols with closed answers: a tree search by votes, its broken variants, random kernels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from geomdp.local.kernels import RandomisedResponse, Scope, Table, YesNo
from geomdp.local.protocol import Ask, Coin


@dataclass(frozen=True)
class Labels:
    """An input of the tree search: one level, and a child for each vertex (a path) of that level."""

    level: int
    children: tuple[tuple[tuple[int, ...], int], ...]

    def label(self, vertex):
        return dict(self.children)[vertex]


def tree_inputs(arity, depth):
    """Every input of a tree: one level, and all labellings of its vertices."""
    found = []
    for level in range(depth):
        vertices = list(itertools.product(range(arity), repeat=level))
        for children in itertools.product(range(arity), repeat=len(vertices)):
            found.append(Labels(level, tuple(zip(vertices, children, strict=True))))
    return found


def _elect(counts):
    """Yield a public coin among the children with most votes; return the child."""
    best = [child for child, count in enumerate(counts) if count == max(counts)]
    if len(best) == 1:
        return best[0]
    return best[(yield Coin(len(best)))]


def tree_search(arity, depth, users, kernel):
    """Walk from the root; at each vertex all users vote yes or no on each child."""

    def steps():
        path = ()
        for level in range(depth):
            ask = [kernel.at(Scope(level, path, child)) for child in range(arity)]
            bits = yield Ask(tuple((user, question) for question in ask for user in range(users)))
            counts = [sum(bits[child * users : (child + 1) * users]) for child in range(arity)]
            path += ((yield from _elect(counts)),)
        return path

    return steps


def one_bit_search(arity, depth, users, ratio, signs):
    """At each vertex a user whose level it is sends the public sign of its child, others send a fair coin."""

    def steps():
        path = ()
        for level in range(depth):

            def sign(x, user, level=level, path=path):
                return int(signs[user][x.label(path)] > 0) if x.level == level else None

            bits = yield Ask.each(
                range(users), lambda u: RandomisedResponse(ratio, lambda x, u=u, sign=sign: sign(x, u))
            )
            scores = [
                sum((2 * b - 1) * signs[u][child] for u, b in enumerate(bits)) for child in range(arity)
            ]
            path += ((yield from _elect(scores)),)
        return path

    return steps


def reused_label_search(arity, kernel):
    """A bug: the level-0 label is asked again at the next level."""

    def steps():
        for _ in range(2):
            ask = [kernel.ask(lambda x, c=child: x.level == 0 and x.label(()) == c) for child in range(arity)]
            yield Ask(tuple((0, question) for question in ask))

    return steps


def random_table(seed, outputs, inputs, ratio):
    """A kernel with random rational rows whose worst ratio is at most `ratio`, and often below it."""
    rng = np.random.default_rng(seed)
    while True:
        base = rng.integers(1, 9, outputs)
        rows = {x: (base * rng.integers(6, 10, outputs)).tolist() for x in inputs}
        kernel = Table(tuple(f"y{i}" for i in range(outputs)), rows)
        if kernel.worst_ratio(inputs) <= ratio:
            return kernel


SUE = YesNo.symmetric(Fraction(2))
OUE = YesNo.unary(Fraction(4))
