"""Laws of the report: well-formed, self-contained, escaped, complete, and a function of what was released."""

import dataclasses
import io
import itertools
import json
import re
import shutil
import subprocess
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

from geomdp import Domain, Halfspace, Sample, Threshold, plan
from geomdp.protocol.transcript import PARTIES, Message, Transcript
from geomdp.report import outcome_table, words
from geomdp.report.drawing import Bar, Numbers, interval_chart, ticks
from geomdp.report.maps import drawable, field_map
from geomdp.report.markup import Markup, clean, el, join, name
from geomdp.report.page import is_report, report_html, transcript_digest
from geomdp.testers.base import GUARANTEES, Outcome, Setting
from geomdp.testers.elimination import HalfspaceElimination
from geomdp.testers.histogram import OneWay, TwoHistograms
from geomdp.testers.localised import Localised
from geomdp.testers.plan import PlanRow

HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</title></style><b>&amp;",
    "a\u202eb\x00\x1b[31m\ud800",
    "http://evil.example/x",
    "[bold]m[/nothing]",
]
VOID = {"meta", "br", "hr", "img"}
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome", "chromium-browser"))), None
)


class Reader(HTMLParser):
    """Checks that tags balance and collects what a page holds."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def of(self, tag):
        return [attrs for t, attrs in self.tags if t == tag]


def read(page):
    """Return what a page holds after checking that its tags balance."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


GRID = Domain.grid([("bill <mm>", 30, 62, 4), ("depth", 12, 22, 4)])
LINE = Domain.grid([("age", 0, 90, 16)])
LOW = Sample.from_counts(GRID, [40] * 8 + [0] * 8, [0] * 8 + [40] * 8)
HIGH = Sample.from_counts(GRID, [0] * 8 + [40] * 8, [40] * 8 + [0] * 8)
YOUNG = Sample.from_counts(LINE, [0] * 8 + [60] * 8, [60] * 8 + [0] * 8)


def eliminate(S_A, S_B, epsilon=4, **options):
    """Return an outcome of halfspace elimination."""
    row = PlanRow(HalfspaceElimination(Setting(GRID, S_A.n, S_B.n, epsilon), **options))
    return row.run(S_A, S_B, rng=0, force_uncertified=True)


@pytest.fixture(scope="module")
def outcomes():
    """Return an outcome of every tester of a plan, and of every verdict."""
    made = {}
    for domain, S_A, S_B in ((GRID, LOW, HIGH), (GRID, LOW, LOW), (LINE, YOUNG, YOUNG)):
        made |= {
            (domain.d, S_B is S_A, row.name, row.guarantee): row.run(S_A, S_B, rng=1, force_uncertified=True)
            for row in plan(domain, n=S_A.n, epsilon=2).testers
            if row.resolution is not None
        }
    made["localised"] = PlanRow(Localised(Setting(LINE, YOUNG.n, YOUNG.n, 1, classes="thresholds"))).run(
        YOUNG, YOUNG, rng=0
    )
    return made


@pytest.fixture(scope="module")
def pages(outcomes):
    """Return each of these outcomes with its page."""
    return [(o, o.report()) for o in outcomes.values()]


@pytest.fixture
def outcome(outcomes):
    """Return one outcome with everything in it."""
    return outcomes[3, False, "two-histograms", "analytic"]


def test_every_outcome_gives_a_well_formed_page_that_loads_nothing(pages):
    """Tags balance, ids are unique, links lead to ids, and no address, script or handler occurs."""
    assert {o.verdict for o, _ in pages} >= {"Match", "Far"}
    for _, page in pages:
        reader = read(page)
        assert page.startswith('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">')
        ids = [attrs["id"] for _, attrs in reader.tags if "id" in attrs]
        assert len(ids) == len(set(ids))
        assert {a["href"].removeprefix("#") for a in reader.of("a")} <= set(ids)
        for tag, attrs in reader.tags:
            assert tag not in {"script", "img", "link", "iframe", "object", "base", "form", "image", "use"}
            assert not any(key.startswith("on") or key in {"src", "srcset", "style"} for key in attrs)
        assert not re.search(r"https?:|//|@import|url\(", page.replace("<!DOCTYPE", ""))


