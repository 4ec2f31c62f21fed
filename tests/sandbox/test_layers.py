"""A Dockerfile's steps carried out for real, kept by digest, and cleaned."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import EngineError
from sipbench.sandbox.base import Base, prepare
from sipbench.sandbox.bwrap import Machine
from sipbench.sandbox.context import Context
from sipbench.sandbox.dockerfile import parse
from sipbench.sandbox.image import Image
from sipbench.sandbox.layers import Builder
from sipbench.sandbox.network import Mode
from sipbench.sandbox.store import Store, clean
from tests.sandbox.conftest import SMALL, Place, wait_for

ALL_STEPS = """# syntax=docker/dockerfile:1
ARG TAG=12
FROM debian:${TAG} AS base
ARG TAG
ARG WHO="the world"
ENV GREETING="hello $WHO" EMPTY= \\
    OLD=${TAG:-none}
WORKDIR /app
WORKDIR sub
RUN pwd > where && \\
    # a comment inside
    echo "$GREETING/$OLD" > said
RUN ["sh", "-c", "echo json > json"]
RUN <<EOF
set -e
echo heredoc > here
EOF
RUN <<'EOF'
#!/usr/bin/env python3
print("script", file=open("script", "w"))
EOF
RUN cat > given <<END
value $GREETING
END
SHELL ["/bin/bash", "-c"]
RUN [[ a == a ]] && echo bash > bash
COPY one.txt two.txt many/
COPY dir/ dir/
COPY dir renamed
COPY one.txt single
COPY --chmod=600 one.txt secret
COPY *.md glob/
COPY ["with space.txt", "json target"]
COPY <<FILE inline.txt
to $WHO
FILE
COPY <<-'FILE' literal.txt
\tto $WHO
FILE
ADD archive.tar.gz unpacked/
CMD ["never"]
"""
LIST = """
import json, os
paths = [os.path.join(d, f) for d, _, fs in os.walk(".") for f in fs]
print(json.dumps({path[2:]: open(path).read() for path in paths}))
"""


def builder(place: Place, **changes: Any) -> Builder:
    made = Builder(place.store, place.machine, place.binary, place.base, limits=SMALL, network=Mode.NONE)
    return replace(made, **changes)


def build(place: Place, folder: Path, *, force: bool = False, **changes: Any) -> Image:
    async def body() -> Image:
        dockerfile = parse(folder / "Dockerfile")
        return await builder(place, **changes).image(dockerfile, Context.open(folder), force=force)

    return asyncio.run(body())


def show(place: Place, image: Image, *argv: str) -> str:
    async def body() -> str:
        async with place.box(image=image) as box:
            config = image.config
            done = await box.exec(list(argv), env=config.env, cwd=config.workdir, user=config.user)
            assert done.code == 0, done.text()
            return done.text()[0]

    return asyncio.run(body())


def write(folder: Path, dockerfile: str, files: dict[str, str] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Dockerfile").write_text(dockerfile, encoding="utf-8", newline="\n")
    for name, text in (files or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return folder


def test_every_kind_of_step_does_what_docker_does(place: Place, tmp_path: Path) -> None:
    files = {
        "one.txt": "1", "two.txt": "2", "dir/deep/x": "x", "a.md": "a", "b.md": "b", "with space.txt": "s",
        "ignored/x": "x", "dir/skip.log": "x", ".dockerignore": "ignored\n**/*.log\n",
    }  # fmt: skip
    folder = write(tmp_path / "context", ALL_STEPS, files)
    subprocess.run(["tar", "-czf", "archive.tar.gz", "-C", "dir", "deep"], cwd=folder, check=True)
    image = build(place, folder)
    assert image.config.workdir == "/app/sub"
    assert image.config.env == {"GREETING": "hello the world", "EMPTY": "", "OLD": "12"}
    assert any("FROM debian:12 noted" in note for note in image.config.notes)
    assert json.loads(show(place, image, "python3", "-c", LIST)) == {
        "where": "/app/sub\n", "said": "hello the world/12\n", "json": "json\n", "here": "heredoc\n",
        "script": "script\n", "given": "value hello the world\n", "bash": "bash\n", "many/one.txt": "1",
        "many/two.txt": "2", "dir/deep/x": "x", "renamed/deep/x": "x", "single": "1", "secret": "1",
        "glob/a.md": "a", "glob/b.md": "b", "json target": "s", "inline.txt": "to the world\n",
        "literal.txt": "to $WHO\n", "unpacked/deep/x": "x",
    }  # fmt: skip
    assert show(place, image, "stat", "-c", "%a", "secret").strip() == "600"


def test_a_first_command_that_removes_programs_does_not_end_the_box(place: Place, tmp_path: Path) -> None:
    """However late the box's own first process looks one of them up."""
    wrap = r"printf '#!/bin/sh\nsleep 0.3\nexec env.real \"$@\"\n'"
    text = f"FROM a\nRUN cd /usr/bin && cp env env.real && rm env && {wrap} > env && chmod 755 env\n"
    image = build(place, write(tmp_path / "c", text))
    script = "rm /usr/bin/env /usr/bin/env.real /usr/bin/sleep; read -r name < /proc/1/comm; echo $name"
    assert show(place, image, "sh", "-c", script) == "sleep\n"


