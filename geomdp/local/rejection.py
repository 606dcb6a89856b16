"""A kernel's answer drawn through single private bits: propose in public, accept in private."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any

from geomdp.core.errors import ArgumentError, check_integer, describe
from geomdp.local.domains import DeclaredDomain, check_domain
from geomdp.local.finite import BitKernel, Kernel, check_ratio, ratio_of, role_and_value
from geomdp.local.models import Pool, Sequential
from geomdp.local.protocol import Ask, Coin, MakeProtocol, Steps, advance, called
from geomdp.protocol.transcript import PARTIES


@dataclass(frozen=True)
class Rejection:
    """The simulation of one kernel by accepted proposals.

    Proposals y come from a public reference law R0; the owner accepts with probability a(x, y), a bit sent
    over a channel of crossover c = 1/(1 + ratio).

    Args:
        kernel: the kernel R to simulate.
        domain: every input that the owner may hold, at least one; whatever else it holds is treated as the
            first of them, see :class:`~geomdp.local.domains.DeclaredDomain`.
        ratio: at least the kernel's worst ratio over the domain.

    Attributes:
        largest: M(y), the largest probability of each output over the domain.
        ignores: True if the kernel's law is the same for every input; no private bit is needed then.

    Proof note. Write R(x) for the kernel's law at the member of the domain that x is settled to, which is x
    itself if x is declared. Let M(y) and m(y) be the largest and smallest R(x)(y); M <= ratio m. Put
    R0 = M / sum M and a(x, y) = R(x)(y) ratio / (M(y) (1 + ratio)). From m <= R(x)(y) <= M, the acceptance
    lies in [1/(1+ratio), ratio/(1+ratio)] = [c, 1-c], so it is what arrives when the owner sends 1 with
    probability (a - c)/(1 - 2c). One attempt outputs y with probability R0(y) a(x, y) = R(x)(y)/K,
    K = (1 + 1/ratio) sum M: the accepted output has the law R(x) exactly, and the number of attempts is
    geometric with mean K, whatever x is. No reference does better: a <= 1-c needs
    K R0(y) >= M(y) (1 + 1/ratio) for every y. As sum M <= ratio, K <= 1 + ratio.
    A user who answered several attempts would pay log(ratio) for each rejection too: every attempt needs a
    fresh user, or the two-party world, where nobody asks for privacy.

    Raises:
        ArgumentError: when the ratio is below the kernel's, or an output is possible for some inputs only.

    Example:
        >>> from geomdp.local.kernels import GeneralisedRR
        >>> law = Rejection(GeneralisedRR(8, Fraction(3)), tuple(range(8)), Fraction(3))
        >>> law.uses, law.acceptance(5, 5), law.acceptance(5, 0)
        (Fraction(16, 5), Fraction(3, 4), Fraction(1, 4))
    """

    kernel: Kernel
    domain: Sequence[Any] | DeclaredDomain
    ratio: Fraction
    largest: tuple[Fraction, ...] = field(init=False, repr=False)
    ignores: bool = field(init=False, repr=False)
    _settled: DeclaredDomain = field(init=False, repr=False, compare=False)
    _rows: tuple[tuple[Fraction, ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ratio = check_ratio(self.ratio)
        settled = self.domain if isinstance(self.domain, DeclaredDomain) else DeclaredDomain(self.domain)
        rows = tuple(self.kernel.probabilities(x) for x in settled.members)
        columns = tuple(zip(*rows, strict=True))
        worst = max(map(ratio_of, columns), default=Fraction(1))
        object.__setattr__(self, "ratio", ratio)
        object.__setattr__(self, "largest", tuple(map(max, columns)))
        object.__setattr__(self, "ignores", worst == 1)
        object.__setattr__(self, "_settled", settled)
        object.__setattr__(self, "_rows", rows)
        if worst > ratio:
            raise ArgumentError(
                "ratio", "at least the kernel's worst ratio over the domain", describe(ratio), "Raise it."
            )

    @property
    def crossover(self) -> Fraction:
        """The crossover 1/(1 + ratio) of the channel."""
        return 1 / (1 + self.ratio)

    @property
    def reference(self) -> tuple[Fraction, ...]:
        """The public law of proposals."""
        total = sum(self.largest)
        return tuple(value / total for value in self.largest)

    @property
    def uses(self) -> Fraction:
        """The expected number of attempts."""
        return (1 + 1 / self.ratio) * sum(self.largest, Fraction(0))

    def proposal(self) -> Coin:
        """Return the public die whose face is the index of the proposed output."""
        scale = lcm(*(value.denominator for value in self.largest))
        weights = tuple(int(value * scale) for value in self.largest)
        return Coin(len(weights), weights)

    def probabilities(self, x: Any) -> tuple[Fraction, ...]:
        """Return the kernel's law at the declared input that x is, or else at the first declared one."""
        return self._rows[self._settled.place(x)]

    def acceptance(self, x: Any, output: Any) -> Fraction:
        """Return a(x, y): the probability that acceptance arrives; in [c, 1-c] for every x."""
        place, c = self.kernel.outputs.index(output), self.crossover
        if not self.largest[place]:  # never proposed
            return c
        return self.probabilities(x)[place] * (1 - c) / self.largest[place]

    def sent(self, x: Any, output: Any) -> Fraction:
        """Return the probability with which the owner sends acceptance: (a - c)/(1 - 2c), 1/2 if c = 1/2."""
        if self.ratio == 1:
            return Fraction(1, 2)
        return (self.acceptance(x, output) - self.crossover) / (1 - 2 * self.crossover)


