"""Laws of dichotomies on disk."""

import numpy as np
import pytest

import geomdp as g
from geomdp.geometry import storage
from geomdp.geometry.arrangement import dichotomies
from geomdp.geometry.storage import load_dichotomies, save_dichotomies

GRID = g.Domain.grid([("x", 0, 1, 5), ("y", 0, 1, 3)])


@pytest.mark.parametrize("memory_map", [True, False])
def test_what_is_loaded_is_what_was_saved(tmp_path, memory_map):
    """Weights, labels and mistakes survive the round trip, mapped or read."""
    W = dichotomies(GRID)
    save_dichotomies(W, tmp_path / "W")
    again = load_dichotomies(tmp_path / "W", GRID, memory_map=memory_map)
    S = g.Sample.from_counts(GRID, np.arange(15), np.arange(15)[::-1])
    assert np.array_equal(W.weights, again.weights)
    assert np.array_equal(W.signs, again.signs)
    assert np.array_equal(W.mistakes(S), again.mistakes(S))
    assert isinstance(again.packed, np.memmap) == memory_map


def test_an_interrupted_save_leaves_nothing(tmp_path, monkeypatch):
    """Ctrl-C in the middle leaves neither the folder nor a partial one."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(storage.os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_dichotomies(dichotomies(GRID), tmp_path / "W")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_never_overwritten(tmp_path):
    """Saving onto something that exists is refused."""
    with pytest.raises(g.ArgumentError, match="does not exist yet"):
        save_dichotomies(dichotomies(GRID), tmp_path)


def test_another_domain_or_a_damaged_folder_is_refused(tmp_path):
    """Loading checks the domain, the count and the files."""
    save_dichotomies(dichotomies(GRID), tmp_path / "W")
    other = g.Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 5)])
    with pytest.raises(g.ArgumentError, match="another domain"):
        load_dichotomies(tmp_path / "W", other)
    (tmp_path / "W" / "labels.npy").write_bytes(b"")
    with pytest.raises(g.ArgumentError, match="must be a folder"):
        load_dichotomies(tmp_path / "W", GRID)
    with pytest.raises(g.ArgumentError, match="must be a folder"):
        load_dichotomies(tmp_path / "none", GRID)
