"""`asb leaks`, `asb show` and `asb export-workflow`."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cards.made import FINDING, card, collection, put
from tests.cli.command import Ended, asb
from tests.export.made import Made, made

LEAKY = {"research_question": f"Is it so that {FINDING}"}


def given(one: Made) -> list[object]:
    return [
        one.card.path, "--evals", one.root / "evals", "--inputs", one.root / "inputs", "--oracle",
        one.root / "oracle", "--author", "Ann Example", "-o", one.root / "out",
    ]  # fmt: skip


def one_line(ended: Ended) -> str:
    assert "Traceback" not in ended.err
    assert ended.err.count("\n") == 1
    return ended.err


# --- the agent's network


NETWORKS = [
    (["--agent-network", "public"], "public", None, "1.0.1"),
    (["--agent-network", "no-network"], "no-network", None, "2.0.0"),
    (["--agent-host", "api.example.com"], "allowlist", ["api.example.com"], "3.0.0"),
    (["--agent-host", "*.b.org", "--agent-host", "b.org"], "allowlist", ["*.b.org", "b.org"], "4.0.0"),
]


def test_what_an_agent_may_reach_can_be_said_and_is_another_environment(tmp_path: Path) -> None:
    one = made(tmp_path)
    asb("export-workflow", *given(one))
    (path,) = (one.root / "out" / "tasks").glob("*/task.toml")
    assert "network_mode" not in tomllib.loads(path.read_text(encoding="utf-8"))["environment"]
    for options, mode, hosts, version in NETWORKS:
        ended = asb("export-workflow", *given(one), *options)
        assert ended.code == 0, ended.err
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
        assert document["verifier"]["environment"]["network_mode"] == "no-network"
        found = document["environment"]
        assert (found["network_mode"], found.get("allowed_hosts")) == (mode, hosts)
        assert document["task"]["version"] == version
        harbor = pytest.importorskip("harbor.models.task.config", reason="the extra 'harbor' is missing")
        assert harbor.TaskConfig.model_validate_toml(text).environment.network_mode.value == mode


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--agent-network", "some"], "--agent-network 'some': expected public or no-network"),
        (["--agent-network", "public", "--agent-host", "a.org"], "exclude each other"),
        (["--agent-host", "http://a.org"], "--agent-host 'http://a.org': expected a name"),
        (["--agent-host", "a.org\nb"], "expected a name"),
    ],
)
def test_another_network_is_one_line(tmp_path: Path, options: list[str], said: str) -> None:
    one = made(tmp_path)
    ended = asb("export-workflow", one.card.path, "-o", tmp_path / "other", *options)
    assert ended.code == 2
    assert said in one_line(ended)


# --- leaks


def test_leaks_are_listed_with_id_and_place_and_end_with_1(tmp_path: Path) -> None:
    collection(tmp_path, card(**LEAKY))
    ended = asb("leaks", tmp_path)
    assert ended.code == 1
    assert re.match(
        r"10_5555_lakes_1__task_001: L[0-9a-f]{8} research_question: finding: 15 words", ended.out
    )
    assert ended.out.splitlines()[-1].startswith("1 card: 1 would be stopped (finding 1")


def test_without_a_leak_it_ends_with_0(tmp_path: Path) -> None:
    collection(tmp_path)
    ended = asb("leaks", tmp_path)
    assert (ended.code, ended.out.splitlines()[-1].split(";")[0]) == (0, "1 card: 0 would be stopped")


def test_numbers_are_said_when_asked_for(tmp_path: Path) -> None:
    collection(tmp_path, card(expected_outputs=["the share (target: 62.5)"]))
    assert "warning: L" not in asb("leaks", tmp_path).out
    assert "warning: L" in asb("leaks", tmp_path, "--warnings").out
    assert asb("leaks", tmp_path).code == 0


def test_json_of_leaks_says_the_same(tmp_path: Path) -> None:
    collection(tmp_path, card(**LEAKY, finding="The finding should be confirmed by expert review."))
    document = json.loads(asb("leaks", tmp_path, "--json").out)
    assert document["counts"]["no_finding"] == 1
    assert document["cards"][0]["capsule_key"] == "10_5555_lakes_1__task_001"


# --- show


def test_a_card_is_shown_as_a_person_reads_it_with_what_each_export_lacks(tmp_path: Path) -> None:
    path = collection(tmp_path, card(task_kind=None, title="Lakes \x9b and rain".replace("\x9b", "–")))[0]
    ended = asb("show", path)
    assert ended.code == 0
    assert ended.out.splitlines()[0] == "Lakes – and rain"
    assert FINDING in ended.out
    assert "null-enum: task_kind" in ended.out
    assert "As harbor: a draft: no ready check looks at what an output holds" in ended.out
    assert "give an oracle with --oracle" in ended.out


def test_json_of_a_card_holds_the_card_and_the_exports(tmp_path: Path) -> None:
    document = json.loads(asb("show", collection(tmp_path)[0], "--json").out)
    assert document["card"]["finding"] == FINDING
    assert {item["id"] for item in document["exports"]["harbor"]["items"]} >= {"checks", "oracle", "authors"}


# --- export-workflow


def test_a_task_is_exported_and_named(tmp_path: Path) -> None:
    one = made(tmp_path)
    ended = asb("export-workflow", *given(one))
    assert ended.code == 0
    first, last = ended.out.splitlines()
    assert first.startswith("task     10_5555_lakes_1__task_001 1.0.0 (first export), ")
    assert last == "1 task, 0 drafts, 0 blocked, 0 unreadable"
    assert (
        asb("export-workflow", *given(one))
        .out.splitlines()[0]
        .startswith("task     10_5555_lakes_1__task_001 1.0.0 (unchanged)")
    )
    assert (one.task / "task.toml").is_file()


def test_a_leak_stops_it_and_a_reason_lets_it_go(tmp_path: Path) -> None:
    one = made(tmp_path, **LEAKY)
    ended = asb("export-workflow", *given(one))
    assert ended.code == 1
    assert "instruction.md: finding" in ended.out
    (found,) = json.loads(asb("export-workflow", *given(one), "--json").out)["cards"]
    names = [leak.split()[0] for leak in found["blocking"]]
    options = [part for name in names for part in ("--allow-leak", f"{name}=asked by the reviewers")]
    assert asb("export-workflow", *given(one), *options).code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--allow-leak", "L12345678"], "needs a reason"),
        (["--allow-leak", "L12345678=why"], "no leak has this id"),
        (["--format", "harbour"], "unknown format 'harbour', did you mean 'harbor'?"),
        (["--org", "a/b"], "--org"),
        (["--author", "Ann <ann@example.org>"], "a name without an address"),
        (["-o", "{file}"], "is not empty and holds no export.json"),
        (["--evals", "{file}/x"], ""),
    ],
)
def test_a_wrong_option_is_one_line(tmp_path: Path, options: list[str], said: str) -> None:
    one = made(tmp_path)
    file = put(tmp_path / "mine.txt", "mine")
    arguments = [*given(one), *(option.format(file=file) for option in options)]
    ended = asb("export-workflow", *arguments)
    if said:
        assert (ended.code, said in one_line(ended)) == (2, True)
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (b'{"title": "a", "title": "b"}', "the key stands twice"),
        (b'{"a": "\xe9"}', "not UTF-8"),
        (json.dumps(card(task_description="x" * 66_000)).encode(), "longer than 20000 characters"),
        (json.dumps(card(expected_artifact_name="../../x")).encode(), "does not stay in the folder"),
    ],
)
def test_a_card_that_cannot_be_read_stops_no_other(tmp_path: Path, document: bytes, said: str) -> None:
    one = made(tmp_path)
    broken = one.card.path.with_name("task_666.json")
    broken.write_bytes(document)
    arguments = [one.card.path.parent, *given(one)[1:]]
    ended = asb("export-workflow", *arguments)
    assert ended.code == 1
    (line,) = [line for line in ended.out.splitlines() if line.startswith("unreadable: ")]
    assert said in line
    assert "1 task, 0 drafts, 0 blocked, 1 unreadable" in ended.out


def test_nan_tolerances_and_directories_in_checks_get_one_line(tmp_path: Path) -> None:
    one = made(tmp_path)
    path = one.root / "evals" / one.card.key / "eval.json"
    good = path.read_text(encoding="utf-8")
    for old, new, said in (
        ('"rtol": 0.01', '"rtol": NaN', "NaN is not JSON"),
        ('"rtol": 0.01', '"rtol": 1e999', "rtol: Input should be a finite number"),
        ('"path": "fit.csv"', '"path": "results/"', "names a directory"),
        ('"path": "fit.csv"', '"path": "../fit.csv"', "use a relative path without"),
    ):
        assert old in good
        path.write_text(good.replace(old, new, 1), encoding="utf-8")
        ended = asb("export-workflow", *given(one))
        assert ended.code == 1
        assert [said in line for line in ended.out.splitlines() if line.startswith("blocked")] == [True]


def test_all_commands_run_over_the_given_collections(
    tmp_path: Path, shared_data: Callable[..., Path]
) -> None:
    pytest.importorskip("asb_schema", reason="the schemas of asb-schema (extra 'cards') are not installed")
    data = shared_data("asb-collections")
    assert asb("validate", data).code == 0
    assert asb("draft-eval", data, "-o", tmp_path / "evals").code == 0
    assert asb("leaks", data).code == 1
    ended = asb("export-workflow", data, "-o", tmp_path / "out", "--evals", tmp_path / "evals")
    assert ended.code == 1
    assert "0 tasks, 72 drafts, 9 blocked, 0 unreadable" in ended.out
