"""JSON Schemas (2020-12) of the persisted formats, generated from the models.

``python -m sipbench.protocol.schemas`` writes them again, ``--check`` says whether they are stale.
A schema is the first gate only: that ids are unique, times ordered and numbers finite is checked by
``sip validate``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.records import RunRecord
from sipbench.protocol.schemafiles import SchemaFiles
from sipbench.protocol.summary import Summary
from sipbench.protocol.versions import (
    ADAPTATION_RECORD_VERSION,
    RUN_RECORD_VERSION,
    SPLITS_VERSION,
    SUMMARY_VERSION,
)
from sipbench.protocol.vocabulary import Status

__all__ = ["SCHEMAS"]


def _graded(schema: dict[str, Any]) -> None:
    """A score exists exactly where there is a grade."""
    graded = [status.value for status in Status if status.is_graded]
    rule = {
        "if": {"properties": {"status": {"enum": graded}}},
        "then": {"required": ["score"], "properties": {"score": {"type": "number"}}},
        "else": {"properties": {"score": {"type": "null"}, "success": {"type": "null"}}},
    }
    schema["allOf"] = [rule]


SCHEMAS = SchemaFiles(
    folder=Path(__file__).parent,
    formats={
        "runs": (RunRecord, RUN_RECORD_VERSION),
        "adaptations": (AdaptationRecord, ADAPTATION_RECORD_VERSION),
        "splits": (SplitManifest, SPLITS_VERSION),
        "summary": (Summary, SUMMARY_VERSION),
    },
    amendments={"runs": _graded},
)
"""The formats of a study directory."""
