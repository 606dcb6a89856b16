"""Derive the shipped penguin and breast-cancer tables (needs: pip install 'geomdp[data]').

The sources are the data sets inside the PyPI packages palmerpenguins and scikit-learn.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from common import (
    Axis,
    halfplane_optimum,
    markdown_table,
    output_folder,
    snap,
    write_card,
    write_csv,
    write_grid,
)
from palmerpenguins import load_penguins
from sklearn.datasets import load_breast_cancer

LEVELS = (32, 8)
PENGUIN_PLANE = (("bill_length", 30, 62), ("bill_depth", 12, 22))
WDBC_PLANE = (("worst_radius", 6, 38), ("worst_smoothness", 0.05, 0.25))
PENGUIN_COLUMNS = {
    "bill_length_mm": "bill_length",
    "bill_depth_mm": "bill_depth",
    "flipper_length_mm": "flipper_length",
    "body_mass_g": "body_mass",
}
WDBC_COLUMNS = {
    "worst radius": "worst_radius",
    "worst smoothness": "worst_smoothness",
    "worst texture": "worst_texture",
    "worst perimeter": "worst_perimeter",
    "mean texture": "mean_texture",
}

PENGUINS_TEXT = """
# Penguins: species from bill measurements

- **Source:** Palmer Station Antarctica LTER and K. Gorman, as packaged in `palmerpenguins` 0.1.6 on PyPI. A
  penguin is one row.
- **Licence:** CC0 1.0 (public domain) for the data and this table; the package's code is MIT.
- **Citation:** A. M. Horst, A. P. Hill, K. B. Gorman (2020), *palmerpenguins: Palmer Archipelago (Antarctica)
  penguin data*, doi:10.5281/zenodo.3960218; K. B. Gorman, T. D. Williams, W. R. Fraser (2014), PLoS ONE 9(3)
  e90081.
- **Rows:** {dropped} of 344 penguins have no measurements and are dropped. `adelie_gentoo.csv` and
  `adelie_chinstrap.csv` hold two species each, in the source's order; the parts `_a` and `_b` are the first,
  third, ... and the second, fourth, ... row of each species.
- **Script:** `scripts/data/derive_small.py`. Nothing is downloaded when geomdp runs.

## Columns

| column | meaning | unit |
|---|---|---|
| bill_length | length of the bill | mm |
| bill_depth | depth of the bill | mm |
| flipper_length | length of the flipper | mm |
| body_mass | body mass | g |
| species | Adelie, Gentoo or Chinstrap | |

## Grids

`grid.json` (32 levels) and `grid8.json` (8 levels): bill length 30..62 mm, bill depth 12..22 mm, from what is
known of these species, not from the rows.

## Optima

opt is the least number of mistakes of any halfplane on the snapped rows, by brute force over all orders in
which a turning line meets the cells.

{table}
"""

WDBC_TEXT = """
# WDBC: breast tumours, benign or malignant

- **Source:** Breast Cancer Wisconsin (Diagnostic), UCI Machine Learning Repository, from scikit-learn's copy
  (`load_breast_cancer`). A tumour is one row.
- **Licence:** CC BY 4.0 (UCI) for the data and this table; scikit-learn's copy comes under BSD-3-Clause.
- **Citation:** W. Wolberg, O. Mangasarian, N. Street, W. Street (1993), *Breast Cancer Wisconsin
  (Diagnostic)*, doi:10.24432/C5DW2B.
- **Rows:** 569, none dropped; five of the 30 features, renamed. `wdbc_a.csv` and `wdbc_b.csv` are the first,
  third, ... and the second, fourth, ... row of each diagnosis.
- **Script:** `scripts/data/derive_small.py`. Nothing is downloaded when geomdp runs.

## Columns

"worst" is the mean of the three largest values over the nuclei of one image.

| column | meaning | unit |
|---|---|---|
| worst_radius | mean distance from centre to perimeter | as in the source |
| worst_smoothness | local variation in radius lengths | |
| worst_texture | standard deviation of grey values | grey levels |
| worst_perimeter | perimeter | as in the source |
| mean_texture | standard deviation of grey values, mean over the nuclei | grey levels |
| diagnosis | malignant or benign | |

