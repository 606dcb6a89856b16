"""Exact audits of the local protocols: the privacy loss of small instances, by enumeration of transcripts.

Each audit compares the exact loss of every user with what the protocol claims. Planted bugs are audited too;
an audit is worth something only if it catches them. :func:`run_audits` returns rows that a script can print.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from geomdp.local.finite import odds
from geomdp.local.hidden_baselines import CodedPlan, announce_both, announce_one
from geomdp.local.hidden_blocks import SharedPlan, announce_blocks
from geomdp.local.hidden_layers import ListedLayer, Path, User, label_of, level_of
from geomdp.local.hidden_leaves import LeafPlan, SplitPlan, random_leaf, separate
from geomdp.local.hidden_solver import one_bit_search, tree_search
from geomdp.local.kernels import GeneralisedRR, RandomisedResponse, YesNo
from geomdp.local.models import FullyInteractive, InteractionError, Model, NonInteractive, Sequential
from geomdp.local.pointer_chasing import EarlyPlan, chase_bits, chase_early, chase_rounds
from geomdp.local.protocol import Ask, Coin, MakeProtocol, Steps
from geomdp.local.rejection import one_bit
from geomdp.local.rounds import Message, Round, RoundProtocol, RoundSteps, to_ldp_rounds
from geomdp.local.twoparty import ALICE, BOB, Bit, TwoPartyProtocol, TwoPartySteps, to_ldp
from geomdp.local.verify import ExactLoss, exact_loss

EPSILON = Fraction(1)


@dataclass(frozen=True)
class LocalAudit:
    """One audit: a protocol, the inputs that users may hold, and what is claimed.

    Attributes:
        name: of the audit.
        about: the instance in one line.
        protocol: makes the protocol.
        domain: every input that a user may hold.
        users: number of users.
        model: interaction model under which it runs.
        claim: the privacy loss that is claimed.
        bug: what is wrong, for a planted bug; None otherwise.
        expected: the loss that a planted bug has; None if it is not known in closed form.
    """

    name: str
    about: str
    protocol: MakeProtocol
    domain: tuple[Any, ...]
    users: int
    model: Model
    claim: Fraction = EPSILON
    bug: str | None = None
    expected: float | None = None

    def run(self, progress: Callable[[float], None] | None = None) -> dict[str, Any]:
        """Return the row of the audit.

        Returns:
            A dict of JSON values: name, about, bug, claim, loss (None if infinite), transcripts, tight (the
            loss is the claim up to 1e-9), refused (the sequential model refuses the protocol), ok. An audit
            is ok if the loss is at most the claim; a planted bug is ok if it is above, hence caught.
        """
        results = []
        for user in range(self.users):
            results.append(self.exact(user))
            if progress is not None:
                progress((user + 1) / self.users)
        worst = max(results, key=lambda result: result.ratio)
        caught = not worst.holds(self.claim)
        return {
            "name": self.name,
            "about": self.about,
            "bug": self.bug,
            "claim": str(self.claim),
            "loss": None if worst.ratio == math.inf else worst.loss,
            "transcripts": worst.transcripts,
            "tight": abs(worst.loss - float(self.claim)) < 1e-9,
            "refused": self._refused(),
            "ok": caught if self.bug else not caught,
        }

    def _refused(self) -> bool:
        """Return whether the sequential model refuses the protocol: some user speaks twice."""
        try:
            self.exact(0, Sequential())
        except InteractionError:
            return True
        return False

    def exact(self, user: int, model: Model | None = None) -> ExactLoss:
        """Return the exact loss of a user, under the audit's model or another one."""
        others = {v: self.domain[-1] for v in range(self.users) if v != user}
        return exact_loss(self.protocol, user, self.domain, others, model or self.model, recheck=False)


def layers(arity: int, depth: int) -> tuple[User, ...]:
    """Return every input of the hidden layers problem: each level, with each labelling of its vertices.

    Example:
        >>> len(layers(2, 2)), len(layers(2, 3))
        (6, 22)
    """
    found: list[User] = []
    for level in range(depth):
        vertices = [Path((steps,)) for steps in itertools.product(range(arity), repeat=level)]
        for labels in itertools.product(range(arity), repeat=len(vertices)):
            role = BOB if level % 2 else ALICE
            found.append((role, ListedLayer(level, dict(zip(vertices, labels, strict=True)))))
    return tuple(found)


