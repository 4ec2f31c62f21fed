"""Write the tasks of this example anew: ``python generate.py --out FOLDER [--seed N] [--tasks N]``."""

from __future__ import annotations

import argparse
from pathlib import Path

from generator import generate

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Parse the arguments and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="a folder that does not exist")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=4, help="tasks of each family")
    given = parser.parse_args()
    if given.out.exists():
        parser.error(f"{given.out} exists; name a folder that does not")
    made = generate(given.out, HERE / "skills", seed=given.seed, per_family=given.tasks)
    print(f"{len(made)} tasks in {given.out}")


if __name__ == "__main__":
    main()
