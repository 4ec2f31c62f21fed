"""Harbor's own digest of a task, found faster than Harbor finds it, or asked of Harbor."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sipbench.benchmarks.harbor import upstream
from sipbench.benchmarks.harbor.upstream import upstream_digests
from tests.benchmarks.harbor.made import make_task, skillful, write


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the folders that Harbor was asked about."""
    pytest.importorskip("harbor", reason="these tests need the extra 'harbor'")
    names: list[str] = []
    ask = upstream._asked

    def counted(folder: Path) -> str | None:
        names.append(folder.name)
        return ask(folder)

    monkeypatch.setattr(upstream, "_asked", counted)
    return names


def harbors(folder: Path) -> str:
    from harbor.publisher.packager import Packager

    return f"sha256:{Packager.compute_content_hash(folder)[0]}"


def plain(folder: Path) -> None:
    write(folder / "README.md", "about")
    write(folder / "authoring" / "notes.txt", "no part of the task")
    write(folder / "tests" / "a b" / "é.txt", "\r\n")
    write(folder / "tests" / "a-b" / "Z", "")
    (folder / "environment" / "empty").mkdir()


def ruled(folder: Path) -> None:
    write(folder / "tests" / ".harborignore", "*.tmp\n")
    write(folder / "tests" / "x.tmp", "left out")


def git_ruled(folder: Path) -> None:
    write(folder / ".gitignore", "*.csv\n")
    write(folder / "environment" / "data.csv", "left out")


def littered(folder: Path) -> None:
    write(folder / "tests" / "__pycache__" / "x.pyc", "left out")
    write(folder / "tests" / "test.sh~", "left out")
    write(folder / "tests" / ".pytest_cache" / "x", "counted by Harbor")


def linked(folder: Path) -> None:
    (folder / "tests" / "link").symlink_to("test.sh")


@pytest.mark.parametrize("change", [plain, ruled, git_ruled, littered, linked])
def test_it_is_what_harbor_says(tmp_path: Path, change: Callable[[Path], None]) -> None:
    first, second = make_task(tmp_path / "first"), skillful(tmp_path / "second", "own")
    change(second)
    assert list(upstream_digests([first, second])) == [harbors(first), harbors(second)]


def test_harbor_is_asked_once_where_no_rule_can_leave_anything_out(tmp_path: Path, asked: list[str]) -> None:
    folders = [make_task(tmp_path / name) for name in ("a", "b", "c")]
    ruled(folders[2])
    list(upstream_digests(folders))
    assert asked == ["a", "c"]


def test_a_harbor_that_counts_otherwise_is_asked_each_time(
    tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from harbor.publisher.packager import Packager

    monkeypatch.setattr(Packager, "compute_content_hash", lambda folder: (f"other-{folder.name}", []))
    folders = [make_task(tmp_path / name) for name in ("a", "b")]
    assert list(upstream_digests(folders)) == ["sha256:other-a", "sha256:other-b"]
    assert asked == ["a", "b"]


def test_shipped_skills_count(tmp_path: Path) -> None:
    folder = skillful(tmp_path / "t", "own")
    (before,) = upstream_digests([folder])
    shutil.rmtree(folder / "environment" / "skills" / "own")
    (after,) = upstream_digests([folder])
    assert before != after


def test_where_harbor_has_none_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harbor.publisher.packager import Packager

    def refuse(folder: Path) -> None:
        raise ValueError("a link that leads out")

    monkeypatch.setattr(Packager, "compute_content_hash", refuse)
    assert list(upstream_digests([make_task(tmp_path / "t")])) == [None]
