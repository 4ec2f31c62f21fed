"""JSON Schemas (2020-12) of ``eval.json`` and ``result.json``, generated from the models.

``python -m sipbench.cards.checks.schemas`` writes them again, ``--check`` says whether they are stale.
A schema is the first gate only: what needs two fields at once is checked by ``asb validate``.
"""

from __future__ import annotations

from pathlib import Path

from sipbench.cards.checks.model import EVAL_VERSION, EvalFile
from sipbench.cards.checks.result import RESULT_VERSION, ResultFile
from sipbench.protocol.schemafiles import SchemaFiles

__all__ = ["SCHEMAS"]

SCHEMAS = SchemaFiles(
    folder=Path(__file__).parent,
    formats={"eval": (EvalFile, EVAL_VERSION), "result": (ResultFile, RESULT_VERSION)},
)
"""The formats of the typed checks."""
