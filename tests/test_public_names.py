"""Laws of the documentation: what a reader may rely on for every public name, and for every exported one.

Public: a function, class, method or property without an underscore, in a module without one. Exported: a name
of `geomdp` or `lp_gadgets`, or one that the code of a page imports, with the public methods of its class, its
own and inherited ones. Docstrings are read from the source text.
"""

import ast
import builtins
import inspect
import re
import textwrap
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import geomdp
import lp_gadgets
from geomdp.core import errors

ROOT = Path(geomdp.__file__).parents[1]
PACKAGES = ("geomdp", "lp_gadgets")
SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Example")
#: The errors that the house raises on purpose, and the shared checks that raise one of them.
ERRORS = {name for name, value in vars(errors).items() if isinstance(value, type) and name.endswith("Error")}
CHECKS = {name for name in vars(errors) if name.startswith("check_")}
#: What the description of a public number must say.
UNITS = {
    "epsilon": r"budget|loss|private|privacy|Fraction",
    "beta": r"probability",
    "time_limit": r"seconds",
    "n": r"records|vectors|points",
    "n_alice": r"records",
    "n_bob": r"records",
    "progress": r"fraction",
}
#: Shapes are written as tuples: (m, d), (k,), (N, ceil(m/8)); sizes in words where there is one axis.
SHAPE = re.compile(r"\(\w[\w +-]*,[^)]*\)|\b[A-Za-z] (integers|labels|entries|numbers)\b")
#: Exported names that come from the theory, and so name their source.
THEORY = [
    "PopulationBounds", "population_bounds", "count_dichotomies", "dichotomies", "containers",
    "caratheodory", "separate", "halfspace_depth", "opt_halfspace", "opt_threshold",
    "resolution_curves", "Setting", "Outcome", "FieldCode", "Embedding", "tangent_identity", "Encoding",
    "encode", "predict", "Hull", "facets", "HardInstance", "Peeling", "peel", "Program", "predict_size",
    "Relation", "Rigidity", "Scale", "SharedDomain", "choose_scales", "information", "lower_bound",
    "largest_deviation", "StoppingDistance", "stopping_distance", "TannerCode", "CertifiedHistograms",
    "ThresholdInstance", "threshold_bound", "Witness", "CarryForwardLearner", "validated",
    "weak_then_self_train", "learn_massart", "HiddenLayers",
]  # fmt: skip
SOURCE = re.compile(
    r"\b(Section|Lemma|Theorem|Algorithm|Remark|Proposition|Definition|Corollary|Appendix|Claim|Construction)\b"
    r"|\b[A-Z]\w+ \(?(18|19|20)\d\d\b"
)


@dataclass
class Name:
    """A public name and what its source says of it; ``told`` is the docstring of its module."""

    module: str
    told: str
    name: str
    node: ast.AST
    owner: ast.ClassDef | None = None
    doc: str = ""
    sections: dict = field(default_factory=dict)

    def __post_init__(self):
        self.doc = ast.get_docstring(self.node) or ""
        for title in SECTIONS:
            self.sections[title] = _section(self.doc, title)

    @property
    def id(self):
        return f"{self.module}.{self.name}"

    @property
    def exported(self):
        place = (self.module, self.name.split(".")[0])
        return place in exported() or (self.owner is not None and place in inherited())

    @property
    def is_class(self):
        return isinstance(self.node, ast.ClassDef)

    @property
    def parameters(self):
        """The names of the parameters that a caller writes: of a class, of its constructor or its fields."""
        if not self.is_class:
            bound = self.owner is not None and "staticmethod" not in _decorators(self.node)
            return _parameters(self.node)[bound:]
        for method in _constructors(self.node):
            if method.name != "__post_init__":
                return _parameters(method)[1:]
        return _fields(self.node) if "dataclass" in _decorators(self.node) else []

    @property
    def accepted(self):
        """The parameters, with those that a class inherits."""
        if not self.is_class or not self.node.bases or self.name.endswith(("Error", "Warning")):
            return self.parameters
        return list(inspect.signature(getattr(import_module(self.module), self.name)).parameters)

    @property
    def annotations(self):
        """The text of the annotation of every parameter or field that has one."""
        if self.is_class:
            found = {
                line.target.id: ast.unparse(line.annotation)
                for line in self.node.body
                if isinstance(line, ast.AnnAssign)
            }
            nodes = [method for method in _constructors(self.node) if method.name == "__init__"]
        else:
            found, nodes = {}, [self.node]
        for node in nodes:
            arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            found |= {a.arg: ast.unparse(a.annotation) for a in arguments if a.annotation}
        return found

    @property
    def raised(self):
        """The errors of the house that the body raises itself or by a shared check."""
        nodes = _constructors(self.node) if self.is_class else [self.node]
        return {error for node in nodes for error in _raised(node)}


