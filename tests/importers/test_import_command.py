"""``sip import``: the whole way from files to ``runs.jsonl``."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sipbench import plugins
from sipbench.cli.commands.app import app
from sipbench.cli.main import run
from sipbench.importers.job import make_importer, write_records
from sipbench.protocol.jsonl import read_records
from sipbench.protocol.vocabulary import Phase
from tests.importers.made import read, tau_crash, tau_item, write


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.json", [tau_item(0, 0), tau_item(0, 1, 0.0), tau_crash(1, 0), tau_item(1, 1)])
    write(tmp_path / "b.json", [tau_item(2, 0)])
    return tmp_path


def sip(*arguments: str) -> tuple[int, str]:
    """Run the command as its entry point does; the status and all that was printed."""
    output = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        patch.setattr("sys.argv", ["sip", *arguments])
        return run(app, "sip"), output.getvalue()


def test_files_become_the_lines_of_a_file(place: Path) -> None:
    status, said = sip("import", "tau", "a.json", "b.json", "-o", "runs.jsonl", "--phase", "T1", "--arm", "x")
    assert status == 0
    assert "5 records in runs.jsonl: 4 graded, 1 infrastructure_error" in said
    assert "taken for granted: split heldout" in said
    records = list(read_records(place / "runs.jsonl"))
    assert {(record.arm, record.phase) for record in records} == {("x", Phase.T1)}
    assert (place / "runs.jsonl").read_bytes().endswith(b"}\n")


def test_options_reach_the_importer(place: Path) -> None:
    options = ["--trials", "1", "--domain", "airline", "--task-split", "dev", "--set", "version=59a200c"]
    status, _ = sip("import", "tau", "a.json", "-o", "runs.jsonl", "--model", "gpt-4o", *options)
    assert status == 0
    records = list(read_records(place / "runs.jsonl"))
    assert [record.task_id for record in records] == ["airline:dev:0", "airline:dev:1"]
    assert {(record.model_name, record.benchmark_version) for record in records} == {("gpt-4o", "59a200c")}


def test_a_file_that_exists_is_added_to_only_when_asked(place: Path) -> None:
    assert sip("import", "tau", "b.json", "-o", "runs.jsonl")[0] == 0
    before = (place / "runs.jsonl").read_bytes()
    status, said = sip("import", "tau", "a.json", "-o", "runs.jsonl")
    assert (status, (place / "runs.jsonl").read_bytes()) == (2, before)
    assert "runs.jsonl: exists; add to it with --append" in said
    assert sip("import", "tau", "a.json", "-o", "runs.jsonl", "--append")[0] == 0
    assert (place / "runs.jsonl").read_bytes().startswith(before)
    assert len(list(read_records(place / "runs.jsonl"))) == 5


def test_an_attempt_is_never_added_twice(place: Path) -> None:
    sip("import", "tau", "a.json", "-o", "runs.jsonl")
    before = (place / "runs.jsonl").read_bytes()
    status, said = sip("import", "tau", "b.json", "a.json", "-o", "runs.jsonl", "--append")
    assert status == 2
    assert "retail:test:0, T0 heldout, arm imported, repeat 0, attempt 0 stands in runs.jsonl and" in said
    assert (place / "runs.jsonl").read_bytes() == before, "an import is whole or not at all"
    assert sorted(path.name for path in place.iterdir()) == ["a.json", "b.json", "runs.jsonl"]


def test_two_files_with_the_same_attempts_need_a_place_each(place: Path) -> None:
    status, said = sip("import", "tau", "a.json", "a.json", "-o", "runs.jsonl")
    assert status == 2
    assert "stands twice in a.json; bind one of them" in said
    assert not (place / "runs.jsonl").exists()
    assert sip("import", "tau", "a.json", "-o", "runs.jsonl")[0] == 0
    assert sip("import", "tau", "a.json", "-o", "runs.jsonl", "--append", "--first-attempt", "2")[0] == 0


def test_a_last_line_without_an_end_is_ended_first(place: Path) -> None:
    sip("import", "tau", "a.json", "-o", "runs.jsonl")
    whole = (place / "runs.jsonl").read_bytes()
    (place / "runs.jsonl").write_bytes(whole.rstrip(b"\n"))
    assert sip("import", "tau", "b.json", "-o", "runs.jsonl", "--append")[0] == 0
    assert (place / "runs.jsonl").read_bytes().startswith(whole)


def test_a_file_to_add_to_must_hold_records(place: Path) -> None:
    (place / "runs.jsonl").write_text("not a record\n", encoding="utf-8")
    status, said = sip("import", "tau", "b.json", "-o", "runs.jsonl", "--append")
    assert status == 2
    assert "runs.jsonl:1: not JSON" in said


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["tua", "a.json"], "unknown importer 'tua', did you mean 'tau'?"),
        (["tau", "nowhere.json"], "nowhere.json: cannot be read: No such file"),
        (["tau", "a.json", "--phase", "T9"], "--phase: Input should be 'T0', 'T1' or 'T2', found 'T9'"),
        (["tau", "a.json", "--path-type", "x"], "--path-type: "),
        (["tau", "a.json", "--trials", "x"], "option trials.0 of kind tau: "),
        (
            ["tau", "a.json", "--set", "versoin=1"],
            "kind tau has no option 'versoin', did you mean 'version'?",
        ),
        (["tau", "a.json", "--set", "version"], "--set version: expected NAME=VALUE"),
        (["sip-v0", "a.json", "--domain", "x"], "kind sip-v0 has no option 'domain'; it takes none"),
        (["tau", "a.json", "-o", "no/where.jsonl"], "no/where.jsonl: cannot be written: No such file"),
        (["tau"], "Missing argument"),
    ],
)
def test_bad_input_is_one_line_and_status_2(place: Path, arguments: list[str], reason: str) -> None:
    out = [] if "-o" in arguments else ["-o", "runs.jsonl"]
    status, said = sip("import", *arguments, *out)
    assert status == 2
    assert reason in said
    assert said.count("\n") == 1
    assert not (place / "runs.jsonl").exists()


def test_help_explains_without_reading_anything() -> None:
    done = CliRunner().invoke(app, ["import", "--help"])
    assert done.exit_code == 0
    assert "harbor, runs, sip-v0, tau, tau2" in done.output


@pytest.mark.parametrize("kind", ["runs", "sip-v0", "tau", "tau2"])
def test_each_kind_keeps_the_contract(kind: str) -> None:
    importer = plugins.load("importers", kind)
    assert importer.contract_version == 1
    assert make_importer(kind, {}).options == importer.Options()


def test_the_shipped_trajectories_import_to_200_valid_records(
    shared_data: Callable[..., Path], tmp_path: Path
) -> None:
    items = read("tau", shared_data("tau", "gpt-4o-airline.json"))
    counts = write_records((item.record for item in items), tmp_path / "runs.jsonl")
    assert counts.total() == 200
    assert len(list(read_records(tmp_path / "runs.jsonl"))) == 200
