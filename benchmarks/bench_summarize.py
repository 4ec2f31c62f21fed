"""Time and peak memory of a summary over a million records, trusted and validated.

    python benchmarks/bench_summarize.py [--records N] [--rounds N] [--peer CHECKOUT] [--keep DIR]

Each measurement has a process of its own. A bare polars scan of the file and the trusted summary take turns,
so that other work on the machine meets both; what is printed of them is the median over the rounds.
``--peer`` is a checkout of the public SIP-Bench project (Yuchong-W/SIP_Bench): its v0.1.0 aggregator
then reads the same attempts, as v0.1.0 records, in the same run. Goals: trusted within 15 s and within three
scans, validated within 60 s, both within 2 GiB.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from statistics import median
from typing import NamedTuple

GOALS = {"trusted": 15.0, "validated": 60.0}
GOAL_MIB = 2048
GOAL_SCANS = 3

ARMS = ("frozen", "external", "parameter", "oracle")
CELLS = [(phase, split) for phase in ("T0", "T1", "T2") for split in ("heldout", "replay", "drift")]
CELLS.append(("T1", "adapt"))
REPEATS = 5
ATTEMPTS = 3

OURS = """
import resource, sys, time
from pathlib import Path
from sipbench import summarize
from sipbench.protocol.settings import AnalysisSettings
start = time.perf_counter()
found = summarize(
    Path(sys.argv[1]), settings=AnalysisSettings(cost_unit="tokens"), trusted=sys.argv[2] == "trusted"
)
seconds = time.perf_counter() - start
assert found.records.total == int(sys.argv[3]), found.records
"""
SCAN = """
import resource, sys, time
import polars
start = time.perf_counter()
found = polars.scan_ndjson(sys.argv[1]).collect()
seconds = time.perf_counter() - start
assert found.height == int(sys.argv[2]), found.height
"""
PEER = """
import resource, sys, time
sys.path.insert(0, sys.argv[2])
from sip_bench.metrics import aggregate_runs, load_jsonl
start = time.perf_counter()
found = aggregate_runs(load_jsonl(sys.argv[1]))
seconds = time.perf_counter() - start
assert len(found) == 4, len(found)
"""
REPORT = """
used = resource.getrusage(resource.RUSAGE_SELF)
peak = used.ru_maxrss / (1024 if sys.platform == "linux" else 1024 * 1024)
print(seconds, peak, used.ru_utime + used.ru_stime)
"""


def places(n: int) -> Iterator[tuple[int, int, int, int, int]]:
    """(arm, repeat, cell, task, attempt) of ``n`` attempts."""
    tasks = n // (len(ARMS) * REPEATS * len(CELLS) * ATTEMPTS) + 1
    design = product(range(len(ARMS)), range(REPEATS), range(len(CELLS)), range(tasks), range(ATTEMPTS))
    # Round robin over the arms, so that a short file still holds all of them.
    return islice(sorted(design, key=lambda place: place[3:]), n)


def records(n: int) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
    """``n`` attempts, each as a current and as a v0.1.0 record."""
    rng = random.Random(20260501)
    for number, (arm, repeat, cell, task, attempt) in enumerate(places(n)):
        phase, split = CELLS[cell]
        score = round(rng.random(), 3)
        tokens = rng.randrange(500, 50_000)
        shared: dict[str, object] = {
            "run_id": f"sha256:{number:064x}",
            "benchmark_name": "synth",
            "benchmark_version": "1.0.0",
            "benchmark_split": split,
            "phase": phase,
            "path_type": ARMS[arm],
            "model_name": "none",
            "agent_name": "search",
            "agent_version": "1",
            "task_id": f"{split}-{task:05d}",
            "attempt_index": attempt,
            "seed": repeat,
            "score": score,
            "success": score > 0.99,
            "token_input": tokens - 100,
            "token_output": 100,
            "token_total": tokens,
            "tool_calls_total": tokens // 1000,
            "memory_reads": 0,
            "memory_writes": 0,
            "human_interventions": 0,
            "wall_clock_seconds": round(rng.uniform(1, 900), 6),
            "started_at": "2026-05-01T09:30:00.000Z",
            "finished_at": "2026-05-01T09:45:00.000Z",
            "metadata": {"trial": number % 4},
        }
        digest = f"sha256:{task:064x}"
        current = {
            "schema_version": "1.0.0",
            **shared,
            "arm": ARMS[arm],
            "family": f"{split}-family-{task // 3:05d}",
            "concept": None,
            "repeat": repeat,
            "attempt_seed": number,
            "status": "graded",
            "reward": score,
            "usage_source": "engine",
            "agent_digest": digest,
            "agent_state_digest": digest,
            "task_digest": digest,
            "grader_version": "1",
            "engine": "synth 1",
            "skills_given": [],
            "tries": [],
        }
        yield current, {"schema_version": "0.1.0", **shared}


def write(folder: Path, n: int) -> tuple[Path, Path]:
    """The two files of the same attempts."""
    current, old = folder / "runs.jsonl", folder / "runs-v0.jsonl"
    encode = json.JSONEncoder(separators=(",", ":")).encode
    with current.open("w", encoding="utf-8") as new_file, old.open("w", encoding="utf-8") as old_file:
        for new_record, old_record in records(n):
            new_file.write(encode(new_record) + "\n")
            old_file.write(encode(old_record) + "\n")
    return current, old


class Measured(NamedTuple):
    """What one process took: seconds by the clock, peak MiB, seconds of processor time."""

    seconds: float
    mib: float
    processor: float

    def __str__(self) -> str:
        return f"{self.seconds:6.1f} s, {self.processor:6.1f} s of processor time, {self.mib:6,.0f} MiB"


def measure(code: str, *arguments: str) -> Measured:
    """Run a piece of code in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    return Measured(*map(float, done.stdout.split()))


