"""The file behind a ledger: a list of events in SQLite that only grows, each linked to all before it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from geomdp.core.errors import ArgumentError, GeomdpError, describe

#: What a ledger file is known by, and its format.
APPLICATION, FORMAT = 0x67444C31, 1
_TABLES = (
    "CREATE TABLE facts (budget TEXT NOT NULL, secret BLOB NOT NULL)",
    "CREATE TABLE events (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, session TEXT NOT NULL, "
    "step TEXT NOT NULL, epsilon TEXT NOT NULL, request TEXT NOT NULL, records TEXT NOT NULL, "
    "payload BLOB, link TEXT NOT NULL)",
)


class LedgerError(GeomdpError, RuntimeError):
    """A ledger is damaged, in use, rolled back, or asked to contradict itself; nothing was charged."""


class LedgerFile:
    """Events of one ledger, in write-ahead mode with full synchronisation: a commit outlives a crash.

    Args:
        path: the file; made, readable by its owner only, if there is none and a budget is given. It appears
            complete or not at all; a file that exists is a ledger already, or is refused and left as it is.
        budget: the total of a new ledger, or None.

    Attributes:
        budget: the total in the file.
        secret: 32 random bytes that key the fingerprints.

    Raises:
        ArgumentError: when a new file has no budget, or cannot be written.
        LedgerError: when the file is no ledger, or is damaged.
    """

    def __init__(self, path: Path, budget: Fraction | None) -> None:
        self.name = path.name
        if not _exists(path):
            if budget is None:
                mend = "Give the total that may ever be spent on these records, e.g. 3."
                raise ArgumentError("budget", "given for a new ledger", "left out", mend)
            _make(path, budget)
        self._db = _connect(path)
        try:
            self.budget, self.secret = self._facts()
            self._heads = self._replayed()
        except sqlite3.Error:
            self._db.close()
            raise LedgerError(f"The ledger '{self.name}' is damaged or cannot be written.") from None
        except BaseException:
            self._db.close()
            raise

    @property
    def head(self) -> str:
        """The number of the last event and the hash of all of them."""
        rows = self._read("SELECT number, link FROM events ORDER BY number DESC LIMIT 1")
        return f"{rows[0][0]}:{rows[0][1]}" if rows else f"0:{self._root}"

    def held(self, head: str) -> bool:
        """Return True if the history had this head when the file was opened, or before."""
        return head in self._heads

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock from the first read to the commit; undo everything on an error."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._undo()
            raise LedgerError(f"The ledger '{self.name}' cannot be written ({error}).") from None
        except BaseException:
            self._undo()
            raise

    def append(self, texts: tuple[str, str, str, str, str, str], payload: bytes | None) -> None:
        """Add (kind, session, step, epsilon, request, records) and a payload, inside :meth:`writing`."""
        number, _, before = self.head.partition(":")
        row = (int(number) + 1, *texts, payload)
        self._db.execute("INSERT INTO events VALUES (?,?,?,?,?,?,?,?,?)", (*row, _link(before, row)))

    def events(self) -> list[tuple[str, str, str, str, str, str]]:
        """Return (kind, session, step, epsilon, request, records) of every event, in order."""
        return self._read("SELECT kind, session, step, epsilon, request, records FROM events ORDER BY number")

    def payload(self, kind: str, session: str, step: str) -> bytes:
        """Return the payload of an event that exists."""
        query = "SELECT payload FROM events WHERE kind = ? AND session = ? AND step = ?"
        return bytes(self._read(query, kind, session, step)[0][0])

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _read(self, query: str, *values: str) -> list[Any]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise LedgerError(f"The ledger '{self.name}' cannot be read ({error}).") from None

    def _undo(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _facts(self) -> tuple[Fraction, bytes]:
        marks = [self._db.execute(f"PRAGMA {m}").fetchone()[0] for m in ("application_id", "user_version")]
        if marks != [APPLICATION, FORMAT]:
            raise LedgerError(f"The file '{self.name}' is no ledger of this format; it was left as it is.")
        rows = self._db.execute("SELECT budget, secret FROM facts").fetchall()
        if len(rows) != 1:
            raise LedgerError(f"The ledger '{self.name}' is damaged.")
        self._root = _link("", rows[0])
        return Fraction(rows[0][0]), rows[0][1]

    def _replayed(self) -> frozenset[str]:
        """Return every head that the history has had; refuse one whose links are broken."""
        link, heads = self._root, {f"0:{self._root}"}
        for number, event in enumerate(self._db.execute("SELECT * FROM events ORDER BY number"), 1):
            link = _link(link, event[:-1])
            if event[0] != number or event[-1] != link:
                raise LedgerError(f"Event {number} of the ledger '{self.name}' is damaged.")
            heads.add(f"{number}:{link}")
        return frozenset(heads)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        raise _unwritable(path) from None


def _make(path: Path, budget: Fraction) -> None:
    """Make a ledger beside its place and link it there, unless another process was faster."""
    place = Path(os.path.realpath(path))
    work: str | None = None
    try:
        handle, work = tempfile.mkstemp(prefix=".ledger-", dir=place.parent)  # readable by its owner only
        os.close(handle)
        _write_empty(work, budget)
        with contextlib.suppress(FileExistsError):
            _put(work, place)
    except (OSError, ValueError, sqlite3.Error):
        raise _unwritable(path) from None
    finally:
        if work is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(work)


def _write_empty(path: str, budget: Fraction) -> None:
    """Write a ledger without events, onto the disk, into an empty file that nobody else knows."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = MEMORY")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {FORMAT}")
        for table in _TABLES:
            db.execute(table)
        db.execute("INSERT INTO facts VALUES (?, ?)", (str(budget), secrets.token_bytes(32)))
        db.execute("COMMIT")


def _put(work: str, place: Path) -> None:
    """Give a file its name where nothing has that name.

    Raises:
        FileExistsError: where something has.
    """
    try:
        os.link(work, place)
    except FileExistsError:
        raise
    except OSError:  # no links here: claim the name, then fill it
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        os.replace(work, place)


def _unwritable(path: Path) -> ArgumentError:
    return ArgumentError("path", "a file that can be written", describe(str(path)))


def _connect(path: Path) -> sqlite3.Connection:
    """Open a file; a foreign one is not touched."""
    try:
        address = f"{path.absolute().as_uri()}?mode=rw"  # never makes a file
        db = sqlite3.connect(address, timeout=30, isolation_level=None, uri=True)
    except (OSError, ValueError, sqlite3.Error):
        raise _unwritable(path) from None
    try:
        mark = db.execute("PRAGMA application_id").fetchone()[0]
        if mark != APPLICATION:
            raise LedgerError(f"The file '{path.name}' is no ledger; it was left as it is.")
        mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        db.execute("PRAGMA synchronous = FULL")
        if mode != "wal":
            raise LedgerError(f"The place of '{path.name}' cannot keep a ledger: no write-ahead log there.")
    except sqlite3.Error:
        db.close()
        raise LedgerError(f"The file '{path.name}' is no ledger, or cannot be written.") from None
    except LedgerError:
        db.close()
        raise
    return db


def _link(before: str, row: tuple[int | str | bytes | None, ...]) -> str:
    """Return the hash of an event and of all before it; parts are set apart by type and length."""
    digest = hashlib.sha256(before.encode())
    for value in row:
        part = value if isinstance(value, bytes) else str(value).encode()
        digest.update(f"{type(value).__name__}{len(part)}:".encode() + part)
    return digest.hexdigest()
