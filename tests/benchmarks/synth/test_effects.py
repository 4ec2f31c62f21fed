"""What the benchmark is for: gain and forgetting emerge from a bounded search, and from nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.synth_sweep import Arm
from sipbench.benchmarks.synth import agent as module
from sipbench.benchmarks.synth.benchmark import SynthBenchmark, SynthOptions
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats.intervals import Interval, clustered_t

ROOT = Path(__file__).parents[3]
EARLY = (Phase.T0, Phase.T1)


def ran(name: str, folder: Path, *, repeats: int, budget: int | None = None, sizes: int = 40) -> Arm:
    options = SynthOptions(heldout=sizes, replay=sizes, drift=0)
    arm = Arm(name, SynthBenchmark(options, base=folder), folder, budget)
    for repeat in range(repeats):
        arm.repeat(repeat, EARLY)
    return arm


@pytest.fixture(scope="module")
def arms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Arm]:
    """The shipped seed, three repeats, up to T1."""
    folder = tmp_path_factory.mktemp("arms")
    return {name: ran(name, folder, repeats=3) for name in ("frozen", "macros", "weights")}


def interval(arm: Arm, split: Split) -> Interval:
    families = [str(task.family) for task in arm.splits.tasks(split)]
    found = clustered_t(arm.differences(split, *EARLY), families).interval
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["macros", "weights"])
def test_learners_gain_on_related_tasks(arms: dict[str, Arm], name: str) -> None:
    assert interval(arms[name], Split.HELDOUT).low > 0.2


@pytest.mark.parametrize("name", ["macros", "weights"])
def test_learners_forget_unrelated_tasks(arms: dict[str, Arm], name: str) -> None:
    assert interval(arms[name], Split.REPLAY).high < -0.05


def test_weights_forget_more_than_macros(arms: dict[str, Arm]) -> None:
    assert interval(arms["weights"], Split.REPLAY).high < interval(arms["macros"], Split.REPLAY).low


@pytest.mark.parametrize("split", [Split.HELDOUT, Split.REPLAY])
def test_without_learning_nothing_changes_but_by_chance(arms: dict[str, Arm], split: Split) -> None:
    found = interval(arms["frozen"], split)
    assert found.contains(0)
    assert found.width > 0


def test_arms_start_alike(arms: dict[str, Arm]) -> None:
    assert all(arm.level(Split.HELDOUT, Phase.T0) < 0.1 for arm in arms.values())
    assert all(arm.level(Split.REPLAY, Phase.T0) > 0.85 for arm in arms.values())


def test_the_table_in_the_documentation_is_what_comes_out(arms: dict[str, Arm]) -> None:
    text = (ROOT / "docs" / "synth.md").read_text(encoding="utf-8")
    for name, arm in arms.items():
        levels = [f"{arm.level(split, Phase.T0):.2f}" for split in (Split.HELDOUT, Split.REPLAY)]
        changes = [arm.change(split, *EARLY) for split in (Split.HELDOUT, Split.REPLAY)]
        assert " | ".join(["| 7", name, *levels, *changes]) in text


@pytest.mark.parametrize("name", ["macros", "weights"])
def test_with_a_budget_that_exhausts_the_space_both_effects_vanish(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Keeping what was computed makes this a second rather than ten; it changes no result.
    monkeypatch.setattr(module, "_MOST_STATES", 10**9)
    arm = ran(name, tmp_path, repeats=1, budget=60_000, sizes=20)
    module._graphs.clear()
    for split in (Split.HELDOUT, Split.REPLAY):
        changed = sum(value != 0 for value in arm.differences(split, *EARLY))
        # Not necessarily none: a cheaper program may fit the shown pairs and miss hidden ones.
        assert changed <= 1
        assert arm.level(split, Phase.T1) > 0.95


PROGRAM = """
import sys
from pathlib import Path
from benchmarks.synth_sweep import Arm, SynthBenchmark, SynthOptions
from sipbench.protocol.digests import json_digest
from sipbench.protocol.vocabulary import Phase
folder = Path(sys.argv[1])
for name in ("macros", "weights"):
    options = SynthOptions(seed=3, adapt=16, heldout=8, replay=8, drift=4)
    arm = Arm(name, SynthBenchmark(options, base=folder), folder, None)
    arm.repeat(0)
    print(json_digest(sorted([*map(str, key), values] for key, values in arm.rewards.items())))
    print(*sorted(arm.digests.values()))
"""


def test_every_process_comes_to_the_same(tmp_path: Path) -> None:
    printed = set()
    for seed in ("0", "1234"):
        folder = tmp_path / seed
        folder.mkdir()
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(folder)],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        printed.add(done.stdout)
    assert len(printed) == 1
    assert len(printed.pop().split()) == 8


def test_naming_the_package_loads_neither_generator_nor_learners() -> None:
    code = (
        "import sys, sipbench.benchmarks.synth as synth;"
        "print(any(name.startswith('sipbench.benchmarks.synth.') for name in sys.modules));"
        "synth.SynthBenchmark, synth.MacroLearner, synth.WeightLearner;"
        "print(any(name in sys.modules for name in ('scipy', 'polars', 'numpy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_package_has_no_other_names() -> None:
    import sipbench.benchmarks.synth as synth

    with pytest.raises(AttributeError, match="has no attribute 'Other'"):
        _ = synth.Other
