"""Writing outside of the box."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sipbench.sandbox.policy import Policy
from tests.sandbox.attacks.attempts import outside
from tests.sandbox.conftest import Place


def test_a_shown_directory_cannot_be_written(place: Place, tmp_path: Path) -> None:
    policy = Policy(read_only=(str(tmp_path),))
    script = f"echo x > {tmp_path}/made"
    place.run(script + f"; mount -o remount,rw {tmp_path}; {script}; chmod 777 {tmp_path}", policy=policy)
    assert not (tmp_path / "made").exists()
    outside(script)
    assert (tmp_path / "made").exists()


WAYS = {
    "through a descriptor": "exec 3< {file}; echo x > /proc/self/fd/3",
    "a link of one's own": "ln -s {file} {own}/link; echo x > {own}/link",
    "a hard link": "ln {file} {own}/hard; echo x > {own}/hard",
    "another name": "mv {file} {file}.moved",
    "removal": "rm -f {file}",
    "times": "touch -d 2001-01-01 {file}",
    "rights": "chmod 777 {file}",
    "an attribute": 'python3 -c \'import os; os.setxattr("{file}", "user.x", b"x")\'',
}


def state(folder: Path) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for path in sorted(folder.iterdir()):
        info = path.stat()
        attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
        content = path.read_text(encoding="utf-8")
        found.append((path.name, content, info.st_mode, info.st_mtime_ns, info.st_nlink, attributes))
    return found


@pytest.mark.parametrize("way", WAYS)
def test_a_shown_file_is_changed_in_no_way(place: Place, tmp_path: Path, way: str) -> None:
    shown, own = tmp_path / "shown", tmp_path / "own"
    shown.mkdir()
    own.mkdir()
    file = shown / "file"
    file.write_text("the host's\n", encoding="utf-8")
    before = state(shown)
    place.run(WAYS[way].format(file=file, own="/tmp"), policy=Policy(read_only=(str(shown),)))
    assert state(shown) == before
    outside(WAYS[way].format(file=file, own=own))
    if way == "an attribute" and state(shown) == before:
        pytest.skip("sandbox: the file system of the tests has no attributes of users")
    assert state(shown) != before


def test_a_link_to_a_place_of_the_host_makes_nothing_there(place: Place, tmp_path: Path) -> None:
    script = "ln -s {target} {own}/link && echo x > {own}/link"
    place.run(script.format(target=tmp_path / "made", own="/tmp"))
    assert not (tmp_path / "made").exists()
    outside(script.format(target=tmp_path / "made", own=tmp_path))
    assert (tmp_path / "made").exists()


def test_what_is_written_to_the_system_stays_in_the_box(place: Place) -> None:
    name = f"/usr/local/bin/made-{os.getpid()}"
    done = place.run(f"echo x > {name} && rm /usr/bin/env && cat {name}")
    assert done.code == 0, done.text()
    assert not Path(name).exists()
    assert Path("/usr/bin/env").exists()


def test_a_box_does_not_see_what_another_wrote(place: Place) -> None:
    script = "cat /var/tmp/mark 2>/dev/null; echo seen > /var/tmp/mark"
    assert place.run(script).text()[0] == ""
    assert place.run(script).text()[0] == ""
