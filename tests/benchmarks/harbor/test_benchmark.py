"""The adapter before the first attempt: tasks, splits, agents, sandboxes; and whole studies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from sipbench import plugins
from sipbench.benchmarks.base import Agent, Limits
from sipbench.benchmarks.harbor import engine as loading
from sipbench.benchmarks.harbor import sandboxes
from sipbench.errors import ConfigError, EngineError, MissingExtraError
from sipbench.protocol.jsonl import read_records
from sipbench.protocol.vocabulary import PathType, Phase, Split
from tests.benchmarks.harbor.conftest import HERE, Engine, running
from tests.benchmarks.harbor.made import DOCKERFILE, make_task, skillful, write
from tests.benchmarks.harbor.running import sip
from tests.sandbox.conftest import wait_for


def test_it_can_be_found_and_says_which_extra_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = plugins.load("benchmarks", "harbor")

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(loading, "version", absent)
    loading.harbor_version.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match=r"pip install 'sipbench\[harbor\]'"):
            found(found.Options(tasks="tasks"), base=tmp_path)
    finally:
        loading.harbor_version.cache_clear()


def test_it_loads_nothing_of_harbor_until_it_is_used() -> None:
    script = (
        "import sys; import sipbench.benchmarks.harbor.benchmark, sipbench.importers.harbor;"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in ('harbor', 'litellm')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_tasks_have_families_and_harbors_digest(engine: Engine) -> None:
    for name in ("lake-1", "lake-2"):
        make_task(engine.tasks / name)
    engine.options |= {"family_pattern": r"^(\w+)-\d+$", "benchmark_name": "skillsbench"}
    benchmark = engine.benchmark()
    tasks = benchmark.tasks()
    assert [(task.id, task.family) for task in tasks] == [("lake-1", "lake"), ("lake-2", "lake")]
    assert all(task.metadata["upstream_digest"].startswith("sha256:") for task in tasks)
    assert benchmark.name == "skillsbench"
    assert benchmark.engine.endswith(", bwrap")
    assert list(benchmark.private_paths()) == [engine.tasks]


def test_where_the_tasks_lie_is_no_part_of_what_they_are(engine: Engine, tmp_path: Path) -> None:
    # open-thoughts/OpenThoughts-Agent#27: a port in a saved configuration made everything run again.
    found = []
    for place in ("here", "there"):
        skillful(tmp_path / place / "tasks" / "t")
        other = Engine(tmp_path / place).benchmark()
        found.append((other.name, other.version, other.grader_version, other.engine, other.tasks()))
    assert found[0] == found[1]


def test_what_decides_an_outcome_is_part_of_an_attempt(engine: Engine) -> None:
    make_task(engine.tasks / "t")
    versions = [engine.benchmark().grader_version]
    for options in ({"sandbox": "podman"}, {"reward_key": "accuracy"}):
        engine.options |= options
        versions.append(engine.benchmark().grader_version)
    assert len(set(versions)) == 3


def test_what_auto_stands_for_is_what_is_recorded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    make_task(engine.tasks / "t")
    engine.options["sandbox"] = "auto"
    monkeypatch.setattr(sandboxes, "_answers", lambda program: False)
    assert engine.benchmark().options.sandbox == "bwrap"
    monkeypatch.setattr(sandboxes, "_answers", lambda program: True)
    assert engine.benchmark().options.sandbox == "docker"


def test_the_sandbox_and_its_base_may_be_chosen_on_the_command_line(engine: Engine) -> None:
    make_study(engine, "Skillful")
    for options, said in (
        (("--sandbox", "dokcer"), "sandbox: 'dokcer' is none of auto, bwrap"),
        (("--sandbox-base", "tasks"), f"sandbox base {engine.root}/tasks is no root file system"),
        (("--sandbox", "docker", "--sandbox-base", "tasks"), "Unknown option 'base'"),
    ):
        run = sip("run", "study.yaml", "--out", "out", *options, cwd=engine.root)
        told, _ = run.communicate(timeout=120)
        assert run.returncode == 2, told
        assert said in told
    assert not (engine.root / "out" / "runs.jsonl").exists()


def test_splits_keep_families_whole(engine: Engine) -> None:
    for number in range(12):
        make_task(engine.tasks / f"t{number:02d}", f'[metadata]\nfamily = "f{number // 2}"\n')
    manifest = engine.benchmark().splits(1, {Split.HELDOUT: 4, Split.REPLAY: 4, Split.ADAPT: 4})
    assert [len(manifest.tasks(split)) for split in (Split.HELDOUT, Split.REPLAY, Split.ADAPT)] == [4, 4, 4]
    adapt = {entry.family for entry in manifest.adapt}
    assert not adapt & {entry.family for entry in (*manifest.heldout, *manifest.replay)}
    assert engine.benchmark().splits(1, {}).adapt == engine.benchmark().splits(1, {}).adapt


def test_folders_that_are_no_tasks_are_all_named(engine: Engine) -> None:
    make_task(engine.tasks / "good")
    make_task(engine.tasks / "bad", files={"tests/test.sh": ""})
    make_task(engine.tasks / "new", files={"task.toml": "", "task.md": "x"})
    with pytest.raises(EngineError, match=r"2 of its folders.*bad: .*; new: .*BenchFlow"):
        engine.benchmark().tasks()
    engine.options["exclude"] = ["bad", "new"]
    assert [task.id for task in engine.benchmark().tasks()] == ["good"]
    engine.options["include"] = ["nothing*"]
    with pytest.raises(EngineError, match="no Harbor tasks in it"):
        engine.benchmark().tasks()


def test_what_lies_beyond_the_agents_time_is_granted(engine: Engine) -> None:
    # Build twice 100 s (a separate verifier has its own), 360 s to install an agent, 60 s to verify.
    make_task(engine.tasks / "t", "[environment]\nbuild_timeout_sec = 100\n")
    assert engine.benchmark().grace_seconds == 200 + 360 + 60 + 120


# -- agents ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (Agent("terminus-3"), r"agent 'terminus-3' is no agent of Harbor, did you mean 'terminus-2'\?"),
        (Agent("nowhere:Agent"), "agent 'nowhere:Agent': .*is its folder in `python_path`"),
        (Agent(f"{HERE}:Nobody"), "has no class 'Nobody'"),
        (Agent("pathlib:Path"), "not a subclass of harbor.BaseAgent"),
        (Agent("claude-code", arguments={"max_turms": 3}), "Unknown option 'max_turms'"),
        (Agent("nop", limits=Limits(tool_calls=3)), "limits.tool_calls: Harbor cannot hold an agent to it"),
        (Agent("nop", limits=Limits(tokens=3)), "limits.tokens"),
    ],
)
def test_an_agent_that_cannot_run_is_refused_when_the_study_is_planned(
    engine: Engine, agent: Agent, message: str
) -> None:
    make_task(engine.tasks / "t")
    with pytest.raises(ConfigError, match=message) as caught:
        engine.benchmark().check_agent(agent, PathType.FROZEN)
    assert "\n" not in str(caught.value)


def test_agents_of_harbor_and_of_others_are_accepted(engine: Engine) -> None:
    make_task(engine.tasks / "t")
    benchmark = engine.benchmark()
    for agent in (Agent("nop"), Agent(f"{HERE}:Skillful"), Agent("claude-code", arguments={"max_turns": 3})):
        benchmark.check_agent(agent, PathType.FROZEN)
    benchmark.check_agent(Agent("whoever"), PathType.ORACLE)


def test_a_missing_key_is_said_before_the_first_attempt(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if "ANTHROPIC" in name or "CLAUDE" in name]:
        monkeypatch.delenv(name)
    make_task(engine.tasks / "t")
    benchmark = engine.benchmark()
    agent = Agent("terminus-2", model="anthropic/claude-opus-4-1")
    benchmark.check_agent(agent, PathType.FROZEN)
    with pytest.raises(EngineError, match="ANTHROPIC_API_KEY"):
        benchmark.preflight()


def test_it_is_known_beforehand_who_pays(engine: Engine) -> None:
    benchmark, frozen = engine.benchmark(), PathType.FROZEN
    model = "anthropic/claude-opus-4-1"
    assert benchmark.charge(Agent("nop"), frozen) == benchmark.charge(Agent("oracle"), frozen) == "free"
    assert benchmark.charge(Agent("claude-code", model=model), PathType.ORACLE) == "free"
    # An agent of Harbor's that is given no model takes its own.
    assert benchmark.charge(Agent("claude-code"), frozen) == "paid"
    assert benchmark.charge(Agent(f"{HERE}:Skillful", model=model), frozen) == "paid"
    assert benchmark.charge(Agent(f"{HERE}:Skillful"), frozen) == "unknown"


# -- sandboxes ------------------------------------------------------------------------------------


def test_docker_is_taken_where_it_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for code, expected in ((0, "docker"), (1, "bwrap")):
        write(tmp_path / str(code) / "docker", f"#!/bin/sh\nexit {code}\n").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / str(code)}:/usr/bin:/bin")
        sandboxes._answers.cache_clear()
        assert sandboxes.resolved("auto") == expected
    assert sandboxes.resolved("podman") == "podman"
    sandboxes._answers.cache_clear()


def test_any_environment_of_harbor_can_be_named(engine: Engine) -> None:
    pytest.importorskip("harbor")
    config = sandboxes.environment_config("podman", {"x": 1}, {}, engine.root)
    assert (config.type.value, config.kwargs) == ("podman", {"x": 1})
    config = sandboxes.environment_config("mine:Class", {}, {}, engine.root)
    assert config.import_path == "mine:Class"
    config = sandboxes.environment_config("bwrap", {"base": "root"}, {"A": "${HOME}"}, engine.root)
    assert config.kwargs == {"base": str(engine.root / "root")}
    assert config.env == {"A": os.environ["HOME"]}
    with pytest.raises(ConfigError, match=r"environment: .*NOT_SET_ANYWHERE"):
        sandboxes.environment_config("bwrap", {}, {"A": "${NOT_SET_ANYWHERE}"}, engine.root)


def test_a_sandbox_that_does_not_exist_is_refused_when_the_study_is_planned(engine: Engine) -> None:
    make_task(engine.tasks / "t")
    pytest.importorskip("harbor")
    engine.options["sandbox"] = "dokcer"
    with pytest.raises(ConfigError, match="sandbox: 'dokcer' is none of auto, bwrap"):
        engine.benchmark()
    engine.options |= {"sandbox": "bwrap", "sandbox_options": {"base": "root"}}
    with pytest.raises(ConfigError, match=r"sandbox base .*/root is no folder"):
        engine.benchmark()
    (engine.root / "root").mkdir()
    assert engine.benchmark().sandbox == "bwrap"


@pytest.mark.parametrize("sandbox", ["docker", "nowhere:Class"])
def test_a_sandbox_that_does_not_work_is_one_line(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, sandbox: str, tmp_path: Path
) -> None:
    write(tmp_path / "bin" / "docker", "#!/bin/sh\nexit 1\n").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    make_task(engine.tasks / "t")
    engine.options["sandbox"] = sandbox
    with pytest.raises(EngineError, match="sandbox: ") as caught:
        engine.benchmark().preflight()
    assert "\n" not in str(caught.value)


def test_an_option_that_the_sandbox_does_not_have_is_refused(engine: Engine) -> None:
    make_task(engine.tasks / "t")
    engine.options["sandbox_options"] = {"memmory_mb": 3}
    with pytest.raises(EngineError, match="memmory_mb"):
        engine.benchmark().preflight()


def test_tasks_that_the_sandbox_cannot_run_are_named_before_the_first_attempt(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    make_task(engine.tasks / "heavy", "[environment]\ngpus = 1\n")
    with pytest.raises(EngineError, match=r"1 of 1 tasks cannot be run in the sandbox: heavy: .*1 GPU"):
        engine.benchmark().preflight()
    make_task(engine.tasks / "light")
    engine.benchmark().preflight()
    assert "1 of 2 tasks cannot be run in the sandbox: heavy" in caplog.text


def test_variables_reach_the_environment_and_no_other_of_the_host(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SETTING", "value-4711")
    monkeypatch.setenv("MY_SECRET_KEY", "secret-4711")
    make_task(engine.tasks / "t")
    engine.options["environment"] = {"SETTING": "${MY_SETTING}"}
    engine.attempt("Looks")
    found = json.loads((engine.trial / "agent" / "told.json").read_text())["found"]
    assert "SETTING=value-4711" in found
    assert "secret-4711" not in found


# -- studies --------------------------------------------------------------------------------------

STUDY = """
name: s
benchmark: {{name: harbor, tasks: tasks, sandbox: bwrap}}
agent: {{name: "{agent}"}}
repeats: 1
concurrency: 2
splits: {{sizes: {{heldout: 2, replay: 0, adapt: 0}}}}
arms:
  frozen: {{path_type: frozen}}
  given: {{path_type: external, adaptation: {{kind: task-skills, tasks: tasks}}}}
