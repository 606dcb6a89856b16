"""What the gallery's scripts share: their one argument, the style of figures, the shipped samples."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from geomdp import Domain, Sample, data

STYLE = {
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titlepad": 8,
    "figure.titlesize": 13,
    "figure.titleweight": "bold",
    "savefig.dpi": 90,
    "figure.constrained_layout.use": True,
}
mpl.rcParams.update(STYLE)


def folder() -> Path:
    """Return the folder for the pictures, the script's one argument; it is made if it is missing."""
    if len(sys.argv) != 2:
        sys.exit(f"Usage: {Path(sys.argv[0]).name} FOLDER")
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    return place


def save(figure: mpl.figure.Figure, name: str) -> None:
    """Write a figure as PNG of 256 fitted colours, without a date: equal pictures are equal files."""
    from PIL import Image

    path = folder() / name
    for _ in range(3):  # the layout of axes of fixed aspect settles after a few rounds
        figure.draw_without_rendering()
    figure.savefig(path, metadata={"Software": None})
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, 5, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
    print(path)


def penguins(table: str, positive: str, grid: str = "grid8") -> Sample:
    """Return a shipped penguins table on its grid of 8 (or 32) levels."""
    domain = Domain.from_grid_file(data.path(f"penguins/{grid}.json"))
    return Sample.from_table(domain, data.path(f"penguins/{table}.csv"), label="species", positive=positive)


def flights(table: str) -> Sample:
    """Return a shipped flights table on its grid."""
    domain = Domain.from_grid_file(data.path("flights/grid.json"))
    path = data.path(f"flights/{table}.csv")
    return Sample.from_table(domain, path, label="disrupted", positive="yes")
