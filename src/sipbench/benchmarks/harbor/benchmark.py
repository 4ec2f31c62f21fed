"""The adapter: a folder of Harbor tasks as a benchmark."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from sipbench.benchmarks.base import Agent, Attempt, AttemptContext, Benchmark, Charge, Task
from sipbench.benchmarks.harbor import agents, sandboxes
from sipbench.benchmarks.harbor.attempt import attempt_of
from sipbench.benchmarks.harbor.engine import harbor_version, load_harbor
from sipbench.benchmarks.harbor.options import HarborOptions
from sipbench.benchmarks.harbor.served import check_served, plan_serving
from sipbench.benchmarks.harbor.state import AgentState, read_state
from sipbench.benchmarks.harbor.tasks import FamilyRule, TaskFolder, find_tasks, read_task, refuse
from sipbench.benchmarks.harbor.tree import made_folder
from sipbench.benchmarks.harbor.trial import Setup, run_trial, skills_places
from sipbench.benchmarks.harbor.upstream import upstream_digests
from sipbench.benchmarks.harbor.variant import copied_places, variant
from sipbench.errors import EngineError
from sipbench.importers.harbor.outcome import Grading
from sipbench.protocol.agent_state import Through
from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.vocabulary import PathType, Phase, Split
from sipbench.splits.build import SplitOptions, build_splits
from sipbench.splits.sizes import DEFAULT_SIZES, Size

__all__ = ["HarborBenchmark"]

_SETUP_SECONDS = 360.0  # what Harbor grants an agent for installing itself
_SLACK_SECONDS = 120.0
_BUILD_SECONDS = 600.0
_VERIFIER_SECONDS = 600.0
_NAME_LENGTH = 24


class HarborBenchmark(Benchmark):
    """Harbor tasks, each attempt one Harbor trial on the runner's event loop.

    At T0, and later in every arm whose agent state holds none, a task is run without the skills that it
    ships. An oracle arm runs it as it came: reference solutions may call what lies in those skills, and an
    upper bound is compared with nobody. The option ``sandbox`` says where; every other rule of running is
    the task's own.
    """

    Options = HarborOptions
    options: HarborOptions
    replaceable: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "sandbox": ("sandbox",),
        "sandbox_base": ("sandbox_options", "base"),
    }

    def __init__(self, options: HarborOptions, *, base: Path) -> None:
        """Make the adapter.

        Raises:
            MissingExtraError: Harbor is not installed.
            ConfigError: A folder of ``python_path`` is not there, or there is no such sandbox.
        """
        # What `auto` stands for is recorded: with it, a study goes on also where Docker answers by now.
        options = options.model_copy(update={"sandbox": sandboxes.resolved(options.sandbox)})
        super().__init__(options, base=base)
        self.root = (base / options.tasks).absolute()
        self.name = options.benchmark_name
        self.version = options.benchmark_version
        self.reward_range = options.reward_range
        low, high = options.reward_range
        self.normalization = f"The verifier's reward, linear from [{low:g}, {high:g}] to [0, 1]."
        self.sandbox = options.sandbox
        sandboxes.check_choice(self.sandbox, options.sandbox_options, base)
        sandboxes.begin(self.sandbox, options.sandbox_options)
        self.engine = f"harbor {harbor_version()}, {self.sandbox}"
        # An environment of another kind may come to another outcome: it is part of what an attempt is.
        key = f", reward {options.reward_key}" if options.reward_key else ""
        self.grader_version = f"{self.engine}{key}"
        self._checked: dict[str, Agent] = {}
        agents.extend_path(base / folder for folder in options.python_path)

    # -- tasks ----------------------------------------------------------------------------------

    @cached_property
    def _folders(self) -> dict[str, TaskFolder]:
        found, problems = find_tasks(self.root, include=self.options.include, exclude=self.options.exclude)
        refuse(self.root, problems)
        if not found:
            raise EngineError(f"{self.root}: no Harbor tasks in it: no folder with a task.toml")
        return {task.id: task for task in found}

    def tasks(self) -> Sequence[Task]:
        """Every task, in the order of the folders' names.

        Raises:
            EngineError: A folder cannot be used as a task; every one is named.
        """
        return self._tasks

    @cached_property
    def _tasks(self) -> list[Task]:
        pattern = self.options.family_pattern
        rule = FamilyRule(self.options.family_metadata, re.compile(pattern) if pattern else None)
        folders = list(self._folders.values())
        digests = upstream_digests([task.path for task in folders])
        return [
            task.task(rule, upstream_digest=digest) for task, digest in zip(folders, digests, strict=True)
        ]

    def splits(self, seed: int, sizes: Mapping[Split, int]) -> SplitManifest:
        """Draw the splits; families stay on one side, and sizes that are not named are shares."""
        counts = {split.value: Size(count=count) for split, count in sizes.items()}
        options = SplitOptions(
            sizes=dict(DEFAULT_SIZES) | counts,
            keep_together=self.options.keep_together,
            stratify=self.options.stratify,
        )
        return build_splits(
            self.tasks(), seed, options, benchmark_name=self.name, benchmark_version=self.version
        )

    @property
    def grace_seconds(self) -> float:  # type: ignore[override]
        """What the slowest task may take beside its agent: building, installing, grading."""
        return max(_grace(task.config) for task in self._folders.values())

    def private_paths(self) -> Sequence[Path]:
        """The tasks: solutions and tests lie in them."""
        return (self.root,)

    # -- before the first attempt ---------------------------------------------------------------

    def check_agent(self, agent: Agent, path_type: PathType) -> None:
        """Refuse an agent that Harbor does not know or cannot be held to its limits."""
        load_harbor()
        agents.check_agent(agent, path_type)
        if path_type is not PathType.ORACLE:
            self._checked[agent.digest] = agent

    def check_delivery(self, agent: Agent, through: Through) -> None:
        """Refuse to serve skills to an agent that takes no servers, or into a sandbox without a door."""
        if through == "mcp":
            load_harbor()
            check_served(agent, self.sandbox, self.options.sandbox_options)

    def charge(self, agent: Agent, path_type: PathType) -> Charge:
        """Harbor's oracle and its agent that does nothing cost nothing; its others call a model."""
        return agents.charge(agent, path_type)

    def preflight(self) -> None:
        """Ask the sandbox and the agents' models whether attempts can begin."""
        load_harbor()
        sandboxes.preflight(self._environment)
        sandboxes.check_tasks(self._environment, [task.path for task in self._folders.values()])
        for agent in self._checked.values():
            agents.check_keys(agent, self.options.agent_environment)

    @cached_property
    def _environment(self) -> Any:
        options = self.options
        return sandboxes.environment_config(
            self.sandbox, options.sandbox_options, options.environment, self.base
        )

    # -- attempts -------------------------------------------------------------------------------

    async def run(
        self, task: Task, phase: Phase, path_type: PathType, seed: int, *, context: AttemptContext
    ) -> Attempt:
        """Run one trial and read what came of it."""
        load_harbor()
        with ExitStack() as stack:
            # Files are copied aside, since the event loop has other attempts to look after.
            setup, state = await _finished(
                asyncio.to_thread(self._set_up, task, path_type, seed, context, stack)
            )
            ran = await run_trial(setup)
        named = self.options.seed_argument
        grading = Grading(self.options.reward_key, self.options.agent_errors)
        return attempt_of(ran, setup, state, grading, seed=seed if named else None)

    def _set_up(
        self, task: Task, path_type: PathType, seed: int, context: AttemptContext, stack: ExitStack
    ) -> tuple[Setup, AgentState]:
        folder = self._unchanged(task)
        state = read_state(context.state.absolute(), folder.path.name, self.base)
        if state.unserved and not state.skills:
            raise EngineError(f"{task.id}: no skills were chosen for it; leave it out with `exclude`")
        shipped = path_type is PathType.ORACLE
        serving = None if shipped else plan_serving(state, context.agent, context.workdir)
        inject = shipped or serving is not None or self._injects(context.agent, folder, state)
        target = folder.path
        if not shipped:
            # In the attempt's own folder for as long as it runs: it holds the tests and the solution.
            making = stack.enter_context(made_folder(context.workdir, ".task-"))
            target = variant(folder, making, {} if inject else state.skills)
        named = self.options.seed_argument
        agent = agents.agent_config(
            context.agent,
            path_type,
            model=state.model,
            skills=tuple(state.skills.values()) if inject and serving is None else (),
            variables=self.options.agent_environment | (serving.variables() if serving else {}),
            servers=(serving.server(),) if serving else (),
            seed=(named, seed) if named else None,
        )
        setup = Setup(
            task=target,
            folder=context.workdir.absolute(),
            name=_trial_name(folder, context),
            agent=agent,
            environment=self._environment.model_copy(deep=True),
            skills=state.refs(),
            injected=inject,
            places=None if shipped else skills_places(folder.config, copied_places(folder)),
            placed=state.placed,
            serving=serving,
        )
        return setup, state

    def _unchanged(self, task: Task) -> TaskFolder:
        """The task's folder, if it still is what the study was planned with."""
        known = self._folders.get(task.id)
        if known is None:
            raise EngineError(f"{self.root}: the task '{task.id}' is not there any more")
        now = read_task(known.path, root=self.root.resolve() if known.path != self.root.resolve() else None)
        if now.digest != task.digest:
            raise EngineError(f"{known.path}: the task changed since the study was planned; bring it back")
        return now

    def _injects(self, agent: Agent, task: TaskFolder, state: AgentState) -> bool:
        """Whether Harbor gives the skills to the agent, rather than the task's image.

        Raises:
            EngineError: Neither is possible.
        """
        if not state.skills or self.options.skills == "inject":
            return True
        if self.options.skills == "auto" and agents.takes_skills(agent.name):
            return True
        if copied_places(task):
            return False
        raise EngineError(
            f"{task.id}: agent '{agent.name}' cannot be given skills by Harbor, and the task's Dockerfile "
            "copies no skills folder into the image"
        )