def vectors(size: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return every input of the pointer chasing problem: both roles, all vectors."""
    rows = itertools.product((ALICE, BOB), itertools.product(range(size), repeat=size))
    return tuple(rows)


def audits() -> Iterator[LocalAudit]:
    """Yield the audits of the protocols as they are."""
    ratio, half = odds(EPSILON), odds(EPSILON / 2)
    symmetric, unary = YesNo.symmetric(half), YesNo.unary(ratio)
    for name, kernel in (("symmetric votes", symmetric), ("unary votes", unary)):
        for arity, depth, users in ((2, 2, 1), (2, 2, 2), (3, 2, 1), (2, 3, 1)):
            yield _search(name, arity, depth, users, tree_search(arity, depth, users, kernel))
    for arity, depth, users in ((2, 2, 1), (2, 2, 2), (2, 3, 1), (3, 2, 2)):
        protocol = one_bit_search(arity, depth, users, ratio, key=1)
        yield _search("one-bit votes", arity, depth, users, protocol)
    inputs = layers(2, 3)
    plan = CodedPlan(2, 1, ((1, 1),), 4, 0.0)
    announced = fixed_coins(announce_one(2, 3, ratio, plan), 1)
    yield LocalAudit("announcing one layer", "arity 2, depth 3, 4 users", announced, inputs, 4, Sequential())
    leaves = fixed_coins(random_leaf(2, 3, ratio, LeafPlan(2, 2, 1, 1, 1, 4, 0.0)), 1)
    yield LocalAudit("random leaves", "arity 2, depth 3, 2 trials", leaves, inputs, 4, Sequential())
    split = fixed_coins(separate(2, 3, ratio, SplitPlan(2, 2, 2, 1, 4, 0.0)), 1)
    yield LocalAudit("separating layers", "arity 2, depth 3, 4 users", split, inputs, 4, Sequential())
    yield from _shared_audits(ratio)
    yield from _pointer_audits(ratio)
    yield from _compiler_audits(ratio)


def _shared_audits(ratio: Fraction) -> Iterator[LocalAudit]:
    """Yield the protocols in which one cohort sends a message of each role."""
    inputs, about = layers(2, 4), "arity 2, depth 4, 3 users"
    bits = fixed_coins(announce_both(2, 4, ratio, 1), 1)
    yield LocalAudit("announcing both layers", about, bits, inputs, 3, Sequential())
    plan = SharedPlan(1, ((1, 1),), ((1, 1),), 3, 0.0)
    blocks = fixed_coins(announce_blocks(2, 4, ratio, plan), 1)
    yield LocalAudit("announcing both layers in blocks", about, blocks, inputs, 3, Sequential())


def _search(name: str, arity: int, depth: int, users: int, protocol: MakeProtocol) -> LocalAudit:
    about = f"arity {arity}, depth {depth}, {users} user{'s' * (users > 1)}"
    return LocalAudit(f"search by {name}", about, protocol, layers(arity, depth), users, FullyInteractive())


def _pointer_audits(ratio: Fraction) -> Iterator[LocalAudit]:
    inputs, about = vectors(2), "k = 2, l = 2, one user per message"
    early = chase_early(2, 2, EarlyPlan(1, 1), ratio, key=2)
    blocks = chase_early(2, 2, EarlyPlan(1, 1, 2), ratio, key=2)
    for name, protocol, users, model in (
        ("k rounds", chase_rounds(2, 2, 1, ratio, key=2), 2, Sequential(2)),
        ("k - 1 rounds", early, 3, NonInteractive()),
        ("k - 1 rounds, blocks", blocks, 2, NonInteractive()),
        ("bit by bit", chase_bits(2, 2, 1, ratio), 2, Sequential(2)),
    ):
        yield LocalAudit(f"pointer chasing, {name}", about, protocol, inputs, users, model)


def _compiler_audits(ratio: Fraction) -> Iterator[LocalAudit]:
    inputs = tuple(itertools.product((ALICE, BOB), range(2)))

    def talk() -> TwoPartySteps:
        a = yield Bit(ALICE, lambda x: x)
        b = yield Bit(BOB, lambda y: y ^ a)
        return a, b

    def rounds() -> RoundSteps:
        first = yield Round((Message(ALICE, 2, lambda x: x), Message(BOB, 2, lambda y: y)))
        second = yield Round((Message(ALICE, 2, lambda x: x ^ first[1]),))
        return first, second

    def choose() -> Steps:
        first = yield Ask.each([0], GeneralisedRR(3, ratio, lambda x: x[1]))
        second = yield Ask.each([1], GeneralisedRR(3, ratio, lambda x: (x[1] + first[0]) % 3))
        return first, second

    compiled = to_ldp(TwoPartyProtocol(talk), ratio, 2)
    yield LocalAudit("two-party bits, compiled", "2 bits", compiled, inputs, 2, Sequential(2))
    parallel = to_ldp_rounds(RoundProtocol(rounds), ratio, 1, 3)
    yield LocalAudit("two-party rounds, compiled", "2 rounds, 3 bits", parallel, inputs, 3, Sequential(2))
    three = tuple(itertools.product((ALICE, BOB), range(3)))
    single = one_bit(choose, ratio, three, 4, attempts=2)
    about = "2 answers of 3 values, 2 attempts each"
    yield LocalAudit("answers through single bits", about, single, three, 4, Sequential())


def planted() -> Iterator[LocalAudit]:
    """Yield protocols with a bug that the audit must catch."""
    bit, pair, weak = (0, 1), layers(2, 2), YesNo.symmetric(odds(EPSILON / 2))
    silent, full = YesNo(weak.p, Fraction(0)), YesNo.symmetric(odds(EPSILON))
    small, loss = "arity 2, depth 2", 1 + math.log((1 + math.e) / 2)
    for name, about, protocol, domain, users, bug, expected in (
        ("a label at two levels", "arity 2", _two_levels, layers(2, 1), 1, "a label says yes twice", 2.0),
        ("randomised response twice", "one bit", _twice, bit, 1, "the second answer has fresh noise", 2.0),
        ("a tie broken by a datum", "2 users", _tie, bit, 2, "the tie-break asks without noise", math.inf),
        ("a certain no", small, tree_search(2, 2, 1, silent), pair, 1, "no has no noise", math.inf),
        ("votes of odds e^epsilon", small, tree_search(2, 2, 1, full), pair, 1, "half is due", 2.0),
        ("a cohort that is asked again", small, _reused, pair, 1, _ASKED_AGAIN, loss),
        ("a user who retries", "2 attempts", _retry, bit, 1, "one user publishes its rejections", 2.0),
    ):
        yield LocalAudit(name, about, protocol, domain, users, FullyInteractive(), bug=bug, expected=expected)


_ASKED_AGAIN = "its users answer about the layer and then about the label"


def _two_levels() -> Steps:
    weak = YesNo.symmetric(odds(EPSILON / 2))
    asks = [weak.ask(_label_is(child)) for child in range(2)]
    for _ in range(2):
        yield Ask(tuple((0, ask) for ask in asks))


def _twice() -> Steps:
    yield Ask.each([0], RandomisedResponse(odds(EPSILON)))
    yield Ask.each([0], RandomisedResponse(odds(EPSILON)))


def _tie() -> Steps:
    bits = yield Ask.each([0, 1], RandomisedResponse(odds(EPSILON)))
    if bits[0] != bits[1]:
        yield Ask.each([0], YesNo(Fraction(1), Fraction(0)))


def _retry() -> Steps:
    for _ in range(2):
        if (yield Ask.each([0], RandomisedResponse(odds(EPSILON))))[0]:
            return


def _reused() -> Steps:
    yield Ask.each([0], RandomisedResponse(odds(EPSILON), lambda x: level_of(x) & 1))
    yield Ask.each([0], RandomisedResponse(odds(EPSILON), _root_label))


def _root_label(x: Any) -> int | None:
    return label_of(x, Path()) if level_of(x) == 0 else None


def _label_is(child: int) -> Callable[[Any], bool]:
    return lambda x: level_of(x) == 0 and label_of(x, Path()) == child


def fixed_coins(protocol: MakeProtocol, first: int = 0) -> MakeProtocol:
    """Return the protocol with its keys fixed to first, first + 1, ...: its tree is then small enough.

    The loss for fixed public coins is the loss given these coins; the keys' law does not depend on inputs.
    Public coins of at most 16 sides are left alone.
    """

    def steps() -> Steps:
        inner = protocol()
        outcome: Any = None
        count = first
        while True:
            try:
                step = inner.send(outcome)
            except StopIteration as stop:
                return stop.value
            if isinstance(step, Coin) and step.sides > 16:
                outcome, count = count, count + 1
            else:
                outcome = yield step

    return steps


def run_audits(
    chosen: Iterable[LocalAudit] | None = None, progress: Callable[[float], None] | None = None
) -> list[dict[str, Any]]:
    """Return the rows of the audits and of the planted bugs.

    Args:
        chosen: audits; None for all.
        progress: called with the fraction done.

    Example:
        >>> row = run_audits([next(planted())])[0]
        >>> row["ok"], round(row["loss"], 9), row["claim"], row["refused"]
        (True, 2.0, '1', True)
    """
    work = [*audits(), *planted()] if chosen is None else list(chosen)
    rows = []
    for done, audit in enumerate(work, 1):
        rows.append(audit.run())
        if progress is not None:
            progress(done / len(work))
    return rows
