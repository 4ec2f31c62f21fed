"""Running a study: what ``sip run`` does, as a function."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sipbench import plugins
from sipbench.errors import ConfigError, StudyError
from sipbench.files import os_errors_as
from sipbench.logs import log_to
from sipbench.protocol.delay import moment_text
from sipbench.protocol.folder import read_folder
from sipbench.protocol.records import RunRecord
from sipbench.protocol.summary import Summary
from sipbench.study.caps import check_caps
from sipbench.study.charges import charges_of
from sipbench.study.consent import Consent, agreed
from sipbench.study.delay import Clock, utc_now
from sipbench.study.design import Design, resolve
from sipbench.study.directory import StudyDirectory, write_whole
from sipbench.study.executors.base import Executor
from sipbench.study.guard import guarded
from sipbench.study.load import LoadedStudy, load_study
from sipbench.study.machine import with_options
from sipbench.study.plan import Slot, StateKey, Step
from sipbench.study.progress import Progress
from sipbench.study.runner import PAUSE_SECONDS, Ended, run_session
from sipbench.study.session import Session, declared_at, is_tried_again, take_up

__all__ = ["StudyResult", "execute", "execute_design", "run_study"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StudyResult:
    """What a study came to.

    Attributes:
        folder: The study directory.
        planned: Attempts of the plan.
        recorded: Attempts that are recorded.
        ungraded: Recorded attempts that count as missing: verifier and infrastructure errors, cancelled.
        settled: How many of these no further run tries again: the study wants no second try, they were
            cancelled, or an adaptation learned from them.
        problems: Why something is missing, one line each.
        stopped: Why it ended before its end; None if it did not.
        interrupted: Whether a person ended it.
        due_at: When T2 may begin, RFC 3339, if all else is done that can be; None if nothing waits for it.
        waiting: Attempts that wait for it.
        summary: What came out; None if there is nothing yet, or it was interrupted.
    """

    folder: Path
    planned: int
    recorded: int
    ungraded: int
    settled: int = 0
    problems: tuple[str, ...] = ()
    stopped: str | None = None
    interrupted: bool = False
    due_at: str | None = None
    waiting: int = 0
    summary: Summary | None = field(default=None, repr=False)

    @property
    def missing(self) -> int:
        """Planned attempts without a score that counts."""
        return self.planned - self.recorded + self.ungraded


def run_study(
    study: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    concurrency: int | None = None,
    retries: int | None = None,
    allow: Sequence[str] = (),
    options: Mapping[str, str | None] | None = None,
    consent: Consent | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Run a study, or what is left of it.

    Args:
        study: The study file.
        out: The study directory; default: a folder beside the study file, named after the study.
        concurrency: Attempts at the same time; default: as the study says.
        retries: Further tries after a verifier or infrastructure error; default: as the study says.
        allow: Split rules that may be broken, beside those that the study allows.
        options: Options of the benchmark in place of the study file's: ``sandbox``, ``sandbox_base``.
        consent: Is asked before anything is spent; default: nobody is asked, since who calls this decides.
        progress: What shows how it goes; default: nothing.

    Raises:
        ConfigError: The study file is wrong, or the benchmark has no such option.
        SplitError: The splits break a rule that is not allowed, or a split is empty.
        StudyError: The directory is somebody else's, in use, of a study that was changed since, or the
            system refuses to read or write in it.
        EngineError: The benchmark cannot run here.
        KeyboardInterrupt: A person ended it; what is finished is recorded.
    """
    result = execute(
        study,
        out,
        concurrency=concurrency,
        retries=retries,
        allow=allow,
        options=options,
        consent=consent,
        progress=progress,
    )
    if result.interrupted:
        raise KeyboardInterrupt
    return result


@os_errors_as(StudyError)
def execute(
    study: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    concurrency: int | None = None,
    retries: int | None = None,
    allow: Sequence[str] = (),
    options: Mapping[str, str | None] | None = None,
    consent: Consent | None = None,
    progress: Progress | None = None,
    pause_seconds: float = PAUSE_SECONDS,
    clock: Clock = utc_now,
) -> StudyResult:
    """As :func:`run_study`; that it was interrupted stands in the result.

    ``clock`` says what time it is when a declared delay before T2 is looked at.
    """
    overrides = {"concurrency": concurrency, "retries": retries, "allow": list(allow)}
    loaded = with_options(load_study(Path(study), overrides=overrides), options or {})
    directory = StudyDirectory(Path(out) if out is not None else loaded.base / loaded.config.name)
    with _terminated_like_interrupted():
        design = resolve(loaded, declared_at=declared_at(directory))
        return execute_design(
            design,
            directory,
            consent=consent,
            progress=progress,
            pause_seconds=pause_seconds,
            clock=clock,
        )


