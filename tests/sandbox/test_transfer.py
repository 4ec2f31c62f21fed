"""Archives: what goes in comes out, and nothing goes anywhere else."""

from __future__ import annotations

import asyncio
import io
import os
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.errors import EngineError
from sipbench.sandbox.keeper.files import TooLargeError, excluded, pack, unpack
from sipbench.sandbox.transfer import (
    As,
    download_dir,
    download_file,
    download_selected,
    upload_dir,
    upload_file,
)
from tests.sandbox.conftest import Place

NAMES = st.sampled_from(
    ["a", "b", "..", ".", "", "a/b", "../a", "/abs", "b/../..", "c" * 300, "a/../../x", "ä"]
)
TARGETS = st.sampled_from(
    ["a", "..", "../..", "/", "a/b", "b/../..", "../a", ".", "../../outside/secret", "//"]
)
MEMBERS = st.lists(
    st.tuples(st.lists(NAMES, min_size=1, max_size=3).map("/".join), st.sampled_from("0125346"), TARGETS),
    max_size=12,
)


def archive_of(members: list[tuple[str, str, str]]) -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind.encode(), target
            info.size = 4 if kind == "0" else 0
            archive.addfile(info, io.BytesIO(b"body"))
    buffer.seek(0)
    return buffer


def unpack_at(stream: io.BytesIO, target: Path, **options: object):  # type: ignore[no-untyped-def]
    root = os.open(target, os.O_RDONLY)
    try:
        return unpack(stream, root, **options)  # type: ignore[arg-type]
    finally:
        os.close(root)


def snapshot(top: Path, without: Path) -> dict[str, bytes | str | None]:
    found: dict[str, bytes | str | None] = {}
    for path in sorted(top.rglob("*")):
        if not path.is_relative_to(without):
            content = (
                str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            )
            found[str(path)] = content
    return found


