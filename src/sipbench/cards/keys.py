"""The capsule key: the name of a card that is unique in its collection.

``{doi_slug}__{task_id}``, where a card's paper has a DOI; else ``{paper}__{task_id}``. ``task_id`` alone
is ``task_001`` for every paper.
"""

from __future__ import annotations

import hashlib
import re

__all__ = ["MAX_KEY", "capsule_key", "doi_slug", "safe_name"]

MAX_KEY = 120
"""Characters of a key that is made here: file systems allow 255, and exports add to it."""

_RESOLVER = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:)", re.IGNORECASE)


def doi_slug(doi: str) -> str:
    """The DOI in lower case, each character outside ``[a-z0-9]`` one underscore.

    Underscores are neither collapsed nor stripped, since released capsules are named so. The address
    of the resolver is no part of a DOI.
    """
    return re.sub(r"[^a-z0-9]", "_", _RESOLVER.sub("", doi.strip()).lower())


def capsule_key(*, task_id: str, paper: str, doi: str | None) -> str:
    """The key of a card that has no capsule directory to take it from.

    Args:
        task_id: The card's.
        paper: The name of its paper's folder.
        doi: ``crossref_doi``, else the ledger's ``source_doi``, else None.
    """
    key = f"{doi_slug(doi) if doi else paper}__{task_id}"
    if len(key) <= MAX_KEY:
        return key
    mark = hashlib.sha256(key.encode("utf-8")).hexdigest()[:8]
    return f"{key[: MAX_KEY - len(task_id) - 12]}_{mark}__{task_id}"


def safe_name(key: str) -> str:
    """The key as a name for files and registries: ``[A-Za-z0-9][A-Za-z0-9._-]*`` without ``..``."""
    name = re.sub(r"\.{2,}", "_", re.sub(r"[^A-Za-z0-9._-]", "_", key))
    return name if re.match(r"[A-Za-z0-9]", name) else f"t{name}"
