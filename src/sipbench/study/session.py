"""Taking up a study: what is there, whether it is the same study, and what is still to do."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sipbench.errors import RecordError, StudyError
from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.folder import check_adaptations
from sipbench.protocol.jsonl import (
    LineWriter,
    Problem,
    check_records,
    drop_torn_line,
    parse_object,
    read_lines,
)
from sipbench.protocol.manifest import Preregistered
from sipbench.protocol.records import RunRecord, Try, Usage
from sipbench.protocol.vocabulary import Phase, Split, Status
from sipbench.splits.files import read_manifest
from sipbench.study.caps import Spending
from sipbench.study.charges import charges_of
from sipbench.study.delay import Clock, T2Wait, t2_wait, utc_now
from sipbench.study.design import Design
from sipbench.study.directory import StudyDirectory, write_whole
from sipbench.study.identity import attempt_seed, run_id
from sipbench.study.journal import INTERRUPTED, History, Reopened, read_history
from sipbench.study.lock import StudyLock, changes, differences, identity_as_in, lock_of, read_lock
from sipbench.study.plan import Slot, StateKey, Step
from sipbench.study.planned import difference
from sipbench.study.scoring import Identified, Scorer, as_try
from sipbench.study.standing import Standing
from sipbench.study.states import States

__all__ = ["Session", "declared_at", "is_tried_again", "take_up"]

_log = logging.getLogger(__name__)

_SHOWN = 5


@dataclass(slots=True)
class Session:
    """A study as a runner takes it up, and as it then stands.

    Attributes:
        history: What the journal tells of earlier sessions.
        states: The agent states that exist.
        standing: Numbers for whoever watches.
        spending: What was used by now.
        made: Every adaptation that made a state.
        done: Every finished attempt by its place in the design, with how it ended.
        records: Those of them that are needed again: adapt attempts, and those without a grade.
        wait: What waits for the declared delay before T2; None if nothing does.
    """

    directory: StudyDirectory
    design: Design
    history: History
    states: States
    standing: Standing
    spending: Spending
    made: dict[StateKey, AdaptationRecord]
    done: dict[Slot, Status] = field(default_factory=dict)
    records: dict[Slot, RunRecord] = field(default_factory=dict)
    wait: T2Wait | None = None

    @property
    def only_waits(self) -> bool:
        """Whether there is something left to do, and all of it waits for the declared delay before T2."""
        plan, wait = self.design.plan, self.wait
        left: list[Slot | Step] = [
            *(slot for slot in plan.slots if slot not in self.done),
            *(step for step in plan.steps if step.key not in self.made),
        ]
        return bool(left) and wait is not None and all(map(wait.holds, left))

    @property
    def waiting(self) -> int:
        """Attempts that wait for the declared delay before T2."""
        wait = self.wait
        if wait is None:
            return 0
        return sum(wait.is_waiting(slot) for slot in self.design.plan.slots if slot not in self.done)

    def add(self, slot: Slot, record: RunRecord, *, earlier: bool = False) -> None:
        """Take note of a finished attempt; ``earlier`` if another session made it."""
        self.done[slot] = record.status
        if self.wait is not None:
            self.wait.add(slot, record)
        if slot.split is Split.ADAPT or record.status.is_missing:
            self.records[slot] = record
        self.standing.add(record, earlier=earlier)
        # Tries of this session were counted one by one.
        self.spending.attempted(slot.arm, record, *(record.tries if earlier else ()))

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


def take_up(directory: StudyDirectory, design: Design, *, clock: Clock = utc_now) -> Session:
    """Begin or resume a study in a directory that this process holds.

    Args:
        directory: Where it stands.
        design: The study.
        clock: Says what time it is, for the declared delay before T2.

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
    begun = history.touched or (directory.runs.exists() and directory.runs.stat().st_size > 0)
    _write(directory, design, lock, old, begun=begun)
    made = {_key(record): record for record in _adaptations(directory)}
    session = Session(
        directory,
        design,
        history,
        States(directory, made),
        Standing.of(design),
        Spending(charges_of(design), seconds_before=history.seconds),
        made,
        wait=t2_wait(design, clock),
    )
    session.states.discard_leftovers()
    session.states.check_all()
    _read(session)
    return session


def _write(
    directory: StudyDirectory, design: Design, lock: StudyLock, old: StudyLock | None, *, begun: bool
) -> None:
    """Write down what is asked, unless what was begun is something else."""
    if old is not None:
        found = changes(old.identity, identity_as_in(old, design))
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


