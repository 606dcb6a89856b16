"""Local protocols: exact audits, the price of interaction and of a round, round-preserving compilers."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.local.audits import audits, planted
from geomdp.local.elias import elias_bits
from geomdp.local.finite import odds
from geomdp.local.hidden_layers import HiddenLayers, fair_roles
from geomdp.local.hidden_prices import price_of_interaction
from geomdp.local.hidden_solver import (
    composed_ratio_log,
    one_bit_users,
    search_users,
    walk_counts,
    walk_fast,
    walk_signs,
    walk_users,
)
from geomdp.local.kernels import GeneralisedRR, YesNo
from geomdp.local.pointer_chasing import (
    Pointers,
    early_success,
    early_users,
    plan_early,
    rounds_users,
    simulate_chase,
)
from geomdp.local.rejection import Rejection
from geomdp.local.rounds import plan_rounds
from geomdp.local.votes import both_success, code_rates, vote_rates

EPSILON = Fraction(1)
RATIO, VOTE = odds(EPSILON), YesNo.symmetric(odds(EPSILON / 2))


def losses() -> Iterator[dict[str, Any]]:
    """Yield the exact losses of all audits at epsilon = 1."""
    rows = [audit.run() for audit in audits()]
    found = [row["loss"] for row in rows]
    transcripts = sum(row["transcripts"] for row in rows)
    yield {
        "name": f"worst exact loss of {len(rows)} protocols at epsilon = 1, {transcripts:,} transcripts",
        "value": f"{max(found):.9f}",
        "target": "1.000000",
        "ok": all(row["ok"] for row in rows),
    }
    yield {"name": "the same, smallest", "value": f"{min(found):.9f}", "target": "1.000000"}
    bugs = [audit.run() for audit in planted()]
    caught = ", ".join(f"{row['name']}: {row['loss'] or float('inf'):.3g}" for row in bugs)
    yield {
        "name": f"planted bugs caught ({caught})",
        "value": sum(row["ok"] for row in bugs),
        "unit": f"of {len(bugs)}",
    }


def search() -> Iterator[dict[str, Any]]:
    """Yield users of the fully interactive search, and simulated success of its engines."""
    for arity, target in ((2, 88), (4, 138), (16, 213), (256, 343), (4096, 465), (2**16, 583), (2**20, 699)):
        n = search_users(arity, VOTE)
        yield {
            "name": f"hidden layers, arity {arity}, any depth: users for 90 % (exact law)",
            "value": n,
            "target": target,
            "ratio": one_bit_users(arity, RATIO) / n,
            "baseline": "is what one bit per user and layer costs",
        }
    n = search_users(16, VOTE)
    yield {
        "name": "loss that composition states for one user, arity 16, depth 1024 (exact loss: 1)",
        "value": round(composed_ratio_log(16, 1024, VOTE)),
        "target": 8192,
    }
    rates = vote_rates(VOTE)
    walk_all = functools.partial(_users, walk_users, VOTE)
    yield from engine("per-user votes, depth 256", 256, 40, n, walk=walk_all, rates=rates)
    yield from engine("counts, depth 1024", 1024, 100, n, walk=_counts(walk_counts), rates=rates)
    yield from engine("fast forward, depth 2^1024", 2**1024, 2000, n, walk=_counts(walk_fast), rates=rates)
    bits = one_bit_users(16, RATIO)
    walk_bits = functools.partial(_users, walk_signs, RATIO)
    yield from engine("per-user signs, depth 256", 256, 40, bits, walk=walk_bits, rates=code_rates(RATIO))


def _users(walk: Callable[..., Any], noise: Any, instance: HiddenLayers, roles: list[str], rng: Any) -> Any:
    return walk(instance, roles, noise, rng)


def _counts(walk: Callable[..., Any]) -> Callable[..., Any]:
    def engine(instance: HiddenLayers, roles: list[str], rng: np.random.Generator) -> Any:
        alices = roles.count("Alice")
        return walk(instance, alices, len(roles) - alices, vote_rates(VOTE), rng)

    return engine


def engine(
    name: str,
    depth: int,
    runs: int,
    users: int,
    *,
    walk: Callable[..., Any],
    rates: tuple[Fraction, Fraction],
) -> Iterator[dict[str, Any]]:
    """Yield the simulated success of an engine and its time per run."""
    rng, wins, spent = np.random.default_rng(1), 0, 0.0
    for key in range(runs):
        instance, roles = HiddenLayers.draw(16, depth, key), fair_roles(users, rng)
        started = time.perf_counter()
        leaf = walk(instance, roles, rng)
        spent += time.perf_counter() - started
        wins += instance.accepts(leaf)
    yield {
        "name": f"simulated success, arity 16, {users} users, {name} ({1000 * spent / runs:.2g} ms a run)",
        "value": wins / runs,
        "target": f"{both_success(users, 16, rates):.3f}",
    }


def interaction(progress: Callable[[float], None] | None) -> Iterator[dict[str, Any]]:
    """Yield the price of interaction: arity 2^m, depth 2^arity.

    A cohort for each announced bit would give about twice the factor for large m: the roles' layers do not
    depend on each other, so that the honest baseline asks one cohort for a bit of both.
    """
    for i, m in enumerate(range(2, 13)):
        price = price_of_interaction(m)
        yield {
            "name": f"m = {m}: search {price.search}, one-bit {price.one_bit}, announce {price.announce:,}, "
            f"together {price.together:,} (in blocks {price.blocks:,}), "
            f"one layer {price.one_layer:,}, random leaf {price.leaf:,}, separate (uniform layers only) "
            f"{price.uniform:,}; together / search",
            "value": price.factor,
            "target": f"{price.announce / price.search:,.0f} with a cohort per bit",
            "ratio": price.best_factor,
            "baseline": "is the best sequential protocol against the best fully interactive one",
        }
        if progress is not None:
            progress((i + 1) / 11)


def pointers() -> Iterator[dict[str, Any]]:
    """Yield the price of a round in pointer chasing."""
    for epsilon in (1, 2):
        ratio = odds(epsilon)
        for size in (16, 64, 256, 1024):
            two, one = rounds_users(2, size, ratio), early_users(2, size, ratio)
            plain = plan_early(2, size, ratio, most_bits=0).total(2, size)
            chance = early_success(2, size, two, ratio)
            yield {
                "name": f"PC(2, {size}), epsilon = {epsilon}: users with 1 round (entry by entry {plain:,}), "
                f"2 rounds {two}; with {two} users 1 round succeeds with {chance:.3f}",
                "value": one,
                "target": f">= {size / 4:g} times 2 rounds",
                "ratio": one / two,
                "baseline": "of 2 rounds",
            }
    rng, size, wins = np.random.default_rng(3), 256, 0
    users = rounds_users(3, size, RATIO) // 3
    for key in range(400):
        instance = Pointers.draw(size, key)
        wins += simulate_chase(instance, 3, [users] * 3, RATIO, rng) == instance.chase(3)
    yield {
        "name": f"simulated success, PC(3, {size}), {3 * users} users, 3 rounds",
        "value": wins / 400,
        "target": f"{0.95**3:.3f}",
    }


def compilers() -> Iterator[dict[str, Any]]:
    """Yield what the round-preserving compilers cost."""
    for bits in (8, 64, 512):
        copies, users = plan_rounds(bits, RATIO, "0.05")
        yield {"name": f"{bits} bits in rounds, failure 0.05: users ({copies} a bit)", "value": users}
    for epsilon in ("1/4", 1, 4):
        ratio = odds(epsilon)
        uses = sum(Rejection(GeneralisedRR(64, ratio), tuple(range(64)), ratio).largest, Fraction(0))
        yield {
            "name": f"bits per user of a 64-valued answer sent by its index, epsilon = {epsilon} (exact)",
            "value": float(elias_bits(uses, 400)),
            "target": f"<= {1 + 2.89 * float(Fraction(epsilon)):.2f}",
        }


def run(progress: Callable[[float], None] | None = None) -> Iterator[dict[str, Any]]:
    """Yield all rows."""
    yield from losses()
    yield from search()
    yield from interaction(progress)
    yield from pointers()
    yield from compilers()
