"""One self-contained page about a private run, for the analysts of both institutions.

The page is a function of the outcome alone, and of public facts that follow from it. Privacy note.
Precondition: every field of an outcome is a public parameter, a released message, or computed from these.
No sample and no sampler is passed to anything in this package. Conclusion: by post-processing the page costs
no privacy beyond what the messages cost already; two runs with the same transcript give the same bytes.

It loads nothing: no script, no font, no picture from elsewhere, which a policy in its head enforces.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from geomdp.protocol.transcript import PARTIES, Message
from geomdp.report import words
from geomdp.report.drawing import Bar, Numbers, interval_chart, step_chart
from geomdp.report.maps import colour_key, drawable, field_map, row_of, share_map
from geomdp.report.markup import Child, Markup, clean, el, join, name
from geomdp.report.rounds import Stage, replayed, stages
from geomdp.report.style import CSS
from geomdp.testers.base import Outcome

#: Lists of at most this many released values are written out.
MOST_VALUES = 12
#: At most this many maps of candidates are drawn.
MOST_MAPS = 12
#: The mark by which a page of this module is known.
GENERATOR = "geomdp report"
#: Kinds of messages with a number for each cell, and the entry that holds it.
FIELDS = {
    "noisy histogram": "net",
    "noisy field": "net",
    "coarse counts": "net",
    "synthetic counts": "weights",
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_FREE = "All of them are computed from the released messages and cost nothing more."
_CANDIDATE = (
    "A candidate is one way in which a linear classifier can label all cells of the grid. In each round a "
    "party may drop a public family of candidates, chosen privately."
)
#: What stands where a quantity does not exist.
_NONE = Markup('<span class="soft">none given by this tester</span>')


def report_html(outcome: Outcome) -> str:
    """Return a page in HTML that tells what a run said, what it rests on and what it cost.

    Args:
        outcome: of any tester; simulated, uncertified and trusted runs are marked on top.

    Returns:
        The whole document. The same outcome gives the same text.

    Example:
        >>> from geomdp import Domain, Sample, plan
        >>> D = Domain.grid([("age <years>", 0, 90, 8)])
        >>> S = Sample.from_counts(D, [0] * 4 + [90] * 4, [90] * 4 + [0] * 4)
        >>> page = report_html(plan(D, n=S.n, epsilon=1).best.run(S, S, rng=0))
        >>> "SIMULATED" in page, "<years>" in page, "&lt;years&gt;" in page
        (True, False, True)
    """
    return _Page(outcome).html()


def transcript_digest(outcome: Outcome) -> str:
    """Return the SHA-256 of the transcript as JSON with sorted keys and no spaces, in 64 hex digits.

    Both parties compare it to know that they read reports of one run.
    """
    text = json.dumps(outcome.transcript.to_dict(), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def is_report(path: Path) -> bool:
    """Return True if a file starts like a page that this module has written."""
    with path.open("rb") as file:
        return f'<meta name="generator" content="{GENERATOR}">'.encode() in file.read(2000)


class _Page:
    """One page in the making."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome, self.setting = outcome, outcome.setting
        self.ids = Numbers()
        self.sections: list[tuple[str, str, Markup]] = []

    def html(self) -> str:
        """Return the document."""
        self.add("guarantee", "What is guaranteed", self.guarantee())
        self.add("unsaid", "What this does not say", _list(words.unsaid(self.outcome)))
        self.add("intervals", "Private intervals", self.intervals())
        self.add("classifier", "Private joint classifier", self.classifier())
        self.add("rounds", "How the candidates were eliminated", self.rounds())
        self.add("released", "What was released, and by whom", self.released())
        self.add("budget", "Privacy budget of each party", self.budgets())
        self.add("setting", "Public setting", self.public())
        self.add("threats", "Threat model", self.threats())
        links = [el("li", el("a", title, href=f"#{key}")) for key, title, _ in self.sections]
        title = f"{self.outcome.verdict}: could one classifier fit both datasets?"
        head = el(
            "head",
            el("meta", charset="utf-8"),
            el("meta", name="viewport", content="width=device-width, initial-scale=1"),
            el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            el("meta", name="robots", content="noindex"),
            el("meta", name="generator", content=GENERATOR),
            el("title", title),
            el("style", Markup(CSS)),
        )
        main = el(
            "main",
            self.banners(),
            el("h1", "Could one classifier fit both datasets?"),
            self.verdict(),
            el("nav", el("ul", links), aria_label="Sections"),
            [el("section", el("h2", t), body, id=key) for key, t, body in self.sections],
        )
        page = el("html", head, el("body", main, self.footer()), lang="en")
        return f"<!DOCTYPE html>\n{page}\n"

    def add(self, key: str, title: str, body: Markup | None) -> None:
        """Add a section unless it is empty."""
        if body:
            self.sections.append((key, title, body))

    def banners(self) -> Markup:
        """Return the warnings that must not be overlooked."""
        o, out = self.outcome, []
        if o.simulated:
            text = "its noise can be repeated from a seed. It protects nobody and counts as no release."
            out.append(el("p", el("strong", "SIMULATED RUN: "), text, class_="banner", role="note"))
        if not o.certified:
            text = "the run was forced at numbers of records at which nothing is guaranteed."
            out.append(el("p", el("strong", "UNCERTIFIED: "), text, class_="banner", role="note"))
        if o.trusted:
            text = "both parties handed their records over. This is no two-party protocol."
            out.append(el("p", el("strong", "TRUSTED THIRD PARTY: "), text, class_="banner", role="note"))
        return join(out)

    def verdict(self) -> Markup:
        """Return the answer in short."""
        o = self.outcome
        kind = {"Match": "match", "Far": "far"}.get(o.verdict, "open") if o.certified else "open"
        spent = [f"{party} {words.fraction(value)}" for party, value in sorted(o.spent.items())]
        return el(
            "div",
            el("p", o.verdict, class_="word"),
            el("p", el("strong", words.headline(o))),
            el("p", words.error_sentence(o)),
            self.estimate(),
            el("p", f"Records: Alice {self.setting.n_alice:,}, Bob {self.setting.n_bob:,}. "),
            el("p", f"Privacy spent (epsilon): {', '.join(spent)}."),
            class_=f"verdict {kind}",
        )

    def estimate(self) -> Markup | None:
        """Return the interval for opt in one sentence, where there is one."""
        interval = self.outcome.opt_interval
        if interval is None:
            return None
        low, high = (f"{end:,}" for end in interval)
        level = words.confidence(self.setting.beta)
        return el("p", f"opt lies between {low} and {high} records ({level} interval).")

    def guarantee(self) -> Markup:
        """Return the promises in plain words."""
        o = self.outcome
        rows: list[tuple[Child, ...]] = [
            ("verdict", o.verdict),
            ("it says", words.verdict_meaning(o) if o.certified else "nothing certain"),
            ("tester", o.tester),
            ("resolution t", "none" if o.resolution is None else f"{o.resolution:,} records"),
            ("tolerance t0", f"{self.setting.tolerance:,} records"),
            ("probability of a wrong answer", _bounded(o)),
            ("guarantee", o.guarantee if o.certified else "uncertified"),
        ]
        return join(
            el("p", words.opt_words(self.setting)),
            _list(words.promises(o)),
            _table("The verdict and what it rests on", None, rows),
        )

    def intervals(self) -> Markup:
        """Return the intervals as a picture and a table."""
        o = self.outcome
        level = words.confidence(self.setting.beta)
        found: list[tuple[str, tuple[int, int] | None, str, str]] = [
            ("opt", o.opt_interval, "opt", "least mistakes of one classifier on all records"),
            *(
                (f"{p} alone", o.party_intervals.get(p), p, f"least mistakes on {p}'s records")
                for p in PARTIES
            ),
            ("cost of pooling", o.gap_interval, "gap", "opt minus both parties' own optima"),
        ]
        bars = [Bar(label, *interval, colour) for label, interval, colour, _ in found if interval]
        if not bars:
            return el("p", "This run gave a verdict only: it released nothing from which intervals follow.")
        rows = [
            (label, meaning, _NONE if interval is None else f"{interval[0]:,} to {interval[1]:,}")
            for label, interval, _, meaning in found
        ]
        text = "; ".join(f"{bar.label} from {bar.lower} to {bar.upper}" for bar in bars)
        t = o.resolution if o.certified else None
        return join(
            el("p", f"Each interval holds with probability at least {level}, over the noise. {_FREE}"),
            el("figure", interval_chart(self.ids, bars, self.setting.tolerance, t, text)),
            _table("Intervals, in records", ("quantity", "meaning", f"interval at {level}"), rows),
        )

    def classifier(self) -> Markup:
        """Return the joint classifier as exact and as readable rules."""
        h, domain = self.outcome.classifier, self.setting.domain
        if h is None:
            return el("p", "This run released no joint classifier.")
        units = words.rule_in_units(h, domain)
        about = "+ iff reads: labelled + if and only if. A record exactly on the border is labelled +."
        out: list[Child] = [el("p", f"It stands in the released messages or is computed from them. {about}")]
        if units is not None:
            out += [
                el("h3", "In the columns' own units"),
                el("p", el("code", units, class_="rule")),
                el("p", "Rounded; a value counts as the nearest level of the grid.", class_="soft"),
            ]
        out += [
            el("h3", "Exactly, in levels of the grid" if domain.features else "Exactly"),
            el("p", el("code", words.rule_in_levels(h, domain), class_="rule")),
        ]
        return join(out)

    def rounds(self) -> Markup | None:
        """Return the rounds of an elimination; None for other testers."""
        run = replayed(self.outcome)
        if run is None:
            return None
        domain = self.setting.domain
        flat = domain.features is not None and len(domain.features) == 2
        steps = stages(run, domain.points if flat else None)
        rows = [(stage.label, f"{stage.left:,}") for stage in steps]
        text = "; ".join(f"{label}: {left} left" for label, left in rows)
        counts = [(f"{stage.label} ({stage.left:,} left)", stage.left) for stage in steps]
        return join(
            el("p", _CANDIDATE),
            el("figure", step_chart(self.ids, counts, text)),
            self.maps(steps),
        )

    def maps(self, steps: Sequence[Stage]) -> Markup | None:
        """Return what the candidates left by each round say of each cell, on grids of two features."""
        domain = self.setting.domain
        chosen = [s for s in steps if s.shares is not None]
        chosen = chosen[: MOST_MAPS - 1] + chosen[MOST_MAPS - 1 :][-1:]
        pictures = []
        for s in chosen:
            assert s.shares is not None  # noqa: S101 - chosen for it
            drawn = share_map(self.ids, domain, s.shares, f"{s.label}, by cell", _left(s))
            pictures.append((drawn, f"{s.label}. {_left(s)}."))
        if not pictures:
            return None
        key = colour_key("the candidates left agree on +", "they agree on -; white: evenly split")
        return join(el("h3", "What the candidates that are left say of each cell"), key, row_of(*pictures))

    def released(self) -> Markup:
        """Return the messages, with pictures of those that hold a number for each cell."""
        messages = self.outcome.transcript.messages
        rows = [
            (
                str(i),
                message.sender,
                el("span", el("strong", message.kind), el("br"), words.describe(message), class_="what"),
                _values(message),
                el("span", words.fraction(message.epsilon), class_="exact"),
            )
            for i, message in enumerate(messages, 1)
        ]
        if not rows:
            return el("p", "Nothing was released: the answer followed from public facts.")
        seen = "was released" if self.outcome.trusted else "either party saw of the other"
        heads = ("no.", "sender", "what it is", "released values", "epsilon")
        return join(
            el("p", f"This is everything that {seen}, in order."),
            _table("Messages of the run", heads, rows),
            self.fields(messages),
            el("p", "Fingerprint of the whole transcript (SHA-256 of its JSON with sorted keys, no spaces):"),
            el("p", el("code", transcript_digest(self.outcome))),
            el("p", "Reports with the same fingerprint are about the same run.", class_="soft"),
        )

    def fields(self, messages: Sequence[Message]) -> Markup | None:
        """Return maps of the released numbers by cell."""
        domain, pictures = self.setting.domain, []
        if not drawable(domain):
            return None
        for i, message in enumerate(messages, 1):
            values = message.payload.get(FIELDS.get(message.kind, ""))
            if not isinstance(values, list) or len(values) != domain.m:
                continue
            field = np.array(values, dtype=np.int64)
            title = f"{message.kind} of {message.sender}"
            text = f"{len(field):,} numbers between {field.min():,} and {field.max():,}"
            h = self.outcome.classifier
            drawn = field_map(self.ids, domain, field, title=title, text=text, classifier=h)
            line = " The line is the private joint classifier." if h is not None else ""
            pictures.append((drawn, f"Message {i}: {title}, {text}.{line}"))
        if not pictures:
            return None
        key = colour_key("more records labelled +", "more labelled - (darker: larger; noise included)")
        return join(el("h3", "Released numbers on the grid"), key, row_of(*pictures))

    def budgets(self) -> Markup:
        """Return each party's ledger of this run, in exact fractions."""
        return join([self.ledger(party) for party in PARTIES])

    def ledger(self, party: str) -> Markup:
        """Return one party's charges with running sums."""
        o = self.outcome
        total = words.budget_of(o, party)
        spent, rows = Fraction(0), []
        for i, message in enumerate(o.transcript.messages, 1):
            if party not in words.payers(message) or not message.epsilon:
                continue
            spent += message.epsilon
            amounts = (message.epsilon, spent, total - spent)
            rows.append((str(i), message.kind, *(el("span", str(v), class_="exact") for v in amounts)))
        sums = (spent, spent, total - spent)
        rows.append(("", "total", *(el("strong", str(v), class_="exact") for v in sums)))
        heads = ("message", "what it is", "epsilon", "spent so far", f"left of {total}")
        return join(
            el("h3", party),
            _table(f"Ledger of {party} for this run (exact fractions)", heads, rows),
            el("p", words.odds_sentence(party, spent)),
        )

    def public(self) -> Markup:
        """Return the public parameters: the grid, the setting and what opens the transcript."""
        s = self.setting
        rows: list[tuple[Child, ...]] = [
            ("records", f"Alice {s.n_alice:,}, Bob {s.n_bob:,}"),
            ("epsilon of each party", str(s.epsilon)),
            ("beta", str(s.beta)),
            ("tolerance", f"{s.tolerance:,}"),
            ("labels", s.labels),
            ("classifiers", words.class_words(s)),
            ("cells", f"{s.domain.m:,}"),
        ]
        grid = None
        if s.domain.features is not None:
            heads = ("column", "lower", "upper", "levels", "step")
            axes = [
                (name(a.name), f"{a.lower:g}", f"{a.upper:g}", f"{a.levels:,}", words.short(words.step(a)))
                for a in s.domain.features
            ]
            grid = _table("The public grid", heads, axes)
        stated = [
            (key, el("code", value if isinstance(value, str) else json.dumps(value, sort_keys=True)))
            for key, value in sorted(self.outcome.transcript.parameters.items())
        ]
        return join(_table("Setting", None, rows), grid, _table("Parameters in the transcript", None, stated))

    def threats(self) -> Markup:
        """Return the threat model."""
        return _list(words.threats(self.outcome))

    def footer(self) -> Markup:
        """Return who wrote the page."""
        from geomdp import __version__

        text = f"Written by geomdp {__version__} from the public outcome of one run."
        return el("footer", el("p", f"{text} This page loads nothing and runs no script."))


