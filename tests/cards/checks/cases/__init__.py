"""What each kind of check must say: the examples that define it, and that catch an evaluator that lies."""

from __future__ import annotations

# Each module adds its cases as it is imported.
from tests.cards.checks.cases import outputs, references, tables, values
from tests.cards.checks.cases.base import CASES, Case, lay_out

__all__ = ["CASES", "Case", "lay_out", "outputs", "references", "tables", "values"]
