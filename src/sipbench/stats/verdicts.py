"""The words: what an interval, its coverage and the plan allow one to say.

FG is ``improved``, ``worse``, ``no evidence`` or ``inconclusive``. BR and PDS are judged
as non-inferiority against a margin declared before T1: "not significantly worse" is no
retention.

References:
    Piaggio et al. (2012), Reporting of noninferiority and equivalence randomized trials,
    JAMA 308(24), 2594-2604 (the interval against the margin).
    Altman & Bland (1995), Absence of evidence is not evidence of absence, BMJ 311, 485.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from sipbench.stats.intervals import Interval
from sipbench.stats.missing import COVERAGE_GATE, Gate

MIN_FAMILIES = 6
AGREE_FAMILIES = 10


class Word(StrEnum):
    """A verdict in one word."""

    IMPROVED = "improved"
    WORSE = "worse"
    NO_EVIDENCE = "no evidence"
    INCONCLUSIVE = "inconclusive"
    RETAINED = "retained"
    LOSS = "loss"
    PERSISTS = "persists"
    DECAYS = "decays"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a verdict rests on.

    Attributes:
        interval: Interval of the contrast under the primary policy, or None.
        reason: Why it is None.
        n_families: Independent units behind it.
        gate: What the coverage allows.
        coverage: The least counted share of planned attempts of its cells; None if that is unknown.
        needed: The share that a verdict needs.
        p: Sign-flip p of "no change"; asked for below ten families.
        p_margin: Sign-flip p of ``d + margin``, "just lost the margin"; asked for below
            ten families where a margin is judged.
        attrition: Whether attempts went missing unevenly; then the bounds must agree.
        worst: Interval of the contrast with every null at its worst, or None.
        best: The same with every null at its best.
        void: Why no verdict may be given at all: replay chosen on the scored trials, or
            trials added after seeing results without a sequential design. None if it may.
    """

    interval: Interval | None
    n_families: int
    gate: Gate
    reason: str | None = None
    p: float | None = None
    p_margin: float | None = None
    attrition: bool = False
    worst: Interval | None = None
    best: Interval | None = None
    void: str | None = None
    coverage: float | None = None
    needed: float = COVERAGE_GATE


@dataclass(frozen=True, slots=True)
class Verdict:
    """A word, and what stood in the way of a stronger one.

    Attributes:
        word: The verdict; None where none may be given.
        reasons: Why it is ``inconclusive`` or None, in words; empty otherwise.
    """

    word: Word | None
    reasons: tuple[str, ...] = ()


def gain_verdict(evidence: Evidence, mde: float | None, sesoi: float | None, alpha: float = 0.05) -> Verdict:
    """FG in a word.

    ``improved`` or ``worse`` if the interval lies above or below 0; ``no evidence`` if it
    contains 0 and the study could have found the smallest effect of interest
    (``MDE <= SESOI``); ``inconclusive`` otherwise, with the gate failed, under six
    families or without an interval.

    Args:
        evidence: What it rests on.
        mde: Minimum detectable effect of the study as run, score units; None if unknown.
        sesoi: Declared smallest effect size of interest; None if undeclared.
        alpha: Level of the sign-flip test that must agree below ten families.
    """

    def rule(interval: Interval) -> Word:
        if interval.low > 0.0:
            return Word.IMPROVED
        return Word.WORSE if interval.high < 0.0 else Word.NO_EVIDENCE

    def agrees(word: Word) -> bool:
        return evidence.p is not None and (evidence.p < alpha) == (word is not Word.NO_EVIDENCE)

    verdict = _judge(evidence, rule, agrees)
    if verdict.word is not Word.NO_EVIDENCE:
        return verdict
    if sesoi is None:
        return _inconclusive(
            "the interval contains 0, and no smallest effect of interest (`sesoi`) is declared"
        )
    if mde is None:
        return _inconclusive("the interval contains 0, and what the study could have found is unknown")
    if mde > sesoi:
        return _inconclusive(
            f"the interval contains 0, and the study finds changes from {apart(mde, sesoi)} on, while the "
            f"smallest of interest (`sesoi`) is {sesoi:g}"
        )
    return verdict


