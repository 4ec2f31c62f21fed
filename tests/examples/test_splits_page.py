"""The page about splits: its commands run as they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from sipbench.benchmarks.base import Task
from sipbench.splits.files import read_manifest
from tests.examples.pages import blocks, shell
from tests.splits.made import task, words

PAGE = "splits.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (study,) = blocks(PAGE, "yaml")
    (tmp_path / "study.yaml").write_text(study, encoding="utf-8")
    return tmp_path


def test_its_commands_run_one_after_the_other(folder: Path) -> None:
    for script in blocks(PAGE, "sh"):
        done = shell(script, folder)
        assert done.returncode == 0, done.stderr
        assert "all rules kept" in done.stdout or "-screen" in script
    manifest = read_manifest(folder / "splits.json")
    assert [len(manifest.adapt), len(manifest.heldout), len(manifest.replay)] == [12, 16, 8]
    assert (folder / "uplift-screen" / "runs.jsonl").exists()


def test_its_python_runs() -> None:
    (script,) = blocks(PAGE, "python")
    tasks: list[Task] = [task(f"t{n}", " ".join(words(n // 2))) for n in range(20)]
    exec(script, {"tasks": tasks})
