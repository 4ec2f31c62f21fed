"""The trials of a job's folder, and what the job says of them as a whole.

Harbor's own summary of a job is not used: it merges configurations that differ in skills or arguments,
leaves out rewards that it finds invalid, and has no numbers for single attempts. What counts is read
from the trials.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sipbench.errors import ConfigError, RecordError
from sipbench.importers.files import integer
from sipbench.importers.harbor.exposure import given_skills
from sipbench.importers.harbor.trial import (
    LOCK,
    RESULT,
    TrialFiles,
    is_own,
    read_object,
    read_result,
    table,
    text,
)
from sipbench.protocol.digests import json_digest

__all__ = ["Configuration", "Job", "Unfinished", "chosen", "read_job"]

_CONFIG = "config.json"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A trial without a result: it runs, or was ended from outside.

    Attributes:
        folder: Where it lies.
        config: Its configuration.
        lock: ``lock.json``; None without one.
    """

    folder: Path
    config: Mapping[str, Any]
    lock: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Configuration:
    """Who attempted: trials that differ in any of this are no attempts of one agent.

    Attributes:
        digest: Of agent, model, arguments and given skills.
        said: The same for a person.
    """

    digest: str
    said: str


@dataclass(frozen=True, slots=True)
class Job:
    """A job's folder.

    Attributes:
        trials: Finished trials by name, without their trajectories.
        unfinished: The others.
        retries: How many trials Harbor ran again, deleting the first with all it cost.
    """

    folder: Path
    trials: tuple[TrialFiles, ...]
    unfinished: tuple[Unfinished, ...]
    retries: int


def read_job(folder: Path) -> Job:
    """Read a job, or a single trial as a job of one.

    Raises:
        RecordError: It is neither.
    """
    if not folder.is_dir():
        raise RecordError(f"{folder}: not a folder; give the folder of a Harbor job, which holds {RESULT}")
    if is_own(folder, RESULT) and isinstance(read_object(folder, RESULT).get("trial_name"), str):
        return Job(folder, (read_result(folder),), (), 0)
    if not is_own(folder, _CONFIG) and not is_own(folder, RESULT):
        raise RecordError(
            f"{folder}: neither a job nor a trial of Harbor: no {RESULT} and no {_CONFIG} in it"
        )
    trials: list[TrialFiles] = []
    unfinished: list[Unfinished] = []
    for inner in sorted(folder.iterdir()):
        if inner.is_symlink() or not inner.is_dir():
            continue
        if is_own(inner, RESULT):
            trials.append(read_result(inner))
        elif is_own(inner, _CONFIG):
            lock = read_object(inner, LOCK) if is_own(inner, LOCK) else None
            unfinished.append(Unfinished(inner, read_object(inner, _CONFIG), lock))
    if not trials and not unfinished:
        raise RecordError(f"{folder}: no trials in it")
    return Job(folder, tuple(trials), tuple(unfinished), _notice(folder, len(trials)))


def _notice(folder: Path, finished: int) -> int:
    """Say what the job's own result tells of trials that are not there; the number of its retries."""
    result = read_object(folder, RESULT) if is_own(folder, RESULT) else {}
    planned = integer(result.get("n_total_trials"))
    if planned is not None and planned > finished:
        _log.warning("%s: %d of %d trials have no result", folder, planned - finished, planned)
    retries = integer(table(result.get("stats")).get("n_retries")) or 0
    if retries:
        _log.warning(
            "%s: %d trials were run again by Harbor, which deletes what they cost: costs are lower bounds",
            folder,
            retries,
        )
    return retries


def chosen(job: Job, wanted: int | None) -> tuple[tuple[TrialFiles, ...], tuple[Unfinished, ...]]:
    """The trials of one configuration.

    Args:
        job: The job.
        wanted: Which, counted from 1 in the order of :class:`Configuration`; None where there is one.

    Raises:
        RecordError: There are several and none is named.
        ConfigError: There is no such one.
    """
    of = {trial.folder: _configuration(trial.config, trial.lock) for trial in job.trials}
    of |= {trial.folder: _configuration(trial.config, trial.lock) for trial in job.unfinished}
    held = sorted(
        {item.digest: item for item in of.values()}.values(), key=lambda item: (item.said, item.digest)
    )
    if wanted is None and len(held) > 1:
        raise RecordError(
            f"{job.folder}: trials of {len(held)} configurations, which are no attempts of one agent: "
            f"{_listed(held)}; import one at a time with --set configuration=1"
        )
    if wanted is not None and not 1 <= wanted <= len(held):
        raise ConfigError(f"{job.folder}: configuration: {wanted} is not one of {_listed(held)}")
    one = held[(wanted or 1) - 1].digest
    return (
        tuple(trial for trial in job.trials if of[trial.folder].digest == one),
        tuple(trial for trial in job.unfinished if of[trial.folder].digest == one),
    )


def _listed(held: Sequence[Configuration]) -> str:
    return "; ".join(f"{number}: {item.said}" for number, item in enumerate(held, start=1))


def _configuration(config: Mapping[str, Any], lock: Mapping[str, Any] | None) -> Configuration:
    agent = table(config.get("agent"))
    skills = given_skills(lock)
    given = sorted((skill.name, skill.digest or "") for skill in skills or ())
    who = agent.get("name") or agent.get("import_path")
    parts = [who, agent.get("model_name"), agent.get("kwargs"), given]
    try:
        digest = json_digest(parts)
    except ValueError:
        digest = repr(parts)
    model = text(agent.get("model_name"))
    words = [text(who) or "unknown agent", *([model] if model else [])]
    if agent.get("kwargs"):
        words.append(
            f"arguments {json_digest(agent['kwargs'])[7:15]}" if digest.startswith("sha256:") else "?"
        )
    words.append(f"{len(given)} skills" if given else "no skills")
    return Configuration(digest, ", ".join(words))
