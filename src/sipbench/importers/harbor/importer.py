"""``sip import harbor JOB...``: the trials of finished jobs as run records.

What the files say, and what becomes of it:

- Identity is ``task_name``; several trials at one task, in the order in which they were started, are
  attempts. The digest of a task is Harbor's own, of the whole folder, shipped skills included.
- Statuses, rewards, cost and exposure: see the modules beside this one.
- A trial without a result is ``cancelled``: it was ended from outside, and nothing graded it.
- Times are those of Harbor's clock; the wall-clock time of a trial includes building and grading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from sipbench.errors import ConfigError, RecordError
from sipbench.importers.base import Binding, Imported, Importer, Options, Place
from sipbench.importers.files import integer
from sipbench.importers.harbor.exposure import given_skills, opened_skills
from sipbench.importers.harbor.jobs import Unfinished, chosen, read_job
from sipbench.importers.harbor.outcome import AMBIGUOUS, Grading, Outcome, outcome_of
from sipbench.importers.harbor.trial import RESULT, TrialFiles, moment, read_trial, table, text
from sipbench.importers.harbor.usage import phase_seconds, usage_of
from sipbench.importers.records import bound_record
from sipbench.protocol.records import Name, Usage, timestamp
from sipbench.protocol.vocabulary import Status

__all__ = ["HarborImportOptions", "HarborImporter", "details"]

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def _pattern(value: str) -> str:
    try:
        if re.compile(value).groups == 1:
            return value
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    raise ValueError("expected a regular expression with one group, which is the family")


def _listed(value: Any) -> Any:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


class HarborImportOptions(Options):
    """Options of the kind ``harbor``."""

    reward_key: Name | None = Field(
        default=None, description="The primary reward, where verifiers issue more than one."
    )
    reward_range: tuple[float, float] = Field(
        default=(0.0, 1.0), description="Lowest and highest reward; scores are linear between them."
    )
    configuration: int | None = Field(
        default=None, description="Which of a job's agent configurations, counted from 1."
    )
    agent_errors: Annotated[tuple[Name, ...], BeforeValidator(_listed)] = Field(
        default=(), description="Names of further exceptions that are the agent's doing."
    )
    benchmark_name: Name | None = Field(
        default=None, description="Default: the dataset's name, else `harbor`."
    )
    benchmark_version: Name | None = None
    family_pattern: Annotated[str, AfterValidator(_pattern)] | None = Field(
        default=None, description="Searched in a task's name; its group is the family."
    )
    task_digest: Literal["harbor", "none"] = Field(
        default="harbor",
        description="`none` leaves it out: tasks with and without shipped skills are then the same tasks.",
    )


class HarborImporter(Importer):
    """Reads job folders of Harbor 0.26 (``jobs/NAME``), or single trials."""

    Options = HarborImportOptions
    options: HarborImportOptions

    def read(self, path: Path, binding: Binding) -> Iterator[Imported]:
        """Yield the trials of a job."""
        low, high = self.options.reward_range
        if not low < high:
            raise ConfigError(f"reward_range: {low:g} is not below {high:g}")
        place = Place.of(binding)
        job = read_job(path)
        trials, unfinished = chosen(job, self.options.configuration)
        tasks = _task_names(trials, unfinished)
        attempts: dict[str, int] = {}
        entries: list[TrialFiles | Unfinished] = [*trials, *unfinished]
        for entry in sorted(entries, key=_begun):
            task = tasks[entry.folder]
            slot = (place.repeat, attempts.setdefault(task, place.first_attempt))
            attempts[task] += 1
            fields = {**self._task_fields(entry, task), "notes": _RETRIED if job.retries else None}
            if isinstance(entry, TrialFiles):
                # One at a time: the trajectories of a whole job may be more than memory holds.
                yield self._finished(read_trial(entry.folder), binding, place, slot, task, fields)
            else:
                yield self._unfinished(entry, binding, place, slot, task, fields)

    def _finished(
        self,
        trial: TrialFiles,
        binding: Binding,
        place: Place,
        slot: tuple[int, int],
        task: str,
        fields: dict[str, Any],
    ) -> Imported:
        source = str(trial.folder / RESULT)
        outcome = outcome_of(trial, Grading(self.options.reward_key, self.options.agent_errors))
        given = given_skills(trial.lock)
        record = bound_record(
            "harbor",
            source,
            place,
            slot,
            task_id=task,
            usage=_usage(trial),
            outcome=self._outcome(source, outcome),
            engine="harbor",
            skills_given=given,
            skills_opened=opened_skills(trial, given),
            metadata={"harbor": details(trial, outcome)},
            **fields,
            **_agent_fields(trial, binding, source),
            **_times(trial),
        )
        return Imported(record, trajectory=list(trial.trajectories) if trial.trajectories else None)

    def _unfinished(
        self,
        entry: Unfinished,
        binding: Binding,
        place: Place,
        slot: tuple[int, int],
        task: str,
        fields: dict[str, Any],
    ) -> Imported:
        source = str(entry.folder)
        outcome = {
            "status": Status.CANCELLED,
            "error_type": "NoResult",
            "error_message": "the trial was ended from outside before it had a result",
        }
        who = _agent_fields(entry, binding, source)
        known = {"engine": "harbor", "skills_given": given_skills(entry.lock), **fields, **who}
        return Imported(
            bound_record("harbor", source, place, slot, task_id=task, usage=Usage(), outcome=outcome, **known)
        )

    def _outcome(self, source: str, outcome: Outcome) -> dict[str, Any]:
        if outcome.error_type == AMBIGUOUS:
            raise RecordError(f"{source}: {outcome.error_message} (--set reward_key=NAME)")
        low, high = self.options.reward_range
        told = {"error_type": outcome.error_type, "error_message": outcome.error_message}
        if outcome.reward is None:
            return {"status": outcome.status, **told}
        if not low <= outcome.reward <= high:
            return {
                "status": Status.VERIFIER_ERROR,
                "error_type": "InvalidReward",
                "error_message": f"reward: expected one in [{low:g}, {high:g}], found {outcome.reward:g}",
                "reward": outcome.reward,
            }
        score = (outcome.reward - low) / (high - low)
        return {"status": outcome.status, "score": score, "reward": outcome.reward, **told}

    def _task_fields(self, entry: TrialFiles | Unfinished, task: str) -> dict[str, Any]:
        digest = table(table(entry.lock).get("task")).get("digest")
        known = isinstance(digest, str) and _DIGEST.fullmatch(digest) is not None
        source = text(table(entry.config.get("task")).get("source"))
        pattern = self.options.family_pattern
        found = re.search(pattern, task) if pattern else None
        return {
            "benchmark_name": self.options.benchmark_name or source or "harbor",
            "benchmark_version": self.options.benchmark_version,
            "family": (found.group(1) or None) if found else None,
            "task_digest": digest if known and self.options.task_digest == "harbor" else None,
        }


_RETRIED = "Harbor ran trials of this job again; what the first of them cost is not known"


def _task_names(trials: Sequence[TrialFiles], unfinished: Sequence[Unfinished]) -> dict[Path, str]:
    """The task of each trial; one without a result says only the folder that the task lay in."""
    names = {trial.folder: str(trial.result["task_name"]) for trial in trials}
    by_folder = {_task_folder(trial): names[trial.folder] for trial in trials}
    for item in unfinished:
        folder = _task_folder(item)
        names[item.folder] = by_folder.get(folder) or folder or item.folder.name
    return names


def _task_folder(entry: TrialFiles | Unfinished) -> str | None:
    return text(table(table(entry.lock).get("task")).get("name")) or _last_part(
        text(table(entry.config.get("task")).get("path"))
    )


def _last_part(path: str | None) -> str | None:
    return (path or "").rstrip("/").rpartition("/")[2] or None


def _begun(entry: TrialFiles | Unfinished) -> tuple[datetime, str]:
    """When a trial began; without a result, last."""
    never = datetime.max.replace(tzinfo=UTC)
    at = moment(entry.result.get("started_at")) if isinstance(entry, TrialFiles) else None
    return at or never, entry.folder.name


def _usage(trial: TrialFiles) -> Usage:
    begin, end = moment(trial.result.get("started_at")), moment(trial.result.get("finished_at"))
    known = begin is not None and end is not None and end >= begin
    seconds = (end - begin).total_seconds() if known and begin and end else None
    return usage_of(trial).model_copy(update={"wall_clock_seconds": seconds})


def _times(trial: TrialFiles) -> dict[str, Any]:
    begin, end = moment(trial.result.get("started_at")), moment(trial.result.get("finished_at"))
    in_order = begin is None or end is None or end >= begin
    return {
        "started_at": timestamp(begin) if begin else None,
        "finished_at": timestamp(end) if end and in_order else None,
    }


def _agent_fields(entry: TrialFiles | Unfinished, binding: Binding, source: str) -> dict[str, Any]:
    """Who attempted, as the files say; what they do not say may come from the binding."""
    told = entry.result if isinstance(entry, TrialFiles) else {}
    info, agent = table(told.get("agent_info")), table(entry.config.get("agent"))
    model = agent.get("model_name") or table(info.get("model_info")).get("name")
    stated = {
        "agent_name": ("agent", text(info.get("name") or agent.get("name") or agent.get("import_path"))),
        "agent_version": ("agent_version", text(info.get("version"))),
        "model_name": ("model", text(model)),
    }
    found = {}
    for field, (name, value) in stated.items():
        bound = getattr(binding, name)
        if value is not None and bound not in (None, value):
            raise ConfigError(f"{source}: the {name.replace('_', ' ')} is {value}, not {bound}; leave it out")
        if value is not None:
            found[field] = value
    return found


def details(trial: TrialFiles, outcome: Outcome) -> dict[str, Any]:
    """What else is known of a trial, for diagnosis; plain JSON without paths of the machine."""
    tokens = integer(table(trial.result.get("agent_result")).get("n_cache_tokens"))
    return {
        "trial": trial.result["trial_name"],
        "rewards": dict(outcome.rewards),
        "seconds": phase_seconds(trial),
        **({"cached_tokens": tokens} if tokens is not None else {}),
        **({"steps": [text(step.get("step_name")) for step in trial.steps]} if trial.steps else {}),
        **(
            {
                "exceptions": [
                    {"type": raised.type, "message": raised.message, "step": raised.step}
                    for raised in outcome.exceptions
                ]
            }
            if outcome.exceptions
            else {}
        ),
        "task_digest": table(table(trial.lock).get("task")).get("digest"),
    }
