"""The sentences of a report: what a run says, what it rests on, and what it does not say."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.domain import Domain, Feature
from geomdp.protocol.transcript import CURATOR, Message, Transcript
from geomdp.testers.base import GUARANTEES, Outcome, Setting

#: What each kind of message holds, for readers who do not know the protocols.
KINDS = {
    "noisy histogram": "for every cell of the grid: records labelled + minus records labelled -, plus noise",
    "noisy field": (
        "for every cell of the grid: records labelled + minus records labelled -, plus noise that stays "
        "small in sums over either side of any classifier"
    ),
    "coarse counts": "for every cell of the grid: records labelled + minus records labelled -, plus noise",
    "pooled counts": "the same difference for each group of cells that the remaining classifiers treat alike",
    "noisy minimum": (
        "the least number of mistakes of any one classifier on the sender's records and the counts received "
        "before, plus noise"
    ),
    "own optimum": "the least number of mistakes of any classifier on the sender's records alone, plus noise",
    "joint classifier": "one classifier, drawn with a preference for few mistakes on both datasets",
    "selection": "which public family of classifiers is kept, or none (-1), drawn by a private rule",
    "mistakes": "for every remaining classifier: its mistakes on the sender's records, plus noise",
    "crossing": "a place on the scale, found by a noisy scan of the sender's records labelled -",
    "count below": "how many of the sender's records labelled + lie below the released place, plus noise",
    "noisy optimum": "the least number of mistakes of any one classifier on all records, plus noise",
    "calibration seed": "fresh public randomness; it does not depend on any record",
    "localisation": "arithmetic on the messages before it, which anyone can repeat; nothing new is released",
    "public coins": "fresh public randomness; it does not depend on any record",
    "sketch": "sums of signed record counts in random groups of directions, plus noise",
    "magnitude": "the total size of both parties' group sums, plus noise",
    "negatives": "how many of the sender's records are labelled -, plus noise",
    "synthetic counts": "made-up counts for every cell, on which classifiers err about as on the real ones",
    "own count": "the least number of mistakes of any threshold on the sender's records alone, plus noise",
    "hash": "fresh public randomness; it does not depend on any record",
    "prefix counts": "how many of the sender's chosen records lie in each group of nodes, plus noise",
    "sides": "on which side of the common node the sender's chosen records lie, plus noise",
    "question": "which group of nodes holds the median of the sender's chosen records, by a private rule",
    "answer": "whether the sender's own median lies in that group, by a private rule",
    "child": "which part of the common node holds the sender's median, by a private rule",
    "place": "a place between the sender's chosen records, found by a private rule",
    "side": "on which side of that place the sender's chosen records lie, by a private rule",
}
#: Messages that share a kind with others but hold something else: (kind, entry) -> what it is.
_VARIANTS = {
    ("selection", "labelling"): (
        "one labelling of the grid on which the sender's made-up counts are most at fault, by a private rule"
    ),
    ("mistakes", "value"): "the mistakes of that labelling on the sender's records, plus noise",
}


def describe(message: Message) -> str:
    """Return what a message holds, or "" for a kind that is not known here.

    Two cross tests of one run add " AB" or " BA" to the kinds of their messages.

    Example:
        >>> describe(Message("Bob", "answer BA", {"answer": [1]}, Fraction(1)))
        "whether the sender's own median lies in that group, by a private rule"
    """
    kind = message.kind.removesuffix(" AB").removesuffix(" BA")
    for entry in message.payload:
        if (kind, entry) in _VARIANTS:
            return _VARIANTS[kind, entry]
    return KINDS.get(kind, "")


def class_words(setting: Setting) -> str:
    """Return the class of classifiers in words."""
    if setting.classes == "thresholds":
        return "threshold on one ordered feature"
    return "linear classifier (halfspace)"


def opt_words(setting: Setting) -> str:
    """Return what opt is."""
    return (
        f"opt is the least number of records, out of all {setting.n_alice + setting.n_bob:,} of both "
        f"parties, that any single {class_words(setting)} labels wrongly once every record has been placed "
        "on the public grid."
    )


def verdict_meaning(outcome: Outcome) -> str:
    """Return what the verdict asserts.

    The two assertions are the contrapositives of the two promises of a test, so each is wrong with
    probability at most beta, in the sense of :func:`error_sentence`.
    """
    tolerance, t = outcome.setting.tolerance, outcome.resolution
    return {
        "Match": f"opt < {t}: no conflict of {t} records or more",
        "Far": f"opt > {tolerance}: every classifier errs on more than {tolerance} records",
        "Inconclusive": "the public budget check stopped the run; no statement about opt",
    }[outcome.verdict]


def headline(outcome: Outcome) -> str:
    """Return the verdict as one sentence for readers in a hurry."""
    if outcome.verdict == "Inconclusive":
        return "The run stopped before it could decide. It says nothing about whether the labels conflict."
    kind = "threshold" if outcome.setting.classes == "thresholds" else "linear classifier"
    if outcome.verdict == "Match":
        text = f"One {kind} can fit both datasets, up to fewer than {outcome.resolution} records."
    else:
        text = f"The labels conflict: every {kind} errs on more than {outcome.setting.tolerance} records."
    return text if outcome.certified else "Not certified. " + text + " Nothing guarantees this."


def error_sentence(outcome: Outcome) -> str:
    """Return with what probability this verdict comes up where it is wrong."""
    setting = outcome.setting
    beta, t = probability(setting.beta), outcome.resolution
    if not outcome.certified:
        return "At these numbers of records nothing bounds the probability of a wrong answer."
    if outcome.verdict == "Match":
        return f"If opt were {t:,} or more, a run would still answer Match with probability at most {beta}."
    if outcome.verdict == "Far":
        most = _at_most(setting.tolerance)
        return f"If opt were {most}, a run would still answer Far with probability at most {beta}."
    return "An Inconclusive run is no evidence for either side; its privacy loss is spent all the same."


def promises(outcome: Outcome) -> list[str]:
    """Return the guarantee in plain words, or why there is none."""
    setting, t = outcome.setting, outcome.resolution
    if not outcome.certified or t is None:
        return [
            "None. The run was forced although nothing is guaranteed at these numbers of records and this "
            "epsilon. The verdict and the intervals' meaning must not be relied on for a decision."
        ]
    level, beta = confidence(setting.beta), probability(setting.beta)
    lines = [
        f"Match is owed when opt is {_at_most(setting.tolerance)} (the tolerance). Then Far comes up with "
        f"probability at most {beta}.",
        f"Far is owed when opt is {t:,} or more (the resolution). Then Match comes up with probability at "
        f"most {beta}.",
    ]
    if t > setting.tolerance + 1:
        lines.append(
            f"Between them, from {setting.tolerance + 1:,} to {t - 1:,}, either answer may come up; nothing "
            "is promised."
        )
    if outcome.guarantee.startswith("unless"):
        lines.append("The run may also decline to answer (Inconclusive), whatever opt is.")
    else:
        lines.append(f"So wherever an answer is owed it is given with probability at least {level}.")
    lines.append(
        f"This rests on: {GUARANTEES.get(outcome.guarantee, outcome.guarantee)} ({outcome.guarantee})."
    )
    realised = realised_resolution(outcome.transcript)
    if realised is not None and realised < t:
        lines.append(
            f"In this run the public localisation certified a finer resolution: Far was owed from "
            f"{realised:,} records on."
        )
    return lines


def realised_resolution(transcript: Transcript) -> int | None:
    """Return the resolution that a localised run announced after its first message, or None."""
    for message in transcript.messages:
        value = message.payload.get("resolution") if message.kind == "localisation" else None
        if type(value) is int:
            return value
    return None


def _at_most(tolerance: int) -> str:
    return f"{tolerance:,} or less" if tolerance else "0"


def unsaid(outcome: Outcome) -> list[str]:
    """Return what the verdict does not say."""
    setting = outcome.setting
    lines = [
        "It does not say how well any classifier does on new records. opt counts mistakes on the records "
        "that the parties hold.",
        "It does not say which records conflict, why they do, or whose labels are right.",
        "It does not give the probability that the labels conflict. The probabilities are over the noise of "
        "the protocol, for any fixed pair of datasets.",
        "It does not look below the grid: records with unequal values in one cell count as equal, records "
        "outside the grid count at its nearest edge, and different labels in one cell are mistakes of every "
        "classifier.",
    ]
    if outcome.verdict == "Match":
        lines.insert(0, "It does not say that opt is 0. A smaller conflict than the resolution may exist.")
    if outcome.verdict == "Far":
        lines.insert(
            0,
            "It does not say that a joint classifier is useless: opt may be a small share of all records. "
            "See the interval for opt, where there is one.",
        )
    if setting.labels == "disjoint":
        lines.append(
            "It relies on a promise that was not checked, since a check would reveal a record: all of "
            "Alice's labels are - and all of Bob's are +."
        )
    shown = bool(outcome.opt_interval) + len(outcome.party_intervals) + bool(outcome.gap_interval)
    if shown > 1:
        level = confidence(setting.beta)
        lines.append(f"Each interval holds with probability at least {level} on its own, not all at once.")
    return lines


def odds_sentence(party: str, spent: Fraction) -> str:
    """Return what a privacy loss means for a guess about one record: posterior odds move by at most e^eps.

    Example:
        >>> odds_sentence("Alice", Fraction(1))[-77:]
        'a guess that was even before is right with a probability of at most 73.106 %.'
    """
    if not spent:
        return f"{party} released nothing that depends on records."
    share = 1 / (1 + math.exp(-float(spent)))
    chance = min(100.0, math.ceil(share * 10**5) / 1000)
    return (
        f"Suppose that someone wonders which of two records {party} holds, knows everything else "
        f"and sees all messages: a guess that was even before is right with a probability of at most "
        f"{chance:.3f} %."
    )


def threats(outcome: Outcome) -> list[str]:
    """Return the threat model: what is protected, against whom, and what is not."""
    lines = [
        "Protected: each single record. All messages of a party together are differentially private (pure "
        "epsilon) in its records: replacing one record by any other changes the probability of any messages "
        "by a factor of at most e to the power of what that party spent.",
        "This holds whatever the other party does, also if it deviates from the protocol, and for everyone "
        "who sees the messages or this page.",
        "A person with several records in one dataset is protected less: with k records the exponent is k "
        "times as large.",
        "Not hidden: the grid, the numbers of records, epsilon, and every other public parameter below.",
        "Not protected: correctness against a dishonest party. Either one can force an answer, or lie about "
        "its records; privacy is not affected by that.",
        "Not covered: whatever leaves a party by other ways, such as running time, network traffic, logs, or "
        "people who can read its machine. Where one program plays both parties, whoever runs it can read "
        "both datasets.",
        "Losses add up: every further run on the same records, with any partner, adds its epsilon to what is "
        "stated here.",
    ]
    if outcome.trusted:
        lines.insert(
            0,
            "A trusted third party saw both datasets. Nothing here protects the records from it; the "
            "statements below are about everyone else.",
        )
    if outcome.simulated:
        lines.insert(
            0,
            "This run was simulated: its noise can be repeated from a seed, so none of the statements on "
            "protection applies to it. They describe a real run of the same protocol.",
        )
    return lines


def rule_in_levels(classifier: Halfspace | Threshold, domain: Domain) -> str:
    """Return a classifier as an exact rule in the grid's columns and levels.

    Example:
        >>> D = Domain.grid([("age", 0, 90, 10), ("dose", 0, 1, 5)])
        >>> rule_in_levels(Halfspace((2, -1, -3)), D)
        '+ iff 2*level(age) - 1*level(dose) - 3 >= 0'
        >>> rule_in_levels(Threshold(3), Domain.grid([("age", 0, 90, 10)]))
        '+ iff level(age) >= 3'
    """
    if isinstance(classifier, Threshold):
        if domain.features is None:
            return f"+ iff rank >= {classifier.theta}"
        axis = domain.features[0]
        if classifier.theta >= axis.levels:
            return "- everywhere"
        return f"+ iff level({axis.name}) >= {classifier.theta}" if classifier.theta > 0 else "+ everywhere"
    if domain.features is None:
        return f"+ iff <w, x> >= 0, w = {list(classifier.weights)}"
    names = [f"*level({axis.name})" for axis in domain.features] + [""]
    terms = [(w, text) for w, text in zip(classifier.weights, names, strict=True) if w]
    if not any(classifier.weights[:-1]):
        return "+ everywhere" if classifier.weights[-1] >= 0 else "- everywhere"
    return f"+ iff {_sum((str(abs(w)) + text, w < 0) for w, text in terms)} >= 0"


def rule_in_units(classifier: Halfspace | Threshold, domain: Domain) -> str | None:
    """Return the same rule in the columns' own units, rounded to five digits; None without units.

    Level l of a feature is centred on lower + l * step, so sum w_j l_j + b >= 0 reads
    sum (w_j / step_j) x_j >= sum w_j lower_j / step_j - b for values at the centres. It is divided by its
    largest coefficient; the values of an actual record go to the nearest centre first.

    Example:
        >>> D = Domain.grid([("age", 0, 90, 10), ("dose", 0, 1, 5)])
        >>> rule_in_units(Halfspace((2, -1, -3)), D)
        '+ iff 0.05*age - dose >= 0.75'
        >>> rule_in_units(Threshold(3), Domain.grid([("age", 0, 90, 10)]))
        '+ iff age >= 25'
    """
    if domain.features is None:
        return None
    if isinstance(classifier, Threshold):
        axis = domain.features[0]
        if not 0 < classifier.theta < axis.levels:
            return None
        place = Fraction(axis.lower) + (classifier.theta - Fraction(1, 2)) * step(axis)
        return f"+ iff {axis.name} >= {short(place)}"
    weights = [Fraction(int(w)) for w in classifier.weights]
    slopes = [w / step(axis) for w, axis in zip(weights, domain.features, strict=False)]
    largest = max(map(abs, slopes))
    if not largest:
        return None
    bound = sum((s * Fraction(a.lower) for s, a in zip(slopes, domain.features, strict=True)), -weights[-1])
    terms = [
        (axis.name if abs(s) == largest else f"{short(abs(s) / largest)}*{axis.name}", s < 0)
        for s, axis in zip(slopes, domain.features, strict=True)
        if s
    ]
    return f"+ iff {_sum(terms)} >= {short(bound / largest)}"


def step(axis: Feature) -> Fraction:
    """Return the exact distance of two neighbouring levels in the column's unit."""
    return (Fraction(axis.upper) - Fraction(axis.lower)) / (axis.levels - 1)


