"""What the system refuses reaches a caller in Python as an error of the package, in one line."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import sipbench
from sipbench.errors import RecordError, SipbenchError
from sipbench.files import os_errors_as, told
from tests.protocol.made import document, write_lines
from tests.study.conftest import installed, plugins, trial
from tests.study.trial import Trial

__all__ = ["installed", "plugins", "trial"]

NOBODY = 65534


@contextmanager
def without_rights(path: Path) -> Iterator[None]:
    """While it lasts, this process may not look into a folder, even if root runs it."""
    mode = stat.S_IMODE(path.stat().st_mode)
    path.chmod(0)
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        path.chmod(mode)


def calls(path: Path) -> list[Callable[[], Any]]:
    return [
        lambda: sipbench.load_runs(path),
        lambda: sipbench.summarize(path),
        lambda: sipbench.summarize([path], trusted=True),
        lambda: sipbench.run_study(path),
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent.jsonl", "No such file or directory"),
        ("absent/runs.jsonl", "No such file or directory"),
        ("file/below.jsonl", "Not a directory"),
        ("x" * 300, "File name too long"),
        ("x\0y", "NUL"),
    ],
)
def test_a_path_that_leads_nowhere(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    path = tmp_path / name
    for call in calls(path):
        with pytest.raises(SipbenchError, match=said) as raised:
            call()
        assert str(path) in str(raised.value)
        assert "\n" not in str(raised.value)


def test_what_nobody_may_read(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    path = write_lines(folder / "runs.jsonl", [document(), document(phase="T1")])
    for call in calls(path)[:3]:
        call()  # whatever is loaded lazily is loaded now
    for place in (path, folder):
        for call in calls(place):
            with without_rights(folder), pytest.raises(SipbenchError, match="Permission denied") as raised:
                call()
            assert str(folder) in str(raised.value)


@pytest.mark.parametrize("below", ["out", "out/deeper"])
def test_a_study_that_may_not_be_written(trial: Trial, tmp_path: Path, below: str) -> None:
    trial.write(phases=["T0"])
    folder = tmp_path / "closed"
    folder.mkdir()
    sipbench.run_study(trial.file, tmp_path / "open")
    # The test's own folders may be closed too, so the study file is where nobody needs a right to reach it.
    study = os.memfd_create("study")
    os.write(study, trial.file.read_bytes())
    with without_rights(folder), pytest.raises(SipbenchError, match="Permission denied") as raised:
        sipbench.run_study(f"/proc/self/fd/{study}", folder / below)
    os.close(study)
    assert str(folder) in str(raised.value)


def test_a_working_directory_that_is_gone(
    tmp_path: Path, trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SipbenchError, match="No such file or directory"):
        sipbench.run_study(trial.file, "out")
    with pytest.raises(SipbenchError, match="No such file or directory"):
        sipbench.run_study("study.yaml")


@pytest.mark.parametrize("name", ["study.log", "states", "attempts", "runs.jsonl", ".runner"])
def test_a_folder_stands_where_a_file_belongs_or_the_other_way_round(trial: Trial, name: str) -> None:
    trial.write(phases=["T0"]).run()
    path = trial.out / name
    if path.is_dir():
        path.rename(trial.folder / "aside")
        path.write_bytes(b"")
    else:
        path.unlink()
        path.mkdir()
    if name != "runs.jsonl":
        (trial.out / "runs.jsonl").unlink()  # so that something is left to do
    with pytest.raises(SipbenchError) as raised:
        sipbench.run_study(trial.file, trial.out)
    assert str(path) in str(raised.value)


def test_what_is_told_of_an_error() -> None:
    assert told(OSError(28, "No space left on device", "/x")) == (
        "/x: No space left on device; make room, then do it again"
    )
    assert told(OSError("something")) == "something"
    assert told(TimeoutError()) == "TimeoutError"


def test_a_reader_that_is_gone_stays_that() -> None:
    with pytest.raises(BrokenPipeError), os_errors_as(RecordError):
        raise BrokenPipeError(32, "Broken pipe")
