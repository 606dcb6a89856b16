"""Run the exact privacy audits and the planted bugs, and print their table.

Usage: scripts/audit [NAME ...] [--json] [--readme]; without a name, all. The groups 'testers', 'learners' and
'local' are names too. With --readme the tables replace what stands between the markers <!-- audits --> and
<!-- end audits --> in README.md. The exit code is 1 if an audit fails or a planted bug is not caught.
"""

from __future__ import annotations

import argparse
import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

from geomdp.learners import audits as learners
from geomdp.local import audits as local_audits
from geomdp.testers.audits.registry import AUDITS, PLANTED, SAMPLED, run, run_sampled

#: Audits of the testers and the learners, then the planted bugs of both.
CHECKS = {
    **AUDITS,
    **{check.name: check for check in learners.checks()},
    **PLANTED,
    **{check.name: check for check in learners.planted()},
}
#: Audits of local protocols and their planted bugs; several may have one name, for instances of one protocol.
LOCAL_CHECKS = [*local_audits.audits(), *local_audits.planted()]
LOCAL_NAMES = list(dict.fromkeys(check.name for check in LOCAL_CHECKS))
#: Names of many audits at once.
GROUPS = {
    "testers": [*AUDITS, *PLANTED, *SAMPLED],
    "learners": [check.name for check in (*learners.checks(), *learners.planted())],
    "local": LOCAL_NAMES,
}
README = Path(__file__).parents[2] / "README.md"
HEAD = "| audit | every view of | claim | worst log ratio | pairs | |\n|---|---|---|---|---|---|\n"
BUGS = "| planted bug | what is wrong | claim | log ratio found | pairs | |\n|---|---|---|---|---|---|\n"
LOCAL = "| local protocol | enumerated | claim | worst loss | transcripts | |\n|---|---|---|---|---|---|\n"
LOCAL_BUGS = (
    "| planted bug, local | what is wrong | claim | loss found | transcripts | |\n|---|---|---|---|---|---|\n"
)
RUNS = (
    "| statistical audit | view of | claim | loss at least | with half the noise | |\n"
    "|---|---|---|---|---|---|\n"
)
MARKS = "<!-- audits -->", "<!-- end audits -->"


def main() -> int:
    """Parse the arguments, run, print; return the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/audit", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="audits, planted bugs or groups; --list names them"
    )
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--readme", action="store_true", help="put the tables into README.md (all audits)")
    arguments = parser.parse_args()
    names = [*CHECKS, *SAMPLED, *LOCAL_NAMES]
    if arguments.list:
        sys.stdout.write("\n".join([*GROUPS, *names]) + "\n")
        return 0
    unknown = set(arguments.names) - {*GROUPS, *names}
    if unknown:
        parser.error(f"unknown audit {sorted(unknown)[0]!r}; --list names them")
    if arguments.readme and arguments.names:
        parser.error("--readme takes no names: the tables hold all audits")
    chosen = {name for given in arguments.names or names for name in GROUPS.get(given, [given])}
    say = (lambda text: None) if arguments.json else _say
    exact: list[dict[str, Any]] = []
    for row in (run(CHECKS[name]) for name in CHECKS if name in chosen):
        first = not exact or bool(exact[-1]["bug"]) != bool(row["bug"])
        say(("\n" + (BUGS if row["bug"] else HEAD) if first else "") + line(row))
        exact.append(row)
    runs: list[dict[str, Any]] = []
    for name in (name for name in SAMPLED if name in chosen):
        runs.append(run_sampled(name))
        say(("\n" + RUNS if len(runs) == 1 else "") + run_line(runs[-1]))
    local = local_audits.run_audits(check for check in LOCAL_CHECKS if check.name in chosen)
    say("".join("\n" + head + "".join(map(local_line, rows)) for head, rows in local_tables(local)))
    ok = all(row["ok"] for row in [*exact, *runs, *local])
    if arguments.json:
        print(json.dumps({"ok": ok, "rows": exact, "statistical": runs, "local": local}))
    if arguments.readme:
        write_readme(exact, runs, local)
    return 0 if ok else 1


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def line(row: dict[str, Any]) -> str:
    """Return one row of a table."""
    claim = f"{float(Fraction(row['claim'])):g}"
    worst = "infinite" if row["infinite"] else f"{row['log_ratio']:.4f}"
    good = "caught" if row["bug"] else "private"
    verdict = good if row["ok"] else "**FAILED**"
    return f"| {row['name']} | {row['about']} | {claim} | {worst} | {row['pairs']} | {verdict} |\n"


def run_line(row: dict[str, Any]) -> str:
    """Return one row of the table of statistical audits."""
    claim, right, wrong = float(Fraction(row["claim"])), row["at_least"], row["at_least_with_half_the_noise"]
    verdict = "told apart" if row["ok"] else "**FAILED**"
    return f"| {row['name']} | {row['about']} | {claim:g} | {right:.2f} | {wrong:.2f} | {verdict} |\n"


def local_tables(rows: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the tables of the local model, head and rows: right protocols, then planted bugs."""
    tables = [
        (LOCAL, [row for row in rows if not row["bug"]]),
        (LOCAL_BUGS, [row for row in rows if row["bug"]]),
    ]
    return [table for table in tables if table[1]]


def local_line(row: dict[str, Any]) -> str:
    """Return one row of a table of local protocols."""
    loss = "infinite" if row["loss"] is None else f"{row['loss']:.9f}"
    good = "caught" if row["bug"] else "private"
    shown = f"{row['bug']} ({row['about']})" if row["bug"] else row["about"]
    verdict = good if row["ok"] else "**FAILED**"
    claim = f"{float(Fraction(row['claim'])):g}"
    return f"| {row['name']} | {shown} | {claim} | {loss} | {row['transcripts']} | {verdict} |\n"


def write_readme(rows: list[dict[str, Any]], runs: list[dict[str, Any]], local: list[dict[str, Any]]) -> None:
    """Replace the text between the markers by the tables."""
    text = README.read_text(encoding="utf-8")
    if any(text.count(mark) != 1 for mark in MARKS):
        raise SystemExit(f"README.md must hold the line {MARKS[0]} once, and {MARKS[1]} once after it.")
    start, end = (text.index(mark) for mark in MARKS)
    right = HEAD + "".join(line(row) for row in rows if not row["bug"])
    wrong = BUGS + "".join(line(row) for row in rows if row["bug"])
    drawn = RUNS + "".join(run_line(row) for row in runs)
    apart = "\n".join(head + "".join(map(local_line, rows)) for head, rows in local_tables(local))
    body = f"{MARKS[0]}\n\n{right}\n{wrong}\n{drawn}\n{apart}\n"
    README.write_text(text[:start] + body + text[end:], encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
