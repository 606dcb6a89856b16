"""Pictures of a grid with one or two features: a number for each cell, and a classifier's border."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.domain import Domain, Feature
from geomdp.report.drawing import COLOURS, Numbers, mix, svg
from geomdp.report.markup import Child, Markup, clean, el, join
from geomdp.report.words import short

#: More levels than this are drawn as sums over neighbouring levels.
MOST_CELLS = 64
#: Shades on either side of zero.
SHADES = 5
_LEFT, _TOP, _SIDE, _BARS, _FOOT = 62, 8, 280, 190, 46


def drawable(domain: Domain) -> bool:
    """Return True if a number for each cell can be drawn: a grid of one or two features, or a short line."""
    if domain.features is None:
        return domain.ordered and domain.m <= 2**20
    return len(domain.features) <= 2 and domain.m <= 2**20


def field_map(
    ids: Numbers,
    domain: Domain,
    values: NDArray[np.int64],
    *,
    title: str,
    text: str,
    classifier: Halfspace | Threshold | None = None,
) -> Markup:
    """Return signed numbers, one for each cell: + and - in two colours, darker where they are larger.

    Args:
        ids: numbers for the page's ids.
        domain: one that is :func:`drawable`.
        values: (m,) integers that everyone may see.
        title, text: name and description of the picture.
        classifier: its border is drawn across.

    Example:
        >>> D = Domain.grid([("x", 0, 1, 2), ("y", 0, 1, 2)])
        >>> field_map(Numbers(), D, np.array([1, -2, 0, 0]), title="counts", text="four cells").count("<path")
        2
    """
    if domain.features is not None and len(domain.features) == 2:
        a, b = domain.features
        coarse = _summed(_summed(values.reshape(a.levels, b.levels), 0), 1)
        shapes = _plane((a, b), _shades(coarse), classifier)
        return _picture(ids, title, text, shapes, _TOP + _SIDE + _FOOT)
    shapes = _bars(domain, _summed(values, 0), classifier)
    return _picture(ids, title, text, shapes, _TOP + _BARS + _FOOT)


def share_map(ids: Numbers, domain: Domain, shares: NDArray[np.float64], title: str, text: str) -> Markup:
    """Return a map of numbers in [-1, 1] on a grid with two features: what the candidates say of each cell.

    Args:
        ids: numbers for the page's ids.
        domain: a grid of two features.
        shares: (m,) share of the candidates that say +, minus the share of those that say -.
        title, text: name and description of the picture.
    """
    a, b = domain.features or ()
    grid = shares.reshape(a.levels, b.levels)
    for axis, feature in enumerate((a, b)):
        starts = _starts(feature.levels)
        sizes = np.diff([*starts, feature.levels])
        shape = (-1, 1) if axis == 0 else (1, -1)
        grid = np.add.reduceat(grid, starts, axis=axis) / sizes.reshape(shape)
    level = np.rint(grid * SHADES).astype(np.int64)
    return _picture(ids, title, text, _plane((a, b), level, None), _TOP + _SIDE + _FOOT)


def colour_key(plus: str, minus: str) -> Markup:
    """Return what the colours mean, for below a row of pictures."""
    swatches = []
    for label, words in (("-", minus), ("+", plus)):
        box = el(
            "svg",
            el("rect", width=14, height=14, fill=COLOURS[label]),
            width=14,
            height=14,
            aria_hidden="true",
            class_="swatch",
        )
        swatches.append(el("span", box, " ", words, class_="key"))
    return el("p", *swatches, class_="keys")


def _starts(levels: int) -> NDArray[np.int64]:
    """Return the first level of each block that is drawn as one."""
    return np.arange(0, levels, -(-levels // MOST_CELLS), dtype=np.int64)


def _summed(values: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
    return np.asarray(np.add.reduceat(values, _starts(values.shape[axis]), axis=axis))


def _shades(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return -SHADES..SHADES: 0 for zero only, else by the root of the share of the largest size."""
    size = np.abs(values.astype(np.float64))
    top = max(1.0, float(size.max(initial=0)))
    return np.asarray(np.sign(values) * np.ceil(SHADES * np.sqrt(size / top)), dtype=np.int64)


def _colour(shade: int) -> str:
    return mix(COLOURS["+" if shade > 0 else "-"], 0.12 + 0.88 * (abs(shade) - 1) / (SHADES - 1))


def _plane(
    axes: tuple[Feature, Feature],
    shades: NDArray[np.int64],
    classifier: Halfspace | Threshold | None,
) -> list[Child]:
    """Return cells by colour (one path each), the border, and both axes."""
    columns, rows = shades.shape
    width, height = _SIDE / columns, _SIDE / rows
    shapes: list[Child] = []
    for shade in range(-SHADES, SHADES + 1):
        if not shade:
            continue
        where = np.argwhere(shades == shade)
        path = "".join(
            f"M{i * width:.2f} {_SIDE - (j + 1) * height:.2f}h{width:.2f}v{height:.2f}h-{width:.2f}z"
            for i, j in where.tolist()
        )
        if path:
            shapes.append(el("path", d=path, fill=_colour(shade)))
    shapes.append(el("rect", width=_SIDE, height=_SIDE, fill="none", stroke=COLOURS["grey"]))
    if isinstance(classifier, Halfspace):
        shapes.append(_border(classifier, axes))
    inner = el("g", *shapes, transform=f"translate({_LEFT} {_TOP})")
    return [inner, *_horizontal(axes[0], _TOP + _SIDE), *_vertical(axes[1])]


