"""Showing how a study stands: a live table on a terminal, a line now and then elsewhere, or nothing."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import IO, TYPE_CHECKING, Any

from sipbench.study.standing import Standing

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Lines", "Live", "Progress", "progress_for"]


class Progress:
    """Shows a study; this one shows nothing.

    Attributes:
        interval: Seconds between two calls of :meth:`show`.
    """

    interval: float = 60.0

    def begin(self, standing: Standing) -> None:
        """Called once, before the first attempt."""

    def show(self, standing: Standing) -> None:
        """Called again and again."""

    def end(self, standing: Standing) -> None:
        """Called once, after the last attempt."""


class Lines(Progress):
    """A line every few seconds."""

    interval = 5.0

    def __init__(self, file: IO[str] | None = None) -> None:
        self._file = file or sys.stderr
        self._last = ""

    def begin(self, standing: Standing) -> None:
        """Say what there is to do."""
        done, all_ = standing.adaptations
        left = standing.planned - standing.made
        if not left and done == all_:
            self._write(f"{standing.name}: nothing left to do")
            return
        self._write(
            f"{standing.name}: {left} of {standing.planned} attempts and "
            f"{all_ - done} of {all_} adaptations to do{_waiting(standing)}"
        )

    def show(self, standing: Standing) -> None:
        """Say how it stands, if that is news."""
        self._write(f"{standing.name}: {headline(standing)}")

    def end(self, standing: Standing) -> None:
        """Say how it ended."""
        self._write(f"{standing.name}: {headline(standing)}")

    def _write(self, line: str) -> None:
        if line != self._last:
            self._last = line
            # A study goes on when nobody watches it any more.
            with contextlib.suppress(OSError, ValueError):
                self._file.write(line + "\n")
                self._file.flush()


class Live(Progress):
    """A table that is drawn again and again."""

    interval = 0.5

    def __init__(self) -> None:
        self._live: Any = None
        self._diverted: list[tuple[logging.StreamHandler[Any], Any]] = []

    def begin(self, standing: Standing) -> None:
        """Draw it the first time."""
        from rich.console import Console
        from rich.live import Live as RichLive

        console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live = RichLive(rendered(standing), console=console, auto_refresh=False, transient=True)
        before = sys.stderr
        self._live.start()
        # What is logged meanwhile goes above the table instead of through it.
        for handler in logging.getLogger("sipbench").handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is before:
                self._diverted.append((handler, before))
                handler.setStream(sys.stderr)

    def show(self, standing: Standing) -> None:
        """Draw it again."""
        self._live.update(rendered(standing), refresh=True)

    def end(self, standing: Standing) -> None:
        """Leave the last line behind."""
        for handler, stream in self._diverted:
            handler.setStream(stream)
        self._live.stop()
        self._live.console.print(f"{standing.name}: {headline(standing)}")


def progress_for(stream: IO[str] | None = None, *, quiet: bool = False) -> Progress:
    """What suits the stream that progress goes to; default: stderr."""
    stream = stream or sys.stderr
    if quiet:
        return Progress()
    return Live() if stream.isatty() else Lines(stream)


def headline(standing: Standing) -> str:
    """How a study stands, in one line."""
    parts = [f"{standing.made} of {standing.planned} attempts"]
    missing = {status: n for status, n in standing.statuses.items() if not status.is_graded}
    parts += [f"{n} {status.value.replace('_', ' ')}" for status, n in sorted(missing.items())]
    if standing.tried:
        parts.append(f"{standing.tried} failed {'try' if standing.tried == 1 else 'tries'}")
    if standing.adaptations[1]:
        parts.append(f"{standing.adaptations[0]} of {standing.adaptations[1]} adaptations")
    if standing.cost_unit is not None:
        unknown = f" and {standing.spent_unknown} unknown" if standing.spent_unknown else ""
        parts.append(f"{_amount(standing.spent)} {standing.cost_unit.replace('_', ' ')}{unknown}")
    parts.append(f"{_duration(standing.seconds)}")
    left = standing.seconds_left
    if standing.stopping is not None:
        parts.append(f"stopping: {standing.stopping}")
    elif standing.due is not None:
        parts.append(standing.due)
    elif left is not None and standing.made < standing.planned:
        parts.append(f"about {_duration(left)} left")
    return ", ".join(parts)


def rendered(standing: Standing) -> RenderableType:
    """The live table: mean score so far per phase, split and arm, over the headline."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for name in ("phase", "split", "attempts"):
        table.add_column(name, justify="right" if name == "attempts" else "left")
    for arm in standing.arms:
        table.add_column(Text(arm), justify="right")
    for cell in standing.table():
        means = ("-" if mean is None else f"{mean:.3f}" for mean in cell.means.values())
        table.add_row(cell.phase, cell.split, f"{cell.made} of {cell.planned}", *means)
    return Group(table, Text(f"{standing.name}: {headline(standing)}"))


def _waiting(standing: Standing) -> str:
    return f"; {standing.held} attempts wait for T2" if standing.held else ""


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.4g}"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
