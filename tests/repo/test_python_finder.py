"""The Makefile's search for a Python: candidates are run, not believed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.tree import ROOT

SCRIPT = ROOT / "scripts" / "find-python.sh"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder with the few tools that the script itself needs, to be the whole PATH."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "echo"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    return tools


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def find(tools: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(SCRIPT), *arguments],
        cwd=home,
        env={"PATH": str(tools), "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_shim_that_fails_is_passed_over(bare: Path, tmp_path: Path) -> None:
    program(bare / "python3.13", "echo 'pyenv: python3.13: command not found' >&2; exit 127")
    program(bare / "python3.12", f'exec "{sys.executable}" "$@"')
    found = find(bare, tmp_path)
    assert found.returncode == 0
    assert Path(found.stdout.strip()).samefile(
        os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    )


def test_pyenv_versions_are_tried_last(bare: Path, tmp_path: Path) -> None:
    program(tmp_path / ".pyenv/versions/3.12.99/bin/python", f'exec "{sys.executable}" "$@"')
    assert find(bare, tmp_path).returncode == 0


def test_without_one_there_is_one_line_that_says_what_to_install(bare: Path, tmp_path: Path) -> None:
    program(bare / "python3", "exit 1")
    found = find(bare, tmp_path)
    assert (found.returncode, found.stdout) == (2, "")
    assert len(found.stderr.splitlines()) == 1
    assert "install one" in found.stderr


def test_a_named_python_must_do(bare: Path, tmp_path: Path) -> None:
    program(tmp_path / "old", "exit 1")
    found = find(bare, tmp_path, str(tmp_path / "old"))
    assert found.returncode == 2
    assert "is not a Python 3.12 or newer" in found.stderr
