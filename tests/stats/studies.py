"""Made studies: arms with known chances, drawn once from a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sipbench.protocol.manifest import ReplaySelection, SplitManifest, TaskEntry
from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import PlannedCell
from sipbench.protocol.summary import Row, Summary
from sipbench.protocol.vocabulary import Phase, Split
from tests.protocol.made import cell

type Effect = Callable[[str, str, float], float]
"""From phase, split and the chance before to the chance that an attempt passes."""


def tasks(split: str, n: int) -> list[str]:
    """Names of the tasks of a split."""
    return [f"{split}{i:02d}" for i in range(n)]


def unchanged(_phase: str, _split: str, p: float) -> float:
    """An agent that never changes."""
    return p


def gains(amount: float, splits: Sequence[str] = ("heldout",)) -> Effect:
    """An agent that is better by ``amount`` from T1 on, on some splits."""

    def effect(phase: str, split: str, p: float) -> float:
        return min(1.0, max(0.0, p + amount)) if phase != "T0" and split in splits else p

    return effect


def attempts(
    arm: str,
    effect: Effect = unchanged,
    *,
    seed: int = 0,
    n: int = 30,
    k: int = 3,
    repeats: int = 1,
    phases: Sequence[str] = ("T0", "T1"),
    splits: Sequence[str] = ("heldout", "replay"),
    path_type: str = "external",
    chances: tuple[float, float] = (0.2, 0.8),
    **given: object,
) -> list[RunRecord]:
    """Binary attempts of one arm. Tasks have the same chances for every arm; trials are its own."""
    base = np.random.default_rng(99)
    hard = {split: base.uniform(*chances, n) for split in ("heldout", "replay", "drift")}
    rng = np.random.default_rng([seed, *arm.encode()])
    found = []
    for repeat in range(repeats):
        for phase in phases:
            for split in splits:
                scores = {
                    task: [float(rng.random() < effect(phase, split, float(p))) for _ in range(k)]
                    for task, p in zip(tasks(split, n), hard[split], strict=True)
                }
                found += cell(phase, split, scores, arm=arm, path_type=path_type, repeat=repeat, **given)
    return found


def frozen(effect: Effect = unchanged, name: str = "frozen", **given: object) -> list[RunRecord]:
    """The control arm."""
    return attempts(name, effect, path_type="frozen", **given)  # type: ignore[arg-type]


def manifest(n: int = 30, selection: ReplaySelection | None = None) -> SplitManifest:
    """Splits of the made tasks."""
    return SplitManifest(
        schema_version="1.0.0",
        benchmark_name="made",
        heldout=tuple(TaskEntry(id=task) for task in tasks("heldout", n)),
        replay=tuple(TaskEntry(id=task) for task in tasks("replay", n)),
        replay_selection=selection,
    )


def plan(arm: str, attempts_each: int, splits: Sequence[str] = ("heldout", "replay")) -> list[PlannedCell]:
    """As many planned attempts at T0 and T1 of each split."""
    return [
        PlannedCell(arm=arm, phase=Phase(phase), split=Split(split), attempts=attempts_each)
        for phase in ("T0", "T1")
        for split in splits
    ]


def row(summary: Summary, arm: str) -> Row:
    """The row of one arm."""
    (found,) = (item for item in summary.rows if item.arm == arm)
    return found


def codes(found: Row) -> list[str]:
    """The codes of a row's warnings."""
    return [warning.code for warning in found.warnings]
