"""The format contract: what an export format makes of one card.

A format is one module with a subclass of :class:`Format`, registered in the entry-point group
``sipbench.formats``. It turns a card into files in memory and says what the author still owes. It
does not write, guard, order or version anything: ``export/driver.py`` does that for all formats.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from sipbench.cards.checks.run import Plan
from sipbench.cards.load import LoadedCard

__all__ = ["Blocks", "Built", "File", "Format", "Job", "Network", "Part", "Todo", "Trees"]

type Blocks = Literal["load", "grade", "quality"]
"""What an open item stops: the target's loader, its grading, or only a good task."""

type Part = Literal["metadata", "verifier", "environment"]
"""What a file belongs to, by what its change asks for: nothing, grading again, or running again."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of an export."""

    data: bytes
    executable: bool = False

    @staticmethod
    def text(text: str, *, executable: bool = False) -> File:
        """A UTF-8 text with line feeds."""
        return File(text.encode("utf-8"), executable)


@dataclass(frozen=True, slots=True)
class Todo:
    """Something that only the author can give.

    Attributes:
        id: Stable within the card and format.
        file, field: Where it belongs.
        need: What is needed, as a sentence.
        draft: Text of the card that may help; never copied into the field.
        blocks: What is stopped until it is there.
    """

    id: str
    file: str
    field: str
    need: str
    draft: str | None = None
    blocks: Blocks = "quality"


@dataclass(frozen=True, slots=True)
class Trees:
    """What the author gave for one card: files by their paths, and where they came from.

    Attributes:
        inputs: Data that the task starts from.
        oracle: A reference output, or a script with what it needs.
        environment: Files that replace drafted ones of the environment.
        skills: For each linked skill that was found, its files.
        former: Outputs of the card that this one starts from, if its author gave an oracle.
    """

    inputs: Mapping[str, File] = field(default_factory=dict)
    oracle: Mapping[str, File] = field(default_factory=dict)
    environment: Mapping[str, File] = field(default_factory=dict)
    skills: Mapping[str, Mapping[str, File]] = field(default_factory=dict)
    former: Mapping[str, File] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Network:
    """What an agent may reach from its environment; the verifier reaches nothing.

    Attributes:
        mode: ``public``: everything; ``no-network``: nothing; ``allowlist``: ``hosts``.
        hosts: Names of hosts, only with ``allowlist``.
    """

    mode: Literal["public", "no-network", "allowlist"] = "public"
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """One card and everything that an export of it needs.

    Attributes:
        card: The card.
        plan: Its checks, with the folder that references are relative to.
        trees: What the author gave.
        before: The card that this one starts from, if it is part of the export.
        dangling: An ``input_from`` that names no card.
        org: Organisation in task names.
        authors: Names of the task's authors.
        strict: Whether the target's stricter conditions apply.
        network: What the agent may reach; None: the target's default.
    """

    card: LoadedCard
    plan: Plan
    trees: Trees = field(default_factory=Trees)
    before: LoadedCard | None = None
    dangling: str | None = None
    org: str = "asb"
    authors: tuple[str, ...] = ()
    strict: bool = False
    network: Network | None = None


@dataclass(frozen=True)
class Built:
    """What a format made of a card.

    Attributes:
        files: By path below the record's folder.
        visible: Paths of those that reach an agent or are shown in public: the leak guard reads them.
        todos: What the author owes.
        draft: Why this cannot be graded yet; None if it can.
        reference_sources: For each check with a reference value, where the value comes from.
        settings: What counts like a file of that path when versions are compared, though it stands in
            another one.
    """

    files: Mapping[str, File]
    visible: frozenset[str]
    todos: tuple[Todo, ...] = ()
    draft: str | None = None
    reference_sources: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, File] = field(default_factory=dict)


class Format(ABC):
    """An export format."""

    contract_version: ClassVar[int] = 1

    name: ClassVar[str]
    """The name it is registered under."""
    upstream: ClassVar[str]
    """Which version or commit of the target it writes for."""
    summary: ClassVar[str]
    """A sentence: what it writes."""
    strict_option: ClassVar[str | None] = None
    """What ``Job.strict`` means here; None if the target has no stricter conditions."""

    @abstractmethod
    def build(self, job: Job) -> Built:
        """Make the files of one card. The same job gives the same bytes.

        Raises:
            CardError: The card cannot be exported; the driver goes on with the others.
        """

    @abstractmethod
    def part(self, path: str) -> Part:
        """What a file of a record belongs to."""

    @abstractmethod
    def with_version(
        self, files: Mapping[str, File], version: str, allowed: Sequence[str]
    ) -> dict[str, File]:
        """The files with the record's version, and with what the guard let pass and why, written in."""

    def dataset(self, records: Mapping[str, Built]) -> dict[str, File]:
        """Files for all records together, below the export's folder.

        Args:
            records: The records that are no drafts, by name.
        """
        return {}