def test_pictures_and_tables_speak_to_readers_who_do_not_see_them(pages):
    """Every picture has a name and a description or is hidden; every table a caption; headings never skip."""
    pictures = 0
    for _, page in pages:
        reader = read(page)
        ids = {attrs["id"] for _, attrs in reader.tags if "id" in attrs}
        for attrs in reader.of("svg"):
            pictures += 1
            hidden = attrs.get("aria-hidden") == "true"
            assert hidden or set(attrs["aria-labelledby"].split()) <= ids
        assert len(reader.of("table")) == len(reader.of("caption"))
        assert len(reader.of("html")) == len(reader.of("main")) == len(reader.of("h1")) == 1
        levels = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch("h[1-6]", tag)]
        assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
        assert any(meta.get("name") == "viewport" for meta in reader.of("meta"))
    assert pictures > 20


def test_hostile_names_stay_text():
    """A feature's name is never markup, and keeps neither control characters nor reordering ones."""
    for text in HOSTILE:
        domain = Domain.grid([(text, 0, 1, 4), (text + "2", 0, 1, 4)])
        S = Sample.from_counts(domain, [40] * 8 + [0] * 8, [0] * 8 + [40] * 8)
        o = OneWay(Setting(domain, S.n, S.n, 8))
        page = PlanRow(o).run(S, S, rng=0, force_uncertified=True).report()
        reader = read(page)
        page.encode("utf-8")
        assert {tag for tag, _ in reader.tags}.isdisjoint({"script", "img", "b"})
        assert clean(text, 80) in "".join(reader.text)
        assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\ud800-\udfff]", page)


def test_hostile_names_stay_text_in_the_terminal():
    """Square brackets are no mark-up, and escape sequences do not reach the terminal."""
    from rich.console import Console

    for text in HOSTILE:
        domain = Domain.grid([(text, 0, 1, 16)])
        S = Sample.from_counts(domain, [0] * 8 + [60] * 8, [60] * 8 + [0] * 8)
        row = next(r for r in plan(domain, n=S.n, epsilon=4).testers if r.name == "one-way")
        console = Console(record=True, width=200, file=io.StringIO())
        console.print(outcome_table(row.run(S, S, rng=0, force_uncertified=True)))
        shown = console.export_text()
        assert "\x1b" not in shown
        assert clean(text)[:6] in shown


@pytest.mark.parametrize("verdict", ["Match", "Far", "Inconclusive"])
@pytest.mark.parametrize("guarantee", [*GUARANTEES, "another"])
@pytest.mark.parametrize("marks", ["", "simulated", "uncertified", "trusted"])
def test_every_verdict_guarantee_and_mark_is_rendered(outcome, verdict, guarantee, marks):
    """The page names the verdict, the guarantee and every mark that an outcome has, and no other mark."""
    made = dataclasses.replace(
        outcome,
        verdict=verdict,
        guarantee=guarantee,
        simulated=marks == "simulated",
        certified=marks != "uncertified",
        trusted=marks == "trusted",
    )
    text = " ".join(read(made.report()).text)
    assert verdict in text
    assert ("SIMULATED RUN" in text) == made.simulated
    assert ("UNCERTIFIED" in text) == (not made.certified)
    assert ("TRUSTED THIRD PARTY" in text) == made.trusted
    assert (guarantee in text) == made.certified or guarantee == "another"
    if not made.certified:
        assert "is owed" not in text


def test_the_ledger_adds_up_to_what_the_outcome_says(pages):
    """Exact charges, running sums and rests per party stand in the page and end with what was spent."""
    for o, page in pages:
        tables = re.findall(r"<caption>Ledger of (\w+).*?</table>", page, flags=re.S)
        assert tables == list(PARTIES)
        for party in PARTIES:
            table = re.search(rf"<caption>Ledger of {party}.*?</table>", page, flags=re.S).group()
            amounts = [Fraction(v) for v in re.findall(r'class="exact">([^<]*)<', table)]
            charges, total = amounts[:-3:3], amounts[-3:]
            paid = o.transcript.spent(party)
            assert sum(charges) == paid == o.spent[party] == total[0] == total[1]
            assert total[2] == words.budget_of(o, party) - paid >= 0
            assert amounts[1:-3:3] == [sum(charges[: i + 1]) for i in range(len(charges))]


def test_every_released_message_is_listed(pages):
    """The table of messages has one row for each, with sender and kind; the digest is the transcript's."""
    for o, page in pages:
        rows = re.findall(
            r"<tr><td>(\d+)</td><td>(\w+)</td><td><span class=\"what\"><strong>(.*?)</strong>", page
        )
        messages = o.transcript.messages
        assert [(s, k) for _, s, k in rows] == [(m.sender, m.kind) for m in messages]
        assert all(words.describe(m) for m in messages)
        if messages:
            assert transcript_digest(o) in page


