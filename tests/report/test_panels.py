from __future__ import annotations

import json
from pathlib import Path

from sipbench.report.panels import (
    error_table,
    overlap_table,
    provenance,
    skill_table,
    split_notes,
    split_table,
    state_table,
)
from sipbench.report.reading import Study, read_study
from sipbench.report.tabular import Table
from tests.protocol.made import document, write_lines
from tests.report.studies import Design, make_study


def texts(table: Table | None) -> list[tuple[str, ...]]:
    assert table is not None
    return [tuple(cell.lines[0] for cell in row) for row in table.rows]


def notes(study: Study) -> dict[str, str]:
    return {entry.label: entry.value for entry in split_notes(study)}


def test_splits_have_sizes_and_what_they_share(study: Study) -> None:
    assert ("heldout", "24", "12", "3", "24") in texts(split_table(study))
    # Concepts may span families: that is what can transfer.
    assert ("adapt and heldout", "0", "0", "3") in texts(overlap_table(study))


def test_rules_replay_and_drift_are_said(study: Study) -> None:
    found = notes(study)
    assert found["Split rules"] == (
        "disjoint-ids kept; disjoint-families kept; replay-eligible kept; drift-declared kept"
    )
    assert found["Replay chosen"].startswith("preregistered: list digest sha256:")
    assert found["Drift changes"] == "evidence"
    assert found["Near-duplicates"] == "the manifest does not say that they were looked for"
    assert found["Exclusions"] == "none"


def changed(tmp_path: Path, **manifest: object) -> Study:
    folder = make_study(tmp_path / "s", Design(arms=("frozen", "skilled"), repeats=2))
    document = json.loads((folder / "splits.json").read_text(encoding="utf-8"))
    (folder / "splits.json").write_text(json.dumps(document | manifest), encoding="utf-8")
    return read_study(folder)


def test_a_broken_rule_is_said_though_nobody_allowed_it(tmp_path: Path) -> None:
    found = changed(tmp_path, drift_changes=[])
    assert "drift-declared broken" in notes(found)["Split rules"]


def test_the_bias_of_replay_chosen_on_scored_attempts_is_printed(tmp_path: Path) -> None:
    found = changed(tmp_path, replay_selection={"method": "same_run", "rule": "solved"})
    by = found.summary.rows[found.names.index("skilled")].metrics.br.selection
    assert by is not None
    text = notes(found)
    assert text["Replay chosen"] == "same_run: rule solved"
    if by.expected_bias is not None:
        assert any(label.startswith("Selection bias") for label in text)


def test_what_a_manifest_says_of_itself_is_shown_and_cut(tmp_path: Path) -> None:
    selection = {
        "near_duplicates": {"threshold": 0.8, "pairs": 2},
        "exclusions": {"digest": "sha256:x", "tasks": 3},
        "passes_noop": [f"t{i}" for i in range(50)],
        "keep_together": [],
        "nested": {"deep": {"er": [{"x": 1}]}},
        "odd": "\u202e" + "y" * 5000,
    }
    found = notes(changed(tmp_path, selection=selection))
    assert found["Near-duplicates"] == "threshold 0.8, pairs 2"
    assert found["Exclusions"] == "digest sha256:x, tasks 3"
    assert found["Passes noop"].endswith("t11 and 38 more")
    assert found["Keep together"] == "none"
    assert "\u202e" not in found["Odd"]
    assert len(found["Odd"]) < 300


def test_a_study_without_a_manifest_says_that_nothing_is_known(tmp_path: Path) -> None:
    found = read_study(write_lines(tmp_path / "runs.jsonl", [document()]))
    assert notes(found) == {"Splits": "no manifest (splits.json), so nothing is known of leaks"}
    assert split_table(found) is None
    assert overlap_table(found) is None


def test_skills_are_listed_by_use(study: Study) -> None:
    rows = texts(skill_table(study))
    assert {row[:3] for row in rows} == {("sorting", "skilled", "T1"), ("sorting", "skilled", "T2")}
    assert rows[0][3] == "120"


def test_errors_are_counted_by_what_was_said(study: Study, lossy: Study) -> None:
    assert error_table(study) is None
    (row,) = texts(error_table(lossy))
    assert row[:3] == ("skilled", "infrastructure error", "HostGone")
    statuses = lossy.frame["status"].cast(str).to_list()
    assert row[3] == str(statuses.count("infrastructure_error"))


def test_states_and_agents_have_whole_digests(study: Study) -> None:
    rows = texts(state_table(study))
    assert len(rows) == 4 * 3 * 3
    assert all(len(row[4]) == len("sha256:") + 64 for row in rows)


def test_provenance_names_digests_versions_seeds_and_the_plan(study: Study) -> None:
    found = {entry.label: entry.value for entry in provenance(study)}
    assert study.seen.digest in found["Records: runs.jsonl"]
    assert found["Engines"] == "made 1"
    assert found["Grader versions"] == "1"
    assert found["Seeds of the repeats"] == "0, 1, 2"
    assert found["Attempts"].endswith(f"{study.planned:,} planned, adapt included")
    assert found["Planned"] == "2026-05-01T08:00:00Z with sipbench 0.1.0"


def test_a_lock_of_odd_shape_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    folder = make_study(tmp_path / "s", Design(arms=("frozen",), repeats=1))
    lock = json.loads((folder / "study.lock.json").read_text(encoding="utf-8"))
    lock |= {
        "identity": {"tasks": {"a": None}, "slots": ["<b>"], "benchmark": "text"},
        "created_at": {"x": 1},
    }
    (folder / "study.lock.json").write_text(json.dumps(lock), encoding="utf-8")
    found = {entry.label: entry.value for entry in provenance(read_study(folder))}
    assert found["Task digests"] == "0 of 1 task in study.lock.json"
    assert found["Digest of the plan"] == "<b>"
