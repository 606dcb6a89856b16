"""Laws of the histogram testers."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom
from support.fields import (
    BETA,
    GRID,
    RECORDS,
    TINY_SETTING,
    assert_rarely_wrong,
    assert_true_without_noise,
    audit_three_answers,
    random_sample,
    standard,
    tiny,
)
from support.samplers import RecordingSampler

import geomdp as g
from geomdp.geometry.arrangement import dichotomies
from geomdp.privacy.audit import laplace_law, neighbour_pairs, selection_law, worst_log_ratio
from geomdp.privacy.budget import Budget
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.sampler import SecureSampler, SimSampler, noise_scale
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.base import Setting
from geomdp.testers.histogram import (
    HistogramParty,
    Minimiser,
    OneWay,
    TwoHistograms,
    best_agreement,
    largest_entry,
)
from geomdp.testers.histogram_law import Calibration, FieldNoise

AXIS = g.Domain.grid([("x", 0, 1, 6)])


@pytest.mark.parametrize("seed", range(20))
def test_best_agreement_is_the_maximum_over_all_dichotomies(seed):
    """max_h <h, v> by opt_H of |v| equals the maximum over the listed dichotomies."""
    v = np.random.default_rng(seed).integers(-9, 10, GRID.m)
    value, classifier = best_agreement(standard(), v)
    assert value == max(dichotomies(GRID).signs.astype(int) @ v)
    assert value == int(classifier.predict(GRID.points).astype(int) @ v)


@pytest.mark.parametrize("tester", [OneWay, TwoHistograms])
@pytest.mark.parametrize(("domain", "classes"), [(GRID, "halfspaces"), (AXIS, "thresholds")])
@pytest.mark.parametrize("seed", range(6))
def test_without_noise_every_interval_holds_its_truth(tester, domain, classes, seed):
    """With zero noise the verdict is right and each interval contains what it estimates."""
    assert_true_without_noise(tester(standard(domain, classes=classes)), seed)


@pytest.mark.parametrize("tester", [OneWay, TwoHistograms])
def test_tolerance_moves_the_resolution_by_itself(tester):
    """t(t0) = t0 + t(0): the cut moves by t0 and the noise stays."""
    base = tester(standard()).resolution
    assert [tester(standard(tolerance=t0)).resolution - base for t0 in (1, 7, 50)] == [1, 7, 50]


def test_the_certified_order_of_the_testers():
    """Simulation never certifies less than the union bound here, and one field beats two."""
    table = {
        (T.name, s): T(standard(), simulated=s).resolution for T in (OneWay, TwoHistograms) for s in (0, 1)
    }
    assert table["one-way", 1] <= table["one-way", 0] < table["two-histograms", 0]
    assert table["one-way", 1] < table["two-histograms", 1] <= table["two-histograms", 0]


def test_a_level_too_small_for_the_table_is_not_certified():
    """Ten thousand draws cannot certify a quantile at beta = 10^-5: no resolution, with the reason."""
    T = OneWay(Setting(GRID, 400, 400, Fraction(1), Fraction(1, 10**5)), simulated=True)
    assert T.resolution is None
    assert not T.feasible
    assert "beta too small" in T.reason


@pytest.mark.parametrize("classes", ["halfspaces", "thresholds"])
def test_fresh_noise_respects_the_certified_quantiles(classes):
    """Independent draws exceed either certified sup quantile with probability at most beta."""
    from geomdp.opt.sup import sup_field

    domain = GRID if classes == "halfspaces" else AXIS
    noise = FieldNoise(domain, classes, Fraction(2))
    Z = SimSampler(99).discrete_laplace(Fraction(2), (4000, domain.m))
    sup = sup_field(domain, Z, classes=classes)
    for q in (noise.sup_analytic(BETA), noise.sup_simulated(BETA)):
        assert int((sup >= q).sum()) <= binom.ppf(1 - 1e-9, 4000, 0.1)
    one = Z[:, 0] + Z[:, 1:].sum(axis=1)
    assert int((one >= noise.single(BETA)).sum()) <= binom.ppf(1 - 1e-9, 4000, 0.1)


@pytest.mark.parametrize("tester", [OneWay, TwoHistograms])
@pytest.mark.parametrize("conflict", [False, True])
def test_simulated_failures_stay_below_beta(tester, conflict):
    """In 150 seeded runs the verdict is wrong, and the interval misses, at most as often as promised."""
    assert_rarely_wrong(tester(standard(n=300), simulated=True), conflict, 150)


@pytest.mark.parametrize("tester", [OneWay, TwoHistograms])
def test_budgets_are_spent_exactly(tester):
    """Each party spends at most epsilon, exactly accounted, from the secure source."""
    setting = Setting(GRID, 50, 50, Fraction(1, 3))
    S = random_sample(GRID, 50, 3)
    finding = tester(setting).converse(S, S, SecureSampler(), SecureSampler())
    for party in ("Alice", "Bob"):
        assert finding.transcript.spent(party) == Fraction(1, 3)


# ---- exact audits: the statistics and scales are taken from the code that runs, the laws are exact ----


def _histogram_law(data, scale_factor=1):
    still = RecordingSampler()
    party = HistogramParty("Alice", tiny(data), still, Budget(Fraction(1)))
    centers = party.histogram(Transcript({}), TINY_SETTING).payload["net"]
    r = Interval.exp_neg(scale_factor / still.scales[0])
    first, second = (laplace_law(c, r, -4, 4) for c in centers)
    return {(a, b): p * q for a, p in first.items() for b, q in second.items()}


def test_audit_of_the_histogram_is_tight():
    """Over all neighbours the worst exact ratio of the histogram is e^epsilon, no more and no less."""
    audit = worst_log_ratio(_histogram_law, neighbour_pairs(RECORDS, 2))
    assert audit.log_upper <= 1 + 1e-9
    assert audit.log_lower >= 1 - 1e-9


def test_audit_catches_a_histogram_with_half_the_noise():
    """Planted bug: the sensitivity taken as 1 instead of 2 is refuted."""
    audit = worst_log_ratio(lambda data: _histogram_law(data, 2), neighbour_pairs(RECORDS, 2))
    assert audit.violates(1)


def _answer_law(data, history, bug=None):
    """The law of Bob's next message: his own code gives the statistic and the scale."""
    still = RecordingSampler()
    bob = Minimiser("Bob", tiny(data), still, Budget(Fraction(1)))
    transcript = Transcript({})
    transcript.append(Message("Alice", "noisy histogram", {"net": list(history[0])}, Fraction(0)))
    step = len(history) - 1
    if step == 2:
        bob.joint_classifier(transcript, TINY_SETTING, Fraction(1, 4))
        r = Interval.exp_neg((2 if bug == "selection" else 1) / still.scales[-1])
        return selection_law(dict(enumerate(still.scores[-1])), r)
    if step == 0:
        center = bob.minimum(transcript, TINY_SETTING, Fraction(1, 2)).payload["doubled"]
    else:
        center = bob.own(transcript, TINY_SETTING, Fraction(1, 4)).payload["value"]
    r = Interval.exp_neg((2 if bug == "minimum" and step == 0 else 1) / still.scales[-1])
    return laplace_law(center, r, -8, 12)


