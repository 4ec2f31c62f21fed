"""Folders that nobody has checked, and folders of one's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sipbench.benchmarks.harbor import tree
from sipbench.benchmarks.harbor.tree import digest_of, made_folder, read_text, walk
from sipbench.errors import EngineError
from tests.benchmarks.harbor.made import write


def digest(root: Path) -> str:
    return digest_of(root, list(walk(root)))


def test_every_file_is_seen_once_and_litter_is_not(tmp_path: Path) -> None:
    for name in ("b/x", "a", "b/__pycache__/x.pyc", "c.pyc", ".DS_Store"):
        write(tmp_path / name, name)
    assert [str(entry.path) for entry in walk(tmp_path)] == ["a", "b/x"]


def test_the_digest_is_of_names_contents_and_the_right_to_run(tmp_path: Path) -> None:
    write(tmp_path / "one" / "a", "x")
    write(tmp_path / "two" / "a", "x")
    same = digest(tmp_path / "one")
    assert digest(tmp_path / "two") == same
    (tmp_path / "two" / "a").chmod(0o755)
    assert digest(tmp_path / "two") != same
    write(tmp_path / "three" / "b", "x")
    assert digest(tmp_path / "three") != same


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "loop"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, target: str) -> None:
    write(tmp_path / "outside", "secret")
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "loop").symlink_to(target)
    with pytest.raises(EngineError, match=r"loop: a link that leads out of the task"):
        list(walk(tmp_path / "task"))


def test_a_link_inside_is_part_of_the_tree(tmp_path: Path) -> None:
    write(tmp_path / "a", "x")
    (tmp_path / "b").symlink_to("a")
    (entry,) = [entry for entry in walk(tmp_path) if entry.target]
    assert (str(entry.path), entry.target) == ("b", "a")


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(EngineError, match="neither file, folder nor link"):
        list(walk(tmp_path))


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))).write_text("")
    with pytest.raises(EngineError, match="not valid UTF-8"):
        list(walk(tmp_path))


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "huge").open("wb") as handle:
        handle.truncate(tree.MAX_TREE_BYTES + 1)  # sparse: it takes no space
    with pytest.raises(EngineError, match="this is no task folder"):
        list(walk(tmp_path))
    monkeypatch.setattr(tree, "MAX_TREE_FILES", 2)
    (tmp_path / "huge").unlink()
    for number in range(3):
        write(tmp_path / str(number), "")
    with pytest.raises(EngineError, match="more than 2 files"):
        list(walk(tmp_path))


def test_texts_are_read_strictly(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes("é".encode("latin-1"))
    with pytest.raises(EngineError, match="not UTF-8 at byte 0"):
        read_text(tmp_path / "latin")
    with pytest.raises(EngineError, match="larger than 2 bytes"):
        read_text(write(tmp_path / "long", "abc"), limit=2)
    with pytest.raises(EngineError, match="it is a folder"):
        read_text(tmp_path)
    with pytest.raises(EngineError, match="cannot be read"):
        read_text(tmp_path / "nothing")


def test_a_folder_of_ones_own_is_gone_afterwards(tmp_path: Path) -> None:
    with made_folder(tmp_path, ".task-") as folder:
        write(folder / "deep" / "file", "x")
    assert list(tmp_path.iterdir()) == []


def test_it_is_gone_after_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), made_folder(tmp_path, ".task-"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_what_stands_in_its_place_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other / "precious", "x")
    with made_folder(tmp_path, ".task-") as folder:
        folder.rmdir()
        other.rename(folder)
    assert (folder / "precious").read_text() == "x"
    folder.rename(other)
    with made_folder(tmp_path, ".task-") as folder:
        folder.rmdir()
        folder.symlink_to(other)
    assert (other / "precious").read_text() == "x"


def test_it_is_gone_though_the_current_folder_is_gone_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with made_folder(tmp_path, "own-") as folder:
        (folder / "file").write_bytes(b"")
    assert not folder.exists()


def test_the_current_folder_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with made_folder(tmp_path, ".task-") as folder:
        write(folder / "x", "x")
        monkeypatch.chdir(folder)
    assert (folder / "x").exists()