def test_packages_are_installed_into_the_layer_and_not_into_the_host(place: Place, tmp_path: Path) -> None:
    """Installed by pip without a network: a project of its own."""
    files = {
        "lib/setup.py": "import setuptools as s\ns.setup(name='madeup', py_modules=['madeup'])\n",
        "lib/madeup.py": "ANSWER = 42\n",
    }
    text = "FROM a\nCOPY lib /lib-src\nRUN pip3 install --no-index --no-build-isolation /lib-src\nWORKDIR /\n"
    image = build(place, write(tmp_path / "c", text, files))
    assert show(place, image, "python3", "-c", "import madeup; print(madeup.ANSWER)") == "42\n"
    assert subprocess.run(
        ["/usr/bin/python3", "-c", "import madeup"], capture_output=True, check=False
    ).returncode


def test_the_second_build_is_the_first_ones_layer_unless_forced(place: Place, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "c", "FROM a\nRUN cat /proc/sys/kernel/random/uuid > /made\nCOPY x /x\n", {"x": "1"}
    )
    first = build(place, folder)
    made = show(place, first, "cat", "/made")
    assert build(place, folder).layers == first.layers
    assert show(place, build(place, folder), "cat", "/made") == made
    forced = build(place, folder, force=True)
    assert forced.layers == first.layers
    assert show(place, forced, "cat", "/made") != made


def test_other_skills_share_what_was_installed_before_them(place: Place, tmp_path: Path) -> None:
    text = "FROM a\nRUN echo installed > /installed\nCOPY skills /skills\nRUN ls /skills > /list\n"
    one = build(place, write(tmp_path / "one", text, {"skills/a/SKILL.md": "a"}))
    other = build(place, write(tmp_path / "other", text, {"skills/b/SKILL.md": "b"}))
    assert one.layers[0] == other.layers[0]
    assert one.layers[1] != other.layers[1]
    assert show(place, one, "cat", "/list") == "a\n"
    assert show(place, other, "cat", "/list") == "b\n"


@pytest.mark.parametrize("change", ["content", "mode", "name", "dockerfile"])
def test_a_change_of_the_context_or_the_steps_is_another_layer(
    place: Place, tmp_path: Path, change: str
) -> None:
    folder = write(tmp_path / "c", "FROM a\nCOPY . /c\n", {"f": "1"})
    before = build(place, folder).layers
    if change == "content":
        (folder / "f").write_text("2")
    elif change == "mode":
        (folder / "f").chmod(0o755)
    elif change == "name":
        (folder / "f").rename(folder / "g")
    else:
        write(folder, "FROM a\nCOPY . /d\n")
    assert build(place, folder).layers != before


