"""A card, its capsule and its collection, as they are after deviations were read.

The names are those of ``asb-schema``; ``cards/deviations.py`` says what real files write otherwise.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

__all__ = [
    "MAX_TEXT",
    "AvailableArtifact",
    "Card",
    "Claim",
    "EvaluationStrategy",
    "EvidenceSnippet",
    "Model",
    "ProvenanceFile",
    "RelativePath",
    "Result",
    "Rubric",
    "RubricCheck",
    "SourceAnchor",
    "Text",
    "Texts",
]

MAX_TEXT = 20_000
"""Characters in one text field. The longest of a known collection has 1,902; a longer one than this is
no description that an agent could be given."""

MAX_ITEMS = 5_000

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ROOTED = re.compile(r"^(?:[/\\~]|[A-Za-z]:)")


def _printable(value: str) -> str:
    found = _CONTROL.search(value)
    if found:
        raise ValueError(f"holds the control character U+{ord(found[0]):04X}, which no text needs; remove it")
    return value


def _inside(value: str) -> str:
    """A path that stays below the folder it is relative to, and that can be told in one line."""
    if not value.isprintable() or "`" in value:
        raise ValueError(f"{value[:80]!r} holds characters that no file name needs; rename the file")
    if not value.strip() or _ROOTED.match(value) or ".." in re.split(r"[/\\]", value):
        raise ValueError(
            f"{value[:80]!r} does not stay in the folder of the outputs; use a relative path without '..'"
        )
    return value


def _sequence(value: Any) -> Any:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list) else value


type Text = Annotated[str, StringConstraints(max_length=MAX_TEXT), AfterValidator(_printable)]
type RelativePath = Annotated[Text, AfterValidator(_inside)]
"""A path below the folder of a submission."""
type Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=64)]
type Listed[Item] = Annotated[tuple[Item, ...], Field(max_length=MAX_ITEMS), BeforeValidator(_sequence)]
"""A list; null is the empty one, as the schema allows both."""
type Texts = Listed[Text]


class Model(BaseModel):
    """Strict: a number is no text; closed: an unknown key is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )


class EvaluationStrategy(Model):
    """How the outcome is to be judged: lines of a loose grammar, and questions to an expert."""

    direct_checks: Texts = ()
    expert_review: Texts = ()


class AvailableArtifact(Model):
    """A file of the paper's package (the text and its figures; never data)."""

    path: Text
    role: Text
    sha256: Text | None = None
    indexable: bool | None = None


class EvidenceSnippet(Model):
    """A quotation that supports a field of the card: grader-side, since many state the answer."""

    snippet_id: Text
    source_path: Text
    reason: Text
    text: Text


type TaskKind = Literal["reproduction", "analysis", "component_reconstruction", "extension"]
type ProvenanceSource = Literal["published", "preprint", "draft_paper", "local_project"]
type ReproducibilityTier = Literal["certified", "type-checked", "bypassed", "manual-only", "experimental"]


