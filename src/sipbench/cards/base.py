"""What the neighbours of this floor may use of ``cards``: files nobody has checked, and shipped schemas."""

from sipbench.cards.files import read_bytes, read_json, read_yaml
from sipbench.cards.schema import schema_problems

__all__ = ["read_bytes", "read_json", "read_yaml", "schema_problems"]