async def _finished[Result](work: Coroutine[Any, Any, Result]) -> Result:
    """The result of work in a thread, which cannot be cancelled: it is waited for in any case."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def _trial_name(task: TaskFolder, context: AttemptContext) -> str:
    """A name that each attempt has for itself, in all of its tries.

    Docker calls containers by it: what an earlier try left behind is found, and replaced.
    """
    readable = re.sub(r"[^a-z0-9]+", "-", task.path.name.lower()).strip("-")[:_NAME_LENGTH].strip("-")
    return f"{readable or 'task'}__{context.workdir.name[:32]}"


def _grace(config: Mapping[str, Any]) -> float:
    steps = config.get("steps")
    parts = (
        [config, *(step for step in steps if isinstance(step, Mapping))]
        if isinstance(steps, list)
        else [config]
    )
    verifiers = sum(_seconds(part, "verifier", "timeout_sec", _VERIFIER_SECONDS) for part in parts)
    # A separate verifier has an environment of its own to build.
    build = 2 * _seconds(config, "environment", "build_timeout_sec", _BUILD_SECONDS)
    return build + _SETUP_SECONDS + verifiers + _SLACK_SECONDS


def _seconds(config: Mapping[str, Any], section: str, name: str, default: float) -> float:
    found = config.get(section)
    value = found.get(name) if isinstance(found, Mapping) else None
    return float(value) if isinstance(value, int | float) and value > 0 else default
