"""A study directory on disk: where everything stands, whose it is, and who may write to it now."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sipbench.errors import StudyError
from sipbench.files import kind_of_mode, told
from sipbench.protocol.folder import ADAPTATIONS, LOCK, RUNS, SPLITS, SUMMARY
from sipbench.study.plan import StateKey

__all__ = ["StudyDirectory", "write_whole"]

_HOLDER = ".runner"
_JOURNAL = "journal.jsonl"
_STUDY = "study.yaml"
_LOG = "study.log"
# What a run leaves that was ended before it wrote study.lock.json.
_BEFORE_LOCK = {_HOLDER, _LOG, _STUDY, SPLITS}
_PARTIAL = ".partial"


class StudyDirectory:
    """The paths of a study directory, and the right to write to it."""

    def __init__(self, root: Path) -> None:
        # Absolute, since engines and workers may stand in another folder.
        self.root = root = root.absolute()
        self.study = root / _STUDY
        self.lock = root / LOCK
        self.splits = root / SPLITS
        self.journal = root / _JOURNAL
        self.runs = root / RUNS
        self.adaptations = root / ADAPTATIONS
        self.attempts = root / "attempts"
        self.states = root / "states"
        self.summary = root / SUMMARY
        self.log = root / _LOG

    def output(self, run_id: str) -> Path:
        """Where the engine's output of an attempt goes."""
        return self.attempts / run_id

    def state(self, key: StateKey) -> Path:
        """Where an agent state stands."""
        return self.states / key.arm / str(key.repeat) / key.phase.value

    def siblings(self) -> list[Path]:
        """Other studies beside this one: of the same tasks, they hold what is held out here."""
        found = (path.parent for path in self.root.parent.glob(f"*/{LOCK}"))
        return sorted(path for path in found if path != self.root and not path.is_symlink())

    @contextmanager
    def held(self, text: bytes) -> Iterator[None]:
        """Make the directory if need be, and hold it against other runners.

        Args:
            text: The study file; one that stands here already must be the same.

        Raises:
            StudyError: Another runner is at work here, or the directory is no study's.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self._refuse_foreign(text)
            for path in (self.root / _HOLDER, self.log):
                _refuse_odd(path)
            handle = (self.root / _HOLDER).open("a+b")
        except OSError as error:
            raise StudyError(f"{self.root}: cannot be used as a study directory: {told(error)}") from None
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StudyError(f"{self.root}: another runner{_who(handle.name)} is at work here") from None
            except OSError as error:
                raise StudyError(
                    f"{self.root}: this file system has no locks ({error.strerror}); use a local folder"
                ) from None
            handle.truncate(0)
            handle.write(f"{os.getpid()}\n".encode())
            handle.flush()
            yield

    def _refuse_foreign(self, text: bytes) -> None:
        if self.lock.exists():
            return
        found = {path.name for path in self.root.iterdir() if not path.name.endswith(_PARTIAL)}
        foreign = sorted(found - _BEFORE_LOCK)
        if not foreign and self.study.exists() and self.study.read_bytes() != text:
            foreign = [_STUDY]
        if foreign:
            raise StudyError(
                f"{self.root}: not a study directory, and not empty ({foreign[0]}); "
                "choose another folder with --out"
            )


def _refuse_odd(path: Path) -> None:
    """Refuse a link, which would lead what is written to somebody else's file, and a pipe, which never ends.

    Raises:
        StudyError: It is there, and is no regular file.
    """
    try:
        kind = kind_of_mode(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if kind is not None:
        raise StudyError(f"{path}: {kind}; remove it, or choose another folder with --out")


def _who(holder: str) -> str:
    number = Path(holder).read_bytes()[:20].strip()
    return f" (process {number.decode()})" if number.isdigit() else ""


def write_whole(path: Path, text: bytes) -> None:
    """Write a file as a whole or not at all, durably.

    Raises:
        StudyError: It cannot be written.
    """
    partial = path.with_name(f".{path.name}{_PARTIAL}")
    try:
        # A link that lies there would lead the text to another file.
        partial.unlink(missing_ok=True)
        with partial.open("xb") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        partial.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise StudyError(f"{path}: cannot be written: {error.strerror or error}") from None


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
