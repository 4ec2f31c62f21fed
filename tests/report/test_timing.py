from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sipbench.protocol.records import timestamp
from sipbench.protocol.timing import T2Delay
from sipbench.report.markdown import markdown
from sipbench.report.panels import provenance
from sipbench.report.reading import Study, read_study
from sipbench.report.server import Viewer
from sipbench.report.tabular import Table
from sipbench.report.timing import delay_table, order_table
from sipbench.report.words import delay_words, share
from tests.report.studies import Design, make_study

START = datetime(2026, 5, 1, 9, tzinfo=UTC)


def texts(table: Table | None) -> list[tuple[str, ...]]:
    assert table is not None
    return [tuple(cell.lines[0] for cell in row) for row in table.rows]


def timed(folder: Path, phases: tuple[str, ...], **lock: Any) -> Path:
    """A study of which the skilled arm came after the frozen one at T1, and T2 a week later."""
    make_study(folder, Design(arms=("frozen", "skilled"), repeats=1, phases=phases))
    path = folder / "runs.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number, record in enumerate(sorted(records, key=lambda r: (r["task_id"], r["arm"]))):
        day = {"T0": 0, "T1": 1, "T2": 8}[record["phase"]]
        behind = 12 if (record["phase"], record["arm"]) == ("T1", "skilled") else 0
        begin = START + timedelta(days=day, hours=behind, seconds=number)
        record["started_at"], record["finished_at"] = (
            timestamp(begin),
            timestamp(begin + timedelta(seconds=1)),
        )
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    lock_path = folder / "study.lock.json"
    document = json.loads(lock_path.read_text(encoding="utf-8"))
    lock_path.write_text(json.dumps({**document, **lock}), encoding="utf-8")
    return folder


DECLARED: dict[str, Any] = {
    "order": {"name": "interleaved", "rule": "sipbench-order-1", "seed": 3, "reason": "default"},
    "config": {"t2": {"delay": "7d"}},
}


@pytest.fixture
def waited(tmp_path: Path) -> Study:
    return read_study(timed(tmp_path / "s", ("T0", "T1", "T2"), **DECLARED))


def test_the_order_says_whether_arms_took_turns(study: Study) -> None:
    table = order_table(study)
    assert table is not None
    assert len(table.rows) == 4 * 3
    assert all("an attempt was another arm's than the one before" in note for note in table.notes[1:])


def test_an_arm_that_was_measured_after_its_control_is_seen_and_warned_of(waited: Study) -> None:
    later = {(row[0], row[1]): row[5] for row in texts(order_table(waited))}
    assert later["T1", "skilled"] == share(1.0)
    assert later["T0", "skilled"] in {share(0.5), share(0.51), share(0.52)}
    assert later["T1", "frozen"] == "–"
    assert "at T1 it was not measured by turns with its control" in markdown([waited])


def test_the_time_between_t1_and_t2_stands_beside_the_declared_one(waited: Study) -> None:
    rows = {row[0]: row[1:4] for row in texts(delay_table(waited))}
    # Its T1 came twelve hours later, so that less than the declared week was left.
    assert rows["skilled"][0] == "7d"
    assert rows["skilled"][1] == "6 d 11 h"
    assert rows["frozen"][1].startswith(("6 d 23 h", "7 d"))
    text = markdown([waited])
    assert "T2 began 6 d 11 h after the last score at T1; the study declares 7d" in text


def test_provenance_names_the_order_and_the_delay(waited: Study, study: Study) -> None:
    found = {entry.label: entry.value for entry in provenance(waited)}
    assert found["Order of attempts"] == "interleaved, seed 3, default"
    assert found["T2 begins"] == "at least 7d after the last score at T1"
    assert not {"Order of attempts", "T2 begins"} & {entry.label for entry in provenance(study)}


def waiting(folder: Path) -> Iterator[Path]:
    planned = [
        {"arm": arm, "phase": phase, "split": split, "attempts": n}
        for arm in ("frozen", "skilled")
        for phase in ("T0", "T1", "T2")
        for split, n in (("heldout", 24), ("replay", 16))
    ]
    yield timed(folder, ("T0", "T1"), planned=planned, **DECLARED)


def test_a_study_that_waits_says_until_when(tmp_path: Path) -> None:
    (folder,) = waiting(tmp_path / "s")
    study = read_study(folder)
    assert study.remarks[0].startswith("T2 is due at 2026-05-09T2")
    assert {row[4][:20] for row in texts(delay_table(study))} == {"due at 2026-05-09T21"}
    viewer = Viewer(folder)
    assert b"T2 is due at 2026-05-09T2" in viewer.page()
    assert ", T2 is due at 2026-05-09T2" in viewer.state()["text"]


def test_an_order_of_odd_shape_is_left_out(tmp_path: Path) -> None:
    for number, order in enumerate(("text", {"name": 3}, {"seed": 1}, ["x"])):
        folder = timed(tmp_path / str(number), ("T0", "T1"), order=order)
        assert "Order of attempts" not in {entry.label for entry in provenance(read_study(folder))}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"declared": "7d", "shortest_seconds": 604_830.0}, "7 d\ndeclared 7d"),
        ({"declared": None, "shortest_seconds": 12.0}, "12 s"),
        ({"declared": "7d", "due_at": "2026-05-09T21:00:00Z"}, "due 2026-05-09T21:00:00Z"),
        ({"declared": "7d"}, "declared 7d"),
        ({"declared": None}, None),
    ],
)
def test_a_delay_in_words(given: dict[str, Any], words: str | None) -> None:
    assert delay_words(T2Delay(**given)) == words


def test_no_delay_has_no_words() -> None:
    assert delay_words(None) is None
