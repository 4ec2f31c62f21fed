"""What a family of tasks hands over, and how a task is written in the layout of SkillsBench v1."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Made", "write_task"]

ANSWER = "/app/answer.txt"

TOML = """version = "1.0"

[metadata]
family = "{family}"
concept = "{concept}"
difficulty = "easy"

[agent]
timeout_sec = 120.0

[verifier]
timeout_sec = 60.0

[environment]
network_mode = "no-network"
cpus = 1
memory_mb = 512
"""
DOCKERFILE = """FROM python:3.12-slim
WORKDIR /app
COPY data /app/
COPY skills /root/.claude/skills
"""
TEST = """#!/bin/bash
# 1 if the answer is the expected one, up to white space at the ends of lines.
mkdir -p /logs/verifier
if [ -f /app/answer.txt ] && sed 's/[[:space:]]*$//' /app/answer.txt | cmp -s - /tests/expected.txt
then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""
SOLVE = """#!/bin/bash
cat > /app/answer.txt <<'ANSWER'
{answer}ANSWER
"""


@dataclass(frozen=True, slots=True)
class Made:
    """One task of a family.

    Attributes:
        instruction: What the agent is told, up to where the answer goes.
        data: Files in its working directory.
        answer: The expected lines.
    """

    instruction: str
    data: Mapping[str, str]
    answer: tuple[str, ...]


def write_task(folder: Path, family: str, concept: str, made: Made, skill: Path | None) -> None:
    """Write one task; ``skill`` is what it ships."""
    answer = "".join(f"{line}\n" for line in made.answer)
    assert answer
    assert "\nANSWER\n" not in answer
    files = {
        "task.toml": TOML.format(family=family, concept=concept),
        "instruction.md": f"{made.instruction}\n\nWrite the answer to {ANSWER}.\n",
        "environment/Dockerfile": DOCKERFILE,
        "tests/test.sh": TEST,
        "tests/expected.txt": answer,
        "solution/solve.sh": SOLVE.format(answer=answer),
        **{f"environment/data/{name}": text for name, text in made.data.items()},
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        path.chmod(0o755 if path.suffix == ".sh" else 0o644)
    shipped = folder / "environment" / "skills"
    shipped.mkdir()
    if skill is None:
        # Git keeps no empty folder, and the Dockerfile copies this one.
        (shipped / ".gitkeep").touch()
    else:
        shutil.copytree(skill, shipped / skill.name, ignore=shutil.ignore_patterns("__pycache__"))
