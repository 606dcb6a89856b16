"""Reading tables: 10 million Parquet records in bounded memory, and CSV against Python's csv module."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from geomdp.core.domain import Domain
from geomdp.io import read_table

RECORDS = 10_000_000
CSV_RECORDS = 1_000_000
CHUNK = 1_000_000
MEMORY_LIMIT_MB = 1000
GRID = [("dep_delay", -15, 60, 16), ("arr_delay", -30, 45, 16)]

# A fresh process, so that its peak is the reader's own: interpreter, engine and counts.
READER = """
import json, resource, sys, time
from geomdp.core.domain import Domain
from geomdp.io import read_table
domain = Domain.grid(json.loads(sys.argv[2]))
start = time.perf_counter()
sample = read_table(domain, sys.argv[1], label="disrupted", positive="yes")
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
print(json.dumps({"n": sample.n, "seconds": round(seconds, 2), "peak_mb": round(peak)}))
"""


def run(progress: Callable[[float], None] | None = None) -> list[dict[str, Any]]:
    """Return one row per measurement: records, seconds, and peak memory or speed-up."""
    tell = progress or (lambda fraction: None)
    with tempfile.TemporaryDirectory() as folder:
        parquet, text = Path(folder, "flights.parquet"), Path(folder, "flights.csv")
        write_parquet(parquet, lambda fraction: tell(0.6 * fraction))
        write_csv(text)
        tell(0.7)
        rows = [measure("Parquet", parquet, RECORDS)]
        tell(0.8)
        rows.append(measure("CSV", text, CSV_RECORDS))
        rows.append(compare(text))
        tell(1.0)
    return rows


def measure(kind: str, path: Path, records: int) -> dict[str, Any]:
    """Return the time and the peak memory of a fresh process that reads the file."""
    command = [sys.executable, "-c", READER, str(path), json.dumps(GRID)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    return {
        "name": f"peak memory of reading {kind}, {records:,} records x 2 features",
        "value": result["peak_mb"],
        "unit": f"MB ({result['seconds']} s)",
        "target": f"< {MEMORY_LIMIT_MB} MB",
        "ok": result["n"] == records and result["peak_mb"] < MEMORY_LIMIT_MB,
        **result,
    }


def compare(path: Path) -> dict[str, Any]:
    """Return how much faster the reader is than a loop over Python's csv module, with equal counts."""
    domain = Domain.grid(GRID)
    start = time.perf_counter()
    sample = read_table(domain, path, label="disrupted", positive="yes")
    ours = time.perf_counter() - start
    start = time.perf_counter()
    counts = loop_counts(path)
    loop = time.perf_counter() - start
    expected = np.zeros((2, domain.m), dtype=np.int64)
    for (first, second, label), count in counts.items():
        expected[int(label == "yes"), first * 16 + second] += count
    same = bool((sample.negative == expected[0]).all() and (sample.positive == expected[1]).all())
    return {
        "name": f"reading CSV, {sample.n:,} records x 2 features",
        "value": round(ours, 2),
        "unit": "s",
        "target": "same counts, faster",
        "ratio": round(loop / ours, 1),
        "baseline": "Python's csv module in a loop",
        "ok": same and loop > ours,
    }


def loop_counts(path: Path) -> Counter[tuple[int, int, str]]:
    """Count cells and labels record by record with the standard library alone."""
    counts: Counter[tuple[int, int, str]] = Counter()
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            levels = []
            for name, lower, upper, size in GRID:
                place = (float(row[name]) - lower) / (upper - lower) * (size - 1)
                levels.append(min(max(round(place), 0), size - 1))
            counts[levels[0], levels[1], row["disrupted"]] += 1
    return counts


def draw(rng: np.random.Generator, count: int) -> dict[str, Any]:
    """Return columns of made-up delays, in minutes with two decimals."""
    departure = np.round(rng.gamma(0.5, 30, count) - 8, 2)
    arrival = np.round(departure + rng.normal(-6, 15, count), 2)
    return {
        "dep_delay": departure,
        "arr_delay": arrival,
        "disrupted": np.where(departure + arrival >= 30, "yes", "no"),
    }


def write_parquet(path: Path, progress: Callable[[float], None]) -> None:
    """Write the large file chunk by chunk."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    for done in range(0, RECORDS, CHUNK):
        table = pa.table(draw(rng, CHUNK))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
        progress((done + CHUNK) / RECORDS)
    if writer:
        writer.close()


def write_csv(path: Path) -> None:
    """Write the smaller file with the standard library."""
    columns = draw(np.random.default_rng(1), CSV_RECORDS)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


if __name__ == "__main__":
    for row in run():
        print(json.dumps(row))
