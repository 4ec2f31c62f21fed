from __future__ import annotations

import json
from pathlib import Path

import pytest

from sipbench.protocol.jsonl import read_records
from sipbench.splits.exclusions import EXCLUSIONS_VERSION
from tests.cli.command import sip

STUDY = """
name: try
benchmark: {name: synth, adapt: 4, heldout: 6, replay: 8, drift: 0}
agent: {name: enumerative-search}
arms:
  frozen: {path_type: frozen}
  macros: {path_type: external, adaptation: synth-macros}
  oracle: {path_type: oracle}
analysis: {sesoi: 0.05}
repeats: 1
attempts: 2
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def test_a_screening_run_chooses_replay_and_is_never_scored(study: Path) -> None:
    folder = study.parent
    ended = sip("screen", study, "--attempts", 2, "--json")
    document = json.loads(ended.out)
    assert (ended.code, document["missing"]) == (0, 0)
    screened = list(read_records(folder / "try-screen" / "runs.jsonl"))
    # 4 adapt tasks of each of two adaptations, 6 held-out and 8 replay tasks, by two arms, twice.
    assert len(screened) == 22 * 2 * 2
    assert {(record.arm, record.phase, record.benchmark_split) for record in screened} == {
        ("frozen", "T0", "replay"),
        ("oracle", "T0", "replay"),
    }
    splits = folder / "splits.json"
    built = sip(
        "splits", "build", study, "--replay", "screened", "--screen", folder / "try-screen", "--rule", "1/2",
        "--sizes", "adapt=4,heldout=6,replay=3", "-o", splits,
    )  # fmt: skip
    assert built.code == 0, built.err
    study.write_text(STUDY + "splits: {file: splits.json}\n", encoding="utf-8")
    assert sip("run", study).code == 0
    scored = list(read_records(folder / "try" / "runs.jsonl"))
    assert not {record.run_id for record in screened} & {record.run_id for record in scored}
    checked = sip(
        "splits",
        "check",
        splits,
        "--tasks",
        study,
        "--screen",
        folder / "try-screen",
        "--runs",
        folder / "try",
    )
    assert (checked.code, checked.out.splitlines()[-1]) == (0, f"{splits}: all rules kept")


def test_a_finished_screening_run_is_not_made_again(study: Path) -> None:
    assert sip("screen", study, "--attempts", 1).code == 0
    runs = study.parent / "try-screen" / "runs.jsonl"
    before = runs.read_bytes()
    again = sip("screen", study, "--attempts", 1)
    assert again.code == 0
    assert runs.read_bytes() == before
    assert "frozen: " in again.out
    assert "tasks solved in at least 1 of 1" in again.out


def test_other_attempts_are_another_run(study: Path) -> None:
    assert sip("screen", study, "--attempts", 1).code == 0
    ended = sip("screen", study, "--attempts", 2)
    assert ended.code == 2
    assert "the study changed since it was begun" in ended.err


def test_candidates_and_exclusions_bound_what_is_screened(study: Path) -> None:
    names = [f"synth-7-replay-{number:04}" for number in range(3)]
    (study.parent / "ids.txt").write_text("\n".join(names), encoding="utf-8")
    (study.parent / "exclusions.json").write_text(
        json.dumps(
            {
                "schema_version": EXCLUSIONS_VERSION,
                "benchmark_name": "synth",
                "fixed_at": "2026-05-01T00:00:00Z",
                "tasks": [{"id": names[0], "reason": "other", "source": "a person"}],
            }
        ),
        encoding="utf-8",
    )
    ended = sip(
        "screen", study, "--attempts", 1, "--candidates", study.parent / "ids.txt",
        "--exclude", study.parent / "exclusions.json", "--out", study.parent / "here",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert {record.task_id for record in read_records(study.parent / "here" / "runs.jsonl")} == set(names[1:])


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ("", ["--arm", "nobody"], "there is no arm 'nobody'; arms are frozen, macros, oracle"),
        ("  frozen: {path_type: frozen}\n", [], "there is no frozen arm to screen with"),
    ],
)
def test_an_arm_must_be_there(study: Path, change: str, arguments: list[str], message: str) -> None:
    study.write_text(STUDY.replace(change, "") if change else STUDY, encoding="utf-8")
    ended = sip("screen", study, *arguments)
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert message in line


def test_a_candidate_must_be_a_task(study: Path) -> None:
    (study.parent / "ids.txt").write_text("no-such-task\n", encoding="utf-8")
    ended = sip("screen", study, "--candidates", study.parent / "ids.txt")
    assert ended.code == 2
    assert "there is no task 'no-such-task'" in ended.err


def test_an_adapting_arm_screens_with_its_empty_state(study: Path) -> None:
    assert sip("screen", study, "--attempts", 1, "--arm", "macros").code == 0
    records = list(read_records(study.parent / "try-screen" / "runs.jsonl"))
    assert {record.arm for record in records} == {"macros", "oracle"}
    assert {record.phase for record in records} == {"T0"}


def test_recorded_attempts_are_not_screened(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: again\nbenchmark: {name: recorded, files: [{path: runs.jsonl}]}\nagent: {name: x}\n"
        "arms: {frozen: {path_type: frozen}}\nanalysis: {sesoi: 0.05}\n",
        encoding="utf-8",
    )
    ended = sip("screen", study)
    assert ended.code == 2
    assert "attempts that exist already are not made again" in ended.err
