"""A record says where it stands in the plan; a line that was edited by hand does not go unnoticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import RecordError, StudyError
from sipbench.protocol.digests import json_digest
from sipbench.protocol.jsonl import Problem, check_records
from sipbench.study.planned import locked_plan
from tests.cli.command import sip
from tests.study.trial import LEARNER, Trial

BOTH = {"frozen": {"path_type": "frozen"}, "learner": LEARNER}


def edited(trial: Trial, line: int, **fields: Any) -> bytes:
    """The file of records with other values in one line, which is written."""
    path = trial.out / "runs.jsonl"
    lines = path.read_bytes().splitlines()
    document = json.loads(lines[line - 1]) | fields
    lines[line - 1] = json.dumps(document).encode()
    text = b"\n".join(lines) + b"\n"
    path.write_bytes(text)
    return text


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, installed: tuple[str, str]) -> Path:
    """A study of two arms and repeats of which the last lines are missing."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        for place in installed:
            patch.syspath_prepend(place)
        trial = Trial(folder).write(arms=BOTH, repeats=2, attempts=2, concurrency=1)
        trial.run()
    path = trial.out / "runs.jsonl"
    kept = path.read_bytes().splitlines(keepends=True)[:-4]
    # Tests edit the first line, and arms take turns in an order that is nobody's business there.
    first = next(line for line in kept if _place(line) == ("frozen", "T0", "heldout-0", 0, 0))
    path.write_bytes(b"".join([first, *(line for line in kept if line is not first)]))
    return folder


def _place(line: bytes) -> tuple[Any, ...]:
    record = json.loads(line)
    names = ("arm", "phase", "task_id", "repeat", "attempt_index")
    return tuple(record[name] for name in names)


@pytest.fixture
def half_run(made: Path, tmp_path: Path, plugins: None) -> Trial:
    """A copy of it that a test may change."""
    shutil.copytree(made, tmp_path / "study")
    return Trial(tmp_path / "study")


EDITS = [
    ("arm", "learner", "frozen"),
    ("task_id", "heldout-1", "heldout-0"),
    ("phase", "T1", "T0"),
    ("benchmark_split", "replay", "heldout"),
    ("repeat", 1, 0),
    ("attempt_index", 1, 0),
    ("seed", 7, 0),
    ("path_type", "oracle", "frozen"),
    ("family", "another", None),
    ("concept", "another", None),
    ("benchmark_name", "another", "trial"),
    ("agent_digest", json_digest("another"), None),
    ("task_digest", json_digest("another"), None),
    ("agent_state_digest", json_digest("another"), None),
]


@pytest.mark.parametrize(("field", "value", "planned"), EDITS, ids=[edit[0] for edit in EDITS])
def test_a_study_whose_record_was_edited_is_not_taken_up(
    half_run: Trial, field: str, value: Any, planned: Any
) -> None:
    first = json.loads((half_run.out / "runs.jsonl").read_bytes().splitlines()[0])
    assert (first["arm"], first["phase"], first["task_id"]) == ("frozen", "T0", "heldout-0")
    assert planned is None or first[field] == planned
    text, journal = edited(half_run, 1, **{field: value}), (half_run.out / "journal.jsonl").read_bytes()
    with pytest.raises(RecordError) as raised:
        half_run.run()
    said = str(raised.value)
    assert said.startswith(f"{half_run.out / 'runs.jsonl'}:1: {field}: is '{value}', and the plan has ")
    assert "remove the line and `sip run` makes the attempt again" in said
    assert f"`sip validate {half_run.out}` lists every bad line" in said
    assert (half_run.out / "runs.jsonl").read_bytes() == text
    assert (half_run.out / "journal.jsonl").read_bytes() == journal

    ended = sip("validate", half_run.out)
    assert ended.code == 1
    assert ended.out.splitlines()[0].startswith(f"{half_run.out / 'runs.jsonl'}:1: {field}: is '{value}'")


def test_the_advice_works_the_removed_line_is_made_again(half_run: Trial) -> None:
    whole = {record.run_id for record in half_run.records()}
    edited(half_run, 1, arm="learner")
    path = half_run.out / "runs.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    assert half_run.run().missing == 0
    assert whole < {record.run_id for record in half_run.records()}
    assert sip("validate", half_run.out).code == 0


def test_an_edited_run_id_is_no_attempt_of_the_study(half_run: Trial) -> None:
    edited(half_run, 2, run_id="0" * 32)
    with pytest.raises(RecordError, match=r"runs\.jsonl:2: run_id: attempt 0{32} .* is not part of this st"):
        half_run.run()
    ended = sip("validate", half_run.out)
    assert ended.code == 1
    assert "runs.jsonl:2: run_id: no attempt of the plan in study.lock.json has it" in ended.out


def test_the_directory_alone_tells_the_plan_of_every_phase(trial: Trial) -> None:
    sizes = {"adapt_t2": 1, "drift": 1}
    trial.write(arms=BOTH, repeats=2, phases=["T0", "T1", "T2"], benchmark=sizes).run()
    plan = locked_plan(trial.out)
    assert plan is not None
    found = list(check_records(trial.out / "runs.jsonl", plan))
    assert not [item for item in found if isinstance(item, Problem)]
    assert {(item.phase, item.benchmark_split) for item in found if not isinstance(item, Problem)} >= {
        ("T2", "drift"),
        ("T2", "adapt"),
        ("T1", "adapt"),
    }


def test_a_directory_that_was_put_together_by_hand_has_no_plan(half_run: Trial) -> None:
    (half_run.out / "study.lock.json").write_text('{"name": "x"}', encoding="utf-8")
    assert locked_plan(half_run.out) is None
    edited(half_run, 1, arm="learner", attempt_index=7)
    assert sip("validate", half_run.out).code == 0


def test_a_lock_that_cannot_be_read_is_named_with_its_field(half_run: Trial) -> None:
    path: Path = half_run.out / "study.lock.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    del document["identity"]["arms"]["frozen"]["seed"]
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(
        StudyError, match=r"study\.lock\.json: identity\.arms\.frozen\.seed: .*; put the file"
    ):
        locked_plan(half_run.out)
    assert sip("validate", half_run.out).code == 2
    path.write_bytes(b"\xff")
    with pytest.raises(StudyError, match=r"study\.lock\.json: not UTF-8"):
        locked_plan(half_run.out)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": "9.0.0"}, "this release reads study locks"),
        ({"config": {"t2": {"delay": "soon"}}}, "config.t2.delay: expected a length such as 7d"),
    ],
)
def test_a_lock_that_no_summary_can_be_made_with_is_not_valid(
    half_run: Trial, change: dict[str, Any], said: str
) -> None:
    path = half_run.out / "study.lock.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | change), encoding="utf-8")
    for command in ("validate", "summarize", "report"):
        ended = sip(command, half_run.out)
        assert ended.code == 2
        assert f"study.lock.json: {'schema_version' if 'schema_version' in change else ''}" in ended.err
        assert said in ended.err
