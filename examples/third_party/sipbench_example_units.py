"""A benchmark of one's own: lengths in metres, from what the agent knows and what its skills say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from sipbench.benchmarks.base import Attempt, AttemptContext, Benchmark, Options, Task
from sipbench.errors import SplitError
from sipbench.protocol.digests import json_digest
from sipbench.protocol.manifest import SplitManifest, TaskEntry
from sipbench.protocol.records import SkillRef, Usage
from sipbench.protocol.versions import SPLITS_VERSION
from sipbench.protocol.vocabulary import PathType, Phase, Split, Status

METRES = {  # what a unit is worth: known to the grader
    Split.REPLAY: {"kilometre": 1000, "decimetre": 0.1, "centimetre": 0.01, "millimetre": 0.001}
    | {"mile": 1609.344, "yard": 0.9144, "foot": 0.3048, "inch": 0.0254},
    Split.ADAPT: {"cubit": 0.4572, "pace": 0.762},
    Split.HELDOUT: {"fathom": 1.8288, "cable": 185.2, "league": 5556, "shackle": 27.432, "rod": 5.0292}
    | {"chain": 20.1168, "link": 0.201168, "furlong": 201.168, "ell": 1.143, "toise": 1.949},
}
KNOWN = METRES[Split.REPLAY]  # and to the agent, before it has any skill


class UnitsOptions(Options):
    """Options of the benchmark ``units``."""

    tasks_per_unit: int = Field(default=3, ge=1, le=100, description="Tasks per unit.")


class Units(Benchmark):
    """Each unit is a family of tasks, each task a quantity of it."""

    Options = UnitsOptions
    name, version, grader_version, engine = "units", "1", "1", "sipbench-example-units 1"
    reward_range = (0.0, 100.0)
    normalization = "Points from 0 to 100 for the relative error, divided by 100."

    def tasks(self) -> Sequence[Task]:
        """Every task, with a digest of what the agent sees and what the grader expects."""
        tasks = []
        for unit, worth in [pair for units in METRES.values() for pair in units.items()]:
            for quantity in range(1, self.options.tasks_per_unit + 1):
                text = f"How many metres are {quantity} {unit}?"
                digest = json_digest([text, quantity * worth])
                meta = {"unit": unit, "quantity": quantity, "answer": quantity * worth}
                tasks.append(Task(f"{unit}-{quantity}", digest, family=unit, text=text, metadata=meta))
        return tasks

    def splits(self, seed: int, sizes: Mapping[Split, int]) -> SplitManifest:
        """The splits are fixed; the study file says how the replay list was chosen."""
        if sizes:
            raise SplitError("units: its splits are fixed; leave splits.sizes out")
        entries = {
            split.value: tuple(TaskEntry(id=task.id) for task in self.tasks() if task.family in units)
            for split, units in METRES.items()
        }
        return SplitManifest(schema_version=SPLITS_VERSION, benchmark_name=self.name, **entries)

    def run(
        self, task: Task, phase: Phase, path_type: PathType, seed: int, *, context: AttemptContext
    ) -> Attempt:
        """The agent multiplies by the last worth it was told; the grader looks at the error."""
        files = sorted(Path(context.state).glob("skills/*/SKILL.md"))
        told = [
            rule
            for file in files
            for rule in re.findall(r"1 (\w+) = ([\d.]+) metres", file.read_text("utf-8"))
        ]
        worth = {**KNOWN, **{unit: float(metres) for unit, metres in told}}.get(task.metadata["unit"])
        usage = Usage(tool_calls_total=len(files))
        skills = tuple(SkillRef(name=file.parent.name) for file in files)
        if worth is None:
            return Attempt(Status.AGENT_ERROR, usage=usage, error_type="UnknownUnit", skills_given=skills)
        answer = worth * task.metadata["quantity"]
        (context.workdir / "answer.txt").write_text(f"{answer}\n", encoding="utf-8")
        error = abs(answer / task.metadata["answer"] - 1)
        points = round(max(0.0, 100 * (1 - error)), 6)
        return Attempt(Status.GRADED, points, points > 99, usage, "engine", skills_given=skills)
