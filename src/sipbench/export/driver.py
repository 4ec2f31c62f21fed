"""Exports cards in any format: in order, guarded, versioned, and never over an author's edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sipbench.cards.chains import Chains, chained
from sipbench.cards.checks.run import eval_of
from sipbench.cards.keys import safe_name
from sipbench.cards.leaks.guard import Guard, GuardReport, check_allowed
from sipbench.cards.load import LoadedCard
from sipbench.errors import CardError
from sipbench.export.base import Built, File, Format, Job, Network
from sipbench.export.given import Given, oracle_outputs, trees_of
from sipbench.export.index import INDEX, Index, Record, Release, next_version, read_index, write_index
from sipbench.export.trees import digests, found, remove_made, staged

__all__ = ["Exported", "Outcome", "Request", "State", "export"]

State = Literal["task", "draft", "blocked"]

DRAFT_VERSION = "0.0.0"


@dataclass(frozen=True)
class Request:
    """What is asked of an export.

    Attributes:
        allowed: For the id of a leak, why it may go.
        force: Whether files that were edited since the last export are replaced.
    """

    given: Given = field(default_factory=Given)
    org: str = "asb"
    authors: tuple[str, ...] = ()
    strict: bool = False
    network: Network | None = None
    allowed: Mapping[str, str] = field(default_factory=dict)
    force: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of one card.

    Attributes:
        state: ``blocked``: nothing was written.
        reason: Why it is blocked or a draft; None for a task.
        folder: Where it stands; None for what is blocked.
        version: Its version; None for what is blocked.
        release: What the version is for; None if it is the one it had.
        todos: How many open items it has.
        report: What the guard found.
    """

    key: str
    state: State
    reason: str | None
    folder: Path | None
    version: str | None
    release: Release | None
    todos: int
    report: GuardReport