def retention_verdict(evidence: Evidence, margin: float, alpha: float = 0.05) -> Verdict:
    """BR in a word: ``retained``, ``loss`` or ``inconclusive``.

    ``retained`` if the lower end is above ``-margin`` (error alpha/2 at the margin),
    ``loss`` if the upper end is below 0 and the lower is not above ``-margin``.

    Args:
        evidence: What it rests on; ``p_margin`` counts for ``retained``, ``p`` for ``loss``.
        margin: Declared non-inferiority margin, score units, above 0.
        alpha: Level of the sign-flip test that must agree below ten families.
    """
    if margin <= 0.0:
        raise ValueError(f"the margin must be above 0, not {margin}")

    def rule(interval: Interval) -> Word:
        if interval.low > -margin:
            return Word.RETAINED
        return Word.LOSS if interval.high < 0.0 else Word.INCONCLUSIVE

    def agrees(word: Word) -> bool:
        p = evidence.p_margin if word is Word.RETAINED else evidence.p
        return word is Word.INCONCLUSIVE or (p is not None and p < alpha)

    verdict = _judge(evidence, rule, agrees)
    if verdict.word is Word.INCONCLUSIVE and not verdict.reasons:
        return _inconclusive(f"the interval contains both 0 and a loss of the margin, {margin:g}")
    return verdict


def stability_verdict(evidence: Evidence, margin: float, alpha: float = 0.05) -> Verdict:
    """PDS in a word: ``persists``, ``decays`` or ``inconclusive``, by the rules of BR."""
    verdict = retention_verdict(evidence, margin, alpha)
    words = {Word.RETAINED: Word.PERSISTS, Word.LOSS: Word.DECAYS}
    return Verdict(words.get(verdict.word, verdict.word) if verdict.word else None, verdict.reasons)


def few_families(n_families: int) -> str | None:
    """What few independent units mean for a contrast, in words; None from ten on."""
    found = f"{n_families} {'family' if n_families == 1 else 'families'}"
    if n_families < MIN_FAMILIES:
        return f"{found}: with fewer than {MIN_FAMILIES} no test at the 5% level can be passed"
    if n_families < AGREE_FAMILIES:
        return f"{found}: with fewer than {AGREE_FAMILIES} the interval and the sign-flip test must agree"
    return None


def _judge(evidence: Evidence, rule: Callable[[Interval], Word], agrees: Callable[[Word], bool]) -> Verdict:
    """Apply the rule, and what can forbid it: a void study, gate, families, bounds."""
    if evidence.void is not None:
        return Verdict(None, (evidence.void,))
    against = []
    if evidence.gate is not Gate.VERDICT:
        against.append(_uncovered(evidence.coverage, evidence.needed))
    if evidence.n_families < MIN_FAMILIES:
        against.append(few_families(evidence.n_families) or "")
    if evidence.interval is None:
        against.append(evidence.reason or "no valid interval")
    if against or evidence.interval is None:
        return _inconclusive(*against)
    word = rule(evidence.interval)
    if evidence.n_families < AGREE_FAMILIES and not agrees(word):
        against.append(f"{few_families(evidence.n_families)}, and they do not")
    if evidence.attrition and not _bounds_agree(evidence, rule, word):
        against.append(
            "attempts were lost unevenly, and with all of them at their worst or at their best the finding "
            f"would not be '{word.value}'"
        )
    return _inconclusive(*against) if against else Verdict(word)


def _uncovered(coverage: float | None, needed: float) -> str:
    found = "unknown how many" if coverage is None else f"{apart(coverage * 100, needed * 100, 2)}%"
    return f"too few of the planned attempts count: {found}, and a verdict needs {needed * 100:.6g}%"


def apart(value: float, other: float, digits: int = 3) -> str:
    """A number with at least so many digits, and as many more as tell it from another one."""
    text = f"{value:.{digits}g}"
    while float(text) == float(f"{other:.{digits}g}") and value != other and digits < 15:
        digits += 1
        text = f"{value:.{digits}g}"
    return text


def _bounds_agree(evidence: Evidence, rule: Callable[[Interval], Word], word: Word) -> bool:
    ends = (evidence.worst, evidence.best)
    return all(end is not None and rule(end) is word for end in ends)


def _inconclusive(*reasons: str) -> Verdict:
    return Verdict(Word.INCONCLUSIVE, reasons)
