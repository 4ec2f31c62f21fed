from __future__ import annotations

import http.client
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sipbench.errors import SipbenchError
from sipbench.report import server as module
from sipbench.report.server import serving
from tests.report.browser import chromium, opened
from tests.report.studies import Design, make_study

SMALL = Design(arms=("frozen", "skilled"), repeats=1, phases=("T0", "T1"), sizes={"heldout": 6, "replay": 4})
TOTAL = 2 * 2 * (6 + 4) + 4


class Client:
    def __init__(self, port: int) -> None:
        self.port = port

    def get(
        self, path: str, host: str | None = None, method: str = "GET"
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, headers={"Host": host or f"127.0.0.1:{self.port}"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), body

    def json(self, path: str) -> Any:
        status, _, body = self.get(path)
        assert status == 200, body
        return json.loads(body)


@contextmanager
def client(place: Path) -> Iterator[Client]:
    with serving(place, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield Client(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_study(tmp_path / "study", SMALL)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A study that nothing happens to, with its page already made."""
    with client(make_study(tmp_path_factory.mktemp("served") / "study", SMALL)) as ask:
        ask.get("/")
        yield ask


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may be made again at once."""
    monkeypatch.setattr(module, "_LEAST_SECONDS", 0.0)
    monkeypatch.setattr(module, "_PATIENCE", 0.0)


def test_the_page_and_its_attempts_are_served(folder: Path) -> None:
    with client(folder) as ask:
        status, headers, body = ask.get("/")
        assert status == 200
        assert b"data-live=" in body
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert ask.json("/state")["text"] == "finished"
        found = ask.json("/attempt/0/0")
        assert found["record"] == json.loads(
            (folder / "runs.jsonl").read_text(encoding="utf-8").splitlines()[0]
        )
        assert [(log["name"], log["place"]) for log in found["logs"]] == [("agent.log", 0)]
        status, headers, body = ask.get("/log/0/0/0")
        assert (status, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
        assert body.startswith(b"tried ")


@pytest.mark.parametrize(
    "path",
    [
        "/attempt/0/999999",
        "/attempt/0/-1",
        "/attempt/0/٣",
        "/attempt/0/99999999999999999999",
        "/attempt/1/0",
        "/attempt/0/../../etc/passwd",
        "/log/0/0/99",
        "/log/0/0/agent.log",
        "/log/0/0/..%2f..%2fruns.jsonl",
        "/runs.jsonl",
        "/../study.lock.json",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/attempts/run-1/agent.log",
    ],
)
def test_there_is_nothing_else(served: Client, path: str) -> None:
    status, _, body = served.get(quote(path, safe="/%"))
    assert (status, body) == (404, b"no such page")


def test_a_link_in_an_attempt_is_not_served(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    (folder / "attempts" / "run-1" / "agent.log").unlink()
    (folder / "attempts" / "run-1" / "agent.log").symlink_to(tmp_path / "secret")
    with client(folder) as ask:
        ask.get("/")
        assert ask.json("/attempt/0/0")["logs"] == []
        assert ask.get("/log/0/0/0")[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1:1@evil.example"])
def test_another_name_is_refused(served: Client, host: str) -> None:
    status, _, body = served.get("/", host=host)
    assert status == 421
    assert b"made" not in body
    assert served.get("/", host=f"localhost:{served.port}")[0] == 200


def test_only_reading_is_possible(served: Client) -> None:
    assert served.get("/", method="HEAD")[2] == b""
    for method in ("POST", "PUT", "DELETE"):
        assert served.get("/", method=method)[0] == 501


def test_it_listens_on_this_machine_alone(folder: Path) -> None:
    with serving(folder, 0) as server:
        assert server.server_address[0] == "127.0.0.1"
        with (
            pytest.raises(SipbenchError, match="choose another --port"),
            serving(folder, server.server_address[1]),
        ):
            pass


@pytest.mark.usefixtures("impatient")
def test_a_study_that_grows_has_a_new_page(folder: Path) -> None:
    runs = folder / "runs.jsonl"
    lines = runs.read_bytes().splitlines(keepends=True)
    runs.write_bytes(b"".join(lines[:30]))
    with client(folder) as ask:
        assert f"30 of {TOTAL} planned attempts".encode() in ask.get("/")[2]
        before = ask.json("/state")
        assert before["text"].startswith(f"30 of {TOTAL} ")
        assert ask.json("/state")["stamp"] == before["stamp"]
        with runs.open("ab") as file:
            file.writelines(lines[30:])
        after = ask.json("/state")
        assert after["stamp"] != before["stamp"]
        assert b"is not finished" not in ask.get("/")[2]
        assert ask.json("/state") == {"stamp": after["stamp"], "text": "finished"}


def test_a_page_is_not_made_again_at_once(folder: Path) -> None:
    with client(folder) as ask:
        ask.get("/")
        before = ask.json("/state")
        os.utime(folder / "runs.jsonl")
        assert ask.json("/state") == before


@pytest.mark.usefixtures("impatient")
def test_before_the_first_attempt_it_waits(tmp_path: Path) -> None:
    with client(tmp_path) as ask:
        assert b"No attempt is recorded yet." in ask.get("/")[2]
        assert ask.json("/state")["text"] == "waiting"
        assert ask.get("/attempt/0/0")[0] == 404
        make_study(tmp_path, SMALL)
        assert b"Provenance" in ask.get("/")[2]


@pytest.mark.usefixtures("impatient")
def test_a_broken_file_is_said_on_the_page(folder: Path) -> None:
    with (folder / "runs.jsonl").open("ab") as file:
        file.write(b'{"schema_version": "1.0.0"}\n')
    with client(folder) as ask:
        assert b"lists every bad line" in ask.get("/")[2]


def test_a_place_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SipbenchError, match="no such file or folder"), serving(tmp_path / "x", 0):
        pass


@pytest.mark.usefixtures("impatient")
def test_a_browser_follows_a_study_that_runs(folder: Path) -> None:
    runs = folder / "runs.jsonl"
    lines = runs.read_bytes().splitlines(keepends=True)
    runs.write_bytes(b"".join(lines[:30]))
    with chromium() as browser, client(folder) as ask:
        url = f"http://127.0.0.1:{ask.port}/"
        with opened(browser, url, allowed=url) as found:
            page = found.page
            page.locator("#s1-plane-more > summary").click()
            page.locator("#s1-provenance").wait_for()
            page.locator('.chart [data-row="0"]').first.click()
            page.locator("#viewer summary", has_text="agent.log").click()
            page.locator("#viewer pre", has_text="tried").wait_for()
            page.keyboard.press("Escape")
            with runs.open("ab") as file:
                file.writelines(lines[30:])
            page.locator("#live", has_text="finished").wait_for()
            page.locator(".where", has_text=f"{len(lines)} attempts").wait_for()
            assert page.locator("#s1-plane-more").get_attribute("open") is not None
            found.quiet()
