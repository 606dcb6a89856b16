"""All named audits, and all planted bugs: what `scripts/audit` runs and prints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

from geomdp.testers.audits import (
    blocks,
    coarse,
    curator,
    elimination,
    fields,
    histograms,
    interior_point,
    localised,
    mechanisms,
    planted,
)
from geomdp.testers.audits.check import Check
from geomdp.testers.audits.sampled import SAMPLED

#: Every module with a function `checks()`; a new tester adds its own here.
MODULES = (mechanisms, histograms, fields, localised, interior_point, blocks, elimination, coarse, curator)


def _named(checks: Iterable[Check]) -> dict[str, Check]:
    table: dict[str, Check] = {}
    for check in checks:
        if check.name in table:
            raise ValueError(f"Two audits are named {check.name!r}.")
        table[check.name] = check
    return table


#: Audits of the code as it is.
AUDITS: dict[str, Check] = _named(check for module in MODULES for check in module.checks())
#: Audits that must fail: one planted bug each.
PLANTED: dict[str, Check] = _named(planted.checks())


def run(check: Check) -> dict[str, Any]:
    """Run one audit and return its row, JSON values only.

    Example:
        >>> row = run(AUDITS["discrete Laplace count"])
        >>> (row["ok"], row["claim"], round(row["log_ratio"], 9))
        (True, '1', 1.0)
        >>> run(PLANTED["odd block size"])["log_ratio"] > 1.2
        True
    """
    start = time.perf_counter()
    audit = check.audit()
    worst = audit.log_upper if not check.bug else audit.log_lower
    return {
        "name": check.name,
        "about": check.about,
        "bug": check.bug,
        "claim": str(check.epsilon),
        "log_ratio": None if math.isinf(worst) else worst,
        "log_ratio_at_least": None if math.isinf(audit.log_lower) else audit.log_lower,
        "infinite": math.isinf(worst),
        "pairs": audit.pairs,
        "seconds": round(time.perf_counter() - start, 2),
        "ok": check.passes(audit),
    }


def run_all(
    names: Iterable[str] = (), progress: Callable[[float], None] | None = None
) -> Iterable[dict[str, Any]]:
    """Yield the rows of the named audits, or of all; audits first, planted bugs after them.

    Raises:
        KeyError: on a name that is in neither registry.
    """
    table = {**AUDITS, **PLANTED}
    chosen = list(names) or list(table)
    for i, check in enumerate([table[name] for name in chosen]):
        yield run(check)
        if progress is not None:
            progress((i + 1) / len(chosen))


def run_sampled(name: str, draws: int = 10_000) -> dict[str, Any]:
    """Run one statistical audit, as it is and with half the noise, and return its row.

    Example:
        >>> row = run_sampled("grouped selection")
        >>> (row["ok"], row["at_least"] < 1 < row["at_least_with_half_the_noise"])
        (True, True)
    """
    check = SAMPLED[name]
    start = time.perf_counter()
    right, halved = check.evidence(draws=draws), check.evidence(halved=True, draws=draws)
    return {
        "name": name,
        "about": check.about,
        "claim": str(check.epsilon),
        "draws": draws,
        "alpha": right.alpha,
        "at_least": right.epsilon,
        "at_least_with_half_the_noise": halved.epsilon,
        "seconds": round(time.perf_counter() - start, 2),
        "ok": not right.refutes(check.epsilon) and halved.refutes(check.epsilon),
    }
