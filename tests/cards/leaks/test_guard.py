"""What is looked for, and where."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sipbench.cards.leaks.guard import Guard
from sipbench.cards.leaks.secrets import no_finding, secrets_of
from sipbench.cards.leaks.traces import answer_file
from sipbench.cards.load import load_card
from tests.cards.leaks.made import RUN, guarded, rules
from tests.cards.made import FINDING, collection, loaded, put

# --- what is looked for


@pytest.mark.parametrize(
    "text",
    [
        FINDING,
        f"x {FINDING} y",
        FINDING.upper(),
        RUN,
        "Explains **62.5** percent of the yearly-variance in `lake`",
        "explains 62.5 percent of the yearly vari-\nance in lake",
        "explains 62.5 percent\u200b of the ye\u00adarly variance in lake",
        RUN.replace(" ", "\n\n   "),
        RUN.replace(" ", "_"),
        f"<p>{RUN.replace(' ', '&nbsp;').replace('&nbsp;', ' ')}</p>",
    ],
)
def test_a_run_of_the_finding_stops_the_export_however_it_is_spelt(tmp_path: Path, text: str) -> None:
    assert "finding" in rules(guarded(tmp_path, {"instruction.md": text}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Fit depth on rainfall.",
        "percent of the yearly variance in lake depth",  # 8 words: exactly a run
    ],
)
def test_eight_words_are_a_run_and_seven_are_none(tmp_path: Path, text: str) -> None:
    found = rules(guarded(tmp_path, {"a.md": text}))
    assert ("finding" in found) is (len(text.split()) >= 8)
    shorter = " ".join(text.split()[:7])
    assert "finding" not in rules(guarded(tmp_path / "again", {"a.md": shorter}))


@pytest.mark.parametrize(
    ("finding", "text", "found"),
    [
        ("Rain raises lakes", "we see that rain raises lakes", True),
        ("Rain raises lakes", "rain raises seas", False),
        ("0.99854", "the correlation is 0.99854", True),
        ("Yes", "yes, it is", False),  # too short to mean anything
    ],
)
def test_a_short_finding_is_looked_for_as_a_whole(
    tmp_path: Path, finding: str, text: str, found: bool
) -> None:
    report = guarded(tmp_path, {"a.md": text}, finding=finding, evidence_snippets=[])
    assert ("finding" in rules(report)) is found


def test_the_quotation_of_evidence_that_states_the_answer_stops_too(tmp_path: Path) -> None:
    quote = "across the nine basins rain alone accounts for 62.5% of what the depth varies"
    snippet = {
        "snippet_id": "ev_001",
        "source_path": "p",
        "reason": "r",
        "text": f"[results] {FINDING}: '{quote}'",
    }
    report = guarded(tmp_path, {"a.md": quote}, evidence_snippets=[snippet])
    assert rules(report) == {"evidence"}


def test_evidence_that_only_stands_near_the_answer_is_a_warning(tmp_path: Path) -> None:
    quote = "all gauges were read once a month by volunteers who lived beside the lakes"
    snippet = {
        "snippet_id": "ev_001",
        "source_path": "p",
        "reason": "r",
        "text": f"[methods] Gauges: '{quote}'",
    }
    report = guarded(tmp_path, {"a.md": quote}, evidence_snippets=[snippet])
    assert report.blocking == []
    assert [leak.rule for leak in report.warnings] == ["evidence"]


def test_the_field_that_a_snippet_is_about_is_no_secret(tmp_path: Path) -> None:
    question = "How much of the depth of these nine lakes does the rain of a year explain?"
    snippet = {
        "snippet_id": "ev_001",
        "source_path": "p",
        "reason": "r",
        "text": f"[intro] {question}: 'rain and lakes'",
    }
    report = guarded(tmp_path, {"a.md": question}, evidence_snippets=[snippet], research_question=question)
    assert rules(report) == set()


def test_claims_and_results_of_the_ledger_are_looked_for(tmp_path: Path) -> None:
    card_ = loaded(tmp_path)
    assert card_.capsule is not None
    claim = {
        "claim_id": "claim_007",
        "text": "Of all that makes lakes deep or shallow, 62.5 percent is rain.",
        "source_excerpt": "rain (62.5%) beats wind, inflow, use and leakage as what drives depth",
    }
    put(card_.capsule.path / "ledger/claims.jsonl", [claim])
    result = {
        "result_id": "result_009",
        "summary": "Rain drives lakes: 62.5 percent of depth, wind and use the rest.",
    }
    put(card_.capsule.path / "ledger/results.jsonl", [result])
    guard = Guard(load_card(card_.path))
    for text in (claim["text"], claim["source_excerpt"], result["summary"]):
        assert rules(guard.files({"a": text.encode()})) == {"ledger"}


def test_numbers_of_the_finding_are_warnings_with_their_unit_and_context(tmp_path: Path) -> None:
    report = guarded(
        tmp_path, {"a.md": "The value (target: 62.5) is reported."}, finding="It is 62.5 kg of it."
    )
    assert report.blocking == []
    (warning,) = [leak for leak in report.warnings if leak.rule == "number"]
    assert warning.context == "62.5 kg: The value (target: 62.5) is reported."


# --- where it is looked for


def test_archives_and_other_encodings_are_looked_into(tmp_path: Path) -> None:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("inner/notes.txt", FINDING)
    files: dict[str, str | bytes] = {
        "a.gz": gzip.compress(FINDING.encode()),
        "b.zip": zipped.getvalue(),
        "c.txt": FINDING.encode("utf-16"),
        "d.bin": b"\xff\xfe\x00" + FINDING.encode() + b"\xff",
    }
    report = guarded(tmp_path, files)
    places = {leak.place for leak in report.blocking if leak.rule == "finding"}
    assert places >= {"a.gz (inflated)", "b.zip/inner/notes.txt", "c.txt", "d.bin"}


@pytest.mark.parametrize("data", [b"\x1f\x8bgarbage", b"PK\x03\x04garbage", b"", b"\0" * 100])
def test_damaged_archives_are_no_trouble(tmp_path: Path, data: bytes) -> None:
    assert guarded(tmp_path, {"a": data}).blocking == []


def test_a_leak_across_the_parts_of_a_large_file_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sipbench.cards.leaks import guard

    monkeypatch.setattr(guard, "_PART", 500)
    monkeypatch.setattr(guard, "_OVERLAP", 200)
    for at in range(380, 520, 20):
        text = "x " * (at // 2) + RUN + " y" * 400
        assert "finding" in rules(guarded(tmp_path / str(at), {"a.txt": text}))


@pytest.mark.parametrize(
    "name",
    [
        "claims.jsonl",
        "data/Review_Rubric.json",
        "source_snippets.md",
        "task_001.json",
        "task_001.md",
        "eval.json",
    ],
)
def test_files_that_state_answers_are_known_by_their_names(tmp_path: Path, name: str) -> None:
    assert answer_file(name)
    assert "file-name" in rules(guarded(tmp_path, {f"environment/inputs/{name}": "1"}))


@pytest.mark.parametrize("name", ["depth.csv", "my_claims.csv", "task.json", "notes.md"])
def test_other_files_are_not(name: str) -> None:
    assert not answer_file(name)


def test_a_file_name_can_state_the_answer_too(tmp_path: Path) -> None:
    assert "finding" in rules(guarded(tmp_path, {f"{RUN.replace(' ', '-')}.txt": "1"}))


# --- hostile texts


@pytest.mark.parametrize(
    "text",
    [
        "a " * 200_000,
        "1" * 500_000,
        "@" * 100_000,
        "/home/" * 50_000,
        "ignore " * 50_000,
        "[/UNTRUSTED" * 30_000,
    ],
)
def test_long_texts_take_no_long_time(tmp_path: Path, text: str) -> None:
    guarded(tmp_path, {"a.txt": text})


def test_an_empty_finding_hides_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    report = guarded(
        tmp_path,
        {"a.md": "anything at all, of many words, that is not a secret"},
        finding="",
        evidence_snippets=[],
    )
    assert report.blocking == []


def test_the_leaks_of_the_given_cards(shared_data: Callable[..., Path]) -> None:
    """What docs/cards.md explains: 8 cards repeat a run of their finding, one more a quotation of it."""
    cards = [
        load_card(path)
        for path in sorted(shared_data("asb-collections").glob("*/v1/benchmark/cards/*/*.json"))
    ]
    reports = {card_.key: Guard(card_).fields(card_) for card_ in cards}
    assert sum(bool(report.blocking) for report in reports.values()) == 9
    assert sum("finding" in rules(report) for report in reports.values()) == 8
    assert sum(any(leak.rule == "number" for leak in report.warnings) for report in reports.values()) == 8
    assert sum(no_finding(card_.card) is not None for card_ in cards) == 6


def test_every_source_of_an_answer_is_a_secret(tmp_path: Path) -> None:
    found = {
        (secret.source, secret.rule, secret.weight)
        for secret in secrets_of(load_card(collection(tmp_path)[0]))
    }
    assert found == {
        ("finding", "finding", "block"),
        ("ev_001", "evidence", "block"),
        ("claim_001", "ledger", "block"),
        ("result_001", "ledger", "warn"),
    }
