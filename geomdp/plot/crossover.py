"""What every tester certifies along one public parameter, and where the best one changes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from geomdp.plot import artists as art
from geomdp.testers.curves import Curve, Curves

#: Colours by tester, apart for colour-blind eyes; others follow in turn.
_COLOURS = {
    "curator": "#6B7078",
    "one-way": "#0072B2",
    "two-histograms": "#56B4E9",
    "one-way-tilted": "#D55E00",
    "two-histograms-tilted": "#E69F00",
    "localised": "#009E73",
    "halfspace-elimination": "#7A3E9D",
    "halfspace-elimination-paper": "#B79ACB",
    "interior-point": "#C1121F",
}
_SPARE = ("#22262B", "#CC79A7", "#8C6D31", "#4C9085", "#A0522D", "#5F6F94", "#B0A000")
_DASHES = {
    "analytic": "-",
    "certified-mc": (0, (5, 1.5)),
    "unless-oversize": (0, (3, 1, 1, 1)),
    "unless-inconclusive": (0, (1, 1.3)),
}
_TITLES = {
    "epsilon": "privacy budget ε of each party",
    "n": "records of each party",
    "beta": "failure probability β",
    "tolerance": "tolerance t₀",
    "domain": "points of the domain",
}


def resolution_plot(curves: Curves, *, names: Sequence[str] | None = None, ax: Any = None) -> dict[Any, Any]:
    """Draw certified resolutions; a curve is pale where opt cannot reach it, and the best row is marked.

    Args:
        curves: from :func:`geomdp.testers.curves.resolution_curves`.
        names: testers to draw; all by default.
        ax: matplotlib axes.

    Returns:
        The lines by (name, guarantee), and "best", the marks of each value's best row.

    Example:
        >>> import matplotlib; matplotlib.use("Agg")
        >>> from geomdp.core.domain import Domain
        >>> from geomdp.testers.curves import resolution_curves
        >>> found = resolution_curves(Domain.line(2**16), "epsilon", [1, 2], n=500, labels="disjoint")
        >>> lines = resolution_plot(found)
        >>> sorted(name for name, _ in set(lines) - {"best"})[:2]
        ['curator', 'interior-point']
    """
    axes = art.axes_of(ax)
    x = positions(curves)
    drawn: dict[Any, Any] = {}
    spare = iter(_SPARE * 4)
    colours = dict(_COLOURS)
    for curve in curves.curves:
        known = all(t is None for t in curve.resolutions)
        if known or (names is not None and curve.name not in names):
            continue
        if curve.name not in colours:
            colours[curve.name] = next(spare)
        drawn[curve.name, curve.guarantee] = _line(axes, x, curve, colours[curve.name])
    best = [
        (where, made.best.resolution)
        for where, made in zip(x, curves.plans, strict=True)
        if made.best is not None
    ]
    drawn["best"] = axes.scatter(
        [where for where, _ in best],
        [t for _, t in best],
        s=52,
        facecolors="none",
        edgecolors=art.COLOURS["ink"],
        linewidths=1.2,
        zorder=6,
        label="best usable row",
    )
    for crossing in curves.crossovers:
        i = curves.values.index(crossing.at)
        axes.axvline((x[i] * x[i + 1]) ** 0.5 if min(x) > 0 else (x[i] + x[i + 1]) / 2, color="#D5D2CA", lw=1)
    if min(x) > 0:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(x, labels=[_text(where, curves) for where in x])
    axes.set_yscale("log")
    axes.set_xlabel(_axis_title(curves))
    axes.set_ylabel("certified resolution t (records)")
    axes.grid(visible=True, which="major", color=art.COLOURS["gone"], lw=0.7)
    axes.set_axisbelow(True)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small", frameon=False)
    return drawn


def positions(curves: Curves) -> list[float]:
    """Return where values are drawn: domains whose size is no float by their number of bits."""
    if curves.axis == "domain" and max(curves.x) > 2**53:
        return [math.log2(value) for value in curves.x]
    return [float(value) for value in curves.x]


def curves_picture(curves: Curves, title: str = "") -> Any:
    """Return a figure of :func:`resolution_plot`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 5.2), layout="constrained")
    resolution_plot(curves, ax=figure.subplots())
    figure.suptitle(textwrap.fill(title, 100), fontsize=10)
    return figure


def _axis_title(curves: Curves) -> str:
    if curves.axis == "domain" and max(curves.x) > 2**53:
        return "bits of a rank, log₂ m"
    return _TITLES[curves.axis]


def _text(where: float, curves: Curves) -> str:
    return f"{where:,.0f}" if curves.axis in ("n", "domain") else f"{where:.3g}"


def _line(axes: Any, x: list[float], curve: Curve, colour: str) -> Any:
    label = f"{curve.name} ({curve.guarantee})" + (", trusted" if curve.trusted else "")
    dashes = _DASHES.get(curve.guarantee, "-")
    style = {"color": colour, "linestyle": dashes, "lw": 1.6, "marker": ".", "ms": 5}
    whole = [math.nan if t is None else t for t in curve.resolutions]
    usable = [t if able else math.nan for t, able in zip(whole, curve.feasible, strict=True)]
    axes.plot(x, whole, alpha=0.28, **style)
    (line,) = axes.plot(x, usable, label=label, **style)
    return line
