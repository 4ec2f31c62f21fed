"""Study directories, made for a test: small, seeded, and hostile where that is asked for."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sipbench.protocol.digests import json_digest
from tests.protocol.made import document, write_lines

PATHS = {"frozen": "frozen", "skilled": "external", "tuned": "parameter", "known": "oracle"}
# Chance to solve a task of each split, per phase; None: not attempted in it.
CHANCES: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "frozen": {
        "heldout": {"T0": 0.2, "T1": 0.2, "T2": 0.2},
        "replay": {"T0": 0.9, "T1": 0.9, "T2": 0.9},
        "drift": {"T0": 0.1, "T2": 0.1},
    },
    "skilled": {
        "heldout": {"T0": 0.2, "T1": 0.8, "T2": 0.75},
        "replay": {"T0": 0.9, "T1": 0.9, "T2": 0.9},
        "drift": {"T0": 0.1, "T2": 0.5},
    },
    "tuned": {
        "heldout": {"T0": 0.2, "T1": 0.6, "T2": 0.3},
        "replay": {"T0": 0.9, "T1": 0.2, "T2": 0.3},
        "drift": {"T0": 0.1, "T2": 0.2},
    },
    "known": {
        "heldout": {"T0": 1.0, "T1": 1.0, "T2": 1.0},
        "replay": {"T0": 1.0, "T1": 1.0, "T2": 1.0},
        "drift": {"T0": 1.0, "T2": 1.0},
    },
}
SIZES = {"heldout": 24, "replay": 16, "drift": 8}
ANALYSIS = {"sesoi": 0.05, "cost_unit": "tool_calls"}


@dataclass(frozen=True)
class Design:
    """What to make.

    Attributes:
        arms: Names of arms, keys of ``PATHS``.
        sizes: Tasks of each split.
        repeats: Repeats.
        phases: Phases.
        lost: Share of the T1 attempts of adapted arms that are lost to the infrastructure.
        names: Another name for a task or arm.
        more: Fields of every record.
        analysis: The declared analysis.
        seed: Of the draws.
        name: The study's.
        prefix: Of run ids, so that two studies share none.
        learning: What an adaptation spends in tool calls; None: unknown.
    """

    arms: Sequence[str] = ("frozen", "skilled", "tuned", "known")
    sizes: Mapping[str, int] = field(default_factory=lambda: SIZES)
    repeats: int = 3
    phases: Sequence[str] = ("T0", "T1", "T2")
    lost: float = 0.0
    names: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    analysis: Mapping[str, Any] = field(default_factory=lambda: ANALYSIS)
    seed: int = 5
    name: str = "made"
    prefix: str = "run"
    learning: int | None = 100


def make_study(folder: Path, design: Design | None = None) -> Path:
    """Write a study directory as ``sip run`` leaves it."""
    design = design or Design()
    folder.mkdir(parents=True, exist_ok=True)
    records = list(_records(design))
    write_lines(folder / "runs.jsonl", records)
    write_lines(folder / "adaptations.jsonl", _adaptations(design))
    (folder / "splits.json").write_text(json.dumps(_manifest(design)), encoding="utf-8")
    planned: dict[tuple[str, str, str], int] = {}
    for record in records:
        key = (record["arm"], record["phase"], record["benchmark_split"])
        planned[key] = planned.get(key, 0) + 1
    lock = {
        "schema_version": "1.0.0",
        "name": design.name,
        "sipbench_version": "0.1.0",
        "created_at": "2026-05-01T08:00:00Z",
        "analysis": dict(design.analysis),
        "planned": [
            {"arm": arm, "phase": phase, "split": split, "attempts": n}
            for (arm, phase, split), n in planned.items()
        ],
        "allowed": [],
    }
    (folder / "study.lock.json").write_text(json.dumps(lock), encoding="utf-8")
    for record in records[:3]:
        output = folder / "attempts" / record["run_id"]
        output.mkdir(parents=True)
        (output / "agent.log").write_text(f"tried {record['task_id']}\n", encoding="utf-8")
    return folder


def task(design: Design, split: str, number: int) -> str:
    name = f"{split}-{number:04d}"
    return design.names.get(name, name)


def _records(design: Design) -> Iterator[dict[str, Any]]:
    draw = random.Random(design.seed)
    clock = 0
    for repeat in range(design.repeats):
        for phase in design.phases:
            for split in (*design.sizes, "adapt"):
                for number in range(design.sizes.get(split, 4)):
                    for arm in design.arms:
                        if split == "adapt" and (phase != "T1" or arm in ("frozen", "known")):
                            continue
                        chance = 0.5 if split == "adapt" else CHANCES[arm][split].get(phase)
                        if chance is None:
                            continue
                        clock += 1
                        yield _record(design, draw, arm, phase, split, number, repeat, chance, clock)


def _record(
    design: Design,
    draw: random.Random,
    arm: str,
    phase: str,
    split: str,
    number: int,
    repeat: int,
    chance: float,
    clock: int,
) -> dict[str, Any]:
    score = float(draw.random() < chance)
    adapted = PATHS[arm] in ("external", "parameter")
    lost = phase == "T1" and adapted and split != "adapt" and draw.random() < design.lost
    skills = [{"name": "sorting", "digest": None}] if arm == "skilled" and phase != "T0" else []
    return document(
        run_id=f"{design.prefix}-{clock}",
        arm=design.names.get(arm, arm),
        path_type=PATHS[arm],
        phase=phase,
        benchmark_split=split,
        task_id=task(design, split, number),
        family=f"{split}-family-{number // 2}",
        repeat=repeat,
        seed=repeat,
        status="infrastructure_error" if lost else "graded",
        score=score,
        error_type="HostGone" if lost else None,
        tool_calls_total=10 + number,
        skills_given=skills,
        skills_opened=skills if score else [],
        task_digest=json_digest([split, number]),
        agent_digest=json_digest(arm),
        agent_state_digest=json_digest([arm, phase, repeat]),
        grader_version="1",
        engine="made 1",
        started_at=f"2026-05-01T09:{clock // 3600 % 60:02d}:{clock // 60 % 60:02d}.{clock % 60:03d}Z",
        **design.more,
    )


def _adaptations(design: Design) -> Iterator[dict[str, Any]]:
    for arm in design.arms:
        if PATHS[arm] not in ("external", "parameter"):
            continue
        for repeat in range(design.repeats):
            yield {
                "schema_version": "1.0.0",
                "arm": design.names.get(arm, arm),
                "repeat": repeat,
                "phase": "T1",
                "path_type": PATHS[arm],
                "adaptation": "command",
                "agent_state_digest": json_digest([arm, "T1", repeat]),
                "previous_state_digest": json_digest([arm, "T0", repeat]),
                "tool_calls_total": None if design.learning is None else design.learning + 10 * repeat,
            }


def _manifest(design: Design) -> dict[str, Any]:
    def entries(split: str, size: int) -> list[dict[str, Any]]:
        return [
            {
                "id": task(design, split, number),
                "family": f"{split}-family-{number // 2}",
                "concept": f"concept-{number % 3}",
                "digest": json_digest([split, number]),
            }
            for number in range(size)
        ]

    replay = entries("replay", design.sizes.get("replay", 0))
    return {
        "schema_version": "1.0.0",
        "benchmark_name": "made",
        "benchmark_version": "1",
        "seed": 0,
        "adapt": entries("adapt", 4),
        **{split: entries(split, size) for split, size in design.sizes.items()},
        "replay_selection": {
            "method": "preregistered",
            "list_digest": json_digest([[entry["id"], entry["digest"]] for entry in replay]),
            "declared_at": "2026-05-01T00:00:00Z",
        }
        if replay
        else None,
        "drift_changes": ["evidence"],
        "selection": {"method": "by hand"},
    }
