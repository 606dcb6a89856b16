"""The rounds of halfspace elimination as pictures: what the candidates that are left say of each cell.

Everything is computed from the public transcript (:mod:`geomdp.testers.replay`); no record is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.testers.base import Outcome
from geomdp.testers.elimination import HalfspaceElimination
from geomdp.testers.replay import Replay, Step, replay

#: Products of candidates and cells that one picture may take.
MOST_PRODUCTS = 2 * 10**8
_BLOCK = 2**22
#: The testers whose runs can be replayed, with their constants.
CONSTANTS = {"halfspace-elimination": "calibrated", "halfspace-elimination-paper": "paper"}


@dataclass(frozen=True)
class Stage:
    """What was left at one moment of a run.

    Attributes:
        label: the moment, in words.
        left: number of candidates.
        shares: (m,) share of them that say +, minus the share that say -; None if there are none or too many.
    """

    label: str
    left: int
    shares: NDArray[np.float64] | None


def replayed(outcome: Outcome) -> Replay | None:
    """Return the rounds of an outcome of halfspace elimination; None for any other tester.

    The tester is a pure function of the public setting, so it is built again; the replay checks that its
    parameters are those of the transcript, and that every message could come at its place.

    Raises:
        ProtocolError: when the transcript is not one of this tester's.
    """
    constants = CONSTANTS.get(outcome.tester)
    if constants is None:
        return None
    calibrated = constants == "calibrated" and outcome.guarantee in ("analytic", "unless-oversize")
    guarantee = "certified" if calibrated else "unless-inconclusive"
    tester = HalfspaceElimination(outcome.setting, constants=constants, guarantee=guarantee)
    return replay(tester, outcome.transcript)


def stages(run: Replay, points: NDArray[np.int64] | None) -> list[Stage]:
    """Return what was there at the start and what each round left.

    Args:
        run: the rounds.
        points: (m, d) all points of the domain, or None if nothing is to be said about them.
    """
    everything = np.arange(len(run.weights))
    out = [Stage("Start", len(everything), _shares(run, everything, points))]
    for step in run.steps:
        out.append(Stage(story(step), len(step.after), _shares(run, step.after, points)))
    return out


def story(step: Step) -> str:
    """Return what happened in a round."""
    if step.counted:
        return f"Round {step.round}: both parties counted"
    if step.cut_by is None:
        return f"Round {step.round}: neither party could cut"
    pause = f"{step.silent[0]} could not cut, " if step.silent else ""
    return f"Round {step.round}: {pause}{step.cut_by} cut"


def _shares(
    run: Replay, numbers: NDArray[np.int64], points: NDArray[np.int64] | None
) -> NDArray[np.float64] | None:
    if points is None or not len(numbers) or len(numbers) * len(points) > MOST_PRODUCTS:
        return None
    positive = np.zeros(len(points), dtype=np.int64)
    columns = np.ascontiguousarray(points.T)
    block = max(1, _BLOCK // len(points))
    for start in range(0, len(numbers), block):
        part = run.weights[numbers[start : start + block]]
        positive += np.asarray(products(part, columns) >= 0, dtype=bool).sum(axis=0)
    return 2 * positive / len(numbers) - 1
