"""Declared domains: the public list of what a user may hold, and where everything else is put."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from geomdp.core.errors import ArgumentError
from geomdp.local.protocol import Inputs, same_input


def check_domain(domain: Iterable[Any], name: str = "domain") -> tuple[Any, ...]:
    """Return candidate inputs as a tuple.

    Raises:
        ArgumentError: when there is none, or when they are sealed.
    """
    if isinstance(domain, Inputs):
        raise ArgumentError(name, "candidate inputs, which are public", "sealed inputs")
    try:
        inputs = tuple(domain)
    except TypeError:
        raise ArgumentError(name, "candidate inputs, which are public", "no collection") from None
    if not inputs:
        raise ArgumentError(name, "at least one input", "empty")
    return inputs


class DeclaredDomain:
    """A total map from whatever a user holds to one of the declared inputs; the first is the default.

    A mechanism that is built for some inputs must do something for the others. A refusal would depend on
    the user's input, and tell whoever hears it that the input is not on the list; an answer computed from
    the input itself follows no law that was stated. So the list is checked where it is declared, which is
    public, and any other input is then treated as the first one listed.

    Args:
        members: the declared inputs, at least one.
        name: of the argument, for the error.

    Proof note. `settle` is a function of one user's input alone, and every value of it is a declared input.
    A kernel after it has, for every input at all, one of the laws that it has on the declared ones: its
    worst ratio over everything is that over the list. Conclusion: what is proved for the list holds for all
    inputs, and the law of the answer is the kernel's at settle(x), exactly.

    Raises:
        ArgumentError: when no input is declared.

    Example:
        >>> domain = DeclaredDomain([0, 1, 2])
        >>> [domain.settle(x) for x in (2, True, 7, "text", float("nan"), [1])]
        [2, 1, 0, 0, 0, 0]
    """

    def __init__(self, members: Iterable[Any], name: str = "domain") -> None:
        self.members = check_domain(members, name)
        self._places: dict[Any, int] = {}
        for place, member in enumerate(self.members):
            try:
                self._places.setdefault(member, place)
            except TypeError:  # a member without a hash: all are compared one by one
                self._places = {}
                break

    def place(self, x: Any) -> int:
        """Return the number of the first member that equals x, 0 for any other x."""
        with contextlib.suppress(Exception):  # no hash, or an error of the input's own; nothing of it is told
            if self._places:
                return self._places.get(x, 0)
        with contextlib.suppress(Exception):
            return next((i for i, member in enumerate(self.members) if same_input(x, member)), 0)
        return 0

    def settle(self, x: Any) -> Any:
        """Return the member that equals x, or the first one."""
        return self.members[self.place(x)]

    def __len__(self) -> int:
        return len(self.members)
