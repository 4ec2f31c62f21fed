"""Tasks that are left out, each with a reason and a source: ``exclusions.json``.

The list is fixed before the first T0 attempt and its digest stands in the manifest, so that results
say which tasks they are about.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from sipbench.errors import RecordError, SplitError
from sipbench.protocol.digests import json_digest
from sipbench.protocol.jsonl import parse_object, problems, read_text
from sipbench.protocol.records import Digest, Name, Timestamp
from sipbench.protocol.versions import upgraded
from sipbench.splits.base import TaskLike
from sipbench.splits.screening import Flags

__all__ = [
    "EXCLUSIONS_VERSION",
    "Exclusion",
    "ExclusionList",
    "Reason",
    "draft_exclusions",
    "read_exclusions",
]

EXCLUSIONS_VERSION = "1.0.0"

Reason = Literal[
    "passes_noop", "oracle_fails", "wrong_reference", "flaky_grader", "leaked", "duplicate", "other"
]
"""``passes_noop``: doing nothing passes. ``oracle_fails``: the known solution does not pass.
``wrong_reference``: the reference contradicts the task. ``flaky_grader``: the same answer gets different
grades. ``leaked``: the solution can be found from inside. ``duplicate``: of another task."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=10_000)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Exclusion(_Model):
    """One task that is left out."""

    id: Name
    digest: Digest | None = Field(
        default=None, description="The task as it was; another one is not excluded."
    )
    reason: Reason
    source: Text = Field(description="Where that is known from: a run, an issue, a page.")
    note: Text | None = None


class ExclusionList(_Model):
    """The tasks of one benchmark that are left out."""

    model_config = ConfigDict(title="SIP-Bench exclusion list")

    schema_version: Annotated[str, StringConstraints(pattern=r"^1\.\d{1,6}\.\d{1,6}$")]
    benchmark_name: Name
    benchmark_version: str | None = None
    fixed_at: Timestamp = Field(description="When the list was fixed: before the first T0 attempt.")
    tasks: tuple[Exclusion, ...]

    @model_validator(mode="after")
    def _once(self) -> Self:
        seen: set[str] = set()
        for task in self.tasks:
            if task.id in seen:
                raise ValueError(f"tasks: '{task.id}' stands twice")
            seen.add(task.id)
        return self

    @property
    def digest(self) -> str:
        """Digest of the whole list."""
        return json_digest(self.model_dump(mode="json"))

    def excluded(self, tasks: Sequence[TaskLike], benchmark_name: str) -> set[str]:
        """The ids among ``tasks`` that are left out.

        Raises:
            SplitError: The list is of another benchmark, names a task that does not exist, or one that
                has changed since.
        """
        if self.benchmark_name != benchmark_name:
            raise SplitError(
                f"exclusions: the list is for '{self.benchmark_name}', the tasks are of '{benchmark_name}'"
            )
        known = {task.id: task for task in tasks}
        for item in self.tasks:
            if item.id not in known:
                raise SplitError(f"exclusions: there is no task '{item.id}'; remove it from the list")
            if item.digest not in (None, known[item.id].digest):
                raise SplitError(
                    f"exclusions: task '{item.id}' has changed since it was listed; look at it again, then "
                    "update its digest or remove it"
                )
        return {item.id for item in self.tasks}


def draft_exclusions(
    flags: Flags,
    *,
    benchmark_name: str,
    benchmark_version: str | None,
    source: str,
    fixed_at: str,
    digests: dict[str, str | None] | None = None,
) -> ExclusionList:
    """A list of all flagged tasks, to be read by a person before it is used.

    Args:
        flags: What screening showed.
        benchmark_name: Whose tasks they are.
        benchmark_version: Its version.
        source: The screening run.
        fixed_at: RFC 3339 time in UTC.
        digests: Digests of the tasks, where they are known.
    """
    found: dict[str, tuple[Reason, str]] = {}
    for name, times in flags.passes_noop.items():
        found[name] = ("passes_noop", f"an agent that does nothing passed {times}")
    for name, times in flags.oracle_fails.items():
        found[name] = ("oracle_fails", f"the known solution passed {times}")
    return ExclusionList(
        schema_version=EXCLUSIONS_VERSION,
        benchmark_name=benchmark_name,
        benchmark_version=benchmark_version,
        fixed_at=fixed_at,
        tasks=tuple(
            Exclusion(id=name, digest=(digests or {}).get(name), reason=reason, source=source, note=note)
            for name, (reason, note) in sorted(found.items())
        ),
    )


def read_exclusions(path: Path) -> ExclusionList:
    """Read an exclusion list.

    Raises:
        RecordError: It cannot be read or is not valid.
    """
    text = read_text(path)
    try:
        upgraded(parse_object(text), current=EXCLUSIONS_VERSION, upgrades={}, what="exclusion lists")
        return ExclusionList.model_validate_json(text, strict=True)
    except (ValidationError, RecordError) as error:
        found = next(problems(path, 1, error, ExclusionList))
        raise RecordError(f"{path}: {f'{found.field}: ' if found.field else ''}{found.reason}") from None