def test_a_touched_file_or_another_place_is_the_same_layer(place: Place, tmp_path: Path) -> None:
    layers = build(place, write(tmp_path / "a", "FROM a\nCOPY f /f\n", {"f": "1"})).layers
    os.utime(tmp_path / "a" / "f", (1, 1))
    assert build(place, tmp_path / "a").layers == layers
    assert build(place, write(tmp_path / "b", "FROM a\nCOPY f /f\n", {"f": "1"})).layers == layers


def test_builds_at_once_make_one_layer(place: Place, tmp_path: Path) -> None:
    text = "FROM a\nRUN cat /proc/sys/kernel/random/uuid > /once; sleep 0.3\n"
    folder = write(tmp_path / "c", text)
    dockerfile, context = parse(folder / "Dockerfile"), Context.open(folder)

    async def body() -> list[Image]:
        builds = [asyncio.create_task(builder(place).image(dockerfile, context)) for _ in range(40)]
        await wait_for(lambda: any((box / "root/upper/once").exists() for box in boxes()))
        assert sum((box / "root/upper/once").exists() for box in boxes()) == 1
        return await asyncio.gather(*builds)

    def boxes() -> list[Path]:
        return list((place.store.root / "boxes").iterdir())

    images = asyncio.run(body())
    assert len({image.layers for image in images}) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "FROM a\nRUN true\nRUN echo because >&2; exit 3\n",
            "Dockerfile:3: RUN failed with exit code 3: because",
        ),
        ("FROM a\nCOPY absent /x\n", "Dockerfile:2: absent is not in the build context"),
        ("FROM a\nCOPY link /x\n", "Dockerfile:2: link is a link that leads out of the build context"),
        ("FROM a\nRUN yum -y install x\n", "Dockerfile:2: RUN: yum is not in"),
        ("FROM a\nWORKDIR /etc/passwd\n", "Dockerfile:2: mkdir failed"),
    ],
)
def test_a_step_that_fails_is_told_with_its_line(place: Place, tmp_path: Path, text: str, words: str) -> None:
    folder = write(tmp_path / "c", text)
    (folder / "link").symlink_to("/etc/passwd")
    with pytest.raises(EngineError) as raised:
        build(place, folder)
    assert words in str(raised.value)


def test_a_step_that_never_ends_is_ended(place: Place, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"Dockerfile:2: the command took longer than 0\.5 seconds"):
        build(place, write(tmp_path / "c", "FROM a\nRUN sleep 100\n"), timeout_sec=0.5)


def test_a_build_is_connected_as_it_was_asked(place: Place, tmp_path: Path) -> None:
    connect = 'FROM a\nSHELL ["/bin/bash", "-c"]\nRUN exec 3<>/dev/tcp/127.0.0.1/8118\n'
    folder = write(tmp_path / "c", connect)
    with pytest.raises(EngineError, match="Connection refused"):
        build(place, folder)
    build(place, folder, network=Mode.PROXY)
    build(place, write(tmp_path / "d", 'FROM a\nRUN test -n "$https_proxy"\n'), network=Mode.PROXY)