@dataclass(frozen=True)
class Exported:
    """What an export made."""

    outcomes: tuple[Outcome, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many cards of each state."""
        counted = Counter(outcome.state for outcome in self.outcomes)
        return {"task": counted["task"], "draft": counted["draft"], "blocked": counted["blocked"]}


def export(format_: Format, cards: Sequence[LoadedCard], out: Path, request: Request) -> Exported:
    """Export cards into ``out``.

    Raises:
        CardError: ``out`` is no place for an export, two cards have one name, or a leak was allowed
            that is not there.
    """
    index = _index(format_, out)
    _refuse_twins(cards)
    chains = chained(cards)
    exporter = _Exporter(format_, out, request, index, chains, only=len(cards) == 1)
    outcomes = [exporter.card(card) for card in chains.order]
    for card in cards:
        if card.key in chains.circles:
            reason = f"{card.path}: input_from: leads into a circle ({chains.circles[card.key]})"
            outcomes.append(Outcome(card.key, "blocked", reason, None, None, None, 0, GuardReport()))
    check_allowed(request.allowed, exporter.used)
    out.mkdir(parents=True, exist_ok=True)
    for name, file in format_.dataset(exporter.tasks).items():
        (out / name).write_bytes(file.data)
    write_index(out, index.model_copy(update={"records": exporter.records}))
    return Exported(tuple(outcomes))


def _index(format_: Format, out: Path) -> Index:
    index = read_index(out, format_.name)
    if index is not None:
        return index
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise CardError(f"{out}: is not empty and holds no {INDEX}; name a new folder or an earlier export")
    return Index(format=format_.name, upstream=format_.upstream)


def _refuse_twins(cards: Sequence[LoadedCard]) -> None:
    first: dict[str, LoadedCard] = {}
    for card in cards:
        twin = first.setdefault(safe_name(card.key).lower(), card)
        if twin is not card:
            raise CardError(
                f"{card.path}: has the name {safe_name(card.key)}, as {twin.path}; export them apart"
            )


class _Exporter:
    """One run over the cards, which remembers what later cards start from."""

    def __init__(
        self, format_: Format, out: Path, request: Request, index: Index, chains: Chains, *, only: bool
    ) -> None:
        self._format, self._out, self._request, self._chains, self._only = format_, out, request, chains, only
        self._outputs: dict[str, dict[str, File]] = {}
        self.records: dict[str, Record] = dict(index.records)
        self.tasks: dict[str, Built] = {}
        self.used: set[str] = set()

    def card(self, card: LoadedCard) -> Outcome:
        """Export one card; what is wrong with it blocks it and no other."""
        report = GuardReport()
        try:
            built, report = self._built(card)
            self.used |= {leak.id for leak, _ in report.allowed}
            if report.blocking:
                first = report.blocking[0]
                more = f" (and {len(report.blocking) - 1} more)" if len(report.blocking) > 1 else ""
                raise CardError(f"{card.key}: leak {first}{more}")
            return self._put(card, built, report)
        except CardError as error:
            stale = self.records.get(safe_name(card.key))
            reason = f"{error}; {stale.folder} is of an earlier state" if stale else str(error)
            return Outcome(card.key, "blocked", reason, None, None, None, 0, report)

    def _built(self, card: LoadedCard) -> tuple[Built, GuardReport]:
        request = self._request
        before = self._chains.before.get(card.key)
        former = self._outputs.get(before.key, {}) if before else {}
        trees = trees_of(card, request.given, only=self._only, former=former)
        self._outputs[card.key] = oracle_outputs(trees)
        job = Job(
            card=card,
            plan=eval_of(card, request.given.evals),
            trees=trees,
            before=before,
            dangling=self._chains.dangling.get(card.key),
            org=request.org,
            authors=request.authors,
            strict=request.strict,
            network=request.network,
        )
        built = self._format.build(job)
        visible = {path: file.data for path, file in built.files.items() if path in built.visible}
        return built, Guard(card, request.allowed).files(visible)

    def _put(self, card: LoadedCard, built: Built, report: GuardReport) -> Outcome:
        name, former = safe_name(card.key), self.records.get(safe_name(card.key))
        content = digests({**built.files, **built.settings})
        release: Release | None = None
        version = DRAFT_VERSION
        releases = former.releases if former else ()
        if built.draft is None:
            paths = content.keys() | (former.content.keys() if former else set())
            release = next_version(former, content, {path: self._format.part(path) for path in paths})
            releases = (*releases, release) if release else releases
            version = releases[-1].version
            self.tasks[name] = built
        allowed = sorted({f"{leak.id}: {leak.rule}: {reason}" for leak, reason in report.allowed})
        files = self._format.with_version(built.files, version, allowed)
        folder = f"{'draft' if built.draft else 'tasks'}/{name}"
        self._replace(former, folder, files)
        self.records[name] = Record(
            capsule_key=card.key,
            card_sha256=card.sha256,
            folder=folder,
            releases=releases,
            content=content if built.draft is None else (former.content if former else {}),
            written=digests(files),
        )
        state: State = "draft" if built.draft else "task"
        return Outcome(
            card.key, state, built.draft, self._out / folder, version, release, len(built.todos), report
        )

    def _replace(self, former: Record | None, folder: str, files: Mapping[str, File]) -> None:
        """Put files in the place of the former ones, unless somebody worked on those."""
        target, old = self._out / folder, self._out / former.folder if former else None
        there: dict[str, str] = {}
        if former is not None and old is not None and old.is_dir():
            there = found(old)
            if old == target and there == digests(files):
                return
            self._refuse_edits(old, there, former)
        elif target.exists():
            raise CardError(f"{target}: is there, though no export of this card made it; move it away")
        new = staged(target.parent, files)
        if old is not None:
            remove_made(old, there)
        try:
            new.rename(target)
        except OSError as error:
            remove_made(new, files)
            raise CardError(f"{target}: cannot be written: {error.strerror or error}") from None

    def _refuse_edits(self, old: Path, there: Mapping[str, str], former: Record) -> None:
        paths = there.keys() | former.written.keys()
        edited = sorted(path for path in paths if there.get(path) != former.written.get(path))
        if edited and not self._request.force:
            raise CardError(
                f"{old}: was edited since it was exported ({', '.join(edited[:3])}); keep your work where "
                "--inputs, --oracle, --environment or --evals find it, or replace it with --force"
            )
