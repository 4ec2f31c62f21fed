"""Runs the trials, several at a time; a trial that has been run is not run again."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sipbench.errors import ConfigError, EngineError, MissingExtraError
from sipbench.export.harbor.trials.tricks import TRICKS
from sipbench.export.harbor.trials.verdicts import Trial, read_trial
from sipbench.export.trees import found
from sipbench.protocol.digests import json_digest

__all__ = ["Choice", "planned", "run_trials", "task_folders"]

BWRAP = "bwrap"
_BWRAP_CLASS = "sipbench.sandbox.harbor_env:BwrapEnvironment"
_AGENT_CLASS = "sipbench.export.harbor.trials.agents:TrickAgent"
_SETTINGS = {"HARBOR_TELEMETRY": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


@dataclass(frozen=True)
class Choice:
    """How the trials are run.

    Attributes:
        repeats: How often the oracle and doing nothing are tried: once tells nothing of luck.
        tricks: Names of the tricks.
        sandbox: ``bwrap``, or the name of an environment of Harbor's, such as ``docker``.
        base: Root file system of the sandbox; None: as the sandbox has it.
        at_once: Trials at a time.
    """

    repeats: int = 3
    tricks: tuple[str, ...] = tuple(TRICKS)
    sandbox: str = BWRAP
    at_once: int = 2
    base: Path | None = None

    @property
    def place(self) -> str:
        """Folder of the trials in this sandbox: another base may come to another outcome."""
        name = self.sandbox.replace(":", "_")
        if self.base is None:
            return name
        return f"{name}-{json_digest(str(self.base.absolute())).removeprefix('sha256:')[:8]}"


def task_folders(path: Path) -> list[Path]:
    """The tasks of ``path``: a task, a folder of tasks, or an export.

    Raises:
        ConfigError: There is none.
    """
    if (path / "export.json").is_file():
        path = path / "tasks"
    if (path / "task.toml").is_file():
        return [path]
    tasks = (
        sorted(folder for folder in path.iterdir() if (folder / "task.toml").is_file())
        if path.is_dir()
        else []
    )
    if not tasks:
        raise ConfigError(f"{path}: no task here; a task is a folder with task.toml")
    return tasks


def planned(tasks: Sequence[Path], out: Path, choice: Choice) -> list[Trial]:
    """Every trial that is to be run, each with the folder that it is kept in.

    The folder is named after the task's digest: a task that has changed is tried again.
    """
    trials = []
    for task in tasks:
        digest = json_digest(sorted(found(task).items())).removeprefix("sha256:")[:12]
        kinds = [(kind, number) for kind in ("oracle", "nop") for number in range(1, choice.repeats + 1)]
        kinds += [(trick, 1) for trick in choice.tricks]
        for kind, number in kinds:
            name = f"{kind}-{number}" if kind in ("oracle", "nop") else kind
            trials.append(Trial(task, kind, number, out / task.name / digest / choice.place / name))
    return trials


def run_trials(trials: Sequence[Trial], choice: Choice, done: Callable[[Trial], None]) -> None:
    """Run what has not been run yet.

    Args:
        trials: The trials.
        choice: How.
        done: Called after each trial, those of an earlier run included.

    Raises:
        MissingExtraError: Harbor is not installed.
        EngineError: The sandbox cannot run anything.
    """
    _load_harbor()
    waiting = []
    for trial in trials:
        if read_trial(trial).outcome is not None:
            done(trial)
        else:
            waiting.append(trial)
    if waiting:
        asyncio.run(_all(waiting, choice, done))


def _load_harbor() -> None:
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import harbor.trial.trial  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError("judging trials", "harbor") from None
    logger = logging.getLogger("harbor")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # each trial keeps its own log
        logger.propagate = False


async def _all(trials: Sequence[Trial], choice: Choice, done: Callable[[Trial], None]) -> None:
    gate = asyncio.Semaphore(choice.at_once)
    environment = _environment(choice)

    async def one(trial: Trial) -> None:
        async with gate:
            await _run(trial, environment)
            done(trial)

    async with asyncio.TaskGroup() as group:
        for trial in trials:
            group.create_task(one(trial))


def _environment(choice: Choice) -> Any:
    from harbor import TrialEnvironmentConfig
    from harbor.environments.factory import EnvironmentFactory

    options = {} if choice.base is None else {"base": str(choice.base.absolute())}
    try:
        if choice.sandbox == BWRAP:
            config = TrialEnvironmentConfig(import_path=_BWRAP_CLASS, kwargs=options)
        elif ":" in choice.sandbox:
            config = TrialEnvironmentConfig(import_path=choice.sandbox, kwargs=options)
        else:
            config = TrialEnvironmentConfig(type=choice.sandbox, kwargs=options)
        EnvironmentFactory.run_preflight(config.type, config.import_path, kwargs=dict(config.kwargs))
    except SystemExit as error:
        raise EngineError(f"--sandbox {choice.sandbox}: {error}") from None
    except (ValueError, TypeError, ImportError) as error:
        raise EngineError(f"--sandbox {choice.sandbox}: {' '.join(str(error).split())[:300]}") from None
    return config


async def _run(trial: Trial, environment: Any) -> None:
    """Run one trial; what goes wrong stands in its folder and is read from there."""
    from harbor import TrialAgentConfig, TrialTaskConfig
    from harbor.models.trial.config import TrialConfig
    from harbor.trial.trial import Trial as HarborTrial

    known = trial.kind in ("oracle", "nop")
    agent = (
        TrialAgentConfig(name=trial.kind)
        if known
        else TrialAgentConfig(import_path=_AGENT_CLASS, kwargs={"trick": trial.kind})
    )
    trial.folder.parent.mkdir(parents=True, exist_ok=True)
    if trial.folder.exists():
        # An earlier run was ended in the middle of it: what it left is kept beside.
        trial.folder.rename(trial.folder.with_name(f".ended-{trial.folder.name}-{os.getpid()}-{id(trial):x}"))
    config = TrialConfig(
        task=TrialTaskConfig(path=trial.task.absolute()),
        trial_name=_unique(trial),
        trials_dir=trial.folder.absolute(),
        agent=agent,
        environment=environment,
    )
    try:
        made = await HarborTrial.create(config)
        await made.run()
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        trial.folder.mkdir(parents=True, exist_ok=True)
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
        (trial.folder / "not-run.txt").write_text(said + "\n", encoding="utf-8")


def _unique(trial: Trial) -> str:
    """A name that no other trial on this machine has: sandboxes are called by it."""
    mark = hashlib.sha256(str(trial.folder.absolute()).encode("utf-8", "surrogateescape")).hexdigest()[:10]
    return f"{trial.task.name[:24]}-{trial.kind[:16]}-{mark}".lower()
