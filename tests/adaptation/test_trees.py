"""Folders that are not to be trusted: copying from them, and removing them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sipbench.adaptation.trees import Bounds, copy_tree, scratch_folder
from sipbench.errors import AdaptationError

ROOMY = Bounds(bytes=1024 * 1024)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "source" / "a" / "b").mkdir(parents=True)
    (tmp_path / "source" / "a" / "b" / "x.txt").write_bytes(b"x")
    (tmp_path / "target").mkdir()
    return tmp_path / "source"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


def copy(source: Path, bounds: Bounds = ROOMY) -> int:
    return copy_tree(source, source.parent / "target", bounds)


def test_files_and_folders_arrive_with_nothing_but_the_run_bit(source: Path) -> None:
    script = source / "run.sh"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o4751)
    assert copy(source) == 2
    target = source.parent / "target"
    assert (target / "a" / "b" / "x.txt").read_bytes() == b"x"
    assert (target / "run.sh").stat().st_mode & 0o7777 == 0o755
    assert (target / "a" / "b" / "x.txt").stat().st_mode & 0o7777 == 0o644


@pytest.mark.parametrize("aim", ["/etc/passwd", "a/b/x.txt", "nowhere", "a"])
def test_a_symbolic_link_is_refused_wherever_it_leads(source: Path, aim: str) -> None:
    (source / "link").symlink_to(aim)
    with pytest.raises(AdaptationError, match=r"link: a symbolic link; only regular files"):
        copy(source)


def test_a_special_file_is_refused_and_not_opened(source: Path) -> None:
    os.mkfifo(source / "pipe")
    with pytest.raises(AdaptationError, match="pipe: a special file"):
        copy(source)


def test_links_and_special_files_are_left_out_where_that_is_asked_for(source: Path) -> None:
    (source.parent / "secret").mkdir()
    (source.parent / "secret" / "answers.txt").write_bytes(b"42")
    (source / "folder-link").symlink_to(source.parent / "secret")
    (source / "a" / "file-link").symlink_to(source.parent / "secret" / "answers.txt")
    os.mkfifo(source / "a" / "pipe")
    assert copy(source, Bounds(bytes=1024, skip=True)) == 1
    target = source.parent / "target"
    assert [path.relative_to(target).as_posix() for path in sorted(target.rglob("*"))] == [
        "a",
        "a/b",
        "a/b/x.txt",
    ]


def test_a_hard_link_is_refused_where_files_must_be_the_tree_s_own(source: Path) -> None:
    outside = source.parent / "outside"
    outside.write_text("answer", encoding="utf-8")
    os.link(outside, source / "inside")
    assert copy(source) == 2
    (source.parent / "second").mkdir()
    with pytest.raises(AdaptationError, match="inside: a hard link"):
        copy_tree(source, source.parent / "second", Bounds(bytes=1024, shared=False))


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        (Bounds(bytes=10), "more than 0 MiB"),
        (Bounds(bytes=1024, files=3), "more than 3 files"),
        (Bounds(bytes=1024, depth=1), "more than 1 levels"),
    ],
)
def test_a_tree_beyond_its_bounds_is_refused(source: Path, bounds: Bounds, reason: str) -> None:
    (source / "y").write_bytes(b"0123456789")
    with pytest.raises(AdaptationError, match=reason):
        copy(source, bounds)


def test_a_name_that_is_not_utf8_is_refused(source: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    try:
        (source / name).touch()
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    with pytest.raises(AdaptationError, match="not valid UTF-8"):
        copy(source)


def test_a_missing_folder_is_one_line(source: Path) -> None:
    with pytest.raises(AdaptationError, match="cannot be copied: No such file"):
        copy(source / "nowhere")


def make_deep(folder: Path, levels: int) -> None:
    """Folders in each other, deeper than a path can say: made step by step."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def test_folders_in_each_other_without_end_are_refused_and_removed(source: Path, temporary: Path) -> None:
    with scratch_folder("x-") as folder:
        make_deep(folder, 1050)
        with pytest.raises(AdaptationError, match="more than 64 levels"):
            copy_tree(folder, source.parent / "target", ROOMY)
    assert list(temporary.iterdir()) == []


def test_a_folder_that_locks_itself_is_removed_and_nothing_else(source: Path, temporary: Path) -> None:
    with scratch_folder("x-") as folder:
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "x").touch()
        (folder / "out").symlink_to(source)
        (folder / "a" / "out").symlink_to(source)
        (folder / "a" / "b").chmod(0)
        (folder / "a").chmod(0)
    assert list(temporary.iterdir()) == []
    assert (source / "a" / "b" / "x.txt").exists()


def test_it_is_removed_though_the_caller_s_own_folder_is_gone(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with scratch_folder("trial-") as folder:
        (folder / "file").write_bytes(b"")
    assert not folder.exists()


def test_a_folder_that_the_caller_stands_in_is_left(
    monkeypatch: pytest.MonkeyPatch, temporary: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with scratch_folder("x-") as folder:
        (folder / "inner").mkdir()
        monkeypatch.chdir(folder / "inner")
    assert folder.exists()
    assert "cannot be removed" in caplog.text
