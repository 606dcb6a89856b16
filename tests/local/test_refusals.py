"""Calls out of range end in a sentence that names the argument; searches for a least number end soon."""

import importlib.util
import json
import math
import sys
from fractions import Fraction
from pathlib import Path as File

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.local.account import OneYes
from geomdp.local.audits import run_audits
from geomdp.local.coding import walk_failure
from geomdp.local.elias import decode_elias, elias, elias_bits, proposals_for
from geomdp.local.finite import odds
from geomdp.local.hidden_layers import HiddenLayers
from geomdp.local.hidden_solver import one_bit_search
from geomdp.local.kernels import RandomisedResponse, Table
from geomdp.local.learning.baselines import corrected_logistic, logistic_regression
from geomdp.local.learning.caps import CapBall
from geomdp.local.learning.estimates import mean_estimate
from geomdp.local.learning.gaussian import GaussianVector, gaussian_delta
from geomdp.local.learning.gradients import OneCopy, users_needed
from geomdp.local.learning.label_dp import respond
from geomdp.local.learning.massart import learn_massart
from geomdp.local.learning.polynomial import logistic_polynomial
from geomdp.local.learning.rates import one_bit_probability, users_for_one_bit
from geomdp.local.learning.vectors import DuchiBall
from geomdp.local.models import NonInteractive
from geomdp.local.pointer_chasing import (
    EarlyPlan,
    Pointers,
    chase_early,
    chase_rounds,
    plan_early,
    simulate_chase,
)
from geomdp.local.protocol import Ask, run
from geomdp.local.role_sums import binomial, binomial_part, means, reach
from geomdp.local.rounds import rounds_failure
from geomdp.local.signs import Signs, keyed_integer
from geomdp.local.transcripts import answer_law
from geomdp.local.verify import exact_delta, exact_loss
from geomdp.local.votes import both_success, both_users, code_rates, shared_users, stage_users
from geomdp.privacy.sampler import SimSampler

R, Y = Fraction(3), np.array([1, -1])
ROWS, NI = np.array([[0.5, 0.0], [0.0, 0.5]]), NonInteractive()
LINE = [[1.0, 1.0], [2.0, 2.0], [-1.0, -1.0], [0.5, 0.5]]
SIDES = [1, -1, 1, 1]
ONE = OneCopy(logistic_polynomial(1), 1, "1e-5")
TOOL = File(__file__).parents[2] / "scripts" / "audits" / "main.py"


def asks():
    """One question to one user."""
    yield Ask.each([0], RandomisedResponse(R))


