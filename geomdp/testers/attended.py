"""One party's run against a counterpart elsewhere, charged to that party's own ledger.

Proof note. Precondition: a tester's messages cost a party at most its budget, whatever the counterpart sends
(each tester's own note). The ledger reserves that budget before the party exists, hence before any noise is
drawn. A run that ends stores its transcript with the party's own loss, a function of released messages. A run
that breaks off after its party has drawn stays charged in full, also when the process dies; one that breaks
off before costs nothing, as only public parameters have left. The step of a session is taken once: noise of a
run that broke off is not kept, so whoever dials again meets a new session, and a new charge. Conclusion: all
that a party ever sent, to whatever counterparts, costs it at most its ledger's budget.
"""

from __future__ import annotations

import hashlib
import json

from geomdp.core.errors import ArgumentError, describe
from geomdp.core.sample import Sample
from geomdp.privacy import ledger as ledgers
from geomdp.privacy.ledger_file import LedgerError
from geomdp.privacy.sampler import Sampler
from geomdp.protocol.script import Session
from geomdp.testers.base import Finding
from geomdp.testers.scripted import ScriptedTester

#: The one step of a session.
STEP = "attend"


def attend_ledgered(
    tester: ScriptedTester,
    name: str,
    sample: Sample,
    sampler: Sampler,
    account: ledgers.Session | None,
) -> Session[Finding]:
    """Return one party's session, which charges its ledger when it starts.

    Args:
        tester: what is run.
        name: "Alice" or "Bob".
        sample: this party's records.
        sampler: this party's source of noise.
        account: a live session on this party's ledger, without a run of any kind; None keeps no account.

    Raises:
        ArgumentError: on a bad sample, sampler or account, and on simulated noise with an account.
        BudgetError: at its start, when the ledger cannot cover the run; nothing is charged.
        LedgerError: at its start, when the account holds a run already; nothing is charged.
        ProtocolError: when a frame of the counterpart is refused.
    """
    visit = tester.visit(name, sample, sampler)
    if account is None:
        return visit.session
    if not isinstance(account, ledgers.Session):
        raise ArgumentError("ledger", "a live session on this party's ledger, or None", describe(account))
    if sampler.simulated:
        mend = "A simulated run protects nobody, so it may not be released."
        raise ArgumentError("rng", "None where a ledger is charged", "a seed", mend)

    def charged() -> Session[Finding]:
        if account.entry(STEP) is not None:
            raise LedgerError("The ledger's session holds a run already; name a new one.")
        request = hashlib.sha256(json.dumps([name, visit.opening], sort_keys=True).encode()).hexdigest()
        account.reserve(STEP, visit.most, request=request)
        try:
            finding = yield from visit.session
        except BaseException:
            account.fail(STEP) if visit.party.budget.spent else account.abandon(STEP)
            raise
        payload = json.dumps(finding.transcript.to_dict()).encode()
        account.store(STEP, payload, finding.transcript.spent(name))
        return finding

    return charged()
