"""``study.lock.json``: the resolved study, and whether what is asked now is still the same one.

What decides the outcome of attempts (``identity``) must not change under a half-run study; the rest
(how many at a time, retries, caps, how it is analysed) may, and the file then says the new values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from sipbench.errors import RecordError, StudyError
from sipbench.protocol import versions
from sipbench.protocol.digests import json_digest
from sipbench.protocol.jsonl import parse_object, read_text
from sipbench.protocol.records import Timestamp, timestamp
from sipbench.protocol.versions import LOCK_VERSION, upgraded
from sipbench.study.design import Design
from sipbench.study.directory import StudyDirectory
from sipbench.study.plan import Slot

__all__ = ["StudyLock", "changes", "differences", "identity_as_in", "lock_of", "read_lock"]

_SHOWN = 3
_LONGEST = 60


class StudyLock(BaseModel):
    """The document.

    Attributes:
        identity: What decides outcomes, as digests and values: see :func:`identity_of`.
        config: Every field of the study with its settled value.
        sources: Where each of them came from.
        order: How attempts follow each other; null where an older release began the study.
        analysis, planned, allowed: What an analysis needs to know; see :mod:`sipbench.protocol.folder`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    schema_version: Annotated[str, StringConstraints(pattern=r"^1\.\d{1,6}\.\d{1,6}$")] = LOCK_VERSION
    name: str
    sipbench_version: str
    schema_versions: dict[str, str]
    created_at: Timestamp
    engine: str
    identity: dict[str, Any]
    config: dict[str, Any]
    sources: dict[str, str]
    order: dict[str, Any] | None = None
    analysis: dict[str, Any]
    planned: list[dict[str, Any]]
    allowed: list[dict[str, Any]]

    def to_json(self) -> bytes:
        """The text of the file."""
        return (json.dumps(self.model_dump(), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def lock_of(design: Design, *, created_at: str | None = None) -> StudyLock:
    """The lock of a design.

    Raises:
        SplitError: A split rule is broken that the study does not allow.
    """
    from importlib.metadata import version

    config = design.config.model_dump(mode="json", by_alias=True)
    return StudyLock(
        name=design.config.name,
        sipbench_version=version("sipbench"),
        schema_versions={
            "run_record": versions.RUN_RECORD_VERSION,
            "adaptation_record": versions.ADAPTATION_RECORD_VERSION,
            "splits": versions.SPLITS_VERSION,
            "journal": versions.JOURNAL_VERSION,
            "summary": versions.SUMMARY_VERSION,
        },
        created_at=created_at or timestamp(),
        engine=design.benchmark.engine,
        identity=identity_of(design),
        config=config,
        sources=dict(design.loaded.sources),
        order=design.order.document(),
        analysis=config["analysis"],
        planned=[cell.model_dump(mode="json") for cell in design.plan.cells()],
        allowed=[
            {"rule": found.rule, "message": found.message, "tasks": list(found.tasks)}
            for found in design.accepted()
        ],
    )


def identity_of(design: Design) -> dict[str, Any]:
    """What decides the outcome of a study's attempts, as plain JSON; compared part by part."""
    config, benchmark = design.config, design.benchmark
    manifest = design.manifest.model_dump(mode="json")
    return {
        "benchmark": {
            "name": benchmark.name,
            "version": benchmark.version,
            "grader_version": benchmark.grader_version,
            "options": dict(design.benchmark_options),
            "reward_range": list(benchmark.reward_range),
            "normalization": benchmark.normalization,
        },
        "plan": {
            "seed": config.seed,
            "phases": [phase.value for phase in config.phases],
            "repeats": config.repeats,
            "attempts": config.attempts.model_dump(mode="json"),
        },
        "slots": json_digest([_slot(slot) for slot in design.plan.slots]),
        "splits": json_digest(manifest),
        "tasks": {entry.id: entry.digest for _, entry in design.manifest.entries()},
        "arms": {name: _arm(design, name) for name in design.arms},
    }


def identity_as_in(old: StudyLock, design: Design) -> dict[str, Any]:
    """The identity of a design as the release said it that began the study.

    Up to 1.0 a lock has the benchmark's options as they were asked for. What they came to stands in
    ``grader_version`` where it decides outcomes.
    """
    found = identity_of(design)
    if old.schema_version.startswith("1.0."):
        found["benchmark"]["options"] = dict(design.benchmark_asked)
    return found


def _slot(slot: Slot) -> list[Any]:
    return [slot.arm, slot.repeat, slot.phase, slot.split, slot.task_id, slot.attempt_index, slot.state]


def _arm(design: Design, name: str) -> dict[str, Any]:
    arm = design.arms[name]
    agent, limits = arm.agent, arm.agent.limits
    return {
        "path_type": arm.path_type.value,
        "seed": arm.identity.seed,
        "agent": {
            "name": agent.name,
            "version": agent.version,
            "model": agent.model,
            "arguments": dict(agent.arguments),
        },
        "limits": {
            "timeout_seconds": limits.timeout_seconds,
            "tool_calls": limits.tool_calls,
            "tokens": limits.tokens,
        },
        "adaptation": None if arm.kind is None else {"kind": arm.kind, **dict(arm.options)},
        "adaptation_inputs": arm.inputs_digest,
    }


def read_lock(directory: StudyDirectory) -> StudyLock | None:
    """The lock of a study directory; None if there is none yet.

    Raises:
        StudyError: It cannot be read.
    """
    path = directory.lock
    if not path.exists():
        return None
    try:
        text = read_text(path)
        upgraded(parse_object(text), current=LOCK_VERSION, upgrades={}, what="study locks")
        return StudyLock.model_validate_json(text)
    except ValidationError as error:
        item = error.errors(include_url=False, include_input=False)[0]
        what = f"{'.'.join(map(str, item['loc']))}: {item['msg']}"
    except RecordError as error:
        what = str(error).removeprefix(f"{path}: ")
    raise StudyError(f"{path}: {what}; put the file back, or start afresh with another --out") from None


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs between two identities, in words, the most telling first."""
    said = [
        *_tasks(old.get("tasks", {}), new["tasks"]),
        *_values(old.get("benchmark", {}), new["benchmark"], "benchmark"),
        *_arms(old.get("arms", {}), new["arms"]),
        *_values(old.get("plan", {}), new["plan"], ""),
    ]
    # Digests say nothing that was not said already, unless nothing was.
    if not said and old.get("splits") != new["splits"]:
        said.append("splits.json is another one")
    if not said and old.get("slots") != new["slots"]:
        said.append("the attempts are planned in another way; use the release of sipbench that began it")
    return said


def differences(old: StudyLock, new: StudyLock) -> list[str]:
    """What else changed: settings that may, and what executes; in words."""
    said = list(_values(old.config, new.config, ""))
    if old.engine != new.engine:
        said.append(f"the engine was {old.engine} and is {new.engine}")
    if old.sipbench_version != new.sipbench_version:
        said.append(f"sipbench was {old.sipbench_version} and is {new.sipbench_version}")
    return said


def _tasks(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for what, ids in (
        ("changed", [task for task in new if task in old and old[task] != new[task]]),
        ("not in the splits before", [task for task in new if task not in old]),
        ("no longer in the splits", [task for task in old if task not in new]),
    ):
        if ids:
            more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
            yield f"{what}: {'task' if len(ids) == 1 else 'tasks'} {', '.join(ids[:_SHOWN])}{more}"


def _arms(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for arm in dict.fromkeys([*old, *new]):
        if arm not in new:
            yield f"arm '{arm}' is gone"
        elif arm not in old:
            yield f"arm '{arm}' is new"
        else:
            before, after = dict(old[arm]), dict(new[arm])
            if before.pop("adaptation_inputs", None) != after.pop("adaptation_inputs"):
                yield f"the files that the adaptation of arm '{arm}' reads changed"
            yield from _values(before, after, f"arms.{arm}")


def _values(old: Any, new: Any, name: str) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            yield from _values(old.get(key), new.get(key), f"{name}.{key}" if name else key)
    elif old != new:
        yield f"{name} was {_short(old)} and is {_short(new)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
