"""Exact facets of relations: times of one machine, compiled kernels warm, and the counts they lead to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from lp_gadgets.embedding import Embedding
from lp_gadgets.gadgets.encoding import encode, predict
from lp_gadgets.hull import facets
from lp_gadgets.relation import Relation

#: (q, degree, seconds aimed at) of parity checks, and (q, seconds) of trace products.
CHECKS = ((4, 4, None), (4, 5, 10), (8, 3, 5), (4, 6, None), (16, 3, None), (8, 4, None))
TRACES = ((4, None), (8, None), (16, None), (32, None))


def run(progress: Callable[[float], None] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows."""
    Relation.check(4, Embedding(4)).hull()  # compile
    parts = [_traces, _checks, _guided, _encodings]
    for done, part in enumerate(parts, start=1):
        yield from part()
        if progress is not None:
            progress(done / len(parts))


def _traces() -> Iterator[dict[str, Any]]:
    for q, target in TRACES:
        yield _row(f"trace product, q = {q}", Relation.trace(Embedding(q)), target)


def _checks() -> Iterator[dict[str, Any]]:
    for q, degree, target in CHECKS:
        yield _row(f"check, q = {q}, degree {degree}", Relation.check(degree, Embedding(q)), target)


def _guided() -> Iterator[dict[str, Any]]:
    """Compare with Qhull's guidance where it is not hopeless: dimension 8 and less."""
    for q, degree in ((8, 3), (4, 4)):
        relation = Relation.check(degree, Embedding(q))
        points = relation.embed(relation.tuples)
        seconds, _ = _timed(relation.hull)
        guided, _ = _timed(lambda points=points: facets(points, method="qhull"))
        yield {
            "name": f"check, q = {q}, degree {degree}: walk over orbits",
            "value": seconds,
            "unit": "s",
            "ratio": guided / seconds,
            "baseline": "faster than Qhull made exact and proved complete",
        }


def _encodings() -> Iterator[dict[str, Any]]:
    for q, kind, encoding in (
        (2, "parabola", "facets"),
        (4, "parabola", "facets"),
        (4, "cube", "facets"),
        (4, "parabola", "tree"),
        (8, "parabola", "tree"),
        (16, "parabola", "implication tree"),
    ):
        relation = Relation.check(8, Embedding(q, kind))
        seconds, built = _timed(lambda relation=relation, encoding=encoding: encode(relation, encoding))
        if built.size != predict(relation, encoding):
            raise RuntimeError(f"The size of {encoding} at q = {q} is not as predicted.")
        yield {
            "name": f"check, q = {q}, degree 8, {kind}, {encoding}: {len(built.rows)} rows",
            "value": seconds,
            "unit": "s",
        }


def _row(name: str, relation: Relation, target: float | None) -> dict[str, Any]:
    seconds, hull = _timed(relation.hull)
    return {
        "name": f"{name}: {len(hull.A)} facets, {hull.completeness.ridges} ridges",
        "value": seconds,
        "unit": "s",
        "target": f"<= {target}" if target else "",
    }


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