def _read(session: Session) -> None:
    """Find each record's place in the design, and take back those that are to be tried again."""
    slots, directory = session.design.plan.slots, session.directory
    known = (slot for slot in slots if slot.state is Phase.T0 or slot.state_key in session.made)
    places = {who.run_id: who for who in map(session.identify, known)}
    again: list[RunRecord] = []
    for record in _records(session, places):
        slot = places[record.run_id].slot
        if is_tried_again(session, slot, record):
            again.append(record)
        else:
            session.add(slot, record, earlier=True)
    again = _not_over(session, again, places)
    found = {name for name, who in places.items() if who.slot in session.done}
    lost = session.history.finished.difference(found, (record.run_id for record in again))
    if lost:
        _log.warning(
            "%s: the journal knows %d finished attempts that the file no longer holds: they are made again, "
            "though adaptations that learned from them stay; put the file back to keep them",
            directory.runs,
            len(lost),
        )
    _reopen(session, again)
    for adaptation in session.made.values():
        session.standing.adapted()
        session.spending.adapted(adaptation.arm, adaptation)
    for key, failures in session.history.adaptations.items():
        session.spending.adapted(key.arm, *(Usage() for _ in failures))
    for name, tries in session.history.tries.items():
        if name in found:
            continue
        if name in places:
            session.spending.attempted(places[name].slot.arm, *tries)
        else:  # of an agent state that is not there any more
            session.spending.add(*tries)


def _records(session: Session, places: Mapping[str, Identified]) -> Iterator[RunRecord]:
    """What is recorded, each held against its place in the plan."""
    directory, design = session.directory, session.design
    scorer = Scorer(design.benchmark, design.manifest, design.arms)

    def judge(record: RunRecord) -> tuple[str, str] | None:
        who = places.get(record.run_id)
        if who is None:
            return "run_id", (
                f"attempt {record.run_id} (task {record.task_id}, {record.phase}, arm {record.arm}) is not "
                "part of this study; put the file back, or start afresh with another --out"
            )
        return difference(record, scorer.planned(who))

    for item in check_records(directory.runs, judge) if directory.runs.exists() else ():
        if isinstance(item, Problem):
            raise RecordError(f"{item}; `sip validate {directory.root}` lists every bad line")
        yield item


def is_tried_again(session: Session, slot: Slot, record: RunRecord) -> bool:
    """Whether the next session takes a finished attempt back, to try it again."""
    learned = slot.split is Split.ADAPT and StateKey(slot.arm, slot.repeat, slot.phase) in session.made
    # Who wants no second try wants none in another session either.
    over = session.wait is not None and session.wait.is_over(slot)
    return record.status.is_retried and session.design.config.retries > 0 and not (learned or over)


def _not_over(
    session: Session, again: Sequence[RunRecord], places: Mapping[str, Identified]
) -> list[RunRecord]:
    """Those that are tried again once it is known whose T1 is over."""
    if session.wait is None:
        return list(again)
    slots = [places[record.run_id].slot for record in again]
    failed = {key for key, said in session.history.adaptations.items() if set(said) != {INTERRUPTED}}
    still = session.wait.take_up(session.made, failed, zip(slots, again, strict=True))
    for slot, record in zip(slots, again, strict=True):
        if slot not in still:
            session.add(slot, record, earlier=True)
    return [record for slot, record in zip(slots, again, strict=True) if slot in still]


def _reopen(session: Session, again: Sequence[RunRecord]) -> None:
    """Take attempts back that ended without a grade through no doing of the agent's.

    They leave ``runs.jsonl``; their tries, with what they cost, go to the journal first, and into the
    record of the attempt that follows. Adapt attempts that were learned from stay what they are.
    """
    if not again:
        return
    directory = session.directory
    _log.warning("%s: trying %d attempts again that ended without a grade", directory.root, len(again))
    events = [Reopened(run_id=record.run_id, tries=(*record.tries, as_try(record))) for record in again]
    with LineWriter(directory.journal) as journal:
        journal.write(event.model_dump(mode="json") for event in events)
    for event in events:
        session.history.tries[event.run_id] = list(event.tries)
    _keep(directory, {event.run_id for event in events})


def _keep(directory: StudyDirectory, without: set[str]) -> None:
    """Write ``runs.jsonl`` again without some attempts; every other line stays what it was."""
    lines = (line for _, line in read_lines(directory.runs))
    kept = (line + b"\n" for line in lines if parse_object(line)["run_id"] not in without)
    write_whole(directory.runs, b"".join(kept))