REFUSED = [
    (lambda: GaussianVector(5e-324), "sigma"),
    (lambda: GaussianVector(1e200), "sigma"),
    (lambda: GaussianVector(1.0, 5e-324), "sensitivity"),
    (lambda: gaussian_delta(Fraction(0), Fraction(1)), "mu"),
    (lambda: gaussian_delta(Fraction(1), Fraction(-1)), "epsilon"),
    (lambda: gaussian_delta(Fraction(1), Fraction(101)), "epsilon"),
    (lambda: GaussianVector(1.0).release(ROWS, None), "dice"),
    (lambda: GaussianVector(1.0).release(ROWS, np.random.default_rng(0)), "dice"),
    (lambda: GaussianVector(1.0).publish(ROWS, None, np.random.default_rng(0)), "sampler"),
    (lambda: DuchiBall(2, 1).release(ROWS, ROWS, None), "dice"),
    (lambda: DuchiBall(2, 1).release(ROWS, ROWS, np.random.default_rng(0)), "dice"),
    (lambda: CapBall(2, 1).release(ROWS, 0, np.random.default_rng(0)), "dice"),
    (lambda: CapBall(2, 1).release(ROWS, -1, SimSampler(0)), "public_seed"),
    (lambda: mean_estimate(ROWS, Y, 1, sampler=SimSampler(0), public_seed="a"), "public_seed"),
    (lambda: mean_estimate(ROWS, Y, 1, sampler=SimSampler(0), public_seed=None, caps=4), "public_seed"),
    (lambda: respond(np.array(1), 1, rng=0), "y"),
    (lambda: respond(Y, [1, True], rng=0), "epsilon"),
    (lambda: respond(Y, [True, 1], rng=0), "epsilon"),
    (lambda: respond(Y, {1, 2}, rng=0), "epsilons"),
    (lambda: respond(Y, {1: 1, 2: 1}, rng=0), "epsilons"),
    (lambda: respond(Y, b"11", rng=0), "epsilons"),
    (lambda: respond(Y, np.ones((2, 2)), rng=0), "epsilons"),
    (lambda: HiddenLayers.draw(2, 4, -1), "key"),
    (lambda: HiddenLayers.draw(2, 4, 1.5), "key"),
    (lambda: HiddenLayers.draw(2, 4, None), "key"),
    (lambda: HiddenLayers.adjacent(2, 4, -1), "key"),
    (lambda: HiddenLayers.draw(2, 2, 1).accepts("abcd"), "leaf"),
    (lambda: Pointers.draw(3, -1), "key"),
    (lambda: Signs(-1), "key"),
    (lambda: keyed_integer(4, -1), "parts"),
    (lambda: keyed_integer(4, 1.5), "parts"),
    (lambda: one_bit_search(2, 2, 1, R, key=-1), "key"),
    (lambda: chase_rounds(2, 2, 1, R, key=-1), "key"),
    (lambda: chase_early(2, 2, EarlyPlan(1, 1), R, key=0.5), "key"),
    (lambda: simulate_chase(Pointers.draw(3, 1), 1, [-1], R, np.random.default_rng(0)), "users"),
    (lambda: plan_early(2, 4, R, most_bits=math.nan), "most_bits"),
    (lambda: run(asks, [1], NonInteractive), "model"),
    (lambda: run(asks, [1], NI, accountants=[3]), "accountants"),
    (lambda: run(asks, [1], NI, accountants=[OneYes]), "accountants"),
    (lambda: run(asks, [1], NI, accountants=3), "accountants"),
    (lambda: exact_loss(asks, 0, [0, 1], {}, NI, limit=math.nan), "limit"),
    (lambda: exact_delta(asks, 0, [0, 1], 1, NI, ratio=1, limit=math.nan), "limit"),
    (lambda: answer_law(asks, [[0]], NI, limit=math.nan), "limit"),
    (lambda: decode_elias("1" + "01x"), "code"),
    (lambda: decode_elias("00112"), "code"),
    (lambda: decode_elias("001_1"), "code"),
    (lambda: decode_elias("01 "), "code"),
    (lambda: decode_elias(5), "code"),
    (lambda: elias_bits(R, 0), "proposals"),
    (lambda: rounds_failure(-1, R, 1), "bits"),
    (lambda: walk_failure(-1, 2, 0), "bits"),
    (lambda: walk_failure(1, -2, 0), "steps"),
    (lambda: learn_massart(LINE, SIDES, rng=0, validation="a"), "validation"),
    (lambda: learn_massart(LINE, SIDES, rng=0, validation=1.0), "validation"),
    (lambda: logistic_regression(LINE, SIDES, ridge="a"), "ridge"),
    (lambda: logistic_regression(LINE, SIDES, ridge=-1), "ridge"),
    (lambda: logistic_regression(LINE, SIDES, ridge=math.nan), "ridge"),
    (lambda: corrected_logistic(LINE, SIDES, np.zeros(4), ridge="a"), "ridge"),
    (lambda: users_needed(ONE, ROWS, "ab"), "w"),
    (lambda: users_needed(ONE, ROWS, np.ones(3)), "w"),
    (lambda: users_needed(ONE, ROWS, 1.0), "w"),
    (lambda: OneCopy("x", 1, "1e-5"), "polynomial"),
    (lambda: Table((0, 1), {0: "11"}), "rows"),
    (lambda: Table((0, 1), {0: b"11"}), "rows"),
    (lambda: proposals_for(0, R, "0.1"), "answers"),
    (lambda: users_for_one_bit("0.000001"), "epsilon"),
]


@pytest.mark.parametrize(("call", "name"), REFUSED)
def test_what_is_out_of_range_is_named(call, name):
    """A wrong argument is refused by name, in the house's words, before anything is drawn."""
    with pytest.raises(ArgumentError, match=f"Argument '{name}' must be"):
        call()


def test_one_epsilon_in_an_array_is_one_epsilon():
    """An array without axes stands for its number, and equal budgets of different kinds are one kernel."""
    assert (respond(Y, np.array(1.0), rng=0).labels == respond(Y, 1, rng=0).labels).all()
    assert respond(Y, [1, "1"], rng=0).rates.tolist() == respond(Y, [1.0, Fraction(1)], rng=0).rates.tolist()


def test_points_on_a_line_have_a_logistic_fit_without_ridge():
    """A singular curvature leaves the shortest step: the direction of the line, as with a tiny ridge."""
    found = logistic_regression(LINE, [1, -1, -1, 1], ridge=0)
    assert np.abs(found) == pytest.approx([math.sqrt(0.5)] * 2, abs=1e-6)
    assert found == pytest.approx(logistic_regression(LINE, [1, -1, -1, 1], ridge=1e-9), abs=1e-4)


@pytest.mark.parametrize(
    ("n", "own", "other"), [(0, 0.5, 0.25), (1, 1.0, 0.0), (9, 0.75, 0.5), (40, 0.9, 1e-4)]
)
def test_means_over_both_kinds_are_the_convolutions(n, own, other):
    """For each number of users of one kind the mean is that over the convolved binomial laws."""
    values = np.random.default_rng(n).random(n + 1)
    law = {
        (h, p): np.array([math.comb(h, k) * p**k * (1 - p) ** (h - k) for k in range(h + 1)])
        for h in range(n + 1)
        for p in (own, other)
    }
    direct = [float(np.convolve(law[h, own], law[n - h, other]) @ values) for h in range(n + 1)]
    found = means(n, range(n + 1), (own, other), lambda low, high: values[low : high + 1])
    assert np.abs(found - direct).max() < 1e-14


