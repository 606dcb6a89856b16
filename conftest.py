"""What every test and doctest starts from: an own cache of tables, and no picture left by another test."""

import sys

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    """Keep calibration tables in the run's own folder: a stored table of the user never decides a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEOMDP_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "tables"))
        patch.setenv("MPLBACKEND", "Agg")
        yield


@pytest.fixture(autouse=True)
def _no_open_pictures():
    """Close all figures: drawing on "the current axes" must not meet those of an earlier test."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
