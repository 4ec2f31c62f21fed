"""What an agent state means for a Harbor trial: skills, files that are put in place, another model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ValidationError

from sipbench.benchmarks.harbor.tree import read_text
from sipbench.errors import EngineError
from sipbench.protocol.agent_state import (
    CHECKPOINT,
    DELIVERY,
    MEMORY,
    PROMPT,
    SKILL_FILE,
    SKILLS,
    TASK_SKILLS,
    CheckpointChoice,
    SkillDelivery,
)
from sipbench.protocol.digests import file_digest, skill_digest, tree_digest
from sipbench.protocol.records import SkillRef

__all__ = ["MEMORY_PLACE", "PROMPT_PLACE", "AgentState", "Placed", "read_state"]

MEMORY_PLACE = PurePosixPath("/runtime/memory")
"""Where the files of a memory lie in the environment."""
PROMPT_PLACE = PurePosixPath("/runtime/prompt.md")
"""Where the prompt lies in the environment."""

_NAMED = 20
_KNOWN = (SKILLS, TASK_SKILLS, MEMORY, PROMPT, CHECKPOINT, DELIVERY)


@dataclass(frozen=True, slots=True)
class Placed:
    """A file or folder of the state that is put into the environment.

    Attributes:
        source: Where it is on the host.
        place: Where it goes.
        digest: Of the file or the tree.
        sentence: How the instruction names it.
    """

    source: Path
    place: PurePosixPath
    digest: str
    sentence: str


@dataclass(frozen=True, slots=True)
class AgentState:
    """An agent state, as far as a trial can give it to an agent.

    Attributes:
        skills: Their folders by name, sorted.
        unserved: Whether the state holds skills for tasks, and nothing about this one.
        placed: What is put into the environment beside them.
        model: The model to use; None for the agent's own.
        nothing: Whether the state is empty.
        through_mcp: Whether the skills are served rather than put there.
    """

    skills: Mapping[str, Path] = field(default_factory=dict)
    unserved: bool = False
    placed: tuple[Placed, ...] = ()
    model: str | None = None
    nothing: bool = True
    through_mcp: bool = False

    def refs(self) -> dict[str, SkillRef]:
        """Each skill, by its name, with the digests of its ``SKILL.md`` and of all its files."""
        return {name: _ref(name, folder) for name, folder in self.skills.items()}


def read_state(state: Path, task_folder: str, base: Path) -> AgentState:
    """Read what ``state`` holds for one task.

    Args:
        state: The agent state.
        task_folder: Name of the task's folder.
        base: What a checkpoint's path is relative to.

    Raises:
        EngineError: It holds something that a Harbor agent cannot be given, or is malformed.
    """
    names = sorted(path.name for path in state.iterdir()) if state.is_dir() else []
    if names and not set(names) & set(_KNOWN):
        raise EngineError(
            f"the agent state holds {', '.join(names[:5])}, which a Harbor agent cannot be given; "
            f"known are {', '.join(_KNOWN)}"
        )
    own, shipped = state / SKILLS, state / TASK_SKILLS
    skills = dict(_skills(own)) | dict(_skills(shipped / task_folder))
    return AgentState(
        skills=dict(sorted(skills.items())),
        unserved=shipped.is_dir() and not (shipped / task_folder).is_dir(),
        placed=tuple(_placed(state)),
        model=_model(state / CHECKPOINT, base),
        nothing=not names,
        through_mcp=_delivery(state / DELIVERY) == "mcp",
    )


def _skills(folder: Path) -> Iterator[tuple[str, Path]]:
    if folder.is_dir():
        for inner in sorted(folder.iterdir()):
            if (inner / SKILL_FILE).is_file():
                yield inner.name, inner


def _ref(name: str, folder: Path) -> SkillRef:
    digests = {
        path.relative_to(folder).as_posix(): file_digest(path) for path in folder.rglob("*") if path.is_file()
    }
    tree = skill_digest((path, digest.removeprefix("sha256:")) for path, digest in digests.items())
    return SkillRef(name=name, digest=digests[SKILL_FILE], tree_digest=tree)


def _placed(state: Path) -> Iterator[Placed]:
    memory, prompt = state / MEMORY, state / PROMPT
    files = sorted(path.relative_to(memory).as_posix() for path in memory.rglob("*") if path.is_file())
    if files:
        named = ", ".join(files[:_NAMED]) + (
            f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
        )
        sentence = (
            f"You have a memory of earlier work in the folder {MEMORY_PLACE}: {named}. "
            "Read what may help before you begin."
        )
        yield Placed(memory, MEMORY_PLACE, tree_digest(memory), sentence)
    if prompt.is_file():
        sentence = f"Read {PROMPT_PLACE} before you begin and follow the advice in it."
        yield Placed(prompt, PROMPT_PLACE, file_digest(prompt), sentence)


def _model(path: Path, base: Path) -> str | None:
    if not path.is_file():
        return None
    choice = _document(path, CheckpointChoice)
    return choice.model if choice.path is None else str((base / choice.path).resolve())


def _delivery(path: Path) -> str:
    return _document(path, SkillDelivery).skills if path.is_file() else "files"


def _document[Model: BaseModel](path: Path, model: type[Model]) -> Model:
    try:
        return model.model_validate_json(read_text(path), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        reason = first["msg"].removeprefix("Value error, ")
        raise EngineError(
            f"{path.name} of the agent state: {where + ': ' if where else ''}{reason}"
        ) from None
