"""A study in the browser while it runs: served on this machine only, read again when its files change.

Nobody is asked who they are, so nothing but the loopback interface is listened on, requests that come under
another name are refused (a web page could point a name of its own at this address), and a file is never
named by a request: attempts and their logs are chosen by number.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sipbench.errors import RecordError, SipbenchError
from sipbench.files import kind_of_mode
from sipbench.protocol.folder import ADAPTATIONS, LOCK, RUNS, SPLITS
from sipbench.report.attempts import list_logs, read_log, read_raw
from sipbench.report.page import Live, report_page, write_page
from sipbench.report.reading import Study, due_at, read_study
from sipbench.report.words import clean

__all__ = ["DEFAULT_PORT", "Viewer", "serving"]

DEFAULT_PORT = 8765
MOST_LOG_BYTES = 1_000_000
# A page is made again at most once in so many times the time that it takes.
_PATIENCE = 3.0
_LEAST_SECONDS = 2.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Built:
    """A page and what it was made from."""

    stamp: str
    study: Study | None
    page: bytes
    text: str
    finished: float
    took: float


class Viewer:
    """Makes the page of a study, and makes it again when the study has grown."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._lock = threading.Lock()
        self._built: _Built | None = None

    def page(self) -> bytes:
        """The page as of now."""
        with self._lock:
            stamp = self._stamp()
            if self._built is None or (stamp != self._built.stamp and self._rested(self._built)):
                self._built = self._build(stamp)
            return self._built.page

    def state(self) -> dict[str, str]:
        """The stamp under which a page can be had now, and how the study stands, in words."""
        with self._lock:
            built = self._built
        if built is None:
            return {"stamp": "", "text": "live"}
        now = self._stamp()
        return {
            "stamp": now if now != built.stamp and self._rested(built) else built.stamp,
            "text": built.text,
        }

    def study(self) -> Study | None:
        """The study that the page was made from."""
        with self._lock:
            return self._built.study if self._built is not None else None

    def _rested(self, built: _Built) -> bool:
        return time.monotonic() - built.finished >= max(_LEAST_SECONDS, _PATIENCE * built.took)

    def _stamp(self) -> str:
        names = (RUNS, ADAPTATIONS, LOCK, SPLITS)
        paths = [self.place / name for name in names] if self.place.is_dir() else [self.place]
        return "-".join(_mark(path) for path in paths)

    def _build(self, stamp: str) -> _Built:
        start = time.monotonic()
        study = None
        try:
            study = read_study(self.place)
            page = report_page([study], live=Live(stamp))
            text = _standing(study)
        except RecordError as error:
            page, text = self._waiting(stamp, str(error)), "waiting"
        end = time.monotonic()
        return _Built(stamp, study, page.encode("utf-8", "replace"), text, end, end - start)

    def _waiting(self, stamp: str, reason: str) -> str:
        name = clean(self.place.resolve().name)
        runs = self.place / RUNS if self.place.is_dir() else self.place
        begun = runs.exists() and runs.stat().st_size > 0
        said = clean(reason, 1000) if begun else "No attempt is recorded yet."
        return write_page(
            "waiting.html", title=name, sections=(), footer="", live=Live(stamp), name=name, reason=said
        )


def _mark(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "none"
    return f"{found.st_size:x}.{found.st_mtime_ns:x}"


def _standing(study: Study) -> str:
    made = study.summary.records.total
    if study.planned is None:
        return f"{made:,} attempts"
    if made >= study.planned:
        return "finished"
    due = due_at(study.summary)
    return f"{made:,} of {study.planned:,} attempts" + (f", T2 is due at {due}" if due else "")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "sipbench"
    sys_version = ""
    timeout = 30
    viewer: Viewer

    def do_GET(self) -> None:
        """Answer a request."""
        port = self.connection.getsockname()[1]
        if self.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"only by the name of this machine")
            return
        path = self.path.partition("?")[0]
        try:
            self._route([part for part in path.split("/") if part])
        except SipbenchError as error:
            self._answer(HTTPStatus.CONFLICT, "text/plain", str(error).encode())

    def do_HEAD(self) -> None:
        """Answer a request without a body."""
        self.do_GET()

    def _route(self, parts: list[str]) -> None:
        match parts:
            case []:
                self._answer(HTTPStatus.OK, "text/html", self.viewer.page())
            case ["state"]:
                self._json(self.viewer.state())
            case ["attempt", "0", row] if (study := self._study(row)) is not None:
                self._json(_attempt(study, int(row)))
            case ["log", "0", row, place] if (study := self._study(row)) is not None and place.isdecimal():
                text = _log_text(study, int(row), int(place))
                if text is None:
                    self._missing()
                else:
                    self._answer(HTTPStatus.OK, "text/plain", text.encode("utf-8", "replace"))
            case _:
                self._missing()

    def _study(self, row: str) -> Study | None:
        study = self.viewer.study()
        known = study is not None and row.isascii() and row.isdecimal() and len(row) < 12
        return study if known and study is not None and int(row) < study.frame.height else None

    def _missing(self) -> None:
        self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"no such page")

    def _json(self, document: Any) -> None:
        self._answer(HTTPStatus.OK, "application/json", json.dumps(document).encode())

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say what was asked for to the log, not to the terminal."""
        _log.debug(format, *args)


def _attempt(study: Study, row: int) -> dict[str, Any]:
    record = read_raw(study, row)
    logs = list_logs(study, str(record.get("run_id")))
    return {
        "record": record,
        "logs": [
            {"name": file.name, "size": file.size, "place": place, "text": None}
            for place, file in enumerate(logs)
        ],
    }


def _log_text(study: Study, row: int, place: int) -> str | None:
    run_id = str(read_raw(study, row).get("run_id"))
    logs = list_logs(study, run_id)
    found = read_log(study, run_id, logs[place].name, MOST_LOG_BYTES) if place < len(logs) else None
    return None if found is None else found.text


@contextmanager
def serving(place: Path, port: int | None = None) -> Iterator[ThreadingHTTPServer]:
    """A server of one study on the loopback interface; it serves once its ``serve_forever`` is called.

    Args:
        place: A study directory, or a file of run records.
        port: Where to listen; None: ``DEFAULT_PORT``, or any free one if that is taken.

    Raises:
        SipbenchError: The port cannot be listened on, or there is no such study.
    """
    if not place.exists():
        raise RecordError(f"{place}: no such file or folder; name a study directory")
    if not place.is_dir() and (said := kind_of_mode(place.stat().st_mode)) is not None:
        raise RecordError(f"{place}: cannot be read: {said}")
    handler = type("Handler", (_Handler,), {"viewer": Viewer(place)})
    server = _listen(handler, port)
    try:
        yield server
    finally:
        server.server_close()


def _listen(handler: type[BaseHTTPRequestHandler], port: int | None) -> ThreadingHTTPServer:
    for number in (DEFAULT_PORT, 0) if port is None else (port,):
        try:
            server = ThreadingHTTPServer(("127.0.0.1", number), handler)
        except OSError as error:
            if port is not None or number == 0:
                raise SipbenchError(
                    f"port {number}: {error.strerror or error}; choose another --port"
                ) from None
            continue
        server.daemon_threads = True
        return server
    raise AssertionError("one of the two ports raises or is taken")
