"""The command `learn`: one private classifier from one table."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from geomdp.cli.app import app
from geomdp.cli.options import Grid, Json, Label, Negative, Positive
from geomdp.cli.shared import print_json, progress, show
from geomdp.cli.tables import read
from geomdp.core.domain import Domain
from geomdp.core.sample import Sample


class Method(StrEnum):
    """How the classifier is drawn."""

    exponential = "exponential"
    carrier_boost = "carrier-boost"
    label_boost = "label-boost"


class Mode(StrEnum):
    """How sample sizes are set."""

    validated = "validated"
    rigorous = "rigorous"
    paper = "paper"


@app.command()
def learn(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="Labelled records (CSV or Parquet).")],
    grid: Grid,
    label: Label,
    positive: Positive,
    epsilon: Annotated[str, typer.Option("--epsilon", help="Privacy budget, e.g. 1, 0.5 or 1/3.")],
    negative: Negative = None,
    delta: Annotated[str, typer.Option("--delta", help="0 for pure differential privacy.")] = "0",
    method: Annotated[
        Method,
        typer.Option(
            "--method", help="exponential needs by far the fewest records on any grid that fits here."
        ),
    ] = Method.exponential,
    mode: Annotated[
        Mode, typer.Option("--mode", help="Sample sizes of the component-by-component methods.")
    ] = Mode.validated,
    alpha: Annotated[str | None, typer.Option("--alpha", help="Error that mode rigorous certifies.")] = None,
    beta: Annotated[str, typer.Option("--beta", help="Its failure probability.")] = "0.1",
    as_json: Json = False,
) -> None:
    """Learn a linear classifier from one table and release it: differentially private for each record.

    The randomness is the operating system's. How well the classifier fits is not told: it would cost budget.
    """
    from geomdp.learners.estimators import PrivateHalfspaceLearner

    domain = Domain.from_grid_file(grid)
    (sample,) = read(domain, [table], label, positive, negative)
    X, y = records(sample)
    features = domain.features or ()
    middle = np.array([feature.levels // 2 for feature in features], dtype=np.int64)
    learner = PrivateHalfspaceLearner(
        epsilon,
        delta,
        str(method),
        int(middle.max()),
        mode=str(mode),
        alpha=alpha,
        beta=beta,
    )
    with progress("learning") as watch:
        learner.fit(X - middle, y, progress=watch)
    *a, b = learner.classifier_.weights
    weights = [*a, b - sum(v * int(c) for v, c in zip(a, middle, strict=True))]
    document = {
        "method": str(method),
        "mode": str(mode),
        "classifier": {"weights": weights},
        "features": [feature.name for feature in features],
        "n": sample.n,
        "epsilon_spent": float(learner.epsilon_),
        "delta_spent": float(learner.delta_),
        "simulated": learner.simulated_,
        "promise": learner.promise_,
        "ledger": [
            {"block": s.block, "m": s.m, "reservoir": s.reservoir, "epsilon": s.after}
            for s in learner.ledger_
        ],
    }
    if as_json:
        print_json(document)
        return
    show(*_lines(document))


def records(sample: Sample) -> tuple[Any, Any]:
    """Return (n, r) levels and (n,) labels of a sample: positives of each cell first, cells ascending.

    Example:
        >>> grid = Domain.grid([("x", 0, 3, 4)])
        >>> X, y = records(Sample.from_cells(grid, [1, 3, 1], [1, -1, 1]))
        >>> X.tolist(), y.tolist()
        ([[1], [1], [3]], [1, 1, -1])
    """
    levels = sample.points[:, :-1]
    counts = np.column_stack([sample.positives, sample.negatives]).ravel()
    X = np.repeat(np.repeat(levels, 2, axis=0), counts, axis=0)
    y = np.repeat(np.tile(np.array([1, -1], dtype=np.int8), len(levels)), counts)
    return X, y


def _lines(document: dict[str, Any]) -> list[str]:
    *a, b = document["classifier"]["weights"]
    terms = " ".join(f"{v:+d} [{name}]" for v, name in zip(a, document["features"], strict=True))
    spent = f"epsilon = {document['epsilon_spent']:g}"
    if document["delta_spent"]:
        spent += f", delta = {document['delta_spent']:g}"
    return [
        f"+ where {terms} {b:+d} >= 0   ([.] is the level on the grid)",
        f"released with {spent} from {document['n']:,} records by {document['method']}",
        f"accuracy: {document['promise']}",
    ]
