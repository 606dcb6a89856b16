"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Labels(StrEnum):
    """What labels the two parties hold."""

    mixed = "mixed"
    disjoint = "disjoint"


class Classes(StrEnum):
    """The class of classifiers."""

    auto = "auto"
    halfspaces = "halfspaces"
    thresholds = "thresholds"


Grid = Annotated[
    Path, typer.Option("--grid", help="JSON file of the public grid (features with bounds and levels).")
]
Label = Annotated[str, typer.Option("--label", help="Name of the label column.")]
Positive = Annotated[str, typer.Option("--positive", help="Label value that counts as +.")]
Negative = Annotated[
    str | None, typer.Option("--negative", help="Label value that counts as - (default: the other one).")
]
PrivatePositive = Annotated[
    str, typer.Option("--positive", help="Label value that counts as +. It need not occur.")
]
Epsilon = Annotated[str, typer.Option("--epsilon", help="Each party's privacy budget, e.g. 1, 0.5 or 1/3.")]
Beta = Annotated[str, typer.Option("--beta", help="Largest probability of a wrong answer.")]
LabelsOption = Annotated[Labels, typer.Option("--labels", help="disjoint: Alice holds only -, Bob only +.")]
ClassesOption = Annotated[
    Classes, typer.Option("--classes", help="auto: thresholds on one feature, else halfspaces.")
]
Tolerance = Annotated[int, typer.Option("--tolerance", help="Mistakes that still count as a match (t0).")]
Thorough = Annotated[
    bool,
    typer.Option(
        "--thorough", help="Also plan the tilted testers, and measure elimination's menus (slower)."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]
