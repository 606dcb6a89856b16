"""Errors of private learners against the number of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geomdp.learners.trials import Curve
from geomdp.plot import artists as art

_COLOURS = {
    "exponential": "#009E73",
    "carrier-boost": "#0072B2",
    "label-boost": "#56B4E9",
    "public points": "#7A3E9D",
    "objective perturbation": "#D55E00",
    "noisy gradient descent": "#E69F00",
    "majority": "#6B7078",
}


def error_plot(curves: Sequence[Curve], *, ax: Any = None) -> list[Any]:
    """Draw median errors with the middle half of the runs shaded, both axes logarithmic.

    Args:
        curves: from :func:`geomdp.learners.trials.learning_curve`.
        ax: matplotlib axes.

    Returns:
        One line for each curve.

    Example:
        >>> import matplotlib; matplotlib.use("Agg")
        >>> curve = Curve("majority", "a world", (10, 20), ((0.5, 0.4), (0.3, 0.4)))
        >>> [line.get_ydata().round(2).tolist() for line in error_plot([curve])]
        [[0.45, 0.35]]
    """
    axes = art.axes_of(ax)
    lines = []
    for curve in curves:
        colour = _COLOURS.get(curve.method, art.COLOURS["ink"])
        low, high = (_positive(curve.quantile(share)) for share in (0.25, 0.75))
        axes.fill_between(curve.sizes, low, high, color=colour, alpha=0.15, lw=0)
        medians = _positive(curve.medians)
        (line,) = axes.plot(curve.sizes, medians, marker="o", ms=4, color=colour, label=curve.method)
        lines.append(line)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("records n")
    axes.set_ylabel("error on fresh records (median, simulated)")
    axes.legend(fontsize="small", frameon=False)
    return lines


def _positive(values: Sequence[float]) -> list[float]:
    """Return values that a logarithmic axis can show."""
    return [max(value, 1e-4) for value in values]
