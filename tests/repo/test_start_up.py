"""The commands start light: what only some of them need is loaded by those."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.repo.tree import PROJECT

# Heavy by the time they take to load, or because an extra brings them.
HEAVY = {
    "altair",
    "datasets",
    "harbor",
    "inspect_ai",
    "inspect_evals",
    "litellm",
    "mcp",
    "mlcroissant",
    "numpy",
    "polars",
    "ray",
    "rich",
    "scipy",
}

HELP = """
import json, sys
from {module} import main
sys.argv = ["{command}", "--help"]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
print("\\n" + json.dumps(sorted(sys.modules)))
"""


def loaded_by(script: str) -> set[str]:
    """The modules in a fresh interpreter after ``script``, which prints them as its last line."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("command", PROJECT["project"]["scripts"])
def test_help_loads_nothing_heavy(command: str) -> None:
    module = PROJECT["project"]["scripts"][command].removesuffix(":main")
    modules = loaded_by(HELP.format(command=command, module=module))
    assert module in modules
    assert not {name for name in modules if name.split(".")[0] in HEAVY}


def test_the_package_itself_loads_nothing_heavy() -> None:
    modules = loaded_by("import json, sys, sipbench; print(json.dumps(sorted(sys.modules)))")
    assert not {name for name in modules if name.split(".")[0] in HEAVY | {"pydantic", "typer", "yaml"}}