@pytest.mark.parametrize(("n", "p"), [(10**5, 0.5), (10**5, 1e-4), (10**4, 0.999)])
def test_what_a_window_leaves_out_is_negligible(n, p):
    """The tails beyond the window, by rational enclosures, are below 2 exp(-spare)."""
    from geomdp.local.coding import binomial_tail

    low, law = binomial(n, p, 30.0)
    high, chance = low + len(law), Fraction(p)
    rest = binomial_tail(n, high, chance).hi + binomial_tail(n, n - low + 1, 1 - chance).hi * (low > 0)
    assert float(rest) < 2 * math.exp(-30.0)
    assert len(law) < 2 * reach(n * p * (1 - p), 30.0) + 3
    middle = low + len(law) // 2
    exact = binomial_tail(n, middle, chance).lo - binomial_tail(n, middle + 1, chance).lo
    assert float(exact) == pytest.approx(law[middle - low], rel=1e-9)
    assert binomial_part(n, p, 0, n).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("epsilon", ["0.2", 1, 3])
@pytest.mark.parametrize("size", [2, 8, 1 << 40])
def test_searched_cohorts_are_those_found_one_by_one(epsilon, size):
    """Doubling and bisection find the number that steps of one find from the same start."""
    rates = code_rates(odds(epsilon))
    n = both_users(size, rates)
    assert both_success(n, size, rates) >= 0.9 > both_success(n - 1, size, rates)
    least = stage_users(size, rates, 0.9)
    one = least
    while both_success(one, size, rates) < 0.9**2:
        one += 1
    assert shared_users(size, rates, 0.9) == one


def test_small_budgets_need_the_inverse_square_of_users():
    """At 1/100 of the budget, ten thousand times the users, up to 1 %, or a refusal: no endless search."""
    assert both_users(8, code_rates(odds("0.01"))) / both_users(8, code_rates(odds("0.1"))) == pytest.approx(
        100, rel=0.01
    )
    assert users_for_one_bit("0.002") / users_for_one_bit("0.02") == pytest.approx(100, rel=0.01)
    n = users_for_one_bit("0.02")
    assert one_bit_probability(n, "0.02") >= 0.9 > one_bit_probability(n - 2, "0.02")
    with pytest.raises(CapacityError):
        both_users(8, code_rates(odds("0.0001")))


@pytest.mark.parametrize(
    ("answers", "ratio", "failure"), [(1, R, "0.01"), (7, odds(2), "1e-9"), (3, Fraction(1), "0.5")]
)
def test_proposals_are_the_least_that_suffice(answers, ratio, failure):
    """L proposals pass in exact arithmetic and L - 1 do not."""
    found, miss = proposals_for(answers, ratio, failure), 1 - 1 / ratio
    assert answers * miss**found <= Fraction(failure)
    assert found == 1 or answers * miss ** (found - 1) > Fraction(failure)


def test_proposals_of_a_large_ratio_are_found_at_once():
    """At e^100 the number is the logarithm's quotient, about 6e44, though nobody could draw them."""
    ratio = odds(100)
    wanted = Fraction(math.log(5e9)) * ratio
    assert abs(proposals_for(5, ratio, "1e-9") / wanted - 1) < Fraction(1, 10**12)
    assert decode_elias(elias(proposals_for(1, odds(8), "0.01"))) == [13726]


def test_local_audits_have_names_and_a_group(monkeypatch, capsys):
    """`scripts/audit` lists the local audits, runs the rows of one name, and knows three groups."""
    spec = importlib.util.spec_from_file_location("audits_tool", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    names = {check.name for check in tool.LOCAL_CHECKS}
    assert set(tool.GROUPS["local"]) == names
    assert {*tool.GROUPS["testers"], *tool.GROUPS["learners"]} == {*tool.CHECKS, *tool.SAMPLED}
    monkeypatch.setattr(sys, "argv", ["audit", "--list"])
    assert tool.main() == 0
    assert {*tool.GROUPS, *names} <= set(capsys.readouterr().out.splitlines())
    wanted = ["a user who retries", "two-party bits, compiled"]
    monkeypatch.setattr(sys, "argv", ["audit", *wanted, "--json"])
    assert tool.main() == 0
    chosen = [check for check in tool.LOCAL_CHECKS if check.name in wanted]
    assert json.loads(capsys.readouterr().out) == {
        "ok": True,
        "rows": [],
        "statistical": [],
        "local": run_audits(chosen),
    }
    assert len(chosen) == 2
