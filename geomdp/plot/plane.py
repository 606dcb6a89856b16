"""The data plane: how many records of which label lie where, the best line, and what it gets wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.domain import Domain, Feature
from geomdp.core.errors import ArgumentError, describe
from geomdp.core.sample import Sample
from geomdp.geometry.cells import Ray, clip
from geomdp.plot import artists as art
from geomdp.plot.artists import COLOURS

#: Grids with at most this many levels on each axis have their counts written into the cells.
MOST_NUMBERS = 12
#: Points and lines farther from 0 than this are not told apart on paper.
_FAR = 10**9


@dataclass(frozen=True)
class DataPicture:
    """The artists of a picture of one sample.

    Attributes:
        ax: the axes.
        cells: per label "+" and "-", one path per occupied cell; the array holds its number of records.
        numbers: per label, the cells' numbers in the domain, in the order of the paths.
        wrong: one path per cell and label that the classifier gets wrong, or None without a classifier.
        mistakes: the number of records that it gets wrong, or None.
        boundary: the classifier's line, or None where it does not cross the picture.
    """

    ax: Any
    cells: dict[str, Any]
    numbers: dict[str, NDArray[Any]]
    wrong: Any
    mistakes: int | None
    boundary: Any


def data_plane(
    sample: Sample,
    classifier: Halfspace | Threshold | None = None,
    *,
    numbers: bool | None = None,
    labels: tuple[str, str] = ("+", "-"),
    ax: Any = None,
) -> DataPicture:
    """Draw a sample cell by cell, coloured by label and count, with a classifier's line and its mistakes.

    A cell with both labels is divided in proportion. The darker the colour, the more records. Records that
    the classifier gets wrong are framed. With two features the axes are the features, ticked in their own
    units; with one, cells stand beside each other and bars show the counts, + above and - below.

    Args:
        sample: records on a grid of one or two features, a line, or points whose last coordinate is positive
            (the plane shows them divided by it).
        classifier: a halfspace or threshold on the same domain, or None.
        numbers: write counts into the cells; by default on grids of at most 12 levels.
        labels: what + and - mean, for the legend.
        ax: matplotlib axes.

    Raises:
        ArgumentError: when the domain has no such plane, or the classifier is not one of it.
        MissingExtraError: when matplotlib is not installed.

    Example:
        >>> import matplotlib; matplotlib.use("Agg")
        >>> D = Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
        >>> S = Sample.from_cells(D, [0, 0, 8], [1, -1, 1])
        >>> data_plane(S, Halfspace((0, 0, 1))).mistakes
        1
    """
    if not isinstance(sample, Sample):
        raise ArgumentError("sample", "a Sample", describe(sample))
    if sample.domain.d not in (2, 3):
        raise ArgumentError("sample", "one on a domain of d = 2 or 3", f"one of d = {sample.domain.d}")
    axes = art.axes_of(ax)
    plane = _Plane(axes, sample, labels)
    plane.tiles()
    if classifier is not None:
        plane.classify(classifier)
    few = sample.domain.features and max(f.levels for f in sample.domain.features) <= MOST_NUMBERS
    if numbers or (numbers is None and few):
        plane.write()
    plane.finish()
    return plane.picture()
