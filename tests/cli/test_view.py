from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.command import sip
from tests.report.studies import Design, make_study

pytest.importorskip("altair", reason="pages need the extra 'report'")

SMALL = Design(arms=("frozen", "skilled"), repeats=1, phases=("T0", "T1"), sizes={"heldout": 6, "replay": 4})


def test_it_serves_the_study_until_it_is_interrupted(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", SMALL)
    command = [
        sys.executable,
        "-c",
        "from sipbench.cli.sip import main; main()",
        "view",
        str(study),
        "--port",
        "0",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        # A test that fails here must not wait for a server that nobody stops.
        timer = threading.Timer(60, process.kill)
        timer.start()
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found, line
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=30)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.status == 200
        assert b"<bdi>made</bdi>" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        timer.cancel()
        assert "Traceback" not in process.stderr.read()


def test_what_is_not_there_is_one_line_and_exit_2(tmp_path: Path) -> None:
    ended = sip("view", tmp_path / "nothing")
    assert ended.code == 2
    assert ended.err.count("\n") == 1