def _decorators(node):
    return {ast.unparse(d).split("(")[0].split(".")[-1] for d in node.decorator_list}


def _parameters(function):
    a = function.args
    names = [x.arg for x in a.posonlyargs + a.args]
    names += [a.vararg.arg] if a.vararg else []
    names += [x.arg for x in a.kwonlyargs] + ([a.kwarg.arg] if a.kwarg else [])
    return [name for name in names if not name.startswith("_")]


def _constructors(node):
    made = {"__init__", "__post_init__", "__new__"}
    return [method for method in node.body if isinstance(method, ast.FunctionDef) and method.name in made]


def _fields(node):
    lines = [line for line in node.body if isinstance(line, ast.AnnAssign)]
    kept = [line for line in lines if "ClassVar" not in ast.unparse(line.annotation)]
    names = [line.target.id for line in kept if "init=False" not in ast.unparse(line.value or line.target)]
    return [name for name in names if not name.startswith("_")]


def _raised(function):
    caught = {
        id(inner)
        for outer in ast.walk(function)
        if isinstance(outer, ast.Try) and outer.handlers
        for line in outer.body
        for inner in ast.walk(line)
    }
    for node in ast.walk(function):
        if id(node) in caught:
            continue
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            name = ast.unparse(node.exc.func)
            if name in ERRORS:
                yield name
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CHECKS:
            yield "ArgumentError"


def _section(doc, title):
    """Return the text under a heading, its indent removed, or None; an example may have a name."""
    rest = ".*" if title == "Example" else "[ ]*"
    found = re.search(rf"^{title}:{rest}\n((?:[ ]+.*\n|[ ]*\n)*)", doc + "\n", re.MULTILINE)
    return textwrap.dedent(found.group(1)) if found else None


def _entries(section):
    """Return {name: description} of a section with one or more names a line; names share a description."""
    entries, names = {}, []
    for line in (section or "").splitlines():
        head = re.match(r"([*\w][\w*, .]*?):(?: (.*)|$)", line)
        if head:
            names = [name.strip().lstrip("*") for name in head.group(1).split(",")]
            entries |= dict.fromkeys(names, head.group(2) or "")
        elif line.startswith(" "):
            entries |= {name: f"{entries[name]} {line.strip()}" for name in names}
    return entries


@cache
def exported():
    """Return {(module, name)} of every function and class that readers meet, by where it is defined."""
    places = {name for names in geomdp._HOMES.values() for name in names}
    values = [getattr(geomdp, name) for name in places]
    values += [getattr(lp_gadgets, name) for name in lp_gadgets._HOMES]
    values += [getattr(import_module(module), name) for module, name in shown()]
    return {(value.__module__, value.__qualname__) for value in values if hasattr(value, "__qualname__")}


def shown():
    """Yield (module, name) of every import from the two packages in the code of the README and of docs/."""
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            for line in ast.parse(block).body:
                if isinstance(line, ast.ImportFrom) and line.module.startswith(("geomdp.", "lp_gadgets.")):
                    yield from ((line.module, alias.name) for alias in line.names)


@cache
def inherited():
    """Return {(module, name)} of the classes of the house from which exported classes inherit methods."""
    made = [getattr(import_module(module), name) for module, name in exported()]
    bases = {base for value in made if isinstance(value, type) for base in value.__mro__[1:]}
    ours = {base for base in bases if base.__module__.split(".")[0] in PACKAGES}
    return {(base.__module__, base.__qualname__) for base in ours} - exported()


