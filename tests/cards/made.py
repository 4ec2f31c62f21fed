"""Made-up cards, capsules and collections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sipbench.cards.load import LoadedCard, load_card

FINDING = "Rainfall explains 62.5 percent of the yearly variance in lake depth across all nine basins."
CHECKS = [
    "file_exists: fit.csv is among the outputs",
    "value_in_range: explained variance is between 0.60 and 0.65",
    "The slope has a plausible sign.",
]


def card(**changes: Any) -> dict[str, Any]:
    """A card's document; ``None`` as a value stands as null, ``...`` leaves the key out."""
    document: dict[str, Any] = {
        "task_id": "task_001",
        "title": "Relate lake depth to rainfall",
        "source_package": "/home/someone/papers/lakes",
        "research_question": "How much of lake depth does rainfall explain?",
        "finding": FINDING,
        "task_description": "Fit depth on rainfall and report the share of explained variance.",
        "inputs": ["rain.csv: yearly rainfall per basin", "depth.csv: yearly lake depth per basin"],
        "expected_outputs": ["A table with slope and explained variance"],
        "expected_artifact_name": "fit.csv",
        "tools": ["Python"],
        "skills": ["linear-regression"],
        "workflow_description": "Join the tables, fit a line, write the table.",
        "evaluation_strategy": {"direct_checks": list(CHECKS), "expert_review": ["Is a line adequate?"]},
        "created_at": "2026-01-01T00:00:00Z",
        "schema_version": "0.18.0",
        "scitask_version": "0.1.1",
        "crossref_doi": "10.5555/Lakes.1",
        "evidence_snippets": [
            {
                "snippet_id": "ev_001",
                "source_path": "paper",
                "reason": "traced",
                "text": f"[results] {FINDING}: 'rain accounts for 62.5% of the variance'",
            }
        ],
    }
    document |= changes
    return {key: value for key, value in document.items() if value is not ...}


def rubric(checks: list[str] | None = None, **changes: Any) -> dict[str, Any]:
    listed = CHECKS if checks is None else checks
    entries = [
        {"id": f"pf_{n:03d}", "kind": "file_exists", "points": 2.0, "source": "programmatic_fallback"}
        for n in range(1, len(listed) + 1)
    ]
    document = {
        "task_id": "task_001",
        "rubric_type": "mvp_review_rubric",
        "max_score": 2.0 * len(listed),
        "criteria": {"direct_checks": list(listed), "expert_review": ["Is a line adequate?"]},
        "checks": entries,
        "review_questions": [],
    }
    return document | changes


CLAIM = {
    "claim_id": "claim_001",
    "text": "Rainfall explains 62.5 percent of the variance.",
    "source_doi": None,
}
RESULT = {"result_id": "result_001", "summary": "Rainfall explains most of it.", "claim_ids": ["claim_001"]}


def put(path: Path, value: Any) -> Path:
    """Write JSON, JSON lines (a list of objects in a .jsonl) or text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        text = "".join(json.dumps(line) + "\n" for line in value)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def collection(
    root: Path, *cards: dict[str, Any], paper: str = "lakes", capsules: bool = True, name: str = "hydrology"
) -> list[Path]:
    """A collection with the given cards and their capsules; the files of the cards."""
    home = root / name / "v1"
    files = []
    for document in cards or (card(),):
        task = document["task_id"]
        files.append(put(home / "benchmark" / "cards" / paper / f"{task}.json", document))
        if capsules:
            capsule = home / "capsules" / paper / f"10_5555_lakes_1__{task}"
            checks = document["evaluation_strategy"]["direct_checks"]
            put(capsule / "evaluation" / "review_rubric.json", rubric(checks, task_id=task))
            put(capsule / "ledger" / "claims.jsonl", [CLAIM])
            put(capsule / "ledger" / "results.jsonl", [RESULT])
    return files


def loaded(root: Path, **changes: Any) -> LoadedCard:
    """One card of a made-up collection, loaded."""
    return load_card(collection(root, card(**changes))[0])
