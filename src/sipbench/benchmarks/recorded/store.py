"""The attempts of all files of a recorded study, by their place in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from sipbench.benchmarks.base import Task
from sipbench.benchmarks.recorded.options import RecordedFile
from sipbench.errors import ConfigError, EngineError, RecordError
from sipbench.importers.base import Imported
from sipbench.protocol.digests import file_digest, json_digest, tree_digest
from sipbench.protocol.vocabulary import Phase, Split

__all__ = ["Place", "Store"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an attempt stands in a study."""

    arm: str
    phase: Phase
    split: Split
    repeat: int
    task_id: str
    attempt_index: int

    def __str__(self) -> str:
        return (
            f"task {self.task_id}, {self.phase} {self.split}, arm {self.arm}, repeat {self.repeat}, "
            f"attempt {self.attempt_index}"
        )


@dataclass(frozen=True, slots=True)
class _Read:
    """One file as it was read."""

    digest: str
    items: tuple[Imported, ...]


@dataclass(frozen=True, slots=True)
class Store:
    """The recorded attempts.

    Attributes:
        digest: Of the files' bytes and of how they are bound: what the attempts depend on.
        attempts: By place. Repeats are numbered from 0 in the order of what the files call them.
        tasks: Every task, in the order of the files.
        firsts: The first attempt of each arm, and of each arm and phase.
    """

    digest: str
    attempts: dict[Place, Imported] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    firsts: dict[tuple[str, Phase | None], Imported] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Sequence[RecordedFile], base: Path) -> Store:
        """Read all files.

        Raises:
            ConfigError: A file's keys do not fit its kind.
            RecordError: A file cannot be read, or an attempt stands twice.
            EngineError: Two files disagree about a task.
        """
        reads = [(_numbered(index, file, base), file) for index, file in enumerate(files)]
        bound = [[read.digest, file.model_dump(mode="json", exclude={"path"})] for read, file in reads]
        store = cls(json_digest(bound))
        ranks = _ranks(item for read, _ in reads for item in read.items)
        sources: dict[Place, str] = {}
        for item, source in ((item, file.path) for read, file in reads for item in read.items):
            place = _place(item, ranks)
            first = sources.setdefault(place, source)
            if place in store.attempts:
                where = f"twice in {source}" if first == source else f"in {first} and in {source}"
                raise RecordError(f"files: {place} stands {where}; bind one of them to another place")
            store.attempts[place] = item
            store.firsts.setdefault((place.arm, None), item)
            store.firsts.setdefault((place.arm, place.phase), item)
            store._add_task(item, source)
        return store

    def _add_task(self, item: Imported, source: str) -> None:
        record = item.record
        known = self.tasks.get(record.task_id)
        new = Task(
            id=record.task_id,
            digest=record.task_digest or _unknown_content(record.task_id),
            family=record.family,
            concept=record.concept,
            text=item.text,
            metadata=dict(item.task_metadata),
        )
        if known is None or known.digest == _unknown_content(record.task_id):
            self.tasks[record.task_id] = new
        elif record.task_digest not in (None, known.digest) or _differ(record.family, known.family):
            raise EngineError(
                f"{source}: task {record.task_id} is not the one that another file calls so; the files hold "
                "different revisions of the benchmark"
            )

    def beside(self, place: Place) -> Imported | None:
        """An attempt of the same arm, of the same phase if there is one."""
        return self.firsts.get((place.arm, place.phase)) or self.firsts.get((place.arm, None))

    def split_of(self, split: Split, *, phase: Phase | None = None) -> list[str]:
        """Ids of the tasks with an attempt in ``split`` (and ``phase``), in the order of the files."""
        held = {
            place.task_id for place in self.attempts if place.split is split and phase in (None, place.phase)
        }
        return [task_id for task_id in self.tasks if task_id in held]


def _differ(one: str | None, other: str | None) -> bool:
    return None not in (one, other) and one != other


def _unknown_content(task_id: str) -> str:
    """What stands for the digest of a task of which a file knows only the id."""
    return json_digest({"content": "unknown", "task": task_id})


def _numbered(index: int, file: RecordedFile, base: Path) -> _Read:
    path = base / file.path
    try:
        file.importer()
        info = path.stat()
        return _read(str(path), file.model_dump_json(), (info.st_mtime_ns, info.st_size, info.st_ino))
    except ConfigError as error:
        raise ConfigError(f"files[{index}]: {error}") from None
    except OSError as error:
        raise RecordError(f"files[{index}]: {path}: cannot be read: {error.strerror or error}") from None


@lru_cache(maxsize=32)
def _read(path: str, file_json: str, stamp: tuple[int, ...]) -> _Read:
    """Read a file once per process: an adapter is made anew for each attempt."""
    file = RecordedFile.model_validate_json(file_json)
    where = Path(path)
    items = tuple(
        item for item in file.importer().read(where, file.binding) if file.takes(item.record.task_id)
    )
    if not items:
        raise RecordError(f"{where}: holds none of the tasks {', '.join(file.tasks or ())}")
    return _Read(tree_digest(where) if where.is_dir() else file_digest(where), items)


def _ranks(items: Iterator[Imported]) -> dict[tuple[str, int], int]:
    held = sorted({(item.record.arm, item.record.repeat) for item in items})
    arms = {arm: [repeat for other, repeat in held if other == arm] for arm, _ in held}
    return {(arm, repeat): arms[arm].index(repeat) for arm, repeat in held}


def _place(item: Imported, ranks: dict[tuple[str, int], int]) -> Place:
    record = item.record
    # v0.1.0 records of learning carry any phase; what led to T1 is asked for as T1.
    early = record.benchmark_split is Split.ADAPT and record.phase is Phase.T0
    return Place(
        record.arm,
        Phase.T1 if early else record.phase,
        record.benchmark_split,
        ranks[record.arm, record.repeat],
        record.task_id,
        record.attempt_index,
    )
