"""``python -m sipbench.cards.checks.schemas [--check]``."""

from __future__ import annotations

import sys

from sipbench.cards.checks.schemas import SCHEMAS

if __name__ == "__main__":
    sys.exit(SCHEMAS.main("sipbench.cards.checks.schemas"))
