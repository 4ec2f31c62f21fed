"""The Makefile finds a Python by running candidates, and installs only when something changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.tree import ROOT

HERE = str(Path(getattr(sys, "_base_executable", sys.executable)))
TOOLS = ["cat", "cksum", "grep", "head", "make", "rm", "sh"]

FAKE_UV = """#!/bin/sh
echo "$*" >>"$UV_LOG"
case "$1" in
pip) [ "$3" = --help ] && echo "  --group <GROUP>" ;;
venv) "{python}" -m venv --without-pip .venv ;;
esac
exit 0
"""


class Place:
    """A checkout's scripts, a home and a PATH of its own."""

    def __init__(self, folder: Path) -> None:
        self.repo = folder / "a repo"
        self.bin = folder / "bin"
        self.home = folder / "home"
        for made in (self.repo, self.bin, self.home):
            made.mkdir()
        shutil.copytree(ROOT / "scripts", self.repo / "scripts")
        for name in ("Makefile", "pyproject.toml", "constraints.txt"):
            shutil.copy(ROOT / name, self.repo)
        for name in TOOLS:
            tool = shutil.which(name)
            if tool is None:
                pytest.skip(f"no {name} on PATH")
            (self.bin / name).symlink_to(tool)

    def program(self, name: str, script: str, folder: Path | None = None) -> None:
        path = (folder or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": str(self.bin), "HOME": str(self.home), "UV_LOG": str(self.home / "uv.log")}
        return subprocess.run(
            command, cwd=self.repo, env=env, capture_output=True, text=True, encoding="utf-8", check=False
        )

    def find(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("sh", "scripts/find-python.sh", *arguments)

    def uv_calls(self) -> list[str]:
        """What uv was asked to do, its help aside, since the last time that this was asked."""
        log = self.home / "uv.log"
        calls = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        log.write_text("", encoding="utf-8")
        return [call for call in calls if not call.endswith("--help")]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


BROKEN_SHIM = "#!/bin/sh\necho 'pyenv: python3.12: command not found' >&2\nexit 127\n"
TOO_OLD = "#!/bin/sh\nexit 1\n"
GOOD = f'#!/bin/sh\nexec "{HERE}" "$@"\n'


def test_a_name_on_path_that_fails_is_passed_over(place: Place) -> None:
    place.program("python3.13", BROKEN_SHIM)
    place.program("python3.12", BROKEN_SHIM)
    place.program("python3", GOOD)
    found = place.find()
    assert (found.returncode, found.stderr) == (0, "")
    assert Path(found.stdout.strip()).samefile(HERE)


def test_a_pyenv_version_is_found_behind_shims_that_fail(place: Place) -> None:
    place.program("python3.12", BROKEN_SHIM)
    place.program("python3", TOO_OLD)
    place.program("python", TOO_OLD, place.home / ".pyenv/versions/3.12.0/bin")
    place.program("python", GOOD, place.home / ".pyenv/versions/3.13.1/bin")
    assert Path(place.find().stdout.strip()).samefile(HERE)


def test_an_environment_keeps_its_python_and_the_base_of_it_is_what_counts(place: Place) -> None:
    subprocess.run([HERE, "-m", "venv", "--without-pip", str(place.repo / ".venv")], check=True)
    found = place.find()
    assert Path(found.stdout.strip()).samefile(HERE)
    assert not found.stdout.startswith(str(place.repo))


def test_without_a_python_one_line_says_what_to_install(place: Place) -> None:
    place.program("python3.12", BROKEN_SHIM)
    place.program("python3", TOO_OLD)
    done = place.run("make", "test")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "needs Python 3.12 or newer" in line
    assert "make PYTHON=" in line


def test_the_python_that_is_named_must_do(place: Place) -> None:
    place.program("python3.12", GOOD)
    place.program("old", TOO_OLD)
    assert place.find("python3.12").returncode == 0
    done = place.run("make", "venv", "PYTHON=old")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "PYTHON=old is not a Python 3.12 or newer" in line


def test_a_second_make_installs_nothing(place: Place) -> None:
    (place.bin / "python3.12").symlink_to(HERE)
    place.program("uv", FAKE_UV.format(python=HERE))
    assert place.run("make", "venv").returncode == 0
    made, installed = place.uv_calls()
    assert made.startswith("venv ")
    assert "--compile-bytecode" in installed
    assert "--constraint constraints.txt" in installed
    assert place.run("make", "venv").returncode == 0
    assert place.run("make", "venv", "PYTHON=python3.12").returncode == 0
    assert place.uv_calls() == []


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_what_is_installed_follows_what_is_required(place: Place, name: str) -> None:
    place.program("python3.12", GOOD)
    place.program("uv", FAKE_UV.format(python=HERE))
    place.run("make", "venv")
    place.uv_calls()
    os.utime(place.repo / name)
    place.run("make", "venv")
    assert place.uv_calls() == [], "a new time alone is no change"
    with (place.repo / name).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    place.run("make", "venv")
    (installed,) = place.uv_calls()
    assert installed.startswith("pip install ")


def test_extras_are_installed_when_they_are_asked_for(place: Place) -> None:
    place.program("python3.12", GOOD)
    place.program("uv", FAKE_UV.format(python=HERE))
    place.run("make", "venv", "EXTRAS=harbor,cards")
    assert place.uv_calls()[-1].endswith("--editable .[harbor,cards]")


def test_an_environment_that_was_moved_is_made_anew(place: Place) -> None:
    place.program("python3.12", GOOD)
    place.program("uv", FAKE_UV.format(python=HERE))
    place.run("make", "venv")
    place.uv_calls()
    place.repo = place.repo.rename(place.repo.with_name("moved"))
    place.run("make", "venv")
    assert [call.split()[0] for call in place.uv_calls()] == ["venv", "pip"]


def test_an_installation_that_failed_is_tried_again(place: Place) -> None:
    place.program("python3.12", GOOD)
    place.program(
        "uv", FAKE_UV.format(python=HERE).replace("exit 0", 'exec test "$3" = --help -o "$1" = venv')
    )
    assert place.run("make", "venv").returncode == 2
    place.program("uv", FAKE_UV.format(python=HERE))
    place.uv_calls()
    assert place.run("make", "venv").returncode == 0
    assert [call.split()[0] for call in place.uv_calls()] == ["pip"]


def test_without_uv_and_without_pip_one_line_says_what_to_install(place: Place) -> None:
    no_pip = 'case "$*" in *ensurepip*|*"-m pip"*) exit 1 ;; esac\n'
    place.program("bare", GOOD.replace("exec", no_pip + "exec"))
    done = place.run("sh", "scripts/venv.sh", "bare")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("bare has neither ensurepip nor pip: install python3.")
