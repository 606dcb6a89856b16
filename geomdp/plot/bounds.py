"""The bounds of an exact search closing in, beside the data and the best line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geomdp.core.sample import Sample
from geomdp.opt.result import OptResult
from geomdp.plot import artists as art
from geomdp.plot.plane import data_plane


def bound_trajectory(history: Sequence[tuple[float, int, int]], *, ax: Any = None) -> tuple[Any, Any]:
    """Draw certified lower and upper bounds against time; return the two step lines.

    Args:
        history: (seconds, lower, upper), as told by ``opt_halfspace(..., watch=...)``.
        ax: matplotlib axes.

    Example:
        >>> import matplotlib; matplotlib.use("Agg")
        >>> lower, upper = bound_trajectory([(0.0, 0, 9), (0.5, 3, 5), (1.0, 5, 5)])
        >>> bool(lower.get_ydata()[-1] == upper.get_ydata()[-1])
        True
    """
    axes = art.axes_of(ax)
    seconds = [moment for moment, _, _ in history]
    (low,) = axes.step(
        seconds, [lower for _, lower, _ in history], where="post", label="certified lower bound"
    )
    (high,) = axes.step(
        seconds, [upper for _, _, upper in history], where="post", label="mistakes of the witness"
    )
    axes.set_xlabel("seconds")
    axes.set_ylabel("records")
    axes.set_title("opt lies between the lines")
    axes.legend()
    return low, high


def optimum_picture(sample: Sample, result: OptResult, history: Sequence[tuple[float, int, int]]) -> Any:
    """Return a figure of the bounds over time and, on a line or in the plane, the data with the best line."""
    from matplotlib.figure import Figure

    plane = sample.domain.d in (2, 3)
    figure = Figure(figsize=(12 if plane else 6, 5), layout="constrained")
    axes = figure.subplots(1, 2 if plane else 1, squeeze=False)[0]
    bound_trajectory([*history, (result.seconds, result.lower, result.upper)], ax=axes[0])
    if plane:
        data_plane(sample, result.classifier, ax=axes[1])
    return figure
