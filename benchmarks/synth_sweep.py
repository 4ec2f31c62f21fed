"""What the learners of `synth` gain and lose, over generator seeds; and how fast it goes.

    python benchmarks/synth_sweep.py                           ten seeds, as the table in docs/synth.md
    python benchmarks/synth_sweep.py 7 --speed                 one seed, and attempts per second
    python benchmarks/synth_sweep.py 7 --budget 60000          evaluate with a budget that exhausts the space

Runs the adapter and the learners as a study would, without one. Adapt attempts keep the default budget.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sipbench.adaptation.base import Adaptation, AdaptationRequest
from sipbench.benchmarks.base import Agent, Attempt, AttemptContext, Task
from sipbench.benchmarks.synth import MacroLearner, SynthBenchmark, WeightLearner
from sipbench.benchmarks.synth.benchmark import AGENT_NAME, SynthOptions
from sipbench.protocol.digests import seed_from, tree_digest
from sipbench.protocol.vocabulary import EVALUATION_SPLITS, PathType, Phase, Split
from sipbench.stats.intervals import clustered_t

LEARNERS: dict[str, type[Adaptation] | None] = {
    "frozen": None,
    "macros": MacroLearner,
    "weights": WeightLearner,
}
HERE = Path()

type Rewards = dict[tuple[Split, Phase, str], list[float]]


class Arm:
    """One arm on one generator seed: what its attempts were rewarded with, over repeats."""

    def __init__(self, name: str, benchmark: SynthBenchmark, folder: Path, budget: int | None) -> None:
        self.name = name
        self.benchmark = benchmark
        self.folder = folder
        self.learner = LEARNERS[name]
        self.path = (self.learner and self.learner.path_type) or PathType.FROZEN
        self.agent = Agent(AGENT_NAME)
        self.evaluated = replace(self.agent, arguments={"budget": budget}) if budget else self.agent
        self.tasks = {task.id: task for task in benchmark.tasks()}
        self.splits = benchmark.splits(0, {})
        self.rewards: Rewards = defaultdict(list)
        self.digests: dict[Path, str] = {}
        self.attempts = 0

    def repeat(self, repeat: int, phases: Sequence[Phase] = tuple(Phase)) -> None:
        """T0, an adaptation, T1, another adaptation, T2; or the first of ``phases``."""
        state = self._folder(repeat, "T0")
        self.digests[state] = tree_digest(state)
        for phase in phases:
            if phase is not Phase.T0:
                state = self._adapted(repeat, phase, state)
            for split in EVALUATION_SPLITS:
                # Drift is compared between T0 and T2 only.
                if split is Split.DRIFT and phase is Phase.T1:
                    continue
                for entry in self.splits.tasks(split):
                    task = self.tasks[entry.id]
                    made = self._attempt(task, split, phase, repeat, state, self.evaluated)
                    assert made.reward is not None
                    self.rewards[split, phase, task.id].append(made.reward)

    def _adapted(self, repeat: int, phase: Phase, previous: Path) -> Path:
        if self.learner is None:
            return previous
        attempts = self._folder(repeat, phase, "attempts")
        entries = self.splits.adapt if phase is Phase.T1 else self.splits.adapt_t2
        for number, entry in enumerate(entries):
            target = attempts / f"{number:04d}"
            (target / "output").mkdir(parents=True)
            task = self.tasks[entry.id]
            made = self._attempt(task, Split.ADAPT, phase, repeat, previous, self.agent, target / "output")
            document = {"task": {"id": task.id, "text": task.text}, "record": {"success": made.success}}
            (target / "attempt.json").write_text(json.dumps(document), encoding="utf-8")
        state = self._folder(repeat, phase, "state")
        learner = self.learner(self.learner.Options(), base=HERE)
        seed = seed_from("sweep", self.name, repeat, phase)
        learner.adapt(AdaptationRequest(attempts, previous, state, phase, repeat, seed))
        self.digests[state] = tree_digest(state)
        return state

    def _attempt(
        self,
        task: Task,
        split: Split,
        phase: Phase,
        repeat: int,
        state: Path,
        agent: Agent,
        workdir: Path | None = None,
    ) -> Attempt:
        self.attempts += 1
        workdir = workdir or self._folder(repeat, "output", str(self.attempts))
        context = AttemptContext(agent, state, self.digests[state], workdir, self.name, split, repeat, 0)
        seed = seed_from("sweep", self.name, repeat, phase, task.id)
        return self.benchmark.run(task, phase, self.path, seed, context=context)

    def _folder(self, repeat: int, *parts: str) -> Path:
        path = self.folder.joinpath(self.name, str(repeat), *parts)
        path.mkdir(parents=True)
        return path

    def level(self, split: Split, phase: Phase) -> float:
        """Mean over tasks of their mean over repeats."""
        return float(
            np.mean([np.mean(self.rewards[split, phase, task.id]) for task in self.splits.tasks(split)])
        )

    def differences(self, split: Split, before: Phase, after: Phase) -> list[float]:
        """Per task, the change of its mean over repeats."""
        return [
            float(
                np.mean(self.rewards[split, after, task.id]) - np.mean(self.rewards[split, before, task.id])
            )
            for task in self.splits.tasks(split)
        ]

    def change(self, split: Split, before: Phase, after: Phase) -> str:
        """The mean change with its 95 % interval."""
        families = [str(task.family) for task in self.splits.tasks(split)]
        found = clustered_t(self.differences(split, before, after), families)
        if found.interval is None:
            return f"{found.estimate:+.2f} (no interval)"
        return f"{found.estimate:+.2f} [{found.interval.low:+.2f}, {found.interval.high:+.2f}]"


def row(seed: int, arm: Arm) -> str:
    cells = [
        str(seed),
        arm.name,
        f"{arm.level(Split.HELDOUT, Phase.T0):.2f}",
        f"{arm.level(Split.REPLAY, Phase.T0):.2f}",
        arm.change(Split.HELDOUT, Phase.T0, Phase.T1),
        arm.change(Split.REPLAY, Phase.T0, Phase.T1),
        arm.change(Split.HELDOUT, Phase.T1, Phase.T2),
        arm.change(Split.DRIFT, Phase.T0, Phase.T2),
    ]
    return f"| {' | '.join(cells)} |"


def changed(arm: Arm) -> str:
    """How many tasks changed from T0 to T1, with the exact interval for their share (Clopper, Pearson)."""
    from scipy.stats import binomtest

    parts = []
    for split in (Split.HELDOUT, Split.REPLAY):
        differences = arm.differences(split, Phase.T0, Phase.T1)
        count = sum(value != 0 for value in differences)
        exact = binomtest(count, len(differences)).proportion_ci(0.95, method="exact")
        parts.append(
            f"{split}: {count} of {len(differences)} tasks changed, "
            f"share in [{exact.low:.3f}, {exact.high:.3f}]"
        )
    return f"{arm.name}: {'; '.join(parts)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "seeds", nargs="*", type=int, default=list(range(10)), help="generator seeds (0 to 9)"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--budget", type=int, help="candidates per evaluation attempt (the agent's default)")
    parser.add_argument("--speed", action="store_true", help="print attempts per second")
    chosen = parser.parse_args()
    print("| seed | arm | held-out T0 | replay T0 | FG | BR | PDS | drift gain |")
    print("|---|---|---|---|---|---|---|---|")
    start, busy, attempts, arms = time.perf_counter(), time.process_time(), 0, []
    for seed in chosen.seeds:
        benchmark = SynthBenchmark(SynthOptions(seed=seed), base=HERE)
        for name in LEARNERS:
            with tempfile.TemporaryDirectory(prefix="synth-sweep-") as folder:
                arm = Arm(name, benchmark, Path(folder), chosen.budget)
                for repeat in range(chosen.repeats):
                    arm.repeat(repeat)
            print(row(seed, arm), flush=True)
            attempts += arm.attempts
            arms.append(arm)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    if chosen.budget:
        print(*map(changed, arms), sep="\n")
    if chosen.speed:
        print(
            f"{attempts} attempts in {seconds:.1f} s, {busy:.1f} s of one core: "
            f"{attempts / busy:.0f} attempts/s per core, files included"
        )


if __name__ == "__main__":
    main()
