"""A worker process: makes the benchmark once, then carries out one job after the other.

It talks to the runner over a socket, in frames of an eight-byte length and a pickle. Its own output
(stdout, stderr, the log) goes to the runner's log.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import struct
from dataclasses import dataclass
from typing import Any

from sipbench import logs
from sipbench.benchmarks.base import Benchmark
from sipbench.errors import AdaptationError, SipbenchError
from sipbench.study.executors import lifeline
from sipbench.study.executors.base import AdaptationJob, AttemptDone, AttemptJob, Recipe
from sipbench.study.executors.perform import Clock, broken, perform_adaptation, perform_attempt

__all__ = ["HEADER", "Failure", "Ready", "Setup", "main", "pack"]

HEADER = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class Setup:
    """The first frame to a worker.

    Attributes:
        recipe: The benchmark to make; None for a worker that is to adapt, which holds no tasks.
    """

    recipe: Recipe | None


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker can take jobs."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What was asked for failed, and why."""

    message: str


def pack(message: Any) -> bytes:
    """One frame."""
    text = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(text)) + text


def main(descriptor: int, lifeline_descriptor: int) -> None:
    """Serve the runner at the other end of the socket ``descriptor`` until it hangs up."""
    lifeline.hold(lifeline_descriptor)
    channel = socket.socket(fileno=descriptor)
    channel.set_inheritable(False)
    logs.configure(verbose=2)
    setup: Setup = _receive(channel)
    benchmark: Benchmark | None = None
    try:
        if setup.recipe is not None:
            benchmark = setup.recipe.make()
    except SipbenchError as error:
        channel.sendall(pack(Failure(str(error))))
        return
    channel.sendall(pack(Ready()))
    process = os.getpid()
    while (job := _receive(channel)) is not None:
        answer = _answer(benchmark, job)
        if os.getpid() != process:
            # The job forked and came back in both processes: this one's answer would be taken for that
            # of the next job.
            os._exit(1)
        channel.sendall(answer)


def _answer(benchmark: Benchmark | None, job: Any) -> bytes:
    match job:
        case AttemptJob() if benchmark is not None:
            done = perform_attempt(benchmark, job)
            try:
                return pack(done)
            except Exception as error:
                clock = Clock()
                what = f"what run() returned cannot leave its process: {type(error).__name__}: {error}"
                return pack(AttemptDone(broken("ContractError", what), clock.times()))
        case AdaptationJob():
            return _answer_adaptation(job)
        case _:
            return pack(Failure(f"this worker cannot carry out {type(job).__name__}"))


def _answer_adaptation(job: AdaptationJob) -> bytes:
    try:
        return pack(perform_adaptation(job))
    except AdaptationError as error:
        return pack(Failure(str(error)))
    except Exception as error:
        logging.getLogger(__name__).debug("an outcome cannot be sent", exc_info=True)
        what = f"adaptation '{job.kind}': what adapt() returned cannot leave its process"
        return pack(Failure(f"{what}: {type(error).__name__}: {error}"))


def _receive(channel: socket.socket) -> Any:
    """The next message; None when the runner has hung up."""
    header = _exactly(channel, HEADER.size)
    if header is None:
        return None
    text = _exactly(channel, HEADER.unpack(header)[0])
    return None if text is None else pickle.loads(text)


def _exactly(channel: socket.socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = channel.recv(min(size - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)
