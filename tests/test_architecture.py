"""Laws of the house: which room may import which, and what an import of the package may cost."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import geomdp

ROOT = Path(geomdp.__file__).parent
#: From ground to roof; a room imports only rooms listed before it (and itself).
FLOORS = [
    "core", "cache", "exact", "data", "privacy", "protocol", "lp", "geometry", "opt",
    "testers", "bounds", "learners", "local", "io", "report", "plot", "__init__", "cli",
]  # fmt: skip
MODULES = sorted(ROOT.rglob("*.py"))
SOLVERS = {"cvxpy", "highspy"}
HEAVY = {
    "numba",
    "scipy",
    "cvxpy",
    "highspy",
    "duckdb",
    "opendp",
    "matplotlib",
    "pandas",
    "sympy",
    "shapely",
    "typer",
}


def _room(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_lower_rooms_never_import_upper_ones(path):
    """Every import inside geomdp, lazy or not, points to the same room or to a lower one."""
    floor = FLOORS.index(_room(path))
    for name in _imports(path):
        parts = name.split(".")
        if parts[0] == "geomdp":
            room = parts[1] if len(parts) > 1 else "__init__"
            if room == "__init__":  # `from geomdp import __version__`, a constant
                continue
            assert FLOORS.index(room) <= floor, f"{path} imports {name}"
        assert parts[0] != "lp_gadgets"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_one_room_imports_solvers(path):
    """Solvers, cvxpy and highspy, are imported in geomdp/lp and nowhere else."""
    found = {name.split(".")[0] for name in _imports(path)} & SOLVERS
    assert not found or _room(path) == "lp"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_module_is_too_long(path):
    """A module stays under 600 lines."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 600


def test_importing_the_package_imports_nothing_heavy():
    """`import geomdp` loads numpy and the standard library only."""
    code = f"import sys, geomdp; sys.stdout.write(','.join(sorted({HEAVY!r} & set(sys.modules))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