def test_a_killed_build_leaves_no_layer(place: Place, tmp_path: Path) -> None:
    folder = write(tmp_path / "c", "FROM a\nRUN echo made > /made3; sleep 100\n")
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from tests.sandbox.test_layers import *
from tests.sandbox.conftest import find, machine
store = Store(Path({str(place.store.root)!r}))
this = machine(store.root)
build(Place(store, this, find(), prepare(store, this)), Path({str(folder)!r}))
"""

    def layers() -> set[str]:
        return {path.name for path in (place.store.root / "layers").iterdir()}

    def half_built() -> bool:
        return any((box / "root/upper/made3").exists() for box in (place.store.root / "boxes").iterdir())

    before = layers()
    with subprocess.Popen([sys.executable, "-c", code]) as victim:
        asyncio.run(wait_for(half_built))
        victim.send_signal(signal.SIGKILL)
    assert layers() == before
    asyncio.run(wait_for(lambda: not half_built()))
    image = build(place, write(folder, "FROM a\nRUN echo made > /made3\n"))
    assert show(place, image, "cat", "/made3") == "made\n"


def test_cleaning_removes_what_is_not_used_and_keeps_what_is(place: Place, tmp_path: Path) -> None:
    used = build(place, write(tmp_path / "used", "FROM a\nRUN echo used > /used\n"))
    unused = build(place, write(tmp_path / "unused", "FROM a\nRUN echo unused > /unused\n"))
    stale = place.store.box("stale")
    stale.mkdir()

    async def body() -> None:
        async with place.box(image=used) as box:
            done = clean(place.store.root)
            assert f"layers/{unused.layers[0]}" in done.removed
            assert "boxes/stale" in done.removed
            assert f"layers/{used.layers[0]}" in done.in_use
            assert f"base/{place.base.digest}" in done.in_use
            assert (await box.exec(["cat", "/used"])).stdout == b"used\n"

    asyncio.run(body())
    assert not place.store.layer(unused.layers[0]).exists()
    assert not stale.exists()
    # A box over a layer that is gone says so instead of starting over something else.
    with pytest.raises(EngineError, match="layers were removed"):
        show(place, unused, "true")


def test_a_store_removes_nothing_but_its_own(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    for path in (
        tmp_path,
        store.root,
        store.root / "layers",
        Path("/"),
        Path(),
        store.root / "boxes" / "a" / "b",
    ):
        with pytest.raises(ValueError, match="is no box, layer or base"):
            store.remove_tree(path)
    assert store.root.is_dir()


def tiny_system(root: Path) -> Path:
    """A root file system of a few programs and their libraries."""
    for name in ("bin", "etc", "tmp", "usr/bin", "proc", "dev"):
        (root / name).mkdir(parents=True)
    programs = ["/bin/sh", "/bin/cat", "/bin/mkdir", "/bin/sleep", "/usr/bin/env", "/bin/true"]
    listed = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True).stdout
    for word in {*programs, *(w for w in listed.split() if w.startswith("/") and not w.endswith(":"))}:
        target = root / word.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path(word).read_bytes())
        target.chmod(0o755)
    (root / "etc/os-release").write_text('PRETTY_NAME="Tiny"\n')
    return root


@pytest.mark.parametrize("overlay", [True, False], ids=["overlay", "copy"])
def test_a_given_system_is_a_base_with_an_overlay_or_copied(
    place: Place, tmp_path: Path, overlay: bool
) -> None:
    tmp_path.chmod(0o755)
    root = tiny_system(tmp_path / "rootfs")
    this: Machine = replace(place.machine, overlay=overlay)
    base: Base = prepare(place.store, this, root)
    assert "Tiny" in base.label
    there = Place(place.store, this, place.binary, base)
    said: list[str] = []
    image = build(there, write(tmp_path / "c", "FROM a\nRUN echo made > /etc/made\n"), tell=said.append)
    change = "cat /etc/made; echo x > /etc/made; cat /etc/made"
    assert show(there, image, "sh", "-c", change) == "made\nx\n"
    assert show(there, image, "cat", "/etc/made") == "made\n"
    assert bool(said) is not overlay
    with pytest.raises(EngineError, match="apt-get is not in"):
        build(there, write(tmp_path / "d", "FROM a\nRUN apt-get update\n"))
    assert not (root / "etc/made").exists()


def test_a_base_that_is_no_system_is_refused(place: Place, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="is no root file system"):
        prepare(place.store, place.machine, tmp_path)
