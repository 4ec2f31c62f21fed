"""One Harbor trial: set up for an arm, looked at before the agent begins, read afterwards."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sipbench.benchmarks.harbor.exposure import NotExposedError, look, verdict
from sipbench.benchmarks.harbor.served import Server, Serving, exposure, start_server
from sipbench.benchmarks.harbor.state import Placed
from sipbench.errors import EngineError, RecordError
from sipbench.importers.harbor.trial import TrialFiles, read_trial
from sipbench.protocol.records import SkillRef

__all__ = ["NOT_EXPOSED", "Ran", "Setup", "run_trial", "skills_places"]

NOT_EXPOSED = "NotExposed"
"""The error type of an attempt whose agent did not have what its arm is to have."""

DEFAULT_SKILLS_PLACE = "/runtime/skills"
_NO_GRADE = {"should_retry": False, "should_grade": False, "has_valid_reward": False}


@dataclass(frozen=True, slots=True)
class Setup:
    """A trial as it is to be run.

    Attributes:
        task: The folder to run from.
        folder: Where the trial's own folder is made.
        name: Its name, unique among everything that runs on the machine: sandboxes are called by it.
        agent, environment: Harbor's configurations of the two.
        skills: Those that the agent is to have, by name.
        injected: Whether Harbor gives them, rather than the image.
        places: Folders of the environment that skills may lie in; None: nobody looks, the task is run as it
            came.
        placed: Files that are put into the environment.
        serving: How the skills are served, where they are not put there.
    """

    task: Path
    folder: Path
    name: str
    agent: Any
    environment: Any
    skills: Mapping[str, SkillRef] = field(default_factory=dict)
    injected: bool = True
    places: Sequence[str] | None = ()
    placed: Sequence[Placed] = ()
    serving: Serving | None = None


@dataclass(slots=True)
class Ran:
    """What a trial came to.

    Attributes:
        files: What it left on disk.
        given: The skills that the agent had; None if it never came that far.
        refused: Why the agent was not let begin, or why nobody knows what it had; None if neither.
        opened: The skills that it opened, where that is known without its trajectory.
    """

    files: TrialFiles
    given: tuple[SkillRef, ...] | None = None
    refused: str | None = None
    opened: tuple[SkillRef, ...] | None = None


async def run_trial(setup: Setup) -> Ran:
    """Run one trial to its end.

    Raises:
        EngineError: It could not be made, or left nothing that can be read.
    """
    from harbor import TrialEvent, TrialTaskConfig
    from harbor.models.trial.config import TrialConfig
    from harbor.trial.trial import Trial

    config = TrialConfig(
        task=TrialTaskConfig(path=setup.task),
        trial_name=setup.name,
        trials_dir=setup.folder,
        agent=setup.agent,
        environment=setup.environment,
        extra_instructions=[placed.sentence for placed in setup.placed],
        # There is nothing to grade where the agent was not let begin.
        override_error_policy={NotExposedError.__name__: _NO_GRADE},
    )
    try:
        trial = await Trial.create(config)
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        # An agent or environment whose constructor raises would end a whole job of Harbor.
        raise EngineError(f"the trial cannot be set up: {type(error).__name__}: {error}") from error
    check = _Check(setup, trial)
    trial.add_hook(TrialEvent.AGENT_START, check.before_agent)
    try:
        await trial.run()
        files = read_trial(setup.folder / setup.name)
    except RecordError as error:
        raise EngineError(str(error)) from None
    finally:
        await check.after()
        _forget_loggers(setup.name)
    return Ran(files, check.given, check.refused, check.opened)


class _Check:
    """Puts files in place, looks at what the agent has, and serves skills, once, right before it begins."""

    def __init__(self, setup: Setup, trial: Any) -> None:
        self._setup = setup
        self._environment = trial.agent_environment
        self._begun = False
        self._server: Server | None = None
        self.given: tuple[SkillRef, ...] | None = None
        self.opened: tuple[SkillRef, ...] | None = None
        self.refused: str | None = None

    async def before_agent(self, _event: Any) -> None:
        if self._begun:
            return  # a later step of the same task
        self._begun = True
        for placed in self._setup.placed:
            await self._put(placed)
        if self._setup.places is None:
            return
        found = await look(self._environment, self._setup.places)
        serving = self._setup.serving
        try:
            there = {} if serving else self._setup.skills
            given = verdict(found, there, configured=self._setup.injected)
            if serving is None:
                self.given = given
            else:
                self._server = await start_server(self._environment, serving)
        except NotExposedError as error:
            self.refused = str(error)
            raise

    async def after(self) -> None:
        """Stop serving, and read what was served."""
        serving, server, self._server = self._setup.serving, self._server, None
        if serving is None or server is None:
            return
        self.refused = await server.stop() or self.refused
        try:
            self.given, self.opened = exposure(serving.log, self._setup.skills)
        except NotExposedError as error:
            self.refused = str(error)

    async def _put(self, placed: Placed) -> None:
        environment, place = self._environment, placed.place
        parent = place if placed.source.is_dir() else place.parent
        await environment.exec(f"mkdir -p {parent}", user="root")
        if placed.source.is_dir():
            await environment.upload_dir(source_dir=placed.source, target_dir=str(place))
        else:
            await environment.upload_file(source_path=placed.source, target_path=str(place))
        done = await environment.exec(f"chmod -R a+rX {place}", user="root")
        if done.return_code != 0:
            self.refused = f"{place} could not be put into the environment"
            raise NotExposedError(self.refused)


def skills_places(task_config: Mapping[str, Any], copied: Sequence[str]) -> tuple[str, ...]:
    """Folders of a task's environment that skills may lie in, without repetition.

    Args:
        task_config: ``task.toml``.
        copied: Where its Dockerfile puts its skills folder.
    """
    environment = task_config.get("environment")
    own = environment.get("skills_dir") if isinstance(environment, Mapping) else None
    named = [DEFAULT_SKILLS_PLACE, *([own] if isinstance(own, str) and own else []), *copied]
    return tuple(dict.fromkeys(place.rstrip("/") or "/" for place in named))


def _forget_loggers(name: str) -> None:
    """Drop the loggers that Harbor makes for each trial: the interpreter would keep them for good."""
    known = logging.Logger.manager.loggerDict
    gone = {key: known[key] for key in list(known) if key.startswith("harbor.") and name in key}
    for key in gone:
        del known[key]
    for other in known.values():
        if isinstance(other, logging.PlaceHolder):
            for logger in gone.values():
                if isinstance(logger, logging.Logger):
                    other.loggerMap.pop(logger, None)