@cache
def public_names():
    """Return every public name of both packages outside the command lines."""
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if "cli" in parts or (path.stem.startswith("_") and path.stem != "__init__"):
                continue
            module = ".".join(parts).removesuffix(".__init__")
            found += _names_of(module, ast.parse(path.read_text(encoding="utf-8")))
    return found


def _names_of(module, tree):
    told = ast.get_docstring(tree) or ""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield Name(module, told, node.name, node)
            for method in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                    yield Name(module, told, f"{node.name}.{method.name}", method, node)


def _exported(kind=None):
    """Return the exported names: all, or "names" (without methods), "functions", "classes" or "methods"."""
    tests = {
        None: lambda name: True,
        "names": lambda name: name.owner is None,
        "functions": lambda name: name.owner is None and not name.is_class,
        "classes": lambda name: name.is_class,
        "methods": lambda name: name.owner is not None,
    }
    return [name for name in public_names() if name.exported and tests[kind](name)]


def _none(gaps):
    assert not gaps, "\n" + "\n".join(gaps)


def test_gaps_are_seen():
    """On a planted class, the readers of sources find what is raised, what is named, and what is missing."""
    source = textwrap.dedent('''
        @dataclass
        class Planted:
            """A planted class.

            Args:
                size, other: one description
                    of two lines.

            Raises:
                TableError: never.
            """

            size: NDArray[Any]
            kept: int = field(init=False)

            def __post_init__(self):
                check_integer("size", self.size, 1)

            def method(self, a, *, b=1, **rest):
                """Return a."""
                raise CapacityError("a", "less", a)
    ''')
    planted, method = _names_of("place", ast.parse(source))
    assert (planted.parameters, planted.raised) == (["size"], {"ArgumentError"})
    assert _entries(planted.sections["Args"]) == dict.fromkeys(
        ("size", "other"), "one description of two lines."
    )
    assert list(_entries(planted.sections["Raises"])) == ["TableError"]
    assert (method.parameters, method.raised) == (["a", "b", "rest"], {"CapacityError"})
    assert planted.annotations["size"] == "NDArray[Any]"
    assert not SHAPE.search("an array of numbers.")
    assert SHAPE.search("(m, d) integers.")


# Every public name.


