"""JSON Schemas (2020-12) of ``eval.json`` and ``result.json``, generated from the models.

``python -m sipbench.cards.checks.schemas`` writes them again, ``--check`` says whether they are stale.
A schema is the first gate only: what needs two fields at once is checked by ``asb validate``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from sipbench.cards.checks.model import EVAL_VERSION, EvalFile
from sipbench.cards.checks.result import RESULT_VERSION, ResultFile

__all__ = ["FORMATS", "generate", "load_schema", "stale", "write"]

FORMATS: Mapping[str, tuple[type[BaseModel], str]] = {
    "eval": (EvalFile, EVAL_VERSION),
    "result": (ResultFile, RESULT_VERSION),
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
    return {"$schema": _DIALECT, "$id": f"urn:sipbench:{name}:{version}", **model.model_json_schema()}


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
