"""Skills written for a test."""

from __future__ import annotations

from pathlib import Path

FRONT = """\
name: {name}
description: "Use when a lake is to be measured."
license: CC-BY-4.0
metadata:
  tools: "limnos; R"
"""
BODY = "# Lakes\n\nMeasure it.\n"


def text(name: str = "lake-depth", front: str | None = None, body: str = BODY) -> str:
    return f"---\n{(front if front is not None else FRONT).format(name=name)}---\n{body}"


def skill(root: Path, name: str = "lake-depth", content: str | bytes | None = None) -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    data = text(name) if content is None else content
    (folder / "SKILL.md").write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
    return folder


RAW = """\
---
name: {name}
description: Use when when {name} is needed: it measures.
license: CC-BY-4.0
metadata:
  edam_operation: http://edamontology.org/operation_0337
  edam_topics:
  - http://edamontology.org/topic_0625
  tools:
  - limnos, the old one
  - R
  techniques:
  - sounding
derived_from:
- doi: 10.5555/lakes.1
  title: lakes
evidence_spans:
- a span --- with a rule
claims: []
provenance:
  collection: https://w3id.org/holobiomicslab/asb-skill/collection/lakes/v1
  sources:
  - doi: 10.5555/lakes.1
schema_version: 0.2.0
---

# {name}

---

Body, with a rule and no line feed at its end"""


def raw(name: str) -> str:
    """A skill as collections hold them: useful, and valid for no strict loader."""
    return RAW.replace("{name}", name).replace("is needed: it", "is needed, as it")
