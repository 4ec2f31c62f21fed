"""Taking up a study: what is there, whether it is the same study, and what is still to do."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sipbench.errors import StudyError
from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.folder import check_adaptations
from sipbench.protocol.jsonl import (
    LineWriter,
    Problem,
    drop_torn_line,
    parse_object,
    read_lines,
    read_records,
)
from sipbench.protocol.manifest import Preregistered
from sipbench.protocol.records import RunRecord, Try
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.study.design import Design
from sipbench.study.directory import StudyDirectory, write_whole
from sipbench.study.identity import attempt_seed, run_id
from sipbench.study.journal import History, Reopened, read_history
from sipbench.study.lock import StudyLock, changes, differences, lock_of, read_lock
from sipbench.study.plan import Slot, StateKey
from sipbench.study.scoring import Identified, as_try
from sipbench.study.splits import read_manifest
from sipbench.study.states import States

__all__ = ["Session", "declared_at", "reopen", "take_up"]

_log = logging.getLogger(__name__)

_SHOWN = 5


@dataclass(slots=True)
class Session:
    """A study as a runner takes it up.

    Attributes:
        history: What the journal tells of earlier sessions.
        states: The agent states that exist.
        records: Every finished attempt, by its place in the design.
        made: Every adaptation that made a state.
    """

    directory: StudyDirectory
    design: Design
    history: History
    states: States
    records: dict[Slot, RunRecord] = field(default_factory=dict)
    made: dict[StateKey, AdaptationRecord] = field(default_factory=dict)

    def identify(self, slot: Slot) -> Identified:
        """Who the attempt in ``slot`` is; its agent state must exist."""
        design = self.design
        arm, digest = design.arms[slot.arm].identity, design.tasks[slot.task_id].digest
        state = self.states.digest(slot.state_key)
        name = run_id(
            slot, benchmark=design.benchmark_identity, arm=arm, task_digest=digest, state_digest=state
        )
        return Identified(slot, name, attempt_seed(slot, arm, digest), state)

    def tries(self, run_id: str) -> list[Try]:
        """Earlier tries of an attempt that is not finished."""
        return list(self.history.tries.get(run_id, ()))


def declared_at(directory: StudyDirectory) -> str | None:
    """When a study that stands here already declared its replay list; None if it did not."""
    if not directory.lock.exists() or not directory.splits.exists():
        return None
    selection = read_manifest(directory.splits).replay_selection
    return selection.declared_at if isinstance(selection, Preregistered) else None


def take_up(directory: StudyDirectory, design: Design) -> Session:
    """Begin or resume a study in a directory that this process holds.

    Raises:
        StudyError: Another study stands here, or this one has changed since it was begun.
        RecordError: A record is invalid.
        SplitError: A split rule is broken that the study does not allow.
    """
    lock = lock_of(design)
    old = read_lock(directory)
    if old is not None and old.name != lock.name:
        raise StudyError(
            f"{directory.root}: holds the study '{old.name}', not '{lock.name}'; choose another folder "
            "with --out"
        )
    for path in (directory.runs, directory.adaptations, directory.journal):
        dropped = drop_torn_line(path)
        if dropped:
            _log.warning("%s: dropped %d bytes of a last line that a crash cut short", path, dropped)
    history = read_history(directory.journal)
    records = list(read_records(directory.runs)) if directory.runs.exists() else []
    _write(directory, design, lock, old, begun=history.touched or bool(records))
    adaptations = {_key(record): record for record in _adaptations(directory)}
    session = Session(directory, design, history, States(directory, adaptations), made=adaptations)
    session.states.discard_leftovers()
    session.states.check_all()
    _place(session, records)
    return session


def _write(
    directory: StudyDirectory, design: Design, lock: StudyLock, old: StudyLock | None, *, begun: bool
) -> None:
    """Write down what is asked, unless what was begun is something else."""
    if old is not None:
        found = changes(old.identity, lock.identity)
        if found and begun:
            more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise StudyError(
                f"{directory.root}: the study changed since it was begun: {'; '.join(found[:_SHOWN])}{more}. "
                "Attempts before and after could not be compared: undo the change, or start afresh with "
                f"another --out, or remove {directory.root}"
            )
        lock = lock.model_copy(update={"created_at": old.created_at})
        for said in differences(old, lock):
            _log.warning("%s: %s since the study was begun; study.lock.json says so", directory.root, said)
    texts = {
        directory.study: design.loaded.text,
        directory.splits: design.manifest.model_dump_json(indent=2).encode() + b"\n",
        directory.lock: lock.to_json(),
    }
    for path, text in texts.items():
        if not path.exists() or path.read_bytes() != text:
            write_whole(path, text)


def _key(record: AdaptationRecord) -> StateKey:
    return StateKey(record.arm, record.repeat, record.phase)


def _adaptations(directory: StudyDirectory) -> Iterable[AdaptationRecord]:
    for item in check_adaptations(directory.adaptations) if directory.adaptations.exists() else ():
        if isinstance(item, Problem):
            raise StudyError(f"{item}; the study directory was changed by hand: put the file back")
        yield item


def _place(session: Session, records: Iterable[RunRecord]) -> None:
    """Find each record's place in the design."""
    slots = session.design.plan.slots
    places = {
        session.identify(slot).run_id: slot
        for slot in slots
        if slot.state is Phase.T0 or slot.state_key in session.made
    }
    for record in records:
        slot = places.get(record.run_id)
        if slot is None:
            raise StudyError(
                f"{session.directory.runs}: attempt {record.run_id} (task {record.task_id}, {record.phase}, "
                f"arm {record.arm}) is not part of this study; put the file back, or start afresh with "
                "another --out"
            )
        session.records[slot] = record


def reopen(session: Session) -> int:
    """Take attempts back that ended without a grade through no doing of the agent's.

    They leave ``runs.jsonl``; their tries, with what they cost, go to the journal first, and into the
    record of the attempt that follows. Adapt attempts that were learned from stay what they are.

    Returns:
        How many attempts will be tried again.
    """
    again = [
        (slot, record)
        for slot, record in session.records.items()
        if record.status.is_retried and not _was_learned_from(slot, session.made)
    ]
    if not again:
        return 0
    events = [Reopened(run_id=record.run_id, tries=(*record.tries, as_try(record))) for _, record in again]
    with LineWriter(session.directory.journal) as journal:
        journal.write(event.model_dump(mode="json") for event in events)
    for (slot, _), event in zip(again, events, strict=True):
        del session.records[slot]
        session.history.tries[event.run_id] = list(event.tries)
    left = {event.run_id for event in events}
    _keep(session.directory, left)
    return len(again)


def _was_learned_from(slot: Slot, made: Mapping[StateKey, AdaptationRecord]) -> bool:
    return slot.split is Split.ADAPT and StateKey(slot.arm, slot.repeat, slot.phase) in made


def _keep(directory: StudyDirectory, without: set[str]) -> None:
    """Write ``runs.jsonl`` again without some attempts; every other line stays what it was."""
    lines = (line for _, line in read_lines(directory.runs))
    kept = (line + b"\n" for line in lines if parse_object(line)["run_id"] not in without)
    write_whole(directory.runs, b"".join(kept))
