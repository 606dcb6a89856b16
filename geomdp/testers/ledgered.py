"""A run that is charged to the parties' ledgers: refused before anything is drawn, and answered once.

Proof note. Precondition: a tester's messages cost a party at most its budget, whatever the other one sends,
and the transcript states what they cost (each tester's own note). Before the run each party's ledger reserves
that budget; after it, and before anything is returned, each ledger stores the outcome with the loss that the
transcript states, a function of released messages. The outcome is a function of the transcript and of public
facts. So a run is one step of a session in the sense of :mod:`geomdp.privacy.ledger`, for each party. If a
crash comes between the two stores, the outcome in the first ledger is the one that counts: it is stored in
the second, and nothing is drawn again. Conclusion: all outcomes that were ever returned cost each party at
most its ledger's budget.

A stored outcome answers the question that it was drawn for, and no other. What a party reserves is described
by a hash of the public question (:func:`request_of`: the tester and its setting, and whatever the caller
adds, such as the label column), of the party's role, of the ledgers that take part, by their keyed
identities, and of a keyed fingerprint of the party's own records as counted on the domain. If any of them
changes, a stored outcome is refused under the session's name. A fingerprint of the *other* party's records is
not kept: the key is in this file, and whoever holds it could try out guesses. Each party's own ledger checks
its own records, so only where a party has no ledger may its records have changed unseen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.errors import ArgumentError
from geomdp.core.sample import Sample
from geomdp.privacy.ledger import Ledger, Session
from geomdp.privacy.ledger_file import LedgerError
from geomdp.protocol.transcript import PARTIES, Message, Transcript
from geomdp.testers.base import Interval, Outcome, Setting, check_samples, classifier_dict
from geomdp.testers.plan import PlanRow

#: The one step of a session.
STEP = "run"

#: Public facts by name, as far as they are known.
Question = Mapping[str, str | None]


def run_ledgered(
    row: PlanRow,
    S_A: Sample,
    S_B: Sample,
    sessions: Mapping[str, Session],
    *,
    force_uncertified: bool = False,
    question: Question | None = None,
) -> Outcome:
    """Run a protocol once and charge it, or return the outcome that the sessions hold already.

    Args:
        row: the plan's row.
        S_A, S_B: the parties' samples.
        sessions: by party ("Alice", "Bob"), a live session on its ledger; a party without one is
            not accounted for.
        force_uncertified: as in :meth:`geomdp.testers.plan.PlanRow.run`.
        question: further public facts that the question depends on, e.g. the label column.

    Returns:
        The outcome; the same one whenever the sessions, the question and the records are the same.

    Raises:
        ArgumentError: on bad samples or parties; nothing is charged.
        InfeasibleError: when nothing is guaranteed here and the run is not forced; nothing is charged.
        BudgetError: when a ledger cannot cover the run; nothing is charged to either.
        LedgerError: when a session holds a run with other public parameters, another role, other ledgers or
            other records, or the two hold different runs.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from geomdp import Domain, plan
        >>> from geomdp.privacy.ledger import Ledger
        >>> D = Domain.grid([("age", 0, 90, 8)])
        >>> S = Sample.from_counts(D, [0] * 4 + [90] * 4, [90] * 4 + [0] * 4)
        >>> row = plan(D, n=S.n, epsilon=1).best
        >>> with tempfile.TemporaryDirectory() as home, Ledger(Path(home) / "a", budget=3) as ledger:
        ...     with ledger.session("first", records="a.csv") as session:
        ...         outcome = run_ledgered(row, S, S, {"Alice": session})
        ...         again = run_ledgered(row, S, S, {"Alice": session})
        ...     (outcome == again, ledger.left)
        (True, Fraction(2, 1))
    """
    unknown = set(sessions) - set(PARTIES)
    if unknown or not sessions:
        raise ArgumentError("sessions", "a session for Alice, Bob or both", f"{sorted(map(str, sessions))}")
    setting = row.tester.setting
    check_samples(setting, S_A, S_B)
    if row.resolution is None or not (row.feasible or force_uncertified):
        return row.run(S_A, S_B)  # raises, before anything is drawn
    held = dict(zip(PARTIES, (S_A, S_B), strict=True))
    requests = {name: _own_request(row, name, held[name], sessions, question) for name in sessions}
    payload = _reserve(row, sessions, requests)
    if payload is None:
        try:
            outcome = row.run(S_A, S_B, force_uncertified=force_uncertified)
            payload = pack(outcome)
        except Exception:
            for session in sessions.values():
                session.fail(STEP)
            raise
    else:
        outcome = unpack(payload, setting)
    for name, session in sessions.items():
        session.store(STEP, payload, outcome.spent[name])
    return outcome


def request_of(row: PlanRow, question: Question | None = None) -> str:
    """Return a hash (64 hex digits) of a public question: the tester, its setting, and the caller's facts.

    Args:
        row: the plan's row.
        question: further public facts by name, e.g. ``{"label": "late", "positive": "yes"}``.

    Example:
        >>> from geomdp import Domain, plan
        >>> row = plan(Domain.grid([("age", 0, 90, 8)]), n=500, epsilon=1).best
        >>> request_of(row, {"label": "late"}) == request_of(row, {"label": "ill"})
        False
    """
    s = row.tester.setting
    facts = [
        row.name,
        row.guarantee,
        row.resolution,
        s.domain.fingerprint,
        s.n_alice,
        s.n_bob,
        str(s.epsilon),
    ]
    facts += [str(s.beta), s.labels, s.tolerance, s.classes, *(str(budget_of(row, name)) for name in PARTIES)]
    return _hash([facts, sorted((question or {}).items())])


def session_name(row: PlanRow, ledgers: Mapping[str, Ledger], question: Question | None = None) -> str:
    """Return the name (16 hex digits) of the session that a question has by default on these ledgers.

    Another question, exchanged roles, or another counterpart's ledger is another session, and is charged. The
    records are left out: the name is not secret. A session on changed records is refused when it is opened.

    Args:
        row: the plan's row.
        ledgers: by party.
        question: as in :func:`request_of`.
    """
    partners = {name: ledger.identity for name, ledger in ledgers.items()}
    return _hash([request_of(row, question), partners])[:16]


def records_of(ledger: Ledger, sample: Sample) -> str:
    """Return a party's fingerprint (64 hex digits) of its records as counted on the domain.

    It is a function of the counts alone, whatever file they come from and in whatever order. It is keyed with
    the ledger's secret and computed by its holder, and is kept nowhere but in that ledger.

    Args:
        ledger: the party's own.
        sample: its records.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from geomdp import Domain
        >>> D = Domain.line(4)
        >>> S, T = Sample.from_cells(D, [1, 2], [1, -1]), Sample.from_cells(D, [2, 1], [-1, 1])
        >>> with tempfile.TemporaryDirectory() as home, Ledger(Path(home) / "a", budget=3) as ledger:
        ...     [records_of(ledger, S) == records_of(ledger, other) for other in (T, S + T)]
        [True, False]
    """
    counts = [part.tolist() for part in (sample.cells, sample.positives, sample.negatives)]
    return ledger.fingerprint(json.dumps([sample.domain.fingerprint, counts]).encode())


def budget_of(row: PlanRow, party: str) -> Fraction:
    """Return the most that a run can cost a party: epsilon, unless the tester was given unequal budgets."""
    budgets = getattr(row.tester, "budgets", None)
    return row.tester.setting.epsilon if budgets is None else Fraction(budgets[party])


def pack(outcome: Outcome) -> bytes:
    """Return an outcome as JSON bytes; the setting is left out, being the asker's.

    Raises:
        ArgumentError: on the outcome of a simulated run: it may not be released.
    """
    document = {
        "verdict": outcome.verdict,
        "tester": outcome.tester,
        "resolution": outcome.resolution,
        "guarantee": outcome.guarantee,
        "certified": outcome.certified,
        "trusted": outcome.trusted,
        "spent": {name: str(value) for name, value in outcome.spent.items()},
        "opt_interval": outcome.opt_interval,
        "party_intervals": outcome.party_intervals,
        "gap_interval": outcome.gap_interval,
        "classifier": classifier_dict(outcome.classifier),
        "transcript": outcome.transcript.to_dict(),
    }
    if outcome.simulated:
        raise ArgumentError("outcome", "one of a real run", "a simulated one", "It may not be released.")
    return json.dumps(document).encode()


def unpack(payload: bytes, setting: Setting) -> Outcome:
    """Return the outcome that :func:`pack` wrote."""
    held: dict[str, Any] = json.loads(payload)
    transcript = Transcript(held["transcript"]["parameters"])
    for m in held["transcript"]["messages"]:
        transcript.append(Message(m["sender"], m["kind"], m["payload"], Fraction(m["epsilon"])))
    kind = held["classifier"] or {}
    classifier: Halfspace | Threshold | None = None
    if kind:
        threshold = kind["kind"] == "threshold"
        classifier = Threshold(kind["theta"]) if threshold else Halfspace(tuple(kind["weights"]))
    return Outcome(
        verdict=held["verdict"],
        tester=held["tester"],
        resolution=held["resolution"],
        guarantee=held["guarantee"],
        certified=held["certified"],
        simulated=False,
        trusted=held["trusted"],
        setting=setting,
        spent={name: Fraction(value) for name, value in held["spent"].items()},
        opt_interval=_pair(held["opt_interval"]),
        party_intervals={name: (low, high) for name, (low, high) in held["party_intervals"].items()},
        gap_interval=_pair(held["gap_interval"]),
        classifier=classifier,
        transcript=transcript,
    )


def _own_request(
    row: PlanRow,
    party: str,
    sample: Sample,
    sessions: Mapping[str, Session],
    question: Question | None,
) -> str:
    """Return the hash that a party's ledger keeps of what was asked, by whom, with whom and about what."""
    own = records_of(sessions[party].ledger, sample)
    partners = {name: session.ledger.identity for name, session in sessions.items()}
    return _hash([request_of(row, question), party, partners, own])


def _hash(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _reserve(row: PlanRow, sessions: Mapping[str, Session], requests: Mapping[str, str]) -> bytes | None:
    """Reserve the run in every ledger, or in none; return the stored outcome, if there is one."""
    held: set[bytes] = set()
    fresh: list[Session] = []
    for name, session in sessions.items():
        new = session.entry(STEP) is None
        try:
            stored = session.reserve(STEP, budget_of(row, name), request=requests[name])
        except Exception:
            for other in fresh:
                other.abandon(STEP)
            raise
        if new:
            fresh.append(session)
        if stored is not None:
            held.add(stored)
    if len(held) > 1:
        raise LedgerError("The parties' ledgers hold different runs under these sessions; name a new one.")
    return held.pop() if held else None


def _pair(value: list[int] | None) -> Interval | None:
    return None if value is None else (value[0], value[1])