@dataclass(frozen=True)
class Acceptance(BitKernel):
    """One private bit: does the user accept (1) a publicly proposed answer of another kernel?

    Args:
        simulation: of that kernel.
        output: the proposal.

    Proof note. The probability of 1 lies in [1/(1+ratio), ratio/(1+ratio)] for every input, see
    :class:`Rejection`; either bit changes its probability by a factor of at most ratio. Conclusion:
    log(ratio)-DP.
    """

    simulation: Rejection
    output: Any

    def weights(self, x: Any) -> tuple[int, ...]:
        """Return the weights of 0 and 1."""
        accept = self.simulation.acceptance(x, self.output)
        return (accept.denominator - accept.numerator, accept.numerator)


def one_bit(
    protocol: MakeProtocol, ratio: Fraction, domain: Iterable[Any], users: int, attempts: int | None = None
) -> MakeProtocol:
    """Return a local protocol with one-bit answers that plays a sequentially interactive one.

    Each answer is drawn by :class:`Rejection`, every attempt by a fresh user's own input. When users' inputs
    are independent with one law, the user whose acceptance ends the attempts stands for the user asked.

    Args:
        protocol: a sequentially interactive protocol; its kernels have a worst ratio of at most `ratio`.
        ratio: >= 1.
        domain: every input that a user may hold; any other one is treated as the first of them.
        users: number of users to draw from: about (1 + 1/ratio) sum_y M(y) per answer.
        attempts: largest number of attempts per answer; the protocol returns None when they run out.

    Raises:
        ArgumentError: unless ``users`` is an integer >= 0 and ``attempts`` is None or an integer >= 1.

    Proof note. Privacy: a user answers one :class:`Acceptance` bit, so its transcript is log(ratio)-DP; who
    answers is decided by earlier users' bits only. Law: with inputs drawn independently from P, one attempt
    outputs y with probability R0(y) E a(x, y) = E R(x)(y)/K. Conclusion: accepted answers have the law of the
    kernel at a random input, as in the original protocol.
    """
    limit, inputs = check_ratio(ratio), DeclaredDomain(domain)
    check_integer("users", users, 0)
    if attempts is not None:
        check_integer("attempts", attempts, 1)

    def steps() -> Steps:
        pool, ledger, inner = Pool(users), Sequential().ledger(), called(protocol)
        ask, answer = yield from to_ask(inner, None)
        while ask is not None:
            ledger.charge(ask)
            outputs = []
            for _, kernel in ask.queries:
                law = Rejection(kernel, inputs, limit)
                for _ in itertools.count() if attempts is None else range(attempts):
                    output = kernel.outputs[(yield law.proposal())]
                    if law.ignores or (yield pool.take(1).ask(Acceptance(law, output)))[0]:
                        outputs.append(output)
                        break
                else:
                    return None
            ask, answer = yield from to_ask(inner, tuple(outputs))
        return answer

    return steps