analysis: {{sesoi: 0.05}}
"""


def make_study(engine: Engine, agent: str) -> None:
    for name in ("a", "b"):
        skillful(engine.tasks / name, "own")
    write(engine.root / "study.yaml", STUDY.format(agent=f"{HERE}:{agent}"))


def test_a_study_measures_what_shipped_skills_are_worth(engine: Engine) -> None:
    make_study(engine, "Skillful")
    home = engine.root / "home"
    home.mkdir()
    run = sip("run", "study.yaml", "--out", "out", cwd=engine.root, HOME=str(home), XDG_CACHE_HOME="")
    said, _ = run.communicate(timeout=300)
    assert run.returncode == 0, said
    records = list(read_records(engine.root / "out" / "runs.jsonl"))
    scores = {(record.arm, record.phase, record.score, len(record.skills_given or ())) for record in records}
    assert scores == {
        ("frozen", Phase.T0, 0.0, 0),
        ("frozen", Phase.T1, 0.0, 0),
        ("given", Phase.T0, 0.0, 0),
        ("given", Phase.T1, 1.0, 1),
    }
    assert {record.agent_name for record in records} == {"skillful"}
    # Nothing is written but what the study itself holds and the sandbox's own store.
    assert list(home.rglob("*")) == []
    told = "".join(path.read_text() for path in engine.root.glob("out/attempts/*/*/trial.log"))
    assert "telemetry" not in told.lower()


def capped(engine: Engine, usd: float) -> tuple[int, str, int]:
    """The study with a cap on money: how it ends, what it says, how many attempts it has."""
    text = (engine.root / "study.yaml").read_text(encoding="utf-8").split("caps:")[0]
    write(engine.root / "study.yaml", f"{text}caps: {{usd: {usd}}}\n")
    run = sip("run", "study.yaml", "--out", "out", "--concurrency", "1", cwd=engine.root, TEST_AWAKE="1")
    said, _ = run.communicate(timeout=300)
    return run.returncode, said, len(list(read_records(engine.root / "out" / "runs.jsonl")))


def test_a_study_ends_at_what_it_may_cost_and_goes_on_when_it_may_cost_more(engine: Engine) -> None:
    make_study(engine, "Sleeps")  # awake, it reports half a dollar
    code, said, made = capped(engine, 1)
    assert (code, made) == (1, 2), said
    assert "stopped: caps.usd: 1.00 USD of 1.00 USD are spent; raise it to go on" in said
    # Bringing skills costs the study nothing, though nobody knows what writing them cost.
    code, said, made = capped(engine, 9)
    assert (code, made) == (0, 8), said
    (line,) = [line for line in said.splitlines() if line.startswith("Expected: ")]
    assert line.startswith("Expected: 6 attempts, ")
    assert line.endswith(", about 3.00 USD")


def test_an_agent_that_does_not_say_what_it_cost_stops_a_study_with_a_cap(engine: Engine) -> None:
    make_study(engine, "Skillful")
    code, said, made = capped(engine, 9)
    assert (code, made) == (1, 1), said
    assert "stopped: caps.usd: what 1 attempts, tries or adaptations cost is unknown" in said


def test_a_runner_that_is_killed_leaves_nothing_running_and_its_study_goes_on(engine: Engine) -> None:
    make_study(engine, "Sleeps")
    run = sip("run", "study.yaml", "--out", "out", cwd=engine.root)
    try:
        asyncio.run(wait_for(lambda: len(list(engine.root.rglob("begun"))) >= 2, 120))
        assert running("987654")
    finally:
        run.send_signal(signal.SIGKILL)
        run.communicate()
    asyncio.run(wait_for(lambda: not running("987654"), 60))
    assert list(engine.root.glob("out/attempts/*/.task-*"))  # what it had no time to remove
    run = sip("run", "study.yaml", "--out", "out", cwd=engine.root, TEST_AWAKE="1")
    said, _ = run.communicate(timeout=300)
    assert run.returncode == 0, said
    records = list(read_records(engine.root / "out" / "runs.jsonl"))
    assert [record.score for record in records] == [1.0] * 8
    # Two attempts were under way: their first try stands with them, its cost unknown.
    cut = [record.tries[0] for record in records if record.tries]
    assert [(failed.error_type, failed.cost_usd) for failed in cut] == [("interrupted", None)] * 2


def test_an_unknown_agent_is_one_line_of_the_plan(engine: Engine) -> None:
    make_study(engine, "Nobody")
    run = sip("plan", "study.yaml", cwd=engine.root)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 2
    assert said.startswith("sip: study.yaml:")
    assert said.count("\n") == 1
    assert "has no class 'Nobody'" in said


def test_the_dockerfile_of_a_task_is_carried_out(engine: Engine) -> None:
    test = "#!/bin/bash\nmkdir -p /logs/verifier; cp /app/built /logs/verifier/reward.txt\n"
    files = {"environment/Dockerfile": DOCKERFILE + "RUN echo 1 > /app/built\n", "tests/test.sh": test}
    make_task(engine.tasks / "t", files=files)
    assert engine.attempt("nop").reward == 1.0
