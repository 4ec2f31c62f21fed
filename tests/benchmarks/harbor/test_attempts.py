"""Attempts in real boxes: who is given which skills, what comes out, and what is left behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import EngineError
from sipbench.protocol.agent_state import CheckpointChoice
from sipbench.protocol.digests import file_digest
from sipbench.protocol.vocabulary import PathType, Status
from tests.benchmarks.harbor.conftest import HERE, Engine, running
from tests.benchmarks.harbor.made import DOCKERFILE, SOLVE, TEST, make_skill, make_task, skillful, write
from tests.sandbox.conftest import Place, wait_for

State = Callable[..., Path]


def names(refs: Any) -> list[str] | None:
    return None if refs is None else [ref.name for ref in refs]


def test_the_oracle_solves_the_task_and_doing_nothing_does_not(engine: Engine) -> None:
    make_task(engine.tasks / "t")
    oracle = engine.attempt("nop", PathType.ORACLE)
    assert (oracle.status, oracle.reward) == (Status.GRADED, 1.0)
    assert oracle.overrides["agent_name"] == "oracle"
    idle = engine.attempt("nop")
    assert (idle.status, idle.reward, idle.skills_given) == (Status.GRADED, 0.0, ())
    assert idle.usage.token_total is None


def test_without_an_agent_state_a_task_is_run_without_the_skills_it_ships(engine: Engine) -> None:
    skillful(engine.tasks / "t", "own")
    attempt = engine.attempt("Plain", PathType.EXTERNAL)
    assert (attempt.status, attempt.reward, attempt.skills_given) == (Status.GRADED, 0.0, ())


def test_from_t1_on_the_agent_is_given_the_skills_of_its_state(engine: Engine, skills_state: State) -> None:
    skillful(engine.tasks / "t", "own")
    state = skills_state("b", "a")
    attempt = engine.attempt("Skillful", PathType.EXTERNAL, state)
    assert (attempt.status, attempt.reward) == (Status.GRADED, 1.0)
    assert names(attempt.skills_given) == ["a", "b"]
    assert names(attempt.skills_opened) == ["a", "b"]
    assert attempt.metadata["harbor"]["skills_by"] == "harbor"
    locked = json.loads((engine.trial / "lock.json").read_text())["skills"]
    assert {item["digest"] for item in locked} == {skill.tree_digest for skill in attempt.skills_given or ()}
    assert [skill.digest for skill in attempt.skills_given or ()] == [
        file_digest(state / "skills" / name / "SKILL.md") for name in ("a", "b")
    ]
    # No model was called, and the trajectory says so: the zero is a measurement.
    assert (attempt.usage.token_total, attempt.usage.tool_calls_total) == (0, 1)


def test_an_agent_that_harbor_cannot_give_skills_finds_them_in_its_image(
    engine: Engine, skills_state: State
) -> None:
    skillful(engine.tasks / "t", "own")
    attempt = engine.attempt("Plain", PathType.EXTERNAL, skills_state("other"))
    assert (attempt.status, attempt.reward, names(attempt.skills_given)) == (Status.GRADED, 1.0, ["other"])
    assert attempt.metadata["harbor"]["skills_by"] == "image"


def test_the_study_may_put_skills_into_the_image_of_every_agent(engine: Engine, skills_state: State) -> None:
    engine.options["skills"] = "image"
    skillful(engine.tasks / "t")
    engine.attempt("Looks", PathType.EXTERNAL, skills_state("other"))
    told = json.loads((engine.trial / "agent" / "told.json").read_text())
    assert "/root/.claude/skills/other/SKILL.md" in told["found"]
    assert "own" not in told["found"]
    assert told["skills_dir"] is None


def test_skills_that_can_reach_the_agent_in_no_way_are_an_error(engine: Engine, skills_state: State) -> None:
    make_task(engine.tasks / "t")
    with pytest.raises(EngineError, match=r"t: agent '.*Plain' cannot be given skills by Harbor, and"):
        engine.attempt("Plain", PathType.EXTERNAL, skills_state("a"))


def test_skills_that_never_arrive_are_an_error_and_no_result(engine: Engine, skills_state: State) -> None:
    make_task(engine.tasks / "t")
    engine.options["sandbox"] = f"{HERE}:LosesSkills"
    attempt = engine.attempt("Skillful", PathType.EXTERNAL, skills_state("a"))
    assert (attempt.status, attempt.reward) == (Status.INFRASTRUCTURE_ERROR, None)
    assert attempt.error_type == "NotExposed"
    assert attempt.error_message == "skills a are not among what the agent has before it"
    assert attempt.skills_given is None
    assert not list(engine.trial.glob("verifier/reward*"))


def test_a_control_whose_image_brings_skills_is_an_error_and_no_result(engine: Engine) -> None:
    baked = DOCKERFILE + "COPY hidden /root/.agents/skills\nCOPY hidden /runtime/skills\n"
    make_task(engine.tasks / "t", files={"environment/Dockerfile": baked})
    make_skill(engine.tasks / "t" / "environment" / "hidden" / "baked")
    attempt = engine.attempt("Skillful")
    assert (attempt.status, attempt.error_type) == (Status.INFRASTRUCTURE_ERROR, "NotExposed")
    assert "baked (/runtime/skills)" in (attempt.error_message or "")


def test_a_task_gets_the_skills_that_it_ships_itself_and_only_those(engine: Engine, tmp_path: Path) -> None:
    for name in ("one", "two"):
        skillful(engine.tasks / name, f"of-{name}")
        make_skill(tmp_path / "state" / "task-skills" / name / f"of-{name}")
    make_task(engine.tasks / "zero")
    for task, name in enumerate(("one", "two")):
        attempt = engine.attempt("Skillful", PathType.EXTERNAL, tmp_path / "state", task)
        assert (attempt.reward, names(attempt.skills_given)) == (1.0, [f"of-{name}"])
    with pytest.raises(EngineError, match="zero: no skills were chosen"):
        engine.attempt("Skillful", PathType.EXTERNAL, tmp_path / "state", 2)


def test_a_task_for_which_no_skill_was_found_is_attempted_without(engine: Engine, tmp_path: Path) -> None:
    make_task(engine.tasks / "t")
    write(tmp_path / "state" / "task-skills" / "t" / "selection.json", '{"skills": []}')
    attempt = engine.attempt("Skillful", PathType.EXTERNAL, tmp_path / "state")
    assert (attempt.status, attempt.reward, attempt.skills_given) == (Status.GRADED, 0.0, ())


def test_files_of_the_state_are_put_in_place_and_named(engine: Engine, tmp_path: Path) -> None:
    make_task(engine.tasks / "t")
    write(tmp_path / "state" / "memory" / "notes.md", "the answer was 42")
    write(tmp_path / "state" / "prompt.md", "Be careful.")
    attempt = engine.attempt("Looks", PathType.EXTERNAL, tmp_path / "state")
    told = json.loads((engine.trial / "agent" / "told.json").read_text())
    assert "/runtime/memory: notes.md" in told["instruction"]
    assert told["instruction"].startswith("Write 42 to /app/answer.")
    assert "the answer was 42" in told["found"]
    assert "/runtime/prompt.md" in told["found"]
    placed = attempt.metadata["harbor"]["placed"]
    assert [item["place"] for item in placed] == ["/runtime/memory", "/runtime/prompt.md"]
    assert attempt.status is Status.GRADED


def test_a_checkpoint_is_the_model_that_the_agent_gets(engine: Engine, tmp_path: Path) -> None:
    make_task(engine.tasks / "t")
    write(tmp_path / "state" / "checkpoint.json", CheckpointChoice(model="tuned-1").model_dump_json())
    # Without a slash litellm is asked for nothing but a name.
    attempt = engine.attempt("Looks", PathType.PARAMETER, tmp_path / "state", model="base-1")
    assert json.loads((engine.trial / "agent" / "told.json").read_text())["model"] == "tuned-1"
    assert attempt.overrides["model_name"] == "tuned-1"


def test_a_timeout_of_the_agent_is_graded_and_what_it_spent_is_kept(engine: Engine) -> None:
    make_task(engine.tasks / "t")
    attempt = engine.attempt("Sleeps", timeout_seconds=1)
    assert (attempt.status, attempt.reward) == (Status.TIMEOUT_GRADED, 1.0)
    assert (attempt.usage.token_total, attempt.usage.cost_usd) == (100, 0.5)
    assert attempt.usage_source == "agent"


@pytest.mark.parametrize(
    ("arguments", "status", "reward"),
    [({}, Status.INFRASTRUCTURE_ERROR, None), ({"how": "exit"}, Status.GRADED, 0.0)],
)
def test_a_failed_try_keeps_what_it_cost(
    engine: Engine, arguments: dict[str, Any], status: Status, reward: float | None
) -> None:
    make_task(engine.tasks / "t")
    attempt = engine.attempt("Fails", arguments=arguments)
    assert (attempt.status, attempt.reward) == (status, reward)
    assert (attempt.usage.token_total, attempt.usage.cost_usd) == (100, 0.5)


def test_an_agent_has_a_seed_only_where_it_takes_one(engine: Engine) -> None:
    make_task(engine.tasks / "t")
    assert engine.attempt("nop").overrides["attempt_seed"] is None
    engine.options["seed_argument"] = "seed"
    assert engine.attempt("Fails", arguments={"how": "exit"}).overrides["attempt_seed"] == 7


def test_a_task_with_steps_is_looked_at_once_and_graded_over_all(engine: Engine, skills_state: State) -> None:
    files = {"instruction.md": "", "tests/test.sh": "", "solution/solve.sh": ""}
    for name in ("one", "two"):
        files |= {f"steps/{name}/instruction.md": name, f"steps/{name}/tests/test.sh": TEST}
        files |= {f"steps/{name}/solution/solve.sh": SOLVE}
    toml = '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n'
    make_task(engine.tasks / "t", toml, files)
    attempt = engine.attempt("Skillful", PathType.EXTERNAL, skills_state("a"))
    assert (attempt.reward, names(attempt.skills_given)) == (1.0, ["a"])
    assert attempt.metadata["harbor"]["steps"] == ["one", "two"]


def test_a_task_that_changed_since_the_plan_is_not_run(engine: Engine) -> None:
    folder = make_task(engine.tasks / "t")
    attempt = engine.coroutine("nop")
    write(folder / "tests" / "test.sh", TEST + "# changed\n")
    with pytest.raises(EngineError, match="the task changed since the study was planned"):
        asyncio.run(attempt)


def test_nothing_of_the_task_stays_in_the_attempts_folder(engine: Engine) -> None:
    # An adaptation is shown that folder: tests and solution must not be in it.
    skillful(engine.tasks / "t")
    engine.attempt("nop")
    held = {path.name for path in engine.workdir.rglob("*")}
    assert {"result.json", "lock.json"} <= held
    assert not held & {"solve.sh", "test.sh", "task.toml", "Dockerfile"}
    assert [path.name for path in engine.workdir.iterdir()] == [engine.trial.name]


def test_an_attempt_that_is_given_up_leaves_nothing_running(engine: Engine, place: Place) -> None:
    skillful(engine.tasks / "t")

    async def body() -> None:
        attempt = asyncio.ensure_future(engine.coroutine("Sleeps"))
        await wait_for(lambda: list(engine.workdir.rglob("begun")))
        assert running("987654")
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt

    asyncio.run(body())
    assert not running("987654")
    assert not list((place.store.root / "boxes").iterdir())
    assert [path.name for path in engine.workdir.iterdir()] == [engine.trial.name]


def test_the_oracle_runs_the_task_as_it_came(engine: Engine) -> None:
    # Reference solutions of SkillsBench call scripts of the skills that their tasks ship.
    folder = skillful(engine.tasks / "t", "own")
    write(folder / "solution" / "solve.sh", "#!/bin/bash\ncp /root/.claude/skills/own/answer /app/answer\n")
    oracle = engine.attempt("nop", PathType.ORACLE)
    assert (oracle.status, oracle.reward, oracle.skills_given) == (Status.GRADED, 1.0, None)
    without = engine.attempt("oracle", PathType.FROZEN)
    assert (without.status, without.reward, without.skills_given) == (Status.GRADED, 0.0, ())


def test_p7_an_agent_that_cannot_be_made_ends_its_own_attempt_alone(engine: Engine) -> None:
    make_task(engine.tasks / "t")

    async def body() -> list[Any]:
        attempts = [engine.coroutine("Unmakeable"), engine.coroutine("nop")]
        return await asyncio.gather(*attempts, return_exceptions=True)

    broken, idle = asyncio.run(body())
    assert isinstance(broken, EngineError)
    assert str(broken) == "the trial cannot be set up: RuntimeError: no such model"
    assert idle.reward == 0.0


def test_an_image_that_cannot_be_built_is_no_reward_of_zero(engine: Engine) -> None:
    # SWE-bench/SWE-bench#144: failed builds surfaced as evaluation errors.
    make_task(engine.tasks / "t", files={"environment/Dockerfile": DOCKERFILE + "RUN exit 3\n"})
    attempt = engine.attempt("nop")
    assert (attempt.status, attempt.reward) == (Status.INFRASTRUCTURE_ERROR, None)
    assert "RUN" in (attempt.error_message or "")
    assert not list(engine.trial.glob("verifier/reward*"))
