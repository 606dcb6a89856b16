"""Laws on finitely many outputs: the base of all kernels, and rounding of e^epsilon to the safe side."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, ProtocolError, check_fraction, describe
from geomdp.privacy.enclosure import exp_neg

_UNIT = 48  # binary digits after the point of a rounded e^epsilon


def odds(epsilon: Fraction | int | float | str) -> Fraction:
    """Return a rational just below e^epsilon: a multiple of 2^-48, short of it by less than 2^-46.

    Rounding is to the safe side: a kernel whose probabilities differ by a factor of at most the returned
    number is epsilon-DP.

    Args:
        epsilon: privacy loss, 0 < epsilon <= 100.

    Returns:
        The rational, at least 1.

    Raises:
        ArgumentError: when epsilon is not such a number.

    Example:
        >>> r = odds(1)
        >>> (r <= Fraction("2.718281828459045235361"), Fraction("2.718281828459045") - r < Fraction(1, 2**46))
        (True, True)
    """
    loss = check_fraction("epsilon", epsilon)
    if not 0 < loss <= 100:
        raise ArgumentError("epsilon", "a number with 0 < epsilon <= 100", describe(loss))
    bits = 2 * math.ceil(loss * 3 / 2) + _UNIT + 16
    _, high = exp_neg(loss.numerator, loss.denominator, bits)
    return max(Fraction((1 << bits + _UNIT) // high, 1 << _UNIT), Fraction(1))


def log_up(ratio: Fraction | float) -> float:
    """Return the logarithm of a ratio >= 1 (or infinity), rounded up by a few units in the last place.

    Only the ratio 1 has the loss 0: what exceeds it by less than floats can hold gets the smallest float.

    Raises:
        ArgumentError: on a ratio below 1, or not a number.

    Example:
        >>> (log_up(Fraction(1)), log_up(math.inf), 0 <= log_up(Fraction(2)) - math.log(2) < 1e-14)
        (0.0, inf, True)
        >>> log_up(1 + Fraction(1, 10**330)) > 0
        True
    """
    if not ratio >= 1:
        raise ArgumentError("ratio", "a number >= 1", describe(ratio))
    if ratio == 1 or ratio == math.inf:
        return 0.0 if ratio == 1 else math.inf
    exact = Fraction(ratio)
    if exact < 2:
        value = math.log1p((exact.numerator - exact.denominator) / exact.denominator)
    else:
        value = math.log(exact.numerator) - math.log(exact.denominator)
        value += 2.0**-51 * math.log(exact.denominator)
    return math.nextafter(value * (1 + 2.0**-50), math.inf)


def check_ratio(ratio: object, name: str = "ratio") -> Fraction:
    """Return a probability ratio as a Fraction >= 1.

    Raises:
        ArgumentError: otherwise.
    """
    value = check_fraction(name, ratio)
    if value < 1:
        raise ArgumentError(name, "a number >= 1", describe(value), "odds(epsilon) gives e^epsilon, rounded.")
    return value


def check_probability(name: str, value: object) -> Fraction:
    """Return a probability as a Fraction in [0, 1].

    Raises:
        ArgumentError: otherwise.
    """
    number = check_fraction(name, value)
    if not 0 <= number <= 1:
        raise ArgumentError(name, "a probability between 0 and 1", describe(number))
    return number


class Dice(Protocol):
    """What a kernel needs to draw: fair integers; every sampler of the package is one.

    Attributes:
        simulated: True if the values are reproducible, and hence protect nobody.
    """

    @property
    def simulated(self) -> bool:
        """True if the values are reproducible."""
        ...

    def uniform(self, bound: int) -> int:
        """Return an integer uniform on 0..bound-1."""
        ...


def draw(weights: Sequence[int], dice: Dice) -> int:
    """Return an index drawn with the given integer weights, exactly.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> draw((0, 3, 0), SimSampler(1))
        1
    """
    drawn = dice.uniform(sum(weights))
    for index, weight in enumerate(weights):
        drawn -= weight
        if drawn < 0:
            return index
    raise AssertionError  # a fair integer is below the sum


class Kernel(ABC):
    """A map from inputs to laws on a finite set of outputs.

    Proof note. Precondition: the output is drawn by :meth:`sample` and the user's input lies in the declared
    domain. For a fixed output, replacing the input changes its probability by a factor of at most
    :meth:`worst_ratio`, which is the exact maximum over all pairs of inputs and all outputs. Conclusion: one
    answer is log(worst_ratio)-DP in the user's input.

    Attributes:
        outputs: the possible answers, in a fixed public order.
    """

    @property
    @abstractmethod
    def outputs(self) -> tuple[Any, ...]:
        """The possible answers, in a fixed public order."""

    @abstractmethod
    def weights(self, x: Any) -> tuple[int, ...]:
        """Return integers >= 0 proportional to the probabilities of `outputs` for input x."""

    @final
    def checked(self, x: Any) -> tuple[int, ...]:
        """Return the weights of input x, checked; all laws, losses and answers come from here.

        Raises:
            ProtocolError: when these are not integers >= 0, one per output and not all 0. The message holds
                neither the weights nor the input.
        """
        return check_weights(self.weights(x), len(self.outputs))

    def probabilities(self, x: Any) -> tuple[Fraction, ...]:
        """Return the exact probabilities of `outputs` for input x."""
        return _normalised(self.checked(x))

    def law(self, x: Any) -> dict[Any, Fraction]:
        """Return output -> exact probability for input x; zero probabilities included."""
        return dict(zip(self.outputs, self.probabilities(x), strict=True))

    def pmf(self, x: Any) -> NDArray[np.float64]:
        """Return the probabilities of `outputs` for input x as floats: for plots and simulations."""
        return np.array([float(p) for p in self.probabilities(x)])

    def worst_ratio(self, domain: Iterable[Any]) -> Fraction | float:
        """Return max P(y | x) / P(y | x') over all inputs x, x' of the domain and all outputs y.

        Args:
            domain: every input that a user may hold; at least one.

        Returns:
            A Fraction >= 1, or math.inf if some output is possible for one input only.

        Raises:
            ArgumentError: when the domain is empty.
        """
        rows = {self.probabilities(x) for x in domain}
        if not rows:
            raise ArgumentError("domain", "at least one input", "empty")
        return max((ratio_of(column) for column in zip(*rows, strict=True)), default=Fraction(1))

    def loss(self, domain: Iterable[Any]) -> float:
        """Return the privacy loss over the domain, log(worst_ratio) rounded up."""
        return log_up(self.worst_ratio(domain))

    def full_support(self, domain: Iterable[Any]) -> bool:
        """Return whether every output has a positive probability for every input of the domain."""
        return all(all(self.checked(x)) for x in domain)

    @final
    def sample(self, x: Any, dice: Dice) -> Any:
        """Return one answer for input x, drawn exactly with dice: an integer below the sum of the weights."""
        return self.outputs[draw(self.checked(x), dice)]


def role_and_value(x: Any) -> tuple[str | None, Any]:
    """Return the role and the value of an input (role, value); a role that is no text is None.

    Roles are compared with texts, so that no role has a comparison of its own.

    Raises:
        ArgumentError: unless ``x`` is a pair; the message does not show it.

    Example:
        >>> role_and_value(("Alice", 3)), role_and_value((7, 3))
        (('Alice', 3), (None, 3))
    """
    try:
        if isinstance(x, tuple):
            role, value = x
            return (str.__str__(role) if isinstance(role, str) else None), value
    except Exception:  # noqa: S110 - no pair, or one with an error of its own
        pass
    raise ArgumentError("x", "a pair (role, value)", "something else")


class BitKernel(Kernel):
    """A kernel whose answer is one bit."""

    @property
    @final
    def outputs(self) -> tuple[Any, ...]:
        """The bits 0 and 1."""
        return (0, 1)


def check_weights(weights: Sequence[int], size: int) -> tuple[int, ...]:
    """Return one row of weights as a tuple of integers.

    Raises:
        ProtocolError: unless these are `size` integers >= 0, not all 0. Floats have no exact law.

    Example:
        >>> check_weights([np.int64(3), 0], 2)
        (3, 0)
    """
    try:
        row = tuple(map(operator.index, weights))
    except TypeError:
        row = ()
    if len(row) != size or min(row, default=-1) < 0 or not any(row):
        raise ProtocolError("A kernel must give one weight >= 0 to each output: integers, not all 0.")
    return row


def ratio_of(probabilities: Iterable[Fraction]) -> Fraction | float:
    """Return the largest ratio of two likelihoods of one event: 1 if all are 0, inf if only some are.

    Example:
        >>> (ratio_of([Fraction(1, 2), Fraction(1, 3)]), ratio_of([Fraction(0), Fraction(1)]))
        (Fraction(3, 2), inf)
    """
    values = list(probabilities)
    high, low = max(values), min(values)
    if high == 0:
        return Fraction(1)
    return high / low if low else math.inf


@lru_cache(maxsize=4096)
def _normalised(weights: tuple[int, ...]) -> tuple[Fraction, ...]:
    total = sum(weights)
    return tuple(Fraction(weight, total) for weight in weights)
