"""Attempts of the embedded benchmark per second: as a study, and bare, so that what the runner adds is seen.

    python benchmarks/bench_attempts.py [--concurrency N] [--keep DIR]

Runs the study of ``sip demo`` in a process of its own and asks its journal and records when what
happened. Goal: the whole demo within 20 s on 2 cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

GOAL = 20.0
SIP = "from sipbench.cli.sip import main; main()"


def run_demo(folder: Path, concurrency: int) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", SIP, "-q", "demo", "--out", str(folder)],
        env={**os.environ, "SIPBENCH_CONCURRENCY": str(concurrency)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--concurrency", type=int, default=2)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="Keep the study here.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary) / "demo"
        whole = run_demo(folder, arguments.concurrency)
        report(folder, whole, arguments.concurrency)


def report(folder: Path, whole: float, concurrency: int) -> None:
    events = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    records = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    at = [datetime.fromisoformat(event["at"]) for event in events]
    working = (at[-1] - at[0]).total_seconds()
    bare = sum(record["wall_clock_seconds"] for record in records)
    added = (working * concurrency - bare) / len(records)
    print(f"demo: {len(records)} attempts in {whole:.1f} s  goal {GOAL:.0f} s")
    print(f"  attempts and adaptations {working:.1f} s, start and summary {whole - working:.1f} s")
    print(f"  {len(records) / working:.0f} attempts per second, {concurrency} at a time")
    print(f"  {1000 * bare / len(records):.2f} ms an attempt in its process, {1000 * added:.2f} ms around it")


if __name__ == "__main__":
    main()
