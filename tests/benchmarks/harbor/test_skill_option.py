"""What ``asb export-skills`` wrote is what ``harbor run --skill`` gives to an agent: Harbor's own command."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sipbench.benchmarks.harbor.sandboxes import BWRAP_CLASS
from tests.benchmarks.harbor.conftest import HERE, Engine
from tests.benchmarks.harbor.made import make_task
from tests.skills.made import raw, skill

ROOT = Path(__file__).resolve().parents[3]


def program(name: str, *arguments: str, cwd: Path) -> None:
    """Run a command of this environment to its end."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "HARBOR_TELEMETRY": "off",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    command = [str(Path(sys.prefix) / "bin" / name), *arguments]
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def given(engine: Engine, source: Path) -> dict[str, str]:
    """SHA-256 of the SKILL.md of each skill that an agent finds, by name, after export and ``harbor run``."""
    make_task(engine.tasks / "t")
    program("asb", "export-skills", str(source), "-o", "out", cwd=engine.root)
    program(
        "harbor",
        *("run", "-p", "tasks", "-a", f"{HERE}:Lists", "-e", BWRAP_CLASS, "-n", "1", "-y", "-q"),
        *("-o", "jobs", "--job-name", "job", "--skill", "out/leaves"),
        cwd=engine.root,
    )
    (found,) = engine.root.glob("jobs/job/*/agent/found.txt")
    lines = (line.split("  ", 1) for line in found.read_text(encoding="utf-8").splitlines())
    return {name.partition("/")[0]: digest for digest, name in lines}


def leaves(engine: Engine) -> dict[str, str]:
    return {
        path.name: hashlib.sha256((path / "SKILL.md").read_bytes()).hexdigest()
        for path in (engine.root / "out" / "leaves").iterdir()
    }


@pytest.fixture(autouse=True)
def _with_programs() -> None:
    for name in ("asb", "harbor"):
        if shutil.which(name, path=str(Path(sys.prefix) / "bin")) is None:
            pytest.skip(f"no {name} in this environment")


def test_made_skills_reach_an_agent(engine: Engine) -> None:
    for name in ("Lake Depth", "lake-volume"):
        skill(engine.root / "raw" / "skills", name, raw(name))
    assert given(engine, engine.root / "raw") == leaves(engine)
    assert set(leaves(engine)) == {"lake-depth", "lake-volume"}


def test_all_real_skills_of_a_collection_reach_an_agent(
    engine: Engine, shared_data: Callable[..., Path]
) -> None:
    source = shared_data("asb-collections", "epigenomics", "v1")
    assert given(engine, source) == leaves(engine)
    assert len(leaves(engine)) == len(list((source / "skills").iterdir())) == 203
