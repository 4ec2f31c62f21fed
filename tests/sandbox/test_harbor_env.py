"""The environment class in real Harbor jobs: phases, verifiers, skills, network, limits, records."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("harbor", reason="sandbox: these tests need the extra 'harbor'")

from harbor import DatasetConfig, Job, JobConfig, TrialAgentConfig, TrialEnvironmentConfig

from sipbench.errors import EngineError
from sipbench.sandbox.harbor_env import BwrapEnvironment, BwrapOptions
from sipbench.sandbox.options import SandboxOptions
from sipbench.sandbox.task import check_task
from tests.sandbox.conftest import Place

ENVIRONMENT = "sipbench.sandbox.harbor_env:BwrapEnvironment"
PASS_IF_ANSWER = """#!/bin/bash
mkdir -p /logs/verifier
if [ "$(cat /app/answer 2>/dev/null)" = 42 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""
SOLVE = "#!/bin/bash\necho 42 > /app/answer\n"
DOCKERFILE = "FROM ubuntu:24.04\nWORKDIR /app\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    if path.suffix == ".sh":
        path.chmod(0o755)


def make_task(folder: Path, toml: str = "", files: dict[str, str] | None = None) -> Path:
    """A small task: the answer is 42."""
    write(
        folder / "task.toml",
        f'version = "1.0"\n[verifier]\ntimeout_sec = 60\n[agent]\ntimeout_sec = 60\n{toml}',
    )
    base = {
        "instruction.md": "Write 42 to /app/answer.",
        "environment/Dockerfile": DOCKERFILE,
        "tests/test.sh": PASS_IF_ANSWER,
        "solution/solve.sh": SOLVE,
    }
    for name, text in {**base, **(files or {})}.items():
        write(folder / name, text)
    return folder


def rewrite(task: Path, *changes: tuple[str, str]) -> None:
    text = (task / "task.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (task / "task.toml").write_text(text)


@pytest.fixture(autouse=True)
def harbor_quiet(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    monkeypatch.setenv("HARBOR_TELEMETRY", "off")
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv("SIPBENCH_SANDBOX", str(place.store.root))


def run_job(
    tasks: Path,
    agent: str,
    out: Path,
    skills: list[Path] | None = None,
    arguments: dict[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Run one job; return the trial result (as plain JSON) by task."""
    given: dict[str, Any] = {"import_path": agent} if ":" in agent else {"name": agent}
    given["kwargs"] = arguments or {}

    async def body() -> None:
        config = JobConfig(
            job_name="job",
            jobs_dir=out,
            quiet=True,
            n_concurrent_trials=8,
            agents=[
                TrialAgentConfig(**given, skip_model_parsing=True, skills=[str(s) for s in skills or []])
            ],
            datasets=[DatasetConfig(path=tasks)],
            environment=TrialEnvironmentConfig(import_path=ENVIRONMENT, kwargs=options),
        )
        await (await Job.create(config)).run()

    asyncio.run(body())
    found = {}
    for path in sorted((out / "job").glob("*/result.json")):
        result = json.loads(path.read_text())
        found[result["task_name"]] = {**result, "dir": path.parent}
    return found


def reward(result: dict[str, Any]) -> float | None:
    verified = result["verifier_result"]
    assert result["exception_info"] is None, result["exception_info"]["exception_message"]
    return verified["rewards"]["reward"] if verified else None


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Tasks of every shape."""
    top = tmp_path / "tasks"
    no_network = '[environment]\nnetwork_mode = "no-network"\n'
    make_task(top / "shared", no_network)
    separate = [
        ('version = "1.0"\n', 'version = "1.0"\nartifacts = ["/app/answer"]\n'),
        ("[verifier]\n", '[verifier]\nenvironment_mode = "separate"\n'),
    ]
    rewrite(make_task(top / "separate", no_network), *separate)
    own = {"tests/Dockerfile": "FROM scratch\nCOPY test.sh /tests/test.sh\n"}
    toml = no_network + '[verifier.environment]\nnetwork_mode = "no-network"\n'
    rewrite(make_task(top / "bundled", toml, own), *separate)
    steps = {
        "steps/one/instruction.md": "Write 42.",
        "steps/one/tests/test.sh": PASS_IF_ANSWER,
        "steps/one/solution/solve.sh": SOLVE,
        "steps/two/instruction.md": "Keep it.",
        "steps/two/tests/test.sh": PASS_IF_ANSWER,
        "steps/two/solution/solve.sh": "#!/bin/bash\ntest -s /app/answer\n",
    }
    multi = make_task(top / "steps", no_network + '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n', steps)
    for name in ("instruction.md", "tests/test.sh", "solution/solve.sh"):
        (multi / name).unlink()
    return top


def test_the_oracle_passes_and_doing_nothing_fails_in_every_shape(tasks: Path, tmp_path: Path) -> None:
    oracle = run_job(tasks, "oracle", tmp_path / "oracle")
    assert {name: reward(result) for name, result in oracle.items()} == dict.fromkeys(
        ("bundled", "separate", "shared", "steps"), 1.0
    )
    nop = run_job(tasks, "nop", tmp_path / "nop")
    assert {name: reward(result) for name, result in nop.items()} == dict.fromkeys(
        ("bundled", "separate", "shared", "steps"), 0.0
    )


def test_the_tests_and_the_solution_are_not_there_while_the_agent_runs(tmp_path: Path) -> None:
    make_task(tmp_path / "tasks" / "t")
    found = run_job(tmp_path / "tasks", "tests.sandbox.agents:Probe", tmp_path / "out")["t"]
    seen = (found["dir"] / "agent" / "seen").read_text()
    assert "test.sh" not in seen
    assert "solve.sh" not in seen
    # The probe does find them where they are: after the oracle and the verifier.
    verify = (
        PASS_IF_ANSWER + "find / -xdev -name test.sh -o -name solve.sh > /logs/verifier/seen 2>/dev/null\n"
    )
    make_task(tmp_path / "control" / "t", files={"tests/test.sh": verify})
    control = run_job(tmp_path / "control", "oracle", tmp_path / "control-out")["t"]
    assert {"/tests/test.sh", "/solution/solve.sh"} <= set(
        (control["dir"] / "verifier/seen").read_text().split()
    )


def test_a_process_left_by_the_agent_cannot_edit_the_verifiers_files(tmp_path: Path) -> None:
    look = "for i in $(seq 100); do [ -e /tests/attacked ] && break; sleep 0.02; done\n"
    check = PASS_IF_ANSWER + look + "ls /tests > /logs/verifier/list\n"
    make_task(tmp_path / "tasks" / "t", files={"tests/test.sh": check})
    agent = "tests.sandbox.agents:Leave"
    found = run_job(tmp_path / "tasks", agent, tmp_path / "out")["t"]
    assert reward(found) == 0
    assert (found["dir"] / "verifier" / "list").read_text() == "test.sh\n"
    kept = run_job(tmp_path / "tasks", agent, tmp_path / "kept", leftover="keep")["t"]
    # The attack is real: where leftovers are kept it works.
    assert (kept["dir"] / "verifier" / "list").read_text().split() == ["attacked", "conftest.py", "test.sh"]


def test_links_of_an_agent_lead_harbor_to_nothing_of_the_host(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("only-the-host-knows-this", encoding="utf-8")
    read = PASS_IF_ANSWER + "cat /app/answer > /logs/verifier/read 2>&1\n"
    for name in ("shared", "separate"):
        make_task(tmp_path / "tasks" / name, files={"tests/test.sh": read})
    rewrite(
        tmp_path / "tasks" / "separate",
        ('version = "1.0"\n', 'version = "1.0"\nartifacts = ["/app/answer", "/app/dir", "/app/in"]\n'),
        ("[verifier]\n", '[verifier]\nenvironment_mode = "separate"\n'),
    )
    agent = {"secret": str(secret)}
    found = run_job(tmp_path / "tasks", "tests.sandbox.agents:Links", tmp_path / "out", arguments=agent)
    assert set(found) == {"shared", "separate"}
    for result in found.values():
        held = list(result["dir"].rglob("*"))
        assert not [path for path in held if path.is_symlink() or path.is_fifo()]
        assert not [path for path in held if path.is_file() and b"only-the-host" in path.read_bytes()]
        # What is the agent's own does arrive.
        assert (result["dir"] / "agent" / "in" / "own").read_text() == "mine\n"
        assert reward(result) == 0


def test_a_skill_is_deployed_and_an_arm_without_it_has_none(tmp_path: Path) -> None:
    make_task(tmp_path / "tasks" / "t")
    skill = tmp_path / "skills" / "know"
    write(skill / "SKILL.md", "---\nname: know\ndescription: knows\n---\n")
    write(skill / "answer", "42\n")
    agent = "tests.sandbox.agents:UsesSkill"
    assert reward(run_job(tmp_path / "tasks", agent, tmp_path / "with", skills=[skill])["t"]) == 1
    assert reward(run_job(tmp_path / "tasks", agent, tmp_path / "without")["t"]) == 0


def test_what_held_is_written_beside_the_result(tmp_path: Path) -> None:
    limits = '[environment]\ncpus = 1\nmemory_mb = 300\nstorage_mb = 200\nnetwork_mode = "no-network"\n'
    make_task(tmp_path / "tasks" / "t", limits)
    found = run_job(tmp_path / "tasks", "oracle", tmp_path / "out")["t"]
    record = json.loads((found["dir"] / "sandbox-env.json").read_text())
    assert record["limits"]["memory_mb"] == 300
    assert record["limits"]["disk_mb"] == 200
    assert record["network"] == {"connected": "none", "policy": "no-network", "hosts": [], "refused": []}
    assert record["held"]["memory"] != "none"
    assert record["outcome"]["exceeded"] is None
    assert "FROM ubuntu:24.04 noted, not pulled" in record["notes"][0]
    assert record["seccomp"] is True


@pytest.mark.parametrize(
    ("toml", "files", "words"),
    [
        ("[environment]\ngpus = 1\n", {}, "GPU"),
        ('[environment]\nos = "windows"\n', {}, "Windows"),
        ("", {"environment/docker-compose.yaml": "services: {}\n"}, "compose"),
        ("", {"environment/Dockerfile": "FROM a AS x\nFROM b\n"}, "more than one stage"),
        ("", {"environment/Dockerfile": "FROM a\nRUN dnf install -y gcc\n"}, "dnf is not in"),
        ("", {"environment/Dockerfile": "FROM a\nONBUILD RUN true\n"}, "ONBUILD"),
    ],
)
def test_what_cannot_be_given_is_one_error_before_the_attempt(
    tmp_path: Path, toml: str, files: dict[str, str], words: str
) -> None:
    task = make_task(tmp_path / "tasks" / "t", toml, files)
    if "windows" in toml:
        (task / "tests" / "test.sh").rename(task / "tests" / "test.bat")
    with pytest.raises(EngineError, match=words) as raised:
        check_task(task, SandboxOptions())
    assert "\n" not in str(raised.value)
    if "windows" in toml:
        return
    found = run_job(tmp_path / "tasks", "oracle", tmp_path / "out")["t"]
    assert found["exception_info"]["exception_type"] == "EngineError"
    assert words in found["exception_info"]["exception_message"]
    assert found["verifier_result"] is None


def test_a_failing_step_of_the_image_is_told_with_its_line(tmp_path: Path) -> None:
    text = "FROM a\nRUN true\nRUN echo why >&2; exit 7\n"
    make_task(tmp_path / "tasks" / "t", files={"environment/Dockerfile": text})
    found = run_job(tmp_path / "tasks", "oracle", tmp_path / "out")["t"]
    message = found["exception_info"]["exception_message"]
    assert "Dockerfile:3: RUN failed with exit code 7: why" in message


def test_an_unknown_option_or_value_is_refused_before_anything_runs() -> None:
    with pytest.raises(ValueError, match="Unknown option 'colour'"):
        BwrapEnvironment.preflight({"colour": "red"})
    with pytest.raises(EngineError.__base__, match="network = 'open'"):
        BwrapOptions(network="open").sandbox()
    BwrapEnvironment.preflight({})


def test_a_user_of_the_task_is_honoured_when_root_starts_the_box(tmp_path: Path, root_only: None) -> None:
    text = "FROM a\nRUN useradd -m worker && mkdir /app && chown worker /app\nWORKDIR /app\n"
    toml = '[environment]\nnetwork_mode = "no-network"\n'
    task = make_task(tmp_path / "tasks" / "t", toml, {"environment/Dockerfile": text})
    write(task / "solution" / "solve.sh", "#!/bin/bash\nwhoami > /logs/agent/who; echo 42 > /app/answer\n")
    rewrite(task, ("[agent]\n", '[agent]\nuser = "worker"\n'))
    found = run_job(tmp_path / "tasks", "oracle", tmp_path / "out")["t"]
    assert reward(found) == 1
    assert (found["dir"] / "agent" / "who").read_text() == "worker\n"


def test_no_box_and_no_process_is_left_after_a_job(tmp_path: Path, place: Place) -> None:
    make_task(tmp_path / "tasks" / "t")
    write(
        tmp_path / "tasks" / "t" / "solution" / "solve.sh", SOLVE + "setsid sleep 345678 >/dev/null 2>&1 &\n"
    )
    assert reward(run_job(tmp_path / "tasks", "oracle", tmp_path / "out")["t"]) == 1
    listed = subprocess.run("cat /proc/[0-9]*/cmdline", shell=True, capture_output=True, check=False).stdout
    assert b"345678" not in listed


def test_the_network_follows_the_phase(tmp_path: Path) -> None:
    verify = PASS_IF_ANSWER + 'echo "${https_proxy:-none}" > /logs/verifier/proxy\n'
    task = make_task(
        tmp_path / "tasks" / "t", '[environment]\nnetwork_mode = "public"\n', {"tests/test.sh": verify}
    )
    rewrite(task, ("[agent]\n", '[agent]\nnetwork_mode = "no-network"\n'))
    found = run_job(tmp_path / "tasks", "tests.sandbox.agents:ShowNetwork", tmp_path / "out")["t"]
    assert reward(found) == 0
    assert (found["dir"] / "agent" / "proxy").read_text() == "none\n"
    assert (found["dir"] / "verifier" / "proxy").read_text() == "http://127.0.0.1:8118\n"
    devices = (found["dir"] / "agent" / "devices").read_text().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in devices] == ["lo"]


def test_an_allow_list_of_the_task_is_enforced(tmp_path: Path) -> None:
    toml = (
        '[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["example.invalid", "169.254.169.254"]\n'
    )
    ask = (
        'python3 -c "import urllib.request as u; u.install_opener(u.build_opener(u.ProxyHandler('
        "{'http': 'http://127.0.0.1:8118'})));\nfor h in ('169.254.169.254', 'other.invalid'):\n"
        "  try: u.urlopen('http://' + h)\n  except Exception as e: print(h, e)\" > /logs/agent/asked"
    )
    task = make_task(tmp_path / "tasks" / "t", toml)
    write(task / "solution" / "solve.sh", f"#!/bin/bash\n{ask}\necho 42 > /app/answer\n")
    found = run_job(tmp_path / "tasks", "oracle", tmp_path / "out")["t"]
    assert reward(found) == 1
    asked = (found["dir"] / "agent" / "asked").read_text()
    assert asked.count("HTTP Error 403") == 2
    record = json.loads((found["dir"] / "sandbox-env.json").read_text())
    assert record["network"]["policy"] == "allowlist"
    assert record["network"]["refused"] == ["169.254.169.254:80", "other.invalid:80"]


def test_many_trials_of_one_task_build_it_once_and_all_end(tmp_path: Path) -> None:
    text = "FROM a\nRUN cat /proc/sys/kernel/random/uuid > /made; sleep 0.5\nWORKDIR /app\n"
    for number in range(12):
        task = make_task(tmp_path / "tasks" / f"t{number}", files={"environment/Dockerfile": text})
        write(task / "solution" / "solve.sh", SOLVE + "cat /made > /logs/agent/made\n")
    found = run_job(tmp_path / "tasks", "oracle", tmp_path / "out")
    assert [reward(result) for result in found.values()] == [1.0] * 12
    assert len({(result["dir"] / "agent" / "made").read_text() for result in found.values()}) == 1
