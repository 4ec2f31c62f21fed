"""What is no regular file is refused at once, whatever it is."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from sipbench.cli.output import write_text
from sipbench.files import (
    NoFileError,
    TooLargeError,
    open_file,
    read_file,
    replace_file,
    takes_replacement,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_waits() -> Iterator[None]:
    """Ends a test that waits for the other end of a pipe."""
    signal.alarm(60)
    yield
    signal.alarm(0)


def made(folder: Path, kind: str) -> Path:
    path = folder / kind
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "device":
            return Path("/dev/zero")
        case "socket":
            # The path of a socket may have 107 bytes, fewer than a test's folder may take.
            before = Path.cwd()
            os.chdir(folder)
            try:
                with socket.socket(socket.AF_UNIX) as server:
                    server.bind(kind)
            finally:
                os.chdir(before)
    return path


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "socket"])
def test_it_says_what_it_is(tmp_path: Path, kind: str) -> None:
    path = made(tmp_path, kind)
    for follow in (True, False):
        with pytest.raises(NoFileError, match=f"it is a {kind}") as raised:
            open_file(path, follow=follow)
        assert raised.value.filename == str(path)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(NoFileError, match=f"it is a {kind}"):
        open_file(tmp_path / "link")


def test_a_link_is_followed_only_where_it_may_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_file(tmp_path / "link", limit=4) == b"text"
    with pytest.raises(NoFileError, match="it is a symbolic link"):
        read_file(tmp_path / "link", limit=4, follow=False)


def test_what_becomes_a_pipe_between_two_looks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, file = made(tmp_path, "pipe"), tmp_path / "file"
    file.write_bytes(b"")
    info = file.stat()
    monkeypatch.setattr("sipbench.files.os.stat", lambda *args, **kwargs: info)
    with pytest.raises(NoFileError, match="it is a pipe"):
        open_file(pipe)


def test_a_file_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_file(tmp_path / "file", limit=5) == b"12345"
    with pytest.raises(TooLargeError, match="larger than 4 bytes"):
        read_file(tmp_path / "file", limit=4)


@pytest.mark.parametrize("name", ["absent", "a" * 300, "a\0b"])
def test_other_reasons_are_oserrors_too(tmp_path: Path, name: str) -> None:
    with pytest.raises(OSError, match=r"No such file|File name too long|NUL"):
        open_file(tmp_path / name)


def test_only_a_file_or_nothing_is_replaced(tmp_path: Path) -> None:
    assert takes_replacement(tmp_path / "new")
    (tmp_path / "file").write_bytes(b"")
    assert takes_replacement(tmp_path / "file")
    assert not takes_replacement(Path("/dev/null"))
    assert not takes_replacement(made(tmp_path, "pipe"))


def test_what_lies_where_a_file_is_prepared_takes_nothing_of_it(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"mine")
    (tmp_path / ".new.partial").symlink_to(other)
    replace_file(tmp_path / "new", b"text")
    (tmp_path / ".said.partial").symlink_to(other)
    write_text(tmp_path / "said", "text")
    assert other.read_bytes() == b"mine"
    for name in ("new", "said"):
        assert not (tmp_path / name).is_symlink()
        assert (tmp_path / name).read_bytes() == b"text"
