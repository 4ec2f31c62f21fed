"""Options of the benchmark ``harbor``."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from sipbench.benchmarks.base import Options
from sipbench.protocol.records import Name

__all__ = ["HarborOptions"]


def _one_group(value: str) -> str:
    try:
        if re.compile(value).groups == 1:
            return value
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    raise ValueError("expected a regular expression with one group, which is the family")


class HarborOptions(Options):
    """Which tasks, how they are run, and how their rewards are read."""

    tasks: Name = Field(description="A Harbor task, or a folder of them; relative to the study file.")
    include: tuple[Name, ...] = Field(
        default=(), description="Folder names or patterns (`lake-*`) to take; default: all."
    )
    exclude: tuple[Name, ...] = Field(default=(), description="Folder names to leave out, unread.")
    benchmark_name: Name = Field(default="harbor", description="What records call the benchmark.")
    benchmark_version: Name = Field(default="0", description="And its version.")

    family_metadata: Name | None = Field(
        default="family", description="Key of [metadata] in task.toml that names a task's family."
    )
    family_pattern: Annotated[str, AfterValidator(_one_group)] | None = Field(
        default=None, description="Else searched in the folder's name; its group is the family."
    )
    stratify: Name | None = Field(
        default=None, description="Key of the tasks' metadata of which each split gets its share."
    )
    keep_together: tuple[Name, ...] = Field(
        default=(), description="Keys of the tasks' metadata whose tasks stay on one side, as families do."
    )

    sandbox: Name = Field(
        default="auto",
        description="`docker`, `podman`, `bwrap`, another environment of Harbor, or `module:Class`; "
        "`auto`: Docker where it answers, else bwrap.",
    )
    sandbox_options: dict[str, Any] = Field(
        default_factory=dict, description="Its own options, as `--ek` of Harbor."
    )
    environment: dict[str, str] = Field(
        default_factory=dict,
        description="Variables inside of the environment; `${NAME}` is the host's value.",
    )
    agent_environment: dict[str, str] = Field(
        default_factory=dict, description="Variables of the agent (keys of models); `${NAME}` likewise."
    )
    python_path: tuple[Name, ...] = Field(
        default=(), description="Folders with modules of agents; relative to the study file."
    )

    skills: Literal["auto", "inject", "image"] = Field(
        default="auto",
        description="How skills reach an agent: `inject` (Harbor uploads them and tells the agent), `image` "
        "(they take the place of the task's own in its image), or what the agent can take.",
    )
    seed_argument: Name | None = Field(
        default=None, description="The argument by which the agent takes a seed; without it it has none."
    )

    reward_key: Name | None = Field(
        default=None, description="The primary reward, where verifiers issue more than one."
    )
    reward_range: tuple[float, float] = Field(default=(0.0, 1.0), description="Lowest and highest reward.")
    agent_errors: tuple[Name, ...] = Field(
        default=(), description="Names of further exceptions that are the agent's doing."
    )

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        low, high = self.reward_range
        if not low < high:
            raise ValueError(f"reward_range: {low:g} is not below {high:g}")
        return self
