"""Links and archive names that lead a transfer somewhere else."""

from __future__ import annotations

import asyncio
import io
import os
import tarfile
from pathlib import Path

import pytest

from sipbench.errors import EngineError
from sipbench.sandbox.keeper.files import unpack
from sipbench.sandbox.limits import Limits
from sipbench.sandbox.transfer import download_dir, download_file, upload_dir
from tests.sandbox.attacks.attempts import SECRET
from tests.sandbox.conftest import Place


def hostile_archive(secret: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:

        def add(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", body: bytes = b"") -> None:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, link, len(body)
            archive.addfile(info, io.BytesIO(body))

        add("../climbed", body=b"x")
        add(f"{secret.parent}/absolute", body=b"x")
        add("out", tarfile.SYMTYPE, str(secret.parent))
        add("out/through-link", body=b"x")
        add("hard", tarfile.LNKTYPE, "../" + secret.name)
        add("hard2", tarfile.LNKTYPE, str(secret))
        add("a/b", tarfile.SYMTYPE, "..")
        add("a/c", tarfile.SYMTYPE, "b/../..")
        add("pipe", tarfile.FIFOTYPE)
        add("disk", tarfile.BLKTYPE)
        add("good", body=b"good")
    return buffer.getvalue()


def test_no_name_or_link_of_an_archive_leads_out(tmp_path: Path) -> None:
    def scene(name: str) -> tuple[Path, Path]:
        target = tmp_path / name / "target"
        target.mkdir(parents=True)
        (tmp_path / name / "secret").write_text(SECRET)
        return target, tmp_path / name

    target, around = scene("naive")
    with tarfile.open(fileobj=io.BytesIO(hostile_archive(around / "secret"))) as archive:
        for member in archive:
            if not member.isdev():
                try:
                    archive.extract(member, target, filter="fully_trusted")
                except (OSError, KeyError):
                    continue
    assert (around / "climbed").exists()
    assert (around / "through-link").exists()

    target, around = scene("ours")
    root = os.open(target, os.O_RDONLY)
    done = unpack(io.BytesIO(hostile_archive(around / "secret")), root)
    os.close(root)
    assert sorted(path.name for path in around.iterdir()) == ["secret", "target"]
    assert (target / "good").read_text() == "good"
    for path in target.rglob("*"):
        assert path.resolve().is_relative_to(target), path
    assert (target / "out" / "through-link").read_text() == "x"  # a real directory in the link's place
    assert len(done.skipped) >= 6


def test_a_link_that_an_earlier_download_left_is_not_written_through(tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    target.mkdir()
    elsewhere.mkdir()
    (target / "dir").symlink_to(elsewhere)
    (target / "file").symlink_to(elsewhere / "file")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("dir/x", "file"):
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(b"x"))
    buffer.seek(0)
    root = os.open(target, os.O_RDONLY)
    unpack(buffer, root)
    os.close(root)
    assert list(elsewhere.iterdir()) == []
    assert (target / "dir" / "x").read_text() == "x"


def test_links_of_an_agent_bring_nothing_of_the_host_out(place: Place, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    plant = f"""
    mkdir -p /out/sub && cd /out && ln -s {secret} link && ln -s {tmp_path} dir
    ln -s /etc/passwd passwd && mkfifo pipe && ln -s ../../../../../../{secret} climb && echo fine > sub/fine
    python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('/out/sock')"
    """

    async def body() -> None:
        async with place.box() as box:
            done = await box.exec(["bash", "-c", plant])
            assert done.code == 0, done.text()
            await download_dir(box, "/out", tmp_path / "got")
            for name in ("link", "passwd", "pipe", "dir"):
                with pytest.raises(FileNotFoundError):
                    await download_file(box, f"/out/{name}", tmp_path / "one")
            with pytest.raises(FileNotFoundError):
                await download_file(box, "/out/dir/secret", tmp_path / "one")

    asyncio.run(body())
    got = list((tmp_path / "got").rglob("*"))
    assert [path.name for path in got if path.is_file()] == ["fine"]
    assert not any(path.is_symlink() for path in got)
    assert not (tmp_path / "one").exists()


def test_an_upload_is_not_written_through_a_planted_link(place: Place, tmp_path: Path) -> None:
    source = tmp_path / "tests"
    source.mkdir()
    (source / "test.sh").write_text("echo real")

    async def body() -> str:
        async with place.box() as box:
            await box.exec(
                ["bash", "-c", "mkdir /tests; echo old > /tmp/mine; ln -s /tmp/mine /tests/test.sh"]
            )
            await upload_dir(box, source, "/tests")
            return (await box.exec(["cat", "/tests/test.sh", "/tmp/mine"])).text()[0]

    assert asyncio.run(body()) == "echo real" + "old\n"


def test_a_file_swapped_for_a_pipe_cannot_hang_a_download(place: Place, tmp_path: Path) -> None:
    swap = "cd /out; while :; do rm -f f; mkfifo f; rm -f f; echo x > f; done"

    async def body() -> None:
        async with place.box() as box:
            await box.exec(["mkdir", "/out"])
            await box.exec(["bash", "-c", f"({swap}) >/dev/null 2>&1 &"])
            for number in range(30):
                await asyncio.wait_for(download_dir(box, "/out", tmp_path / str(number)), 60)

    asyncio.run(body())


def test_a_huge_sparse_file_does_not_fill_the_host(place: Place, tmp_path: Path) -> None:
    async def body() -> None:
        async with place.box(Limits(disk_mb=4096)) as box:
            await box.exec(["bash", "-c", "mkdir /out; truncate -s 3G /out/big"])
            with pytest.raises(EngineError, match="more bytes than allowed"):
                await download_dir(box, "/out", tmp_path / "got", max_bytes=1 << 20)
            with pytest.raises(EngineError, match="more bytes than allowed"):
                await download_file(box, "/out/big", tmp_path / "big", max_bytes=1 << 20)

    asyncio.run(body())
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) == 0
