"""Escaped markup: every text that enters a page passes through one function."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape

#: Elements that have no end tag in HTML.
_VOID = frozenset({"meta", "br", "hr", "img"})
#: Characters that reorder the text around them; a name that holds them could pass for another one.
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
#: What a character that cannot be shown is replaced by.
_UNSEEN = "\ufffd"


class Markup(str):
    """Text that is markup already. Only :func:`el`, :func:`join` and constants of this package make it."""

    __slots__ = ()


#: What an element may hold: text (escaped), numbers, markup (as it is), None (nothing), or several of these.
Child = str | int | Markup | None | Iterable["Child"]


def clean(text: str, most: int = 200) -> str:
    r"""Return text that can be shown: no controls, no half characters, no reordering, at most `most` long.

    Names of features come from files that somebody else may have written.

    Example:
        >>> clean("a\x00b\u202ec\td"), clean("x" * 9, most=4)
        ('a\ufffdb\ufffdc d', 'xxx…')
    """
    shown = "".join(
        " " if c in "\t\n\r" else _UNSEEN if c in _BIDI or unicodedata.category(c) in ("Cc", "Cs") else c
        for c in text
    )
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def join(*children: Child) -> Markup:
    """Return children one after the other, each escaped unless it is markup.

    Example:
        >>> join("1 < 2", [None, Markup("<br>")], 7)
        '1 &lt; 2<br>7'
    """
    return Markup("".join(map(_render, children)))


def el(tag: str, *children: Child, **attributes: str | int | None) -> Markup:
    """Return an element. Trailing underscores are dropped from attributes, others become hyphens.

    Example:
        >>> el("p", "a < b", class_="note", aria_label='"')
        '<p class="note" aria-label="&quot;">a &lt; b</p>'
        >>> el("br")
        '<br>'
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(clean(str(value), 10**6))}"'
        for key, value in attributes.items()
        if value is not None
    )
    start = f"<{tag}{pairs}>"
    return Markup(start if tag in _VOID else f"{start}{join(*children)}</{tag}>")


def name(text: str) -> Markup:
    """Return a foreign name as an element that keeps its writing direction to itself."""
    return el("bdi", clean(text, 80))


def _render(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escape(clean(child, 10**6), quote=False)
    if isinstance(child, int):
        return str(child)
    return "".join(map(_render, child))
