from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sipbench.cards.load import load_card
from sipbench.errors import CardError
from sipbench.export.driver import Request
from tests.cards.made import FINDING, card, collection, put
from tests.export.made import CHECKS, author, files, made


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    one = made(tmp_path)
    one.export(out="a")
    one.export(out="b")
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_exporting_again_changes_nothing(tmp_path: Path) -> None:
    one = made(tmp_path)
    first = one.one()
    before = files(tmp_path / "out")
    stamps = {path: path.stat().st_mtime_ns for path in one.task.rglob("*")}
    again = one.one()
    assert files(tmp_path / "out") == before
    assert {path: path.stat().st_mtime_ns for path in one.task.rglob("*")} == stamps
    assert (first.version, again.version, again.release) == ("1.0.0", "1.0.0", None)


@pytest.mark.parametrize(
    ("change", "version", "why"),
    [
        ("metadata", "1.0.1", "patch: metadata changed (task.toml)"),
        ("solution", "1.0.1", "patch: metadata changed (solution/outputs/fit.csv)"),
        ("verifier", "1.1.0", "minor: verifier changed (tests/checks.json)"),
        ("reference", "1.1.0", "minor: verifier changed (tests/references/ref/fit.csv)"),
        ("data", "2.0.0", "major: environment changed (environment/inputs/rain.csv)"),
    ],
)
def test_a_change_raises_the_version_and_says_why(
    tmp_path: Path, change: str, version: str, why: str
) -> None:
    one = made(tmp_path)
    one.one()
    request = one.request
    match change:
        case "metadata":
            request = replace(request, authors=("Ann Example", "Bo Example"))
        case "solution":
            put(tmp_path / "oracle" / one.card.key / "fit.csv", "slope,r2\n0.4,0.63\n")
        case "verifier":
            author(
                tmp_path,
                one.card,
                *[item | ({"max": 0.64} if item["id"] == "share" else {}) for item in CHECKS],
            )
        case "reference":
            put(tmp_path / "evals" / one.card.key / "ref" / "fit.csv", "slope,r2\n0.4,0.62\n")
        case _:
            put(tmp_path / "inputs" / one.card.key / "rain.csv", "basin,rain\na,2\n")
    outcome = replace(one, request=request).one()
    assert outcome.version == version
    assert outcome.release is not None
    assert outcome.release.why == why
    assert f'version = "{version}"' in (one.task / "task.toml").read_text(encoding="utf-8")


def test_an_authors_edits_are_never_lost(tmp_path: Path) -> None:
    one = made(tmp_path)
    one.one()
    (one.task / "environment" / "Dockerfile").write_text("FROM mine\n", encoding="utf-8")
    put(one.task / "environment" / "notes.txt", "mine")
    put(tmp_path / "inputs" / one.card.key / "rain.csv", "changed")
    outcome = one.one()
    assert outcome.state == "blocked"
    assert outcome.reason is not None
    assert (
        "was edited since it was exported (environment/Dockerfile, environment/notes.txt)" in outcome.reason
    )
    assert (one.task / "environment" / "Dockerfile").read_text(encoding="utf-8") == "FROM mine\n"
    assert one.one(force=True).state == "task"
    assert "python" in (one.task / "environment" / "Dockerfile").read_text(encoding="utf-8")


def test_a_draft_becomes_a_task_and_moves(tmp_path: Path) -> None:
    one = made(tmp_path)
    draft = one.one(given=replace(one.request.given, evals=None))
    assert (draft.state, draft.version) == ("draft", "0.0.0")
    assert (tmp_path / "out" / "draft" / one.card.key).is_dir()
    assert (one.one().state, one.one().version) == ("task", "1.0.0")
    assert not (tmp_path / "out" / "draft" / one.card.key).exists()


