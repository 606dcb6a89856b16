"""Bounds on the resolution with actual constants, by m and by n (paper, Table 1 and Figure 1).

Upper curves are certified: rows of plans, or the same calibration on a domain that is too large to run on.
Lower curves that rest on the unknown constant c_I of an information bound are drawn for c_I = 1.

The lower bound for one-way protocols has no unknown constant. Let Alice hold t copies of a uniform rank i of
l bits and M be her message. Given the first bits of i, Bob's comparison of i with (these bits, 1, 0, ..., 0)
tells the next one with error at most beta; so M reveals at least l (1 - h(beta)) bits about i, h the binary
entropy [Fano, chain rule]. By group privacy it reveals at most epsilon t / ln 2 bits: hence
t >= l (1 - h(beta)) ln 2 / epsilon (paper, Remark 3.4). And any protocol needs t >= ln((1 - beta) / beta) /
epsilon, since t records turn a Match into a Far.
"""

from fractions import Fraction
from math import log, log2

from figures import save
from matplotlib import pyplot as plt

from geomdp import Domain
from geomdp.bounds import log_growth
from geomdp.plot.crossover import resolution_plot
from geomdp.privacy.law import chernoff_upper
from geomdp.privacy.sampler import noise_scale
from geomdp.testers.base import Setting
from geomdp.testers.curator import Curator
from geomdp.testers.curves import least_n, resolution_curves
from geomdp.testers.plan import plan
from lp_gadgets.scales import Scale, lower_bound
from lp_gadgets.tanner import TannerCode
from lp_gadgets.thresholds import ThresholdInstance, threshold_bound

BETA = Fraction(1, 10)
LOWER, TRIVIAL, PER_UNIT = "#E07B00", "#ECEAE4", "lower bound per unit c_I"


def one_way_bound(m: int, epsilon: float, beta: float = float(BETA)) -> float:
    """Return the t that every one-way threshold tester must reach."""
    entropy = -beta * log2(beta) - (1 - beta) * log2(1 - beta)
    return ThresholdInstance(m, 1, 1).bits * (1 - entropy) * log(2) / epsilon


def universal_bound(epsilon: float, beta: float = float(BETA)) -> float:
    """Return the t that every private tester must reach, with a trusted curator or without."""
    return log((1 - beta) / beta) / epsilon


def histogram_bound(m: int, log_count: float, epsilon: Fraction) -> int:
    """Return the resolution of one noisy histogram and one noisy minimum on a domain of m points.

    The one-way tester's calibration, both quantiles by Chernoff's inequality; e^log_count bounds the
    number of labellings.
    """
    scale, extra = noise_scale(2, epsilon), (noise_scale(2, epsilon),)
    up = chernoff_upper(m, scale, 1, BETA, extra)
    level = BETA / 2 ** int(log_count / log(2) + 1)
    return -(-(up + chernoff_upper(m, scale, 1, level, extra) - 1) // 2)


def thresholds(ax: plt.Axes) -> None:
    """Certified and lower bounds by the length of a line."""
    domains = [Domain.line(2**bits) for bits in (8, 16, 32, 64, 128, 256, 512, 1024)]
    curves = resolution_curves(domains, "domain", n=10**7, epsilon=1, labels="disjoint")
    resolution_plot(curves, ax=ax)
    bits = [domain.m.bit_length() - 1 for domain in domains]
    ax.plot(
        bits, [one_way_bound(d.m, 1) for d in domains], color=LOWER, label="lower bound, one-way protocols"
    )
    ax.plot(
        bits,
        [threshold_bound(d.m, 1) for d in domains],
        color=LOWER,
        ls=":",
        label=f"{PER_UNIT}, any protocol",
    )
    ax.axhline(universal_bound(1), color=LOWER, ls="--", label="lower bound, any trust")
    ax.set_title("Thresholds on a line of m ranks, ε = 1, β = 0.1, disjoint labels")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small", frameon=False)


def halfspaces(ax: plt.Axes) -> None:
    """Certified bounds by n on a grid: a row is usable from the n at which opt can reach its t."""
    domain = Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)])
    sizes = [2**j for j in range(1, 21)]
    ax.fill_between(sizes, sizes, 2 * sizes[-1], color=TRIVIAL, lw=0, label="trivial: t > n")
    seen = set()
    for row in plan(domain, n=10**6, epsilon=1, thorough=True).testers:
        start = least_n(row)
        if start is None or row.name in seen:
            continue
        seen.add(row.name)
        label = f"{row.name} ({row.guarantee}), t = {row.resolution}"
        ax.plot([start, sizes[-1]], [row.resolution] * 2, marker="o", markevery=[0], ms=4, label=label)
    ax.axhline(universal_bound(1), color=LOWER, ls="--", label="lower bound, any trust")
    ax.set(
        xscale="log", yscale="log", xlim=(2, sizes[-1]), ylim=(1, 2 * 10**4), xlabel="records of each party n"
    )
    ax.set_title("Halfspaces on 16 x 16 cells, ε = 1, β = 0.1: usable from the dot on")
    ax.set_ylabel("certified resolution t (records)")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small", frameon=False)


def hard(ax: plt.Axes) -> None:
    """The lower bound by n on a domain that holds hard instances of several scales, and what is certified."""
    epsilon = Fraction(1, 100)
    scales = [
        Scale.of(TannerCode.geometry(f"{kind}(2,{q})"), alphabet)
        for kind in ("PG", "EG")
        for q in (2, 4, 8, 16)
        for alphabet in (2, 4)
        if (kind, q) != ("EG", 2)
    ]
    d, m = max(s.d for s in scales), sum(s.m for s in scales)
    sizes = [int(10 ** (j / 4)) for j in range(8, 53)]
    ax.fill_between(sizes, sizes, sizes[-1], color=TRIVIAL, lw=0, label="trivial: t > n")
    lower = [t for _, t, _ in lower_bound(scales, sizes, epsilon)]
    ax.step(sizes, lower, where="post", color=LOWER, ls=":", label=PER_UNIT)
    ax.axhline(universal_bound(0.01), color=LOWER, ls="--", label="lower bound, any trust")
    t = histogram_bound(m, log_growth(m, d), epsilon)
    ax.plot([t, sizes[-1]], [t] * 2, marker="o", markevery=[0], ms=4, label="noisy histogram (analytic)")
    setting = Setting(Domain.line(2), 10**6, 10**6, epsilon, BETA)
    t = Curator(setting).resolution or 0  # the same on every domain
    ax.plot(
        [t, sizes[-1]], [t] * 2, marker="o", markevery=[0], ms=4, color="#6B7078", label="curator, trusted"
    )
    ax.set(
        xscale="log", yscale="log", xlim=(100, sizes[-1]), ylim=(1, 10**11), xlabel="records of each party n"
    )
    ax.set_title(f"Halfspaces on a hard domain, d = {d:,}, m = {m:,}, ε = 0.01")
    ax.set_ylabel("resolution t (records)")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small", frameon=False)


if __name__ == "__main__":
    figure, axes = plt.subplots(3, 1, figsize=(10, 14))
    for draw, ax in zip((thresholds, halfspaces, hard), axes, strict=True):
        draw(ax)
    figure.suptitle("What is certified, and what is impossible")
    save(figure, "figure_one.png")
