"""``eval.json``: the typed checks of a card.

A check is ``ready``, and then it has all its kind needs, or ``todo``, and then ``missing`` says what an
author owes. Nothing is ever filled in that the card does not say.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from sipbench.cards.checks.selectors import Container, Filled, Selector
from sipbench.cards.files import read_json
from sipbench.cards.load import model_problems
from sipbench.cards.model import Listed, Model, RelativePath, Text, Texts
from sipbench.errors import CardError, RecordError
from sipbench.protocol.versions import upgraded

__all__ = [
    "AUTOMATIC",
    "EVAL_VERSION",
    "Check",
    "CheckBase",
    "ContainsSubstring",
    "EvalFile",
    "ExpertReview",
    "FieldPresent",
    "FileExists",
    "FileFormatIs",
    "LlmJudge",
    "OutputMatchesReference",
    "RowCountEquals",
    "ScriptRuns",
    "Selector",
    "ValueInRange",
    "parse_eval",
    "read_eval",
]

EVAL_VERSION = "1.0.0"

type Origin = Literal["card", "rubric", "author"]
type Status = Literal["ready", "todo"]
type Scope = Literal["output", "repository"]
type Format = Literal[
    "text", "csv", "tsv", "json", "jsonl", "bed", "parquet", "xlsx", "png", "jpeg", "gif", "tiff", "pdf",
    "gzip", "zip", "hdf5",
]  # fmt: skip
type CheckId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+$", max_length=64)]


def _a_file(path: str) -> str:
    if path.endswith(("/", "\\")) or path in (".", "./"):
        raise ValueError(f"{path[:80]!r} names a directory; a check looks at a file")
    return path


def _one_file(path: str) -> str:
    if set("*?[") & set(path):
        raise ValueError(f"{path[:80]!r} is a pattern; only file_exists takes one")
    return path


def _pair(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _needs_in_schema(schema: dict[str, Any], model: type[CheckBase]) -> None:
    """Say in the JSON Schema too that a ready check has all its kind needs."""
    if model.needs:
        filled: dict[str, Any] = {name: {"not": {"enum": [None, []]}} for name in model.needs}
        schema["if"] = {"properties": {"status": {"const": "ready"}}}
        schema["then"] = {"required": list(model.needs), "properties": filled}


type Pattern = Annotated[RelativePath, AfterValidator(_a_file)]
type File = Annotated[RelativePath, AfterValidator(_a_file), AfterValidator(_one_file)]


class CheckBase(Model):
    """What every check has.

    Attributes:
        id: Unique in its file; a rubric's own id is kept.
        points: Its weight in the score, in the rubric's unit.
        text: The line of the card, word for word, or the author's.
        origin: Who asked for it.
        status: Whether it can be decided.
        missing: For ``todo``: the parameters, or the decision, that an author owes.
        scope: ``repository``: it asks about the code of the paper, not about an output.
        sources: Where its values come from: ``finding``, a snippet's or a claim's id.
        notes: Why it is what it is.
    """

    model_config = ConfigDict(json_schema_extra=_needs_in_schema)

    needs: ClassVar[tuple[str, ...]] = ()

    id: CheckId
    points: float = Field(gt=0, le=1_000_000)
    text: Text
    origin: Origin
    status: Status
    missing: Texts = ()
    scope: Scope = "output"
    sources: Texts = ()
    notes: Texts = ()

    @model_validator(mode="after")
    def _is_complete(self) -> CheckBase:
        lacking = [name for name in self.needs if getattr(self, name) in (None, ())]
        if self.status == "ready" and (lacking or self.missing):
            owed = ", ".join(lacking or self.missing)
            raise ValueError(f"status is 'ready', but {owed} is missing; fill it in or make it 'todo'")
        if self.status == "ready" and self.scope == "repository":
            raise ValueError("asks about the repository, which no submission holds; it cannot be 'ready'")
        if self.status == "todo" and not self.missing:
            raise ValueError("status is 'todo', but missing names nothing that is owed")
        return self

    @property
    def is_automatic(self) -> bool:
        """Whether a program decides it, rather than a person or a model."""
        return self.kind in AUTOMATIC  # type: ignore[attr-defined]

    @property
    def counts(self) -> bool:
        """Whether its points are part of the score."""
        return self.status == "ready" and self.is_automatic

    def parameters(self) -> dict[str, Any]:
        """What the grader needs: kind, id, points and the kind's own fields, without what is unset."""
        own = self.model_dump(mode="json", exclude=set(CheckBase.model_fields) - {"id", "points"})
        return {name: value for name, value in own.items() if value is not None}


class ScriptRuns(CheckBase):
    """A command ends with status 0 in time, in a copy of the submission."""

    needs: ClassVar[tuple[str, ...]] = ("cmd",)
    kind: Literal["script_runs"] = "script_runs"
    cmd: Listed[Filled] = ()
    timeout_s: float = Field(default=60.0, gt=0, le=3_600)
    cwd: RelativePath | None = None


class FileExists(CheckBase):
    """A regular file has the path, or matches the pattern."""

    needs: ClassVar[tuple[str, ...]] = ("path",)
    kind: Literal["file_exists"] = "file_exists"
    path: Pattern | None = None
    min_bytes: int = Field(default=0, ge=0)


class FileFormatIs(CheckBase):
    """The file parses as the format, whatever it is called."""

    needs: ClassVar[tuple[str, ...]] = ("path", "format")
    kind: Literal["file_format_is"] = "file_format_is"
    path: File | None = None
    format: Format | None = None


class ContainsSubstring(CheckBase):
    """The text is in the file; with ``negate``, it is not, though the file has content."""

    needs: ClassVar[tuple[str, ...]] = ("path", "value")
    kind: Literal["contains_substring"] = "contains_substring"
    path: File | None = None
    value: Filled | None = None
    negate: bool = False
    ignore_case: bool = False


