"""Verdict words, rule by rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sipbench.stats.intervals import Interval
from sipbench.stats.missing import Gate
from sipbench.stats.verdicts import (
    Evidence,
    Word,
    apart,
    few_families,
    gain_verdict,
    retention_verdict,
    stability_verdict,
)


def between(low: float, high: float) -> Interval:
    return Interval(low, high, 0.95, "paired_t", 30, None)


def evidence(low: float, high: float, **more: object) -> Evidence:
    return replace(Evidence(between(low, high), 40, Gate.VERDICT), **more)


@pytest.mark.parametrize(
    ("low", "high", "mde", "sesoi", "want"),
    [
        (0.01, 0.2, 0.3, 0.1, Word.IMPROVED),
        (-0.2, -0.01, 0.3, 0.1, Word.WORSE),
        (-0.01, 0.2, 0.1, 0.1, Word.NO_EVIDENCE),
        (0.0, 0.2, 0.1, 0.1, Word.NO_EVIDENCE),
        (-0.01, 0.2, 0.11, 0.1, Word.INCONCLUSIVE),
        (-0.01, 0.2, None, 0.1, Word.INCONCLUSIVE),
        (-0.01, 0.2, 0.1, None, Word.INCONCLUSIVE),
    ],
)
def test_gain(low: float, high: float, mde: float | None, sesoi: float | None, want: Word) -> None:
    got = gain_verdict(evidence(low, high), mde, sesoi)
    assert got.word is want
    assert bool(got.reasons) == (want is Word.INCONCLUSIVE)


@pytest.mark.parametrize(
    ("low", "high", "want"),
    [
        (-0.04, 0.1, Word.RETAINED),
        (-0.04, -0.01, Word.RETAINED),
        (-0.05, 0.1, Word.INCONCLUSIVE),
        (-0.2, 0.0, Word.INCONCLUSIVE),
        (-0.2, -0.01, Word.LOSS),
        (-0.05, -0.01, Word.LOSS),
    ],
)
def test_retention_and_stability_use_one_rule(low: float, high: float, want: Word) -> None:
    got = retention_verdict(evidence(low, high), 0.05)
    assert got.word is want
    assert bool(got.reasons) == (want is Word.INCONCLUSIVE)
    names = {Word.RETAINED: Word.PERSISTS, Word.LOSS: Word.DECAYS}
    assert stability_verdict(evidence(low, high), 0.05).word is names.get(want, want)


@pytest.mark.parametrize("gate", [Gate.NUMBERS, Gate.BOUNDS])
def test_a_failed_gate_leaves_every_metric_inconclusive(gate: Gate) -> None:
    for verdict in (
        gain_verdict(evidence(0.1, 0.2, gate=gate), 0.1, 0.1),
        retention_verdict(evidence(0.1, 0.2, gate=gate), 0.05),
        stability_verdict(evidence(0.1, 0.2, gate=gate), 0.05),
    ):
        assert verdict.word is Word.INCONCLUSIVE
        assert "planned attempts" in verdict.reasons[0]


def test_under_six_families_nothing_can_be_said() -> None:
    got = gain_verdict(evidence(0.1, 0.2, n_families=5, p=0.001), 0.1, 0.1)
    assert got.word is Word.INCONCLUSIVE
    assert "5 families" in got.reasons[0]


@pytest.mark.parametrize(
    ("p", "want"), [(0.03, Word.IMPROVED), (0.06, Word.INCONCLUSIVE), (None, Word.INCONCLUSIVE)]
)
def test_under_ten_families_interval_and_test_must_agree(p: float | None, want: Word) -> None:
    assert gain_verdict(evidence(0.1, 0.2, n_families=9, p=p), 0.1, 0.1).word is want
    assert gain_verdict(evidence(0.1, 0.2, n_families=10, p=p), 0.1, 0.1).word is Word.IMPROVED


def test_under_ten_families_no_evidence_needs_both_as_well() -> None:
    assert gain_verdict(evidence(-0.1, 0.2, n_families=8, p=0.5), 0.1, 0.1).word is Word.NO_EVIDENCE
    assert gain_verdict(evidence(-0.1, 0.2, n_families=8, p=0.01), 0.1, 0.1).word is Word.INCONCLUSIVE


def test_under_ten_families_retention_asks_the_test_of_its_own_claim() -> None:
    kept = evidence(-0.01, 0.2, n_families=8, p=0.9, p_margin=0.01)
    assert retention_verdict(kept, 0.05).word is Word.RETAINED
    assert retention_verdict(replace(kept, p_margin=0.2), 0.05).word is Word.INCONCLUSIVE
    lost = evidence(-0.3, -0.1, n_families=8, p=0.01, p_margin=0.9)
    assert retention_verdict(lost, 0.05).word is Word.LOSS
    assert retention_verdict(replace(lost, p=0.2), 0.05).word is Word.INCONCLUSIVE


def test_without_an_interval_its_reason_is_given() -> None:
    got = gain_verdict(Evidence(None, 40, Gate.VERDICT, reason="one task"), 0.1, 0.1)
    assert (got.word, got.reasons) == (Word.INCONCLUSIVE, ("one task",))


def test_with_attrition_a_verdict_stands_only_if_both_bounds_agree() -> None:
    agreeing = evidence(0.1, 0.2, attrition=True, worst=between(0.01, 0.15), best=between(0.1, 0.3))
    assert gain_verdict(agreeing, 0.1, 0.1).word is Word.IMPROVED
    for worst in (between(-0.01, 0.15), None):
        got = gain_verdict(replace(agreeing, worst=worst), 0.1, 0.1)
        assert got.word is Word.INCONCLUSIVE
        assert "lost unevenly" in got.reasons[0]
    assert gain_verdict(replace(agreeing, attrition=False, worst=None), 0.1, 0.1).word is Word.IMPROVED
    kept = evidence(-0.01, 0.2, attrition=True, worst=between(-0.2, 0.1), best=between(0.0, 0.2))
    assert retention_verdict(kept, 0.05).word is Word.INCONCLUSIVE


def test_a_void_study_gets_no_word_at_all() -> None:
    got = retention_verdict(evidence(0.1, 0.2, void="replay was chosen on the scored trials"), 0.05)
    assert (got.word, got.reasons) == (None, ("replay was chosen on the scored trials",))
    assert stability_verdict(evidence(0.1, 0.2, void="x"), 0.05).word is None


def test_all_that_stands_in_the_way_is_named() -> None:
    got = gain_verdict(Evidence(None, 3, Gate.BOUNDS), 0.1, 0.1)
    assert len(got.reasons) == 3


def test_a_margin_is_positive() -> None:
    with pytest.raises(ValueError, match="margin"):
        retention_verdict(evidence(0.1, 0.2), 0.0)


def test_few_families_in_words() -> None:
    assert few_families(10) is None
    assert "agree" in (few_families(9) or "")
    assert "no test" in (few_families(5) or "")


def test_one_family_is_one_family() -> None:
    assert few_families(1) == "1 family: with fewer than 6 no test at the 5% level can be passed"
    assert few_families(9) == "9 families: with fewer than 10 the interval and the sign-flip test must agree"
    assert few_families(10) is None


@pytest.mark.parametrize(
    ("value", "other", "said"),
    [(0.246, 0.05, "0.246"), (0.05001, 0.05, "0.05001"), (89.9999, 90.0, "89.9999"), (0.05, 0.05, "0.05")],
)
def test_two_numbers_that_differ_are_never_printed_alike(value: float, other: float, said: str) -> None:
    assert apart(value, other) == said


def test_a_failed_gate_says_how_many_attempts_count_and_how_many_are_needed() -> None:
    got = gain_verdict(Evidence(between(0.1, 0.2), 20, Gate.NUMBERS, coverage=0.8999, needed=0.9), None, None)
    assert got.reasons == ("too few of the planned attempts count: 89.99%, and a verdict needs 90%",)