def _picture(ids: Numbers, title: str, text: str, shapes: list[Child], height: int) -> Markup:
    return svg(ids, title, text, *shapes, viewBox=f"0 0 {_LEFT + _SIDE + 18} {height}", class_="map")


def _border(classifier: Halfspace, axes: tuple[Feature, Feature]) -> Child:
    """Return the line w . (a, b, 1) = 0 inside the box of all cells, or nothing."""
    w1, w2, w3 = (Fraction(int(w)) for w in classifier.weights)
    half = Fraction(1, 2)
    right, top = (axis.levels - half for axis in axes)
    ends = set()
    if w2:
        ends |= {(x, -(w1 * x + w3) / w2) for x in (-half, right)}
    if w1:
        ends |= {(-(w2 * y + w3) / w1, y) for y in (-half, top)}
    inside = sorted((x, y) for x, y in ends if -half <= x <= right and -half <= y <= top)
    if len(inside) < 2:
        return None
    (x1, y1), (x2, y2) = inside[0], inside[-1]
    across, up = (Fraction(_SIDE, axis.levels) for axis in axes)
    places = {
        "x1": f"{float((x1 + half) * across):.2f}",
        "x2": f"{float((x2 + half) * across):.2f}",
        "y1": f"{float(_SIDE - (y1 + half) * up):.2f}",
        "y2": f"{float(_SIDE - (y2 + half) * up):.2f}",
    }
    return el("line", stroke=COLOURS["ink"], stroke_width="2.5", **places)


def _bars(
    domain: Domain,
    values: NDArray[np.int64],
    classifier: Halfspace | Threshold | None,
) -> list[Child]:
    """Return bars beside each other, + above the axis and - below it."""
    top = max(1, int(np.abs(values).max(initial=0)))
    width, middle, most = _SIDE / len(values), _BARS // 2, _BARS // 2 - 6
    shapes: list[Child] = []
    for label, sign in (("+", 1), ("-", -1)):
        parts = []
        for i, value in enumerate(values.tolist()):
            if sign * value > 0:
                tall = most * abs(value) / top
                y = middle - tall if sign > 0 else middle
                parts.append(f"M{i * width:.2f} {y:.2f}h{0.9 * width:.2f}v{tall:.2f}h-{0.9 * width:.2f}z")
        if parts:
            shapes.append(el("path", d="".join(parts), fill=COLOURS[label]))
    shapes.append(el("line", x1=0, x2=_SIDE, y1=middle, y2=middle, stroke=COLOURS["grey"]))
    place = _place(classifier, domain)
    if place is not None:
        x = f"{float(place * _SIDE):.2f}"
        ink = COLOURS["ink"]
        shapes.append(el("line", x1=x, x2=x, y1=0, y2=_BARS, stroke=ink, stroke_width="2.5"))
    inner = el("g", *shapes, transform=f"translate({_LEFT} {_TOP})")
    sizes = [
        el("text", f"{value:,}", x=_LEFT - 6, y=_TOP + y, text_anchor="end")
        for value, y in ((top, 10), (0, middle + 4), (-top, _BARS))
    ]
    return [inner, *sizes, *_horizontal(_axis(domain), _TOP + _BARS)]


def _axis(domain: Domain) -> Feature:
    return domain.features[0] if domain.features else Feature("rank", 0, domain.m - 1, domain.m)


def _place(classifier: Halfspace | Threshold | None, domain: Domain) -> Fraction | None:
    """Return where a classifier changes its answer, as a share of the axis; None if nowhere in view."""
    if isinstance(classifier, Threshold):
        place = Fraction(classifier.theta, domain.m)
    elif isinstance(classifier, Halfspace) and domain.d == 2 and classifier.weights[0]:
        change = Fraction(-int(classifier.weights[1]), int(classifier.weights[0]))
        place = (change + Fraction(1, 2)) / domain.m
    else:
        return None
    return place if 0 <= place <= 1 else None


def _ends(axis: Feature) -> list[tuple[Fraction, str]]:
    """Return places (as shares of an axis) and values of the first, a middle and the last level."""
    levels = sorted({0, (axis.levels - 1) // 2, axis.levels - 1})
    return [(Fraction(2 * level + 1, 2 * axis.levels), short(axis.value(level))) for level in levels]


def _horizontal(axis: Feature, y: int) -> list[Child]:
    out: list[Child] = [
        el("text", value, x=f"{_LEFT + float(share) * _SIDE:.2f}", y=y + 16, text_anchor="middle")
        for share, value in _ends(axis)
    ]
    return [
        *out,
        el("text", _title(axis), x=_LEFT + _SIDE // 2, y=y + 36, text_anchor="middle", class_="axis"),
    ]


def _vertical(axis: Feature) -> list[Child]:
    out: list[Child] = [
        el("text", value, x=_LEFT - 6, y=f"{_TOP + _SIDE - float(share) * _SIDE + 4:.2f}", text_anchor="end")
        for share, value in _ends(axis)
    ]
    turn = f"translate(14 {_TOP + _SIDE // 2}) rotate(-90)"
    return [*out, el("text", _title(axis), text_anchor="middle", transform=turn)]


def _title(axis: Feature) -> str:
    return clean(axis.name, 34)


def row_of(*pictures: tuple[Markup, Markup | str]) -> Markup:
    """Return pictures with their captions, side by side where there is room."""
    figures = [el("figure", drawn, el("figcaption", text), class_="map") for drawn, text in pictures]
    return el("div", join(figures), class_="row")