def _audit_bob(bug=None):
    return audit_three_answers(
        lambda data, history: _answer_law(data, history, bug), [(0, 0), (2, -2), (-2, 2), (1, 1), (-3, 0)]
    )


def test_audit_of_bob_holds_against_any_histogram():
    """Whatever histogram Alice sends, the worst exact ratio of Bob's three answers is at most e^epsilon."""
    audit = _audit_bob()
    assert audit.log_upper <= 1 + 1e-9
    assert audit.log_lower >= 0.75


def test_audit_catches_a_minimum_with_half_the_noise():
    """Planted bug: the doubled minimum treated as if it moved by 1 is refuted."""
    assert _audit_bob("minimum").violates(1)


def test_audit_catches_a_selection_at_twice_its_rate():
    """Planted bug: selection at the scale of one-directional scores is refuted at its own share."""
    pairs = list(neighbour_pairs(RECORDS, 2))
    fields = [(0, 0), (2, -2), (-2, 2), (1, 1), (-3, 0)]

    def worst(bug):
        return [worst_log_ratio(lambda data, y=y: _answer_law(data, (y, 0, 0), bug), pairs) for y in fields]

    assert all(audit.log_upper <= 0.25 + 1e-9 for audit in worst(None))
    assert any(audit.violates(Fraction(1, 4)) for audit in worst("selection"))


def test_noise_scales_cover_the_sensitivity():
    """The scales in use are at least sensitivity / epsilon, exactly."""
    for epsilon in (Fraction(1, 3), Fraction(7, 10), Fraction(1)):
        assert noise_scale(2, epsilon) >= 2 / epsilon


def test_intervals_are_clipped_to_what_opt_can_be():
    """An interval never leaves [0, most], even for absurd statistics."""
    calibration = Calibration(FieldNoise(AXIS, "thresholds", Fraction(2)))
    assert calibration.interval(-1000, BETA, 50) == (0, 0)
    assert calibration.interval(10**6, BETA, 50) == (50, 50)


@pytest.mark.parametrize("net", [[2**53, 0], [0, -(2**52)], [0], [0, 0, 0], [0.5, 0], [True, 0], "ab", None])
def test_an_absurd_histogram_is_refused_whatever_bob_holds(net):
    """A refusal depends on the counterpart's message and public numbers only, never on Bob's records."""
    errors = set()
    for data in ([(0, 1), (0, -1)], [(0, 1), (0, 1)], [(1, -1), (1, -1)]):
        bob = Minimiser("Bob", tiny(data), RecordingSampler(), Budget(Fraction(1)))
        transcript = Transcript({})
        transcript.append(Message("Alice", "noisy histogram", {"net": net}, Fraction(0)))
        with pytest.raises(g.ProtocolError) as caught:
            bob.minimum(transcript, TINY_SETTING, Fraction(1, 2))
        errors.add(str(caught.value))
    assert len(errors) == 1


def test_the_largest_histogram_is_answered_for_every_neighbour():
    """At the largest accepted entries nothing overflows: neighbours' minima differ by at most 2."""
    top = largest_entry(TINY_SETTING)
    answers = []
    for data in ([(0, 1), (0, -1)], [(0, 1), (0, 1)], [(1, -1), (0, 1)]):
        bob = Minimiser("Bob", tiny(data), RecordingSampler(), Budget(Fraction(1)))
        transcript = Transcript({})
        transcript.append(Message("Alice", "noisy histogram", {"net": [top, -top]}, Fraction(0)))
        answers.append(bob.minimum(transcript, TINY_SETTING, Fraction(1, 2)).payload["doubled"])
    assert max(answers) - min(answers) <= 2


@pytest.mark.parametrize("beta", [Fraction(1, 10**20), Fraction(1, 10**40)])
def test_the_tiniest_beta_still_has_an_analytic_resolution(beta):
    """Below what sums of tails can resolve, Chernoff's bound takes over, monotonically."""
    larger = OneWay(Setting(GRID, 10**4, 10**4, Fraction(1), Fraction(1, 10**9))).resolution
    assert larger < OneWay(Setting(GRID, 10**4, 10**4, Fraction(1), beta)).resolution