class Scripted:
    """Releases what it is told to, whatever the records: noise is the difference."""

    simulated = True

    def __init__(self, released, sample):
        self.released, self.sample = released, sample

    def discrete_laplace(self, scale, size):
        del scale
        assert size == len(self.released)
        return self.released - self.sample.net


def test_two_pairs_of_datasets_with_one_transcript_give_one_page():
    """Nothing unreleased can be in the page: it is the same for other records and equal messages."""
    rng = np.random.default_rng(0)
    tester = TwoHistograms(Setting(GRID, LOW.n, LOW.n, 1))
    pages, records = set(), set()
    release = [rng.integers(-30, 30, GRID.m) for _ in PARTIES]
    for _ in range(3):
        cells, labels = rng.integers(0, GRID.m, (2, LOW.n)), rng.choice([-1, 1], (2, LOW.n))
        pair = [Sample.from_cells(GRID, c, y) for c, y in zip(cells, labels, strict=True)]
        finding = tester.converse(*pair, *(Scripted(r, s) for r, s in zip(release, pair, strict=True)))
        made = Outcome(
            finding.verdict, tester.name, tester.resolution, tester.guarantee, True, True, False,
            tester.setting, {p: finding.transcript.spent(p) for p in PARTIES}, finding.opt_interval,
            finding.party_intervals, finding.gap_interval, finding.classifier, finding.transcript,
        )  # fmt: skip
        pages.add(made.report())
        records.add(tuple(pair[0].net.tolist()))
    assert len(pages) == 1
    assert len(records) == 3


def test_equal_outcomes_give_equal_pages(pages):
    """A page is a function of the outcome: no date, no random id, no order of a set."""
    for o, page in pages:
        assert page == report_html(dataclasses.replace(o))


def test_the_rounds_of_an_elimination_are_told(outcomes):
    """Each round is a bar with the number of candidates left, and maps show what they say of each cell."""
    for S_B, verdict in ((HIGH, "Far"), (LOW, "Match")):
        o = eliminate(LOW, S_B)
        assert o.verdict == verdict
        text = " ".join(read(o.report()).text)
        cuts = [m.payload["candidates"] for m in o.transcript.messages if m.kind == "selection"]
        assert cuts
        assert all(f"({count:,} left)" in text for count in cuts)
        assert "by cell" in text
    assert "How the candidates" not in outcomes[3, False, "one-way", "analytic"].report()


def test_rounds_are_told_without_maps_where_there_is_no_plane():
    """On a grid of one feature the rounds are counted and no cell is drawn."""
    domain = Domain.grid([("x", 0, 1, 4)])
    S = Sample.from_counts(domain, [90, 0] * 2, [0, 90] * 2)
    row = PlanRow(HalfspaceElimination(Setting(domain, S.n, S.n, 8)))
    page = row.run(S, S, rng=0, force_uncertified=True).report()
    assert "How the candidates" in page
    assert "by cell" not in page


def test_the_papers_constants_are_told_too():
    """Runs with the published constants replay as well, in whatever answer they end."""
    o = eliminate(LOW, HIGH, 40, constants="paper")
    assert o.tester == "halfspace-elimination-paper"
    assert "How the candidates" in o.report()


def test_a_finer_resolution_of_a_run_is_told(outcomes):
    """What the localised protocol certified in this run stands beside what the plan promised."""
    o = outcomes["localised"]
    found = words.realised_resolution(o.transcript)
    assert ("finer resolution" in o.report()) == (found is not None and found < o.resolution)


def test_rules_in_units_agree_with_rules_in_levels():
    """At the centre of every cell, the rule in the columns' units labels as the classifier does."""
    domain = Domain.grid([("a", -2, 6, 5), ("b", 10, 11.5, 4)])
    for w in ([3, -2, 1], [0, 1, -2], [-1, 0, 2], [4, 3, -11]):
        h = Halfspace(tuple(w))
        text = words.rule_in_units(h, domain).removeprefix("+ iff ")
        left, right = text.split(" >= ")
        terms = re.findall(r"(-?) ?(?:([\d.]+)\*)?([ab])", left)
        assert len(terms) == sum(map(bool, w[:2]))
        for point in domain.points.tolist():
            values = {f.name: f.value(level) for f, level in zip(domain.features, point, strict=False)}
            total = sum(float(f"{sign}{factor or 1}") * values[column] for sign, factor, column in terms)
            inner = sum(a * b for a, b in zip(w, point, strict=True))
            if abs(total - float(right)) > 1e-3:
                assert (total > float(right)) == (inner > 0)