@given(MEMBERS, MEMBERS)
def test_no_archive_changes_anything_outside_even_over_the_remains_of_another(
    first: list[tuple[str, str, str]], second: list[tuple[str, str, str]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        target = top / "deep" / "target"
        target.mkdir(parents=True)
        (top / "outside").mkdir()
        (top / "outside" / "secret").write_text("secret")
        before = snapshot(top, target)
        for members in (first, second):
            try:
                unpack_at(archive_of(members), target)
            except (OSError, tarfile.TarError):
                continue
        assert snapshot(top, target) == before
        for path in target.rglob("*"):
            assert Path(os.path.realpath(path)).is_relative_to(target.resolve())


@given(
    st.dictionaries(
        st.lists(st.text("abä \n*", min_size=1, max_size=4), min_size=1, max_size=3).map(tuple),
        st.binary(max_size=2000),
        max_size=8,
    )
)
def test_a_tree_survives_the_way_there_and_back(tree: dict[tuple[str, ...], bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name, "source"), Path(name, "target")
        source.mkdir()
        target.mkdir()
        for parts, body in tree.items():
            path = source.joinpath(*parts)
            if any(parent.is_file() for parent in path.parents) or path.is_dir():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        buffer = io.BytesIO()
        root = os.open(source, os.O_RDONLY)
        pack(buffer, root)
        os.close(root)
        buffer.seek(0)
        unpack_at(buffer, target)
        original = {
            str(path.relative_to(source)): path.read_bytes() for path in source.rglob("*") if path.is_file()
        }
        copied = {
            str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()
        }
        assert copied == original


def test_links_that_stay_inside_are_kept_and_others_are_named(tmp_path: Path) -> None:
    members = [
        ("d/f", "0", ""),
        ("d/up", "2", "../g"),
        ("g", "0", ""),
        ("out", "2", "../x"),
        ("twist", "2", "d/../.."),
    ]
    done = unpack_at(archive_of(members), tmp_path)
    assert (tmp_path / "d" / "up").read_text() == "body"
    assert sorted(skipped.name for skipped in done.skipped) == ["out", "twist"]


def test_a_hard_link_is_a_copy_of_what_the_archive_brought(tmp_path: Path) -> None:
    done = unpack_at(archive_of([("f", "0", ""), ("link", "1", "f"), ("bad", "1", "absent")]), tmp_path)
    assert (tmp_path / "link").read_text() == "body"
    assert (tmp_path / "link").stat().st_nlink == 1
    assert [skipped.name for skipped in done.skipped] == ["bad"]


def test_bounds_on_bytes_and_entries_hold(tmp_path: Path) -> None:
    members = [(f"f{number}", "0", "") for number in range(5)]
    with pytest.raises(TooLargeError, match="more than 10 bytes"):
        unpack_at(archive_of(members), tmp_path, max_bytes=10)
    with pytest.raises(TooLargeError, match="more than 3 entries"):
        unpack_at(archive_of(members), tmp_path, max_entries=3)


@pytest.mark.parametrize(
    ("path", "pattern", "out"),
    [
        ("a/b.pyc", "*.pyc", True), ("node_modules/x", "node_modules", False),
        ("a/node_modules", "node_modules", True),
        ("a/b/c", "b/c", True), ("a/b/c", "a/*", True), ("ab", "b", False), ("a/b", "./a/b", True),
        ("x/a/b", "./a/b", False),
    ],
)  # fmt: skip
def test_exclusions_match_as_tars_do(path: str, pattern: str, out: bool) -> None:
    assert excluded(path, [pattern]) is out


def test_directories_and_files_go_in_and_come_out(place: Place, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (source / "run.sh").chmod(0o755)
    (source / "sub" / "ü.txt").write_bytes(b"\xff\r\n")
    (source / "link").symlink_to("run.sh")

    async def body() -> None:
        async with place.box() as box:
            await upload_dir(box, source, "/work/in", As(exclude=("*.tmp",)))
            await upload_file(box, source / "run.sh", "/work/other/name.sh")
            assert (await box.exec(["/work/in/link"])).stdout == b"ran\n"
            assert (await box.exec(["/work/other/name.sh"])).stdout == b"ran\n"
            await box.exec(["sh", "-c", "echo more >> /work/in/run.sh; touch '/work/in/ a\nb'"])
            await download_dir(box, "/work/in", tmp_path / "out", exclude=["sub"])
            await download_file(box, "/work/in/sub/ü.txt", tmp_path / "one")

    asyncio.run(body())
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [" a\nb", "link", "run.sh"]
    assert (tmp_path / "out" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "out" / "link").readlink() == Path("run.sh")
    assert (tmp_path / "one").read_bytes() == b"\xff\r\n"


def test_what_is_missing_is_said_on_both_sides(place: Place, tmp_path: Path) -> None:
    async def body() -> None:
        async with place.box() as box:
            for name in ("/not/there", "/etc/passwd/x"):
                with pytest.raises(FileNotFoundError, match=name.split("/")[1]):
                    await download_file(box, name, tmp_path / "x")
            with pytest.raises(FileNotFoundError):
                await download_dir(box, "/not/there", tmp_path / "x")
            with pytest.raises(FileNotFoundError):
                await upload_file(box, tmp_path / "absent", "/x")
            with pytest.raises(NotADirectoryError):
                await upload_dir(box, tmp_path / "absent", "/x")
            with pytest.raises(EngineError, match="cannot copy into the sandbox at /etc/passwd"):
                await upload_dir(box, tmp_path, "/etc/passwd")

    asyncio.run(body())


def test_many_transfers_at_once_all_arrive(place: Place, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "f").write_bytes(os.urandom(1 << 20))

    async def body() -> None:
        async with place.box() as box:
            await asyncio.gather(*(upload_dir(box, tmp_path / "source", f"/in/{n}") for n in range(20)))
            await asyncio.gather(*(download_dir(box, f"/in/{n}", tmp_path / f"out{n}") for n in range(20)))

    asyncio.run(body())
    assert {(tmp_path / f"out{n}" / "f").read_bytes() for n in range(20)} == {
        (tmp_path / "source" / "f").read_bytes()
    }


def test_some_files_can_be_asked_for(place: Place, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sub").symlink_to(elsewhere)
    make = "mkdir -p /in/sub; echo a > /in/a.txt; echo b > /in/sub/b.txt; echo c > /in/c"

    async def body() -> None:
        async with place.box() as box:
            await box.exec(["sh", "-c", make])
            out = tmp_path / "out"
            await download_selected(box, "/in", out, lambda paths: {p for p in paths if p.endswith(".txt")})

    asyncio.run(body())
    found = {str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert found == {"a.txt", "sub/b.txt"}
    assert list(elsewhere.iterdir()) == []
