"""The error hierarchy, and the checks of arguments that every room shares.

Every message has one grammar, ``Argument 'x' must be R, not GOT.``, followed by how to mend it.
``GOT`` describes the argument that the caller wrote (a parameter, a column name, a shape); it never
holds a value taken from private data.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from numbers import Integral, Rational, Real


class GeomdpError(Exception):
    """Base class of every error that geomdp raises on purpose.

    Example:
        >>> from geomdp import Domain
        >>> try:
        ...     Domain.line(1)
        ... except GeomdpError as error:
        ...     print(error)
        Argument 'm' must be an integer >= 2, not 1.
    """


class ArgumentError(GeomdpError, ValueError):
    """An argument does not meet its requirement.

    Args:
        name: the argument's name as the caller knows it.
        requirement: what it must be, completing "must be ...".
        got: what it was, completing "not ..."; public facts only.
        mend: one sentence saying how to repair the call.

    Example:
        >>> error = ArgumentError("n", "an integer >= 1", 0, "Count the records.")
        >>> str(error), isinstance(error, ValueError)
        ("Argument 'n' must be an integer >= 1, not 0. Count the records.", True)
    """

    def __init__(self, name: str, requirement: str, got: object, mend: str = "") -> None:
        self.name, self.requirement, self.got, self.mend = name, requirement, str(got), mend
        text = f"Argument '{name}' must be {requirement}, not {got}."
        super().__init__(f"{text} {mend}" if mend else text)


class TableError(ArgumentError):
    """A table cannot be read as labelled records on the grid.

    Example:
        >>> from geomdp import Domain, Sample, data
        >>> D = Domain.from_grid_file(data.path("penguins/grid8.json"))
        >>> try:
        ...     Sample.from_table(D, data.path("penguins/adelie_gentoo.csv"), label="sort", positive="Gentoo")
        ... except TableError as error:
        ...     print(error.name)
        label
    """


class CapacityError(ArgumentError):
    """A request is sure to exceed the stated size; the message holds the estimate.

    Example:
        >>> from geomdp import Domain
        >>> try:
        ...     Domain.line(2**64).points
        ... except CapacityError as error:
        ...     print(error.got)
        about 2^64 of them
    """


class InfeasibleError(ArgumentError):
    """No tester guarantees anything at this n and epsilon.

    Example:
        >>> from geomdp import Domain, Sample
        >>> from geomdp.testers.base import Setting
        >>> from geomdp.testers.curator import Curator
        >>> from geomdp.testers.plan import PlanRow
        >>> S = Sample.from_cells(Domain.line(64), [1], [1])
        >>> try:
        ...     PlanRow(Curator(Setting(S.domain, 1, 1, 1, classes="thresholds"))).run(S, S)
        ... except InfeasibleError as error:
        ...     print(error.name, error.requirement)
        n large enough for resolution 3 of tester 'curator'
    """


class CertificateError(GeomdpError, ValueError):
    """A certificate fails to verify; the message names the step.

    Example:
        >>> from geomdp import Certificate
        >>> try:
        ...     Certificate.from_json("[]")
        ... except CertificateError as error:
        ...     str(error).startswith("Certificate: ")
        True
    """


class ProtocolError(GeomdpError, RuntimeError):
    """A message of the counterpart is malformed, out of turn or out of range.

    Example:
        >>> from geomdp.protocol.schema import Integer, Schema
        >>> from geomdp.protocol.transcript import Message
        >>> try:
        ...     form = Schema("count", {"value": Integer(-9, 9)}, Fraction(1))
        ...     form.check(Message("Bob", "sum", {}, Fraction(1)), "Bob")
        ... except ProtocolError as error:
        ...     print(error)
        The next message must be 'count' from Bob.
    """


class BudgetError(GeomdpError, RuntimeError):
    """A release would exceed a party's privacy budget; nothing was drawn.

    Example:
        >>> from geomdp.privacy.budget import Budget
        >>> budget = Budget(1)
        >>> try:
        ...     budget.spend(2)
        ... except BudgetError:
        ...     print(budget.spent)
        0
    """


class MissingExtraError(GeomdpError, ImportError):
    """An optional dependency is missing; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"The package '{package}' is not installed. Install it with: pip install 'geomdp[{extra}]'"
        )