def in_turns(path: Path, records: int, rounds: int) -> Measured:
    """Measure and print scan and trusted summary; what the summary took."""
    scans, trusted = [], []
    for _ in range(rounds):
        scans.append(measure(SCAN, str(path), str(records)))
        trusted.append(measure(OURS, str(path), "trusted", str(records)))
    scan, summary = (Measured(*map(median, zip(*taken, strict=True))) for taken in (scans, trusted))
    print(f"      scan: {scan} (polars, all columns, nothing computed)")
    print(f"   trusted: {summary} (goals {GOALS['trusted']:.0f} s, {GOAL_MIB:,} MiB)")
    pairs = list(zip(trusted, scans, strict=True))
    clock = [ours.seconds / bare.seconds for ours, bare in pairs]
    processor = median(ours.processor / bare.processor for ours, bare in pairs)
    print(
        f"            = {median(clock):.2f} scans by the clock (goal {GOAL_SCANS}; {min(clock):.2f} to"
        f" {max(clock):.2f} in {rounds} rounds), {processor:.2f} by processor time, which other work"
        " distorts less"
    )
    return summary


def main() -> None:
    """Generate, measure, print."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5, help="of scan and trusted summary")
    parser.add_argument("--peer", type=Path, help="checkout of the public SIP-Bench project")
    parser.add_argument("--keep", type=Path, help="folder for the generated files; default: a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        current, old = write(folder, options.records)
        print(f"{options.records:,} records, {current.stat().st_size / 2**20:,.0f} MiB")
        took = {"trusted": in_turns(current, options.records, options.rounds)}
        took["validated"] = measure(OURS, str(current), "validated", str(options.records))
        print(f" validated: {took['validated']} (goals {GOALS['validated']:.0f} s, {GOAL_MIB:,} MiB)")
        if options.peer is None:
            print("      peer: no checkout given (--peer), so no comparison with the v0.1.0 aggregator")
            return
        peer = measure(PEER, str(old), str(options.peer / "src"))
        ratios = ", ".join(f"{mode} takes {took[mode].seconds / peer.seconds:.2f} of that" for mode in GOALS)
        print(f"      peer: {peer}; {ratios}")


if __name__ == "__main__":
    main()
