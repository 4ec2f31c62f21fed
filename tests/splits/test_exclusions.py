from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import RecordError, SplitError
from sipbench.splits.exclusions import EXCLUSIONS_VERSION, ExclusionList, draft_exclusions, read_exclusions
from sipbench.splits.screening import Flags
from tests.splits.made import task

FLAGS = Flags(passes_noop={"b": "3 of 3"}, oracle_fails={"a": "0 of 1", "b": "0 of 2"})


def draft(**changes: Any) -> ExclusionList:
    made = draft_exclusions(
        FLAGS, benchmark_name="made", benchmark_version="1", source="run x", fixed_at="2026-05-01T00:00:00Z"
    )
    return made.model_copy(update=changes)


def test_a_draft_lists_each_flagged_task_once_with_reason_and_source() -> None:
    listed = [(item.id, item.reason, item.source, item.note) for item in draft().tasks]
    assert listed == [
        ("a", "oracle_fails", "run x", "the known solution passed 0 of 1"),
        ("b", "oracle_fails", "run x", "the known solution passed 0 of 2"),
    ]


def test_a_list_reads_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "exclusions.json"
    path.write_text(draft().model_dump_json(), encoding="utf-8")
    assert read_exclusions(path) == draft()
    assert read_exclusions(path).digest == draft().digest


def test_any_change_changes_the_digest() -> None:
    assert draft().digest != draft(fixed_at="2026-05-02T00:00:00Z").digest
    assert draft().digest != draft(tasks=draft().tasks[:1]).digest


def test_a_list_must_fit_the_tasks() -> None:
    tasks = [task("a"), task("b"), task("c")]
    assert draft().excluded(tasks, "made") == {"a", "b"}
    with pytest.raises(SplitError, match="the list is for 'made', the tasks are of 'other'"):
        draft().excluded(tasks, "other")
    with pytest.raises(SplitError, match="there is no task 'b'"):
        draft().excluded(tasks[:1], "made")
    changed = draft_exclusions(
        Flags(oracle_fails={"a": "0 of 1"}),
        benchmark_name="made",
        benchmark_version=None,
        source="run x",
        fixed_at="2026-05-01T00:00:00Z",
        digests={"a": "sha256:" + "0" * 64},
    )
    with pytest.raises(SplitError, match="task 'a' has changed since it was listed"):
        changed.excluded(tasks, "made")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "not a JSON object"),
        ("{", "not JSON"),
        ('{"schema_version": "9.0.0"}', "found 9.0.0"),
        ('{"schema_version": "1.0.0", "benchmark_name": "m", "tasks": []}', "fixed_at: Field required"),
        (
            '{"schema_version": "1.0.0", "benchmark_name": "m", "fixed_at": "2026-05-01T00:00:00Z", '
            '"tasks": [{"id": "a", "reason": "boring", "source": "s"}]}',
            r"tasks\.0\.reason",
        ),
        (
            '{"schema_version": "1.0.0", "benchmark_name": "m", "fixed_at": "2026-05-01T00:00:00Z", "tasks": '
            '[{"id": "a", "reason": "other", "source": "s"}, {"id": "a", "reason": "other", "source": "s"}]}',
            "'a' stands twice",
        ),
    ],
)
def test_what_is_no_list_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "exclusions.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordError, match=message) as error:
        read_exclusions(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_version_is_declared() -> None:
    assert draft().schema_version == EXCLUSIONS_VERSION
