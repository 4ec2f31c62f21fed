"""Schema versions of the formats that sipbench writes, and what happens to other ones.

Every persisted format carries a ``schema_version`` of the form ``major.minor.patch``. A reader
accepts every version of its own major, and older majors for which an upgrade exists (a pure
function from document to document); it refuses unknown majors. Reading never rewrites a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sipbench.errors import RecordError

__all__ = [
    "ADAPTATION_RECORD_VERSION",
    "JOURNAL_VERSION",
    "LOCK_VERSION",
    "RUN_RECORD_VERSION",
    "SPLITS_VERSION",
    "SUMMARY_VERSION",
    "Upgrade",
    "upgraded",
]

ADAPTATION_RECORD_VERSION = "1.0.0"
JOURNAL_VERSION = "1.1.0"
LOCK_VERSION = "1.1.0"
RUN_RECORD_VERSION = "1.1.0"
SUMMARY_VERSION = "1.2.0"
SPLITS_VERSION = "1.0.0"

type Upgrade = Callable[[Mapping[str, Any]], dict[str, Any]]

_VERSION = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})")


def upgraded(
    document: Mapping[str, Any], *, current: str, upgrades: Mapping[int, Upgrade], what: str
) -> Mapping[str, Any]:
    """Bring ``document`` to the major version of ``current``.

    Args:
        document: The document as read.
        current: The version this release writes.
        upgrades: For an older major, the function that lifts a document to the current one.
        what: The format's name, for the message.

    Returns:
        The same document when its major is the current one, else its upgraded copy.

    Raises:
        RecordError: The version is missing, malformed or of a major this release cannot read.
    """
    version = document.get("schema_version")
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if match is None:
        raise RecordError(f"schema_version: expected a version such as {current!r}, found {version!r}")
    major = int(match.group(1))
    if major == int(current.partition(".")[0]):
        return document
    if major not in upgrades:
        raise RecordError(
            f"schema_version: this release reads {what} {current} and older, found {version}; "
            "use the release of sipbench that wrote it or a newer one"
        )
    return upgrades[major](document)
