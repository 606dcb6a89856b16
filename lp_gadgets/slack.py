"""How far relaxed pins can move a word: the certified slack eta = 1 / N.

Alice's records are strict, so her pins only say that the deficit of the true symbol is below eta; Bob's and
the public rows stay closed. For a point of the public polytope let delta_i be the deficit of the true symbol
of position i, erased or not. Let D be at most the stopping distance and fewer than D pins be dropped.

* A gadget forces delta_x <= sum of w_y delta_y over its other symbols y, for certified weights w.
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

from geomdp.core.errors import check_integer

Nodes = Sequence[Sequence[str]]


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

    Example:
        >>> slack_denominator(17, 3, [[1] * 7])  # 14 + 7 + 13 + 25
        59
    """
    check_integer("k", k, 1)
    bounds = sorted(peeling_bounds(weight_lists, erasures), reverse=True)
    most = min(k, erasures)
    return max(1, *(k - e + sum(bounds[:e]) for e in range(most + 1)))