## Grids

`grid.json` (32 levels) and `grid8.json` (8 levels): worst radius 6..38, worst smoothness 0.05..0.25, round
bounds of the measuring method, not statistics of the rows.

## Optima

opt is the least number of mistakes of any halfplane on the snapped rows, by brute force over all orders in
which a turning line meets the cells.

{table}
"""


def grids(folder: Path, plane: tuple[tuple[str, float, float], ...]) -> list[tuple[Axis, ...]]:
    """Write the two grid files and return their axes."""
    result = []
    for levels in LEVELS:
        axes: tuple[Axis, ...] = tuple((*axis, levels) for axis in plane)
        write_grid(folder / ("grid.json" if levels == LEVELS[0] else f"grid{levels}.json"), axes)
        result.append(axes)
    return result


def optimum(rows: pd.DataFrame, axes: tuple[Axis, ...], label: str, positive: str) -> int:
    """Return opt of the rows on a grid of two axes."""
    first, second = (snap(rows[axis[0]].to_numpy(), axis) for axis in axes)
    return halfplane_optimum(first, second, (rows[label] == positive).to_numpy())


def halves(rows: pd.DataFrame, label: str) -> dict[str, pd.DataFrame]:
    """Return the odd and the even rows of each class, in order."""
    place = rows.groupby(label).cumcount() % 2
    return {"_a": rows[place == 0], "_b": rows[place == 1]}


def write_rows(path: Path, rows: pd.DataFrame) -> None:
    """Write a table, whole numbers without a fraction."""
    numbers = [column for column in rows.columns if rows[column].dtype.kind in "if"]
    whole = [column for column in numbers if np.array_equal(rows[column], rows[column].round())]
    shown = rows.astype(dict.fromkeys(whole, int))
    write_csv(path, list(shown.columns), zip(*(shown[column].tolist() for column in shown), strict=True))


def penguins(folder: Path) -> None:
    """Write the penguin tables."""
    source = load_penguins()
    complete = source.dropna(subset=list(PENGUIN_COLUMNS))[[*PENGUIN_COLUMNS, "species"]].rename(
        columns=PENGUIN_COLUMNS
    )
    axes, table = grids(folder, PENGUIN_PLANE), []
    for other in ("Gentoo", "Chinstrap"):
        pair = complete[complete["species"].isin(["Adelie", other])]
        parts = {"": pair, **(halves(pair, "species") if other == "Gentoo" else {})}
        for suffix, rows in parts.items():
            name = f"adelie_{other.lower()}{suffix}.csv"
            write_rows(folder / name, rows)
            table.append([name, len(rows), *(optimum(rows, a, "species", other) for a in axes)])
    header = ["file", "rows", "opt at 32 levels", "opt at 8 levels"]
    text = PENGUINS_TEXT.format(dropped=len(source) - len(complete), table=markdown_table(header, table))
    write_card(folder, text)


def wdbc(folder: Path) -> None:
    """Write the breast-cancer tables."""
    source = load_breast_cancer(as_frame=True)
    rows = source.data[list(WDBC_COLUMNS)].rename(columns=WDBC_COLUMNS)
    rows = rows.assign(diagnosis=[str(source.target_names[code]) for code in source.target])
    axes, table = grids(folder, WDBC_PLANE), []
    for suffix, part in {"": rows, **halves(rows, "diagnosis")}.items():
        name = f"wdbc{suffix}.csv"
        write_rows(folder / name, part)
        table.append([name, len(part), *(optimum(part, a, "diagnosis", "malignant") for a in axes)])
    header = ["file", "rows", "opt at 32 levels", "opt at 8 levels"]
    write_card(folder, WDBC_TEXT.format(table=markdown_table(header, table)))


def main() -> None:
    """Write both folders."""
    out = output_folder(__doc__ or "")
    penguins(out / "penguins")
    wdbc(out / "wdbc")


if __name__ == "__main__":
    main()
