"""The command `learn`: one private classifier from one table.

Every label but the positive one counts as negative, so that no label is a reason to refuse: a misspelt
positive value must not be noticed by looking at records. What guards against it is public. The grid file may
declare the values of the label column, and a --positive that is not declared is refused before the table is
opened. And each run says on stderr how labels are read and which command looks, before it reads any: in the
same words for all tables. Refusals about cells that cannot be read are for the holder of the table; the
classifier is what leaves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from geomdp.cli.app import app
from geomdp.cli.interrupts import remains
from geomdp.cli.labels import check_declared
from geomdp.cli.options import Grid, Json, Label
from geomdp.cli.shared import note, print_json, progress, show
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, TableError, check_fraction
from geomdp.core.sample import Sample

if TYPE_CHECKING:
    from geomdp.learners.estimator_base import Account
    from geomdp.privacy.ledger import Session

_STEP = "classifier"


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
    positive: Annotated[
        str, typer.Option("--positive", help="Label value that counts as +. It need not occur.")
    ],
    epsilon: Annotated[str, typer.Option("--epsilon", help="Privacy budget, e.g. 1, 0.5 or 1/3.")],
    negative: Annotated[
        str | None,
        typer.Option(
            "--negative",
            help="Label value that counts as -. So does every other value but --positive.",
        ),
    ] = None,
    delta: Annotated[
        str,
        typer.Option("--delta", help="delta of (epsilon, delta)-privacy; 0 for pure differential privacy."),
    ] = "0",
    method: Annotated[
        Method,
        typer.Option(
            "--method", help="exponential needs by far the fewest records on any grid that fits here."
        ),
    ] = Method.exponential,
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            help="rigorous certifies an error (exponential: up to 2 features); paper: not exponential.",
        ),
    ] = Mode.validated,
    alpha: Annotated[
        str | None,
        typer.Option(
            "--alpha", help="Error rate that mode rigorous certifies, e.g. 0.1 (needed there only)."
        ),
    ] = None,
    beta: Annotated[str, typer.Option("--beta", help="Failure probability of the promise.")] = "0.1",
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", help="Charge epsilon to this ledger; asking again gives the same answer."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", help="Total that a new ledger may ever spend, e.g. 3 (fixed from then on)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Learn a linear classifier from one table and release it: differentially private for each record.

    The randomness is the operating system's. How well the classifier fits is not told: it would cost budget.

    No label is refused: whatever is not --positive counts as -. If the grid file declares the label's values
    ({"features": [...], "labels": {"kind": ["yes", "no"]}}), --positive and --negative must be among them;
    'geomdp inspect' counts those of your table. Labels are compared as text in a CSV file and as numbers in a
    Parquet column of numbers: --positive 1 meets the label 1.0 in the latter only. A table with a missing
    value, or one that is no number, is refused: the message is for the holder of the table and should not be
    passed on.

    For example

    geomdp learn A.csv --grid g.json --label y --positive 1 --epsilon 1
    """
    from geomdp.learners.estimators import PrivateHalfspaceLearner
    from geomdp.learners.promises import HALFSPACES

    if ledger is None and budget is not None:
        raise ArgumentError("budget", "left out without a ledger", repr(budget), "Add --ledger.")
    if ledger is not None and check_fraction("delta", delta) != 0:
        raise ArgumentError("delta", "0 with a ledger, whose budget is pure", repr(delta))
    domain = Domain.from_grid_file(grid)
    check_declared(grid, label, positive, negative)
    note(reading(label, positive, negative))
    sample = _read(domain, table, label, positive, negative)
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

    def run(account: Account | None) -> dict[str, Any]:
        with progress("learning") as watch:
            learner.fit(X - middle, y, account, watch)
        *a, b = learner.classifier_.weights
        return {
            "method": str(method),
            "mode": str(mode),
            "classifier": {"weights": [*a, b - sum(v * int(c) for v, c in zip(a, middle, strict=True))]},
            "features": [feature.name for feature in features],
            "labels": {"column": label, "positive": positive, "negative": negative, "others": "negative"},
            "n": sample.n,
            "epsilon_spent": float(learner.epsilon_),
            "delta_spent": float(learner.delta_),
            "simulated": learner.simulated_,
            "promise": learner.promise_.replace(f"by {HALFSPACES}", "that the grid file describes"),
            "ledger": [
                {"block": s.block, "m": s.m, "reservoir": s.reservoir, "epsilon": s.after}
                for s in learner.ledger_
            ],
        }

    if ledger is None:
        document = run(None)
    else:
        public = [label, positive, negative, str(method), str(mode), epsilon, delta, alpha, beta]
        question = json.dumps([*public, grid.read_text(encoding="utf-8")])
        document = _charged(run, ledger, budget, sample, question)
    if as_json:
        print_json(document)
        return
    show(*_lines(document))