@os_errors_as(StudyError)
def execute_design(
    design: Design,
    directory: StudyDirectory,
    *,
    consent: Consent | None = None,
    progress: Progress | None = None,
    pause_seconds: float = PAUSE_SECONDS,
    clock: Clock = utc_now,
) -> StudyResult:
    """As :func:`execute`, for a design that was made already."""
    design.accepted()
    executor = _executor(design.loaded)
    if said := check_caps(design, charges_of(design)):
        _log.warning("%s", said)
    with _terminated_like_interrupted(), directory.held(design.loaded.text), _logged(directory):
        session = take_up(directory, design, clock=clock)
        return _run(session, executor, progress or Progress(), pause_seconds, consent)


def _executor(loaded: LoadedStudy) -> type[Executor]:
    try:
        found: type[Executor] = plugins.load("executors", loaded.config.executor)
    except ConfigError as error:
        raise loaded.error(str(error), "executor") from None
    return found


def _run(
    session: Session,
    executor: type[Executor],
    progress: Progress,
    pause_seconds: float,
    consent: Consent | None,
) -> StudyResult:
    design, ended = session.design, Ended()
    if session.only_waits:
        assert session.wait is not None
        ended.due_at = session.wait.due_at
    elif len(session.done) < len(design.plan.slots) or len(session.made) < len(design.plan.steps):
        guarded(f"benchmark '{design.benchmark.name}'", design.benchmark.preflight)
        agreed(session, consent)
        ended = _complete(run_session(session, executor, progress, pause_seconds=pause_seconds))
    return _result(session, ended)


def _result(session: Session, ended: Ended) -> StudyResult:
    directory, recorded = session.directory, len(session.done)
    ungraded = sum(status.is_missing for status in session.done.values())
    return StudyResult(
        folder=directory.root,
        planned=len(session.design.plan.slots),
        recorded=recorded,
        ungraded=ungraded,
        settled=sum(
            record.status.is_missing and not is_tried_again(session, slot, record)
            for slot, record in session.records.items()
        ),
        problems=tuple(_problems(session, ended, ungraded)),
        stopped=ended.stopped,
        interrupted=ended.interrupted,
        due_at=None if ended.due_at is None else moment_text(ended.due_at),
        waiting=0 if ended.due_at is None else session.waiting,
        summary=_summarized(directory) if recorded and not ended.interrupted else None,
    )


def _summarized(directory: StudyDirectory) -> Summary:
    from sipbench.stats.summarize import summarize

    folder = read_folder(directory.root)
    summary = summarize(folder.runs, settings=folder.settings, context=folder.context)
    write_whole(directory.summary, summary.to_json().encode())
    return summary


def _problems(session: Session, ended: Ended, ungraded: int) -> Iterator[str]:
    if ended.stopped is not None:
        yield f"stopped: {ended.stopped}"
    if ended.due_at is not None and session.wait is not None:
        yield session.wait.words()
        if (complaint := session.wait.complaint()) is not None:
            yield complaint
    for step, reason in ended.failures.items():
        blocked = _blocked_by(step.key, ended.blocked)
        yield f"arm '{step.key.arm}', repeat {step.key.repeat}, {step.key.phase}: {reason}; {blocked}"
    if ungraded:
        yield f"{ungraded} attempts ended without a grade: {_reasons(session.records.values())}"


def _blocked_by(key: StateKey, blocked: Sequence[Slot | Step]) -> str:
    count = sum(
        isinstance(item, Slot) and (item.arm, item.repeat) == (key.arm, key.repeat) for item in blocked
    )
    return f"{count} attempts that need its agent state were not made"


def _reasons(records: Any) -> str:
    reasons: dict[str, int] = {}
    for record in records:
        if record.status.is_missing:
            reason = f"{record.status}: {_shortened(record)}"
            reasons[reason] = reasons.get(reason, 0) + 1
    first = sorted(reasons.items(), key=lambda item: -item[1])[:3]
    return "; ".join(f"{count} {reason}" for reason, count in first)


def _shortened(record: RunRecord) -> str:
    said = " ".join((record.error_message or record.error_type or "no reason given").split())
    return said if len(said) <= 160 else f"{said[:160]}..."


def _complete(work: Coroutine[Any, Any, Ended]) -> Ended:
    """Run a coroutine to its end, also where an event loop is running (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="study") as pool:
        return pool.submit(asyncio.run, work).result()


@contextlib.contextmanager
def _logged(directory: StudyDirectory) -> Iterator[None]:
    """Write all that is logged to ``study.log``; whoever else listens hears no more than before."""
    logger = logging.getLogger("sipbench")
    level, propagate = logger.level, logger.propagate
    handlers = [log_to(directory.log)]
    if level == logging.NOTSET:  # called from a program that did not configure the package's log
        handlers.append(_Onward(logger.getEffectiveLevel()))
        logger.addHandler(handlers[-1])
        logger.propagate = False
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.propagate = propagate
        for handler in handlers:
            logger.removeHandler(handler)
            handler.close()


class _Onward(logging.Handler):
    """Hands records to the root logger, as propagation does, but only those that it would have got."""

    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger().handle(record)


@contextlib.contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
