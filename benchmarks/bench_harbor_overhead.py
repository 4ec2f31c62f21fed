"""What a study costs over Harbor itself: ``sip run`` and ``harbor run`` on the same tasks, in turns.

Both make the same number of trials of the agent that does nothing, in the same sandbox, as many at a
time, with layers that are built before; each is a process of its own, from its start to its end. In
turns, so that what else runs on the machine falls on both. Trials that last a tenth of a second are the
hardest case for the ratio: nearly all of it is overhead. Two sizes tell what a command costs once from
what each trial costs. Processor time is that of the command itself, without the boxes that it starts, and
says something on a busy machine, too. Then attempts are made in this process, to see what each of them
leaves in memory.

    python benchmarks/bench_harbor_overhead.py [--trials 40] [--rounds 3] [--attempts 200]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TASKS = ROOT / "examples" / "skills-uplift" / "tasks"
ENVIRONMENT = "sipbench.sandbox.harbor_env:BwrapEnvironment"
GOAL = 1.10
AT_A_TIME = 2
FEW = 4


@dataclass(frozen=True)
class Took:
    """Seconds by the clock, and of processor time."""

    wall: float
    processor: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=40, choices=range(2 * FEW, 49), metavar="8..48")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--attempts", type=int, default=200)
    given = parser.parse_args()
    try:
        import dockerfile  # noqa: F401
        import harbor  # noqa: F401
    except ImportError:
        print("bench_harbor_overhead: skipped, it needs the extra 'harbor'")
        return
    os.environ.setdefault("HARBOR_TELEMETRY", "off")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    with tempfile.TemporaryDirectory(prefix="sipbench-bench-") as folder:
        place = Path(folder)
        for trials in (FEW, given.trials):
            make_study(place / str(trials), trials)
        if given.rounds:
            overhead(place, (FEW, given.trials), given.rounds)
        if given.attempts:
            asyncio.run(memory(place / str(given.trials), given.attempts))


def _only(count: int):  # type: ignore[no-untyped-def]
    kept = sorted(path.name for path in TASKS.iterdir())[:count]

    def choose(folder: str, names: list[str]) -> set[str]:
        if Path(folder) == TASKS:
            return set(names) - set(kept)
        if Path(folder).name == "skills":
            return {name for name in names if name != ".gitkeep"}
        return set()

    return choose


def make_study(place: Path, trials: int) -> None:
    """A folder with so many tasks and the study of them."""
    # None ships skills, so that both commands build the same layers.
    shutil.copytree(TASKS, place / "tasks", ignore=_only(trials))
    study = {
        "name": "overhead",
        "benchmark": {"name": "harbor", "tasks": "tasks", "sandbox": "bwrap"},
        "agent": {"name": "nop"},
        "phases": ["T0"],
        "repeats": 1,
        "concurrency": AT_A_TIME,
        "splits": {"sizes": {"heldout": trials, "replay": 0, "adapt": 0}},
        "arms": {"nop": {"path_type": "frozen"}},
        "analysis": {"sesoi": 0.1},
    }
    (place / "study.yaml").write_text(json.dumps(study), encoding="utf-8")


def overhead(place: Path, sizes: tuple[int, int], rounds: int) -> None:
    took: dict[tuple[str, int], list[Took]] = {}
    for turn in range(rounds + 1):
        commands = {
            "harbor run": [
                *("harbor", "run", "-p", "tasks", "-a", "nop", "-n", str(AT_A_TIME), "-y", "-q"),
                *("-o", "jobs", "--job-name", f"turn{turn}", "-e", ENVIRONMENT),
            ],
            "sip run": ["sip", "run", "study.yaml", "--out", f"out{turn}", "--json"],
        }
        for trials in reversed(sizes):
            for name, command in commands.items():
                one = _timed(command, place / str(trials))
                if turn:  # the first builds the layers
                    took.setdefault((name, trials), []).append(one)
    many = sizes[1]
    for name in ("harbor run", "sip run"):
        print(f"{name:11} {many} trials  {_listed([one.wall for one in took[name, many]])}")
        for label, which in (("clock", "wall"), ("processor", "processor")):
            once, each = _line(took, name, sizes, which)
            print(f"  {label:10} {once:5.2f} s once, {each * 1000:4.0f} ms a trial")
    pairs = zip(took["sip run", many], took["harbor run", many], strict=True)
    ratio = statistics.median(sip.wall / harbor.wall for sip, harbor in pairs)
    print(f"ratio       {ratio:.2f}, {AT_A_TIME} at a time (goal: at most {GOAL:.2f})")


def _line(
    took: dict[tuple[str, int], list[Took]], name: str, sizes: tuple[int, int], which: str
) -> tuple[float, float]:
    """What the command costs once, and for each trial: the line through the medians of both sizes."""
    few, many = (statistics.median(getattr(one, which) for one in took[name, size]) for size in sizes)
    each = (many - few) / (sizes[1] - sizes[0])
    return few - each * sizes[0], each


def _timed(command: list[str], place: Path) -> Took:
    program = Path(sys.executable).parent / command[0]
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [str(program), *command[1:]], cwd=place, capture_output=True, text=True, check=False
    )
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(
            f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}{done.stdout[-2000:]}"
        )
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _listed(times: list[float]) -> str:
    return f"median {statistics.median(times):.2f} s of " + ", ".join(f"{value:.2f}" for value in times)


async def memory(place: Path, attempts: int) -> None:
    from sipbench.benchmarks.base import Agent, AttemptContext
    from sipbench.benchmarks.harbor.benchmark import HarborBenchmark
    from sipbench.protocol.digests import EMPTY_TREE
    from sipbench.protocol.vocabulary import PathType, Phase, Split

    benchmark = HarborBenchmark(HarborBenchmark.Options(tasks="tasks", sandbox="bwrap"), base=place)
    tasks = benchmark.tasks()
    (place / "empty").mkdir()
    gate, starts, sizes = asyncio.Semaphore(AT_A_TIME), [], []

    async def one(number: int) -> None:
        async with gate:
            workdir = place / "attempts" / f"{number:032x}"
            workdir.mkdir(parents=True)
            context = AttemptContext(
                Agent("nop"), place / "empty", EMPTY_TREE, workdir, "a", Split.HELDOUT, 0, number
            )
            done = await benchmark.run(
                tasks[number % len(tasks)], Phase.T0, PathType.FROZEN, 1, context=context
            )
            starts.append(done.metadata["harbor"]["seconds"]["environment_setup"])
            shutil.rmtree(workdir)
            sizes.append(_resident())

    await asyncio.gather(*(one(number) for number in range(attempts)))
    quarter = max(1, attempts // 4)
    early, late = statistics.median(sizes[quarter : 2 * quarter]), statistics.median(sizes[-quarter:])
    grown = (late - early) / (attempts - 2 * quarter or 1) / 1024
    start = statistics.median(starts)
    print(f"attempts    {attempts}: start in a cached layer, median {start:.3f} s (goal: 0.1 s)")
    print(
        f"memory      {early / 2**20:.1f} MiB in the second quarter, {late / 2**20:.1f} MiB in the last: "
        f"{grown:+.1f} KiB an attempt"
    )


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
