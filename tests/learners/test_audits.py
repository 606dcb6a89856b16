"""Laws of the exact audits of whole runs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from geomdp.learners import audits, step_audits
from geomdp.privacy.enclosure import Interval

QUICK = [
    "carry-forward: CarrierBoost, signs, reservoirs 1 + 1",
    "carry-forward: LabelBoost, signs, reservoirs 2 + 1",
]
ALL = {**audits.CASES, **audits.LARGE}


@pytest.mark.parametrize("name", QUICK)
def test_whole_runs_keep_their_stated_loss(name):
    """Over all neighbouring datasets no release is more likely than the accounting's loss allows."""
    check = next(c for c in audits.checks() if c.name == name)
    found = check.audit()
    assert check.passes(found)
    assert found.violates(Fraction(1, 20))  # and it does depend on the data


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(set(ALL) - set(QUICK)))
def test_larger_runs_keep_their_stated_loss(name):
    """The same for the other layouts, classes and reservoirs."""
    case = ALL[name]
    assert audits.audit(case).holds(case.claim)


@pytest.mark.parametrize("check", list(step_audits.checks()), ids=lambda c: c.name)
def test_single_steps_keep_their_stated_loss(check):
    """The automaton's draw and the perturbation keep their loss, and come near it: over all neighbours."""
    assert check.passes(check.audit())


@pytest.mark.parametrize("check", list(audits.planted()), ids=lambda c: c.name)
def test_planted_bugs_are_caught(check):
    """A learner with a planted bug is refuted by its audit."""
    assert check.passes(check.audit())


def _close(one, two):
    return one.keys() == two.keys() and all(
        Interval.of(one[z]).lo <= Interval.of(two[z]).hi and Interval.of(two[z]).lo <= Interval.of(one[z]).hi
        for z in one
    )


@pytest.mark.parametrize("name", [QUICK[1], "carry-forward: LabelBoost, intervals, reservoirs 1 + 2"])
def test_order_inside_a_reservoir_does_not_change_the_law(name):
    """Permuting the records of a reservoir leaves the release's law as it is."""
    case = ALL[name]
    rng = np.random.default_rng(0)
    first = case.reservoirs[0]
    for _ in range(2):
        data = tuple(case.records[i] for i in rng.integers(0, len(case.records), case.n))
        law = audits.law(case, data)
        for one in itertools.permutations(data[:first]):
            for two in itertools.permutations(data[first:]):
                assert _close(law, audits.law(case, (*one, *two)))


def test_laws_are_laws():
    """Probabilities of all releases add up to one."""
    case = audits.CASES[QUICK[0]]
    for data in itertools.islice(audits.datasets(case), 0, 36, 7):
        total = Interval.total(list(audits.law(case, data).values()))
        assert total.lo <= 1 <= total.hi
        assert total.hi - total.lo < Fraction(1, 10**20)
