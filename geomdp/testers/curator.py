"""The curator reference: what a trusted third party that sees both samples would need.

It releases opt + discrete Laplace noise of scale 1/epsilon. It is no two-party protocol: both parties hand
their records over. Its resolution is the yardstick for all others.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from geomdp.core.errors import CapacityError
from geomdp.core.sample import Sample
from geomdp.privacy.budget import Budget
from geomdp.privacy.sampler import Sampler, noise_scale
from geomdp.protocol.transcript import CURATOR, Message, Transcript
from geomdp.testers.base import Finding, Setting, Tester


class Curator(Tester):
    """A trusted curator's noisy optimum, for thresholds and halfspaces, any labels.

    With z the least integer such that P(Z >= z) <= beta: Far iff the noisy optimum is >= t0 + z. If opt <=
    t0, Far needs Z >= z. If opt >= t0 + 2z - 1, Match needs -Z >= z. So t = t0 + 2z - 1. The same release
    gives an interval for opt, each end at beta/2.

    Privacy note. Precondition: opt is the exact least number of mistakes on the pooled records. Replacing one
    record of either party changes the mistakes of every classifier by at most 1, and with them their minimum;
    noise of scale >= 1/epsilon makes the release epsilon-DP in the pooled data, hence in each party's. An
    optimum that the solver only encloses has no such bound, so nothing is released then. Conclusion:
    epsilon-DP towards everyone but the curator.

    Args:
        setting: the public setting; its `classes` says whose optimum is meant.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> Curator(Setting(Domain.line(2**16), 100, 100, Fraction(1), classes="thresholds")).resolution
        3
    """

    name = "curator"
    trusted = True

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._scale = noise_scale(1, setting.epsilon)
        self.margin = _quantile(setting.beta, self._scale)
        self.resolution = setting.tolerance + 2 * self.margin - 1

    @property
    def classes(self) -> str:
        """The class whose optimum is released."""
        return self.setting.classes

    def converse(self, S_A: Sample, S_B: Sample, alice: Sampler, bob: Sampler) -> Finding:
        """Release once; the curator, trusted by both, draws from the first sampler.

        Raises:
            CapacityError: when the exact optimum is not found; nothing is drawn or spent.
        """
        del bob
        setting = self.setting
        transcript = Transcript(self._parameters())
        budget = Budget(setting.epsilon)
        opt = self._optimum(S_A, S_B)
        budget.spend(setting.epsilon)
        noisy = opt + int(alice.discrete_laplace(self._scale, 1)[0])
        transcript.append(Message(CURATOR, "noisy optimum", {"value": noisy}, setting.epsilon))
        margin = _quantile(setting.beta / 2, self._scale) - 1
        lower = min(max(0, noisy - margin), setting.largest_opt)
        return Finding(
            verdict="Far" if noisy >= self._cut else "Match",
            transcript=transcript,
            opt_interval=(lower, min(max(lower, noisy + margin), setting.largest_opt)),
        )

    @property
    def _cut(self) -> int:
        return self.setting.tolerance + self.margin

    def _optimum(self, S_A: Sample, S_B: Sample) -> int:
        from geomdp.opt.halfspace import opt_halfspace
        from geomdp.opt.threshold import opt_threshold

        solve = opt_threshold if self.classes == "thresholds" else opt_halfspace
        result = solve(S_A, S_B)
        if not result.optimal:
            raise CapacityError(
                "domain",
                "one on which the exact optimum is found",
                "one on which the solver stopped early",
                "Coarsen the grid.",
            )
        return int(result.upper)

    def _parameters(self) -> dict[str, Any]:
        setting = self.setting
        return {
            "tester": self.name,
            "trusted": True,
            "domain": setting.domain.fingerprint,
            "classes": setting.classes,
            "epsilon": str(setting.epsilon),
            "beta": str(setting.beta),
            "tolerance": setting.tolerance,
            "n": [setting.n_alice, setting.n_bob],
            "cut": self._cut,
        }


def _quantile(level: Fraction, scale: Fraction) -> int:
    from geomdp.privacy.law import dlap_quantile

    return dlap_quantile(level, scale)