def test_every_module_says_what_it_holds():
    """Every module of the two packages opens with a docstring whose first paragraph is a sentence."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    docs = {path: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "" for path in paths}
    heads = {path: doc.split("\n\n")[0] for path, doc in docs.items()}
    _none([str(path) for path, head in heads.items() if not re.match(r".+[.?:]$", head, re.DOTALL)])


def test_every_public_name_opens_with_a_sentence():
    """Every public function, class, method and property has a docstring whose first line is a sentence."""
    lines = {name.id: name.doc.split("\n", 1)[0] for name in public_names()}
    _none([f"{key}: {line!r}" for key, line in lines.items() if not re.match(r"\S.*[.?!:]$", line)])


def test_documented_parameters_exist():
    """Every name under Args is a parameter, and with Attributes a list of Args that is begun is complete."""
    gaps = []
    for name in public_names():
        if name.sections["Args"] is not None:
            written, real = set(_entries(name.sections["Args"])), set(name.parameters)
            gaps += [f"{name.id}: {x} is no parameter" for x in sorted(written - set(name.accepted))]
            missing = real - written - set(_entries(name.sections["Attributes"]))
            gaps += [f"{name.id}: {x} is missing" for x in sorted(missing)]
    _none(gaps)


def test_documented_attributes_exist():
    """Every name under Attributes is a field, a property or an attribute that the class sets or inherits."""
    gaps = []
    for name in public_names():
        if name.is_class and name.sections["Attributes"] is not None:
            text = ast.unparse(name.node)
            for entry in _entries(name.sections["Attributes"]):
                own = re.search(rf"(self\.{entry}\b|^ +{entry}: |def {entry}\(|^ +{entry} = )", text, re.M)
                if not own and not name.node.bases:
                    gaps.append(f"{name.id}: {entry}")
    _none(gaps)


def test_public_errors_are_documented():
    """A public function or class that raises an error of the house in its own body says so under Raises."""
    gaps = []
    for name in public_names():
        missing = name.raised - set(_entries(name.sections["Raises"]))
        gaps += [f"{name.id}: {error}" for error in sorted(missing)]
    _none(gaps)


def test_documented_errors_exist():
    """Every name under Raises is an error of the house or of Python."""
    own = {name.name for name in public_names() if name.is_class and name.name.endswith("Error")}
    known = ERRORS | own | set(dir(builtins))
    written = {(name.id, error) for name in public_names() for error in _entries(name.sections["Raises"])}
    _none(sorted(f"{key}: {error}" for key, error in written if error.split(".")[-1] not in known))


# Every exported name.


def test_every_exported_name_is_found():
    """The laws below see every exported name: its home defines it."""
    found = {(name.module, name.name) for name in public_names()}
    _none(sorted(map(str, exported() - found)))


def test_exported_functions_describe_every_parameter():
    """An exported function lists every parameter under Args."""
    gaps = [
        f"{name.id}: {', '.join(sorted(missing))}"
        for name in _exported("functions")
        if (missing := set(name.parameters) - set(_entries(name.sections["Args"])))
    ]
    _none(gaps)


def test_exported_classes_describe_every_parameter():
    """An exported class lists every parameter of its constructor under Args or Attributes."""
    gaps = []
    for name in _exported("classes"):
        written = set(_entries(name.sections["Args"])) | set(_entries(name.sections["Attributes"]))
        missing = sorted(set(name.parameters) - written)
        gaps += [f"{name.id}: {', '.join(missing)}"] if missing else []
    _none(gaps)


def test_exported_methods_name_every_parameter():
    """A public method of an exported class names every parameter, under Args or in its prose."""
    gaps = []
    for name in _exported("methods"):
        missing = [x for x in name.parameters if not re.search(rf"(?<![\w.]){re.escape(x)}\b", name.doc)]
        gaps += [f"{name.id}: {', '.join(missing)}"] if missing else []
    _none(gaps)


def test_exported_functions_say_what_they_return():
    """An exported function describes its value under Returns; a method's first line says Return or Yield."""
    gaps = [name.id for name in _exported("functions") if not name.sections["Returns"]]
    for name in _exported("methods"):
        returns = name.node.returns is not None and ast.unparse(name.node.returns) != "None"
        is_property = _decorators(name.node) & {"property", "cached_property"}
        if returns and not is_property and not re.match(r"(Return|Yield|Read|Run|Write)", name.doc):
            gaps += [name.id] if not name.sections["Returns"] else []
    _none(gaps)


def test_exported_names_show_an_example():
    """Every exported function and class holds a doctest under Example."""
    _none([name.id for name in _exported("names") if ">>> " not in (name.sections["Example"] or "")])


@pytest.mark.parametrize("wanted", THEORY)
def test_names_from_the_theory_name_their_source(wanted):
    """A name that comes from the theory cites a section, a lemma or an author, itself or in its module."""
    found = [name for name in _exported("names") if name.name == wanted]
    assert found
    _none([name.id for name in found if not SOURCE.search(f"{name.doc}\n{name.told}")])


def test_exported_numbers_have_their_unit():
    """A budget, a probability, a number of records, a time or a progress callback is described as such."""
    gaps = []
    for name in _exported():
        entries = _entries(name.sections["Args"]) | _entries(name.sections["Attributes"])
        for key in set(UNITS) & set(entries) & set(name.parameters):
            symbol = key == "beta" and name.annotations.get(key) == "int"  # a field element
            if not symbol and not re.search(UNITS[key], entries[key]):
                gaps.append(f"{name.id}: {key}: {entries[key]}")
    _none(gaps)


def test_exported_arrays_have_a_shape():
    """Where an exported name takes an array, the docstring gives its shape."""
    gaps = []
    for name in _exported():
        entries = _entries(name.sections["Args"]) | _entries(name.sections["Attributes"])
        for key, annotation in name.annotations.items():
            text = entries.get(key, name.doc)
            if "NDArray" in annotation and not key.startswith("_") and not SHAPE.search(text):
                gaps.append(f"{name.id}: {key}")
    _none(gaps)
