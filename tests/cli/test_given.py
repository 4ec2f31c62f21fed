"""Where a file belongs, a device, a pipe, a socket or a folder ends a command at once with one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sipbench.cli import given
from tests.cli.command import sip
from tests.protocol.made import document, write_lines
from tests.study.trial import SIP

STUDY = """\
name: s
benchmark: {name: synth}
agent: {name: enumerative-search}
arms: {frozen: {path_type: frozen}}
analysis: {sesoi: 0.25}
"""


@pytest.fixture(autouse=True)
def _nothing_waits() -> Iterator[None]:
    signal.alarm(120)
    yield
    signal.alarm(0)


COMMANDS = [
    "validate {}",
    "validate {} --kind summary",
    "summarize {}",
    "summarize {} --trusted",
    "summarize {} --schema 0.1.0",
    "run {}",
    "plan {}",
    "screen {}",
    "screen study.yaml --candidates {}",
    "screen study.yaml --exclude {}",
    "import tau {} -o o.jsonl",
    "import tau2 {} -o o.jsonl",
    "import sip-v0 {} -o o.jsonl",
    "show {}",
    "view {}",
    "leaderboard {}",
    "splits check {}",
    "splits show {}",
    "splits build study.yaml --replay preregistered --replay-list {}",
    "plan splits.yaml",
    "plan recorded.yaml",
    "plan prompt.yaml",
]


@pytest.mark.parametrize("kind", ["/dev/zero", "pipe"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("study.yaml").write_text(STUDY, encoding="utf-8")
    Path("splits.yaml").write_text(f"{STUDY}splits: {{file: {kind}}}\n", encoding="utf-8")
    recorded = f"{{name: recorded, files: [{{kind: tau, path: {kind}, phase: T0, split: heldout, arm: a}}]}}"
    Path("recorded.yaml").write_text(STUDY.replace("{name: synth}", recorded), encoding="utf-8")
    arm = f"p: {{path_type: external, adaptation: {{kind: prompt, path: {kind}}}}}"
    Path("prompt.yaml").write_text(STUDY.replace("frozen}}", f"frozen}}, {arm}}}"), encoding="utf-8")
    ended = sip(*command.format(kind).split())
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert kind in ended.err
    assert "it is a " in ended.err or "is not a file" in ended.err


@pytest.mark.parametrize("name", ["runs.jsonl", "journal.jsonl", "adaptations.jsonl"])
def test_a_study_whose_records_are_a_pipe_is_not_taken_up(tmp_path: Path, name: str) -> None:
    (tmp_path / "study.yaml").write_text(STUDY.replace("agent:", "phases: [T0]\nagent:"), encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    (out / "study.yaml").write_bytes((tmp_path / "study.yaml").read_bytes())
    (out / "study.lock.json").write_text("{}", encoding="utf-8")
    os.mkfifo(out / name)
    ended = sip("run", tmp_path / "study.yaml", "--out", out)
    assert ended.code == 2
    assert ended.err.count("\n") == 1


# --- what comes through a pipe


def run(shell: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    command = f"{SIP[0]} {SIP[1]} '{SIP[2]}'"
    return subprocess.run(
        ["bash", "-c", shell.replace("SIP", command)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_standard_input_and_a_process_substitution_are_read_like_a_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "runs.jsonl", [document(), document(task_id="b", score=7)])
    named = run("SIP validate runs.jsonl", tmp_path)
    assert named.returncode == 1
    piped = run("cat runs.jsonl | SIP validate -", tmp_path)
    assert piped.stdout == named.stdout.replace("runs.jsonl", "-")
    assert piped.returncode == 1
    other = run("SIP validate <(cat runs.jsonl) runs.jsonl", tmp_path)
    assert other.stdout.startswith("/dev/fd/")
    assert "1 good record: 1 bad line\nruns.jsonl:2: score" in other.stdout


def test_a_summary_of_the_standard_input_is_that_of_the_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "runs.jsonl", [document(), document(phase="T1")])
    found = [
        json.loads(run(f"cat runs.jsonl | SIP summarize {name} --json", tmp_path).stdout)
        for name in ("runs.jsonl", "-")
    ]
    assert [one.pop("provenance")["sources"][0].pop("name") for one in found] == ["runs.jsonl", "stdin"]
    assert found[0]["rows"] == found[1]["rows"]
    bad = run("echo '{}' | SIP summarize -", tmp_path)
    assert (bad.returncode, bad.stderr.count("\n")) == (2, 1)
    assert bad.stderr.startswith("sip: -:1: schema_version")


@pytest.mark.parametrize("endless", ["cat /dev/zero", "yes x"])
def test_what_never_ends_through_a_pipe_ends_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endless: str
) -> None:
    monkeypatch.setattr(given, "MAX_PIPED_BYTES", 4 * 1024**2)
    with subprocess.Popen(["bash", "-c", endless], stdout=subprocess.PIPE, cwd=tmp_path) as source:
        assert source.stdout is not None
        name = f"/proc/self/fd/{source.stdout.fileno()}"
        ended = sip("validate", name)
        source.kill()
    assert ended.code == 2
    assert ended.err in (
        f"sip: {name}: more than 4194304 bytes; write it to a file and name that\n",
        f"sip: {name}: a line is longer than 16777216 bytes; not a record\n",
    )
    if endless == "yes x":
        assert "more than" in ended.err


# --- where results go


def test_a_pipe_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    # As /dev/null and /dev/stdout must not become files, which a test had better not try.
    path, pipe = write_lines(tmp_path / "runs.jsonl", [document(), document(phase="T1")]), tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    for target in (pipe, tmp_path / "link"):
        assert sip("summarize", path, "-o", target).code == 0
        assert json.loads(os.read(reader, 1 << 20))["rows"]
    ended = sip("import", "runs", path, "-o", pipe, "--append")
    assert ended.code == 2
    assert f"{pipe}: not a regular file; name another one with --out" in ended.err
    os.close(reader)
    assert pipe.is_fifo()
    assert (tmp_path / "link").is_symlink()
