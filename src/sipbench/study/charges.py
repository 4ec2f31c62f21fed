"""What is known of a study's costs in money before it is run: who pays, and whether anybody says how much."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from sipbench.benchmarks.base import Charge
from sipbench.errors import EngineError
from sipbench.study.guard import guarded

if TYPE_CHECKING:
    from sipbench.study.design import Design

__all__ = ["Charges", "charges_of"]

_NO_MODEL = "none"


@dataclass(frozen=True, slots=True)
class Charges:
    """Per arm what its attempts and its adaptations take.

    Attributes:
        attempts: By arm.
        adaptations: By arm, for those that have an adaptation.
        models: Arms whose agent names a model.
    """

    attempts: Mapping[str, Charge] = field(default_factory=dict)
    adaptations: Mapping[str, Charge] = field(default_factory=dict)
    models: frozenset[str] = frozenset()

    def pays(self, arm: str) -> bool:
        """Whether attempts of the arm are to be taken to cost money.

        Where the benchmark does not know, an agent that names a model does.
        """
        charge = self.attempts.get(arm, "unknown")
        return charge in ("paid", "unreported") or (charge == "unknown" and arm in self.models)

    @property
    def free(self) -> bool:
        """Whether it is certain that nothing costs anything."""
        return all(charge == "free" for charge in (*self.attempts.values(), *self.adaptations.values()))

    @property
    def unreported(self) -> list[str]:
        """What costs money and will never say how much, in words."""
        parts = {"attempts": self.attempts, "adaptations": self.adaptations}
        return [
            f"{what} of arm '{arm}'"
            for what, by_arm in parts.items()
            for arm, charge in by_arm.items()
            if charge == "unreported"
        ]


def charges_of(design: Design) -> Charges:
    """Ask the benchmark and the adaptations of a study.

    Raises:
        EngineError: One of them does not keep the contract.
    """
    benchmark, attempts, adaptations = design.benchmark, {}, {}
    for name, arm in design.arms.items():
        call = partial(benchmark.charge, arm.agent, arm.path_type)
        attempts[name] = _charge(f"benchmark '{benchmark.name}'", call)
        if arm.adaptation is not None:
            adaptations[name] = _charge(
                f"adaptation '{arm.kind}'", partial(getattr, arm.adaptation, "charge")
            )
    models = frozenset(name for name, arm in design.arms.items() if arm.agent.model != _NO_MODEL)
    return Charges(attempts, adaptations, models)


def _charge(who: str, ask: Callable[[], Any]) -> Charge:
    found = guarded(who, ask)
    if found not in get_args(Charge):
        raise EngineError(f"{who}: its charge is {found!r:.80}, not one of {', '.join(get_args(Charge))}")
    charge: Charge = found
    return charge
