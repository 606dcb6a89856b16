"""Laws of the README and the pages in docs/: every block of code and every command runs as it is written."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import lp_gadgets.cli
from geomdp import cli, data

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
]
MAINS = {"geomdp": cli.main, "lp-gadgets": lp_gadgets.cli.main}
#: Pages whose code, and commands whose run, takes longer than a default test may.
SLOW_PAGES, SLOW_COMMANDS = {"README.md"}, {"plan", "power"}


def _text(page):
    return (ROOT / page).read_text(encoding="utf-8")


def _blocks(page, language):
    """The fenced blocks of a page in one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", _text(page), re.MULTILINE | re.DOTALL)


def _fenced(page):
    """The commands of the two programs in the fenced blocks of a page."""
    for block in _blocks(page, "bash"):
        for line in block.splitlines():
            for part in line.split("#")[0].split("&&"):
                if part.split()[:1] and part.split()[0] in MAINS:
                    yield part.strip()


def _inline(page):
    """The commands of the two programs in the running text of a page, without line breaks and brackets."""
    prose = re.sub(r"^```.*?^```", "", _text(page), flags=re.MULTILINE | re.DOTALL)
    for found in re.findall(r"`((?:geomdp|lp-gadgets) [a-z][^`]*)`", prose):
        yield re.sub(r"[\[\]]", "", " ".join(found.split()))


def _marked(values, slow):
    return [
        pytest.param(value, marks=pytest.mark.exhaustive) if slow(value) else value
        for value in dict.fromkeys(values)
    ]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the files that the pages name."""
    monkeypatch.chdir(tmp_path)
    for name, airport in (("A.csv", "jfk"), ("B.csv", "lga")):
        shutil.copy(data.path(f"flights/different_{airport}.csv"), name)
    Path("TABLE.csv").write_text(Path("A.csv").read_text().replace("disrupted", "y", 1))
    for name in ("grid.json", "g.json"):
        Path(name).write_text(_blocks("README.md", "json")[0])
    return tmp_path


def _run(command, monkeypatch):
    """Run a command in this process and return its exit code."""
    program, *arguments = shlex.split(command)
    monkeypatch.setattr(
        "sys.argv", [program, *("TABLE.csv" if word == "TABLE" else word for word in arguments)]
    )
    with pytest.raises(SystemExit) as ended:
        MAINS[program]()
    return ended.value.code or 0


def _given(page):
    """What a page takes for granted: the reader's own arrays."""
    rng = np.random.default_rng(0)
    if page == "README.md":
        even = range(-9, 10, 2)
        return {
            "A": [[0, 0], [2, 0]],
            "B": [[1, 1], [1, 3]],
            "points": [[0, 0], [4, 0], [0, 4], [4, 4]],
            "v": [1, 2],
            "W": [[a, b, 7] for a in even for b in even],
        }
    if page == "docs/learners.md":
        X = rng.integers(-512, 513, (3000, 2))
        return {"X": X, "y": np.where(X.sum(axis=1) > 0, "yes", "no"), "X_new": X[:5]}
    return {}


def _between(page, names):
    """What changes between the blocks of a page: the reader's arrays are of another kind."""
    if page == "docs/learners.md":
        X = np.random.default_rng(1).integers(0, 6, (300, 2))
        names |= {"X": X, "y": np.where(X[:, 0] < 3, 1, -1)}


#: What the comments beside the code promise: page, number of the block, and what holds after it.
PROMISES = {
    ("README.md", 0): [
        "D.d == 3 and D.m == 1024",
        "o.verdict in ('Match', 'Far') and o.epsilon_spent == 2 and '<html' in o.report()",
        "r.lower == r.upper == r.classifier.mistakes(S_A + S_B)",
        "g.verify(r.certificate, S_A, S_B) is True",
    ],
    ("README.md", 1): [
        "inst.F(u, v) == 1",
        "inst.gap == min(100, 3 * code.stopping_distance().value)",
        "inst.gap <= inst.certify(u, v).opt_lower <= inst.certify(u, v).opt_upper",
    ],
    ("docs/hard_instances.md", 0): [
        "outcome.verdict in ('Far', 'Inconclusive')",
        "outcome.epsilon_spent == 1",
    ],
    ("docs/interaction.md", 0): ["users == 213"],
    ("docs/learners.md", 0): ["learner.simulated_ is False", "len(learner.classifier_.weights) == 3"],
    ("docs/local.md", 1): ["round(answer.bound, 3) == 0.426"],
}


@pytest.mark.parametrize("page", _marked([p for p in PAGES if _blocks(p, "python")], SLOW_PAGES.__contains__))
def test_the_code_of_a_page_runs(page, place):
    """The Python blocks of a page run one after the other in one namespace, as their comments say."""
    names = {"__name__": "page"} | _given(page)
    for number, block in enumerate(_blocks(page, "python")):
        if number:
            _between(page, names)
        exec(compile(block, page, "exec"), names)  # noqa: S102 (our own pages)
        for promise in PROMISES.get((page, number), ()):
            assert eval(promise, names), promise  # noqa: S307 (the lines above)


@pytest.mark.parametrize("page", _marked([p for p in PAGES if list(_fenced(p))], SLOW_PAGES.__contains__))
def test_the_commands_of_a_block_run(page, place, monkeypatch, capsys):
    """The commands in the fenced blocks of a page run one after the other in one folder."""
    for command in _fenced(page):
        assert _run(command, monkeypatch) == 0, f"{command}: {capsys.readouterr().err}"


COMPLETE = [
    command
    for page in PAGES
    for command in _inline(page)
    if command.split()[1] != "assess" and re.search(r"--grid \w|--code \w", command)
]


@pytest.mark.parametrize("command", _marked(COMPLETE, lambda command: command.split()[1] in SLOW_COMMANDS))
def test_the_commands_in_the_text_run(command, place, monkeypatch, capsys):
    """A command in the running text that names its grid or its code runs as it is written."""
    assert _run(command, monkeypatch) == 0, capsys.readouterr().err


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_option_exists(page, monkeypatch, capsys):
    """Commands and their options, in blocks and in the text, are those that their help lists."""
    for command in [*_fenced(page), *_inline(page)]:
        program, name, *words = command.split()
        assert _run(f"{program} {name} --help", monkeypatch) == 0, command
        known = set(re.findall(r"--[\w-]+", capsys.readouterr().out))
        assert {word for word in words if word.startswith("--")} <= known, command


@pytest.mark.parametrize("page", PAGES)
def test_every_script_exists(page):
    """Scripts, pictures and pages that a page names are there."""
    text = _text(page)
    named = set(re.findall(r"(?:\./|python |`)(scripts/[\w/.]+)", text))
    linked = {link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link}
    missing = [path for path in named if not (ROOT / path).exists()]
    missing += [link for link in linked if not (ROOT / page).parent.joinpath(link).exists()]
    assert missing == []
