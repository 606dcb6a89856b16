"""Simulated power: how often Far is said, against the true optimum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geomdp.plot import artists as art
from geomdp.testers.power import OperatingCurve

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#7A3E9D", "#E69F00", "#6B7078", "#C1121F")


def power_plot(curves: Sequence[OperatingCurve], *, ax: Any = None) -> list[Any]:
    """Draw operating curves with their confidence bands, and the testers' resolutions.

    Args:
        curves: from :func:`geomdp.testers.power.operating_characteristic`.
        ax: matplotlib axes.

    Returns:
        One line for each curve.

    Example:
        >>> import matplotlib; matplotlib.use("Agg")
        >>> from geomdp.core.domain import Domain
        >>> from geomdp.testers.base import Setting
        >>> from geomdp.testers.curator import Curator
        >>> from geomdp.testers.power import operating_characteristic
        >>> tester = Curator(Setting(Domain.line(64), 500, 500, 1, classes="thresholds"))
        >>> curve = operating_characteristic(tester, sizes=[0, 3, 9], runs=20, workers=1)
        >>> [line.get_xdata().tolist() for line in power_plot([curve])]
        [[0, 3, 9]]
    """
    axes = art.axes_of(ax)
    several_testers = len({(c.tester, c.guarantee, c.resolution) for c in curves}) > 1
    lines = []
    for i, curve in enumerate(curves):
        colour = _COLOURS[i % len(_COLOURS)]
        label = f"{curve.tester}: {curve.family}" if several_testers else curve.family
        if curve.least_found is not None:
            label += f" (found from {curve.least_found})"
        opts = [point.opt for point in curve.points]
        lows, highs = [p.low for p in curve.points], [p.high for p in curve.points]
        axes.fill_between(opts, lows, highs, color=colour, alpha=0.15, lw=0)
        (line,) = axes.plot(opts, [p.rate for p in curve.points], marker=".", color=colour, label=label)
        lines.append(line)
    for i, curve in enumerate(curves):
        if several_testers or i == 0:
            shade = _COLOURS[i % len(_COLOURS)] if several_testers else art.COLOURS["ink"]
            axes.axvline(curve.resolution, color=shade, lw=1.2, ls=(0, (4, 2)))
    beta = float(curves[0].setting.beta) if curves else 0.1
    for level in (beta, 1 - beta):
        axes.axhline(level, color=art.COLOURS["gone"], lw=1, zorder=0)
    axes.set_xlabel("true opt (records)")
    axes.set_ylabel("P(Far), simulated")
    axes.set_ylim(-0.02, 1.02)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13)}
    axes.legend(fontsize="small", frameon=False, **place)
    return lines


def power_picture(curves: Sequence[OperatingCurve]) -> Any:
    """Return a figure of :func:`power_plot`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.subplots()
    power_plot(curves, ax=axes)
    first = curves[0]
    axes.set_title(
        f"{first.tester}: {first.claim} (dashed); ε = {float(first.setting.epsilon):g}, "
        f"n = {first.setting.n}; simulated ({first.how})",
        fontsize=10,
    )
    return figure
