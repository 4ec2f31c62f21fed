"""What the tests of exported Harbor tasks look at."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.export.made import Made, made


def manifest(task: Path) -> dict[str, Any]:
    return tomllib.loads((task / "task.toml").read_text(encoding="utf-8"))


def todo(task: Path) -> dict[str, dict[str, Any]]:
    document = json.loads((task / "TODO.json").read_text(encoding="utf-8"))
    assert set(document) == {"format", "upstream_commit", "capsule_key", "card_sha256", "items"}
    return {item["id"]: item for item in document["items"]}


def dockerfile(task: Path) -> str:
    return (task / "environment/Dockerfile").read_text(encoding="utf-8")


def exported(root: Path, **changes: Any) -> Made:
    one = made(root, **changes)
    assert one.one().state == "task"
    return one


def grade(task: Path, submission: Path, logs: Path) -> dict[str, Any]:
    """Run the exported verifier as Harbor does, with its folders in other places."""
    tests = task / "tests"
    document = json.loads((tests / "checks.json").read_text(encoding="utf-8"))
    here = logs.parent / f"verifier-{logs.name}"
    here.mkdir()
    (here / "checks.json").write_text(json.dumps(document | {"output": str(submission)}), encoding="utf-8")
    for name in ("grader", "references"):
        if (tests / name).exists():
            (here / name).symlink_to(tests / name)
    code = "import sys; sys.path.insert(0, sys.argv[1]); from grader.main import main; main(*sys.argv[2:])"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(tests), str(here), str(logs)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads((logs / "reward.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]
