"""``python -m sipbench.cards.checks.schemas [--check]``."""

from __future__ import annotations

import argparse
import sys

from sipbench.cards.checks.schemas import stale, write


def main() -> int:
    """Write the schemas, or check them."""
    parser = argparse.ArgumentParser(prog="python -m sipbench.cards.checks.schemas", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if one is stale")
    if parser.parse_args().check:
        old = stale()
        if old:
            sys.stderr.write(f"stale schemas: {', '.join(old)}; run `make schemas`\n")
        return 1 if old else 0
    for path in write():
        sys.stdout.write(f"{path.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
