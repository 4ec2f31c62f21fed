"""What a study costs over Harbor itself: ``sip run`` and ``harbor run`` on the same tasks, in turns.

Both make the same number of trials of the agent that does nothing, in the same sandbox, as many at a
time, with layers that are built before; each is a process of its own, from its start to its end. In
turns, so that what else runs on the machine falls on both. Then attempts are made in this process,
to see what each of them leaves in memory.

    python benchmarks/bench_harbor_overhead.py [--trials 40] [--rounds 3] [--attempts 200]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TASKS = ROOT / "examples" / "skills-uplift" / "tasks"
ENVIRONMENT = "sipbench.sandbox.harbor_env:BwrapEnvironment"
GOAL = 1.10
AT_A_TIME = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=40)
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
        # Neither ships skills, so that both build the same layers.
        shutil.copytree(TASKS, place / "tasks", ignore=_only(given.trials))
        overhead(place, given.trials, given.rounds)
        asyncio.run(memory(place, given.attempts))


def _only(count: int):  # type: ignore[no-untyped-def]
    kept = sorted(path.name for path in TASKS.iterdir())[:count]

    def choose(folder: str, names: list[str]) -> set[str]:
        if Path(folder) == TASKS:
            return set(names) - set(kept)
        if Path(folder).name == "skills":
            return {name for name in names if name != ".gitkeep"}
        return set()

    return choose


def overhead(place: Path, trials: int, rounds: int) -> None:
    study = {
        "name": "overhead",
        "benchmark": {"name": "harbor", "tasks": "tasks", "sandbox": "bwrap"},
        "agent": {"name": "nop"},
        "phases": ["T0"],
        "repeats": 1,
        "concurrency": AT_A_TIME,
        "splits": {"sizes": {"heldout": min(trials, 48), "replay": 0, "adapt": 0}},
        "arms": {"nop": {"path_type": "frozen"}},
        "analysis": {"sesoi": 0.1},
    }
    (place / "study.yaml").write_text(json.dumps(study), encoding="utf-8")
    seconds: dict[str, list[float]] = {"harbor run": [], "sip run": []}
    for turn in range(rounds + 1):
        commands = {
            "harbor run": [
                *("harbor", "run", "-p", "tasks", "-a", "nop", "-n", str(AT_A_TIME), "-y", "-q"),
                *("-o", "jobs", "--job-name", f"turn{turn}", "-e", ENVIRONMENT),
            ],
            "sip run": ["sip", "run", "study.yaml", "--out", f"out{turn}", "--json"],
        }
        for name, command in commands.items():
            took = _timed(command, place)
            if turn:  # the first builds the layers
                seconds[name].append(took)
    for name, times in seconds.items():
        each = statistics.median(times) / min(trials, 48)
        print(f"{name:10}  median {statistics.median(times):6.2f} s  {each:.3f} s a trial  {_listed(times)}")
    ratio = statistics.median(a / b for a, b in zip(seconds["sip run"], seconds["harbor run"], strict=True))
    print(f"ratio       {ratio:.2f} (goal: at most {GOAL:.2f})")


def _timed(command: list[str], place: Path) -> float:
    program = Path(sys.executable).parent / command[0]
    begin = time.perf_counter()
    done = subprocess.run(
        [str(program), *command[1:]], cwd=place, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(
            f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}{done.stdout[-2000:]}"
        )
    return time.perf_counter() - begin


def _listed(times: list[float]) -> str:
    return "(" + ", ".join(f"{value:.2f}" for value in times) + ")"


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
