"""A program of the user's as an adaptation: attempts in, agent state out.

The program finds what it needs in its environment:

==========================  ============================================================================
``SIPBENCH_ATTEMPTS``       folder of the adapt attempts (see :mod:`sipbench.adaptation.base`)
``SIPBENCH_PREVIOUS_STATE`` folder with the agent state before; empty before T1
``SIPBENCH_STATE``          empty folder that it fills with the new agent state
``SIPBENCH_USAGE``          file it may write its own cost to: JSON with fields of the run record
                            (``token_total``, ``tool_calls_total``, ``cost_usd``, ...); unknown stays out
``SIPBENCH_PHASE``          ``T1`` or ``T2``: what the state is for
``SIPBENCH_REPEAT``         the repeat, from 0
``SIPBENCH_SEED``           decides every free choice
==========================  ============================================================================

Beside these it has ``PATH`` (the folder of the running Python first), ``HOME``, ``LANG``, ``TZ`` and the
like, a ``TMPDIR`` of its own, and the variables that the option ``env`` names. It starts in the folder of
the study file, in a session of its own, and ends, with all it started, at its time limit. The study's
held-out, replay and drift tasks are hidden from it where the machine can (:mod:`.isolation`).
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError

from sipbench.adaptation.base import Adaptation, AdaptationOutcome, AdaptationRequest
from sipbench.adaptation.isolation import Launched, launch
from sipbench.adaptation.trees import Bounds, copy_tree, scratch_folder
from sipbench.benchmarks.base import Options
from sipbench.errors import AdaptationError
from sipbench.logs import redact
from sipbench.protocol.digests import file_digest, json_digest
from sipbench.protocol.records import Usage
from sipbench.protocol.vocabulary import PathType

__all__ = ["CommandAdaptation", "CommandOptions"]

_log = logging.getLogger(__name__)

_INHERITED = ("HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "TZ", "USER")
_USAGE_BYTES = 64 * 1024
_SHOWN_LINES = 5
_KEPT_LINES = 200
_LONGEST_LINE = 16 * 1024
_ATTEMPT_BOUNDS = Bounds(bytes=2**40, files=10_000_000)


def _words(value: Any) -> Any:
    return shlex.split(value) if isinstance(value, str) else value


Word = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class CommandOptions(Options):
    """Options of the adaptation ``command``."""

    command: Annotated[tuple[Word, ...], BeforeValidator(_words), Field(min_length=1)] = Field(
        description="The program and its arguments: a list, or one line in shell quoting. No shell runs it."
    )
    path_type: Literal[PathType.EXTERNAL, PathType.PARAMETER] = Field(
        description="What it changes: `external` (skills, memory, prompts) or `parameter` (weights)."
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=30 * 86400)] = Field(
        default=3600.0, description="When it is ended, with all that it started."
    )
    env: tuple[Variable, ...] = Field(
        default=(), description="Environment variables that it gets besides the usual ones (an API key)."
    )
    needs_attempts: bool = Field(
        default=True, description="Whether it learns from adapt attempts; without it none are run."
    )
    isolation: Literal["auto", "require"] = Field(
        default="auto",
        description="`auto`: where the machine cannot hide held-out tasks, record that. `require`: fail.",
    )
    max_state_mib: Annotated[int, Field(ge=1, le=1_048_576)] = Field(
        default=4096, description="Largest agent state that is accepted."
    )


class CommandAdaptation(Adaptation):
    """Runs a program that makes the agent state."""

    Options = CommandOptions
    options: CommandOptions

    def __init__(self, options: Any, *, base: Path) -> None:
        """Take the options; nothing is started."""
        super().__init__(options, base=base)
        self.needs_attempts = self.options.needs_attempts  # type: ignore[misc]

    def inputs_digest(self) -> str | None:
        """Digest of the files below the study file's folder that the command line names: its script."""
        named = {word: self.base / word for word in self.options.command if _is_inside(word, self.base)}
        return json_digest({word: file_digest(path) for word, path in named.items()}) if named else None

    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Run the program and take over the state that it leaves.

        Raises:
            AdaptationError: It cannot be started, fails, takes too long, or leaves no usable state.
        """
        with scratch_folder("sip-adapt-") as work:
            _check_visible(work, request.hidden)
            env = self._staged(request, work)
            started = time.monotonic()
            launched = self._run(request, work, env)
            seconds = time.monotonic() - started
            usage = _usage(work / "usage.json")
            bounds = Bounds(bytes=self.options.max_state_mib * 2**20, shared=False)
            if not copy_tree(work / "state", request.state, bounds):
                raise AdaptationError(f"{self._name}: it left no agent state in the folder SIPBENCH_STATE")
        reported = usage is not None
        known = usage or Usage()
        if known.wall_clock_seconds is None:
            known = known.model_copy(update={"wall_clock_seconds": seconds})
        metadata: dict[str, Any] = {"isolation": launched.isolation}
        if launched.note:
            metadata["isolation_note"] = launched.note
        return AdaptationOutcome(known, "agent" if reported else "engine", metadata)

    @property
    def _name(self) -> str:
        return f"command {shlex.join(self.options.command)[:200]!r}"

    def _staged(self, request: AdaptationRequest, work: Path) -> dict[str, str]:
        """Put in ``work`` what the program may see; the environment that tells it where."""
        for name in ("previous", "state", "tmp"):
            (work / name).mkdir()
        copy_tree(request.previous, work / "previous", _ATTEMPT_BOUNDS)
        attempts = request.attempts.resolve()
        if _covering(attempts, request.hidden):
            (work / "attempts").mkdir()
            copy_tree(attempts, work / "attempts", _ATTEMPT_BOUNDS)
            attempts = work / "attempts"
        names = (*_INHERITED, *self.options.env)
        for name in self.options.env:
            if name not in os.environ:
                _log.warning("%s: env: %s is not set", self._name, name)
        return {
            **{name: os.environ[name] for name in names if name in os.environ},
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "TMPDIR": str(work / "tmp"),
            "SIPBENCH_ATTEMPTS": str(attempts),
            "SIPBENCH_PREVIOUS_STATE": str(work / "previous"),
            "SIPBENCH_STATE": str(work / "state"),
            "SIPBENCH_USAGE": str(work / "usage.json"),
            "SIPBENCH_PHASE": request.phase.value,
            "SIPBENCH_REPEAT": str(request.repeat),
            "SIPBENCH_SEED": str(request.seed),
        }

    def _run(self, request: AdaptationRequest, work: Path, env: Mapping[str, str]) -> Launched:
        base = self.base.resolve()
        cwd = work if _covering(base, request.hidden) else base
        try:
            launched = launch(self.options.command, cwd=cwd, env=env, hidden=request.hidden)
        except OSError as error:
            reason = f"{error.strerror}: {error.filename}" if error.filename else str(error)
            raise AdaptationError(f"{self._name} cannot be started: {reason}") from None
        if launched.isolation == "omission":
            _accept_omission(launched, self.options.isolation, self._name)
        output = _Output(launched.process)
        code: int | None = None
        try:
            code = launched.process.wait(self.options.timeout_seconds)
        except subprocess.TimeoutExpired:
            pass  # said below, once its last words are known
        finally:
            _end(launched.process)
            output.finish()
        if code is None:
            raise AdaptationError(
                f"{self._name} took longer than {self.options.timeout_seconds:g} seconds and was ended"
                f"{output.tail()}; its limit is the option timeout_seconds"
            )
        if code:
            raise AdaptationError(f"{self._name} ended with status {code}{output.tail()}")
        return launched


def _is_inside(word: str, base: Path) -> bool:
    try:
        path = (base / word).resolve()
        return path.is_file() and path.is_relative_to(base.resolve())
    except OSError:  # a word that is longer than a path can be
        return False


def _accept_omission(launched: Launched, wanted: str, name: str) -> None:
    if wanted == "require":
        _end(launched.process)
        launched.process.communicate()
        raise AdaptationError(
            f"{name}: this machine cannot hide held-out tasks from it ({launched.note}); run it where "
            "namespaces are allowed, or accept that it is merely not told where they are: isolation: auto"
        )
    _log.warning(
        "%s: this machine cannot hide held-out tasks from it (%s); it is merely not told where they are",
        name,
        launched.note,
    )


def _covering(path: Path, hidden: Sequence[Path]) -> Path | None:
    """The hidden folder that ``path`` lies in."""
    return next((each for each in hidden if path.is_relative_to(each.resolve())), None)


def _check_visible(work: Path, hidden: Sequence[Path]) -> None:
    over = _covering(work, hidden)
    if over is not None:
        raise AdaptationError(
            f"the folder for temporary files, {work.parent}, lies in {over}, which the adaptation must not "
            "see; set TMPDIR to another one"
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program's process group; with namespaces that is all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class _Output:
    """What the program says: to the log as it comes, and the last lines of its errors kept."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._errors: deque[str] = deque(maxlen=_KEPT_LINES)
        streams = [(process.stdout, None), (process.stderr, self._errors)]
        self._threads = [
            threading.Thread(target=_follow, args=(stream, kept), daemon=True)
            for stream, kept in streams
            if stream is not None
        ]
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Wait for what is still in the pipes; a process that escaped its group cannot hold us up."""
        for thread in self._threads:
            thread.join(timeout=5)

    def tail(self) -> str:
        """The last lines of the errors, for a message; nothing if there are none."""
        lines = [line for line in self._errors if line.strip()][-_SHOWN_LINES:]
        return ": " + redact(" | ".join(line.strip() for line in lines)) if lines else ""


def _follow(stream: IO[bytes], kept: deque[str] | None) -> None:
    with stream:
        while line := stream.readline(_LONGEST_LINE):
            text = line.decode("utf-8", errors="replace").rstrip("\r\n")
            _log.debug("%s", text)
            if kept is not None:
                kept.append(text)


def _usage(path: Path) -> Usage | None:
    """What the program says it spent; None if it says nothing."""
    if not os.path.lexists(path):
        return None
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _USAGE_BYTES:
        raise AdaptationError("SIPBENCH_USAGE: expected a small file of JSON")
    try:
        return Usage.model_validate(json.loads(path.read_bytes().decode("utf-8")), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise AdaptationError(f"SIPBENCH_USAGE: {field + ': ' if field else ''}{first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise AdaptationError(f"SIPBENCH_USAGE: not JSON: {error}") from None