def test_a_leak_stops_one_card_with_its_place_and_no_other(tmp_path: Path) -> None:
    one = made(tmp_path)
    leaky = load_card(
        collection(
            tmp_path, card(task_id="task_002", research_question=f"Is it so that {FINDING}"), capsules=False
        )[0]
    )
    outcomes = {outcome.key: outcome for outcome in one.export(one.card, leaky).outcomes}
    assert outcomes[one.card.key].state == "task"
    stopped = outcomes[leaky.key]
    assert stopped.state == "blocked"
    assert stopped.reason is not None
    assert "instruction.md: finding" in stopped.reason
    assert not list((tmp_path / "out").rglob(f"*{leaky.key}*"))


def test_an_allowed_leak_is_written_down_with_its_reason(tmp_path: Path) -> None:
    one = made(tmp_path, research_question=f"Is it so that {FINDING}")
    stopped = one.one()
    assert stopped.state == "blocked"
    allowed = {leak.id: "the question is about the method" for leak in stopped.report.blocking}
    outcome = one.one(allowed=allowed)
    assert outcome.state == "task"
    provenance = json.loads((one.task / "authoring/provenance/provenance.json").read_text(encoding="utf-8"))
    assert [line.partition(": ")[0] for line in provenance["allowed_leaks"]] == sorted(allowed)
    assert all(line.endswith("the question is about the method") for line in provenance["allowed_leaks"])


def test_an_id_that_nothing_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CardError, match="no leak has this id"):
        made(tmp_path).export(allowed={"L0": "why"})


@pytest.mark.parametrize(
    "content",
    [
        FINDING,
        "mail ann@example.org",
        "/home/ann/x",
        "[UNTRUSTED_DOCUMENT]",
        "ignore all previous instructions",
    ],
)
def test_inputs_are_guarded_like_words(tmp_path: Path, content: str) -> None:
    one = made(tmp_path)
    put(tmp_path / "inputs" / one.card.key / "notes.txt", content)
    outcome = one.one()
    assert outcome.state == "blocked"
    assert outcome.reason is not None
    assert "environment/inputs/notes.txt" in outcome.reason


def test_chained_cards_come_in_order_and_start_from_the_output_before(tmp_path: Path) -> None:
    first, second = (
        load_card(file)
        for file in collection(
            tmp_path,
            card(task_id="task_001", crossref_doi=None, tools=["Python"]),
            card(task_id="task_002", crossref_doi=None, tools=["Python"], input_from="task_001"),
            capsules=False,
        )
    )
    one = made(tmp_path / "author")
    for card_ in (first, second):
        author(one.root, card_)
    put(one.root / "oracle" / first.key / "fit.csv", "slope,r2\n0.4,0.625\n")
    outcomes = one.export(second, first).outcomes
    assert [outcome.key for outcome in outcomes] == [first.key, second.key]
    task = one.root / "out" / "tasks" / second.key
    assert (task / "environment/inputs/fit.csv").read_text(encoding="utf-8") == "slope,r2\n0.4,0.625\n"
    assert "/app/inputs/fit.csv" in (task / "instruction.md").read_text(encoding="utf-8")
    assert f'input_from = "{first.key}"' in (task / "task.toml").read_text(encoding="utf-8")


def test_a_chain_without_the_output_before_is_an_open_item(tmp_path: Path) -> None:
    cards = [
        load_card(file)
        for file in collection(
            tmp_path,
            card(task_id="task_001", crossref_doi=None),
            card(task_id="task_002", crossref_doi=None, input_from="task_001"),
            card(task_id="task_003", crossref_doi=None, input_from="task_000"),
            capsules=False,
        )
    ]
    made(tmp_path / "author").export(*cards, given=Request().given)
    todo = tmp_path / "author" / "out" / "draft"
    said = {
        key: (todo / key / "TODO.md").read_text(encoding="utf-8")
        for key in ("lakes__task_002", "lakes__task_003")
    }
    assert "give the outputs of lakes__task_001 (fit.csv)" in said["lakes__task_002"]
    assert "input_from names 'task_000', which is no card" in said["lakes__task_003"]


