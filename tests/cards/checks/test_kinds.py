from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sipbench.cards.checks.grader import compare, formats, kinds, numbers
from sipbench.cards.checks.grader.kinds import EVALUATORS, evaluate
from sipbench.cards.checks.grader.verdicts import Failed
from sipbench.cards.checks.model import AUTOMATIC
from tests.cards.checks.cases import CASES, Case, lay_out

pytest.importorskip("openpyxl", reason="openpyxl (extra 'cards') is not installed")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_kind_says_what_it_must(case: Case, tmp_path: Path) -> None:
    verdict = evaluate(case.check, lay_out(case, tmp_path))
    assert verdict.outcome == case.outcome, verdict.reason
    assert verdict.reason
    assert "\n" not in verdict.reason
    assert len(verdict.reason) <= 301


@pytest.mark.parametrize("case", [case for case in CASES if case.references], ids=str)
def test_a_reason_never_states_the_reference(case: Case, tmp_path: Path) -> None:
    secret = next(iter(case.references.values())).decode("utf-8", "replace")
    reason = evaluate(case.check, lay_out(case, tmp_path)).reason
    numbers_ = {word for word in secret.replace(",", " ").split() if "." in word}
    submitted = " ".join(data.decode("utf-8", "replace") for data in case.files.values())
    assert not {number for number in numbers_ if number in reason and number not in submitted}


def test_every_automatic_kind_has_an_evaluator() -> None:
    assert set(EVALUATORS) == AUTOMATIC


def _caught(kind: str, part: str, root: Path) -> bool:
    """Whether a case of ``kind`` (and part) has another outcome than it must."""
    for number, case in enumerate(case for case in CASES if case.check["kind"] == kind):
        if part and case.part != part:
            continue
        place = root / str(number)
        place.mkdir()
        if evaluate(case.check, lay_out(case, place)).outcome != case.outcome:
            return True
    return False


def _yes(*_: Any, **__: Any) -> str:
    return "yes"


def _no(*_: Any, **__: Any) -> str:
    raise Failed("no")


KINDS = sorted(set(EVALUATORS) - {"script_runs"})  # its own cases are in test_scripts.py
PARTS = (
    [("file_format_is", form, formats.FORMATS) for form in formats.FORMATS]
    + [("output_matches_reference", name, compare.COMPARATORS) for name in compare.COMPARATORS]
)  # fmt: skip


@pytest.mark.parametrize("liar", [_yes, _no])
@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluator_that_always_says_the_same_is_caught(
    kind: str, liar: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not _caught(kind, "", tmp_path), "the cases hold before the mutation"
    monkeypatch.setitem(kinds.EVALUATORS, kind, liar)
    (tmp_path / "mutated").mkdir()
    assert _caught(kind, "", tmp_path / "mutated")


@pytest.mark.parametrize("liar", [_yes, _no])
@pytest.mark.parametrize(
    ("kind", "part", "registry"), PARTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_format_or_comparator_that_always_says_the_same_is_caught(
    kind: str, part: str, registry: dict[str, Any], liar: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry, part, liar)
    assert _caught(kind, part, tmp_path)


@pytest.mark.parametrize("values", [[0.62], [1e9], []])
@pytest.mark.parametrize("part", ["number", "after", "pointer", "cell", "column", "image"])
def test_a_selector_that_always_takes_the_same_is_caught(
    part: str, values: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "select", lambda *_: values)
    assert _caught("value_in_range", part, tmp_path)


@pytest.mark.parametrize("take", ["min", "max", "mean", "sum", "median"])
def test_a_summary_of_a_column_that_is_another_one_is_caught(
    take: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(numbers.TAKES, take, lambda values: values[0] + 0.125)
    assert _caught("value_in_range", "column", tmp_path)


def test_a_defect_of_the_grader_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> str:
        raise KeyError("oops")

    monkeypatch.setitem(kinds.EVALUATORS, "file_exists", broken)
    case = CASES[0]
    verdict = evaluate(case.check, lay_out(case, tmp_path))
    assert (verdict.outcome, verdict.reason) == ("error", "KeyError: 'oops'")


def test_an_unknown_kind_is_no_verdict(tmp_path: Path) -> None:
    assert evaluate({"kind": "magic"}, lay_out(CASES[0], tmp_path)).outcome == "error"
