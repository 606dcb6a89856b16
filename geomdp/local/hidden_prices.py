"""The price of interaction: users that each protocol for hidden layers needs at equal privacy and success."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from geomdp.core.errors import check_epsilon, check_integer
from geomdp.local.hidden_baselines import announce_users, plan_coded, together_users
from geomdp.local.hidden_blocks import plan_blocks
from geomdp.local.hidden_leaves import plan_random_leaf, plan_separate
from geomdp.local.hidden_solver import one_bit_users, search_users
from geomdp.local.kernels import YesNo, odds


def naive_users(depth: int, users: int) -> int:
    """Return the users of a search that takes a fresh cohort at each layer."""
    return depth * users


@dataclass(frozen=True)
class Price:
    """Users that solve the problem with probability >= 0.9 on trees of arity 2^m and depth 2^arity.

    Attributes:
        m: log2 of the arity.
        arity: number of children.
        search: fully interactive, :func:`~geomdp.local.hidden_solver.tree_search`.
        one_bit: fully interactive, one bit per user and layer.
        announce: sequential, bit by bit, a cohort per bit.
        together: sequential, bit by bit, a cohort for a bit of both roles.
        blocks: sequential, both layers in blocks of bits, a cohort for a block of both roles.
        one_layer: sequential, announcing one layer, in blocks of bits.
        leaf: sequential, random leaves.
        uniform: sequential, separating the layers; for uniform layers only.
    """

    m: int
    arity: int
    search: int
    one_bit: int
    announce: int
    together: int
    blocks: int
    one_layer: int
    leaf: int
    uniform: int

    @property
    def factor(self) -> float:
        """Announcing both layers bit by bit, with shared cohorts, against the search."""
        return self.together / self.search

    @property
    def best(self) -> int:
        """The users of the best sequential protocol here for all instances."""
        return min(self.announce, self.together, self.blocks, self.one_layer, self.leaf)

    @property
    def best_factor(self) -> float:
        """The best sequential protocol here for all instances, against the best fully interactive one."""
        return self.best / min(self.search, self.one_bit)


def price_of_interaction(m: int, epsilon: Fraction | int | str = 1) -> Price:
    """Return the users that each protocol needs at arity A = 2^m and depth 2^A.

    At this depth announcing a layer costs about A bits, and so does finding a leaf by trials.

    Raises:
        ArgumentError: unless ``m`` is an integer with 1 <= m <= 16.

    Example:
        >>> price = price_of_interaction(2)
        >>> price.search, price.announce > 5 * price.search
        (138, True)
    """
    arity = 2 ** check_integer("m", m, 1, 16)
    budget = check_epsilon(epsilon)
    ratio, depth = odds(budget), 2**arity
    vote = YesNo.symmetric(odds(budget / 2))
    return Price(
        m,
        arity,
        search_users(arity, vote),
        one_bit_users(arity, ratio),
        announce_users(arity, depth, ratio),
        together_users(arity, depth, ratio),
        plan_blocks(arity, depth, ratio).users,
        plan_coded(arity, depth, ratio).users,
        plan_random_leaf(arity, ratio).users,
        plan_separate(arity, ratio).users,
    )