@pytest.mark.parametrize(
    ("classifier", "domain", "levels", "units"),
    [
        (Threshold(3), LINE, "+ iff level(age) >= 3", "+ iff age >= 15"),
        (Threshold(0), LINE, "+ everywhere", None),
        (Threshold(16), LINE, "- everywhere", None),
        (Threshold(5), Domain.line(9), "+ iff rank >= 5", None),
        (Halfspace((0, 0, 1)), GRID, "+ everywhere", None),
        (Halfspace((0, 0, -1)), GRID, "- everywhere", None),
        (Halfspace((0, 0, 0)), GRID, "+ everywhere", None),
        (Halfspace((1, 2)), Domain([[0, 1], [1, 1]]), "+ iff <w, x> >= 0, w = [1, 2]", None),
        (Halfspace((-1, 2)), LINE, "+ iff -1*level(age) + 2 >= 0", "+ iff -age >= -12"),
    ],
)  # fmt: skip
def test_rules_read_literally(classifier, domain, levels, units):
    """Constant classifiers, lines, point sets and grids each have their sentence."""
    assert words.rule_in_levels(classifier, domain).replace("+ iff - ", "+ iff -") == levels
    found = words.rule_in_units(classifier, domain)
    assert (found and found.replace("+ iff - ", "+ iff -")) == units


def test_probabilities_are_rounded_to_the_safe_side():
    """The printed bound is never below beta, the printed level never above 1 - beta."""
    for beta in (Fraction(1, 3), Fraction(1, 10), Fraction(2, 7), Fraction(1, 10**7), Fraction(999, 1000)):
        assert Fraction(words.probability(beta)) >= beta
        assert Fraction(words.probability(beta)) <= beta * Fraction(1001, 1000)
        level = words.confidence(beta)
        if level.endswith("%"):
            assert Fraction(level.removesuffix(" %")) / 100 <= 1 - beta


def test_odds_bound_the_posterior_of_an_even_guess():
    """The stated chance is e^eps / (1 + e^eps), rounded up, at any size of epsilon."""
    for spent in (Fraction(1, 1000), Fraction(1), Fraction(7, 3), Fraction(100)):
        shown = float(re.search(r"most ([\d.]+) %", words.odds_sentence("Bob", spent)).group(1))
        exact = 100 * np.exp(float(spent)) / (1 + np.exp(float(spent)))
        assert exact - 1e-9 <= shown <= exact + 0.001
    assert "nothing" in words.odds_sentence("Bob", Fraction(0))


def test_markup_is_escaped_once_and_only_where_it_is_text():
    """Text is escaped, markup is kept, and attributes cannot be left."""
    assert el("p", "<&>", Markup("<b></b>")) == "<p>&lt;&amp;&gt;<b></b></p>"
    assert el("p", title='"><x>') == '<p title="&quot;&gt;&lt;x&gt;"></p>'
    assert join(["a", None, 3]) == "a3"
    assert name("x" * 300).count("x") == 79


def test_axes_have_few_round_ticks():
    """Ticks start at 0, are evenly spaced and at most six."""
    for top in [*range(1, 300), 10**6, 2**50]:
        marks = ticks(top)
        assert marks[0] == 0
        assert 2 <= len(marks) <= 6
        assert len(set(np.diff(marks).tolist())) == 1


