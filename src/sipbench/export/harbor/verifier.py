"""``tests/``: a verifier with an image of its own, without network.

It holds the grader as it stands in this package, the parameters of the ready checks (never their texts,
which may state the answer) and the references. Nothing is downloaded when it runs.
"""

from __future__ import annotations

import json
from importlib.resources import files as resources

from sipbench.cards.checks.grader import kinds
from sipbench.cards.checks.grader.places import Place
from sipbench.cards.checks.grader.verdicts import Failed, Impossible
from sipbench.cards.checks.model import Check, EvalFile
from sipbench.cards.checks.run import Plan
from sipbench.cards.checks.submission import OUTPUT
from sipbench.errors import CardError
from sipbench.export.base import File
from sipbench.export.harbor.environment import BASE_IMAGE

__all__ = ["MAX_REFERENCE_BYTES", "is_telling", "timeout_of", "verifier"]

MAX_REFERENCE_BYTES = 256 * 1024 * 1024
_GRADER = "sipbench.cards.checks.grader"
_TEST_SH = """\
#!/bin/sh
# Grades /app/output by checks.json; writes reward.json, details.json and ctrf.json to /logs/verifier.
exec python3 -I /tests/grade.py
"""
_GRADE_PY = '''\
"""Starts the grader beside this file."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from grader.main import main

sys.exit(main(HERE, "/logs/verifier"))
'''
# What reads each format that the standard library cannot read, as the grader is tested with it.
_PARSERS = {"parquet": "polars==2.1.0", "xlsx": "openpyxl==3.1.5"}


def is_telling(checks: EvalFile) -> bool:
    """Whether a ready check looks at what an output holds, so that an empty file does not pass."""
    return any(check.kind not in kinds.EXISTENCE for check in checks.scored())


def verifier(plan: Plan, *, draft: bool) -> dict[str, File]:
    """The files of ``tests/``.

    Args:
        plan: The checks, with the folder of their references.
        draft: Whether the reward is 0 whatever is submitted.

    Raises:
        CardError: A reference is missing or too large.
    """
    scored = plan.checks.scored()
    task = {
        "schema_version": plan.checks.schema_version,
        "capsule_key": plan.checks.capsule_key,
        "output": str(OUTPUT),
        "draft": draft,
        "checks": [check.parameters() for check in scored],
    }
    made = {
        "tests/test.sh": File.text(_TEST_SH, executable=True),
        "tests/grade.py": File.text(_GRADE_PY),
        "tests/checks.json": File.text(json.dumps(task, indent=1, sort_keys=True, ensure_ascii=False) + "\n"),
        "tests/Dockerfile": File.text(_dockerfile(scored)),
    }
    for resource in sorted(resources(_GRADER).iterdir(), key=lambda item: item.name):
        if resource.name.endswith(".py"):
            made[f"tests/grader/{resource.name}"] = File.text(resource.read_text(encoding="utf-8"))
    return made | {f"tests/references/{path}": file for path, file in _references(plan, scored).items()}


def _dockerfile(scored: list[Check]) -> str:
    lines = [f"FROM {BASE_IMAGE}"]
    needed = sorted({_PARSERS[form] for check in scored for form in _forms(check) if form in _PARSERS})
    if needed:
        lines.append(f"RUN python3 -m pip install --no-cache-dir {' '.join(needed)}")
    lines += ["COPY . /tests", "RUN chmod -R go-rwx /tests", "WORKDIR /tests"]
    return "\n".join(lines) + "\n"


def _forms(check: Check) -> set[str]:
    """The formats that a check may read."""
    parameters = check.parameters()
    selector = parameters.get("selector") or {}
    named = {parameters.get("format"), parameters.get("container"), selector.get("container")}
    paths = [str(parameters.get(name) or "") for name in ("path", "reference")]
    named |= {path.rpartition(".")[2].lower() for path in paths}
    return {form for form in named if form}


def _references(plan: Plan, scored: list[Check]) -> dict[str, File]:
    found: dict[str, File] = {}
    for check in scored:
        path = getattr(check, "reference", None)
        if path is None:
            continue
        if plan.folder is None:
            raise CardError(f"{check.id}: reference {path}: a draft has no references")
        try:
            found[path] = File(Place(str(plan.folder)).read(path, MAX_REFERENCE_BYTES))
        except (Failed, Impossible) as error:
            raise CardError(f"{check.id}: reference {path} in {plan.folder}: {error}") from None
    return found


def timeout_of(checks: EvalFile) -> float:
    """Seconds that the verifier may take: time to start, and each check's own."""
    return 120.0 + sum(30.0 + float(check.parameters().get("timeout_s") or 0.0) for check in checks.scored())
