"""The page of an outcome: asked for in a lower room, written in an upper one.

Rooms import downwards only, so the package puts the function here when it is imported. This module imports
nothing else, since every `import geomdp` passes through it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PAGES: list[Callable[[Any], str]] = []


def install_page(render: Callable[[Any], str]) -> None:
    """Set the function that writes an outcome as one HTML page; the package does this when it is imported."""
    _PAGES[:] = [render]


def page_of(outcome: Any) -> str:
    """Return an outcome as one HTML page, by the function that was installed."""
    return _PAGES[0](outcome)
