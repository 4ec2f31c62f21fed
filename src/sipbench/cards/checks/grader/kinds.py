"""One small function for each kind of check: a submission and the check in, what was seen out.

Each returns what it saw when the check holds, raises ``Failed`` when it does not, and ``Impossible``
when it cannot be decided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .compare import compare
from .formats import check_format
from .numbers import select, values_of
from .places import Place, matches
from .scripts import run_script
from .tables import container_of, parse_json, read_table
from .verdicts import ERROR, FAIL, PASS, Failed, Impossible, Verdict, reason_of, shown

__all__ = ["EVALUATORS", "EXISTENCE", "Folders", "evaluate"]


@dataclass(frozen=True)
class Folders:
    """Where a check reads.

    Attributes:
        submission: What is graded.
        references: What it is compared with; None where no check needs any.
        run_scripts: Whether programs of the submission may be started.
    """

    submission: Place
    references: Place | None = None
    run_scripts: bool = False


def file_exists(folders: Folders, check: Mapping[str, Any]) -> str:
    """A regular file of at least ``min_bytes`` has the path, or matches the pattern."""
    least = check.get("min_bytes") or 0
    sizes = {path: folders.submission.size(path) for path in matches(folders.submission, check["path"])}
    if not sizes:
        raise Failed(f"no file matches {shown(check['path'])}")
    large = [path for path, size in sizes.items() if size >= least]
    if not large:
        raise Failed(f"{shown(next(iter(sizes)))} is smaller than {least} bytes")
    return f"{shown(large[0])} is there"


def file_format_is(folders: Folders, check: Mapping[str, Any]) -> str:
    """The file parses as the format."""
    check_format(folders.submission, check["path"], check["format"])
    return f"{shown(check['path'])} is {check['format']}"


def contains_substring(folders: Folders, check: Mapping[str, Any]) -> str:
    """The text is in the file; with ``negate``, it is not, though the file is there."""
    text, value = folders.submission.text(check["path"]), check["value"]
    if check.get("ignore_case"):
        text, value = text.casefold(), value.casefold()
    negate = bool(check.get("negate"))
    if negate and not text.strip():
        raise Failed(f"{shown(check['path'])} is empty")
    if (value in text) is negate:
        raise Failed(f"{shown(check['path'])} {'holds' if negate else 'lacks'} the text that is looked for")
    return f"{shown(check['path'])} {'lacks' if negate else 'holds'} the text"


def field_present(folders: Folders, check: Mapping[str, Any]) -> str:
    """All fields are columns of the table, or keys (with a leading slash: pointers) of the document."""
    path = check["path"]
    container = container_of(path, check.get("container"))
    if container == "json":
        document = parse_json(folders.submission.text(path), path)
        missing = [name for name in check["fields"] if not _has(document, name)]
    else:
        columns = set(read_table(folders.submission, path, container).columns)
        missing = [name for name in check["fields"] if name not in columns]
    if missing:
        raise Failed(f"{shown(path)} lacks {len(missing)} of {len(check['fields'])} fields")
    return f"{shown(path)} has all {len(check['fields'])} fields"


def _has(document: Any, name: str) -> bool:
    if name.startswith("/"):
        return values_of(document, name)
    if isinstance(document, list):  # records: each has it
        return bool(document) and all(isinstance(item, dict) and name in item for item in document)
    return isinstance(document, dict) and name in document


def row_count_equals(folders: Folders, check: Mapping[str, Any]) -> str:
    """The number of data rows is, is at least or is at most ``count``."""
    path = check["path"]
    header = check.get("header", True)
    table = read_table(folders.submission, path, container_of(path, check.get("container")), header=header)
    found, count, op = len(table.rows), check["count"], check.get("op", "eq")
    holds = {"eq": found == count, "ge": found >= count, "le": found <= count}.get(op)
    if holds is None:
        raise Impossible(f"unknown op {shown(op)}")
    if not holds:
        raise Failed(f"{shown(path)} has {found} rows")
    return f"{shown(path)} has {found} rows"


def value_in_range(folders: Folders, check: Mapping[str, Any]) -> str:
    """Each number that the selector takes is finite and inside of the bounds."""
    low, high = check.get("min"), check.get("max")
    if (low is None and high is None) or low != low or high != high:
        raise Impossible("the check has no bound")
    inclusive = check.get("inclusive", True)
    values = select(folders.submission, check["path"], check["selector"])
    for value in values:
        above = low is None or value > low or (inclusive and value == low)
        below = high is None or value < high or (inclusive and value == high)
        if not (above and below):
            raise Failed(f"{shown(check['path'])}: {value:g} is outside of the range")
    return f"{len(values)} of {len(values)} numbers are inside of the range"


def output_matches_reference(folders: Folders, check: Mapping[str, Any]) -> str:
    """The file equals the reference under the comparator and its tolerance."""
    if folders.references is None:
        raise Impossible("there is no folder of references")
    return compare(folders.submission, folders.references, check)


def script_runs(folders: Folders, check: Mapping[str, Any]) -> str:
    """The command ends with status 0 in time."""
    if not folders.run_scripts:
        raise Impossible("programs of a submission are not started here")
    return run_script(folders.submission.root, check)


EVALUATORS: dict[str, Callable[[Folders, Mapping[str, Any]], str]] = {
    "file_exists": file_exists,
    "file_format_is": file_format_is,
    "contains_substring": contains_substring,
    "field_present": field_present,
    "row_count_equals": row_count_equals,
    "value_in_range": value_in_range,
    "output_matches_reference": output_matches_reference,
    "script_runs": script_runs,
}
"""The kinds that are decided without a person or a model."""

EXISTENCE = frozenset({"file_exists"})
"""Kinds that an empty file can pass: alone they tell nothing of what a submission holds."""


def evaluate(check: Mapping[str, Any], folders: Folders) -> Verdict:
    """Decide one check; nothing is raised."""
    try:
        evaluator = EVALUATORS.get(check["kind"])
        if evaluator is None:
            raise Impossible(f"unknown kind {shown(check['kind'])}")
        return Verdict(PASS, reason_of(evaluator(folders, check)))
    except Failed as error:
        return Verdict(FAIL, reason_of(str(error)))
    except Impossible as error:
        return Verdict(ERROR, reason_of(str(error)))
    except (RecursionError, MemoryError, OverflowError) as error:
        return Verdict(FAIL, f"a file is too large or nested too deeply ({type(error).__name__})")
    except Exception as error:  # a defect of the grader must not look like a verdict
        return Verdict(ERROR, reason_of(f"{type(error).__name__}: {error}"))
