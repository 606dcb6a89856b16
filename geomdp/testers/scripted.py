"""Testers whose protocol is a public script: both parties in one process, or each on its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from geomdp.core.errors import ArgumentError, CapacityError, InfeasibleError, check_choice, describe
from geomdp.core.sample import Sample
from geomdp.privacy.sampler import Sampler
from geomdp.protocol.channel import Channel
from geomdp.protocol.party import Party
from geomdp.protocol.script import Script, Session, attend, play
from geomdp.protocol.transcript import PARTIES, Transcript
from geomdp.testers.base import Finding, Tester, check_sample

#: Characters of a budget as a fraction that leave room for its parts, with longer denominators, in frames.
MOST_TEXT = 120


@dataclass(frozen=True)
class Visit:
    """One party's run before its first frame.

    Attributes:
        party: the party, with a fresh budget.
        opening: the public parameters.
        session: its frames, as :meth:`ScriptedTester.attend` returns them.
        most: the most that the run can cost the party, as a pure privacy loss.
    """

    party: Party
    opening: Mapping[str, Any]
    session: Session[Finding]
    most: Fraction


class ScriptedTester(Tester):
    """A tester that says whose turn it is and what the next message must look like, from public values.

    Subclasses implement :meth:`opening`, :meth:`party` and :meth:`script`.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> from geomdp.privacy.sampler import SimSampler
        >>> from geomdp.testers.base import Setting
        >>> from geomdp.testers.interior_point import InteriorPoint
        >>> tester = InteriorPoint(Setting(Domain.line(64), 500, 500, 1, classes="thresholds"))
        >>> S = Sample.from_cells(tester.setting.domain, [5] * 500, [1] * 500)
        >>> isinstance(tester, ScriptedTester), tester.converse(S, S, *SimSampler(0).spawn(2)).verdict
        (True, 'Match')
    """

    @abstractmethod
    def opening(self) -> dict[str, Any]:
        """Return the public parameters that open the transcript and that both ends must state alike."""

    def facts(self) -> dict[str, Any]:
        """Return what every opening states: the tester's name and the public setting, as JSON values."""
        setting = self.setting
        return {
            "tester": self.name,
            "domain": setting.domain.fingerprint,
            "classes": setting.classes,
            "labels": setting.labels,
            "epsilon": str(setting.epsilon),
            "beta": str(setting.beta),
            "tolerance": setting.tolerance,
            "n": [setting.n_alice, setting.n_bob],
        }

    @abstractmethod
    def party(self, name: str, sample: Sample, sampler: Sampler) -> Party:
        """Return the side of a name, with its sample of records, its sampler of noise and a fresh budget."""

    @abstractmethod
    def script(self, transcript: Transcript) -> Script[Finding]:
        """Yield the turns, and return the finding; computes on the transcript and public facts alone."""

    def converse(self, S_A: Sample, S_B: Sample, alice: Sampler, bob: Sampler) -> Finding:
        """Run the protocol once, both parties in this process.

        Args:
            S_A, S_B: the records of Alice and of Bob.
            alice, bob: where either party's noise comes from.
        """
        self._check_usable()
        transcript = Transcript(self.opening())
        parts = zip(PARTIES, (S_A, S_B), (alice, bob), strict=True)
        parties = {name: self.party(name, sample, sampler) for name, sample, sampler in parts}
        return play(self.script(transcript), parties, transcript)

    def attend(self, name: str, sample: Sample, sampler: Sampler) -> Session[Finding]:
        """Return one party's session: it yields frames to send, and None where a frame must be sent in.

        Nothing here asks whether the tester guarantees anything at these sizes, or keeps an account: see
        :meth:`geomdp.testers.plan.PlanRow.attend`. A counterpart that breaks off and dials again is answered
        with fresh noise, at a further loss of the whole budget; the caller has to add these up.

        Args:
            name: "Alice" or "Bob".
            sample: this party's records; the other's are nowhere in the process.
            sampler: this party's source of noise.

        Raises:
            ArgumentError: on another name, on what is no sample or sampler, and on a sample of another domain
                or size than planned (public facts).
            CapacityError: when this party's budget is a fraction too long for frames to state its parts.

        Example:
            >>> from fractions import Fraction
            >>> from queue import Queue
            >>> from threading import Thread
            >>> from geomdp.core.domain import Domain
            >>> from geomdp.privacy.sampler import SimSampler
            >>> from geomdp.protocol.script import drive
            >>> from geomdp.testers.base import Setting
            >>> from geomdp.testers.interior_point import InteriorPoint
            >>> D = Domain.line(2**40)
            >>> setting = Setting(D, 90, 90, Fraction(1), labels="disjoint", classes="thresholds")
            >>> low, high = (Sample.from_cells(D, [x] * 90, [y] * 90) for x, y in ((3, -1), (2**39, 1)))
            >>> to_alice, to_bob, findings = Queue(), Queue(), {}
            >>> def side(name, sample, seed, inbox, outbox):
            ...     session = InteriorPoint(setting).attend(name, sample, SimSampler(seed))
            ...     findings[name] = drive(session, outbox.put, inbox.get)
            >>> bob = Thread(target=side, args=("Bob", high, 1, to_bob, to_alice))
            >>> bob.start()
            >>> side("Alice", low, 0, to_alice, to_bob)
            >>> bob.join()
            >>> findings["Alice"].transcript == findings["Bob"].transcript, findings["Bob"].verdict
            (True, 'Match')
        """
        return self.visit(name, sample, sampler).session

    def visit(self, name: str, sample: Sample, sampler: Sampler) -> Visit:
        """Return what :meth:`attend` runs, with its party, which a ledger must watch.

        Args:
            name, sample, sampler: as in :meth:`attend`.

        Raises:
            ArgumentError: as in :meth:`attend`.
            CapacityError: as in :meth:`attend`.
        """
        check_choice("name", name, PARTIES)
        self._check_usable()
        check_sample(self.setting, name, sample, "sample")
        if not isinstance(getattr(sampler, "simulated", None), bool):
            raise ArgumentError("sampler", "a source of noise, e.g. SecureSampler()", describe(sampler))
        transcript = Transcript(self.opening())
        party = self.party(name, sample, sampler)
        if len(str(party.budget.epsilon)) > MOST_TEXT:
            wanted = f"a fraction of at most {MOST_TEXT} characters where messages are frames"
            raise CapacityError("epsilon", wanted, "a longer one")
        channel = Channel(name, transcript.parameters)
        session = attend(self.script(transcript), party, transcript, channel)
        budgets = getattr(self, "budgets", None)
        most = self.setting.epsilon if budgets is None else Fraction(budgets[name])
        return Visit(party, transcript.parameters, session, most)

    def _check_usable(self) -> None:
        if self.reason:
            raise InfeasibleError("tester", "one that is usable here", f"'{self.name}': {self.reason}")
