"""Pictures as inline SVG, written by hand: no library, no font, the same bytes for the same numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from geomdp.report.markup import Child, Markup, el

#: Colours that stay apart for colour-blind eyes and keep a contrast of 4.5 on white where they carry text.
COLOURS = {
    "Alice": "#0072B2",
    "Bob": "#B85C00",
    "opt": "#7A3E9D",
    "gap": "#4A4F57",
    "+": "#2A8C68",
    "-": "#B4558C",
    "ink": "#22262B",
    "grey": "#6B7078",
    "zone": "#F0EEE8",
    "paper": "#FFFFFF",
}
#: Heights in a chart of intervals: above the first one, and of each.
_HEAD, _ROW = 44, 44


@dataclass
class Numbers:
    """Numbers for the ids of one page, so that the same outcome gives the same page."""

    def __post_init__(self) -> None:
        self._count = count(1)

    def next(self) -> int:
        """Return 1, 2, 3, ..."""
        return next(self._count)


@dataclass(frozen=True)
class Bar:
    """One interval of integers in a chart.

    Attributes:
        label: what it encloses.
        lower, upper: both ends, included.
        colour: a key of COLOURS.
    """

    label: str
    lower: int
    upper: int
    colour: str


def svg(ids: Numbers, title: str, text: str, *children: Child, **attributes: str | int | None) -> Markup:
    """Return a picture with a name and a description for those who cannot see it."""
    head, body = f"t{ids.next()}", f"d{ids.next()}"
    return el(
        "svg",
        el("title", title, id=head),
        el("desc", text, id=body),
        *children,
        role="img",
        aria_labelledby=f"{head} {body}",
        **attributes,
    )


def mix(colour: str, share: float) -> str:
    """Return a colour mixed with white: share 1 is the colour itself, 0 is white.

    Example:
        >>> mix("#000000", 1.0), mix("#000000", 0.0)
        ('#000000', '#ffffff')
    """
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 + share * (part - 255)):02x}" for part in parts)


def ticks(top: int, most: int = 5) -> list[int]:
    """Return round integers from 0 to top, at most `most` + 1 of them.

    Example:
        >>> ticks(130), ticks(3), ticks(1)
        ([0, 50, 100], [0, 1, 2, 3], [0, 1])
    """
    power = 10 ** max(0, len(str(top)) - 2)
    gap = next(g * power for power in (power, 10 * power) for g in (1, 2, 5) if g * power * most >= top)
    return list(range(0, top + 1, gap))


def interval_chart(
    ids: Numbers, bars: Sequence[Bar], tolerance: int, resolution: int | None, text: str
) -> Markup:
    """Return intervals above one axis, with the tolerance and the resolution as lines across it.

    Widths are per cents, so that the picture takes the width it is given and its text keeps its size.

    Args:
        ids: numbers for the page's ids.
        bars: the intervals, top to bottom.
        tolerance, resolution: where Match and Far are owed; no lines without a resolution.
        text: description for those who cannot see it.
    """
    largest = max([bar.upper for bar in bars] + [tolerance, resolution or 0, 1])
    axis = _Axis(largest + max(1, largest // 16))
    foot = _HEAD + _ROW * len(bars)
    shapes: list[Child] = []
    if resolution is not None:
        shapes += _promises(axis, tolerance, resolution, foot)
    for i, bar in enumerate(bars):
        shapes += _bar(axis, bar, _HEAD + _ROW * i)
    grey = COLOURS["grey"]
    shapes.append(el("line", x1="0%", x2="100%", y1=foot, y2=foot, stroke=grey))
    for value in ticks(axis.top):
        x = axis.at(value)
        anchor = "start" if value == 0 else "middle" if value < 0.95 * axis.top else "end"
        shapes.append(el("line", x1=x, x2=x, y1=foot, y2=foot + 5, stroke=grey))
        shapes.append(el("text", f"{value:,}", x=x, y=foot + 18, text_anchor=anchor))
    title = "Intervals on one axis, in records"
    return svg(ids, title, text, *shapes, width="100%", height=foot + 24, class_="fluid")


@dataclass(frozen=True)
class _Axis:
    """Places from 0 to top as per cents of the width."""

    top: int

    def at(self, value: int) -> str:
        """Return where a value is."""
        return f"{100 * value / self.top:.3f}%"


def _promises(axis: _Axis, tolerance: int, resolution: int, foot: int) -> list[Child]:
    """Return the stretch in which nothing is promised, and both its ends."""
    x, width, tall = axis.at(tolerance), axis.at(max(0, resolution - tolerance)), foot - _HEAD + 8
    out: list[Child] = [el("rect", x=x, y=_HEAD - 8, width=width, height=tall, fill=COLOURS["zone"])]
    marks = (
        (tolerance, f"Match owed up to {tolerance:,}", 12),
        (resolution, f"Far owed from {resolution:,}", 30),
    )
    for value, words, y in marks:
        x, left = axis.at(value), value <= 0.6 * axis.top
        ink, anchor, shift = COLOURS["ink"], "start" if left else "end", 6 if left else -6
        out.append(el("line", x1=x, x2=x, y1=y - 10, y2=foot, stroke=ink, stroke_dasharray="4 3"))
        out.append(el("text", words, x=x, y=y, dx=shift, text_anchor=anchor))
    return out


def _bar(axis: _Axis, bar: Bar, y: int) -> list[Child]:
    colour, width = COLOURS[bar.colour], axis.at(bar.upper - bar.lower)
    label = f"{bar.label}: {bar.lower:,} to {bar.upper:,}"
    out: list[Child] = [
        el("text", label, x="0%", y=y + 14, dx=6, fill=colour, class_="name"),
        el("rect", x=axis.at(bar.lower), y=y + 22, width=width, height=12, fill=colour, opacity="0.45"),
    ]
    for end, shift in ((bar.lower, -1), (bar.upper, -2)):
        move = f"translate({shift} 0)"
        out.append(el("rect", x=axis.at(end), y=y + 19, width=3, height=18, fill=colour, transform=move))
    return out


def step_chart(ids: Numbers, counts: Sequence[tuple[str, int]], text: str) -> Markup:
    """Return one horizontal bar per stage, its length the logarithm of a count + 1."""
    top = math.log1p(max(1, *(value for _, value in counts)))
    shapes: list[Child] = []
    for i, (label, value) in enumerate(counts):
        y, width, colour = 40 * i, f"{100 * math.log1p(value) / top:.3f}%", COLOURS["opt"]
        shapes.append(el("text", label, x="0%", y=y + 14, class_="name"))
        shapes.append(el("rect", x="0%", y=y + 20, width=width, height=10, fill=colour, opacity="0.6"))
    title = "Candidates that are left, on a logarithmic scale"
    return svg(ids, title, text, *shapes, width="100%", height=40 * len(counts), class_="fluid")
