"""Laws of the house: which room may import which, and what an import of a package may cost."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import geomdp
import lp_gadgets

ROOTS = {package.__name__: Path(package.__file__).parent for package in (geomdp, lp_gadgets)}
#: From ground to roof; a room imports only rooms of its package listed before it (and itself).
FLOORS = {
    "geomdp": [
        "core", "cache", "exact", "data", "privacy", "protocol", "lp", "geometry", "opt",
        "testers", "bounds", "learners", "local", "io", "report", "plot", "__init__", "cli",
    ],
    "lp_gadgets": [
        "strict", "files", "field", "rows", "sparse", "layout", "embedding",
        "graphs", "stopping", "code", "tanner",
        "polytopes", "hull", "relation", "gadgets",
        "records", "verifier", "program", "stored", "export",
        "public", "solvers", "witnesses", "certify", "folder", "instance",
        "thresholds", "scales", "tester", "catalogue", "pictures", "__init__", "cli",
    ],
}  # fmt: skip
MODULES = [(package, path) for package, root in ROOTS.items() for path in sorted(root.rglob("*.py"))]
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
every_module = pytest.mark.parametrize(
    ("package", "path"),
    MODULES,
    ids=lambda p: p if isinstance(p, str) else str(p.relative_to(ROOTS["geomdp"].parent)),
)


def _name(path, root):
    """Return the dotted name of a module of the package in the folder ``root``."""
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(path, root):
    return path.relative_to(root).parts[0].removesuffix(".py")


NAMES = {_name(path, ROOTS[package]) for package, path in MODULES}


def _imports(path, modules=frozenset()):
    """Yield what a module imports anywhere in it, lazily or for the type checker only, too.

    ``from a import b`` gives a.b where that is one of the modules, and nothing for the version of a package:
    it is a constant that is there before any other module of the package.
    """
    for node in _statements(path):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} has a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in modules:
                    yield whole
                elif alias.name != "__version__":
                    yield node.module
        else:
            yield from (alias.name for alias in node.names)


@cache
def _statements(path):
    """Return the import statements of a module, wherever they stand."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]


def _graph(*roots):
    """Return for every module in some packages the modules in them that it imports."""
    paths = {_name(path, root): path for root in roots for path in root.rglob("*.py")}
    return {name: {x for x in _imports(path, paths) if x in paths} - {name} for name, path in paths.items()}


def _reached(graph, start):
    """Return all modules that a module imports, directly or through others."""
    found, left = set(), [start]
    while left:
        for name in graph[left.pop()] - found:
            found.add(name)
            left.append(name)
    return found


def test_every_room_has_its_floor():
    """The list of floors holds every room of a package once, and no other."""
    for package, root in ROOTS.items():
        rooms = {_room(path, root) for path in root.rglob("*.py")}
        assert sorted(FLOORS[package]) == sorted(rooms)


@every_module
def test_lower_rooms_never_import_upper_ones(package, path):
    """Every import inside a package, lazy or not, points to the same room or to a lower one."""
    root, floors = ROOTS[package], FLOORS[package]
    floor = floors.index(_room(path, root))
    for name in _imports(path, NAMES):
        parts = name.split(".")
        if parts[0] == package:
            room = parts[1] if len(parts) > 1 else "__init__"
            assert floors.index(room) <= floor, f"{path} imports {name}"
        assert parts[0] != "lp_gadgets" or package == "lp_gadgets"


@pytest.mark.parametrize("package", ROOTS)
def test_no_modules_import_each_other_in_a_circle(package):
    """The imports of a package, lazy ones and those of the type checker included, have no cycle."""
    TopologicalSorter(_graph(ROOTS[package])).prepare()


@pytest.mark.parametrize(
    "back",
    [
        "def f():\n    from house.a import A\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import house.a\n",
    ],
    ids=["lazy", "type checker"],
)
def test_a_circle_is_seen(back, tmp_path):
    """A cycle closed by an import inside a function, or for the type checker only, is reported."""
    root = tmp_path / "house"
    root.mkdir()
    (root / "__init__.py").write_text("")
    (root / "a.py").write_text("from house import b\n")
    (root / "b.py").write_text(back)
    with pytest.raises(CycleError):
        TopologicalSorter(_graph(root)).prepare()


@every_module
def test_only_one_room_imports_solvers(package, path):
    """Solvers, cvxpy and highspy, are imported in geomdp/lp and nowhere else."""
    found = {name.split(".")[0] for name in _imports(path)} & SOLVERS
    assert not found or (package, _room(path, ROOTS[package])) == ("geomdp", "lp")


@pytest.mark.parametrize("module", ["lp_gadgets.verifier", "lp_gadgets.stored", "geomdp.opt.verifier"])
def test_verifiers_reach_no_solver(module):
    """Nothing that a verifier imports, directly or through others, is in the room of the solvers."""
    reached = _reached(_graph(*ROOTS.values()), module)
    assert reached
    assert not [name for name in reached if name.startswith("geomdp.lp") or name == "lp_gadgets.solvers"]


@every_module
def test_no_module_is_too_long(package, path):
    """A module stays under 600 lines."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 600


def test_public_names_are_the_same_for_people_and_type_checkers():
    """Every public name of lp_gadgets has one home, at run time and for the type checker."""
    tree = ast.parse((ROOTS["lp_gadgets"] / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {alias.name: node.module for node in guarded.body for alias in node.names}
    assert homes == lp_gadgets._HOMES | dict.fromkeys(lp_gadgets._MODULES, "lp_gadgets")
    rooms = set(FLOORS["lp_gadgets"])
    assert not rooms & set(lp_gadgets._HOMES), "importing the room would hide the name"


@pytest.mark.parametrize("package", ROOTS)
def test_importing_the_package_imports_nothing_heavy(package):
    """Importing either package loads numpy and the standard library only."""
    code = f"import sys, {package}; sys.stdout.write(','.join(sorted({HEAVY!r} & set(sys.modules))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
