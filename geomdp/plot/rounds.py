"""What each round of halfspace elimination leaves, drawn in weight space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError
from geomdp.core.sample import Sample
from geomdp.geometry.arrangement import Dichotomies
from geomdp.plot import artists as art
from geomdp.plot.artists import COLOURS
from geomdp.plot.dual import DualPicture, Tiles, tiles

if TYPE_CHECKING:
    from geomdp.testers.replay import Replay, Step


def survivors(
    seen: Tiles,
    after: NDArray[np.int64],
    *,
    before: NDArray[np.int64] | None = None,
    cut_by: str | None = None,
    mistakes: NDArray[np.int64] | None = None,
    ax: Any = None,
) -> DualPicture:
    """Draw which candidates one round of elimination has left.

    Args:
        seen: cells in view, from :func:`tiles` of the candidates (one for each labelling).
        after: numbers of the candidates that stay.
        before: numbers of those that were there; all by default.
        cut_by: "Alice" or "Bob", for the colour of what this round drops.
        mistakes: (N,) numbers by which candidates that stay are coloured.
        ax: matplotlib axes.

    Returns:
        The artists; regions "after", "dropped" and "gone".
    """
    axes = art.axes_of(ax)
    everything = np.arange(len(seen.W), dtype=np.int64)
    before = everything if before is None else before
    parts = {
        "gone": np.setdiff1d(everything, before),
        "dropped": np.setdiff1d(before, after),
        "after": np.asarray(after),
    }
    drop = COLOURS[cut_by] if cut_by else COLOURS["grey"]
    values = np.zeros(len(seen.W), dtype=np.int64) if mistakes is None else mistakes
    alive = seen.numbers[np.isin(seen.numbers, after)]
    regions = {
        "gone": art.fill(
            axes, seen.of(parts["gone"]), facecolors=COLOURS["gone"], edgecolors="white", lw=0.2, zorder=1
        ),
        "dropped": art.fill(
            axes, seen.of(parts["dropped"]), facecolors=drop, alpha=0.55, edgecolors="white", lw=0.2, zorder=2
        ),
        "after": art.ground(axes, seen.of(parts["after"]), values[alive], "alive", lw=0.2, zorder=3),
    }
    art.frame(axes, seen.chart)
    return DualPicture(axes, seen, regions["after"], regions)


def elimination(run: Replay, W: Dichotomies, S_A: Sample, S_B: Sample, *, axes: Sequence[Any]) -> list[Any]:
    """Draw a run of halfspace elimination, one picture a round: what was there, who cut, what is left.

    Args:
        run: from :func:`geomdp.testers.replay.replay`.
        W: dichotomies(domain, generic=True), whose representatives are the candidates.
        S_A, S_B: both samples: candidates that stay are coloured by the mistakes they make on both, which
            no party of a private run ever sees.
        axes: matplotlib axes, at least one for every round; those to spare are emptied.

    Returns:
        A DualPicture for each round.

    Raises:
        ArgumentError: when there are fewer axes than rounds, or W does not hold the run's candidates.
    """
    places = list(np.asarray(axes, dtype=object).flat)
    if len(places) < len(run.steps):
        raise ArgumentError("axes", f"at least {len(run.steps)} axes, one a round", len(places))
    if not np.array_equal(W.weights, run.weights):
        raise ArgumentError("W", "the run's candidates", "others", "Use dichotomies(domain, generic=True).")
    total = W.mistakes(S_A) + W.mistakes(S_B)
    seen = tiles(W, view="auto" if W.domain.d == 2 else "sphere", focus=W.weights[_last_alive(run)])
    drawn = []
    for step, ax in zip(run.steps, places, strict=False):
        picture = survivors(
            seen, step.after, before=step.before, cut_by=step.cut_by, mistakes=total, ax=art.axes_of(ax)
        )
        picture.cells.set_clim(int(total.min()), int(total.max()))
        _zoom(picture, step.before)
        ax.set_title(_story(step), fontsize="medium")
        drawn.append(picture)
    for ax in places[len(run.steps) :]:
        ax.set_axis_off()
    return drawn


def _zoom(picture: DualPicture, numbers: NDArray[np.int64]) -> None:
    """Close in on some candidates' cells."""
    import shapely

    shapes = picture.tiles.of(numbers)
    if picture.tiles.chart.view != "sphere" or not shapes:
        return
    left, low, right, high = shapely.total_bounds(np.array(shapes, dtype=object))
    half = min(2.06, max(right - left, high - low) / 2 * 1.08)
    x, y = (left + right) / 2, (low + high) / 2
    x, y = (float(np.clip(v, half - 2.06, 2.06 - half)) for v in (x, y))
    picture.ax.set_xlim(x - half, x + half)
    picture.ax.set_ylim(y - half, y + half)


def _last_alive(run: Replay) -> NDArray[np.int64]:
    return next((step.after for step in reversed(run.steps) if len(step.after)), run.steps[-1].before)


def _story(step: Step) -> str:
    head = f"Round {step.round}: {len(step.before):,} candidates"
    if step.counted:
        return f"{head}\ncounted: {len(step.after):,} fit both"
    if step.cut_by is None:
        return f"{head}\nneither party can cut: Match"
    pause = f"{step.silent[0]} cannot, " if step.silent else ""
    return f"{head}\n{pause}{step.cut_by} keeps {len(step.after):,}"
