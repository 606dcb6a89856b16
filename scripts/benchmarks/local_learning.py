"""What public unlabelled points buy local learners; mechanisms by the users that they need."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from geomdp.local.learning.baselines import average, corrected_logistic, logistic_regression, one_bit
from geomdp.local.learning.caps import CapBall
from geomdp.local.learning.distributions import Massart, Mixture, draw
from geomdp.local.learning.estimates import logistic_estimate, mean_estimate
from geomdp.local.learning.gaussian import GaussianVector
from geomdp.local.learning.gradients import JointCopies, OneCopy, PaperCopies, users_needed
from geomdp.local.learning.inputs import decide, unit, unit_rows
from geomdp.local.learning.label_dp import respond
from geomdp.local.learning.massart import learn_massart
from geomdp.local.learning.pipelines import vote_then_relearn, weak_then_self_train
from geomdp.local.learning.polynomial import logistic_polynomial
from geomdp.local.learning.rates import users_for_mean, users_for_one_bit, users_for_side
from geomdp.local.learning.self_training import self_train
from geomdp.local.learning.vectors import DuchiBall, public_directions
from geomdp.privacy.sampler import SecureSampler


def mixtures(runs: int = 100) -> Iterator[dict[str, Any]]:
    """Yield success shares of three learners: mixture with |mu| = 1, epsilon = 1, m = 60 d public points."""
    bits = users_for_one_bit(1)
    for d in (5, 10, 20, 40):
        mixture, limit = Mixture.on_axis(d), Mixture.on_axis(d).bayes_error() + 0.02
        for factor in (12, 24):
            n, good, alone, bit = factor * (d + 1), 0, 0, 0
            for seed in range(runs):
                rng = np.random.default_rng([d, factor, seed])
                X, y = mixture.sample(n, rng)
                Q = mixture.sample(60 * d, rng)[0]
                run = weak_then_self_train(X, y, Q, 1, rng=rng, normalise=True)
                good += mixture.error(run.weights) <= limit
                alone += mixture.error(run.weak.weights) <= limit + 0.03
                vote = one_bit(Q, X[: 2 * bits], y[: 2 * bits], 1, rng=rng)
                bit += mixture.error(vote.weights) <= limit + 0.03
            yield {
                "name": f"simulated: mixture d = {d}, n = {n} = {factor} (d+1) private, m = {60 * d} public: "
                f"runs with error <= Bayes + .02 (private mean alone <= + .05: {alone / runs:.0%}; "
                f"public direction and {2 * bits} bits <= + .05: {bit / runs:.0%})",
                "value": good / runs,
                "target": ">= 0.9" if factor == 24 else "",
                "ratio": n / users_for_mean(d, 1),
                "baseline": f"of {users_for_mean(d, 1)}, the users of the private mean for 90 % at + .05",
            }
        yield {
            "name": f"users for 9 runs in 10, closed form, d = {d}",
            "value": users_for_side(d, 1),
            "target": "12 (d+1)",
            "ratio": users_for_side(d, 1) / (d + 1),
            "baseline": "(d+1)",
        }


def fast_rate() -> Iterator[dict[str, Any]]:
    """Yield the excess error of self-training in units of d/m."""
    d, mixture = 20, Mixture.on_axis(20)
    for m, seeds in ((1000, 40), (10_000, 20), (60_000, 5)):
        excess = []
        for seed in range(seeds):
            rng = np.random.default_rng([m, seed])
            side = np.append(0.0, unit(rng.standard_normal(d - 1)))
            weak = 0.2 * np.eye(d)[0] + np.sqrt(1 - 0.04) * side
            found = self_train(mixture.sample(m, rng)[0], weak, rounds=120).weights
            excess.append(mixture.error(found) - mixture.bayes_error())
        yield {
            "name": f"self-training from error .42, d = 20, m = {m:,}: excess over Bayes x m/d",
            "value": float(np.mean(excess)) * m / d,
            "target": "about .45",
        }


def labels(seeds: int = 3) -> Iterator[dict[str, Any]]:
    """Yield errors under personal label privacy: epsilon .3 on half the space, 4 elsewhere, d = 10."""
    d = 10
    for kind, n in (("exponential", 3000), ("exponential", 40_000), ("gaussian", 3000)):
        errors = []
        for seed in range(seeds):
            rng = np.random.default_rng([seed, n])
            w = unit(rng.standard_normal(d))
            world = Massart(w, lambda P: np.zeros(len(P)), 0.0, kind)
            X = draw(kind, n, d, rng)
            answer = respond(decide(X, w), np.where(X[:, 0] > 0, 0.3, 4.0).tolist(), rng=rng)
            first = logistic_regression(X, answer.labels)
            found = [
                learn_massart(X, answer.labels, rng=rng).weights,
                learn_massart(X, answer.labels, rng=rng, start=first, weights=answer.log_odds).weights,
                first,
                average(X, answer.labels),
                average(X, answer.labels, answer.rates),
                corrected_logistic(X, answer.labels, answer.rates),
            ]
            errors.append([world.error(w) for w in found])
        robust, known, logistic, mean, debiased, corrected = np.mean(errors, axis=0)
        yield {
            "name": f"label privacy, {kind} points, n = {n:,}: error of the Massart learner "
            f"(weighted by known rates {known:.3f}; logistic {logistic:.3f}, average {mean:.3f}, "
            f"debiased {debiased:.3f}; logistic corrected by known rates {corrected:.4f})",
            "value": float(robust),
            "target": "<= .02, uncorrected average and logistic > .04" if n == 40_000 else "",
            "ratio": float(logistic / robust),
            "baseline": "smaller than logistic regression's error",
        }


def vote(seeds: int = 4) -> Iterator[dict[str, Any]]:
    """Yield the final error of Algorithm 1 beside that of the average of its groups."""
    for kind, n, k in (("gaussian", 1000, 5), ("gaussian", 5000, 25), ("exponential", 5000, 5)):
        rows = []
        for seed in range(seeds):
            rng = np.random.default_rng([seed, n])
            world = Massart(rng.standard_normal(10), lambda P: np.zeros(len(P)), 0.0, kind)
            X, y = world.sample(n, rng)
            run = vote_then_relearn(
                X, y, world.sample(20_000, rng)[0], 2, rng=rng, groups=k, normalise=True, updates=800
            )
            group = np.mean([world.error(g.weights, 50_000) for g in run.groups])
            rows.append([group, world.error(run.average, 50_000), world.error(run.weights, 50_000)])
        one, mean, final = np.mean(rows, axis=0)
        yield {
            "name": f"Algorithm 1, {kind} points, epsilon = 2, n = {n}, {k} groups: final error "
            f"(one group {one:.3f})",
            "value": float(final),
            "ratio": float(final / mean),
            "baseline": "times the error of the groups' average, which needs no public point",
        }


def costs() -> Iterator[dict[str, Any]]:
    """Yield users for a gradient within a quarter, closed form: logistic, d = 10, |w| = 3/4, delta = 1e-5."""
    X, y = Mixture.on_axis(10).sample(20_000, 0)
    V, w = unit_rows(X) * y[:, None], 0.75 * np.eye(10)[0]
    for epsilon, p in ((1, 0), (1, 1), (1, 3), (2, 1), (4, 3)):
        q = logistic_polynomial(p)
        published = PaperCopies(q, epsilon, "1e-5", "paper" if p else "basic")
        cost = users_needed(OneCopy(q, epsilon, "1e-5"), V, w)
        joint = users_needed(JointCopies(q, epsilon, "1e-5"), V, w)
        paper = users_needed(published, V, w)
        yield {
            "name": f"users for a gradient within 1/4, degree {p}, epsilon = {epsilon}: one copy and Hermite "
            f"(joint copies {joint:.1e}; published copies {paper:.1e}, true loss {published.loss():.2f})",
            "value": cost,
            "ratio": paper / cost,
            "baseline": "fewer than published copies",
        }


def weak_learners(seeds: int = 15) -> Iterator[dict[str, Any]]:
    """Yield median errors of weak learners with the same users: mixture, d = 5, epsilon = 1, n = 3,000."""
    mixture, n = Mixture.on_axis(5), 3000
    one, joint = (kind(logistic_polynomial(1), 1, "1e-5") for kind in (OneCopy, JointCopies))
    errors = []
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 6])
        X, y = mixture.sample(n, rng)
        found = (
            mean_estimate(X, y, 1, rng=rng, normalise=True),
            mean_estimate(X, y, 1, delta="1e-5", rng=rng, normalise=True),
            logistic_estimate(X, y, one, rng=rng, steps=60, normalise=True),
            logistic_estimate(X, y, joint, rng=rng, steps=60, normalise=True),
        )
        errors.append([mixture.error(estimate.weights) for estimate in found])
    duchi, gauss, single, copies = np.median(errors, axis=0)
    yield {
        "name": f"weak learners, mixture d = 5, epsilon = 1, n = {n:,} (Bayes .159): median error of Duchi's "
        f"mean (Gaussian mean {gauss:.3f}; degree 1: one copy {single:.3f}, joint copies {copies:.3f})",
        "value": float(duchi),
        "ratio": float(duchi / single),
        "baseline": "times the error of degree 1 with one copy",
    }


def caps() -> Iterator[dict[str, Any]]:
    """Yield variances of the choice among 64 public directions, d = 10."""
    for epsilon in (1, 2, 4):
        scale, duchi = CapBall(10, epsilon).scale, DuchiBall(10, epsilon).scale
        gauss = GaussianVector.calibrated(epsilon, "1e-5").sigma ** 2
        yield {
            "name": f"variance per coordinate, d = 10, epsilon = {epsilon}: caps of 64 directions "
            f"(Duchi {duchi**2 / 10:.2f}; Gaussian, delta = 1e-5, {gauss:.1f})",
            "value": scale**2 / 10,
            "ratio": (scale / duchi) ** 2,
            "baseline": "times Duchi's",
        }


def releases() -> Iterator[dict[str, Any]]:
    """Yield the speed of exact releases, beside a float simulation."""
    n, d = 20_000, 10
    duchi, V, axes = DuchiBall(d, 1), np.tile(np.eye(d)[0], (n, 1)), public_directions(n, d, 0)
    started = time.perf_counter()
    duchi.release(V, axes, SecureSampler())
    exact = time.perf_counter() - started
    started = time.perf_counter()
    duchi.sample(V, 0)
    yield {
        "name": f"Duchi's mechanism as public direction and exact bit, d = {d}",
        "value": n / exact,
        "unit": "users/s",
        "ratio": exact / (time.perf_counter() - started),
        "baseline": "times the float simulation's time",
    }
    noise, few = GaussianVector.calibrated(1, "1e-5"), V[: n // 20]
    started = time.perf_counter()
    noise.release(few, SecureSampler())
    normal = time.perf_counter() - started
    yield {
        "name": f"Gaussian noise on a lattice, exact, d = {d}",
        "value": len(few) / normal,
        "unit": "users/s",
        "ratio": normal / len(few) / (exact / n),
        "baseline": "times the time of Duchi's bit",
    }


def run(progress: Callable[[float], None] | None = None) -> Iterator[dict[str, Any]]:
    """Yield all rows as they are ready."""
    parts = (costs, weak_learners, caps, releases, mixtures, fast_rate, labels, vote)
    for i, part in enumerate(parts):
        yield from part()
        if progress is not None:
            progress((i + 1) / len(parts))
