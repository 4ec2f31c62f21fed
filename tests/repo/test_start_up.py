"""What the commands may load before they know what they are asked."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "numpy",
    "scipy",
    "polars",
    "rich",
    "pydantic",
    "yaml",
    "harbor",
    "inspect_ai",
    "mcp",
    "litellm",
    "ray",
)


def loaded(code: str) -> set[str]:
    asked = subprocess.run(
        [sys.executable, "-c", f"import sys, json; {code}; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(asked.stdout.splitlines()[-1]))


@pytest.mark.parametrize("module", ["sipbench", "sipbench.cli.sip"])
def test_start_up_loads_nothing_heavy(module: str) -> None:
    names = loaded(f"import {module}")
    assert module in names
    assert names.isdisjoint(HEAVY), sorted(names & set(HEAVY))


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import contextlib, io; from sipbench.cli.sip import app\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    app(['--help'], standalone_mode=False)\n"
    )
    script = f"import sys, json\n{code}print(json.dumps(sorted(sys.modules)))"
    asked = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    names = set(json.loads(asked.stdout.splitlines()[-1]))
    assert names.isdisjoint(HEAVY), sorted(names & set(HEAVY))