def short(value: Fraction | float) -> str:
    """Return a number with five significant digits.

    Example:
        >>> short(Fraction(1, 3)), short(Fraction(10) ** 400)
        ('0.33333', '1e+400')
    """
    exact = Fraction(value)
    if exact and not Fraction(1, 10**300) < abs(exact) < 10**300:
        power = len(str(abs(exact.numerator))) - len(str(exact.denominator))
        return f"{float(exact / Fraction(10) ** power):.5g}e{power:+d}"
    return f"{float(exact):.5g}"


def probability(beta: Fraction) -> str:
    """Return a probability for people: a short fraction or decimal, rounded up so that it stays a bound.

    Example:
        >>> probability(Fraction(1, 10)), probability(Fraction(1, 3)), probability(Fraction(1, 10**9))
        ('0.1', '0.33334', '1e-09')
    """
    size = Fraction(10) ** (math.floor(math.log10(beta.numerator) - math.log10(beta.denominator)) - 4)
    return short(math.ceil(beta / size) * size)


def confidence(beta: Fraction) -> str:
    """Return 1 - beta in per cent, rounded down, or as a difference where that would show as 100 %.

    Example:
        >>> confidence(Fraction(1, 10)), confidence(Fraction(1, 3)), confidence(Fraction(1, 10**9))
        ('90 %', '66.666 %', '1 - 1e-09')
    """
    if beta < Fraction(1, 10**4):
        return f"1 - {probability(beta)}"
    return f"{math.floor((1 - beta) * 10**5) / 1000:g} %"


def fraction(value: Fraction) -> str:
    """Return an exact fraction, with its value rounded up where it is long.

    Example:
        >>> fraction(Fraction(1, 4)), fraction(Fraction(10001, 30000))
        ('1/4', '10001/30000 (at most 0.3334)')
    """
    exact = str(value)
    return exact if value.denominator < 10**4 else f"{exact} (at most {math.ceil(value * 10**4) / 10**4:g})"


def budget_of(outcome: Outcome, party: str) -> Fraction:
    """Return a party's whole budget: the setting's epsilon unless the transcript names another."""
    stated = outcome.transcript.parameters.get("epsilon")
    return Fraction(stated[party]) if isinstance(stated, dict) else outcome.setting.epsilon


def payers(message: Message) -> tuple[str, ...]:
    """Return the parties whose budgets a message is charged to."""
    return ("Alice", "Bob") if message.sender == CURATOR else (message.sender,)


def _sum(terms: Iterable[tuple[str, bool]]) -> str:
    text = "".join(f" {'-' if negative else '+'} {term}" for term, negative in terms)
    return text.removeprefix(" + ").strip()
