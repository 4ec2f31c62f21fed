"""``authoring/``, ``solution/`` and the to-do list: for the author, never for an agent or an image."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sipbench.cards.checks.submission import OUTPUT
from sipbench.cards.leaks.guard import Guard
from sipbench.cards.leaks.secrets import no_finding
from sipbench.cards.leaks.traces import clean
from sipbench.export.base import File, Job, Todo
from sipbench.export.given import SOLVE
from sipbench.export.harbor.manifest import doi_address, source_package

__all__ = ["PROVENANCE", "authoring", "references", "solution", "todo_files"]

PROVENANCE = "authoring/provenance/provenance.json"

_SOLUTION = """\
# The oracle

Nothing stands here yet. Give a reference output, or a script `solve.sh` with what it needs, with `--oracle`
when you export; it has to write its outputs below `/app/output` and to score 1.
"""
_SOLVE = f"""\
#!/bin/sh
# Puts the reference outputs in their place.
set -eu
mkdir -p {OUTPUT}
cp -R /solution/outputs/. {OUTPUT}/
"""


def _json(value: Any) -> File:
    return File.text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def references(job: Job) -> list[dict[str, Any]]:
    """For each check with a value to compare with: where the value comes from, in the card's words."""
    card = job.card
    said = {"finding": card.card.finding}
    said |= {snippet.snippet_id: snippet.text for snippet in card.card.evidence_snippets}
    said |= {claim.claim_id: claim.text for claim in card.claims}
    return [
        {
            "check": check.id,
            "text": check.text,
            "origin": check.origin,
            "sources": [{"id": name, "text": said[name]} for name in check.sources if name in said],
        }
        for check in job.plan.checks.checks
        if check.kind
        in ("value_in_range", "output_matches_reference", "row_count_equals", "contains_substring")
    ]


def authoring(job: Job, inputs: Mapping[str, File]) -> dict[str, File]:
    """``authoring/``: the checks as they were written, and where everything comes from."""
    card = job.card.card
    provenance = {
        "capsule_key": job.card.key,
        "card_sha256": job.card.sha256,
        "eval_sha256": job.plan.sha256,
        "source": doi_address(job),
        "crossref_doi": card.crossref_doi,
        "section_provenance": list(card.section_provenance),
        "source_package": source_package(job),
        "github_name": card.github_name,
        "synthesized_from": card.synthesized_from,
        "title": card.title,
        "finding": card.finding,
        "finding_is_no_reference": no_finding(card),
        "deviations": [str(deviation) for deviation in job.card.deviations],
        "references": references(job),
        "inputs": [{"path": path, "sha256": _sha256(file)} for path, file in sorted(inputs.items())],
        "allowed_leaks": [],
    }
    made = {
        "authoring/eval.json": _json(_evaluation(job)),
        PROVENANCE: _json(_cleaned(provenance)),
        "authoring/provenance/evidence.json": _json(
            _cleaned([item.model_dump(mode="json") for item in card.evidence_snippets])
        ),
        "authoring/provenance/claims.json": _json(_cleaned(_claims(job))),
        "authoring/README.md": File.text(_README),
    }
    if job.strict:
        from sipbench.export.harbor.science import criteria

        made["authoring/science.json"] = _json(_cleaned(criteria(job, references(job))))
    return made


_README = """\
# For the author

Nothing in this folder reaches an agent or an image, and Harbor's digest of the task does not cover it.

- `eval.json`: the checks with the words of the card; edit it where the card's capsule or `--evals` has it.
- `provenance/`: the paper, the finding, the evidence and the claims that reference values come from.
"""


def _evaluation(job: Job) -> dict[str, Any]:
    """The checks; their words cleaned, their parameters as they are."""
    document = job.plan.checks.model_dump(mode="json")
    for check in document["checks"]:
        check["text"] = clean(check["text"])
        check["notes"] = [clean(note) for note in check["notes"]]
    return document


def _sha256(file: File) -> str:
    return hashlib.sha256(file.data).hexdigest()


def _cleaned(value: Any) -> Any:
    """A document whose texts are cleaned, however deep they stand."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {key: _cleaned(item) for key, item in value.items()}
    return value


def _claims(job: Job) -> list[dict[str, Any]]:
    """Claims and results of the ledger, without the folders of the machine that made it."""
    listed = [
        claim.model_dump(mode="json", exclude={"source_anchor": {"source_path"}}) for claim in job.card.claims
    ]
    for result in job.card.results:
        listed.append(result.model_dump(mode="json", include={"result_id", "summary", "claim_ids"}))
    return listed


def solution(job: Job) -> dict[str, File]:
    """``solution/``: the oracle that was given, or a slot for one."""
    if not job.trees.oracle:
        return {"solution/README.md": File.text(_SOLUTION)}
    if SOLVE in job.trees.oracle:
        return {
            f"solution/{path}": File(file.data, file.executable or path == SOLVE)
            for path, file in job.trees.oracle.items()
        }
    made = {f"solution/outputs/{path}": file for path, file in job.trees.oracle.items()}
    return {"solution/solve.sh": File.text(_SOLVE, executable=True), **made}


def todo_files(job: Job, todos: Sequence[Todo], format_: str, upstream: str) -> dict[str, File]:
    """``TODO.json`` and ``TODO.md``. A draft that states the answer is left out: these files are public."""
    guard = Guard(job.card)
    items = []
    for todo in todos:
        draft = clean(todo.draft) if todo.draft else None
        if draft and guard.files({"draft": draft.encode("utf-8")}).blocking:
            draft = None
        items.append(
            {
                "id": todo.id,
                "file": todo.file,
                "field": todo.field,
                "need": clean(todo.need),
                "draft": draft,
                "blocks": todo.blocks,
            }
        )
    document = {
        "format": format_,
        "upstream_commit": upstream,
        "capsule_key": job.card.key,
        "card_sha256": job.card.sha256,
        "items": items,
    }
    return {"TODO.json": _json(document), "TODO.md": File.text(_readable(items))}


_BLOCKS = {
    "load": "Until then nothing can load it",
    "grade": "Until then it cannot be graded",
    "quality": "For a good task",
}


def _readable(items: Iterable[Mapping[str, Any]]) -> str:
    lines = ["# What the author owes"]
    for blocks, title in _BLOCKS.items():
        listed = [item for item in items if item["blocks"] == blocks]
        if listed:
            lines += ["", f"## {title}", ""]
            lines += [
                f"- [ ] `{item['file']}`, {item['field']}: {' '.join(str(item['need']).split())}"
                for item in listed
            ]
    return "\n".join(lines if len(lines) > 1 else [*lines, "", "Nothing."]) + "\n"
