"""The ready checks once more, as RewardKit criteria, and ``llm_judge`` as a RewardKit judge.

They are for those whose pipeline speaks RewardKit; the task's own reward comes from the grader, which
needs no package and no network. Existence and substrings are RewardKit's own criteria; values and
references are assertions that ask the grader; judges stand apart, with no model named.
"""

from __future__ import annotations

from collections.abc import Iterable

from sipbench.cards.checks.model import Check, ContainsSubstring, EvalFile, FileExists, LlmJudge
from sipbench.cards.checks.submission import OUTPUT
from sipbench.export.base import File
from sipbench.export.harbor.toml import toml

__all__ = ["JUDGE", "rewardkit"]

JUDGE = "authoring/rewardkit/judge.toml"
_WORKSPACE = "/app"
_OUTPUTS = '''\
"""Existence and substring checks as RewardKit criteria."""

from rewardkit import criteria

'''
_ASSERTIONS = '''\
"""Value and reference checks as RewardKit criteria: each asks the task's own grader."""

import json
import pathlib
import sys

from rewardkit import criteria, criterion

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from grader.kinds import Folders, evaluate
from grader.places import Place

TASK = json.loads((HERE.parent / "checks.json").read_text(encoding="utf-8"))
CHECKS = {check["id"]: check for check in TASK["checks"]}


@criterion(description="check {identity} of checks.json holds", shared=True)
def holds(workspace: pathlib.Path, identity: str) -> bool:
    place = Place(str(workspace / pathlib.PurePosixPath(TASK["output"]).relative_to("/app")))
    folders = Folders(place, Place(str(HERE.parent / "references")), run_scripts=True)
    return evaluate(CHECKS[identity], folders).outcome == "pass"


'''


def rewardkit(checks: EvalFile) -> dict[str, File]:
    """``tests/rewardkit/`` and, where there are judges, ``authoring/rewardkit/judge.toml``."""
    scored = checks.scored()
    native = [line for check in scored if (line := _native(check))]
    asserted = [check for check in scored if not _native(check)]
    made: dict[str, File] = {}
    if native:
        made["tests/rewardkit/outputs.py"] = File.text(_OUTPUTS + "\n".join(native) + "\n")
    if asserted:
        lines = (
            f"criteria.holds({check.id!r}, name={check.id!r}, weight={check.points!r})" for check in asserted
        )
        made["tests/rewardkit/assertions.py"] = File.text(_ASSERTIONS + "\n".join(lines) + "\n")
    judges = [check for check in checks.checks if isinstance(check, LlmJudge) and check.status == "ready"]
    if judges:
        made[JUDGE] = File.text(_judges(judges))
    return made


def _native(check: Check) -> str | None:
    """RewardKit's own criterion for a check; None where it has none that says the same."""
    path = f"{OUTPUT.relative_to(_WORKSPACE)}/{getattr(check, 'path', '')}"
    rest = f"name={check.id!r}, weight={check.points!r})"
    match check:
        case FileExists(min_bytes=0) if check.path and not set("*?[") & set(check.path):
            return f"criteria.file_exists({path!r}, {rest}"
        case ContainsSubstring(negate=False, ignore_case=False):
            return f"criteria.file_contains({path!r}, {check.value!r}, {rest}"
        case _:
            return None


def _judges(checks: Iterable[LlmJudge]) -> str:
    criteria = [
        {
            "name": check.id,
            "description": check.question,
            "type": "numeric",
            "min": check.scale[0],
            "max": check.scale[1],
        }
        for check in checks
    ]
    head = "# A judge costs money and is no part of the reward: name a model to use it.\n"
    return head + toml({"judge": {"judge": "", "files": [str(OUTPUT)]}, "criterion": criteria})
