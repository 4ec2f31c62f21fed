"""One adaptation: stage what it may see, have it make a state, put the state in its place, record."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from sipbench.adaptation.base import AdaptationOutcome, AdaptationRequest
from sipbench.benchmarks.base import Task
from sipbench.errors import AdaptationError, RecordError
from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.digests import EMPTY_TREE, canonical_json
from sipbench.protocol.jsonl import check_readable
from sipbench.protocol.records import RunRecord, Usage
from sipbench.protocol.versions import ADAPTATION_RECORD_VERSION
from sipbench.study.executors.base import AdaptationDone, AdaptationJob, Executor
from sipbench.study.guard import describe, said_by
from sipbench.study.identity import adaptation_seed
from sipbench.study.journal import AdaptationFailed, Adapted, Adapting
from sipbench.study.ledger import Ledger
from sipbench.study.plan import Step
from sipbench.study.session import Session
from sipbench.study.staging import staged

__all__ = ["Adaptations"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Adaptations:
    """Makes the agent states of a study."""

    session: Session
    ledger: Ledger
    executor: Executor

    async def make(self, step: Step) -> AdaptationRecord:
        """Make the state of ``step`` and record it durably.

        Raises:
            AdaptationError: None came out, and why.
            StudyError: The state before is not what was recorded.
        """
        place = {"arm": step.key.arm, "repeat": step.key.repeat, "phase": step.key.phase}
        states = self.session.states
        states.path(step.previous)
        states.check(step.previous)
        self.ledger.note(Adapting(**place))
        making = states.begin(step.key)
        try:
            done = await self._carried_out(step, making)
            _ = self._record(step, done, EMPTY_TREE)  # refuses what cannot be recorded before it counts
            digest = states.publish(step.key, making)
        except AdaptationError as error:
            states.discard(making)
            self.ledger.note(AdaptationFailed(**place, message=said_by(error)[:4000]))
            raise
        record = self._record(step, done, digest)
        await self.ledger.adapted(record, Adapted(**place, agent_state_digest=digest))
        return record

    async def _carried_out(self, step: Step, making: Path) -> AdaptationDone:
        arm = self.session.design.arms[step.key.arm]
        assert arm.kind is not None
        with ExitStack() as stack:
            # Outputs may be large, and the event loop has attempts to look after.
            attempts = await asyncio.to_thread(stack.enter_context, staged(self._attempts(step)))
            request = AdaptationRequest(
                attempts=attempts,
                previous=self.session.states.path(step.previous),
                state=making,
                phase=step.key.phase,
                repeat=step.key.repeat,
                seed=adaptation_seed(arm.identity, step.key.repeat, step.key.phase),
                hidden=self._hidden(),
            )
            base = self.session.design.loaded.base
            return await self.executor.adapt(AdaptationJob(arm.kind, arm.options, base, request))

    def _attempts(self, step: Step) -> list[tuple[Task, RunRecord, Path]]:
        session = self.session
        found = []
        for slot in step.attempts:
            record = session.records[slot]
            found.append(
                (session.design.tasks[slot.task_id], record, session.directory.output(record.run_id))
            )
        return found

    def _hidden(self) -> tuple[Path, ...]:
        directory = self.session.directory
        private = (Path(path) for path in self.session.design.benchmark.private_paths())
        return (directory.root, *directory.siblings(), *private)

    def _record(self, step: Step, done: AdaptationDone, digest: str) -> AdaptationRecord:
        arm = self.session.design.arms[step.key.arm]
        outcome = done.outcome
        try:
            record = AdaptationRecord.model_validate(
                {
                    "schema_version": ADAPTATION_RECORD_VERSION,
                    "arm": step.key.arm,
                    "repeat": step.key.repeat,
                    "phase": step.key.phase,
                    "path_type": arm.path_type,
                    "adaptation": arm.kind,
                    "seed": adaptation_seed(arm.identity, step.key.repeat, step.key.phase),
                    "agent_state_digest": digest,
                    "previous_state_digest": self.session.states.digest(step.previous),
                    "attempts": [self.session.records[slot].run_id for slot in step.attempts],
                    "started_at": done.times.started_at,
                    "finished_at": done.times.finished_at,
                    **_spent(outcome, done.times.seconds),
                    "metadata": self._metadata(step, outcome),
                }
            )
            check_readable(record)
        except Exception as error:  # an outcome's values are a plug-in's objects, which may do anything
            raise AdaptationError(
                f"adaptation '{arm.kind}': its outcome cannot be recorded: {_first(error)}"
            ) from None
        return record

    def _metadata(self, step: Step, outcome: AdaptationOutcome) -> dict[str, object]:
        """What the adaptation says, and which earlier tries of it failed, whose cost nobody knows."""
        metadata = dict(outcome.metadata)
        canonical_json(metadata)
        earlier = self.session.history.adaptations.get(step.key)
        return metadata | {"failed_before": list(earlier)} if earlier else metadata


def _spent(outcome: AdaptationOutcome, seconds: float) -> dict[str, object]:
    usage = {name: getattr(outcome.usage, name) for name in Usage.model_fields}
    source = outcome.usage_source
    if usage["wall_clock_seconds"] is None and outcome.worked_here:
        usage["wall_clock_seconds"], source = seconds, source or "engine"
    return {**usage, "usage_source": source}


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        item = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, item['loc']))}: {item['msg']}"
    return said_by(error) if isinstance(error, ValueError | TypeError | RecordError) else describe(error)
