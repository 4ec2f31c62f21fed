"""Whether a person is to be asked before a study spends anything, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sipbench.errors import StudyError
from sipbench.protocol.money import exact, usd_text
from sipbench.study.forecast import Forecast, forecast_of

if TYPE_CHECKING:
    from sipbench.study.session import Session

__all__ = ["Consent", "agreed", "questions", "remark"]

type Consent = Callable[[Forecast], bool]
"""Is shown what a study will take, and says whether to begin."""


def questions(forecast: Forecast) -> Iterator[str]:
    """What a person is to be asked about, a sentence each; nothing where nothing is paid.

    Asked is about money, whenever it is to be more than the study file's ``ask_above_usd``, or unknown; and
    about a study that would spend it without an answer to its question, when it is begun.
    """
    if not forecast.pays:
        return
    yield from _money(forecast)
    if not forecast.begun and _misses(forecast):
        yield forecast.outlook.sentence


def remark(forecast: Forecast) -> str | None:
    """What is to be said of a study that may have no answer to its question, when it is begun."""
    if forecast.begun or not forecast.measures_gain or forecast.outlook.answers == "yes":
        return None
    return forecast.outlook.sentence


def _misses(forecast: Forecast) -> bool:
    return forecast.measures_gain and forecast.outlook.answers in ("no", "unknown")


def _money(forecast: Forecast) -> Iterator[str]:
    threshold, usd = exact(forecast.design.config.estimate.ask_above_usd), forecast.outlook.usd
    attempts, most = _counted(forecast.outlook.attempts, "attempt"), forecast.most_usd
    bound = f", at most {usd_text(most)} (caps.usd) and what is running then" if most is not None else ""
    if most is not None and most <= threshold:
        return
    if usd is None:
        yield f"The cost of {attempts} is unknown{bound}."
    elif exact(usd) > threshold:
        yield (
            f"{attempts} will take about {usd_text(usd)}{bound}: more than {usd_text(threshold)}, which "
            "`estimate.ask_above_usd` lets pass."
        )
    if forecast.learning:
        yield f"The cost of {_counted(forecast.learning, 'adaptation')} is unknown{bound}."


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def agreed(session: Session, consent: Consent | None) -> None:
    """Ask, where anybody is to be asked.

    Raises:
        StudyError: The answer was no, or nobody could be asked.
    """
    if consent is not None and not consent(forecast_of(session)):
        raise StudyError(f"{session.directory.root}: not begun, as you answered; nothing was spent")
