"""How long ``sip --help`` takes: the least of several starts, in a process of its own each.

    python benchmarks/bench_start_up.py [--starts N]

Goal: 0.3 s. Beside it stands a bare start of the same interpreter, which is what a machine costs anyway.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from statistics import median

GOAL = 0.3
CALLS = {
    "python -c pass": ["-c", "pass"],
    "sip --help": ["-c", "from sipbench.cli.sip import main; main()", "--help"],
    "sip run --help": ["-c", "from sipbench.cli.sip import main; main()", "run", "--help"],
}


def seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--starts", type=int, default=10)
    starts = parser.parse_args().starts
    for name, arguments in CALLS.items():
        seconds(arguments)  # compiles what is not compiled yet
        found = [seconds(arguments) for _ in range(starts)]
        goal = f"  goal {GOAL:.2f} s" if name == "sip --help" else ""
        print(f"{name:16s} least {min(found):.3f} s  median {median(found):.3f} s{goal}")


if __name__ == "__main__":
    main()
