"""``python -m sipbench.protocol.schemas [--check]``."""

from __future__ import annotations

import sys

from sipbench.protocol.schemas import SCHEMAS

if __name__ == "__main__":
    sys.exit(SCHEMAS.main("sipbench.protocol.schemas"))
