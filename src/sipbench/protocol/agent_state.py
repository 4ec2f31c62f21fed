"""What an agent state holds, by name: where adaptations put things and benchmarks look for them.

::

    skills/<name>/SKILL.md                      a skill, with all its files
    task-skills/<task folder>/<name>/SKILL.md   skills that a task ships, for that task alone
    memory/                                     files that the agent may read
    prompt.md                                   advice that the agent is pointed to
    checkpoint.json                             the model to use instead of the agent's own
    delivery.json                               how the skills reach the agent, where not as files

Everything is optional, an empty state is the agent as it came. What a benchmark cannot give to an
agent it refuses; other names belong to the benchmark that wrote them.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from sipbench.protocol.records import Digest, Name

__all__ = [
    "AGENT_STATE_VERSION",
    "CHECKPOINT",
    "DELIVERY",
    "MEMORY",
    "PROMPT",
    "SKILLS",
    "SKILL_FILE",
    "TASK_SKILLS",
    "CheckpointChoice",
    "SkillDelivery",
    "Through",
]

AGENT_STATE_VERSION = "1.0.0"

SKILLS = "skills"
TASK_SKILLS = "task-skills"
MEMORY = "memory"
PROMPT = "prompt.md"
CHECKPOINT = "checkpoint.json"
DELIVERY = "delivery.json"

SKILL_FILE = "SKILL.md"
"""The file that makes a folder a skill."""


type Through = Literal["files", "mcp"]
"""How skills reach an agent: as folders before it, or served by the Skills extension of MCP."""


class SkillDelivery(BaseModel):
    """The document in ``delivery.json``; without it skills are files.

    Attributes:
        skills: How they reach the agent.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Annotated[str, StringConstraints(pattern=r"^1\.\d{1,6}\.\d{1,6}$")] = AGENT_STATE_VERSION
    skills: Through


class CheckpointChoice(BaseModel):
    """The document in ``checkpoint.json``: a model by name, or by a path with its digest.

    Attributes:
        model: The name that the agent is given.
        path: A file or folder instead; relative to the study file. It is what the agent is given, made
            absolute; the digest says which weights those were.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Annotated[str, StringConstraints(pattern=r"^1\.\d{1,6}\.\d{1,6}$")] = AGENT_STATE_VERSION
    model: Name | None = None
    path: Name | None = None
    digest: Digest | None = Field(default=None, description="Of what lies at `path`.")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.model is None) == (self.path is None):
            raise ValueError("name either a `model` or a `path`")
        if (self.path is None) != (self.digest is None):
            raise ValueError("a `path` goes with its `digest`")
        return self