def _left(stage: Stage) -> str:
    return "1 candidate left" if stage.left == 1 else f"{stage.left:,} candidates left"


def _bounded(outcome: Outcome) -> str:
    return f"at most {words.probability(outcome.setting.beta)}" if outcome.certified else "unknown"


def _values(message: Message) -> Markup:
    """Return released values: short lists written out, long ones by their size."""
    lines: list[Child] = []
    for key, value in sorted(message.payload.items()):
        if isinstance(value, list) and len(value) > MOST_VALUES:
            lines.append(el("div", f"{key}: {len(value):,} numbers"))
        else:
            lines.append(el("div", f"{key}: ", el("code", clean(_json(value)))))
    return join(lines)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _list(lines: Sequence[str]) -> Markup:
    return el("ul", [el("li", line) for line in lines])


def _table(caption: str, heads: Sequence[str] | None, rows: Sequence[Sequence[Child]]) -> Markup:
    """Return a table with a caption; the first cell of each row is its header where there is no head."""
    head = None if heads is None else el("thead", el("tr", [el("th", h, scope="col") for h in heads]))
    body = []
    for first, *rest in rows:
        lead = el("td", first) if heads else el("th", first, scope="row")
        body.append(el("tr", lead, [el("td", cell) for cell in rest]))
    table = el("table", el("caption", caption), head, el("tbody", body))
    return el("div", table, class_="wide", role="region", tabindex="0", aria_label=caption)
