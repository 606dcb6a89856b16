"""Laws of private testers on hard instances: they are right on both sides of the promise."""

from fractions import Fraction

import pytest

from geomdp.privacy.sampler import SimSampler
from geomdp.testers.base import Setting
from geomdp.testers.curator import Curator
from lp_gadgets.instance import HardInstance
from lp_gadgets.tanner import TannerCode
from lp_gadgets.thresholds import ThresholdInstance


def _run(tester, samples, seed):
    alice, bob = SimSampler(seed), SimSampler(seed + 1)
    return tester.converse(*samples, alice, bob).verdict


@pytest.mark.parametrize("F", [0, 1])
def test_a_halfspace_tester_on_a_hard_instance(F):
    """With its resolution below the gap, the curator's halfspace tester tells F from the records."""
    inst = HardInstance(TannerCode(2, ((0, 1),)), q=2, J=40, L=20, embedding="cube")
    tester = Curator(Setting(inst.domain, inst.n, inst.n, Fraction(1), Fraction(1, 10**7)))
    assert tester.resolution < inst.gap == 40
    samples = inst.encode(*inst.words(F))
    assert all(_run(tester, samples, seed) == ("Far" if F else "Match") for seed in range(5))


@pytest.mark.parametrize(("i", "j"), [(5, 9), (9, 5), (7, 7)])
def test_a_threshold_tester_on_a_hard_instance(i, j):
    """With its resolution below t, the curator's threshold tester decides Greater-Than."""
    inst = ThresholdInstance(2**40, 200, 60)
    tester = Curator(Setting(inst.domain, 200, 200, Fraction(1), Fraction(1, 10**7), classes="thresholds"))
    assert tester.resolution < inst.t
    assert all(_run(tester, inst.encode(i, j), seed) == ("Match" if i < j else "Far") for seed in range(5))
