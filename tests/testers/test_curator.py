"""Laws of the curator reference."""

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import pytest

from geomdp.core.domain import Domain
from geomdp.core.errors import CapacityError
from geomdp.core.sample import Sample
from geomdp.opt.threshold import opt_threshold
from geomdp.privacy.law import dlap_sf
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.testers.base import Setting
from geomdp.testers.curator import Curator


def curator(epsilon="1", tolerance=0, m=64, n=200, **changes):
    """Return the curator for thresholds on a line."""
    return Curator(
        Setting(Domain.line(m), n, n, Fraction(epsilon), tolerance=tolerance, classes="thresholds", **changes)
    )


def conflict(m, n, wrong):
    """Return samples of n records each with optimum `wrong`."""
    domain = Domain.line(m)
    low = Sample.from_cells(domain, [0] * (n - wrong) + [9] * wrong, [-1] * n)
    return low, Sample.from_cells(domain, [8] * wrong + [20] * (n - wrong), [1] * n)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "5"])
@pytest.mark.parametrize("tolerance", [0, 4])
def test_resolution_is_the_exact_quantile(epsilon, tolerance):
    """The resolution is t0 + 2z - 1 with z the least integer of noise tail <= beta."""
    tester = curator(epsilon, tolerance)
    z, scale = tester.margin, 1 / Fraction(epsilon)
    assert dlap_sf(z, scale) <= 0.1
    assert z == 1 or dlap_sf(z - 1, scale) > 0.1
    assert tester.resolution == tolerance + 2 * z - 1
    assert tester.trusted
    assert tester.classes == "thresholds"


def test_table_value():
    """At epsilon = 1, beta = 1/10 a curator distinguishes 0 from 3."""
    assert curator().resolution == 3


@pytest.mark.parametrize("tolerance", [0, 4])
def test_error_rates(tolerance):
    """Both sides of the promise fail at most with probability beta."""
    tester = curator(tolerance=tolerance)
    noise = SimSampler(2)
    for opt, wrong in ((tolerance, "Far"), (tester.resolution, "Match")):
        S_A, S_B = conflict(64, 200, opt)
        assert opt_threshold(S_A, S_B).upper == opt
        findings = [tester.converse(S_A, S_B, noise, noise) for _ in range(300)]
        assert sum(f.verdict == wrong for f in findings) <= 52
        assert sum(not f.opt_interval[0] <= opt <= f.opt_interval[1] for f in findings) <= 52


def test_sensitivity_of_the_optimum():
    """Replacing one record of the pooled data moves opt by at most 1: all neighbours on a tiny line."""
    domain, records = Domain.line(3), list(product(range(3), (-1, 1)))

    def opt(data):
        cells, labels = zip(*data, strict=True)
        return opt_threshold(Sample.from_cells(domain, cells, labels)).upper

    for data in product(records, repeat=3):
        base = opt(data)
        assert all(abs(opt((new, *data[1:])) - base) <= 1 for new in records)


def test_both_parties_pay():
    """The curator's release costs epsilon in each party's account and is marked as the curator's."""
    S_A, S_B = conflict(64, 200, 0)
    transcript = curator().converse(S_A, S_B, SecureSampler(), SecureSampler()).transcript
    assert [m.sender for m in transcript.messages] == ["Curator"]
    assert transcript.spent("Alice") == transcript.spent("Bob") == 1
    assert transcript.parameters["trusted"] is True


def test_halfspaces():
    """With halfspaces the optimum of that class is released: here 0, where thresholds need a mistake."""
    domain = Domain.grid([("x", 0, 1, 8)])
    S = Sample.from_cells(domain, [0, 7] * 20, [1, -1] * 20)
    epsilon = Fraction(50)
    line = Curator(Setting(domain, 40, 40, epsilon, classes="thresholds"))
    plane = Curator(Setting(domain, 40, 40, epsilon, classes="halfspaces"))
    verdicts = [t.converse(S, S, SimSampler(0), SimSampler(1)).verdict for t in (line, plane)]
    assert verdicts == ["Far", "Match"]


def test_unproved_optimum_is_not_released(monkeypatch):
    """Without the exact optimum nothing is drawn."""
    monkeypatch.setattr("geomdp.opt.threshold.opt_threshold", lambda *_: SimpleNamespace(optimal=False))
    with pytest.raises(CapacityError):
        curator().converse(*conflict(64, 200, 0), None, None)
