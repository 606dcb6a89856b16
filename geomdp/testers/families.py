"""Families of datasets of growing conflict, on which the power of a tester is simulated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, CapacityError, check_choice, check_integer
from geomdp.core.sample import Sample
from geomdp.testers.base import Setting, check_samples

#: Domains with more points are represented by this many evenly spaced ones.
_LISTED = 2**16


class Family(Protocol):
    """Pairs of samples that grow in conflict; a member is determined by its size and the seed."""

    @property
    def name(self) -> str:
        """What the conflicts look like."""
        ...

    def size_for(self, opt: int) -> int:
        """Return a size at which the optimum should be near `opt`."""
        ...

    def pair(self, setting: Setting, size: int, rng: np.random.Generator) -> tuple[Sample, Sample]:
        """Return Alice's and Bob's samples."""
        ...


def exact_opt(setting: Setting, S_A: Sample, S_B: Sample) -> int:
    """Return opt of two samples.

    Raises:
        CapacityError: when the solver does not close its bounds.
    """
    from geomdp.opt.halfspace import opt_halfspace
    from geomdp.opt.threshold import opt_threshold

    solve = opt_threshold if setting.classes == "thresholds" else opt_halfspace
    result = solve(S_A, S_B)
    if not result.optimal:
        raise CapacityError("family", "one whose optimum is found", "one where the solver stopped early")
    return int(result.upper)


@dataclass(frozen=True)
class Pairs:
    """Conflicting pairs: at one cell Alice holds a record labelled -1 and Bob one labelled +1.

    Every classifier errs on exactly one record of each pair, and one classifier errs on nothing else, so opt
    is the number of pairs wherever they lie. What differs is how many classifiers come close to opt: all
    of those that are right on the other records. A pair cancels in the sum of net counts, so testers that
    read only this sum cannot tell where it lies; others can.

    Attributes:
        where: "cell" (all pairs at one central cell), "spread" (one after the other over all cells) or
            "random" (cells drawn with replacement).
        base: where the other records lie: "corner" (each party's at one cell, so that about half of all
            classifiers, or with disjoint labels many, are right on them) or "even" (all cells alike, so that
            few classifiers are).

    Raises:
        ArgumentError: unless ``where`` is "cell", "spread" or "random" and ``base`` is "corner" or "even".

    Example:
        >>> D = Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)])
        >>> setting = Setting(D, 100, 90, 1)
        >>> A, B = Pairs("spread").pair(setting, 20, np.random.default_rng(0))
        >>> (A.n, B.n, exact_opt(setting, A, B))
        (100, 90, 20)
    """

    where: str = "cell"
    base: str = "corner"

    def __post_init__(self) -> None:
        check_choice("where", self.where, ("cell", "spread", "random"))
        check_choice("base", self.base, ("corner", "even"))

    @property
    def name(self) -> str:
        """What the conflicts look like."""
        place = {"cell": "in one cell", "spread": "over all cells", "random": "in random cells"}[self.where]
        return (
            f"conflicting pairs {place}, other records {'in a corner' if self.base == 'corner' else 'even'}"
        )

    def size_for(self, opt: int) -> int:
        """Return opt."""
        return opt

    def pair(self, setting: Setting, size: int, rng: np.random.Generator) -> tuple[Sample, Sample]:
        """Return samples with `size` pairs, opt = size.

        Raises:
            ArgumentError: unless ``size`` is an integer between 0 and the smaller party's number of records.
        """
        k = check_integer("size", size, 0, setting.n)
        cells, labels = reference(setting)
        if self.where == "cell":
            chosen = [cells[len(cells) // 2]] * k
        elif self.where == "spread":
            chosen = [
                cells[i * len(cells) // k] if k < len(cells) else cells[i % len(cells)] for i in range(k)
            ]
        else:
            chosen = [cells[i] for i in rng.integers(0, len(cells), k)]
        samples = []
        for name, n, label in (("Alice", setting.n_alice, -1), ("Bob", setting.n_bob, 1)):
            places, signs = base_records(setting, self.base, name, cells, labels)
            each, more = divmod(n - k, len(places))
            rest = [(places[i], signs[i], each + (i < more)) for i in range(len(places))]
            samples.append(counted(setting.domain, [(cell, label, 1) for cell in chosen] + rest))
        return samples[0], samples[1]


@dataclass(frozen=True)
class RandomLabels:
    """Records at random cells with labels tossed by a coin; all others lie in a corner.

    With disjoint labels the owner decides the label, and only the cells are random.

    Example:
        >>> setting = Setting(Domain.line(50), 100, 100, 1, classes="thresholds")
        >>> A, B = RandomLabels().pair(setting, 60, np.random.default_rng(0))
        >>> (A.n, B.n, 0 < exact_opt(setting, A, B) <= 60)
        (100, 100, True)
    """

    name: str = field(default="random labels at random cells", init=False)

    def size_for(self, opt: int) -> int:
        """Return a little more than twice opt: the best of many classifiers is right on over half."""
        return opt and 2 * opt + int(2 * opt**0.5)

    def pair(self, setting: Setting, size: int, rng: np.random.Generator) -> tuple[Sample, Sample]:
        """Return samples with `size` random records, dealt out in turn.

        Raises:
            ArgumentError: unless ``size`` is an integer between 0 and twice the smaller party's number of
                records.
        """
        k = check_integer("size", size, 0, 2 * setting.n)
        cells, labels = reference(setting)
        samples = []
        for name, n, own in (("Alice", setting.n_alice, (k + 1) // 2), ("Bob", setting.n_bob, k // 2)):
            places, signs = base_records(setting, "corner", name, cells, labels)
            drawn = [cells[i] for i in rng.integers(0, len(cells), own)]
            coins = rng.choice([-1, 1], own).tolist()
            if setting.labels == "disjoint":
                coins = [signs[0]] * own
            records = [(cell, coin, 1) for cell, coin in zip(drawn, coins, strict=True)]
            samples.append(counted(setting.domain, [*records, (places[0], signs[0], n - own)]))
        return samples[0], samples[1]


@dataclass(frozen=True)
class Flips:
    """Given samples, with the labels of some of Bob's records flipped, drawn without replacement.

    Attributes:
        S_A, S_B: the samples; their exact optimum is the curve's first point.
        title: name of the data.

    Example:
        >>> setting = Setting(Domain.line(50), 3, 3, 1, classes="thresholds")
        >>> A, B = (Sample.from_cells(setting.domain, [1, 30, 40], [-1, 1, 1]) for _ in range(2))
        >>> [exact_opt(setting, *Flips(A, B).pair(setting, k, np.random.default_rng(0))) for k in (0, 1)]
        [0, 1]
    """

    S_A: Sample
    S_B: Sample
    title: str = "data"

    @property
    def name(self) -> str:
        """What the conflicts look like."""
        return f"{self.title}, with labels flipped"

    def size_for(self, opt: int) -> int:
        """Return opt."""
        return opt

    def pair(self, setting: Setting, size: int, rng: np.random.Generator) -> tuple[Sample, Sample]:
        """Return Alice's sample as it is and Bob's with `size` labels flipped.

        Raises:
            ArgumentError: where labels are promised to be disjoint, and unless ``size`` is an integer between
                0 and Bob's number of records.
        """
        check_samples(setting, self.S_A, self.S_B)
        if setting.labels == "disjoint":
            raise ArgumentError("family", "one that keeps labels disjoint", "one that flips labels")
        k, S = check_integer("size", size, 0, self.S_B.n), self.S_B
        held = np.concatenate([S.positives, S.negatives])
        flipped = rng.multivariate_hypergeometric(held, k, method="marginals").astype(np.int64)
        up, down = flipped[: len(S.cells)], flipped[len(S.cells) :]
        return self.S_A, Sample(S.domain, S.cells, S.positives - up + down, S.negatives - down + up)


def counted(domain: Domain, placed: list[tuple[Any, int, int]]) -> Sample:
    """Return the sample of records given as (cell, label, how many).

    Example:
        >>> S = counted(Domain.line(9), [(5, 1, 2), (0, -1, 1), (5, -1, 3), (7, 1, 0)])
        >>> S.cells.tolist(), S.positives.tolist(), S.negatives.tolist()
        ([0, 5], [0, 2], [1, 3])
    """
    tally: dict[Any, list[int]] = {}
    for cell, label, count in placed:
        if count:
            tally.setdefault(cell, [0, 0])[label > 0] += count
    cells = sorted(tally)
    minus, plus = (np.array([tally[cell][i] for cell in cells], dtype=np.int64) for i in (0, 1))
    index = np.array(cells, dtype=object if cells and cells[-1] >= 2**63 else np.int64)
    return Sample(domain, index, plus, minus)


def reference(setting: Setting) -> tuple[list[Any], NDArray[np.int64]]:
    """Return cells to put records at, and their labels by one fixed classifier of the class.

    All cells, or evenly spaced ones of a very large domain. The classifier is the threshold at the middle,
    on grids the halfspace across the diagonal, else the coordinate halfspace of the most even split.

    Example:
        >>> cells, labels = reference(Setting(Domain.line(4), 9, 9, 1, classes="thresholds"))
        >>> cells, labels.tolist()
        ([0, 1, 2, 3], [-1, -1, 1, 1])
    """
    domain = setting.domain
    if domain.m <= _LISTED:
        cells: list[Any] = list(range(domain.m))
    else:
        cells = [i * domain.m // _LISTED for i in range(_LISTED)]
    if domain.ordered:
        return cells, np.where(np.arange(len(cells)) >= len(cells) / 2, 1, -1)
    points = domain.points_at(np.array(cells))
    if domain.features is not None:
        middle = -(-sum(axis.levels - 1 for axis in domain.features) // 2)
        return cells, _signs(Halfspace.of([1] * (domain.d - 1) + [-middle]), points)
    unit = np.eye(domain.d, dtype=np.int64)
    halves = (_signs(Halfspace.of(w), points) for w in np.concatenate([unit, -unit]))
    return cells, min(halves, key=lambda signs: abs(int(signs.sum())))


def _signs(classifier: Halfspace, points: NDArray[Any]) -> NDArray[np.int64]:
    return np.asarray(classifier.predict(points), dtype=np.int64)


def base_records(
    setting: Setting, base: str, name: str, cells: list[Any], labels: NDArray[np.int64]
) -> tuple[list[Any], list[int]]:
    """Return places and labels of a party's records that conflict with nothing.

    Raises:
        ArgumentError: when the fixed classifier leaves a party of disjoint labels no place.
    """
    allowed = range(len(cells))
    if setting.labels == "disjoint":
        own = -1 if name == "Alice" else 1
        allowed = [i for i in allowed if labels[i] == own]  # type: ignore[assignment]
        if not allowed:
            raise ArgumentError("domain", "one with a halfspace of either label on it", "another")
    if base == "corner":
        extreme = allowed[0] if setting.labels == "disjoint" and name == "Alice" else allowed[-1]
        return [cells[extreme]], [int(labels[extreme])]
    return [cells[i] for i in allowed], [int(labels[i]) for i in allowed]
