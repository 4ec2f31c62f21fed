from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sipbench import load_runs, summarize
from sipbench.errors import RecordError
from sipbench.protocol.folder import check_adaptations, read_folder
from sipbench.protocol.jsonl import Problem
from tests.protocol.made import cell, document, write_lines

DIGEST = "sha256:" + "0" * 64


def adaptation(**given: Any) -> dict[str, Any]:
    return {
        "schema_version": "1.0.0",
        "arm": "learner",
        "repeat": 0,
        "phase": "T1",
        "path_type": "external",
        "adaptation": "skills",
        "agent_state_digest": DIGEST,
        "previous_state_digest": DIGEST,
        "token_total": 60,
        **given,
    }


LOCK: dict[str, Any] = {
    "schema_version": "1.0.0",
    "name": "mine",
    "analysis": {"cost_unit": "tokens", "lambda": 2.0, "eps": 0.1},
    "planned": [{"arm": "learner", "phase": "T0", "split": "heldout", "attempts": 4}],
    "allowed": [{"rule": "disjoint-ids", "message": "tasks stand in both", "tasks": ["x"]}],
    "digests": {"anything": "else"},
}
SPLITS: dict[str, Any] = {
    "schema_version": "1.0.0",
    "benchmark_name": "made",
    "heldout": [{"id": "a", "family": "F"}, {"id": "b", "family": "F"}],
}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    records = [
        *cell("T0", "heldout", {"a": [0.1], "b": [0.2]}, token_total=1),
        *cell("T1", "heldout", {"a": [0.4], "b": [0.6]}, token_total=1),
        *cell("T1", "adapt", {"x": [1.0]}, token_total=40),
    ]
    write_lines(tmp_path / "runs.jsonl", records)
    write_lines(tmp_path / "adaptations.jsonl", [adaptation()])
    (tmp_path / "splits.json").write_text(json.dumps(SPLITS, indent=2), encoding="utf-8")
    (tmp_path / "study.lock.json").write_text(json.dumps(LOCK), encoding="utf-8")
    return tmp_path


def test_a_study_directory_says_all_that_a_summary_needs(study: Path) -> None:
    found = read_folder(study)
    assert (found.settings.cost_unit, found.settings.lambda_, found.settings.eps) == ("tokens", 2.0, 0.1)
    assert found.context.study == "mine"
    assert found.context.planned is not None
    assert found.context.planned[0].attempts == 4
    assert found.context.adaptations is not None
    assert found.context.adaptations[0].token_total == 60
    assert found.context.manifest is not None
    assert [violation.tasks for violation in found.context.allowed] == [("x",)]


def test_a_study_is_summarised_with_what_it_declared(study: Path) -> None:
    summary = summarize(study)
    (row,) = summary.rows
    assert (summary.study, summary.settings.lambda_) == ("mine", 2.0)
    assert row.learning_cost is not None
    assert row.learning_cost.value == 100
    assert row.metrics.fg.n_families == 1
    assert row.evaluation.planned == 4
    assert [mark.rule for mark in summary.allowed] == ["disjoint-ids"]
    assert summary == summarize(str(study)).model_copy(update={"provenance": summary.provenance})


def test_a_directory_with_runs_alone_is_enough(tmp_path: Path) -> None:
    write_lines(tmp_path / "runs.jsonl", [document()])
    found = read_folder(tmp_path)
    assert (found.context.adaptations, found.context.planned, found.context.study) == (None, None, None)
    assert len(load_runs(tmp_path)) == len(load_runs(tmp_path / "runs.jsonl")) == 1


def test_the_declared_delay_is_that_of_the_lock(tmp_path: Path) -> None:
    write_lines(tmp_path / "runs.jsonl", [document()])
    assert read_folder(tmp_path).context.delay is None
    lock = {"config": {"t2": {"by": ["delay"], "delay": "7d"}, "repeats": 3}}
    (tmp_path / "study.lock.json").write_text(json.dumps(lock), encoding="utf-8")
    assert read_folder(tmp_path).context.delay == "7d"


def test_no_adaptations_is_not_the_same_as_unknown_ones(study: Path) -> None:
    (study / "adaptations.jsonl").write_bytes(b"")
    assert read_folder(study).context.adaptations == ()
    (row,) = summarize(study).rows
    assert row.metrics.ie.reason == "the arm has no adaptation"


def test_a_directory_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"no runs\.jsonl in it"):
        read_folder(tmp_path)


def test_a_study_directory_is_summarised_alone(study: Path) -> None:
    with pytest.raises(RecordError, match="summarised alone"):
        summarize([study, study / "runs.jsonl"])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("study.lock.json", "{", "not JSON"),
        ("study.lock.json", '{"analysis": {"eps": -1}}', "analysis.eps"),
        ("study.lock.json", '{"planned": [{"arm": "a"}]}', "planned.0"),
        ("study.lock.json", '{"allowed": [{"rule": 1}]}', "changed by hand"),
        ("study.lock.json", '{"config": {"t2": {"delay": "soon"}}}', "config.t2.delay"),
        ("study.lock.json", '{"config": {"t2": 7}}', "config.t2"),
        ("splits.json", '{"schema_version": "2.0.0"}', "schema_version"),
        ("splits.json", '{"schema_version": "1.0.0"}', "benchmark_name"),
        ("splits.json", "[" * 100_000, "nested too deeply"),
        ("adaptations.jsonl", '{"arm": 1}', "schema_version"),
    ],
)
def test_a_broken_file_of_a_study_is_one_line_that_names_it(
    study: Path, name: str, text: str, said: str
) -> None:
    (study / name).write_text(text, encoding="utf-8")
    with pytest.raises(RecordError, match=r"^[^\n]*$") as caught:
        read_folder(study)
    assert str(study / name) in str(caught.value)
    assert said in str(caught.value)


def test_each_wrong_adaptation_is_named(tmp_path: Path) -> None:
    records = [adaptation(), adaptation(), adaptation(repeat=-1), adaptation(repeat=1, token_total=-5)]
    path = write_lines(tmp_path / "adaptations.jsonl", records)
    found = [item for item in check_adaptations(path) if isinstance(item, Problem)]
    assert [(item.line, item.field) for item in found] == [(2, None), (3, "repeat"), (4, "token_total")]
