from __future__ import annotations

from pathlib import Path

import pytest

from sipbench.errors import RecordError
from sipbench.splits.build import build_splits
from sipbench.splits.files import manifest_text, read_manifest, read_tasks
from tests.splits.made import task


def written(folder: Path, text: str) -> Path:
    path = folder / "tasks.jsonl"
    path.write_bytes(text.encode("utf-8"))
    return path


def test_a_list_of_tasks_is_one_object_a_line(tmp_path: Path) -> None:
    path = written(
        tmp_path, '{"id": "a", "text": "Ä", "family": "F", "metadata": {"user": "u"}}\r\n\n{"id": "b"}\n'
    )
    first, second = read_tasks(path)
    assert (first.id, first.text, first.family, first.metadata) == ("a", "Ä", "F", {"user": "u"})
    assert (second.text, second.digest, second.metadata) == (None, None, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "a"}\n{"text": "x"}\n', r"tasks\.jsonl:2: id: Field required"),
        ('{"id": "a", "txt": "x"}\n', r"tasks\.jsonl:1: txt: Extra inputs"),
        ('{"id": 3}\n', r":1: id: "),
        ('{"id": "a", "id": "b"}\n', "the key stands twice"),
        ('{"id": "a", "metadata": {"x": NaN}}\n', "NaN is not JSON"),
        ("nonsense\n", ":1: not JSON"),
        ("\n\n", "no tasks in it"),
    ],
)
def test_a_line_that_is_no_task_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        read_tasks(written(tmp_path, text))


def test_a_manifest_reads_back_as_it_was_written(tmp_path: Path) -> None:
    made = build_splits([task(f"t{n}") for n in range(9)], 1, benchmark_name="made")
    path = tmp_path / "splits.json"
    path.write_text(manifest_text(made), encoding="utf-8", newline="\n")
    assert read_manifest(path) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "not a JSON object"),
        ('{"schema_version": "2.0.0"}', "reads split manifests 1.0.0 and older"),
        ('{"schema_version": "1.0.0", "benchmark_name": "m", "heldout": [{"id": ""}]}', r"heldout\.0\.id"),
    ],
)
def test_what_is_no_manifest_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "splits.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordError, match=message) as error:
        read_manifest(path)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        read_manifest(tmp_path / "none.json")
    with pytest.raises(RecordError, match="cannot be read"):
        read_tasks(tmp_path / "none.jsonl")
