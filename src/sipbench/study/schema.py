"""The JSON Schema of the study file, for editors that complete and check while one writes.

``python -m sipbench.study.schema`` writes it again; ``--check`` says whether it is stale. The options
of benchmarks and adaptations are their own, so the schema leaves them open; ``sip plan`` checks them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sipbench.study.config import StudyConfig

__all__ = ["PATH", "generate"]

PATH = Path(__file__).with_name("study.schema.json")


def generate() -> str:
    """The schema's text, made from the model."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:sipbench:study:1",
        **StudyConfig.model_json_schema(),
    }
    # What the model takes beside its main form: one number for every split, one word for a choice.
    properties = schema["properties"]
    properties["attempts"] = {"anyOf": [{"type": "integer", "minimum": 1}, properties["attempts"]]}
    adaptation = schema["$defs"]["ArmConfig"]["properties"]["adaptation"]
    adaptation["anyOf"].append({"type": "string"})
    by = schema["$defs"]["T2Config"]["properties"]["by"]
    by["anyOf"].append({"enum": ["adaptation", "drift"]})
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Write the schema, or check it."""
    if "--check" in arguments:
        fresh = PATH.exists() and PATH.read_text(encoding="utf-8") == generate()
        if not fresh:
            sys.stderr.write("stale schema: study; run `make schemas`\n")
        return 0 if fresh else 1
    PATH.write_text(generate(), encoding="utf-8", newline="\n")
    sys.stdout.write(f"{PATH.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
