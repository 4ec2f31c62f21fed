from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import CardError
from sipbench.export.base import Part
from sipbench.export.index import INDEX, Index, Record, Release, next_version, read_index, write_index

PARTS: dict[str, Part] = {
    "task.toml": "metadata",
    "authoring/x": "metadata",
    "tests/checks.json": "verifier",
    "environment/Dockerfile": "environment",
    "instruction.md": "environment",
}


def record(version: str = "2.3.4", **changes: Any) -> Record:
    content = dict.fromkeys(PARTS, "-:old")
    values: dict[str, Any] = {
        "capsule_key": "k",
        "card_sha256": "s",
        "folder": "tasks/k",
        "releases": (Release(version=version, why="w"),),
        "content": content,
        "written": content,
    }
    return Record(**(values | changes))


@pytest.mark.parametrize(
    ("changed", "version", "why"),
    [
        ({"task.toml"}, "2.3.5", "patch: metadata changed (task.toml)"),
        ({"tests/checks.json"}, "2.4.0", "minor: verifier changed (tests/checks.json)"),
        ({"environment/Dockerfile"}, "3.0.0", "major: environment changed (environment/Dockerfile)"),
        ({"instruction.md"}, "3.0.0", "major: environment changed (instruction.md)"),
        ({"task.toml", "tests/checks.json"}, "2.4.0", "minor: verifier changed (tests/checks.json)"),
        (set(PARTS), "3.0.0", "major: environment changed (environment/Dockerfile, instruction.md)"),
    ],
)
def test_the_change_that_asks_for_most_decides_the_number(changed: set[str], version: str, why: str) -> None:
    content = {path: "-:new" if path in changed else "-:old" for path in PARTS}
    assert next_version(record(), content, PARTS) == Release(version=version, why=why)


def test_a_file_more_or_less_is_a_change() -> None:
    content = dict.fromkeys(PARTS, "-:old")
    more = next_version(record(), content | {"tests/new": "-:x"}, PARTS | {"tests/new": "verifier"})
    assert more is not None
    assert more.version == "2.4.0"
    less = next_version(record(), {path: "-:old" for path in PARTS if path != "instruction.md"}, PARTS)
    assert less is not None
    assert less.version == "3.0.0"


def test_without_a_change_the_version_stays() -> None:
    assert next_version(record(), dict.fromkeys(PARTS, "-:old"), PARTS) is None


def test_a_first_task_is_1_0_0_even_after_drafts() -> None:
    content = dict.fromkeys(PARTS, "-:old")
    for former in (None, record(releases=())):
        first = next_version(former, content, PARTS)
        assert first is not None
        assert first.version == "1.0.0"


def test_an_index_is_read_as_it_was_written(tmp_path: Path) -> None:
    index = Index(format="harbor", upstream="u", records={"k": record()})
    write_index(tmp_path, index)
    assert read_index(tmp_path, "harbor") == index
    assert read_index(tmp_path / "elsewhere", "harbor") is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": "sab"}, "holds an export as sab"),
        ({"schema_version": "2.0.0"}, "reads export.json 1.0.0"),
        ({"surprise": 1}, "unknown key"),
        ({"records": {"k": record().model_dump(mode="json") | {"folder": "../../home"}}}, "no path below"),
        (
            {"records": {"k": record().model_dump(mode="json") | {"written": {"/etc/passwd": "x"}}}},
            "no path below",
        ),
        (
            {"records": {"k": record().model_dump(mode="json") | {"written": {"a/../../x": "x"}}}},
            "no path below",
        ),
    ],
)
def test_an_index_that_is_not_ours_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    document = Index(format="harbor", upstream="u").model_dump(mode="json") | changes
    (tmp_path / INDEX).write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(CardError, match=said):
        read_index(tmp_path, "harbor")
