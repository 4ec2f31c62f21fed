"""The journal: what was begun and what became of it, so that a resumed study knows what was lost.

``runs.jsonl`` says what is finished; the journal, which is only ever appended to, says what was
started and never ended, what earlier tries were and cost, and how long the study has been at work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from sipbench.errors import RecordError, StudyError
from sipbench.protocol.jsonl import parse_object, read_lines
from sipbench.protocol.records import Count, Digest, Name, Timestamp, Try, timestamp
from sipbench.protocol.versions import JOURNAL_VERSION, upgraded
from sipbench.protocol.vocabulary import Phase, Status
from sipbench.study.plan import StateKey

__all__ = [
    "AdaptationFailed",
    "Adapted",
    "Adapting",
    "Event",
    "Failed",
    "Finished",
    "History",
    "Planned",
    "Reopened",
    "Started",
    "Stopped",
    "read_history",
]

INTERRUPTED = "interrupted"


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    schema_version: Annotated[str, StringConstraints(pattern=r"^1\.\d{1,6}\.\d{1,6}$")] = JOURNAL_VERSION
    at: Timestamp = Field(default_factory=timestamp)


class Planned(_Event):
    """A runner took up the study; one per session."""

    event: Literal["planned"] = "planned"
    sipbench_version: str
    attempts: Count = Field(description="All attempts of the plan.")
    adaptations: Count = Field(description="All adaptations of the plan.")
    finished: Count = Field(description="Attempts that were finished before this session.")


class Started(_Event):
    """A try of an attempt was handed to the executor."""

    event: Literal["started"] = "started"
    run_id: Name


class Failed(_Event):
    """A try ended without a grade, and the attempt goes on or is taken up again later."""

    event: Literal["failed"] = "failed"
    run_id: Name
    tried: Try


class Finished(_Event):
    """An attempt is in ``runs.jsonl``."""

    event: Literal["finished"] = "finished"
    run_id: Name
    status: Status


class Reopened(_Event):
    """An attempt that ended without a grade, through no doing of the agent, leaves ``runs.jsonl``."""

    event: Literal["reopened"] = "reopened"
    run_id: Name
    tries: tuple[Try, ...] = Field(description="All tries until now, oldest first.")


class _StateEvent(_Event):
    arm: Name
    repeat: Count
    phase: Phase

    @property
    def key(self) -> StateKey:
        """The agent state it is about."""
        return StateKey(self.arm, self.repeat, self.phase)


class Adapting(_StateEvent):
    """An adaptation was handed to the executor."""

    event: Literal["adapting"] = "adapting"


class Adapted(_StateEvent):
    """An adaptation made an agent state."""

    event: Literal["adapted"] = "adapted"
    agent_state_digest: Digest


class AdaptationFailed(_StateEvent):
    """An adaptation made none, and why."""

    event: Literal["adaptation_failed"] = "adaptation_failed"
    message: str


class Stopped(_Event):
    """The runner ended its session, and why."""

    event: Literal["stopped"] = "stopped"
    reason: str
    seconds: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="Monotonic seconds of the session; unknown before 1.1.0."
    )


type Event = (
    Planned | Started | Failed | Finished | Reopened | Adapting | Adapted | AdaptationFailed | Stopped
)

_EVENTS: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="event")])


@dataclass(slots=True)
class History:
    """What the journal tells of earlier sessions.

    Attributes:
        tries: Tries of each attempt that yielded no grade, oldest first, with those that were
            started and never ended: what these cost is unknown.
        adaptations: Earlier failures of each adaptation, as messages.
        seconds: How long earlier sessions were at work.
        sessions: How many there were.
        touched: Whether any attempt or adaptation was ever started.
        finished: Attempts whose record was written and not taken back.
    """

    tries: dict[str, list[Try]] = field(default_factory=lambda: defaultdict(list))
    adaptations: dict[StateKey, list[str]] = field(default_factory=lambda: defaultdict(list))
    seconds: float = 0.0
    sessions: int = 0
    touched: bool = False
    finished: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, events: Iterable[Event]) -> History:
        """Put the events of a journal together."""
        reader = _Reader(cls())
        for event in events:
            reader.take(event)
        return reader.close()


class _Reader:
    """Reads events in order; what is open when a session ends was interrupted."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._open: dict[str, str] = {}
        self._making: set[StateKey] = set()
        self._first: str | None = None
        self._last: str | None = None
        self._seconds: float | None = None

    def take(self, event: Event) -> None:
        history = self.history
        if isinstance(event, Planned):
            self._end_session()
            history.sessions += 1
            self._first = event.at
        self._last = event.at
        match event:
            case Started():
                history.touched = True
                self._open[event.run_id] = event.at
            case Failed():
                self._open.pop(event.run_id, None)
                history.tries[event.run_id].append(event.tried)
            case Finished():
                self._open.pop(event.run_id, None)
                history.finished.add(event.run_id)
            case Reopened():
                history.finished.discard(event.run_id)
                history.tries[event.run_id] = list(event.tries)
            case Stopped():
                self._seconds = event.seconds
            case Adapting():
                history.touched = True
                self._making.add(event.key)
            case Adapted():
                self._making.discard(event.key)
            case AdaptationFailed():
                self._making.discard(event.key)
                history.adaptations[event.key].append(event.message)
            case _:
                pass

    def close(self) -> History:
        self._end_session()
        return self.history

    def _end_session(self) -> None:
        for run_id, started_at in self._open.items():
            self.history.tries[run_id].append(interrupted_try(started_at))
        for key in self._making:
            self.history.adaptations[key].append(INTERRUPTED)
        self._open.clear()
        self._making.clear()
        if self._seconds is not None:
            self.history.seconds += self._seconds
        elif self._first is not None and self._last is not None:
            # Who was killed could not say, and a clock that was set meanwhile cannot be known.
            between = datetime.fromisoformat(self._last) - datetime.fromisoformat(self._first)
            self.history.seconds += max(0.0, between.total_seconds())
        self._first = self._seconds = None


def interrupted_try(started_at: str) -> Try:
    """A try whose runner was gone before it ended: nothing is known of what it cost."""
    return Try(
        status=Status.INFRASTRUCTURE_ERROR,
        error_type=INTERRUPTED,
        error_message="the runner was ended before the attempt",
        started_at=started_at,
    )


def read_history(path: Path) -> History:
    """Read a journal; one that is not there tells nothing.

    Raises:
        StudyError: A line is not an event.
    """
    return History.of(_events(path)) if path.exists() else History()


def _events(path: Path) -> Iterator[Event]:
    try:
        for number, line in read_lines(path):
            where = f"{path}:{number}"
            document: Any = parse_object(line)
            upgraded(document, current=JOURNAL_VERSION, upgrades={}, what="journals")
            yield _EVENTS.validate_json(line)
    except ValidationError as error:
        item = error.errors(include_url=False, include_input=False)[0]
        field_name = ".".join(str(part) for part in item["loc"])
        raise StudyError(f"{where}: {field_name}: {item['msg']}; {_BY_HAND}") from None
    except RecordError as error:
        raise StudyError(f"{path}: {error}; {_BY_HAND}") from None


_BY_HAND = "the journal was changed by hand: put it back, or start afresh with another --out"
