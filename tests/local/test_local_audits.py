"""Exact audits of the local protocols: every claim holds, every planted bug is caught."""

import math

import pytest

from geomdp.local.audits import audits, planted, run_audits
from geomdp.local.models import Sequential

AUDITS, PLANTED = list(audits()), list(planted())


@pytest.mark.parametrize("audit", AUDITS, ids=lambda a: f"{a.name}, {a.about}")
def test_the_claim_is_exact(audit):
    """The exact loss at epsilon = 1 is 1 to 1e-9 and proved to be at most 1, for every local protocol."""
    row = audit.run()
    assert row["ok"]
    assert row["tight"]
    assert row["refused"] == (not audit.model <= Sequential())


@pytest.mark.parametrize("audit", PLANTED, ids=lambda a: a.name)
def test_planted_bugs_are_caught(audit):
    """Every planted bug has a loss above its claim, of the size that theory gives."""
    row = audit.run()
    assert row["ok"]
    assert row["bug"]
    if audit.expected == math.inf:
        assert row["loss"] is None
    else:
        assert abs(row["loss"] - audit.expected) < 1e-9


def test_rows_are_json_and_progress_ends_at_one():
    """Rows hold JSON values, and progress grows to 1."""
    import json

    seen = []
    rows = run_audits([AUDITS[0], PLANTED[2]], seen.append)
    assert json.loads(json.dumps(rows)) == rows
    assert seen == [0.5, 1.0]
