"""The arms of a study: who attempts, how each may improve, and whether that makes sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sipbench import plugins
from sipbench.adaptation.base import Adaptation
from sipbench.benchmarks.base import Agent, Benchmark, Limits, options_document
from sipbench.errors import ConfigError
from sipbench.protocol.vocabulary import PathType
from sipbench.study.config import AgentChoice, ArmConfig, LimitsConfig
from sipbench.study.guard import guarded
from sipbench.study.identity import ArmIdentity
from sipbench.study.load import LoadedStudy
from sipbench.study.plan import ArmShape

__all__ = ["Arm", "resolve_arms"]


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm, ready to run.

    Attributes:
        adaptation: What makes its agent states; None for arms that keep the empty one.
        kind: The adaptation's registered name; None without one.
        options: The adaptation's options, resolved, as plain JSON.
        inputs_digest: Digest of what the adaptation reads outside of the study; None without any.
    """

    name: str
    path_type: PathType
    agent: Agent
    adaptation: Adaptation | None
    kind: str | None
    options: Mapping[str, Any]
    inputs_digest: str | None
    identity: ArmIdentity

    @property
    def shape(self) -> ArmShape:
        """What the plan needs to know."""
        return ArmShape(
            self.name,
            adapts=self.adaptation is not None,
            needs_attempts=self.adaptation is not None and self.adaptation.needs_attempts,
        )


def resolve_arms(loaded: LoadedStudy, benchmark: Benchmark) -> dict[str, Arm]:
    """Make every arm of a study.

    Raises:
        ConfigError: An agent, adaptation or path type is wrong, or two arms are the same.
    """
    arms: dict[str, Arm] = {}
    seen: dict[tuple[str, int], str] = {}
    for name, given in loaded.config.arms.items():
        arm = _arm(loaded, benchmark, name, given)
        twin = seen.setdefault((arm.identity.digest, arm.identity.seed), name)
        if twin != name:
            raise loaded.error(
                f"it differs in nothing from arm '{twin}' but its name; drop one, or for an A/A comparison "
                "give it a `seed` of its own",
                "arms",
                name,
            )
        arms[name] = arm
    return arms


def _arm(loaded: LoadedStudy, benchmark: Benchmark, name: str, given: ArmConfig) -> Arm:
    config = loaded.config
    choice = given.agent or config.agent
    assert choice is not None  # the configuration is refused otherwise
    agent = _agent(choice, given.limits or config.limits)
    adaptation, kind, options = _adaptation(loaded, name, given)
    _check_path(loaded, name, given.path_type, adaptation, kind)
    try:
        guarded(
            f"benchmark '{benchmark.name}'",
            lambda: benchmark.check_agent(agent, given.path_type),
        )
    except ConfigError as error:
        raise loaded.error(str(error), "arms", name, "agent") from None
    if adaptation is not None:
        _check_delivery(loaded, benchmark, name, agent, adaptation)
    chosen = (kind, options) if adaptation is not None and kind is not None else None
    return Arm(
        name=name,
        path_type=given.path_type,
        agent=agent,
        adaptation=adaptation,
        kind=kind if adaptation is not None else None,
        options=options,
        inputs_digest=(
            guarded(f"adaptation '{kind}'", adaptation.inputs_digest) if adaptation is not None else None
        ),
        identity=ArmIdentity(agent.digest, given.path_type, chosen, config.seed + given.seed),
    )


def _check_delivery(
    loaded: LoadedStudy, benchmark: Benchmark, name: str, agent: Agent, adaptation: Adaptation
) -> None:
    try:
        guarded(
            f"benchmark '{benchmark.name}'",
            lambda: benchmark.check_delivery(agent, adaptation.through),
        )
    except ConfigError as error:
        raise loaded.error(str(error), "arms", name, "adaptation") from None


def _agent(choice: AgentChoice, limits: LimitsConfig) -> Agent:
    return Agent(
        name=choice.name,
        version=choice.version,
        model=choice.model,
        arguments=choice.arguments,
        limits=Limits(limits.timeout_seconds, limits.tool_calls, limits.tokens),
    )


def _adaptation(
    loaded: LoadedStudy, name: str, given: ArmConfig
) -> tuple[Adaptation | None, str | None, dict[str, Any]]:
    if given.adaptation is None:
        return None, None, {}
    kind = given.adaptation.kind
    place = ("arms", name, "adaptation")
    try:
        found = plugins.load("adaptations", kind)
    except ConfigError as error:
        raise loaded.error(str(error), *place, "kind") from None
    options = loaded.options(found.Options, given.adaptation.options, *place)
    if kind == "none":
        return None, None, {}
    adaptation: Adaptation = guarded(f"adaptation '{kind}'", lambda: found(options, base=loaded.base))
    return adaptation, kind, options_document(options)


def _check_path(
    loaded: LoadedStudy, name: str, path: PathType, adaptation: Adaptation | None, kind: str | None
) -> None:
    """Refuse an arm whose path type says one thing and whose adaptation does another."""
    if path in (PathType.FROZEN, PathType.ORACLE):
        if adaptation is not None:
            raise loaded.error(
                f"path_type {path} has no improvement mechanism, but it names the adaptation '{kind}'; "
                f"drop it, or set path_type to {adaptation.path}",
                "arms",
                name,
                "adaptation",
            )
        return
    if adaptation is None:
        raise loaded.error(
            f"path_type {path} needs an `adaptation` that makes its agent state; without one it is frozen",
            "arms",
            name,
        )
    if adaptation.path is not path:
        raise loaded.error(
            f"path_type is {path}, but the adaptation '{kind}' takes the {adaptation.path} path; "
            "make them agree",
            "arms",
            name,
            "path_type",
        )
