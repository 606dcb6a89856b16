"""Gauss elimination in Fractions: an oracle that shares no code with the package."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction


def elimination(rows: Iterable[Iterable[int]]) -> tuple[list[list[Fraction]], list[int]]:
    """Return the reduced echelon form of integer rows and the column of each leading one.

    The rows stand in the order in which they became independent, so the leads need not increase.
    """
    reduced: list[list[Fraction]] = []
    leads: list[int] = []
    for row in rows:
        v = [Fraction(int(a)) for a in row]
        for r, lead in zip(reduced, leads, strict=True):
            v = [a - v[lead] * b for a, b in zip(v, r, strict=True)]
        lead = next((c for c, a in enumerate(v) if a), None)
        if lead is None:
            continue
        v = [a / v[lead] for a in v]
        reduced = [[a - r[lead] * b for a, b in zip(r, v, strict=True)] for r in reduced]
        reduced.append(v)
        leads.append(lead)
    return reduced, leads
