"""The guard: everything over files that are about to leave.

What states the answer, or belongs to a person or a machine, stops an export until somebody writes down
why it may go. What may only be a coincidence is listed with its context.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sipbench.cards.leaks.search import Searcher
from sipbench.cards.leaks.secrets import secrets_of
from sipbench.cards.leaks.traces import answer_file, traces
from sipbench.cards.leaks.visible import visible_texts
from sipbench.cards.load import LoadedCard
from sipbench.errors import CardError

__all__ = ["Guard", "GuardReport", "Leak", "check_allowed", "parse_allowed"]

_MOST_INFLATED = 64 * 1024 * 1024
_PART = 4 * 1024 * 1024
_OVERLAP = 8 * 1024
_SHOWN = 240
_WARNINGS = {"hidden-text"}


@dataclass(frozen=True, slots=True)
class Leak:
    """One thing that should not leave, in one place.

    Attributes:
        id: Stable: the same words of the same secret have it in every place and every run.
        rule: ``finding``, ``evidence``, ``ledger``, ``number``, ``file-name``, or a trace's rule.
        source: Which secret; empty for traces.
        place: The field or file.
        blocks: Whether it stops the export.
        context: What stands there.
    """

    id: str
    rule: str
    source: str
    place: str
    blocks: bool
    context: str

    def __str__(self) -> str:
        of = f" of {self.source}" if self.source and self.source != self.rule else ""
        return f"{self.id} {self.place}: {self.rule}{of}: {self.context}"


@dataclass(slots=True)
class GuardReport:
    """What the guard found: what stops, what is only said, and what was allowed with its reason."""

    blocking: list[Leak] = field(default_factory=list)
    warnings: list[Leak] = field(default_factory=list)
    allowed: list[tuple[Leak, str]] = field(default_factory=list)


class Guard:
    """Looks for what must not leave from one card.

    Args:
        card: The card.
        allowed: For an id, why that leak may go.

    Raises:
        CardError: The ledger cannot be read.
    """

    def __init__(self, card: LoadedCard, allowed: Mapping[str, str] | None = None) -> None:
        self._key = card.key
        self._allowed = dict(allowed or {})
        self._searcher = Searcher(secrets_of(card), card.card.finding)

    def fields(self, card: LoadedCard) -> GuardReport:
        """Check the fields that an agent may see."""
        report = GuardReport()
        for field_, text in visible_texts(card.card):
            self._text(report, field_, text)
        return report

    def files(self, files: Mapping[str, bytes]) -> GuardReport:
        """Check files that reach an agent, by name and content; archives are looked into."""
        report = GuardReport()
        for path, data in files.items():
            if answer_file(path):
                self._put(report, "file-name", "", path, path, blocks=True)
            self._text(report, path, path, numbers=False)
            for inner, content in _contents(path, data):
                for part in _parts(content):
                    self._text(report, inner, part)
        return report

    def _text(self, report: GuardReport, place: str, text: str, *, numbers: bool = True) -> None:
        for match in self._searcher.matches(text):
            secret = match.secret
            what = " ".join(match.words)
            context = f"{len(match.words)} words{' (all of it)' if match.whole else ''}: {match.context}"
            self._put(
                report,
                secret.rule,
                secret.source,
                place,
                what,
                blocks=secret.weight == "block",
                context=context,
            )
        for number in self._searcher.numbers(text) if numbers else ():
            name = f"{number.number} {number.unit}".strip()
            self._put(
                report, "number", "finding", place, name, blocks=False, context=f"{name}: {number.context}"
            )
        for trace in traces(text):
            around = text[max(0, trace.at - 20) : trace.at + len(trace.text) + 20]
            shown = around.encode("unicode_escape").decode("ascii") if trace.rule == "hidden-text" else around
            self._put(
                report, trace.rule, "", place, trace.text, blocks=trace.rule not in _WARNINGS, context=shown
            )

    def _put(
        self,
        report: GuardReport,
        rule: str,
        source: str,
        place: str,
        what: str,
        *,
        blocks: bool,
        context: str = "",
    ) -> None:
        name = hashlib.sha256(
            "\0".join((self._key, rule, source, what)).encode("utf-8", "replace")
        ).hexdigest()[:8]
        leak = Leak(f"L{name}", rule, source, place, blocks, " ".join((context or what).split())[:_SHOWN])
        if leak.id in self._allowed:
            report.allowed.append((leak, self._allowed[leak.id]))
        elif blocks:
            report.blocking.append(leak)
        elif leak not in report.warnings:
            report.warnings.append(leak)


def _parts(data: bytes) -> Iterator[str]:
    """A file's text in overlapping parts, so that a large one takes no large memory."""
    readings = [data]
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        # Some text is written so; what only begins so is read as it stands as well.
        readings.append(data.decode("utf-16", "replace").encode("utf-8", "replace"))
    for reading in readings:
        for start in range(0, max(1, len(reading)), _PART):
            yield reading[max(0, start - _OVERLAP) : start + _PART].decode("utf-8", "replace")


def _contents(path: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """A file and, where it is an archive, what is in it."""
    yield path, data
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(data)) as stream:
                yield f"{path} (inflated)", stream.read(_MOST_INFLATED)
        except (OSError, EOFError, zlib.error):
            return
    elif data[:4] == b"PK\x03\x04":
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                left = _MOST_INFLATED
                for entry in archive.infolist():
                    with archive.open(entry) as stream:
                        content = stream.read(left)
                    left -= len(content)
                    yield f"{path}/{entry.filename}", content
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError):
            return


def parse_allowed(options: list[str]) -> dict[str, str]:
    """The reasons of ``--allow-leak ID=REASON``.

    Raises:
        CardError: One has no reason.
    """
    allowed: dict[str, str] = {}
    for option in options:
        name, _, reason = option.partition("=")
        if not name.strip() or not reason.strip():
            raise CardError(
                f"--allow-leak {name[:40]}: needs a reason: --allow-leak {name[:40] or 'ID'}='why it may go'"
            )
        allowed[name.strip()] = " ".join(reason.split())
    return allowed


def check_allowed(allowed: Mapping[str, str], used: set[str]) -> None:
    """Refuse reasons for leaks that are not there.

    Raises:
        CardError: An id was allowed that nothing has.
    """
    for name in allowed:
        if name not in used:
            raise CardError(f"--allow-leak {name[:40]}: no leak has this id; `asb leaks` lists them")
