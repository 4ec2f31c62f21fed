"""Agent states on disk: made beside their place, moved there as a whole, checked before they are used."""

from __future__ import annotations

import logging
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from sipbench.adaptation.trees import remove_tree
from sipbench.errors import AdaptationError, SipbenchError, StudyError
from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.digests import EMPTY_TREE, tree_digest
from sipbench.protocol.vocabulary import Phase
from sipbench.study.directory import StudyDirectory, sync_folder
from sipbench.study.plan import StateKey

__all__ = ["States"]

_log = logging.getLogger(__name__)

_MAKING = re.compile(r"\.T[12]\.making-[0-9a-f]{8}")
_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class States:
    """The agent states of a study, with the digests they were recorded with."""

    def __init__(self, directory: StudyDirectory, recorded: Mapping[StateKey, AdaptationRecord]) -> None:
        self._directory = directory
        self._digests = {key: record.agent_state_digest for key, record in recorded.items()}
        self._empty: set[StateKey] = set()

    def check_all(self) -> None:
        """Check every state that was made, and every empty one that was handed out.

        Raises:
            StudyError: One is not what was recorded.
        """
        for key in (*self._empty, *self._digests):
            self.check(key)

    def check(self, key: StateKey) -> None:
        """Check that a state is what was recorded of it.

        Raises:
            StudyError: It was changed or removed.
        """
        path, digest = self._directory.state(key), self.digest(key)
        try:
            found = tree_digest(path)
        except (SipbenchError, OSError) as error:
            raise self._changed(path, str(error)) from None
        if found != digest:
            raise self._changed(path, "was removed" if not path.exists() else "was changed")

    def _changed(self, path: Path, how: str) -> StudyError:
        return StudyError(
            f"{path}: the agent state {how} since it was made, so attempts with it would be another "
            f"agent's; put it back, or start afresh with another --out or without {self._directory.root}"
        )

    def digest(self, key: StateKey) -> str:
        """The digest that the state was recorded with; that of the empty one at T0."""
        return EMPTY_TREE if key.phase is Phase.T0 else self._digests[key]

    def path(self, key: StateKey) -> Path:
        """The folder of a state that exists."""
        path = self._directory.state(key)
        if key.phase is Phase.T0 and key not in self._empty:
            path.mkdir(parents=True, exist_ok=True)
            self.check(key)
            self._empty.add(key)
        return path

    def begin(self, key: StateKey) -> Path:
        """A new empty folder to make a state in, beside its place."""
        place = self._directory.state(key)
        place.parent.mkdir(parents=True, exist_ok=True)
        making = place.with_name(f".{place.name}.making-{uuid4().hex[:8]}")
        making.mkdir()
        return making

    def publish(self, key: StateKey, making: Path) -> str:
        """Move a state to its place, from where on it does not change; its digest.

        Raises:
            AdaptationError: It holds what cannot be part of a state, or is not there any more.
        """
        if making.is_symlink() or not making.is_dir():
            raise AdaptationError(
                "the agent state cannot be used: the adaptation removed or replaced the folder it was given"
            )
        try:
            digest = tree_digest(making)
            _protect(making)
        except (SipbenchError, OSError) as error:
            raise AdaptationError(f"the agent state cannot be used: {error}") from None
        place = self._directory.state(key)
        if place.exists():
            # A runner that was ended between this and the record: nobody used that state.
            aside = place.with_name(f".{place.name}.unrecorded-{uuid4().hex[:8]}")
            place.rename(aside)
            _log.info("%s: a state without a record is kept as %s", place, aside.name)
        making.rename(place)
        sync_folder(place.parent)
        self._digests[key] = digest
        return digest

    def discard(self, making: Path) -> None:
        """Remove a folder that :meth:`begin` made and nobody needs."""
        parent = making.parent.resolve()
        inside = parent.is_relative_to(self._directory.states.resolve())
        if not inside or _MAKING.fullmatch(making.name) is None:
            raise StudyError(f"{making}: not a folder that a state was made in; it is left alone")
        try:
            if making.is_symlink() or making.is_file():
                making.unlink()
            elif making.exists():
                remove_tree(parent / making.name)
        except OSError as error:
            _log.warning("%s cannot be removed: %s", making, error.strerror or error)

    def discard_leftovers(self) -> None:
        """Remove what adaptations left unfinished whose runner was ended."""
        for making in self._directory.states.glob("*/*/.*"):
            if _MAKING.fullmatch(making.name):
                self.discard(making)


def _protect(root: Path) -> None:
    """Take away the right to write, from the files first.

    Attempts only read a state; folders stay writable for their owner, so that a study directory can be
    removed like any other.
    """
    for path in sorted(root.rglob("*"), reverse=True):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            path.chmod(stat.S_IMODE(mode) & ~_WRITE)
