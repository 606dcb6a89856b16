"""A durable budget ledger: what one party has released about its records, across runs, partners and crashes.

A ledger is one SQLite file that a party keeps to itself. It belongs to one body of records: all releases in
it add up, whoever received them and whatever file the records came from, so that an appended row or another
grid never opens a new budget. A release goes through four steps, each durable before the next one begins::

    reserve   the loss is charged, or refused; nothing has been drawn
    draw      noise from the operating system's entropy; nothing has left
    store     the released bytes, with what they cost in the end
    send      by the caller; sending again sends the same bytes and costs nothing

Proof note. Precondition: each draw is a mechanism whose output o has P(o) <= exp(e(o)) P'(o) for neighbouring
records and every fixed history, with e(o) at most the reserved loss; bytes leave only after
:meth:`Session.store` has returned; one session is live at a time (:class:`Session` holds an exclusive lock);
a process dies for reasons that do not depend on what it drew. For each step at most one message is ever sent:
the stored one. A crash before the store leaves a reservation; nothing left, so drawing again under it is the
first draw that anybody sees, and the lost one is independent of all that is seen. A draw that raises an error
may have done so because of its noise: drawing again would be drawing under a condition, so such a step stays
charged in full and is never drawn again. The probability of all messages ever sent is the product of their
conditional probabilities, so replacing one record changes it by a factor of at most exp(sum e(o)), and the
sum, exact and over reservations as well as releases, never exceeds the budget. Conclusion: all that was ever
sent is budget-DP in the party's records.

Threat notes. The ledger guards against mistakes and crashes, not against its owner. A copy, a backup or a
snapshot of the machine that is brought back forgets what was released since: note :attr:`Ledger.head`
elsewhere and pass it as `anchor`, which refuses a file that has lost it. The same records in two ledgers are
not added up. The fingerprint of the records is keyed with a secret that stays in the file: an unkeyed one
would tell anybody who can guess the records that the guess is right. The file is therefore readable by its
owner only, where the system knows permissions. Process crashes are covered by tests; loss of power rests on
SQLite's synchronous=FULL and on disks that keep what they confirm. Files on network drives are not covered:
SQLite's locks are not dependable there.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType

from geomdp.core.errors import ArgumentError, BudgetError, check_epsilon, check_fraction, describe
from geomdp.privacy.ledger_file import LedgerError, LedgerFile
from geomdp.privacy.sampler import Sampler, SecureSampler

RESERVE, RELEASE, ABANDON, FAIL = "reserve", "release", "abandon", "fail"
_STATES = {RELEASE: "released", FAIL: "failed"}


@dataclass(frozen=True)
class Entry:
    """One step of one session.

    Attributes:
        session, step: which one.
        reserved: the loss that was reserved for it.
        epsilon: what it is charged: the reserved loss until something is stored, then the actual one.
        request: the public description of what was asked for.
        records: keyed fingerprint of the records it is about.
        state: "reserved", "released", or "failed" when the draw raised an error.
    """

    session: str
    step: str
    reserved: Fraction
    epsilon: Fraction
    request: str
    records: str
    state: str = "reserved"


class Ledger:
    """One party's durable account of what it has released about one body of records.

    Args:
        path: the file. A new one is made, readable by its owner only, if there is none and a budget is given.
        budget: the total privacy loss that may ever be spent, 0 < budget <= 100. It is fixed when the file is
            made; later it may be left out, or must be the same.
        anchor: a :attr:`head` that was noted before; a file whose history does not hold it is refused.

    Raises:
        ArgumentError: when the budget is missing, out of range, or not the one in the file.
        LedgerError: when the file is no ledger, is damaged, or has lost the anchor.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Ledger(Path(home) / "a.ledger", budget=3) as ledger:
        ...     with ledger.session("trial", records=ledger.fingerprint(b"my records")) as session:
        ...         sent = session.release("count", Fraction(1), lambda sampler: b"17")
        ...         again = session.release("count", Fraction(1), lambda sampler: b"another")
        ...     (sent, again, ledger.left)
        (b'17', b'17', Fraction(2, 1))
    """

    def __init__(
        self,
        path: str | Path,
        *,
        budget: Fraction | int | float | str | None = None,
        anchor: str | None = None,
    ) -> None:
        self.path = Path(path)
        asked = None if budget is None else check_epsilon(budget, "budget")
        self._file = LedgerFile(self.path, asked)
        if asked not in (None, self.budget):
            self.close()
            mend = "The budget of a ledger is fixed when it is made; leave it out."
            raise ArgumentError("budget", f"the one in the file ({self.budget})", str(asked), mend)
        if anchor is not None and not self._file.held(anchor):
            self.close()
            raise LedgerError(
                f"The ledger '{self.path.name}' does not hold the anchor: it is another file, or an old copy."
            )

    @property
    def budget(self) -> Fraction:
        """The total that may ever be spent."""
        return self._file.budget

    @property
    def spent(self) -> Fraction:
        """The exact sum of all reservations and releases."""
        return sum((entry.epsilon for entry in self.entries()), Fraction(0))

    @property
    def left(self) -> Fraction:
        """What may still be spent; never negative."""
        return self.budget - self.spent

    @property
    def head(self) -> str:
        """The number and the hash of the last event: note it elsewhere, as the anchor of a later opening."""
        return self._file.head

    @property
    def identity(self) -> str:
        """A keyed hash (64 hex digits): tells this ledger from all others, and nothing about records."""
        return hmac.new(self._file.secret, b"identity of a ledger", hashlib.sha256).hexdigest()

    def entries(self) -> list[Entry]:
        """Return every step of every session that is charged, in the order of reservation."""
        found: dict[tuple[str, str], Entry] = {}
        for kind, session, step, text, request, records in self._file.events():
            key, epsilon = (session, step), Fraction(text)
            if kind == RESERVE:
                found[key] = Entry(session, step, epsilon, epsilon, request, records)
            elif kind == ABANDON:
                del found[key]
            else:
                found[key] = replace(found[key], epsilon=epsilon, state=_STATES[kind])
        return list(found.values())

    def fingerprint(self, data: bytes | Path) -> str:
        """Return a keyed hash (64 hex digits) of data, bytes or a file; the key never leaves the ledger.

        Raises:
            ArgumentError: when the file cannot be read.
        """
        digest = hmac.new(self._file.secret, digestmod=hashlib.sha256)
        if isinstance(data, bytes):
            digest.update(data)
            return digest.hexdigest()
        try:
            with data.open("rb") as file:
                while block := file.read(2**20):
                    digest.update(block)
        except OSError:
            raise ArgumentError("data", "a readable file", describe(str(data))) from None
        return digest.hexdigest()

    def session(self, name: str, *, records: str) -> Session:
        """Return a session on some records; use it in a `with` statement, one at a time per ledger.

        Args:
            name: what the session is called; the same name continues it after a crash.
            records: :meth:`fingerprint` of the records.

        Raises:
            LedgerError: when another session is live, or this one was begun on other records.
        """
        return Session(self, _text("name", name), _text("records", records))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger(budget={self.budget}, spent={self.spent}, releases={len(self.entries())})"

    def _append(self, kind: str, entry: Entry, payload: bytes | None = None) -> None:
        texts = (kind, entry.session, entry.step, str(entry.epsilon), entry.request, entry.records)
        self._file.append(texts, payload)


class Session:
    """A run of a protocol, step by step, on one party's ledger; made by :meth:`Ledger.session`."""

    def __init__(self, ledger: Ledger, name: str, records: str) -> None:
        self._ledger, self.name, self.records = ledger, name, records
        self._lock: sqlite3.Connection | None = None

    @property
    def ledger(self) -> Ledger:
        """The ledger that the session charges."""
        return self._ledger

    def __enter__(self) -> Session:
        path = self._ledger.path
        try:
            real = path.resolve()  # a link to the ledger meets the same lock
            lock = real.with_name(real.name + ".lock")
            self._lock = sqlite3.connect(lock, timeout=0, isolation_level=None)
            self._lock.execute("BEGIN EXCLUSIVE")
            if any(e.session == self.name and e.records != self.records for e in self._ledger.entries()):
                raise LedgerError(
                    f"The session '{self.name}' was begun on other records, or on these read in another way; "
                    "name a new one."
                )
        except sqlite3.Error:
            self._unlock()
            raise LedgerError(f"Another session is live on the ledger '{path.name}'.") from None
        except LedgerError:
            self._unlock()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._unlock()

    def release(
        self,
        step: str,
        epsilon: Fraction | int | float | str,
        draw: Callable[[SecureSampler], bytes],
        *,
        request: str = "",
        sampler: Sampler | None = None,
    ) -> bytes:
        """Reserve, draw, store, and return the bytes to send; the stored ones if the step was done before.

        Args:
            step: name of the step within the session.
            epsilon: the largest privacy loss of the release, > 0.
            draw: the mechanism; it takes the source of noise and returns the bytes to send.
            request: public description of what is asked for; a repetition must describe the same.
            sampler: by default a new :class:`SecureSampler`; nothing else is accepted.

        Raises:
            ArgumentError: on a simulated source of noise, or a loss <= 0; nothing is charged.
            BudgetError: when the loss exceeds what is left; nothing is charged or drawn.
            LedgerError: when the step was reserved with another loss or request, or has failed before.
            Exception: what the draw raises; the step then stays charged and is never drawn again.
        """
        source = SecureSampler() if sampler is None else sampler
        if type(source) is not SecureSampler:
            mend = "A simulated run protects nobody, so it may not be released."
            raise ArgumentError("sampler", "a SecureSampler", f"a {type(source).__name__}", mend)
        stored = self.reserve(step, epsilon, request=request)
        if stored is not None:
            return stored
        try:
            payload = draw(source)
        except Exception:
            self.fail(step)
            raise
        return self.store(step, payload)

    def reserve(self, step: str, epsilon: Fraction | int | float | str, *, request: str = "") -> bytes | None:
        """Charge a step before anything is drawn for it; return the stored bytes if it was done before.

        Raises:
            ArgumentError: on a loss <= 0; nothing is charged.
            BudgetError: when the loss exceeds what is left; nothing is charged.
            LedgerError: when the step was reserved with another loss or request, or has failed before.
        """
        self._alive()
        charge = check_fraction("epsilon", epsilon)
        if charge <= 0:
            raise ArgumentError("epsilon", "a number > 0", describe(charge))
        _text("step", step)
        _text("request", request, least=0)
        ledger = self._ledger
        with ledger._file.writing():
            known = self.entry(step)
            if known is not None:
                if (charge, request) != (known.reserved, known.request):
                    raise LedgerError(f"Step '{step}' was reserved for another request; name a new session.")
                if known.state == "failed":
                    raise LedgerError(f"Step '{step}' has failed and stays charged; name a new session.")
                return self.stored(step)
            left = ledger.left
            if charge > left:
                raise BudgetError(
                    f"A release of epsilon = {charge} exceeds what is left in the ledger: {left} of "
                    f"{ledger.budget}. Nothing was drawn."
                )
            ledger._append(RESERVE, Entry(self.name, step, charge, charge, request, self.records))
        return None

    def store(self, step: str, payload: bytes, epsilon: Fraction | None = None) -> bytes:
        """Store the bytes that are about to be sent, and what they cost in the end; return them.

        Args:
            step: a reserved step.
            payload: the bytes.
            epsilon: their actual loss, a function of the bytes alone, at most the reserved one (the default).

        Raises:
            ArgumentError: on a loss outside [0, reserved], or a payload that is not bytes.
            LedgerError: when the step is not reserved, or holds other bytes already.
        """
        self._alive()
        if not isinstance(payload, bytes):
            raise ArgumentError("payload", "bytes", describe(payload))
        with self._ledger._file.writing():
            known = self.entry(step)
            if known is None or known.state == "failed":
                raise LedgerError(f"Step '{step}' must be reserved before anything is stored for it.")
            if known.state == "released":
                if self.stored(step) != payload:
                    raise LedgerError(f"Step '{step}' holds other bytes already; only those may be sent.")
                return payload
            cost = known.reserved if epsilon is None else check_fraction("epsilon", epsilon)
            if not 0 <= cost <= known.reserved:
                raise ArgumentError("epsilon", f"between 0 and the reserved {known.reserved}", describe(cost))
            self._ledger._append(RELEASE, replace(known, epsilon=cost), payload)
        return payload

    def abandon(self, step: str) -> None:
        """Give a reservation back under which nothing was drawn, or whose draw was lost with its process.

        Raises:
            LedgerError: when the step is not reserved, was released, or has failed.
        """
        self._end(step, ABANDON, keep=False)

    def fail(self, step: str) -> None:
        """Close a reservation whose draw raised an error: it stays charged and is never drawn again.

        Raises:
            LedgerError: when the step is not reserved, was released, or has failed.
        """
        self._end(step, FAIL, keep=True)

    def _end(self, step: str, kind: str, *, keep: bool) -> None:
        self._alive()
        with self._ledger._file.writing():
            known = self.entry(step)
            if known is None or known.state != "reserved":
                raise LedgerError(f"Step '{step}' is not an open reservation.")
            cost = known.reserved if keep else Fraction(0)
            self._ledger._append(kind, replace(known, epsilon=cost))

    def stored(self, step: str) -> bytes | None:
        """Return the bytes that were stored for a step, or None."""
        known = self.entry(step)
        if known is None or known.state != "released":
            return None
        return self._ledger._file.payload(RELEASE, self.name, step)

    def entry(self, step: str) -> Entry | None:
        """Return what the ledger holds about a step of this session, or None."""
        found = (e for e in self._ledger.entries() if (e.session, e.step) == (self.name, step))
        return next(found, None)

    def _alive(self) -> None:
        if self._lock is None:
            raise LedgerError("A session charges and draws only inside its `with` statement.")

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _text(name: str, value: object, least: int = 1) -> str:
    if isinstance(value, str) and len(value) >= least and value.isprintable():
        return value
    raise ArgumentError(name, "printable text" if least else "printable or empty text", describe(value))
