"""Run benchmark groups and print their rows: figure, target, and the ratio to a baseline of the same run.

Usage: scripts/bench [NAME ...] [--json]; without a name, every group.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
GROUPS = sorted(p.stem for p in HERE.glob("*.py") if p.stem != "main")


def main() -> None:
    """Parse the arguments, run the groups, print."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(GROUPS)}")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(GROUPS)
    if unknown:
        parser.error(f"unknown benchmark {sorted(unknown)[0]!r}; choose from {', '.join(GROUPS)}")
    rows: list[dict[str, Any]] = []
    for name in arguments.names or GROUPS:
        if not arguments.json:
            sys.stdout.write(
                f"\n## {name}\n\n| figure | value | target | ratio to baseline |\n|---|---|---|---|\n"
            )
        for row in importlib.import_module(name).run():
            rows.append({"group": name, **row})
            if not arguments.json:
                sys.stdout.write(_line(row))
                sys.stdout.flush()
    if arguments.json:
        machine = {"python": platform.python_version(), "processor": platform.machine()}
        sys.stdout.write(json.dumps({"machine": machine, "rows": rows}) + "\n")


def _line(row: dict[str, Any]) -> str:
    value, unit = row["value"], row.get("unit", "")
    shown = f"{value:.3g}" if isinstance(value, float) else f"{value}"
    ratio = row.get("ratio")
    text = "" if ratio is None else f"{ratio:.3g}x {row.get('baseline', '')}".strip()
    return f"| {row['name']} | {shown} {unit} | {row.get('target') or ''} | {text} |\n"


if __name__ == "__main__":
    main()
