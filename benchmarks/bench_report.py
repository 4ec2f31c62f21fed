"""Time, size and peak memory of the report of a large study.

    python benchmarks/bench_report.py [--tasks N] [--repeats N] [--keep DIR]

A frozen and an adapted arm, T0 and T1, four in five tasks held out and the rest replay, no logs. The report
is made in a process of its own. Goals for 10,000 tasks: within 15 s, at most 10 MB.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

GOAL_SECONDS = 15.0
GOAL_MB = 10.0

MEASURE = """
import resource, sys, time
from pathlib import Path
start = time.perf_counter()
from sipbench.report.reading import read_study
from sipbench.report.page import report_page
study = read_study(Path(sys.argv[1]))
read = time.perf_counter() - start
page = report_page([study])
total = time.perf_counter() - start
Path(sys.argv[1], "report.html").write_text(page, encoding="utf-8")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
peak /= 1024 if sys.platform == "linux" else 1024 * 1024
print(study.frame.height, read, total, len(page.encode()) / 1e6, peak)
"""

CHANCES = {("frozen", "T0"): 0.4, ("frozen", "T1"): 0.4, ("learner", "T0"): 0.4, ("learner", "T1"): 0.55}


def records(tasks: int, repeats: int) -> Iterator[dict[str, object]]:
    """The attempts: ``tasks`` tasks, two arms, two phases."""
    draw = random.Random(20260501)
    number = 0
    digest = f"sha256:{0:064x}"
    for repeat in range(repeats):
        for (arm, phase), chance in CHANCES.items():
            for task in range(tasks):
                split = "replay" if task % 5 == 0 else "heldout"
                number += 1
                hour, minute, second = number // 3600 % 24, number // 60 % 60, number % 60
                score = float(draw.random() < chance)
                yield {
                    "schema_version": "1.0.0",
                    "run_id": f"{number:032x}",
                    "benchmark_name": "made",
                    "benchmark_version": "1.0.0",
                    "benchmark_split": split,
                    "phase": phase,
                    "path_type": "frozen" if arm == "frozen" else "external",
                    "arm": arm,
                    "model_name": "none",
                    "agent_name": "made",
                    "agent_version": "1",
                    "task_id": f"{split}-{task:06d}",
                    "family": f"family-{task // 4:06d}",
                    "repeat": repeat,
                    "attempt_index": 0,
                    "seed": repeat,
                    "status": "graded",
                    "score": score,
                    "success": score == 1.0,
                    "token_total": draw.randrange(500, 50_000),
                    "skills_given": [],
                    "skills_opened": [],
                    "task_digest": f"sha256:{task:064x}",
                    "agent_digest": digest,
                    "agent_state_digest": digest,
                    "grader_version": "1",
                    "engine": "made 1",
                    "started_at": f"2026-05-01T{hour:02d}:{minute:02d}:{second:02d}Z",
                    "tries": [],
                    "metadata": {},
                }


def write(folder: Path, tasks: int, repeats: int) -> None:
    """A study directory without a lock: its attempts alone."""
    encode = json.JSONEncoder(separators=(",", ":")).encode
    with (folder / "runs.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(encode(record) + "\n" for record in records(tasks, repeats))


def main() -> None:
    """Generate, measure, print."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="folder for the study and its report; default: temporary")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write(folder, options.tasks, options.repeats)
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(folder)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(done.stderr)
        attempts, read, total, size, peak = map(float, done.stdout.split())
    print(f"report of {options.tasks:,} tasks, {attempts:,.0f} attempts:")
    print(f"  {total:.1f} s (goal {GOAL_SECONDS:.0f}), of which reading and summary {read:.1f} s")
    print(f"  {size:.1f} MB (goal {GOAL_MB:.0f}); {peak:,.0f} MiB of memory")


if __name__ == "__main__":
    main()
