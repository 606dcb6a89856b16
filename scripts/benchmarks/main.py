"""Run benchmark groups and print their rows: figure, target, and the ratio to a baseline of the same run.

Usage: scripts/bench [NAME ...] [--json] [--readme]; without a name, every group. With --readme the tables
that were just printed replace the same groups' tables in README.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"
sys.path.insert(0, str(HERE))
GROUPS = sorted(p.stem for p in HERE.glob("*.py") if p.stem != "main")
HEAD = "| figure | value | target | ratio to baseline |\n|---|---|---|---|\n"


def main() -> None:
    """Parse the arguments, run the groups, print."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(GROUPS)}")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--readme", action="store_true", help="put the tables into README.md")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(GROUPS)
    if unknown:
        parser.error(f"unknown benchmark {sorted(unknown)[0]!r}; choose from {', '.join(GROUPS)}")
    rows: list[dict[str, Any]] = []
    for name in arguments.names or GROUPS:
        lines: list[str] = []
        if not arguments.json:
            sys.stdout.write(f"\n### {name}\n\n{HEAD}")
        for row in importlib.import_module(name).run():
            rows.append({"group": name, **row})
            lines.append(_line(row))
            if not arguments.json:
                sys.stdout.write(lines[-1])
                sys.stdout.flush()
        if arguments.readme:
            _refresh(name, HEAD + "".join(lines))
    if arguments.json:
        machine = {"python": platform.python_version(), "processor": platform.machine()}
        sys.stdout.write(json.dumps({"machine": machine, "rows": rows}) + "\n")


def _line(row: dict[str, Any]) -> str:
    value, unit = row["value"], row.get("unit", "")
    shown = f"{value:.3g}" if isinstance(value, float) else f"{value}"
    ratio = row.get("ratio")
    text = "" if ratio is None else f"{ratio:.3g}x {row.get('baseline', '')}".strip()
    return f"| {row['name']} | {shown} {unit} | {row.get('target') or ''} | {text} |\n"


def _refresh(name: str, table: str) -> None:
    """Replace one group's table between the README's markers, or add it in alphabetical order."""
    text = README.read_text(encoding="utf-8")
    start, end = (text.index(f"<!-- {mark}benchmarks -->") for mark in ("", "end "))
    intro, *parts = re.split(r"^### (\w+)\n", text[start:end], flags=re.MULTILINE)
    tables = {key: part.strip() + "\n" for key, part in zip(parts[::2], parts[1::2], strict=True)}
    tables[name] = table
    body = "".join(f"\n### {key}\n\n{tables[key]}" for key in sorted(tables))
    README.write_text(text[:start] + intro.rstrip() + "\n" + body + text[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
