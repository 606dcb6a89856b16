"""A party: its own sample, its own randomness, its own budget, and nothing of the other's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from geomdp.core.errors import ProtocolError
from geomdp.protocol.transcript import Message, Transcript

if TYPE_CHECKING:
    from geomdp.core.sample import Sample
    from geomdp.privacy.budget import Budget
    from geomdp.privacy.sampler import Sampler


class Party:
    """One side of a protocol.

    Testers derive their parties from this class; a turn method takes the transcript (public parameters
    and the messages so far) and returns one message through :meth:`release`, which charges the budget
    before the message exists. A party never receives the other party's object.

    Attributes:
        name: "Alice" or "Bob".
        sample: this party's records.
        sampler: this party's source of randomness (secure, or simulated and marked so).
        budget: this party's exact privacy budget.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> from geomdp.core.sample import Sample
        >>> from geomdp.privacy.budget import Budget
        >>> from geomdp.privacy.sampler import SimSampler
        >>> S = Sample.from_cells(Domain.line(4), [1, 2], [1, -1])
        >>> party = Party("Alice", S, SimSampler(0), Budget(1))
        >>> party.reserve(Fraction(1, 3))
        >>> party.release("count", {"value": 7}, Fraction(1, 3)).sender, party.budget.left
        ('Alice', Fraction(2, 3))
    """

    def __init__(self, name: str, sample: Sample, sampler: Sampler, budget: Budget) -> None:
        self.name, self.sample, self.sampler, self.budget = name, sample, sampler, budget

    def reserve(self, epsilon: Fraction) -> None:
        """Charge epsilon, a privacy loss, to the budget; call this before drawing the noise of a release.

        Raises:
            BudgetError: when the budget does not cover it; nothing is charged and nothing drawn.
        """
        self.budget.spend(epsilon)

    def release(self, kind: str, payload: Mapping[str, Any], epsilon: Fraction) -> Message:
        """Return a message of a kind, with its payload; its privacy loss epsilon was reserved before."""
        return Message(self.name, kind, payload, epsilon)


def integers(message: Message, key: str, length: int, bound: int = 2**53) -> list[int]:
    """Return a list of integers from a counterpart's message after checking its form.

    Args:
        message: the counterpart's message.
        key: payload entry.
        length: the public length that the list must have.
        bound: largest absolute value accepted.

    Raises:
        ProtocolError: when the entry is missing, has another length or holds anything else.

    Example:
        >>> integers(Message("Bob", "net", {"v": [1, -2]}, Fraction(0)), "v", 2)
        [1, -2]
    """
    values = message.payload.get(key)
    good = isinstance(values, list) and len(values) == length
    if not good or not all(type(v) is int and abs(v) <= bound for v in values or ()):
        raise ProtocolError(
            f"Message '{message.kind}' must hold '{key}': {length} integers of size at most {bound}."
        )
    return list(values or ())


def within(values: Iterable[Any], bound: int) -> list[int]:
    """Return noisy integers, each moved to the nearest one of size at most `bound`.

    Applied to a value that is already private, so it costs nothing; it makes every own message fit its public
    schema, whatever the records and the noise are.

    Args:
        values: integers, private already.
        bound: largest size of an entry of the message.

    Returns:
        As many integers between -bound and bound.

    Example:
        >>> within([-7, 2, 2**70], 5)
        [-5, 2, 5]
    """
    return [max(-bound, min(bound, int(value))) for value in values]


def converse(transcript: Transcript, message: Message) -> Message:
    """Record a message and return it: the in-process channel between two parties."""
    transcript.append(message)
    return message
