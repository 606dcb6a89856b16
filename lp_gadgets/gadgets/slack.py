"""How far relaxed pins can move a word: the certified slack eta = 1 / N.

Alice's records are strict, so her pins only say that the deficit of the true symbol is below eta; Bob's and
the public rows stay closed. For a point of the public polytope let delta_i be the deficit of the true symbol
of position i, erased or not. Let D be at most the stopping distance and fewer than D pins be dropped.

* A gadget forces delta_x <= sum of w_y delta_y over its other symbols y, for certified weights w. In a tree
  the weights of two gadgets that share a symbol multiply.
* So the erased symbols are recovered one by one, and the t-th has delta < B_t eta, where B_t is the largest
  sum over the weights of any check and target, the t - 1 largest among them multiplied by B_1, ..., B_(t-1).
* A trace bit is off by at most delta_i, Bob's symbols being exact, and the last parity by at most the sum of
  these. So p_k <= 0 with F = 1 needs a sum of the k deltas of the message >= 1. It is below
  (k - e + the e largest B) eta, where e <= D - 1 message symbols are erased.

N is the largest such factor; with eta = 1 / N the program stays infeasible. (The paper, Lemma B.5, proves
that some eta works.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product

from geomdp.core.errors import check_integer

Nodes = Sequence[Sequence[str]]
#: Weights that a gadget proves beside its factor: ((labels, target), the alternatives), each alternative the
#: weights of the other positions in their order.
Sharpened = tuple[tuple[tuple[tuple[int, ...], int], tuple[tuple[int, ...], ...]], ...]
#: Most lists of weights that are kept apart for a symbol with a label.
MAX_LISTS = 64


def weights(nodes: Nodes, factors: Sequence[int], target: str) -> list[int]:
    """Return the weight w_y of every other leaf of a tree of gadgets, for one target leaf.

    Args:
        nodes: the gadgets, each by its symbols; a symbol of two gadgets is auxiliary, the others are leaves.
        factors: for each gadget its factor: each of its symbols has a deficit of at most the factor times
            the sum of the others'.
        target: a leaf.

    Example:
        >>> weights([("x", "y", "t"), ("t", "u", "v")], [9, 9], "x")
        [9, 81, 81]
    """
    found: list[int] = []
    queue = [(target, 1, -1)]
    for symbol, weight, source in queue:
        homes = [i for i, node in enumerate(nodes) if symbol in node and i != source]
        if not homes and symbol != target:
            found.append(weight)
        for i in homes:
            queue += [(other, weight * factors[i], i) for other in nodes[i] if other != symbol]
    return sorted(found)


def weight_lists(
    nodes: Nodes, factors: Sequence[int], target: str, sharpened: Sequence[Sharpened] = (), q: int = 1
) -> set[tuple[int, ...]]:
    """Return lists of weights of the other leaves; for every word one of them holds, for one target leaf.

    Which weights a gadget proves depends on the labels of its symbols. Over F_4 on the parabola a node has
    the factor 9 only for an outer label (0 or 3) between two inner ones (1 and 2), else weights that add up
    to 4; so no two nodes in a row have the factor 9, and a tree is far better than its worst node suggests.

    Proof: at a point of the tree's rows, give every auxiliary symbol the sum of the word's labels below it.
    At each node these are a tuple of the check, so each alternative proved for it holds, and the factor does.
    Substituting from the target down gives a list for the word; all label assignments are run through, and of
    several alternatives any may be taken (here one of least sum). A list may be replaced by a larger one.

    Args:
        nodes, factors, target: as for :func:`weights`.
        sharpened: for each gadget what it proves beside its factor; none for all gadgets if empty.
        q: size of the alphabet.

    Example:
        >>> weight_lists([("x", "y", "t"), ("t", "u", "v")], [9, 9], "x")
        {(9, 81, 81)}
    """
    if not any(sharpened):
        return {tuple(weights(nodes, factors, target))}
    places: dict[str, int] = {}
    shape = tuple(tuple(places.setdefault(name, len(places)) for name in node) for node in nodes)
    return set(_lists(shape, tuple(factors), places[target], tuple(sharpened), q))


@lru_cache(maxsize=256)
def _lists(
    shape: tuple[tuple[int, ...], ...],
    factors: tuple[int, ...],
    target: int,
    sharpened: tuple[Sharpened, ...],
    q: int,
) -> frozenset[tuple[int, ...]]:
    tables = [dict(own) for own in sharpened]

    def below(symbol: int, source: int) -> list[set[tuple[int, ...]]]:
        """Return for every label of a symbol the lists of the leaves beyond it, seen from a node."""
        home = next((i for i, node in enumerate(shape) if symbol in node and i != source), None)
        if home is None:
            return [{(1,)} for _ in range(q)]
        at = shape[home].index(symbol)
        others = [below(other, home) for other in shape[home] if other != symbol]
        found: list[set[tuple[int, ...]]] = [set() for _ in range(q)]
        for labels in product(range(q), repeat=len(others)):
            own = 0
            for label in labels:
                own ^= label
            choices = tables[home].get(((*labels[:at], own, *labels[at:]), at), ())
            choices = (*choices, (factors[home],) * len(others))
            for lists in product(*(side[label] for side, label in zip(others, labels, strict=True))):
                sums = [sum(one) for one in lists]
                best = min(choices, key=lambda w: sum(a * b for a, b in zip(w, sums, strict=True)))
                joined = (w * x for w, one in zip(best, lists, strict=True) for x in one)
                found[own].add(tuple(sorted(joined)))
        return [_largest(own) for own in found]

    return frozenset(_largest({own for lists in below(target, -1) for own in lists}))


def _largest(lists: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Return the sorted lists that no other one exceeds everywhere; one above all if there are too many."""
    kept = {
        own
        for own in lists
        if not any(own != other and all(a <= b for a, b in zip(own, other, strict=True)) for other in lists)
    }
    return kept if len(kept) <= MAX_LISTS else {tuple(map(max, zip(*kept, strict=True)))}


def peeling_bounds(weight_lists: Iterable[Sequence[int]], erasures: int) -> list[int]:
    """Return B_1, ..., B_erasures: the t-th recovered symbol has a deficit below B_t eta.

    Args:
        weight_lists: for every check and target the weights of the other symbols.
        erasures: how many symbols are erased at most.

    Example:
        >>> peeling_bounds([[1] * 7], 4)
        [7, 13, 25, 49]
    """
    lists = {tuple(sorted(weights, reverse=True)) for weights in weight_lists}
    bounds: list[int] = []
    for _ in range(erasures):
        known = sorted(bounds, reverse=True)
        sums = (sum(w * (known[i] if i < len(known) else 1) for i, w in enumerate(own)) for own in lists)
        bounds.append(max(sums, default=0))
    return bounds


def slack_denominator(k: int, erasures: int, weight_lists: Iterable[Sequence[int]]) -> int:
    """Return an N for which the slack 1 / N is certified, see the module's text.

    Args:
        k: message symbols.
        erasures: D - 1.
        weight_lists: for every check and target the weights of the other symbols.

    Raises:
        ArgumentError: unless ``k`` is an integer >= 1.

    Example:
        >>> slack_denominator(17, 3, [[1] * 7])  # 14 + 7 + 13 + 25
        59
    """
    check_integer("k", k, 1)
    bounds = sorted(peeling_bounds(weight_lists, erasures), reverse=True)
    most = min(k, erasures)
    return max(1, *(k - e + sum(bounds[:e]) for e in range(most + 1)))
