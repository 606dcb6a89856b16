"""Runs that are charged to ledgers, for the command assess."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geomdp.cli.interrupts import remains
from geomdp.core.errors import ArgumentError, BudgetError, check_epsilon, describe

if TYPE_CHECKING:
    from geomdp.core.sample import Sample
    from geomdp.privacy.ledger import Ledger
    from geomdp.testers.base import Outcome
    from geomdp.testers.plan import PlanRow


def check_ledgers(
    ledgers: dict[str, Path | None], budget: str | None, session: str | None, seed: int | None
) -> dict[str, Path]:
    """Return the ledgers that were named, by party, after checking the options that belong to them."""
    named = {party: path for party, path in ledgers.items() if path is not None}
    if not named:
        for name, value in (("budget", budget), ("session", session)):
            if value is not None:
                raise ArgumentError(
                    name, "left out without a ledger", describe(value), "Add --ledger-a or --ledger-b."
                )
        return {}
    if seed is not None:
        mend = "A simulated run protects nobody and may not be released."
        raise ArgumentError("seed", "left out with a ledger", str(seed), mend)
    if len(named) == 2 and _same(named["Alice"], named["Bob"]):
        mend = "Each party keeps its own."
        raise ArgumentError("ledger-b", "another file than ledger-a", describe(str(named["Bob"])), mend)
    return named


def _same(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, by whatever names and links."""
    try:
        return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))
    except (OSError, RuntimeError):
        return False  # neither can be a ledger; opening it says so


def run_with_ledgers(
    row: PlanRow,
    samples: tuple[Sample, Sample],
    ledgers: dict[str, Path],
    *,
    tables: dict[str, Path],
    question: dict[str, str | None],
    budget: str | None,
    session: str | None,
    force_uncertified: bool,
) -> tuple[Outcome, dict[str, Any]]:
    """Run once on the parties' ledgers; return the outcome, and JSON values that say what the ledgers hold.

    Without a name the session is called after the public question (label column and values, grid, tester,
    setting) and the ledgers in their roles. So the same request gets the same answer again, at no cost, and
    whatever changes it is a new session, which is charged. Under a name that was given, and where the records
    have changed, a stored answer is refused. Records are the same where their counts on the grid are,
    whatever the order of the rows and the format of the file. Nothing else before the charge depends on them.
    """
    from geomdp.privacy.ledger import Ledger
    from geomdp.testers.ledgered import STEP, budget_of, run_ledgered, session_name

    held = dict(zip(tables, samples, strict=True))
    asked = None if budget is None else check_epsilon(budget, "budget")
    for party, path in ledgers.items():
        _check_new(path, asked, budget_of(row, party))
    with contextlib.ExitStack() as open_files:
        opened, sessions = {}, {}
        for party, path in ledgers.items():
            opened[party] = open_files.enter_context(Ledger(path, budget=asked))
        name = session_name(row, opened, question) if session is None else session
        for party in ledgers:
            records = _records(opened[party], name, held[party], tables[party])
            sessions[party] = open_files.enter_context(opened[party].session(name, records=records))
        remains("what the ledgers were charged stays charged; the same command continues that run")
        resent = any(s.stored(STEP) is not None for s in sessions.values())
        outcome = run_ledgered(
            row, *samples, sessions, force_uncertified=force_uncertified, question=question
        )
        accounts = {
            party: {"budget": str(ledger.budget), "spent": str(ledger.spent), "left": str(ledger.left)}
            for party, ledger in opened.items()
        }
    return outcome, {"ledgers": accounts, "session": name, "resent": resent}


def _records(ledger: Ledger, session: str, sample: Sample, table: Path) -> str:
    """Return the fingerprint under which a session knows its party's records: that of their counts.

    A session of an earlier version knows them by that of the file. It goes on with the very same bytes only,
    and its answer is then still checked against the counts (:func:`geomdp.testers.ledgered.run_ledgered`).
    """
    from geomdp.testers.ledgered import records_of

    counted = records_of(ledger, sample)
    known = {entry.records for entry in ledger.entries() if entry.session == session}
    if not known or counted in known:
        return counted
    by_file = ledger.fingerprint(table)
    return by_file if by_file in known else counted


def ledger_notes(account: dict[str, Any]) -> list[str]:
    """Return what the ledgers hold as sentences."""
    lines = [
        f"Ledger of {party}: {held['spent']} of {held['budget']} spent, {held['left']} left."
        for party, held in account["ledgers"].items()
    ]
    if account["resent"]:
        lines.append("This is the answer that was released before: nothing was drawn or spent.")
        lines += [
            f"It is about the records that {party} held then: without a ledger of {party}'s, they cannot be "
            "told from other ones. For other records name a new --session."
            for party in ("Alice", "Bob")
            if party not in account["ledgers"]
        ]
    return lines


def _check_new(path: Path, asked: Fraction | None, cost: Fraction) -> None:
    """Refuse a run that a new ledger could not cover before its file is made."""
    try:
        new = not path.exists()
    except OSError:
        raise ArgumentError("ledger", "a file that can be written", describe(str(path))) from None
    if asked is not None and new and cost > asked:
        raise BudgetError(f"A run of epsilon = {cost} exceeds the budget of {asked}. Nothing was drawn.")
