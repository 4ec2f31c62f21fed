"""tau-bench (sierra-research/tau-bench, `tau_bench` 0.1.0): the JSON list that a run leaves behind.

What the file says, and what becomes of it:

- ``trial`` is another attempt at the same task (or a repeat, see :mod:`sipbench.importers.trials`).
- ``info.error`` is a crash: an infrastructure error without a score, although ``reward`` is 0.0.
- ``info.reward_info`` null without an error: the steps ran out, and the benchmark scores that 0.
- The file holds no tokens, times, seeds or agent cost, and ``info.user_cost`` is the price of the last
  user turn only: all of them are null. Tool calls are counted where the agent called tools natively.
- The family of a task is its user: tasks of one user share data and often wording, and upstream splits
  put the same users on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from sipbench.errors import ConfigError, RecordError
from sipbench.importers.base import Binding, Imported, Importer, Place
from sipbench.importers.files import integer, read_json, shortened, unit_reward
from sipbench.importers.records import SOLVED, bound_record
from sipbench.importers.trials import TrialOptions, Trials
from sipbench.protocol.digests import json_digest
from sipbench.protocol.records import Name, Usage
from sipbench.protocol.vocabulary import Status

__all__ = ["TauImporter", "TauOptions"]

_CONTENT = {"user_id": str, "actions": list, "instruction": str, "outputs": list}
_POLICY = re.compile(r"#\s*(\w+) agent policy", re.IGNORECASE)
_RAISED = re.compile(r"(?:\w+\.){0,20}(\w*(?:Error|Exception|Timeout|Interrupt|Exit))(?::|$)")

Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class TauOptions(TrialOptions):
    """Options of kind ``tau``."""

    domain: Word | None = Field(
        default=None, description="`airline` or `retail`; default: read from the policy in the file."
    )
    task_split: Word = Field(default="test", description="Split of the benchmark that the tasks are from.")
    version: Name | None = Field(default=None, description="Revision of the benchmark, where it is known.")


@dataclass(frozen=True, slots=True)
class _Row:
    index: int
    task_id: int
    trial: int
    reward: Any
    info: Mapping[str, Any]
    traj: Sequence[Any]

    @property
    def place(self) -> str:
        return f"item {self.index}"


@dataclass(frozen=True, slots=True)
class _Task:
    id: str
    digest: str | None = None
    family: str | None = None
    text: str | None = None
    passes_noop: bool | None = None

    @property
    def metadata(self) -> dict[str, Any]:
        return {} if self.passes_noop is None else {"passes_noop": self.passes_noop}


class TauImporter(Importer):
    """Reads the result file of a tau-bench run."""

    Options = TauOptions
    options: TauOptions

    def read(self, path: Path, binding: Binding) -> Iterator[Imported]:
        """Yield one attempt per item of the list."""
        place = Place.of(binding)
        rows = _rows(path)
        trials = Trials.of(path, [(str(row.task_id), row.trial, row.place) for row in rows], self.options)
        domain = self.options.domain or _domain(path, rows)
        tasks = _tasks(path, rows, f"{domain}:{self.options.task_split}", domain)
        calls_tools = any(_tool_calls(row) for row in rows)
        for row in rows:
            slot = trials.place(row.trial, place)
            if slot is not None:
                yield self._attempt(path, row, tasks[row.task_id], place, slot, calls_tools)

    def _attempt(
        self, path: Path, row: _Row, task: _Task, place: Place, slot: tuple[int, int], calls_tools: bool
    ) -> Imported:
        record = bound_record(
            "tau",
            f"{path}: {row.place}",
            place,
            slot,
            task_id=task.id,
            # An agent that writes its calls into text makes none that could be counted here.
            usage=Usage(tool_calls_total=_tool_calls(row) if calls_tools and row.traj else None),
            outcome=_outcome(row),
            benchmark_name="tau-bench",
            benchmark_version=self.options.version,
            task_digest=task.digest,
            family=task.family,
            metadata={
                "source": {"file": path.name, "item": row.index, "trial": row.trial},
                "messages": len(row.traj) or None,
                **task.metadata,
            },
        )
        return Imported(record, task.text, task.metadata, list(row.traj) or None)


def _rows(path: Path) -> list[_Row]:
    document = read_json(path)
    if not isinstance(document, list):
        hint = "; it looks like tau2's (kind tau2)" if _is_tau2(document) else ""
        raise RecordError(f"{path}: not a tau-bench result file: expected a list of attempts{hint}")
    if not document:
        raise RecordError(f"{path}: holds no attempts")
    return [_row(path, index, item) for index, item in enumerate(document)]


def _is_tau2(document: Any) -> bool:
    return isinstance(document, dict) and "simulations" in document


def _row(path: Path, index: int, item: Any) -> _Row:
    def refuse(field: str, expected: str, value: Any) -> RecordError:
        found = shortened(repr(value))
        return RecordError(f"{path}: item {index}: {field}: expected {expected}, found {found}")

    if not isinstance(item, dict):
        raise refuse("attempt", "an object", item)
    task_id, trial = integer(item.get("task_id")), integer(item.get("trial"))
    if task_id is None:
        raise refuse("task_id", "an integer from 0", item.get("task_id"))
    if trial is None:
        raise refuse("trial", "an integer from 0", item.get("trial"))
    if "reward" not in item:
        raise refuse("reward", "a number", None)
    info, traj = item.get("info"), item.get("traj")
    if not isinstance(info, dict):
        raise refuse("info", "an object", info)
    if not isinstance(traj, list):
        raise refuse("traj", "a list of messages", traj)
    return _Row(index, task_id, trial, item["reward"], info, traj)


def _domain(path: Path, rows: Sequence[_Row]) -> str:
    found = set()
    for row in rows:
        first = row.traj[0] if row.traj else None
        text = first.get("content") if isinstance(first, dict) and first.get("role") == "system" else None
        match = _POLICY.match(text.lstrip()) if isinstance(text, str) else None
        if match:
            found.add(match.group(1).lower())
    if len(found) != 1:
        why = f"holds attempts of {' and '.join(sorted(found))}" if found else "does not say its domain"
        raise ConfigError(f"{path}: the file {why}; name it with the option domain (airline, retail)")
    return found.pop()


def _tasks(path: Path, rows: Sequence[_Row], prefix: str, domain: str) -> dict[int, _Task]:
    contents: dict[int, tuple[_Row, dict[str, Any]]] = {}
    for row in rows:
        content = _content(path, row)
        if content is None:
            contents.setdefault(row.task_id, (row, {}))
            continue
        earlier, known = contents.setdefault(row.task_id, (row, content))
        if known and known != content:
            raise RecordError(
                f"{path}: {row.place}: task {row.task_id} differs from the one in {earlier.place}; "
                "the file mixes revisions of the benchmark"
            )
        contents[row.task_id] = (earlier if known else row, content)
    noop = _passes_noop(rows, {task_id: content for task_id, (_, content) in contents.items()})
    return {
        task_id: _task(path, row, f"{prefix}:{task_id}", domain, content, noop.get(task_id))
        for task_id, (row, content) in contents.items()
    }


def _task(
    path: Path, row: _Row, name: str, domain: str, content: Mapping[str, Any], noop: bool | None
) -> _Task:
    if not content:  # each of its attempts crashed before the task was noted
        return _Task(name)
    try:
        digest = json_digest({"domain": domain, "task": dict(content)})
    except ValueError as error:
        raise RecordError(f"{path}: {row.place}: info.task: {error}") from None
    return _Task(name, digest, f"{domain}:{content['user_id']}", content["instruction"], noop)


def _content(path: Path, row: _Row) -> dict[str, Any] | None:
    task = row.info.get("task")
    if task is None and "error" in row.info:
        return None
    if not isinstance(task, dict):
        raise RecordError(f"{path}: {row.place}: info.task: expected the task, found {shortened(repr(task))}")
    for field, kind in _CONTENT.items():
        if not isinstance(task.get(field), kind):
            raise RecordError(f"{path}: {row.place}: info.task.{field}: expected {kind.__name__}")
    return {field: task[field] for field in _CONTENT}


def _passes_noop(rows: Sequence[_Row], contents: Mapping[int, Mapping[str, Any]]) -> dict[int, bool]:
    """Which tasks an agent that does nothing would pass, as the file itself shows.

    The grader compares the database with the one after the reference actions, whose hash it notes. A
    task without any reference action has the hash of the untouched database; every task with that
    hash and nothing to say passes by doing nothing. Without such a task in the file nothing is known.
    """
    hashes: dict[int, Any] = {}
    for row in rows:
        graded = row.info.get("reward_info")
        details = graded.get("info") if isinstance(graded, dict) else None
        if isinstance(details, dict) and isinstance(details.get("gt_data_hash"), str):
            hashes[row.task_id] = details["gt_data_hash"]
    idle = [task_id for task_id, task in contents.items() if task and not task["actions"]]
    untouched = {hashes[task_id] for task_id in idle if task_id in hashes}
    if len(untouched) != 1:
        return {}
    found = {}
    for task_id, task in contents.items():
        if task and task["outputs"]:
            found[task_id] = False
        elif task_id in hashes:
            found[task_id] = hashes[task_id] in untouched
    return found


def _tool_calls(row: _Row) -> int:
    calls = 0
    for message in row.traj:
        if isinstance(message, dict) and message.get("role") == "assistant":
            made = message.get("tool_calls")
            calls += len(made) if isinstance(made, list) else 0
    return calls


def _outcome(row: _Row) -> dict[str, Any]:
    if row.info.get("error") is not None:
        return {
            "status": Status.INFRASTRUCTURE_ERROR,
            "error_type": _raised(row.info.get("traceback")),
            "error_message": shortened(row.info["error"]),
        }
    reward, wrong = unit_reward(row.reward)
    if wrong is not None:
        return {"status": Status.VERIFIER_ERROR, "error_type": "InvalidReward", "error_message": wrong}
    assert reward is not None
    graded = {"status": Status.GRADED, "score": reward, "reward": reward, "success": reward >= SOLVED}
    if row.info.get("reward_info") is not None:
        return graded
    if reward == 0:
        return {**graded, "notes": "the agent's steps ran out before the conversation ended"}
    return {
        "status": Status.VERIFIER_ERROR,
        "error_type": "UngradedReward",
        "error_message": f"reward: {reward:g} although reward_info says that nothing was graded",
    }


def _raised(traceback: Any) -> str | None:
    """The name of the exception at the end of a traceback, whose message may go on for lines."""
    lines = traceback.strip().splitlines() if isinstance(traceback, str) else []
    matches = (_RAISED.match(line) for line in reversed(lines))
    return next((match.group(1) for match in matches if match), None)