class Card(Model):
    """One paper-grounded task record (``ASBTaskCard``).

    Attributes:
        finding: The answer. It never reaches an agent.
        crossref_doi: The paper; None is normal. The only field that a DOI may be cited from.
        source_package: Holds an absolute path of the machine that made the card; only its base name
            may leave.
        input_from: ``task_id`` of the card of the same paper whose output this one starts from.
    """

    task_id: Key
    title: Text
    source_package: Text
    research_question: Text
    finding: Text
    task_description: Text
    inputs: Texts
    expected_outputs: Texts
    tools: Texts
    skills: Texts
    workflow_description: Text
    evaluation_strategy: EvaluationStrategy
    created_at: Text
    schema_version: Text
    scitask_version: Text

    task_objective: Text | None = None
    domain: Text | None = None
    primary_domain: Text | None = None
    article_type: Text | None = None
    crossref_doi: Text | None = None
    github_name: Text | None = None
    synthesized_from: Text | None = None
    expected_artifact_name: RelativePath | None = None
    input_from: Text | None = None
    run_command: Text | None = None
    run_cwd: Text | None = None
    run_timeout_seconds: float | None = None
    scenario_id: Text | None = None
    project_id: Text | None = None

    subtask_categories: Texts = ()
    domain_knowledge: Texts = ()
    parameters: Texts = ()
    data_accessions: Texts = ()
    keywords: Texts = ()
    subdomains: Texts = ()
    techniques: Texts = ()
    landmark_outputs: Texts = ()
    artifact_refs: Texts = ()
    methodology_summary: Texts = ()
    linked_result_ids: Texts = ()
    section_provenance: Texts = ()
    script_refs: Texts = ()
    missing_information: Texts = ()
    uncertainty_notes: Texts = ()
    review_questions: Texts = ()

    available_artifacts: Listed[AvailableArtifact] = ()
    evidence_snippets: Listed[EvidenceSnippet] = ()

    task_kind: TaskKind | None = None
    provenance_source: ProvenanceSource | None = None
    reproducibility_tier: ReproducibilityTier | None = None

    # What the generator adds to the schema. Only the execution fields are read, and never trusted.
    abstraction_frame: Any = None
    data_in: Any = None
    data_out: Any = None
    prov: Any = None
    resumption_contract: Any = None
    spine_condition_ids: Any = None
    spine_entity_ids: Any = None
    task_inputs: Any = None
    task_outputs: Any = None
    executable: Any = None
    execution_environment: Any = None
    execution_profile: Any = None

    @property
    def objective(self) -> str:
        """``task_objective``, else the title."""
        return (self.task_objective or "").strip() or self.title


class RubricCheck(Model):
    """One entry of a rubric. Its kind, target and value were guessed by a parser: do not run them."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+$", max_length=64)]
    kind: Text
    points: float = Field(gt=0, le=1_000_000)
    source: Text
    target: Any = None
    value: Any = None


class Rubric(Model):
    """``evaluation/review_rubric.json``: ids and points, one entry per direct check, in order."""

    task_id: Text
    rubric_type: Text
    max_score: float
    criteria: EvaluationStrategy
    checks: Listed[RubricCheck]
    review_questions: Texts = ()


class SourceAnchor(Model):
    """Where in the paper a claim stands; ``source_path`` is absolute and must not leave."""

    source_path: Text | None = None
    source_section: Text | None = None
    page: int | None = None
    char_span: Listed[int] = ()
    figure_id: Text | None = None
    table_id: Text | None = None


class Claim(Model):
    """One line of ``ledger/claims.jsonl``: what the paper claims, and where."""

    claim_id: Text
    text: Text
    claim_type: Text | None = None
    source_excerpt: Text | None = None
    source_anchor: SourceAnchor | None = None
    source_type: Text | None = None
    evidence_type: Text | None = None
    trace_status: Text | None = None
    evidence_type_uri: Text | None = None
    source_type_uri: Text | None = None
    super_pattern: Any = None
    source_doi: Text | None = None
    spine_entity_ids: Texts = ()


class Result(Model):
    """One line of ``ledger/results.jsonl``: a result and the claims that it rests on."""

    result_id: Text
    summary: Text
    result_type: Text | None = None
    claim_ids: Texts = ()
    support_status: Text | None = None
    linked_task_ids: Texts = ()
    linked_eval_check_ids: Texts = ()
    task_relevance: Text | None = None


class _ProvenanceEntry(Model):
    path: Text
    source: Text
    kind: Text | None = None
    external_refs: Texts = ()
    created_at: Text | None = None
    jsonpath: Text | None = None


class ProvenanceFile(Model):
    """``artifact_provenance.json``: what a capsule was made of, most of which is not shipped."""

    schema_version: Text
    task_id: Text
    paper_doi: Text | None = None
    generated_at: Text | None = None
    artifacts: Listed[_ProvenanceEntry]
