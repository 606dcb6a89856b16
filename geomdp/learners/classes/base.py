"""What a learner and a relabelling ask of a class whose hypotheses are fixed component by component."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError
from geomdp.learners.blocks import Blocks
from geomdp.learners.domains import OrderedDomain
from geomdp.privacy.sampler import Sampler

#: One component: a rational, or (w, a_1) where two coordinates are chosen together.
Component = Fraction | tuple[Fraction, ...]
Labels = NDArray[np.int8]
Progress = Callable[[float], None] | None


class Labelling(NamedTuple):
    """One labelling of the rows of a table, and who realises it.

    Attributes:
        labels: +1 or -1 for every row.
        witness: all components of one hypothesis with these labels; it starts with the prefix.
    """

    labels: Labels
    witness: tuple[Component, ...]


class Survey(Protocol):
    """The candidates of a relabelling: each labelling of certain rows once, with an integer score."""

    def select(self, epsilon: Fraction, sampler: Sampler) -> Labelling:
        """Draw a candidate z with probability proportional to exp(epsilon score(z) / 2), exactly."""

    def candidates(self) -> Iterator[tuple[Labelling, int]]:
        """Yield every candidate once with its score."""


class PrefixClass(Protocol):
    """The hypotheses whose first components are a given prefix.

    Records are rows of integers with labels +1 or -1. All answers are exact and defined on every input,
    realizable or not.

    Attributes:
        prefix: the components chosen so far.
        k: the number of components of a complete hypothesis.
    """

    @property
    def prefix(self) -> tuple[Component, ...]:
        """The components chosen so far."""

    @property
    def k(self) -> int:
        """The number of components of a complete hypothesis."""

    def extend(self, y: Component) -> PrefixClass:
        """Return the class of the prefix with one more component."""

    def domain(self) -> OrderedDomain:
        """Return the ordered domain whose ranks the objective's blocks hold."""

    def component(self, index: int) -> Component:
        """Return the next component that a rank of the domain stands for."""

    def objective(self, X: NDArray[Any], y: NDArray[Any]) -> Blocks:
        """Return the completion score of every choice of the next component, of sensitivity one."""

    def labelings(self, X: NDArray[Any], y: NDArray[Any] | None = None) -> Survey:
        """Return all labelings of the rows, scored by agreement with the rows that have y != 0."""

    def carrier_labelings(self, X: NDArray[Any], y: NDArray[Any]) -> Survey:
        """Return all labelings of the rows with y = 0, scored by the best agreement with the other rows."""

    def growth(self, m: int) -> int:
        """Return a bound on the number of labelings of m rows."""

    def predict(self, coords: tuple[Component, ...], X: NDArray[Any]) -> Labels:
        """Return the labels that a complete hypothesis gives."""

    def realizes(self, X: NDArray[Any], y: NDArray[Any]) -> tuple[Component, ...] | None:
        """Return a hypothesis of the class with these labels, or None if there is none."""


@runtime_checkable
class Limited(Protocol):
    """A prefix class that cannot handle samples of every size."""

    def admit(self, m: Sequence[int], method: str, *, initial: bool) -> None:
        """Raise CapacityError where a run with samples of these sizes is more than the class can handle.

        Called on the class with an empty prefix, before any record is read: the sizes, the relabelling and
        whether the first sample is relabelled are public. Later refusals would tell something of records.
        """


def check_rows(X: Any, features: int) -> list[tuple[int, ...]]:
    """Return the records as tuples of Python integers.

    Raises:
        ArgumentError: when X is not a table of integers with the stated number of columns.

    Example:
        >>> check_rows([[1, 2], [3, 4]], 2)
        [(1, 2), (3, 4)]
    """
    table = np.asarray(X)
    if table.size == 0 and table.ndim <= 2 and (table.ndim < 2 or table.shape[0] == 0):
        return []
    if table.ndim != 2 or table.shape[1] != features:
        raise ArgumentError("X", f"a table with {features} column(s)", f"of shape {table.shape}")
    if table.dtype.kind not in "iuO":
        raise ArgumentError("X", "a table of integers", f"of type {table.dtype}")
    try:
        return [tuple(value.__index__() for value in row) for row in table.tolist()]
    except AttributeError:
        raise ArgumentError("X", "a table of integers", "one with other values") from None


def check_labels(y: Any, n: int, *, zero: bool = False) -> list[int]:
    """Return n labels as Python integers: +1 and -1, and 0 for unlabelled rows where that is allowed.

    Raises:
        ArgumentError: otherwise.
    """
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ArgumentError("y", f"one label for each of the {n} rows", f"of shape {labels.shape}")
    listed: list[int] = labels.tolist()
    if not set(listed) <= ({-1, 0, 1} if zero else {-1, 1}):
        raise ArgumentError("y", "of labels +1 and -1", "an array with other values")
    return [int(label) for label in listed]
