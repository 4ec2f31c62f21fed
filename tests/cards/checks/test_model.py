from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sipbench.cards.checks.model import EVAL_VERSION, parse_eval, read_eval
from sipbench.cards.checks.schemas import SCHEMAS
from sipbench.errors import CardError

READY = {"id": "a", "points": 1.0, "text": "t", "origin": "author", "status": "ready"}
GOOD: list[dict[str, Any]] = [
    {"kind": "file_exists", "path": "run/*.csv", "min_bytes": 1},
    {"kind": "file_format_is", "path": "a", "format": "hdf5"},
    {"kind": "contains_substring", "path": "a", "value": "x", "negate": True},
    {"kind": "field_present", "path": "a.csv", "fields": ["x"]},
    {"kind": "row_count_equals", "path": "a.csv", "count": 0, "op": "ge"},
    {"kind": "value_in_range", "path": "a", "selector": {"by": "number"}, "min": 0},
    {
        "kind": "value_in_range",
        "path": "a",
        "selector": {"by": "cell", "column": "x", "where": {"k": 1}},
        "max": 1,
    },
    {"kind": "output_matches_reference", "path": "a", "reference": "r", "comparator": "table", "rtol": 0.1},
    {"kind": "output_matches_reference", "path": "a", "reference": "r", "comparator": "number", "digits": 3},
    {"kind": "script_runs", "cmd": ["python3", "a.py"], "timeout_s": 5},
    {"kind": "expert_review", "question": "q"},
    {"kind": "llm_judge", "question": "q", "scale": [0, 10], "threshold": 7},
]


def document(*checks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "schema_version": EVAL_VERSION,
        "capsule_key": "p__t",
        "task_id": "t",
        "card_sha256": "sha256:" + "0" * 64,
        "checks": [READY | check for check in checks],
        **changes,
    }


@pytest.mark.parametrize("check", GOOD, ids=lambda check: check["kind"])
def test_a_ready_check_is_read_written_and_read_again(check: dict[str, Any]) -> None:
    parsed = parse_eval(document(check), "eval.json")
    again = json.loads(json.dumps(parsed.model_dump(mode="json")))
    assert parse_eval(again, "eval.json") == parsed
    assert set(check) <= set(parsed.checks[0].parameters())


