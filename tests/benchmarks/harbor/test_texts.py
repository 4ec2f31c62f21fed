"""Texts in every alphabet and with every kind of line end: into the environment as they are, out of it once.

SWE-bench/SWE-bench#215 and #372, agentskills/agentskills#536, Aider-AI/aider#2664: a character that was
split between two blocks of a stream, scripts with Windows line ends, a terminal in another code page.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from sipbench.protocol.jsonl import read_records
from sipbench.protocol.vocabulary import PathType, Status
from tests.benchmarks.harbor.conftest import HERE, Engine
from tests.benchmarks.harbor.made import DOCKERFILE, SOLVE, TEST, make_skill, make_task, write
from tests.benchmarks.harbor.running import sip

TEXT = "naïve Ж 漢字 \U0001f600\r\nsecond line\r\n\tthird, without an end"


def put(path: Path, text: str) -> str:
    """Write the very bytes; return their digest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return hashlib.sha256(text.encode()).hexdigest()


def test_what_enters_an_environment_is_what_lies_on_disk_byte_for_byte(
    engine: Engine, tmp_path: Path
) -> None:
    folder = make_task(
        engine.tasks / "t", files={"environment/Dockerfile": f"{DOCKERFILE}COPY own /runtime/own\n"}
    )
    state = tmp_path / "state"
    make_skill(state / "skills" / "a")
    sums = {
        put(folder / "environment" / "own" / "données é.txt", TEXT),
        put(state / "skills" / "a" / "run.sh", f"#!/bin/sh\r\n# {TEXT}"),
        put(state / "memory" / "заметки.md", TEXT),
        put(state / "prompt.md", f"\N{BYTE ORDER MARK}{TEXT}"),
    }
    attempt = engine.attempt("Looks", PathType.EXTERNAL, state)
    assert attempt.status is Status.GRADED, attempt.error_message
    told = json.loads((engine.trial / "agent" / "told.json").read_text(encoding="utf-8"))
    found = {line.split(" ")[0]: line for line in told["found"].split("\n") if line}
    assert sums <= found.keys()
    assert "заметки.md" in told["instruction"]
    # What a command prints comes back whole.
    assert TEXT.replace("\r\n", "\n") in told["found"].replace("\r\n", "\n")


def test_an_instruction_reaches_the_agent_as_it_is_written(engine: Engine) -> None:
    put(make_task(engine.tasks / "t") / "instruction.md", TEXT)
    engine.attempt("Looks")
    told = json.loads((engine.trial / "agent" / "told.json").read_text(encoding="utf-8"))
    assert told["instruction"].splitlines() == TEXT.splitlines()
    assert engine.benchmark().tasks()[0].text.splitlines() == TEXT.splitlines()


def test_a_test_script_with_windows_line_ends_is_no_reward_of_zero(engine: Engine) -> None:
    folder = make_task(engine.tasks / "t")
    put(folder / "tests" / "test.sh", TEST.replace("\n", "\r\n"))
    put(folder / "solution" / "solve.sh", SOLVE)
    attempt = engine.attempt("nop", PathType.ORACLE)
    assert (attempt.status, attempt.reward) == (Status.VERIFIER_ERROR, None)
    # It is the author's to repair: what is run is what was given.
    assert b"\r\n" in (folder / "tests" / "test.sh").read_bytes()


def test_output_of_any_bytes_and_any_length_harms_nobody(engine: Engine) -> None:
    """Three-byte characters at every offset of a block, then bytes that are no text at all."""
    noise = "python3 -c \"import sys; sys.stdout.write('x' + '漢' * 200001)\"; head -c 4096 /dev/urandom\n"
    script = TEST.replace("#!/bin/bash\n", f"#!/bin/bash\n{noise}")
    make_task(engine.tasks / "t", files={"tests/test.sh": script})
    attempt = engine.attempt("nop", PathType.ORACLE)
    assert (attempt.status, attempt.reward) == (Status.GRADED, 1.0)
    shown = (engine.trial / "verifier" / "test-stdout.txt").read_text(encoding="utf-8", errors="replace")
    assert "漢" * 200001 in shown


def test_an_agents_last_words_are_kept_in_its_own_alphabet(engine: Engine) -> None:
    make_task(engine.tasks / "t")
    attempt = engine.attempt("Fails", arguments={"how": "größer als erlaubt: 漢字"})
    assert attempt.status is Status.INFRASTRUCTURE_ERROR
    assert "größer als erlaubt: 漢字" in (attempt.error_message or "")


def make_study(engine: Engine, **agent: object) -> None:
    study = {
        "name": "s",
        "benchmark": {"name": "harbor", "tasks": "tasks", "sandbox": "bwrap"},
        "agent": agent,
        "phases": ["T0"],
        "repeats": 1,
        "retries": 0,
        "splits": {"sizes": {"heldout": 1, "replay": 0, "adapt": 0}},
        "arms": {"frozen": {"path_type": "frozen"}},
        "analysis": {"sesoi": 0.05},
    }
    write(engine.root / "study.yaml", json.dumps(study))


def test_a_study_runs_where_no_language_is_set(engine: Engine) -> None:
    make_task(engine.tasks / "tâche-漢", files={"instruction.md": TEXT})
    make_study(engine, name=f"{HERE}:Fails", arguments={"how": "größer als erlaubt: 漢字"})
    run = sip("run", "study.yaml", "--out", "out", cwd=engine.root, LC_ALL="POSIX")
    said, _ = run.communicate(timeout=300)
    assert run.returncode == 1, said
    assert "1 infrastructure_error: größer als erlaubt: 漢字" in said
    (record,) = read_records(engine.root / "out" / "runs.jsonl")
    assert (record.task_id, record.error_message) == ("tâche-漢", "größer als erlaubt: 漢字")


def test_harbor_is_not_let_read_texts_in_another_alphabet(engine: Engine) -> None:
    make_task(engine.tasks / "t")
    make_study(engine, name="nop")
    for code in ("0", "1"):
        plan = sip(
            "plan", "study.yaml", cwd=engine.root, LC_ALL="POSIX", PYTHONCOERCECLOCALE="0", PYTHONUTF8=code
        )
        said, _ = plan.communicate(timeout=60)
        if code == "1":
            assert plan.returncode == 0, said
        else:
            assert plan.returncode == 2
            assert said.endswith("which they are not: set PYTHONUTF8=1\n")
            assert len(said.splitlines()) == 1, said
