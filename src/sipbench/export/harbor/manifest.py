"""``task.toml`` of schema 1.4."""

from __future__ import annotations

from typing import Any

from sipbench.cards.checks.submission import OUTPUT
from sipbench.cards.keys import safe_name
from sipbench.cards.leaks.guard import Guard
from sipbench.cards.leaks.traces import clean
from sipbench.export.base import Job
from sipbench.export.harbor.environment import SKILLS, Environment
from sipbench.export.harbor.toml import toml
from sipbench.export.harbor.verifier import timeout_of

__all__ = ["SCHEMA_VERSION", "VERSION", "doi_address", "manifest", "source_package"]

SCHEMA_VERSION = "1.4"
VERSION = "@version@"
"""Stands for the version until the driver knows it."""

_TIERS: dict[str, tuple[float, int, int]] = {
    # compute_tier: seconds for the agent, processors, MiB
    "trivial": (1_800.0, 1, 2_048),
    "light": (3_600.0, 2, 4_096),
    "medium": (7_200.0, 4, 16_384),
    "heavy": (14_400.0, 8, 32_768),
    "hpc": (28_800.0, 16, 65_536),
}


def source_package(job: Job) -> str:
    """The base name of the package that the card was made from; the rest is somebody's folder."""
    return clean(job.card.card.source_package).replace("\\", "/").rstrip("/").rpartition("/")[2]


def doi_address(job: Job) -> str | None:
    """The paper's address, from ``crossref_doi`` alone."""
    doi = (job.card.card.crossref_doi or "").strip().removeprefix("https://doi.org/")
    return f"https://doi.org/{clean(doi)}" if doi else None


def manifest(job: Job, environment: Environment) -> str:
    """The text of ``task.toml``, with :data:`VERSION` in the place of the version."""
    source = doi_address(job)
    document: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    if source:
        document["source"] = source
    document["artifacts"] = [str(OUTPUT)]
    document["task"] = {
        "name": f"{job.org}/{safe_name(job.card.key)}",
        "version": VERSION,
        "description": _description(job),
        "authors": [{"name": name} for name in job.authors],
        "keywords": _keywords(job),
    }
    document["metadata"] = _metadata(job)
    timeout, cpus, memory = _tier(job)
    document["verifier"] = {
        "timeout_sec": timeout_of(job.plan.checks),
        "environment_mode": "separate",
        "environment": {"network_mode": "no-network", "build_timeout_sec": 600.0},
    }
    document["agent"] = {"timeout_sec": timeout}
    document["environment"] = {"build_timeout_sec": 1_800.0, "cpus": cpus, "memory_mb": memory}
    if job.network is not None:
        document["environment"]["network_mode"] = job.network.mode
        if job.network.hosts:
            document["environment"]["allowed_hosts"] = list(job.network.hosts)
    if environment.has_skills:
        document["environment"]["skills_dir"] = SKILLS
    return toml(document)


def _description(job: Job) -> str:
    """``task_objective``, else the title; the title too where the objective states the answer."""
    card = job.card.card
    for text in (card.objective, card.title):
        said = " ".join(clean(text).split())
        if not Guard(job.card).files({"description": said.encode("utf-8")}).blocking:
            return said
    return "A task from a published paper"


def _keywords(job: Job) -> list[str]:
    card = job.card.card
    words = (" ".join(clean(word).split()) for word in (*card.keywords, *card.techniques, *card.tools))
    return list(dict.fromkeys(word for word in words if word))


def _metadata(job: Job) -> dict[str, Any]:
    card = job.card.card
    found = {
        # The unit of clustering: tasks of one paper share data and methods.
        "family": f"{job.card.collection}/{job.card.paper}" if job.card.collection else job.card.paper,
        "capsule_key": job.card.key,
        "collection": job.card.collection,
        "paper": job.card.paper,
        "crossref_doi": card.crossref_doi,
        "card_sha256": job.card.sha256,
        "eval_sha256": job.plan.sha256,
        "card_schema_version": card.schema_version,
        "task_kind": card.task_kind,
        "domain": card.primary_domain or card.domain,
        "reproducibility_tier": card.reproducibility_tier,
        "source_package": source_package(job),
        "section_provenance": list(card.section_provenance),
        "input_from": safe_name(job.before.key) if job.before else None,
    }
    return {key: _cleaned(value) for key, value in found.items() if value not in (None, [], "")}


def _cleaned(value: Any) -> Any:
    if isinstance(value, list):
        return [clean(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def _tier(job: Job) -> tuple[float, int, int]:
    profile = job.card.card.execution_profile
    tier = profile.get("compute_tier") if isinstance(profile, dict) else None
    return _TIERS.get(tier if isinstance(tier, str) else "light", _TIERS["light"])
