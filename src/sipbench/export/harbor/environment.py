"""``environment/``: a drafted Dockerfile, the inputs, the skills.

The Dockerfile keeps to FROM, WORKDIR, ENV, COPY and RUN, so that it also runs where there is no Docker.
A tool is installed only where the card pins what to install; a name alone is a comment and an open item.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sipbench.cards.checks.submission import OUTPUT
from sipbench.cards.leaks.traces import clean
from sipbench.cards.model import Card
from sipbench.export.base import File, Job, Todo
from sipbench.export.harbor.instruction import INPUTS

__all__ = ["BASE_IMAGE", "SKILLS", "Environment", "environment", "inputs_of"]

BASE_IMAGE = "python:3.12-slim-bookworm"
R_IMAGE = "rocker/r-ver:4.4.2"
SKILLS = "/app/skills"
"""Where an image has the skills that a task ships."""

_DOCKERFILE = "environment/Dockerfile"
_PYTHON = re.compile(r"^(?:python|cpython)(?:\s*\(?(?:>=?|==)?\s*3(?:\.\d+)*\)?)?$", re.IGNORECASE)
_R = re.compile(r"^(?:r|gnu r)(?:\s*\(?(?:>=?|==)?\s*\d+(?:\.\d+)*\)?)?$", re.IGNORECASE)
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._/-]*(?::[A-Za-z0-9._-]+)?(?:@sha256:[0-9a-f]{64})?")
_PINNED = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True)
class Environment:
    """The files of ``environment/``, and what the author owes for them."""

    files: Mapping[str, File]
    todos: tuple[Todo, ...]
    has_skills: bool


def inputs_of(job: Job) -> dict[str, File]:
    """The files that the agent finds: the author's, and the outputs of the card before."""
    return {**job.trees.former, **job.trees.inputs}


def environment(job: Job) -> Environment:
    """The environment of one task."""
    inputs, skills = inputs_of(job), job.trees.skills
    files = {f"environment/inputs/{path}": file for path, file in inputs.items()}
    for name, tree in skills.items():
        files |= {f"environment/skills/{name}/{path}": file for path, file in tree.items()}
    todos = [*_input_todos(job), *_skill_todos(job)]
    if "Dockerfile" in job.trees.environment:
        files |= {f"environment/{path}": file for path, file in job.trees.environment.items()}
    else:
        text, open_ = _dockerfile(job.card.card, has_inputs=bool(inputs), has_skills=bool(skills))
        files[_DOCKERFILE] = File.text(text)
        files |= {f"environment/{path}": file for path, file in job.trees.environment.items()}
        todos += open_
    return Environment(files, tuple(todos), bool(skills))


def _dockerfile(card: Card, *, has_inputs: bool, has_skills: bool) -> tuple[str, list[Todo]]:
    image, todos = _image(card)
    lines = [f"FROM {image}"]
    for number, tool in enumerate(_to_install(card), start=1):
        pinned = bool(_PINNED.search(tool))
        lines.append(f"# TODO: install {tool}{'' if pinned else ' (the card names no version)'}")
        need = f"install {tool} in {_DOCKERFILE}" + (
            "" if pinned else ", at a version that you choose and pin"
        )
        todos.append(Todo(f"environment_tool_{number}", _DOCKERFILE, "RUN", need, draft=tool))
    lines.append("WORKDIR /app")
    if has_inputs:
        lines.append(f"COPY inputs {INPUTS}")
    if has_skills:
        lines.append(f"COPY skills {SKILLS}")
    lines.append(f"RUN mkdir -p {OUTPUT}")
    return "\n".join(lines) + "\n", todos


def _image(card: Card) -> tuple[str, list[Todo]]:
    """The base image: the card's own where it names one, else one with its language."""
    stated = card.execution_environment if isinstance(card.execution_environment, dict) else {}
    named = stated.get("container_image")
    if isinstance(named, str) and _IMAGE.fullmatch(named):
        pinned = "@sha256:" in named or ":" in named
        need = f"see that you trust the image {named}" + ("" if pinned else ", and pin its version")
        return named, [Todo("environment_image", _DOCKERFILE, "FROM", need, draft=named)]
    return (R_IMAGE if any(_R.match(_tool(tool)) for tool in card.tools) else BASE_IMAGE), []


def _tool(text: str) -> str:
    return " ".join(clean(text).split())[:200]


def _to_install(card: Card) -> list[str]:
    """The tools that the base image does not bring."""
    tools = dict.fromkeys(_tool(tool) for tool in card.tools)
    return [tool for tool in tools if tool and not _PYTHON.match(tool) and not _R.match(tool)]


def _input_todos(job: Job) -> list[Todo]:
    todos = []
    name = (job.before.card.expected_artifact_name if job.before else None) or "its outputs"
    if job.before is not None and not job.trees.former and name not in job.trees.inputs:
        need = f"give the outputs of {job.before.key} ({name}) as inputs, or that card's oracle"
        todos.append(Todo("inputs_former", "environment/inputs", "input_from", need))
    if job.dangling is not None:
        need = f"input_from names {clean(job.dangling)[:64]!r}, which is no card: give it as an input"
        todos.append(Todo("inputs_dangling", "environment/inputs", "input_from", need))
    if not job.trees.inputs and job.card.card.inputs:
        need = "give the data that the card's inputs name with --inputs, or let the agent fetch them"
        todos.append(Todo("inputs", "environment/inputs", "inputs", need))
    return todos


def _skill_todos(job: Job) -> list[Todo]:
    missing = [name for name in job.card.card.skills if name not in job.trees.skills]
    if not job.trees.skills or not missing:
        return []
    need = f"{len(missing)} linked skills are not in the folder of skills: {', '.join(missing[:5])}"
    return [Todo("skills", "environment/skills", "skills", need)]
