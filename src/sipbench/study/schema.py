"""The JSON Schema of the study file, for editors that complete and check while one writes.

``python -m sipbench.study.schema`` writes it again; ``--check`` says whether it is stale. The options
of benchmarks and adaptations are their own, so the schema leaves them open; ``sip plan`` checks them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_args

from sipbench.protocol.schemafiles import SchemaFiles
from sipbench.study.config import Exposure, StudyConfig

__all__ = ["SCHEMAS"]


def _short_forms(schema: dict[str, Any]) -> None:
    """What the model takes beside its main form: one number for every split, one word for a choice."""
    properties = schema["properties"]
    properties["attempts"] = {"anyOf": [{"type": "integer", "minimum": 1}, properties["attempts"]]}
    adaptation = schema["$defs"]["ArmConfig"]["properties"]["adaptation"]
    adaptation["anyOf"].append({"type": "string"})
    by = schema["$defs"]["T2Config"]["properties"]["by"]
    by["anyOf"].append({"enum": list(get_args(Exposure))})


SCHEMAS = SchemaFiles(
    folder=Path(__file__).parent,
    formats={"study": (StudyConfig, "1")},
    amendments={"study": _short_forms},
)
"""The study file, which a person writes: it carries no version of its own."""

if __name__ == "__main__":
    sys.exit(SCHEMAS.main("sipbench.study.schema"))
