"""`asb validate`, `asb draft-eval` and `asb run-eval`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sipbench.cards.load import load_card
from tests.cards.checks.test_run import SUBMITTED, author
from tests.cards.made import card, collection, put
from tests.cli.command import Ended, asb


def broken(root: Path, text: str | bytes) -> Path:
    path = root / "cards" / "lakes" / "task_001.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def one_line(ended: Ended) -> str:
    """The one line of an error: no traceback, nothing on stdout."""
    assert "Traceback" not in ended.err
    assert ended.err.count("\n") == 1
    return ended.err


# --- validate


@pytest.fixture(name="schemas")
def _schemas() -> None:
    pytest.importorskip("asb_schema", reason="the schemas of asb-schema (extra 'cards') are not installed")


@pytest.mark.usefixtures("schemas")
class TestValidate:
    def test_a_sound_collection_is_counted_and_ends_with_0(self, tmp_path: Path) -> None:
        collection(tmp_path)
        ended = asb("validate", tmp_path)
        assert ended.code == 0
        assert ended.out.splitlines()[0].split() == ["files", "valid", "deviating", "invalid"]
        assert ["card", "1", "1", "0", "0"] in [line.split() for line in ended.out.splitlines()]

    def test_an_error_is_named_with_file_and_field_and_ends_with_1(self, tmp_path: Path) -> None:
        path = collection(tmp_path, card(title=...))[0]
        ended = asb("validate", tmp_path)
        assert ended.code == 1
        assert ended.out.splitlines()[0] == f"{path}: title: is missing"

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('{"title": "a", "title": "b"}', "title: the key stands twice in one object"),
            (b'{"title": "\xe9"}', "not UTF-8 at byte 12"),
            (
                json.dumps(card(task_description="x" * 66_000)),
                "task_description: longer than 20000 characters",
            ),
            (
                json.dumps(card(expected_artifact_name="../../x.csv")),
                "expected_artifact_name: '../../x.csv' does not",
            ),
            (json.dumps(card(title="\x1b[2J")), "title: holds the control character U+001B"),
        ],
    )
    def test_broken_things_get_one_clear_line_each(
        self, tmp_path: Path, text: str | bytes, said: str
    ) -> None:
        path = broken(tmp_path, text)
        ended = asb("validate", path)
        assert ended.code == 1
        lines = [line for line in ended.out.splitlines() if line.startswith(str(path))]
        assert len(lines) == 1
        assert said in lines[0]

    def test_a_circle_is_said_at_each_card_in_it(self, tmp_path: Path) -> None:
        collection(tmp_path, card(task_id="a", input_from="b"), card(task_id="b", input_from="a"))
        ended = asb("validate", tmp_path)
        assert ended.code == 1
        assert sum("leads into a circle" in line for line in ended.out.splitlines()) == 2

    def test_odd_dois_are_keys_like_others(self, tmp_path: Path) -> None:
        doi = "10.1002/(SICI)1097-0258(19980815/30)17:15/16<1661::AID-SIM968>3.0.CO;2-2"
        collection(tmp_path, card(crossref_doi=doi), capsules=False)
        assert asb("validate", tmp_path).code == 0

    def test_json_says_the_same(self, tmp_path: Path) -> None:
        collection(tmp_path, card(task_kind=None))
        document = json.loads(asb("validate", tmp_path, "--json").out)
        assert document["counts"]["card"] == {"valid": 0, "deviating": 1, "invalid": 0}
        (found,) = [item for item in document["files"] if item["kind"] == "card"]
        assert found["deviations"][0]["rule"] == "null-enum"

    def test_deviations_are_listed_when_asked_for(self, tmp_path: Path) -> None:
        path = collection(tmp_path, card(task_kind=None))[0]
        assert f"{path}: null-enum: task_kind" in asb("validate", tmp_path, "--deviations").out
        assert "null-enum in 1 (card)" in asb("validate", tmp_path).out

    def test_what_a_file_says_is_harmless_for_a_terminal(self, tmp_path: Path) -> None:
        path = broken(tmp_path, json.dumps(card(**{"evil\x1b[31m": 1})))
        assert "\x1b" not in asb("validate", path).out

    def test_nothing_to_check_is_an_error(self, tmp_path: Path) -> None:
        ended = asb("validate", tmp_path)
        assert (ended.code, "no file of a collection" in one_line(ended)) == (2, True)


def test_without_the_schemas_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sipbench.cards import schema

    schema._validator.cache_clear()
    monkeypatch.setitem(sys.modules, "asb_schema", None)
    collection(tmp_path)
    ended = asb("validate", tmp_path)
    schema._validator.cache_clear()
    assert (ended.code, one_line(ended)) == (
        2,
        "asb: validating cards needs the extra 'cards': pip install 'sipbench[cards]'\n",
    )


# --- draft-eval


def test_the_draft_of_one_card_is_printed(tmp_path: Path) -> None:
    path = collection(tmp_path)[0]
    document = json.loads(asb("draft-eval", path).out)
    assert document["card_sha256"] == load_card(path).sha256
    assert [check["id"] for check in document["checks"]] == ["pf_001", "pf_002", "pf_003", "er_001"]


def test_drafts_are_written_beside_each_other_and_never_over_each_other(tmp_path: Path) -> None:
    collection(tmp_path, card(), card(task_id="task_002"))
    out = tmp_path / "evals"
    ended = asb("draft-eval", tmp_path, "-o", out)
    assert ended.code == 0
    assert "2 cards, 8 checks" in ended.out
    assert sorted(path.parent.name for path in out.glob("*/eval.json")) == [
        "10_5555_lakes_1__task_001",
        "10_5555_lakes_1__task_002",
    ]
    assert "is there already" in one_line(asb("draft-eval", tmp_path, "-o", out))
    assert asb("draft-eval", tmp_path, "-o", out, "--force").code == 0


# --- run-eval


def test_a_submission_is_graded_and_the_result_written(tmp_path: Path) -> None:
    card_ = load_card(collection(tmp_path)[0])
    author(card_)
    submission = put(tmp_path / "submission" / "fit.csv", SUBMITTED).parent
    out = tmp_path / "result.json"
    ended = asb("run-eval", card_.path, "--submission", submission, "-o", out)
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == (
        "score 1 (8 of 8 points); 3 pass, 0 fail; beside: 1 todo, 1 expert_review, 1 llm_judge"
    )
    document = json.loads(out.read_text(encoding="utf-8"))
    assert (document["score"], document["schema_version"]) == (1.0, "1.0.0")
    assert json.loads(asb("run-eval", card_.path, "--submission", submission, "--json").out) == document


def test_where_nothing_can_be_decided_there_is_no_score(tmp_path: Path) -> None:
    strategy = {"direct_checks": ["It is so."], "expert_review": []}
    path = collection(tmp_path, card(evaluation_strategy=strategy))[0]
    ended = asb("run-eval", path, "--submission", tmp_path)
    assert ended.out.splitlines()[-1].startswith("no score: no check that a program decides is ready")


def test_a_judge_is_asked_only_when_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sipbench.cards.checks import judge

    def forbidden(model: str) -> judge.Judge:
        raise AssertionError(f"{model} was asked")

    monkeypatch.setattr(judge, "litellm_judge", forbidden)
    card_ = load_card(collection(tmp_path)[0])
    author(card_)
    assert asb("run-eval", card_.path, "--submission", tmp_path, "--judge", "none").code == 0
    monkeypatch.setattr(judge, "litellm_judge", lambda model: lambda messages: judge.Answer('{"score": 1}'))
    ended = asb("run-eval", card_.path, "--submission", tmp_path, "--judge", "fake/model", "--votes", "2")
    assert ended.out.splitlines()[-1] == (
        "judge fake/model, prompt 1, 2 votes each: 1 pass, 0 fail, 0 pending; cost unknown"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent.json", "--submission", "."], "cannot be read"),
        (["{card}", "--submission", "absent"], "no folder"),
        (["{card}", "--submission", ".", "--votes", "0"], "votes"),
        ([".", "--submission", "."], "neither a card's file"),
    ],
)
def test_a_wrong_argument_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    path = collection(tmp_path)[0]
    monkeypatch.chdir(tmp_path)
    ended = asb("run-eval", *(argument.format(card=path) for argument in arguments))
    assert ended.code == 2
    assert said in one_line(ended)


@pytest.mark.usefixtures("schemas")
def test_the_given_collections_are_read_without_an_error(shared_data: Callable[..., Path]) -> None:
    ended = asb("validate", shared_data("asb-collections"))
    assert ended.code == 0
    assert ["card", "81", "59", "22", "0"] in [line.split() for line in ended.out.splitlines()]
