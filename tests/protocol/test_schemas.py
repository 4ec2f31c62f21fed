from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sipbench.protocol.schemas import SCHEMAS
from sipbench.stats.summarize import summarize
from tests.protocol.made import cell, document


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(SCHEMAS.load(name))


def test_the_shipped_schemas_are_those_of_the_models() -> None:
    assert SCHEMAS.stale() == [], "run `make schemas`"


def test_a_changed_schema_is_seen(tmp_path: Path) -> None:
    SCHEMAS.write(tmp_path)
    assert SCHEMAS.stale(tmp_path) == []
    path = tmp_path / "runs.schema.json"
    path.write_text(path.read_text(encoding="utf-8").replace("minimum", "maximum"), encoding="utf-8")
    (tmp_path / "splits.schema.json").unlink()
    assert SCHEMAS.stale(tmp_path) == ["runs", "splits"]


def test_the_check_of_the_command_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["schemas", "--check"])
    assert SCHEMAS.main("schemas") == 0


@pytest.mark.parametrize("name", list(SCHEMAS.formats))
def test_each_is_a_schema_of_its_dialect(name: str) -> None:
    schema = SCHEMAS.load(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_a_record_keeps_the_schema() -> None:
    validator("runs").validate(document())
    validator("runs").validate(document(status="agent_error", token_total=3))


@pytest.mark.parametrize(
    "wrong",
    [
        {"score": 1.5},
        {"score": None},
        {"phase": "T3"},
        {"token_total": -1},
        {"unknown": 1},
        {"schema_version": "0.1.0"},
        {"task_id": ""},
    ],
)
def test_a_wrong_record_breaks_the_schema(wrong: dict[str, Any]) -> None:
    assert not validator("runs").is_valid(document() | wrong)


def test_a_score_without_a_grade_breaks_the_schema() -> None:
    assert not validator("runs").is_valid(document() | {"status": "cancelled", "score": 0.5})


def test_a_summary_keeps_the_schema() -> None:
    scores: dict[str, list[float | str]] = {"a": [0.0, 1.0], "b": [1.0], "c": ["agent_error"]}
    summary = summarize([*cell("T0", "heldout", scores), *cell("T1", "heldout", scores)])
    validator("summary").validate(json.loads(summary.to_json()))