@pytest.mark.parametrize("check", GOOD, ids=lambda check: check["kind"])
def test_the_shipped_schema_accepts_it(check: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(SCHEMAS.load("eval")).validate(document(check))


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ({"kind": "magic"}, "does not match any of the expected tags"),
        ({"kind": "file_exists"}, "status is 'ready', but path is missing"),
        ({"kind": "file_exists", "path": "../x"}, "without '..'"),
        ({"kind": "file_exists", "path": "/x"}, "use a relative path"),
        ({"kind": "file_exists", "path": "results/"}, "names a directory"),
        ({"kind": "file_exists", "path": "."}, "names a directory"),
        ({"kind": "file_exists", "path": "a", "min_bytes": -1}, "greater than or equal to 0"),
        ({"kind": "file_format_is", "path": "*.csv", "format": "csv"}, "is a pattern"),
        ({"kind": "file_format_is", "path": "a", "format": "rds"}, "Input should be"),
        ({"kind": "contains_substring", "path": "a", "value": ""}, "at least 1 character"),
        ({"kind": "field_present", "path": "a", "fields": []}, "fields is missing"),
        ({"kind": "row_count_equals", "path": "a", "count": 1.5}, "valid integer"),
        ({"kind": "row_count_equals", "path": "a", "count": True}, "valid integer"),
        ({"kind": "value_in_range", "path": "a", "selector": {"by": "number"}}, "neither min nor max"),
        ({"kind": "value_in_range", "path": "a", "min": 0}, "selector is missing"),
        (
            {"kind": "value_in_range", "path": "a", "selector": {"by": "number"}, "min": 2, "max": 1},
            "min is larger",
        ),
        (
            {"kind": "value_in_range", "path": "a", "selector": {"by": "pointer", "pointer": "x"}, "min": 0},
            "match",
        ),
        (
            {"kind": "value_in_range", "path": "a", "selector": {"by": "number"}, "min": float("nan")},
            "finite",
        ),
        ({"kind": "output_matches_reference", "path": "a", "comparator": "bytes"}, "reference is missing"),
        (
            {"kind": "output_matches_reference", "path": "a", "reference": "../r", "comparator": "bytes"},
            "without '..'",
        ),
        (
            {
                "kind": "output_matches_reference",
                "path": "a",
                "reference": "r",
                "comparator": "number",
                "rtol": float("nan"),
            },
            "finite",
        ),
        (
            {
                "kind": "output_matches_reference",
                "path": "a",
                "reference": "r",
                "comparator": "number",
                "atol": float("inf"),
            },
            "finite",
        ),
        (
            {
                "kind": "output_matches_reference",
                "path": "a",
                "reference": "r",
                "comparator": "number",
                "atol": -1.0,
            },
            "greater than or equal to 0",
        ),
        (
            {
                "kind": "output_matches_reference",
                "path": "a",
                "reference": "r",
                "comparator": "number",
                "atol": 1.0,
                "digits": 2,
            },
            "one of them has to go",
        ),
        ({"kind": "script_runs", "cmd": []}, "cmd is missing"),
        ({"kind": "script_runs", "cmd": ["a"], "timeout_s": 1e9}, "less than or equal to 3600"),
        ({"kind": "script_runs", "cmd": ["a"], "cwd": "../.."}, "without '..'"),
        ({"kind": "llm_judge", "question": "q", "threshold": 2}, "not on the scale"),
        ({"kind": "llm_judge", "question": "q", "threshold": 0.5, "scale": [1, 0]}, "smaller one"),
        ({"kind": "expert_review"}, "question is missing"),
        ({"kind": "file_exists", "path": "a", "points": 0}, "greater than 0"),
        ({"kind": "file_exists", "path": "a", "points": float("inf")}, "finite"),
        ({"kind": "file_exists", "path": "a", "id": "A b"}, "must match"),
        ({"kind": "file_exists", "path": "a", "scope": "repository"}, "which no submission holds"),
        ({"kind": "file_exists", "path": "a", "missing": ["path"]}, "status is 'ready', but path is missing"),
        ({"kind": "file_exists", "status": "todo"}, "missing names nothing"),
        ({"kind": "file_exists", "path": "a", "surprise": 1}, "unknown key"),
    ],
)
def test_a_check_that_is_wrong_gets_one_line(check: dict[str, Any], said: str) -> None:
    with pytest.raises(CardError) as error:
        parse_eval(document(check), "eval.json")
    assert said in str(error.value)
    assert str(error.value).startswith("eval.json: checks.0")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", [check["kind"] for check in GOOD])
def test_the_shipped_schema_asks_for_what_a_ready_check_needs(kind: str) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMAS.load("eval"))
    assert not validator.is_valid(document({"kind": kind}))
    assert validator.is_valid(document({"kind": kind, "status": "todo", "missing": ["all"]}))


def test_ids_are_unique() -> None:
    with pytest.raises(CardError, match="two checks are called a"):
        parse_eval(document(GOOD[0], GOOD[1]), "eval.json")


@pytest.mark.parametrize(
    ("version", "said"),
    [("2.0.0", "reads eval.json 1.0.0"), ("one", "expected a version"), (None, "version")],
)
def test_an_unknown_version_is_refused(version: Any, said: str) -> None:
    with pytest.raises(CardError, match=said):
        parse_eval(document(schema_version=version), "eval.json")


def test_a_nan_in_the_file_is_said_as_such(tmp_path: Path) -> None:
    path = tmp_path / "eval.json"
    path.write_text(json.dumps(document(GOOD[7])).replace("0.1", "NaN"), encoding="utf-8")
    with pytest.raises(CardError, match="NaN is not JSON"):
        read_eval(path)


def test_only_ready_checks_that_a_program_decides_make_the_score() -> None:
    todo = {"kind": "file_exists", "id": "b", "status": "todo", "missing": ["path"]}
    judged = {**GOOD[-1], "id": "c"}
    person = {**GOOD[-2], "id": "d"}
    assert [check.id for check in parse_eval(document(GOOD[0], todo, judged, person), "e").scored()] == ["a"]


def test_the_shipped_schemas_are_those_of_the_models() -> None:
    assert SCHEMAS.stale() == []
    for name, (_, version) in SCHEMAS.formats.items():
        assert SCHEMAS.load(name)["$id"] == f"urn:sipbench:{name}:{version}"
        jsonschema.Draft202012Validator.check_schema(SCHEMAS.load(name))
