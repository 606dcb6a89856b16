"""What public unlabelled points buy: numbers of private users, success, the fast rate, and label privacy."""

import numpy as np
from figures import save
from matplotlib import pyplot as plt

from geomdp.local.learning.baselines import average, corrected_logistic, logistic_regression, one_bit
from geomdp.local.learning.distributions import Massart, Mixture, draw
from geomdp.local.learning.inputs import decide, unit
from geomdp.local.learning.label_dp import respond
from geomdp.local.learning.massart import learn_massart
from geomdp.local.learning.pipelines import weak_then_self_train
from geomdp.local.learning.rates import (
    mean_success_probability,
    one_bit_probability,
    right_side_probability,
    users_for_mean,
    users_for_one_bit,
    users_for_side,
)
from geomdp.local.learning.self_training import self_train

NAMES = ("private mean alone", "private mean, then self-training", "public direction, one private bit")
COLOURS = ("#4d4d4d", "#c0392b", "#2471a3")


def users(ax):
    """Draw users for nine runs in ten against d: quadratic, linear, constant."""
    dims = np.array([3, 5, 8, 12, 20, 30, 50, 80, 120, 200])
    curves = (
        [users_for_mean(int(d), 1) for d in dims],
        [users_for_side(int(d), 1) for d in dims],
        [users_for_one_bit(1)] * len(dims),
    )
    for curve, name, colour in zip(curves, NAMES, COLOURS, strict=True):
        ax.loglog(dims, curve, color=colour, label=name)
    ax.set(xlabel="dimension d", ylabel="private users")
    ax.set_title("Users for 9 runs of 10, closed forms (ε = 1, |μ| = 1)")
    ax.legend(frameon=False)


def success(ax, d=20, runs=150):
    """Draw the share of good runs against n: closed forms as lines, simulations as points."""
    mixture, sizes = Mixture.on_axis(d), np.array([5, 15, 45, 130, 400, 1200, 3600, 10_800])
    limit, found = mixture.bayes_error() + 0.05, np.zeros((3, len(sizes)))
    for i, n in enumerate(sizes.tolist()):
        for seed in range(runs):
            rng = np.random.default_rng([n, seed])
            X, y = mixture.sample(n, rng)
            Q = mixture.sample(100 * d, rng)[0]
            run = weak_then_self_train(X, y, Q, 1, rng=rng, normalise=True, rounds=150)
            bit = one_bit(Q, X[:500], y[:500], 1, rng=rng).weights
            for row, w in enumerate((run.weak.weights, run.weights, bit)):
                found[row, i] += mixture.error(w) <= limit
    fine = np.unique(np.geomspace(4, 14_000, 80).astype(int)).tolist()
    curves = (
        [mean_success_probability(n, d, 1) for n in fine],
        [right_side_probability(n, d, 1) for n in fine],
        [one_bit_probability(min(n, 500) | 1, 1) for n in fine],
    )
    for curve, share, name, colour in zip(curves, found / runs, NAMES, COLOURS, strict=True):
        ax.semilogx(fine, curve, color=colour)
        error = 1.64 * np.sqrt(share * (1 - share) / runs)
        ax.errorbar(sizes, share, error, fmt="o", ms=4, color=colour, label=name)
    ax.axhline(0.9, color="0.8", lw=0.8, zorder=0)
    ax.set(xlabel="private users n", ylabel="share of runs with error ≤ Bayes + 0.05")
    ax.set_title(f"d = {d}, {100 * d:,} public points; lines: closed forms, points: {runs} runs")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(0.0, 0.25))


def fast_rate(ax, d=20):
    """Draw the excess error of self-training against the number of public points."""
    sizes = np.array([500, 1000, 2000, 5000, 10_000, 20_000, 40_000])
    for length, colour in ((0.7, "#7d3c98"), (1.0, "#c0392b"), (2.0, "#d68910")):
        mixture, excess = Mixture.on_axis(d, length), []
        for m in sizes.tolist():
            values = []
            for seed in range(8):
                rng = np.random.default_rng([m, seed])
                weak = np.append(0.5, np.sqrt(0.75) * unit(rng.standard_normal(d - 1)))
                found = self_train(mixture.sample(m, rng)[0], weak, rounds=120).weights
                values.append(mixture.error(found) - mixture.bayes_error())
            excess.append(np.mean(values))
        ax.loglog(sizes, excess, "o-", ms=4, color=colour, label=f"|μ| = {length:g}")
    ax.loglog(sizes, 0.45 * d / sizes, "--", color="0.5", label="0.45 d/m")
    ax.set(xlabel="public points m", ylabel="error − Bayes error")
    ax.set_title(f"Self-training, d = {d}: the excess falls like d/m")
    ax.legend(frameon=False)


def labels(ax, d=10, seeds=6):
    """Draw errors under personal label privacy on skewed points."""
    sizes = [1000, 3000, 10_000, 30_000, 100_000]
    names = (
        "Massart learner",
        "Massart learner, known rates",
        "logistic",
        "average",
        "debiased average",
        "corrected logistic, known rates",
    )
    table = np.zeros((len(names), len(sizes)))
    for i, n in enumerate(sizes):
        for seed in range(seeds):
            rng = np.random.default_rng([n, seed])
            w = unit(np.random.default_rng(seed).standard_normal(d))  # the same targets for every n
            world = Massart(w, lambda P: np.zeros(len(P)), 0.0, "exponential")
            X = draw("exponential", n, d, rng)
            answer = respond(decide(X, w), np.where(X[:, 0] > 0, 0.3, 4.0).tolist(), rng=rng)
            first = logistic_regression(X, answer.labels)
            found = (
                learn_massart(X, answer.labels, rng=rng, start=first).weights,
                learn_massart(X, answer.labels, rng=rng, start=first, weights=answer.log_odds).weights,
                first,
                average(X, answer.labels),
                average(X, answer.labels, answer.rates),
                corrected_logistic(X, answer.labels, answer.rates),
            )
            table[:, i] += [world.error(v) / seeds for v in found]
    styles = (
        ("#c0392b", "o-"),
        ("#d68910", "o-"),
        ("#2471a3", "s--"),
        ("#4d4d4d", "s--"),
        ("#7f8c8d", "s:"),
        ("#27ae60", "^-"),
    )
    for row, name, (colour, style) in zip(table, names, styles, strict=True):
        ax.loglog(sizes, row, style, ms=4, color=colour, label=name)
    ax.set(xlabel="users n (points public, labels private)", ylabel="error")
    ax.set_title("Personal label privacy, ε = 0.3 or 4 by place, skewed points, d = 10")
    ax.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    figure, axes = plt.subplots(2, 2, figsize=(13, 9))
    for draw_panel, panel in zip((users, success, fast_rate, labels), axes.flat, strict=True):
        draw_panel(panel)
    figure.suptitle("What public unlabelled points buy local learners (simulated)")
    save(figure, "public_data.png")