def party_domains(inputs: Mapping[str, Iterable[Any]]) -> dict[str, DeclaredDomain]:
    """Return the declared inputs ("Alice", x) and ("Bob", y) of users whose role is known.

    Args:
        inputs: {"Alice": possible x, "Bob": possible y}, at least one of each.

    Raises:
        ArgumentError: on other roles, or on a role without inputs.

    Example:
        >>> party_domains({"Alice": (0, 1), "Bob": (5,)})["Alice"].settle(("Alice", 7))
        ('Alice', 0)
    """
    if not isinstance(inputs, Mapping) or set(inputs) != set(PARTIES):
        raise ArgumentError(
            "inputs", "a mapping of 'Alice' and 'Bob' to their possible inputs", "another one"
        )
    listed = {role: check_domain(inputs[role], "inputs") for role in PARTIES}
    return {role: DeclaredDomain((role, value) for value in values) for role, values in listed.items()}


def settle_party(x: Any, domains: Mapping[str, DeclaredDomain]) -> Any:
    """Return the declared input (role, value) that a user with a role of its own plays: a total map.

    Args:
        x: what the user holds.
        domains: of :func:`party_domains`. An undeclared value becomes the first one of its role; a user
            without one of the two roles plays the first declared input of Alice.

    Example:
        >>> domains = party_domains({"Alice": (0, 1), "Bob": (5, 6)})
        >>> [settle_party(x, domains) for x in (("Bob", 6), ("Bob", 0), ("Carol", 1), None)]
        [('Bob', 6), ('Bob', 5), ('Alice', 0), ('Alice', 0)]
    """
    try:
        role, _ = role_and_value(x)
    except ArgumentError:
        role = None
    return domains[role if role in PARTIES else PARTIES[0]].settle(x)


@dataclass(frozen=True)
class SettledBit(BitKernel):
    """One bit of a kernel for declared inputs, for users who may hold anything.

    Args:
        kernel: answers every declared input.
        domains: of :func:`party_domains`.

    Proof note. Every input is first mapped to a declared one, as a function of itself alone, and that one is
    answered. Conclusion: the worst ratio over all inputs is the kernel's over the declared ones, and no input
    is refused.

    Example:
        >>> from geomdp.local.kernels import RoleRR
        >>> bit = SettledBit(RoleRR("Alice", Fraction(3)), party_domains({"Alice": (1, 0), "Bob": (0,)}))
        >>> bit.law(("Alice", "text")) == bit.law(("Alice", 1)) != bit.law(("Bob", "text"))
        True
    """

    kernel: BitKernel
    domains: Mapping[str, DeclaredDomain]

    def weights(self, x: Any) -> tuple[int, ...]:
        """Return the weights of 0 and 1 at the declared input that x is settled to."""
        return self.kernel.weights(settle_party(x, self.domains))


def settled(kernel: BitKernel, domains: Mapping[str, DeclaredDomain] | None) -> BitKernel:
    """Return the kernel after a declaration of inputs; without one, the kernel itself."""
    return kernel if domains is None else SettledBit(kernel, domains)


def to_ask(inner: Steps, outcome: Any) -> Generator[Coin, Any, tuple[Ask | None, Any]]:
    """Send an outcome to a protocol and pass its public coins on.

    Returns:
        (next round, None), or (None, answer) at the end.
    """
    while True:
        step, answer = advance(inner, outcome)
        if not isinstance(step, Coin):
            return step, answer
        outcome = yield step