class FieldPresent(CheckBase):
    """All fields are columns of the table or keys of the document; one with a slash first is a pointer."""

    needs: ClassVar[tuple[str, ...]] = ("path", "fields")
    kind: Literal["field_present"] = "field_present"
    path: File | None = None
    fields: Listed[Filled] = ()
    container: Container | None = None


class RowCountEquals(CheckBase):
    """The number of data rows is (``eq``), is at least (``ge``) or is at most (``le``) ``count``."""

    needs: ClassVar[tuple[str, ...]] = ("path", "count")
    kind: Literal["row_count_equals"] = "row_count_equals"
    path: File | None = None
    count: int | None = Field(default=None, ge=0)
    op: Literal["eq", "ge", "le"] = "eq"
    header: bool = True
    container: Container | None = None


class ValueInRange(CheckBase):
    """Every number that the selector takes is finite and between the bounds."""

    needs: ClassVar[tuple[str, ...]] = ("path", "selector")
    kind: Literal["value_in_range"] = "value_in_range"
    path: File | None = None
    selector: Selector | None = None
    min: float | None = None
    max: float | None = None
    inclusive: bool = True

    @model_validator(mode="after")
    def _has_bounds(self) -> ValueInRange:
        if self.status == "ready" and self.min is None and self.max is None:
            raise ValueError("status is 'ready', but there is neither min nor max")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is larger than max")
        return self


class OutputMatchesReference(CheckBase):
    """The file equals the grader's reference: bytes, text, number, JSON document or table.

    A number holds when ``|value - reference| <= atol + rtol * |reference|``, or, with ``digits``, when
    it is within half a unit of that significant digit.
    """

    needs: ClassVar[tuple[str, ...]] = ("path", "reference", "comparator")
    kind: Literal["output_matches_reference"] = "output_matches_reference"
    path: File | None = None
    reference: File | None = None
    comparator: Literal["bytes", "text", "number", "json", "table"] | None = None
    rtol: float = Field(default=0.0, ge=0)
    atol: float = Field(default=0.0, ge=0)
    digits: int | None = Field(default=None, ge=1, le=17)
    key_columns: Listed[Filled] = ()
    selector: Selector | None = None
    container: Container | None = None

    @model_validator(mode="after")
    def _has_one_tolerance(self) -> OutputMatchesReference:
        if self.digits is not None and (self.rtol or self.atol):
            raise ValueError("has digits and rtol or atol; one of them has to go")
        return self


class ExpertReview(CheckBase):
    """A question that a person answers."""

    needs: ClassVar[tuple[str, ...]] = ("question",)
    kind: Literal["expert_review"] = "expert_review"
    question: Text | None = None


class LlmJudge(CheckBase):
    """A question that a model answers on a scale; reported beside the score, never in it."""

    needs: ClassVar[tuple[str, ...]] = ("question", "threshold")
    kind: Literal["llm_judge"] = "llm_judge"
    question: Text | None = None
    path: File | None = None
    reference: File | None = None
    scale: Annotated[tuple[float, float], BeforeValidator(_pair)] = (0.0, 1.0)
    threshold: float | None = None

    @model_validator(mode="after")
    def _threshold_is_on_the_scale(self) -> LlmJudge:
        low, high = self.scale
        if not low < high:
            raise ValueError("scale: the first number has to be the smaller one")
        if self.threshold is not None and not low <= self.threshold <= high:
            raise ValueError("threshold is not on the scale")
        return self


type Check = Annotated[
    ScriptRuns
    | FileExists
    | FileFormatIs
    | ContainsSubstring
    | FieldPresent
    | RowCountEquals
    | ValueInRange
    | OutputMatchesReference
    | ExpertReview
    | LlmJudge,
    Field(discriminator="kind"),
]

AUTOMATIC = frozenset(
    {
        "script_runs", "file_exists", "file_format_is", "contains_substring", "field_present",
        "row_count_equals", "value_in_range", "output_matches_reference",
    }
)  # fmt: skip
"""The kinds that a program decides."""


class EvalFile(Model):
    """``eval.json``.

    Attributes:
        card_sha256: Digest of the card's bytes that the checks were made for.
        checks: Paths are relative to the submission; references to the folder of this file.
    """

    schema_version: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")] = EVAL_VERSION
    capsule_key: Text
    task_id: Text
    card_sha256: Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
    checks: Listed[Check]

    @model_validator(mode="after")
    def _ids_are_unique(self) -> EvalFile:
        twice = [name for name, count in Counter(check.id for check in self.checks).items() if count > 1]
        if twice:
            raise ValueError(f"two checks are called {twice[0]}")
        return self

    def scored(self) -> list[Check]:
        """The checks that make the score: automatic and ready."""
        return [check for check in self.checks if check.counts]


def parse_eval(document: dict[str, Any], name: str) -> EvalFile:
    """The checks of a document of any version that can be read.

    Raises:
        CardError: It is none; the message names the first problems, with ``name`` as the file.
    """
    try:
        lifted = upgraded(document, current=EVAL_VERSION, upgrades={}, what="eval.json")
        return EvalFile.model_validate(dict(lifted))
    except RecordError as error:
        raise CardError(f"{name}: {error}") from None
    except ValidationError as error:
        problems = list(model_problems(name, error))
        more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise CardError("; ".join(map(str, problems[:3])) + more) from None


def read_eval(path: Path) -> EvalFile:
    """Read ``eval.json``.

    Raises:
        CardError: It cannot be read or is invalid.
    """
    return parse_eval(read_json(path).value, str(path))
