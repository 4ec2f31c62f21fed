"""The stricter conditions of Terminal-Bench-Science, and its implementation rubric by name.

The names are those of public copies of the rubrics of harbor-framework/terminal-bench-science and of its
sibling Terminal-Bench 3, and the one that the documentation of ASB names; the current rubric decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sipbench.cards.leaks.secrets import no_finding
from sipbench.export.base import Job, Todo
from sipbench.export.harbor.verifier import is_telling

__all__ = ["CRITERIA", "conditions", "criteria"]

_SCIENCE = (
    "verifiable", "well_specified", "solvable", "difficult", "scientifically_grounded", "outcome_verified",
    "anti_cheat_robustness", "task_security", "functional_verification", "deterministic_reproducible",
    "essential_difficulty", "test_instruction_alignment", "novel", "agentic", "reviewable",
    "instruction_clarity", "solution_quality", "separate_verifier_configured", "environment_hygiene",
    "structured_data_schema", "typos", "difficulty_explanation_quality", "solution_explanation_quality",
    "verification_explanation_quality", "category_and_tags", "task_name", "resource_configuration",
    "task_readme", "expert_time_estimate", "task_toml_schema", "no_extraneous_files",
)  # fmt: skip
_SIBLING = (
    "artifact_efficiency", "verifier_execution_isolation", "ctrf_reporting", "do_not_modify_enforced",
    "binary_reward", "unambiguous", "instructions_self_contained",
)  # fmt: skip
CRITERIA = (*_SCIENCE, *_SIBLING, "ground_truth_provenance")
"""The 39 criteria, by name."""

_MET = {
    "separate_verifier_configured": "[verifier].environment_mode is 'separate', without network",
    "binary_reward": "the grader writes exactly 0 or 1",
    "ctrf_reporting": "the grader writes /logs/verifier/ctrf.json",
    "verifier_execution_isolation": "programs of a submission run as a user that owns nothing",
    "artifact_efficiency": "only /app/output travels to the verifier",
    "task_toml_schema": "harbor lint knows every field",
}


def criteria(job: Job, references: list[dict[str, Any]]) -> dict[str, Any]:
    """The rubric's criteria with what this export can say about each; the rest is open.

    Args:
        job: The card and its checks.
        references: For each check with a reference value, where that value comes from.
    """
    listed: list[dict[str, Any]] = []
    for name in CRITERIA:
        entry: dict[str, Any] = {"criterion": name, "state": "open", "evidence": None}
        if name in _MET:
            entry |= {"state": "met by construction", "evidence": _MET[name]}
        if name == "ground_truth_provenance":
            reason = no_finding(job.card.card)
            entry |= {
                "state": "open" if reason else "prefilled",
                "evidence": reason or _provenance(job, references),
            }
        listed.append(entry)
    return {"rubric": "Terminal-Bench-Science implementation rubric", "criteria": listed}


def _provenance(job: Job, references: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "crossref_doi": job.card.card.crossref_doi,
        "section_provenance": list(job.card.card.section_provenance),
        "finding": job.card.card.finding,
        "references": references,
    }


def conditions(job: Job) -> Iterator[Todo]:
    """What stands between a task and the stricter conditions; each stops grading until it is met."""
    if not job.trees.oracle:
        need = "give an oracle with --oracle: it is required, and has to score 1"
        yield Todo("science_oracle", "solution/solve.sh", "oracle", need, blocks="grade")
    if not job.authors:
        need = "name the expert who answers for the task with --author"
        yield Todo("science_author", "task.toml", "task.authors", need, blocks="grade")
    if not is_telling(job.plan.checks):
        need = "write a check that tells a right output from a wrong one"
        yield Todo("science_checks", "authoring/eval.json", "checks", need, blocks="grade")
    reason = no_finding(job.card.card)
    if reason:
        need = f"the card has no reference result ({reason}); choose another card"
        yield Todo("science_finding", "authoring/provenance", "finding", need, blocks="grade")
    need = "argue each open criterion of authoring/science.json, 'novel' among them"
    yield Todo("science_rubric", "authoring/science.json", "criteria", need)
