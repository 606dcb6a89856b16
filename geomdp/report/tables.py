"""Readable tables and sentences for people: what was learnt, what it rests on, what was spent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.domain import Domain
from geomdp.report.markup import clean
from geomdp.report.words import rule_in_levels, rule_in_units, verdict_meaning
from geomdp.testers.base import GUARANTEES, Outcome, Setting

#: Longer texts are cut off.
_LONGEST = 2000

if TYPE_CHECKING:
    from rich.table import Table

    from geomdp.opt.result import OptResult
    from geomdp.testers.plan import Plan


def plan_table(plan: Plan) -> Table:
    """Return the plan as a rich table, one row per tester."""
    table = _table(setting_sentence(plan.setting), ["tester", "resolution t", "guarantee", "usable here"])
    best = plan.best
    for row in plan.testers:
        usable = "yes" if row.feasible else f"no: {row.reason}"
        if row.trusted:
            usable += " (needs a trusted third party)"
        mark = "* " if row is best else "  "
        resolution = "-" if row.resolution is None else str(row.resolution)
        _add(table, mark + row.name, resolution, row.guarantee, usable)
    return table


def plan_notes(plan: Plan) -> list[str]:
    """Return the sentences under the plan's table."""
    setting = plan.setting
    match = f"opt <= {setting.tolerance}" if setting.tolerance else "opt = 0"
    used = {row.guarantee for row in plan.testers}
    notes = [
        f"Match is owed when {match}, Far when opt >= t; "
        f"each fails with probability at most {float(setting.beta):g}."
    ]
    notes += [f"{name}: {text}." for name, text in GUARANTEES.items() if name in used]
    best = plan.best
    if best is not None:
        notes.append(
            f"Best (*): {best.name}, which sees every conflict of {best.resolution} records or more."
        )
    elif plan.nearest is not None:
        notes.append(
            f"Nothing is guaranteed at this n and epsilon; the nearest is {plan.nearest.name} "
            f"at resolution {plan.nearest.resolution}. Raise epsilon or n, or coarsen the grid."
        )
    if plan.left_out:
        notes.append(f"Left out, added by --thorough: {plan.left_out}.")
    return notes


def outcome_table(outcome: Outcome) -> Table:
    """Return a private outcome as a rich table."""
    table = _table("Private verdict", ["", ""])
    setting, meaning = outcome.setting, verdict_meaning(outcome)
    rows: list[tuple[str, str]] = [
        ("verdict", outcome.verdict),
        ("it says", meaning if outcome.certified else "nothing certain: forced below the certified size"),
        ("wrong with probability", f"at most {float(setting.beta):g}" if outcome.certified else "unknown"),
        ("tester", f"{outcome.tester}, resolution {outcome.resolution}"),
        ("guarantee", outcome.guarantee if outcome.certified else "uncertified"),
        ("records", f"Alice {setting.n_alice}, Bob {setting.n_bob}"),
        ("privacy spent", _spending(outcome)),
    ]
    level = f"{100 * (1 - float(setting.beta)):g} %"
    if outcome.opt_interval:
        rows.append((f"opt, {level} interval", _interval(outcome.opt_interval)))
    for name, interval in outcome.party_intervals.items():
        rows.append((f"{name}'s own optimum, {level}", _interval(interval)))
    if outcome.gap_interval:
        rows.append((f"cost of pooling, {level}", _interval(outcome.gap_interval)))
    if outcome.classifier is not None:
        rows.append(("private joint classifier", classifier_sentence(outcome.classifier, setting.domain)))
    if outcome.trusted:
        rows.append(("trust", "a third party saw both datasets"))
    if outcome.simulated:
        rows.append(("SIMULATED", "seeded noise: this run protects nobody"))
    for name, text in rows:
        _add(table, name, text)
    return table


def opt_table(result: OptResult, domain: Domain) -> Table:
    """Return an exact result as a rich table."""
    title = "Exact optimum (not private)" if result.optimal else "Bounds on the optimum (not private)"
    table = _table(title, ["", ""])
    value = str(result.upper) if result.optimal else f"between {result.lower} and {result.upper}"
    _add(table, "opt", f"{value} of {result.n} records")
    if result.classifier is not None:
        _add(table, "classifier", classifier_sentence(result.classifier, domain))
    _add(table, "method", f"{result.method}, {result.seconds:.3g} s")
    return table


def setting_sentence(setting: Setting) -> str:
    """Return the public setting in one line."""
    sizes = f"n = {setting.n_alice}" + ("" if setting.n_alice == setting.n_bob else f" and {setting.n_bob}")
    return (
        f"{setting.domain!r}, {setting.classes}, {setting.labels} labels, {sizes}, "
        f"epsilon = {setting.epsilon}, beta = {float(setting.beta):g}, tolerance = {setting.tolerance}"
    )


def classifier_sentence(classifier: Halfspace | Threshold, domain: Domain) -> str:
    """Return a classifier as its exact rule in levels, with the rounded rule in the columns' units.

    Example:
        >>> D = Domain.grid([("age", 0, 90, 10), ("dose", 0, 1, 5)])
        >>> classifier_sentence(Halfspace((2, -1, -3)), D)
        '+ iff 2*level(age) - 1*level(dose) - 3 >= 0  (about: 0.05*age - dose >= 0.75)'
    """
    text, units = rule_in_levels(classifier, domain), rule_in_units(classifier, domain)
    return text if units is None else f"{text}  (about: {units.removeprefix('+ iff ')})"


def data_notes(rows: Iterable[tuple[str, Any]]) -> Table:
    """Return facts about one file, for its holder's eyes, as a rich table."""
    table = _table("For the holder of this file only", ["", ""])
    for name, value in rows:
        _add(table, name, str(value))
    return table


def _add(table: Table, *cells: str) -> None:
    """Add a row of plain text: brackets are no mark-up, and control characters never reach the terminal."""
    from rich.text import Text

    table.add_row(*(Text(clean(cell, _LONGEST)) for cell in cells))


def _spending(outcome: Outcome) -> str:
    epsilon = outcome.setting.epsilon
    return ", ".join(f"{name} {_amount(value)} of {epsilon}" for name, value in outcome.spent.items())


def _amount(value: Fraction) -> str:
    """Return an exact fraction as text, rounded up to four decimals where it is long."""
    return str(value) if value.denominator < 10**4 else f"{math.ceil(value * 10**4) / 10**4:g}"


def _interval(interval: tuple[int, int]) -> str:
    return f"{interval[0]} .. {interval[1]} records"


def _table(title: str, columns: list[str]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(clean(title, _LONGEST)),
        title_justify="left",
        box=box.SIMPLE_HEAD if any(columns) else box.SIMPLE,
    )
    table.show_header = any(columns)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
