"""``python -m sipbench.stats.calibrate [--out FILE] [--seed N] [--scale X]``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from sipbench.stats.calibrate.coverage_map import STUDIES, coverage_map
from sipbench.stats.calibrate.document import Calibration, markdown
from sipbench.stats.calibrate.table import ROWS, simulate
from sipbench.stats.calibrate.warning import fit


def main() -> int:
    """Simulate, write the page, and fail if a rule or a warning does not hold."""
    parser = argparse.ArgumentParser(prog="python -m sipbench.stats.calibrate", description=__doc__)
    parser.add_argument("--out", type=Path, help="the page to write; default: print it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the simulated studies")
    options = parser.parse_args()
    if options.scale <= 0:
        parser.error("--scale must be above 0")
    calibration = _measure(options.seed, options.scale)
    page = markdown(calibration)
    if options.out is None:
        sys.stdout.write(page)
    else:
        options.out.write_text(page, encoding="utf-8", newline="\n")
    failures = calibration.failures()
    for failure in failures:
        sys.stderr.write(f"does not hold: {failure}\n")
    return 1 if failures else 0


def _measure(seed: int, scale: float) -> Calibration:
    start = time.perf_counter()
    rows = []
    for index in range(len(ROWS)):
        rows.append(simulate(index, seed, scale))
        sys.stderr.write(f"{time.perf_counter() - start:6.1f} s  {rows[-1].name}\n")
    studies = max(100, round(STUDIES * scale))
    measured = coverage_map(seed, studies)
    sys.stderr.write(f"{time.perf_counter() - start:6.1f} s  coverage map\n")
    return Calibration(tuple(rows), measured, fit(measured), seed, studies)


if __name__ == "__main__":
    sys.exit(main())
