"""TOML as this export writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomli_w

__all__ = ["toml"]


def toml(document: Mapping[str, Any]) -> str:
    """A document as TOML, in the order of its keys."""
    return tomli_w.dumps(document, indent=2)
