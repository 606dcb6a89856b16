"""Laws of the calibration cache."""

import os

import numpy as np
import pytest

from geomdp.cache import cached, folder


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("GEOMDP_CACHE_DIR", str(tmp_path))
    return tmp_path


def _never():
    raise AssertionError("computed although cached")


def test_a_table_is_computed_once(home):
    """The second call reads the file and gives the same numbers."""
    first = cached({"k": 1}, lambda: np.array([3, -4]))
    assert np.array_equal(first, cached({"k": 1}, _never))
    assert folder() == home


def test_another_key_is_another_table(home):
    """Every entry of the key counts."""
    cached({"k": 1}, lambda: np.array([1]))
    assert cached({"k": 2}, lambda: np.array([2])).tolist() == [2]


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not a zip", b"\x00" * 64])
def test_a_damaged_entry_is_computed_again(home, damage):
    """A file that cannot be read is replaced, never trusted."""
    cached({"k": 1}, lambda: np.array([1]))
    [entry] = home.iterdir()
    entry.write_bytes(damage)
    assert cached({"k": 1}, lambda: np.array([7])).tolist() == [7]
    assert cached({"k": 1}, _never).tolist() == [7]


def test_a_folder_that_cannot_be_written_is_ignored(monkeypatch, tmp_path):
    """Without a writable folder the table is computed each time."""
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("GEOMDP_CACHE_DIR", str(blocker / "below"))
    assert cached({"k": 1}, lambda: np.array([1])).tolist() == [1]


def test_a_failed_computation_leaves_nothing_behind(home):
    """An interrupted computation writes no entry and no temporary file."""
    with pytest.raises(KeyboardInterrupt):
        cached({"k": 1}, _interrupt)
    assert os.listdir(home) == []


def _interrupt():
    raise KeyboardInterrupt