def reading(label: str, positive: str, negative: str | None) -> str:
    """Return the line that says how labels are read: a function of the command's arguments alone.

    Example:
        >>> print(reading("kind", "yes", None))
        Labels: 'yes' in column 'kind' counts as +, every other value as -, whatever occurs.
        Nothing checks here that 'yes' occurs: to say so would tell of records. See 'geomdp inspect' first.
    """
    named = "every other value as -" if negative is None else f"{negative!r} and every other value as -"
    return (
        f"Labels: {positive!r} in column {label!r} counts as +, {named}, whatever occurs.\n"
        f"Nothing checks here that {positive!r} occurs: to say so would tell of records. "
        "See 'geomdp inspect' first."
    )


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


class _StoredError(Exception):
    """The same question was answered before."""

    def __init__(self, payload: bytes) -> None:
        super().__init__()
        self.payload = payload


class _Charge:
    """One release, charged to a session of a ledger."""

    def __init__(self, session: Session) -> None:
        self.session, self.reserved = session, False

    def spend(self, epsilon: Fraction) -> None:
        """Reserve the loss, durably; raise the stored answer where there is one."""
        stored = self.session.reserve(_STEP, epsilon, request="a classifier")
        if stored is not None:
            raise _StoredError(stored)
        self.reserved = True
        remains("what the ledger was charged stays charged; the same command continues that run")


def _charged(
    run: Callable[[Account | None], dict[str, Any]],
    path: Path,
    budget: str | None,
    sample: Sample,
    question: str,
) -> dict[str, Any]:
    """Run once on a ledger; the same question on the same records gets the stored answer, at no cost.

    Records are the same where their counts on the grid are, which is all that the learner sees.

    The loss is reserved after all refusals and before anything is drawn, and the answer is stored before it
    is shown. A run that fails in between stays charged.
    """
    from geomdp.privacy.ledger import Ledger
    from geomdp.testers.ledgered import records_of

    with Ledger(path, budget=budget) as ledger:
        records = records_of(ledger, sample)
        name = "learn " + hashlib.sha256(f"{question} {records}".encode()).hexdigest()
        with ledger.session(name, records=records) as session:
            charge = _Charge(session)
            try:
                document = run(charge)
            except _StoredError as known:
                document = json.loads(known.payload)
            except Exception:
                if charge.reserved:
                    session.fail(_STEP)
                raise
            else:
                session.store(_STEP, json.dumps(document).encode())
        return document | {"budget": {"spent": str(ledger.spent), "left": str(ledger.left)}}


def _read(domain: Domain, table: Path, label: str, positive: str, negative: str | None) -> Sample:
    """Read a table; messages name the file, never a value in it."""
    from geomdp.core.tables.reading import count_table

    try:
        counts = count_table(
            domain, table, label=label, positive=positive, negative=negative, others_negative=True
        )
    except TableError as error:
        raise TableError(
            error.name, error.requirement, f"{error.got} (in {table.name})", error.mend
        ) from None
    return Sample(domain, counts.cells, counts.positives, counts.negatives, counts.clipped)


def _lines(document: dict[str, Any]) -> list[str]:
    *a, b = document["classifier"]["weights"]
    terms = " ".join(f"{v:+d} [{name}]" for v, name in zip(a, document["features"], strict=True))
    spent = f"epsilon = {document['epsilon_spent']:g}"
    if document["delta_spent"]:
        spent += f", delta = {document['delta_spent']:g}"
    account = document.get("budget")
    return [
        f"+ where {terms} {b:+d} >= 0   ([.] is the level on the grid)",
        f"released with {spent} from {document['n']:,} records by {document['method']}",
        f"accuracy: {document['promise']}",
        *([f"ledger: {account['spent']} spent, {account['left']} left"] if account else []),
    ]
