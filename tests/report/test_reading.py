from __future__ import annotations

import json
from pathlib import Path

import pytest

from sipbench import summarize
from sipbench.errors import RecordError
from sipbench.protocol.digests import file_digest
from sipbench.report.reading import Study, read_study
from tests.protocol.made import document, write_lines
from tests.report.studies import Design, make_study


def test_the_summary_is_that_of_the_study(study: Study, study_folder: Path) -> None:
    expected = summarize(study_folder)
    assert study.summary.rows == expected.rows
    assert study.summary.provenance.sources == expected.provenance.sources
    assert study.seen.digest == file_digest(study_folder / "runs.jsonl")


def test_adapted_arms_come_first_then_controls_then_oracles(study: Study) -> None:
    assert [study.names[at] for at in study.order] == ["skilled", "tuned", "frozen", "known"]


def test_each_record_can_be_found_again_by_its_place(study: Study) -> None:
    lines = study.runs.read_bytes().splitlines(keepends=True)
    assert len(study.seen.offsets) == len(lines) == study.frame.height
    content = study.runs.read_bytes()
    for row in (0, 7, len(lines) - 1):
        line = content[study.seen.offsets[row] :].partition(b"\n")[0]
        assert json.loads(line)["run_id"] == study.frame["run_id"][row]


def test_arms_of_one_name_and_two_models_keep_their_own_records(tmp_path: Path) -> None:
    records = [
        document(phase=phase, model_name=model, task_id=f"{model}{n}", skills_given=[{"name": model}])
        for phase in ("T0", "T1")
        for model in ("small", "large")
        for n in range(3)
    ]
    found = read_study(write_lines(tmp_path / "runs.jsonl", records))
    assert found.names == ("learner (large)", "learner (small)")
    for row in found.summary.rows:
        for exposure in found.seen.exposure.exposures(found.keys(row)):
            assert {use.name for use in exposure.skills} == {row.model_name}


def test_a_model_that_changes_between_phases_is_one_arm(tmp_path: Path) -> None:
    records = [
        document(phase=phase, model_name=f"m-{phase}", task_id=f"t{n}")
        for phase in ("T0", "T1")
        for n in range(3)
    ]
    found = read_study(write_lines(tmp_path / "runs.jsonl", records))
    (row,) = found.summary.rows
    assert [exposure.attempts for exposure in found.seen.exposure.exposures(found.keys(row))] == [3, 3]


def test_a_line_that_is_still_being_written_is_left_out_and_said(tmp_path: Path) -> None:
    folder = make_study(tmp_path / "s", Design(repeats=1))
    whole = read_study(folder).frame.height
    with (folder / "runs.jsonl").open("ab") as file:
        file.write(b'{"schema_version": "1.0.0", "run_')
    found = read_study(folder)
    assert found.frame.height == whole
    assert any("is not finished" in remark for remark in found.remarks)


def test_a_last_line_without_a_line_feed_counts_if_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(document()), encoding="utf-8")
    found = read_study(path)
    assert (found.frame.height, found.remarks) == (1, ())


def test_a_bad_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [document(), document(phase="T9"), document()])
    with pytest.raises(RecordError, match=r"runs\.jsonl:2: phase"):
        read_study(path)


def test_an_unfinished_study_says_how_far_it_is(tmp_path: Path) -> None:
    folder = make_study(tmp_path / "s", Design(repeats=1))
    lines = (folder / "runs.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "runs.jsonl").write_bytes(b"".join(lines[:100]))
    (remark,) = read_study(folder).remarks
    assert f"100 of {len(lines)} planned attempts" in remark


def test_a_summary_of_other_attempts_is_said_and_not_used(tmp_path: Path) -> None:
    folder = make_study(tmp_path / "s", Design(repeats=1))
    (folder / "summary.json").write_text(summarize(folder).to_json(), encoding="utf-8")
    assert read_study(folder).remarks == ()
    with (folder / "runs.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(document(run_id="late", benchmark_split="smoke")) + "\n")
    (remark,) = read_study(folder).remarks
    assert remark.startswith("summary.json is of another runs.jsonl")
    (folder / "summary.json").write_text("{", encoding="utf-8")
    assert any("cannot be read" in remark for remark in read_study(folder).remarks)


@pytest.mark.parametrize("name", ["nothing", ""])
def test_what_is_no_study_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordError) as found:
        read_study(tmp_path / name)
    assert str(tmp_path) in str(found.value)
    assert "\n" not in str(found.value)
