"""The adaptation contract: what turns adapt attempts into an agent state.

An adaptation is one module with a subclass of :class:`Adaptation`, registered in the entry-point
group ``sipbench.adaptations``. It is handed the adapt attempts of its own arm and repeat as a
folder, and nothing of any other split.

The folder holds one directory per attempt::

    <nnnn>/attempt.json   the task (id, text, metadata) and the attempt's run record
    <nnnn>/output/        what the engine wrote for that attempt
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from sipbench.benchmarks.base import Charge, Options
from sipbench.protocol.agent_state import Through
from sipbench.protocol.records import Usage, UsageSource
from sipbench.protocol.vocabulary import PathType, Phase

__all__ = ["Adaptation", "AdaptationOutcome", "AdaptationRequest"]


@dataclass(frozen=True, slots=True)
class AdaptationRequest:
    """What an adaptation is given.

    Attributes:
        attempts: Folder of the adapt attempts, as described above; empty if it needs none.
        previous: The agent state before (read only); empty before T1.
        state: An empty directory to fill with the new agent state.
        phase: The phase the new state is for: T1, or T2 for a second adaptation.
        repeat: The repeat it belongs to.
        seed: Decides every free choice.
        hidden: Files and folders that a program started by the adaptation must not read: the
            study and the benchmark's own files.
    """

    attempts: Path
    previous: Path
    state: Path
    phase: Phase
    repeat: int
    seed: int
    hidden: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class AdaptationOutcome:
    """What an adaptation itself spent, beside the attempts it learned from. Unknown is None.

    Attributes:
        usage: What it spent.
        usage_source: Who counted.
        metadata: Anything else; plain JSON.
        worked_here: Whether the work was done in :meth:`Adaptation.adapt`, so that the time it took is
            part of the cost. False where it only brings what somebody made elsewhere.
    """

    usage: Usage = field(default_factory=Usage)
    usage_source: UsageSource | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    worked_here: bool = True


class Adaptation(ABC):
    """Makes the agent state of one arm, repeat and phase."""

    contract_version: ClassVar[int] = 1
    Options: ClassVar[type[Options]] = Options

    path_type: ClassVar[PathType | None] = None
    """The path it takes, ``external`` or ``parameter``; None where its options declare it."""
    needs_attempts: ClassVar[bool] = True
    """Whether it learns from adapt attempts. Without them none are run. An instance may say otherwise."""

    charge: ClassVar[Charge] = "unknown"
    """What is known beforehand of the money that :meth:`adapt` spends in this study. ``free`` where it only
    brings what exists: what that cost others is the record's business, not a cap's."""

    def __init__(self, options: Any, *, base: Path) -> None:
        """Make the adaptation from an instance of ``Options``; relative paths start from ``base``."""
        self.options = options
        self.base = base

    @property
    def through(self) -> Through:
        """How the skills that it makes reach the agent; the benchmark is asked whether it can do that."""
        return "files"

    @property
    def path(self) -> PathType:
        """The path type of an arm with this adaptation."""
        declared = type(self).path_type
        return declared if declared is not None else PathType(self.options.path_type)

    def inputs_digest(self) -> str | None:
        """Digest of files outside the study that the adaptation reads (a skills folder); None without any.

        It is part of what a half-run study checks before it goes on.
        """
        return None

    @abstractmethod
    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Write the new agent state into ``request.state``.

        Raises:
            AdaptationError: No usable state came out, and why.
        """
