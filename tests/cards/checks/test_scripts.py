"""Programs of a submission: what they may, and what is left of them afterwards."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from sipbench.cards.checks.grader import kinds, scripts
from sipbench.cards.checks.grader.kinds import Folders, evaluate
from sipbench.cards.checks.grader.places import Place
from sipbench.cards.checks.grader.verdicts import Failed, Impossible, Verdict


@pytest.fixture(autouse=True)
def _somewhere_to_shut_in() -> None:
    try:
        scripts.shut_in()
    except Impossible as error:
        pytest.skip(str(error))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "submission"
    (folder / "sub").mkdir(parents=True)
    (folder / "data.txt").write_text("42\n", encoding="utf-8")
    return folder


def run(home: Path, script: str, **check: Any) -> Verdict:
    asked = {"kind": "script_runs", "cmd": ["sh", "-c", script], "timeout_s": 20, **check}
    return evaluate(asked, Folders(Place(str(home)), None, run_scripts=True))


CASES = [
    ("exit 0", "pass"),
    ("test $(cat data.txt) = 42", "pass"),
    ("exit 3", "fail"),
    ("echo broken >&2; exit 1", "fail"),
    ("kill -9 $$", "fail"),
    ("echo x > made && test -s made", "pass"),
]


@pytest.mark.parametrize(("script", "outcome"), CASES)
def test_a_program_passes_when_it_ends_with_status_0(home: Path, script: str, outcome: str) -> None:
    assert run(home, script).outcome == outcome


@pytest.mark.parametrize("liar", ["yes", None])
def test_an_evaluator_that_always_says_the_same_is_caught(
    home: Path, liar: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lie(*_: Any) -> str:
        if liar is None:
            raise Failed("no")
        return liar

    monkeypatch.setitem(kinds.EVALUATORS, "script_runs", lie)
    assert any(run(home, script).outcome != outcome for script, outcome in CASES)


def test_its_last_words_are_the_reason(home: Path) -> None:
    assert "status 1: broken" in run(home, "echo broken >&2; exit 1").reason


def test_it_works_in_a_copy(home: Path) -> None:
    assert run(home, "rm -r data.txt sub; echo x > new").outcome == "pass"
    assert sorted(path.name for path in home.iterdir()) == ["data.txt", "sub"]


def test_it_starts_in_the_folder_that_is_named(home: Path) -> None:
    (home / "sub" / "here").touch()
    assert run(home, "test -e here", cwd="sub").outcome == "pass"
    assert "no folder" in run(home, "true", cwd="absent").reason


def test_a_program_that_takes_too_long_fails_and_ends(home: Path) -> None:
    start = time.monotonic()
    verdict = run(home, "sleep 600", timeout_s=1.0)
    assert "takes longer than 1 s" in verdict.reason
    assert time.monotonic() - start < 60


def test_nothing_that_it_started_outlives_it(home: Path, tmp_path: Path) -> None:
    mark = f"sleep 98765.{os.getpid()}"
    assert run(home, f"setsid nohup {mark} >/dev/null 2>&1 & exit 0").outcome == "pass"
    alive = [
        path
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if mark.split()[1].encode() in _bytes(path) and b"pytest" not in _bytes(path)
    ]
    assert alive == []


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_it_sees_no_variable_of_ours(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    assert run(home, 'test -z "$SECRET_TOKEN"').outcome == "pass"


def test_it_owns_nothing_outside_of_its_copy(home: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: else files of the same user are its own")
    victim = tmp_path / "verdict"
    victim.write_text("0", encoding="utf-8")
    victim.chmod(0o644)
    assert run(home, f"echo 1 > {victim}").outcome == "fail"
    assert victim.read_text(encoding="utf-8") == "0"


def test_it_has_no_network(home: Path) -> None:
    if "--net" not in scripts.shut_in():
        pytest.skip("this machine lets no process have a network of its own")
    assert run(home, "grep -vE 'lo:|[|]' /proc/net/dev").outcome == "fail"


def test_a_command_that_is_not_there_fails(home: Path) -> None:
    assert run(home, "", cmd=["no-such-program"]).outcome == "fail"


def test_links_do_not_come_along(home: Path) -> None:
    (home / "link").symlink_to("/etc/passwd")
    assert run(home, "test ! -e link").outcome == "pass"


def test_programs_are_not_started_unless_that_is_asked_for(home: Path) -> None:
    verdict = evaluate({"kind": "script_runs", "cmd": ["true"]}, Folders(Place(str(home))))
    assert (verdict.outcome, "not started" in verdict.reason) == ("error", True)


def test_where_nothing_shuts_in_nothing_is_started(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts.shut_in.cache_clear()
    monkeypatch.setattr(scripts, "_works", lambda command: False)
    try:
        assert run(home, "true").outcome == "error"
    finally:
        scripts.shut_in.cache_clear()
