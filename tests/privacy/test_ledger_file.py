"""Laws of the ledger's file: it appears whole and once, and nothing that exists becomes one."""

import contextlib
import errno
import os
import stat

import pytest

from geomdp.core.errors import ArgumentError
from geomdp.privacy import ledger_file
from geomdp.privacy.ledger import Ledger
from geomdp.privacy.ledger_file import LedgerError


def _unsupported(*_):
    raise OSError(errno.ENOTSUP, "no links on this file system")


def test_an_existing_file_is_never_adopted(tmp_path):
    """Not even an empty one: a file that exists is a ledger already, or is left as it is."""
    path = tmp_path / "a.ledger"
    path.touch()
    for budget in (None, 3):
        with pytest.raises(LedgerError, match="no ledger"):
            Ledger(path, budget=budget)
    assert path.read_bytes() == b""
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("links", [True, False])
def test_a_new_ledger_appears_whole_and_once(tmp_path, monkeypatch, links):
    """Whoever is first makes the ledger; whoever comes at the same moment opens that one."""
    put = ledger_file._put

    def late(work, place):
        monkeypatch.setattr(ledger_file, "_put", put)
        Ledger(place, budget=2).close()
        return put(work, place)

    if not links:
        monkeypatch.setattr(os, "link", _unsupported)
    Ledger(tmp_path / "alone", budget=3).close()
    with contextlib.closing(Ledger(tmp_path / "alone")) as ledger:
        assert ledger.budget == 3
    monkeypatch.setattr(ledger_file, "_put", late)
    with pytest.raises(ArgumentError, match=r"the one in the file \(2\)"):
        Ledger(tmp_path / "raced", budget=3)
    (tmp_path / "link").symlink_to(tmp_path / "behind")
    Ledger(tmp_path / "link", budget=2).close()
    assert (tmp_path / "link").is_symlink()
    for name in ("alone", "raced", "behind"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) & 0o077 == 0 or os.name != "posix"
    assert not list(tmp_path.glob(".ledger-*"))