@pytest.mark.parametrize(
    ("domain", "h"),
    [
        (GRID, Halfspace((1, -1, 0))),
        (GRID, Halfspace((0, 0, 1))),
        (GRID, Halfspace((1, 0, -2))),
        (Domain.grid([("x", 0, 1, 70), ("y", 0, 1, 200)]), Halfspace((1, 1, -9))),
        (LINE, Threshold(4)),
        (LINE, Halfspace((2, -5))),
        (Domain.line(1000), Threshold(0)),
        (Domain.line(1000), None),
    ],
)
def test_maps_of_any_shape_are_drawn_within_their_frame(domain, h):
    """Fields of few or many cells, empty or not, give a picture whose numbers are finite and not negative."""
    assert drawable(domain)
    for values in (np.zeros(domain.m, dtype=np.int64), np.arange(domain.m) - domain.m // 2):
        picture = field_map(Numbers(), domain, values, title="t", text="d", classifier=h)
        read(picture)
        assert len(picture) < 3 * 10**5
        assert not re.search(r"nan|inf", picture)
    assert not drawable(Domain.line(2**64))


def test_intervals_of_any_size_are_drawn_within_the_width():
    """Every place lies between 0 and 100 per cent, also for zero, equal and huge ends."""
    for low, high, t in ((0, 0, 1), (5, 5, None), (0, 2**50, 3), (10**6, 10**6 + 1, 2**40)):
        picture = interval_chart(Numbers(), [Bar("opt", low, high, "opt")], 0, t, "text")
        assert all(0 <= float(v) <= 100 for v in re.findall(r'"([\d.]+)%"', picture))


def test_unknown_messages_are_listed_with_their_values(outcome):
    """A message of a kind without a description is shown as it is, escaped."""
    odd = Transcript(
        outcome.transcript.parameters, [Message("Bob", "<odd>", {"<k>": ["<v>", 1]}, Fraction(1, 7))]
    )
    page = dataclasses.replace(outcome, transcript=odd, spent={p: odd.spent(p) for p in PARTIES}).report()
    assert "<odd>" in "".join(read(page).text)
    assert "<odd>" not in page
    assert "1/7" in page


def test_pages_are_known_by_their_mark(outcome, tmp_path):
    """A page of this package is told from another HTML file."""
    ours, theirs = tmp_path / "a.html", tmp_path / "b.html"
    ours.write_text(outcome.report(), encoding="utf-8")
    theirs.write_text("<html></html>", encoding="utf-8")
    assert is_report(ours)
    assert not is_report(theirs)


def test_the_command_line_writes_the_page_or_leaves_all_as_it_was(tmp_path, geomdp):
    """--report writes a whole page, replaces an earlier one, and refuses foreign files before any release."""
    grid, table = tmp_path / "grid.json", tmp_path / "t.csv"
    grid.write_text(json.dumps(LINE.to_dict()), encoding="utf-8")
    rows = [f"{age},{'old' if age > 45 else 'young'}" for age in range(0, 90, 6) for _ in range(60)]
    table.write_text("age,who\n" + "\n".join(rows) + "\n", encoding="utf-8")
    other = tmp_path / "u.csv"
    shutil.copy(table, other)
    command = ["assess", table, other, "--grid", grid, "--label", "who", "--json"]
    command += ["--positive", "old", "--epsilon", "2", "--seed", "1", "--guarantee", "analytic", "--report"]

    def run(*tail):
        return geomdp(*command, *tail)

    page, foreign = tmp_path / "out.html", tmp_path / "foreign.html"
    for _ in range(2):
        code, out, _ = run(page)
        assert code == 0
        assert json.loads(out)["verdict"] in page.read_text(encoding="utf-8")
        assert is_report(page)
    foreign.write_text("<html>mine</html>", encoding="utf-8")
    log = tmp_path / "log.json"
    for tail in ([foreign], [tmp_path], [table], [tmp_path / "no" / "x.html"], [log, "--transcript", log]):
        code, out, err = run(*tail)
        assert (code, out) == (2, "")
        assert "'report'" in err
    assert foreign.read_text(encoding="utf-8") == "<html>mine</html>"
    assert not log.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "foreign.html",
        "grid.json",
        "out.html",
        "t.csv",
        "u.csv",
    ]


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on the PATH")
def test_a_browser_shows_the_page(outcomes, tmp_path):
    """A real browser parses the page to the same elements, complains about nothing, and draws it."""
    o = outcomes[3, False, "two-histograms", "analytic"]
    path, picture = tmp_path / "page.html", tmp_path / "page.png"
    path.write_text(o.report(), encoding="utf-8")
    base = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [*base, "--enable-logging=stderr", "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    seen, made = read(done.stdout), read(path.read_text(encoding="utf-8"))
    assert [tag for tag, _ in seen.tags] == [tag for tag, _ in made.tags]
    assert "".join("".join(seen.text).split()) == "".join("".join(made.text).split())
    subprocess.run(
        [*base, "--window-size=390,2000", f"--screenshot={picture}", path.as_uri()],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert picture.read_bytes().startswith(b"\x89PNG")
