"""Two learners: macros mined from found programs, and production weights refitted on them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from sipbench.adaptation.base import Adaptation, AdaptationOutcome, AdaptationRequest
from sipbench.benchmarks.base import Charge, Options
from sipbench.benchmarks.synth.answer import ANSWER_FILE, read_program
from sipbench.benchmarks.synth.draws import Draws
from sipbench.benchmarks.synth.language import Program
from sipbench.benchmarks.synth.state import Weights, read_state, write_skill, write_weights
from sipbench.errors import AdaptationError
from sipbench.protocol.records import Usage
from sipbench.protocol.vocabulary import PathType

__all__ = ["MacroLearner", "MacroOptions", "WeightLearner", "WeightOptions", "mined"]

_LARGEST_BYTES = 8 * 2**20
_MACRO_LENGTHS = (2, 3)

# Mining evaluates no candidate and asks nobody: what learning costs is what the adapt attempts cost.
_OWN_COST = Usage(tool_calls_total=0, human_interventions=0)

Share = Annotated[float, Field(gt=0, le=1)]


class MacroOptions(Options):
    """``sample``: share of the solved programs learned from; macros per adaptation; least support."""

    sample: Share = 0.75
    max_macros: Annotated[int, Field(ge=1, le=100)] = 8
    min_support: Annotated[int, Field(ge=1)] = 2


class WeightOptions(Options):
    """``sample``: share of the solved programs learned from; ``laplace``: uses added to each primitive."""

    sample: Share = 0.75
    laplace: Annotated[float, Field(gt=0, le=1e6)] = 1.0


class MacroLearner(Adaptation):
    """Makes skills of the sequences that several solved tasks share; keeps those from before."""

    Options: ClassVar[type[Options]] = MacroOptions
    path_type: ClassVar[PathType | None] = PathType.EXTERNAL
    charge: ClassVar[Charge] = "free"
    options: MacroOptions

    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Write ``skills/<name>/SKILL.md`` for each macro, old and new."""
        solved = _sampled(request, self.options.sample)
        before = read_state(request.previous)
        support = mined(solved, self.options.min_support)
        known = set(before.macros)
        new = [macro for macro in support if macro not in known][: self.options.max_macros]
        for skill in before.skills:
            _copy_skill(request.previous, request.state, skill.ref.name)
        names = [write_skill(request.state, macro, support[macro]) for macro in new]
        return AdaptationOutcome(_OWN_COST, "engine", {"programs": len(solved), "new_skills": names})


class WeightLearner(Adaptation):
    """Refits the probability of each primitive on the programs of solved tasks, these and earlier ones."""

    Options: ClassVar[type[Options]] = WeightOptions
    path_type: ClassVar[PathType | None] = PathType.PARAMETER
    charge: ClassVar[Charge] = "free"
    options: WeightOptions

    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Write ``weights.json``."""
        solved = _sampled(request, self.options.sample)
        before = read_state(request.previous).weights
        uses = Counter(dict(before.uses) if before else {})
        for program in solved:
            uses.update(program)
        write_weights(request.state, Weights.fitted(uses, self.options.laplace))
        return AdaptationOutcome(_OWN_COST, "engine", {"programs": len(solved), "uses": sum(uses.values())})


def mined(programs: Sequence[Program], min_support: int) -> dict[Program, int]:
    """Sequences of 2 or 3 steps, with the number of programs that hold each; the most useful first.

    Useful is support times the steps saved; ties in the order of the names.
    """
    support: Counter[Program] = Counter()
    for program in programs:
        support.update(
            {program[at : at + size] for size in _MACRO_LENGTHS for at in range(len(program) - size + 1)}
        )
    found = [(macro, count) for macro, count in support.items() if count >= min_support]
    return dict(sorted(found, key=lambda item: (-item[1] * (len(item[0]) - 1), item[0])))


def _copy_skill(previous: Path, state: Path, name: str) -> None:
    target = state / "skills" / name
    target.mkdir(parents=True)
    (target / "SKILL.md").write_bytes((previous / "skills" / name / "SKILL.md").read_bytes())


def _sampled(request: AdaptationRequest, share: float) -> list[Program]:
    """A drawn share of the programs that solved their tasks, in the order of the attempts.

    With none solved there is nothing to learn from; that is a result, not an error.
    """
    solved = list(_solved(request.attempts))
    size = max(1, round(share * len(solved))) if solved else 0
    return Draws("synth", "learn", request.seed, request.phase.value).sample(solved, size)


def _solved(attempts: Path) -> Iterator[Program]:
    if not attempts.is_dir():
        raise AdaptationError(f"{attempts}: no such folder; the adapt attempts should stand there")
    for folder in sorted(path for path in attempts.iterdir() if path.is_dir()):
        if not _success(folder / "attempt.json"):
            continue
        try:
            program = read_program(folder / "output")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise AdaptationError(
                f"{folder / 'output' / ANSWER_FILE}: {reason}; run the attempt again"
            ) from None
        if program:
            yield program


def _success(path: Path) -> bool:
    try:
        with path.open("rb") as handle:
            data = handle.read(_LARGEST_BYTES + 1)
        if len(data) > _LARGEST_BYTES:
            raise ValueError(f"larger than {_LARGEST_BYTES} bytes")
        document: Any = json.loads(data)
        return document["record"]["success"] is True
    except OSError as error:
        raise AdaptationError(f"{path}: cannot be read ({error.strerror})") from None
    except (KeyError, TypeError):
        raise AdaptationError(f"{path}: no field 'record.success'") from None
    except (ValueError, RecursionError) as error:
        raise AdaptationError(f"{path}: not JSON ({error})") from None
