"""The system below a box: whose its files are inside, and what of it is not shown."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sipbench.errors import EngineError
from sipbench.sandbox import base, hidden
from sipbench.sandbox.base import Part, prepare
from sipbench.sandbox.image import Image
from tests.sandbox.conftest import Place

SECRET = "only for root"


@pytest.fixture
def mapped(place: Place, root_only: None) -> None:
    """Skips where the kernel or the file system cannot map ids."""

    async def body() -> bool:
        async with place.box() as box:
            return box.mapped

    if not asyncio.run(body()):
        pytest.skip("sandbox: this machine cannot map the ids of its system's files")


def small_usr(usr: Path) -> None:
    """A `/usr` with just enough programs, and what the machine shows to its root alone."""
    programs = [f"/usr/bin/{name}" for name in ("sh", "cat", "env", "true", "sleep", "find", "sort", "ls")]
    listed = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True).stdout
    libraries = {word for word in listed.split() if word.startswith("/") and not word.endswith(":")}
    for word in {*programs, *libraries}:
        target = usr / word.removeprefix("/usr").lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path(word).read_bytes())
        target.chmod(0o755)
    for name, mode in (("open", 0o755), ("closed", 0o700), ("unlisted", 0o711)):
        (usr / "share" / name).mkdir(parents=True)
        (usr / "share" / name / "file").write_text(SECRET if name != "open" else "for all\n")
        (usr / "share" / name).chmod(mode)
    (usr / "share/open/closed").write_text(SECRET)
    (usr / "share/open/closed").chmod(0o640)
    (usr / "share/open/link").symlink_to("closed")


def forget() -> None:
    hidden._found.cache_clear()
    base._machine_digest.cache_clear()


@pytest.fixture
def small(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A place whose base is a machine with a small `/usr`."""
    tmp_path.chmod(0o755)
    small_usr(tmp_path / "usr")
    if not Path("/bin").is_symlink():
        pytest.skip("sandbox: this machine's /bin is not part of /usr")
    parts = (Part("root", "/", None), Part("usr", "/usr", tmp_path / "usr"))
    monkeypatch.setattr(base, "_machine_parts", lambda: parts)
    forget()
    yield replace(place, base=prepare(place.store, place.machine))
    forget()


def test_files_of_the_system_are_changed_moved_and_linked_inside_alone(place: Place, mapped: None) -> None:
    names = ("st_mode", "st_ino", "st_uid", "st_size", "st_mtime_ns", "st_nlink")

    def host() -> list[list[int]]:
        found = [Path("/usr/bin", name).stat() for name in ("env", "tail", "head", "cut")]
        return [[getattr(one, name) for name in names] for one in found]

    before = host()
    script = (
        "set -e; cd /usr/bin; stat -c %u:%g env; echo x >> env; chmod 700 tail; mv head first; "
        "ln cut second; chown daemon cut; stat -c %a tail; stat -c %U second; test ! -e head"
    )
    done = place.run(script)
    assert done.code == 0, done.text()
    assert done.stdout.split() == [b"0:0", b"700", b"daemon"]
    assert host() == before


@pytest.mark.parametrize("overlay", [True, False], ids=["overlay", "copy"])
def test_what_the_machine_shows_to_its_root_alone_is_not_in_the_box(
    small: Place, root_only: None, overlay: bool
) -> None:
    there = replace(small, machine=replace(small.machine, overlay=overlay))
    inside = "cd /usr/share; find . | sort; cat open/closed open/link */file; true"

    async def body() -> tuple[str, str]:
        async with there.box(image=Image(there.base, copied=() if overlay else ("usr",))) as box:
            return (await box.exec(["/bin/sh", "-c", inside])).text()

    out, errors = asyncio.run(body())
    assert SECRET not in out
    assert out.splitlines() == [".", "./open", "./open/file", "./open/link", "for all"], errors


@pytest.mark.parametrize("overlay", [True, False], ids=["overlay", "copy"])
def test_what_lies_under_another_mount_is_not_in_the_box(
    small: Place, root_only: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overlay: bool
) -> None:
    usr = tmp_path / "usr"
    (usr / "share/open/file").write_text(SECRET)  # readable to all, and covered by a mount
    (usr / "share/under").write_text(SECRET)
    (usr / "a b").mkdir()
    lines = ["/", str(usr), f"{usr}/share/open", f"{usr}/share/under", f"{usr}/a\\040b", f"{tmp_path}/usr2"]
    table = "".join(f"1 0 8:1 / {place} rw - ext4 /dev/x rw\n" for place in lines)
    monkeypatch.setattr(hidden, "_MOUNTS", tmp_path / "mountinfo")
    (tmp_path / "mountinfo").write_text(table)
    assert hidden.mounts_below([str(usr)]) == {usr / "share/open", usr / "share/under", usr / "a b"}
    forget()
    there = replace(
        small,
        base=prepare(small.store, small.machine),
        machine=replace(small.machine, overlay=overlay),
    )
    inside = "cd /usr; ls -d 'a b' share/*; find share/open -type f; cat share/open/* share/under; true"

    async def body() -> str:
        async with there.box(image=Image(there.base, copied=() if overlay else ("usr",))) as box:
            return (await box.exec(["/bin/sh", "-c", inside])).text()[0]

    assert asyncio.run(body()).splitlines() == ["a b", "share/open"]


def test_a_file_that_is_closed_later_makes_another_base(
    small: Place, root_only: None, tmp_path: Path
) -> None:
    (tmp_path / "usr/share/open/file").chmod(0o600)
    forget()
    again = replace(small, base=prepare(small.store, small.machine))
    assert again.base.digest != small.base.digest
    assert again.run("ls /usr/share/open").stdout == b"link\n"


def test_the_machines_own_root_is_no_base(place: Place) -> None:
    with pytest.raises(EngineError, match="this machine's own root"):
        prepare(place.store, place.machine, Path("/"))


def test_a_machine_without_find_is_told_what_to_install(
    root_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError("find")

    forget()
    monkeypatch.setattr(subprocess, "run", missing)
    with pytest.raises(EngineError, match="findutils"):
        base._closed()