def describe(value: object) -> str:
    """Return a short public description of an argument for an error message."""
    if isinstance(value, (int, Fraction)) and max(abs(value.numerator), value.denominator) >= 2**256:
        return "a number of very many digits"  # more than Python prints, perhaps
    if value is None or isinstance(value, (bool, int, float, Fraction)):
        text = str(value)
        return text if len(text) <= 40 else f"{text[:37]}..."
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    return f"a {type(value).__name__}"


def check_fraction(name: str, value: object) -> Fraction:
    """Return a rational number exactly; a float is read as the decimal that it prints as.

    Args:
        name: argument name for the message.
        value: int, Fraction, Decimal-like string ("0.1", "1/3") or finite float.

    Returns:
        The number as a Fraction; ``0.1`` gives 1/10, not the nearest binary fraction.

    Raises:
        ArgumentError: when it is not a finite number.

    Example:
        >>> check_fraction("epsilon", 0.1) == Fraction(1, 10)
        True
    """
    requirement = "a finite number (int, Fraction, float or text such as '0.5' or '1/3')"
    if isinstance(value, bool) or not isinstance(value, (Real, str)):
        raise ArgumentError(name, requirement, describe(value))
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Real):
        if not math.isfinite(float(value)):
            raise ArgumentError(name, requirement, describe(float(value)))
        return Fraction(repr(float(value)))
    if not is_plain(str(value)) or len(str(value)) > 100 or re.search(r"[eE][+-]?\d{4}", str(value)):
        raise ArgumentError(name, requirement, describe(value))
    try:
        return Fraction(str(value).strip())
    except (ValueError, ZeroDivisionError):
        raise ArgumentError(name, requirement, describe(value)) from None


def is_plain(text: str) -> bool:
    """Return False for texts that Python reads as numbers and people may not: "1_0", digits of other scripts.

    Example:
        >>> is_plain("10"), is_plain("1_0"), is_plain("\N{FULLWIDTH DIGIT ONE}")
        (True, False, False)
    """
    return text.isascii() and "_" not in text


def check_epsilon(value: object, name: str = "epsilon") -> Fraction:
    """Return a privacy budget as an exact Fraction between 10^-6 and 100.

    Raises:
        ArgumentError: when it is not a finite number with 10^-6 <= epsilon <= 100.

    Example:
        >>> check_epsilon("1/3")
        Fraction(1, 3)
    """
    epsilon = check_fraction(name, value)
    if not Fraction(1, 10**6) <= epsilon <= 100:
        raise ArgumentError(
            name, f"a number with 0.000001 <= {name} <= 100", describe(value), "Typical budgets are 0.1 to 4."
        )
    return epsilon


def check_beta(value: object, name: str = "beta") -> Fraction:
    """Return a failure probability as an exact Fraction between 10^-300 and 1 - 10^-12.

    Outside that range neither it nor its complement keeps its digits as a float, which guides every search.

    Raises:
        ArgumentError: when it is not a finite number with 10^-300 <= beta <= 1 - 10^-12.

    Example:
        >>> check_beta(0.1)
        Fraction(1, 10)
    """
    beta = check_fraction(name, value)
    if not Fraction(1, 10**300) <= beta <= 1 - Fraction(1, 10**12):
        raise ArgumentError(
            name,
            f"a number with 1e-300 <= {name} <= 1 - 1e-12",
            describe(value),
            "The usual choice is 0.1.",
        )
    return beta


def check_integer(name: str, value: object, lower: int, upper: int | None = None) -> int:
    """Return an integer argument inside [lower, upper].

    Raises:
        ArgumentError: when it is not an integer, or outside the range.

    Example:
        >>> check_integer("levels", 16, 2)
        16
    """
    requirement = f"an integer >= {lower}" + ("" if upper is None else f" and <= {upper}")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ArgumentError(name, requirement, describe(value))
    number = int(value)
    if number < lower or (upper is not None and number > upper):
        raise ArgumentError(name, requirement, describe(number))
    return number


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return a text argument that is one of the listed choices.

    Raises:
        ArgumentError: otherwise; the message lists the choices.

    Example:
        >>> check_choice("labels", "mixed", ("mixed", "disjoint"))
        'mixed'
    """
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(name, "one of " + ", ".join(map(repr, choices)), describe(value))
    return value