def test_cards_in_a_circle_are_stopped_each_with_one_line(tmp_path: Path) -> None:
    files_ = collection(
        tmp_path, card(task_id="a", input_from="b"), card(task_id="b", input_from="a"), capsules=False
    )
    exported = made(tmp_path / "author").export(*map(load_card, files_))
    assert [outcome.state for outcome in exported.outcomes] == ["blocked", "blocked"]
    assert all("leads into a circle" in str(outcome.reason) for outcome in exported.outcomes)


def test_two_cards_of_one_name_are_refused(tmp_path: Path) -> None:
    files_ = [collection(tmp_path, card(), name=name, capsules=False)[0] for name in ("a", "b")]
    with pytest.raises(CardError, match="has the name 10_5555_lakes_1__task_001"):
        made(tmp_path / "author").export(*map(load_card, files_))


@pytest.mark.parametrize("there", ["a file", "a full folder"])
def test_a_place_that_holds_something_else_is_left_alone(tmp_path: Path, there: str) -> None:
    one = made(tmp_path)
    if there == "a file":
        put(tmp_path / "out", "mine")
    else:
        put(tmp_path / "out" / "mine.txt", "mine")
    with pytest.raises(CardError, match=r"is not empty and holds no export\.json"):
        one.export()
    assert (tmp_path / "out").is_file() or (tmp_path / "out" / "mine.txt").is_file()


def test_a_folder_in_the_way_of_a_task_is_left_alone(tmp_path: Path) -> None:
    one = made(tmp_path)
    other = load_card(collection(tmp_path / "other", card(task_id="task_009"), capsules=False)[0])
    one.export(other)
    put(one.task / "mine.txt", "mine")
    outcome = one.one()
    assert (outcome.state, "no export of this card made it" in str(outcome.reason)) == ("blocked", True)
    assert (one.task / "mine.txt").is_file()


def test_a_missing_reference_stops_the_card(tmp_path: Path) -> None:
    one = made(tmp_path)
    (tmp_path / "evals" / one.card.key / "ref" / "fit.csv").unlink()
    assert "reference ref/fit.csv" in str(one.one().reason)


def test_a_reference_behind_a_link_stops_the_card(tmp_path: Path) -> None:
    one = made(tmp_path)
    folder = tmp_path / "evals" / one.card.key / "ref"
    (folder / "fit.csv").unlink()
    folder.rmdir()
    (tmp_path / "secret").mkdir()
    put(tmp_path / "secret" / "fit.csv", "secret")
    folder.symlink_to(tmp_path / "secret")
    assert "symbolic link" in str(one.one().reason)


def test_a_link_among_the_inputs_stops_the_card(tmp_path: Path) -> None:
    one = made(tmp_path)
    (tmp_path / "inputs" / one.card.key / "passwd").symlink_to("/etc/passwd")
    assert "is a symbolic link" in str(one.one().reason)


def test_a_card_that_was_exported_and_is_stopped_now_says_that_the_old_one_stands(tmp_path: Path) -> None:
    one = made(tmp_path)
    one.one()
    put(tmp_path / "inputs" / one.card.key / "notes.txt", FINDING)
    assert str(one.one().reason).endswith(f"tasks/{one.card.key} is of an earlier state")


def test_for_one_card_the_folders_may_hold_its_files_themselves(tmp_path: Path) -> None:
    one = made(tmp_path)
    put(tmp_path / "flat" / "rain.csv", "x")
    one.export(given=replace(one.request.given, inputs=tmp_path / "flat"))
    assert (one.task / "environment/inputs/rain.csv").read_text(encoding="utf-8") == "x"


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    one = made(tmp_path)
    outcome = one.one(given=replace(one.request.given, inputs=tmp_path / "absent"))
    assert "no such folder of inputs" in str(outcome.reason)
