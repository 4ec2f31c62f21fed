from __future__ import annotations

import os
from pathlib import Path

import pytest

from sipbench.errors import CardError
from sipbench.export import trees
from sipbench.export.base import File
from sipbench.export.trees import digests, files_below, found, remove_made, staged

FILES = {"a.txt": File(b"1"), "b/c.sh": File(b"2", executable=True)}


def test_what_is_written_is_what_is_found(tmp_path: Path) -> None:
    folder = staged(tmp_path, FILES)
    assert found(folder) == digests(FILES)
    assert files_below(folder, what="files") == FILES


def test_modes_are_the_same_under_every_umask(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        folder = staged(tmp_path, FILES)
    finally:
        os.umask(old)
    modes = {path.name: path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}
    assert modes == {folder.name: 0o755, "a.txt": 0o644, "b": 0o755, "c.sh": 0o755}


@pytest.mark.parametrize("kind", ["file link", "folder link", "pipe"])
def test_links_and_devices_are_not_taken_in(tmp_path: Path, kind: str) -> None:
    match kind:
        case "file link":
            (tmp_path / "x").symlink_to("/etc/passwd")
        case "folder link":
            (tmp_path / "x").symlink_to("/etc")
        case _:
            os.mkfifo(tmp_path / "x")
    with pytest.raises(CardError, match="inputs are copied"):
        files_below(tmp_path, what="inputs")


def test_names_that_cannot_travel_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a\nb").touch()
    with pytest.raises(CardError, match="cannot be exported"):
        files_below(tmp_path, what="inputs")


def test_names_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).touch()
    except OSError:
        pytest.skip("this file system keeps no such name")
    with pytest.raises(CardError, match="not valid UTF-8"):
        files_below(tmp_path, what="inputs")


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    monkeypatch.setattr(trees, "MAX_TREE_BYTES", 4)
    with pytest.raises(CardError, match="have to be smaller"):
        files_below(tmp_path, what="inputs")


def test_litter_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").touch()
    (tmp_path / ".DS_Store").touch()
    (tmp_path / "kept").touch()
    assert list(files_below(tmp_path, what="inputs")) == ["kept"]


def test_only_what_was_made_is_removed(tmp_path: Path) -> None:
    folder = staged(tmp_path, FILES)
    (folder / "b" / "mine.txt").touch()
    remove_made(folder, FILES)
    assert found(folder).keys() == {"b/mine.txt"}
    (folder / "b" / "mine.txt").unlink()
    remove_made(folder, FILES)
    assert not folder.exists()
    assert tmp_path.is_dir()


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    clash = {"a": File(b"1"), "a/b": File(b"2")}
    with pytest.raises(CardError, match="cannot be written"):
        staged(tmp_path / "out", clash)
    assert list((tmp_path / "out").iterdir()) == []
