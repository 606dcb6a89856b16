"""What the deriving scripts share: snapping, exact optima by brute force, and writing files with their card.

Nothing here imports geomdp: the figures in the data cards are computed a second way, so that the tests can
compare. Every output is a function of the source package alone, byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Sequence
from math import gcd
from pathlib import Path

import numpy as np

#: (name, lower, upper, levels) of one axis of a grid.
Axis = tuple[str, float, float, int]
DATA = Path(__file__).resolve().parents[2] / "geomdp" / "data"


def output_folder(description: str) -> Path:
    """Return the folder to write to: the package's own, or the one named by --out."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=DATA, help="folder to write to (default: the package's)")
    return Path(parser.parse_args().out)


def snap(values: np.ndarray, axis: Axis) -> np.ndarray:
    """Return the level of each value on an axis (ties to even, clipped)."""
    _, lower, upper, levels = axis
    place = (np.asarray(values, dtype=float) - lower) / (upper - lower) * (levels - 1)
    return np.clip(np.rint(place), 0, levels - 1).astype(int)


def order_key(*parts: object) -> str:
    """Return a hash that orders records reproducibly and unrelated to their values."""
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()


def halfplane_optimum(first: np.ndarray, second: np.ndarray, positive: np.ndarray) -> int:
    """Return the least number of mistakes of any halfplane on labelled points of an integer plane.

    Turn a line once around. The order in which it meets the points changes only at directions along which two
    of them project alike; just beside such a direction, ties are met in the order along the line, one way or
    the other. Every halfplane cuts off a final part of one of these orders.
    """
    plane = np.unique(np.stack([first, second], axis=1), axis=0, return_inverse=True)
    points, where = plane[0], plane[1].ravel()
    weight = np.bincount(where[positive], minlength=len(points)) - np.bincount(
        where[~positive], minlength=len(points)
    )
    wrong_if_all_positive = int((~positive).sum())
    best = min(wrong_if_all_positive, int(positive.sum()))
    for a, b in _directions(points):
        along, across = points @ (a, b), points @ (b, -a)
        for turn in (1, -1):
            cut = np.cumsum(weight[np.lexsort((turn * across, along))])  # the first points become negative
            best = min(best, wrong_if_all_positive + int(cut.min()))
    return best


def _directions(points: np.ndarray) -> Iterable[tuple[int, int]]:
    width, height = np.ptp(points, axis=0)
    for a in range(-int(height), int(height) + 1):
        for b in range(-int(width), int(width) + 1):
            if gcd(a, b) == 1:
                yield a, b


def threshold_optimum(ranks: np.ndarray, positive: np.ndarray, levels: int) -> int:
    """Return the least number of mistakes of any rule "positive from this rank on"."""
    return min(int(((ranks >= theta) != positive).sum()) for theta in range(levels + 1))


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file with line feeds, values as Python prints them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def write_grid(path: Path, axes: Sequence[Axis]) -> None:
    """Write a grid file."""
    features = [dict(zip(("name", "lower", "upper", "levels"), axis, strict=True)) for axis in axes]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"features": features}, indent=2) + "\n", encoding="utf-8", newline="\n")


def write_card(folder: Path, text: str) -> None:
    """Write DATA_CARD.md: the text, then the sha256 of every other file of the folder."""
    files = sorted(path for path in folder.iterdir() if path.suffix in {".csv", ".json"})
    sums = [f"| {path.name} | `{hashlib.sha256(path.read_bytes()).hexdigest()}` |" for path in files]
    table = "\n".join(["## Files", "", "| file | sha256 |", "|---|---|", *sums])
    card = folder / "DATA_CARD.md"
    card.write_text(f"{text.strip()}\n\n{table}\n", encoding="utf-8", newline="\n")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |".replace("| --- ", "|---") for line in lines)
