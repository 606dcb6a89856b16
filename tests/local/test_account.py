"""Accountants: exact on every transcript, ordered, and refused where their premise fails."""

import math
from fractions import Fraction

import pytest
from support.local import OUE, SUE, random_table, tree_inputs, tree_search

from geomdp.core.errors import ArgumentError, BudgetError, CertificateError
from geomdp.local.account import Composition, OneYes, Realised
from geomdp.local.kernels import RandomisedResponse, Scope, YesNo
from geomdp.local.models import FullyInteractive
from geomdp.local.protocol import Ask, run
from geomdp.local.transcripts import transcripts
from geomdp.local.verify import exact_loss

FI = FullyInteractive()
RR = RandomisedResponse(Fraction(3))


def _follow(leaf, *accountants):
    for step, outcome in leaf.events:
        if isinstance(step, Ask):
            for (user, kernel), output in zip(step.queries, outcome, strict=True):
                for accountant in accountants:
                    accountant.before(user, kernel)
                    accountant.after(user, kernel, output)


@pytest.mark.parametrize("kernel", [SUE, OUE, YesNo(Fraction(3, 4), Fraction(1, 5))])
@pytest.mark.parametrize(("arity", "depth"), [(2, 2), (2, 3), (3, 2)])
def test_accountants_are_ordered_on_every_transcript(kernel, arity, depth):
    """Realised = OneYes (complete) <= OneYes <= certificate = exact loss <= composition."""
    inputs = tree_inputs(arity, depth)
    protocol = tree_search(arity, depth, 1, kernel)
    exact = exact_loss(protocol, 0, inputs, {}, FI, recheck=False).ratio
    worst = Fraction(0)
    for leaf in transcripts(protocol, {0: inputs}, FI, recheck=False):
        whole, real, one = Composition(inputs), Realised(inputs), OneYes()
        _follow(leaf, whole, real, one)
        row = leaf.likelihood[0]
        assert real.ratio(0) == max(row) / min(row)
        assert real.ratio(0) == one.ratio(0, complete=True) <= one.ratio(0) <= one.certificate(0)
        assert real.ratio(0) <= exact <= whole.ratio(0)
        assert one.certificate(0) == kernel.pair_ratio == exact
        assert whole.ratio(0) == kernel.worst_ratio([True, False]) ** (arity * depth)
        assert real.loss(0) <= whole.loss(0)
        worst = max(worst, real.ratio(0))
    assert worst == exact


@pytest.mark.parametrize("seed", range(4))
def test_realised_is_the_likelihood_ratio_for_any_kernels(seed):
    """For random tables, Realised is max/min of the exact likelihoods, composition its bound."""
    kernels = [random_table(seed * 10 + i, 3, range(3), 4) for i in range(3)]

    def steps():
        for kernel in kernels:
            yield Ask.each([0], kernel)

    bound = exact_loss(steps, 0, range(3), {}, FI).ratio
    for leaf in transcripts(steps, {0: range(3)}, FI):
        whole, real = Composition(range(3)), Realised(range(3))
        _follow(leaf, whole, real)
        row = leaf.likelihood[0]
        assert real.ratio(0) == max(row) / min(row) <= bound <= whole.ratio(0)


def test_runs_feed_accountants():
    """A run tells every accountant of every question and answer; users keep separate accounts."""
    inputs = tree_inputs(2, 2)
    accountants = [Composition(inputs), Realised(inputs), OneYes()]
    run(tree_search(2, 2, 3, SUE), inputs[:3], FI, rng=4, accountants=accountants)
    for accountant in accountants:
        assert list(accountant.users()) == [0, 1, 2]
        assert 1 <= accountant.ratio(1) <= accountant.worst()
    assert accountants[0].worst() == 2**4
    assert accountants[1].worst() <= accountants[2].worst() <= 4


def test_a_deep_search_costs_a_constant():
    """After 20000 levels the one-yes loss is still the pair ratio, in two numbers per user."""
    accountant, kernel = OneYes(), YesNo.symmetric(Fraction(3, 2))
    for level in range(20000):
        for child in range(2):
            question = kernel.at(Scope(level, level, child))
            accountant.before(0, question)
            accountant.after(0, question, (level + child) % 3 == 0)
    assert accountant.ratio(0) == accountant.certificate(0) == Fraction(9, 4)


@pytest.mark.parametrize(
    "scopes",
    [
        [(0, "v", 1), (0, "v", 1)],
        [(0, "v", 1), (0, "w", 2)],
        [(1, "v", 1), (0, "v", 1)],
        [(0, "v", 1), (0, "v", 2), (1, "v", 1), (0, "v", 3)],
    ],
)
def test_questions_that_may_share_a_yes_are_refused(scopes):
    """A question twice, two places of a level, or a level revisited: the account is refused."""
    accountant = OneYes()
    for scope in scopes[:-1]:
        accountant.before(0, SUE.at(Scope(*scope)))
    with pytest.raises(CertificateError, match="share a yes"):
        accountant.before(0, SUE.at(Scope(*scopes[-1])))
    accountant.before(1, SUE.at(Scope(*scopes[-1])))  # another user's account is its own


def test_questions_without_a_scope_are_refused():
    """One-yes accounting takes scoped yes/no questions only."""
    for kernel in (RR, SUE, SUE.ask(lambda x: x)):
        with pytest.raises(CertificateError, match="must be YesNo"):
            OneYes().before(0, kernel)
    with pytest.raises(CertificateError, match="must be YesNo"):
        OneYes().after(0, SUE.at(Scope(0, "v", 1)), 1)


def test_excluding_answers_cost_infinitely_much():
    """An answer that only some inputs can give has an infinite realised loss, and so has the composition."""
    sure = YesNo(Fraction(1), Fraction(0))
    real, whole, one = Realised([0, 1]), Composition([0, 1]), OneYes()
    real.after(0, sure, 1)
    whole.before(0, sure)
    question = sure.at(Scope(0, "v", 0))
    one.before(0, question)
    one.after(0, question, 1)
    assert real.ratio(0) == whole.ratio(0) == one.ratio(0) == one.certificate(0) == math.inf
    assert whole.worst() == math.inf
    assert whole.loss(0) == math.inf


def test_budgets_are_exact():
    """Two answers of ratio odds(1/2) fit a budget of 1, a third does not, and a refusal charges nothing."""
    from geomdp.local.finite import odds

    accountant = Composition([0, 1], epsilon=1)
    kernel = RandomisedResponse(odds("1/2"))
    for _ in range(2):
        accountant.before(7, kernel)
    with pytest.raises(BudgetError):
        accountant.before(7, kernel)
    assert accountant.ratio(7) == odds("1/2") ** 2
    accountant.before(8, kernel)
    with pytest.raises(BudgetError):
        Composition([0, 1], epsilon=1).before(0, YesNo(Fraction(1), Fraction(0)))


def test_nobody_asked_costs_nothing():
    """Users that were not asked have ratio 1, and so has the worst of no users."""
    for accountant in (Composition([0]), Realised([0]), OneYes()):
        assert accountant.ratio(0) == accountant.worst() == 1
        assert accountant.loss(3) == 0
    assert OneYes().certificate(0) == 1


def test_empty_domains_are_refused():
    """A loss is a maximum over a domain: an empty one is refused."""
    for make in (Composition, Realised):
        with pytest.raises(ArgumentError, match="Argument 'domain'"):
            make([])
