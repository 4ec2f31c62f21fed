"""What a command says and asks before it spends anything."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

if TYPE_CHECKING:
    from sipbench.study.forecast import Forecast

__all__ = ["Asking", "Yes"]

Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before anything is spent; caps still hold.")
]

_YES = frozenset({"y", "yes"})


@dataclass(frozen=True, slots=True)
class Asking:
    """Shows on stderr what is expected, and asks there where that is to be asked.

    Attributes:
        yes: Whether the answer was given beforehand.
        quiet: Whether only questions are shown.
    """

    yes: bool = False
    quiet: bool = False

    def __call__(self, forecast: Forecast) -> bool:
        """Whether to begin.

        Raises:
            StudyError: Nobody can be asked here.
        """
        from sipbench.errors import StudyError
        from sipbench.study.consent import questions

        reasons = list(questions(forecast))
        asked = bool(reasons) and not self.yes
        if asked and not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
            raise StudyError(f"{' '.join(reasons)} Nothing was started; --yes goes on without asking")
        if not self.quiet:
            self._show(forecast, reasons)
        elif asked:
            self._write(*reasons)
        return not asked or self._answer()

    def _show(self, forecast: Forecast, reasons: list[str]) -> None:
        from sipbench.report.planning import price_line
        from sipbench.study.consent import remark

        self._write(price_line(forecast.outlook, forecast.design.config.analysis), *reasons)
        said = remark(forecast)
        if said is not None and said not in reasons:
            self._write(said)

    def _write(self, *lines: str) -> None:
        from sipbench.cli.output import printable

        # A study goes on where nobody can read what is said of it; an answer nobody was asked for is a no.
        with suppress(OSError):
            sys.stderr.write("".join(f"{printable(line)}\n" for line in lines))

    def _answer(self) -> bool:
        try:
            sys.stderr.write("Go on? [y/N] ")
            sys.stderr.flush()
            # Not `input`: its prompt would go to stdout, where a document may be expected.
            return sys.stdin.readline().strip().lower() in _YES
        except (OSError, UnicodeDecodeError):  # no terminal any more, or what was typed is no text
            return False
        except KeyboardInterrupt:
            sys.stderr.write("\nInterrupted; nothing was started\n")
            raise


def _is_terminal(stream: TextIO | None) -> bool:
    # A process that is started with a closed stream has none.
    return stream is not None and stream.isatty()
