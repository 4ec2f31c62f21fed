"""All checks of a task: verdicts, reasons, and the reward that Harbor reads.

The reward is 1 when every check passes and one of them looks at what a file holds, else 0. A task
without such a check is a draft: its reward is 0 whatever is submitted.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from .kinds import EXISTENCE
from .verdicts import ERROR, FAIL, PASS, Verdict
from .worker import decide

__all__ = ["grade", "main", "reward_of"]


def reward_of(checks: Sequence[Mapping[str, Any]], verdicts: Sequence[Verdict]) -> int:
    """1 if all checks pass and they tell a right output from an empty file, else 0."""
    telling = any(check["kind"] not in EXISTENCE for check in checks)
    return int(telling and all(verdict.outcome == PASS for verdict in verdicts))


def grade(task: Mapping[str, Any], references: str) -> dict[str, Any]:
    """Grade the submission of a task.

    Args:
        task: ``checks.json``: ``output`` (the folder that is graded), ``checks``, ``draft``.
        references: The folder that references are relative to.
    """
    # Programs of the submission come last: nothing they do can touch what was decided before.
    checks = sorted(task["checks"], key=lambda check: check["kind"] == "script_runs")
    verdicts = list(decide(checks, task["output"], references, run_scripts=True))
    reward = 0 if task.get("draft") else reward_of(checks, verdicts)
    listed = [
        {"id": check["id"], "kind": check["kind"], "outcome": verdict.outcome, "reason": verdict.reason}
        for check, verdict in zip(checks, verdicts, strict=True)
    ]
    return {"capsule_key": task["capsule_key"], "reward": reward, "checks": listed}


def main(here: str, logs: str) -> int:
    """Grade and write ``details.json``, ``ctrf.json`` and ``reward.json`` into ``logs``.

    Args:
        here: The folder with ``checks.json`` and ``references``.
        logs: Harbor's ``/logs/verifier``.
    """
    with open(os.path.join(here, "checks.json"), encoding="utf-8") as file:
        task = json.load(file)
    os.makedirs(logs, exist_ok=True)
    mode = os.stat(logs).st_mode & 0o7777
    os.chmod(logs, 0o700)  # while programs of the submission may run, the reward is out of their reach
    try:
        result = grade(task, os.path.join(here, "references"))
    finally:
        os.chmod(logs, mode)
    for check in result["checks"]:
        sys.stdout.write(f"{check['outcome']:5} {check['id']} ({check['kind']}): {check['reason']}\n")
    sys.stdout.write(f"reward {result['reward']}\n")
    _put(os.path.join(logs, "details.json"), json.dumps(result, indent=2))
    _put(os.path.join(logs, "ctrf.json"), json.dumps(_ctrf(result), indent=2))
    _put(os.path.join(logs, "reward.json"), json.dumps({"reward": result["reward"]}))
    return 0


def _ctrf(result: Mapping[str, Any]) -> dict[str, Any]:
    """The verdicts in the Common Test Report Format."""
    statuses = {PASS: "passed", FAIL: "failed", ERROR: "other"}
    tests = [
        {"name": check["id"], "status": statuses[check["outcome"]], "duration": 0, "message": check["reason"]}
        for check in result["checks"]
    ]
    counted = {status: sum(test["status"] == status for test in tests) for status in statuses.values()}
    summary = {"tests": len(tests), **counted, "pending": 0, "skipped": 0, "start": 0, "stop": 0}
    report = {"tool": {"name": "sipbench"}, "summary": summary, "tests": tests}
    return {"reportFormat": "CTRF", "specVersion": "0.0.0", "results": report}


def _put(path: str, text: str) -> None:
    """Write a file in the place of whatever a program of the submission may have left there."""
    if os.path.lexists(path):
        os.rename(path, os.path.join(tempfile.mkdtemp(dir=os.path.dirname(path), prefix="found-"), "it"))
    with open(path, "x", encoding="ascii", newline="\n") as file:
        file.write(text + "\n")
