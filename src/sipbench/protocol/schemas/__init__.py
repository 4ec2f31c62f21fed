"""JSON Schemas (2020-12) of the persisted formats, generated from the models.

``python -m sipbench.protocol.schemas`` writes them again, ``--check`` says whether they are stale.
A schema is the first gate only: that ids are unique, times ordered and numbers finite is checked by
``sip validate``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.records import RunRecord
from sipbench.protocol.summary import Summary
from sipbench.protocol.versions import (
    ADAPTATION_RECORD_VERSION,
    RUN_RECORD_VERSION,
    SPLITS_VERSION,
    SUMMARY_VERSION,
)
from sipbench.protocol.vocabulary import Status

__all__ = ["FORMATS", "generate", "load_schema", "stale", "write"]

FORMATS: Mapping[str, tuple[type[BaseModel], str]] = {
    "runs": (RunRecord, RUN_RECORD_VERSION),
    "adaptations": (AdaptationRecord, ADAPTATION_RECORD_VERSION),
    "splits": (SplitManifest, SPLITS_VERSION),
    "summary": (Summary, SUMMARY_VERSION),
}
"""The persisted formats: model and current version."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_FOLDER = Path(__file__).parent


def load_schema(name: str) -> dict[str, Any]:
    """The shipped schema of a format.

    Args:
        name: A key of ``FORMATS``.
    """
    text = files(__package__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    return cast("dict[str, Any]", json.loads(text))


def generate(name: str) -> dict[str, Any]:
    """The schema of a format, made from its model."""
    model, version = FORMATS[name]
    schema = {"$schema": _DIALECT, "$id": f"urn:sipbench:{name}:{version}", **model.model_json_schema()}
    if model is RunRecord:
        schema["allOf"] = [_graded()]
    return schema


def _graded() -> dict[str, Any]:
    """A score exists exactly where there is a grade."""
    graded = [status.value for status in Status if status.is_graded]
    return {
        "if": {"properties": {"status": {"enum": graded}}},
        "then": {"required": ["score"], "properties": {"score": {"type": "number"}}},
        "else": {"properties": {"score": {"type": "null"}, "success": {"type": "null"}}},
    }


def _text(name: str) -> str:
    return json.dumps(generate(name), indent=2, ensure_ascii=False) + "\n"


def stale(folder: Path = _FOLDER) -> list[str]:
    """The formats whose schema in ``folder`` is not the one of the model."""
    return [name for name in FORMATS if _read(folder / f"{name}.schema.json") != _text(name)]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def write(folder: Path = _FOLDER) -> list[Path]:
    """Write all schemas into ``folder`` and return their paths."""
    paths = []
    for name in FORMATS:
        path = folder / f"{name}.schema.json"
        path.write_text(_text(name), encoding="utf-8", newline="\n")
        paths.append(path)
    return paths
