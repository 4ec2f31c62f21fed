"""From a seed to a world of concepts and programs, and to tasks.

Everything is drawn from the seed, the pool and the number of the task: asking for more tasks never
changes the ones before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product

from sipbench.benchmarks.synth.draws import Draws
from sipbench.benchmarks.synth.language import NAMES, PRIMITIVES, Program, apply, format_program
from sipbench.errors import EngineError
from sipbench.protocol.digests import json_digest

__all__ = ["POOLS", "Pair", "SynthTask", "World", "behaves_uniquely", "generate"]

POOLS = ("adapt", "adapt_t2", "heldout", "replay", "drift")
SHOWN = 4
HIDDEN = 12
RELATED = 10
CONCEPTS = 8

_INPUT_DRAWS = 100
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_PUNCTUATION = ",.;!?"


@dataclass(frozen=True, slots=True)
class Pair:
    """An example: what goes in and what must come out."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class SynthTask:
    """A program, hidden behind examples.

    Attributes:
        id: Names generator seed, pool and number.
        pool: One of :data:`POOLS`.
        program: What the examples were made with: the answer.
        concept: The two-step program it is built around; None where there is none (replay).
        shown, hidden: The examples the agent sees, and those it is graded on.
        digest: Changes with the examples.
    """

    id: str
    pool: str
    program: Program
    concept: Program | None
    shown: tuple[Pair, ...]
    hidden: tuple[Pair, ...]
    digest: str

    @property
    def family(self) -> str:
        """The label of the whole program: its template."""
        return _label("family", self.program)

    @property
    def concept_label(self) -> str | None:
        """The label of the concept."""
        return None if self.concept is None else _label("concept", self.concept)


def _label(kind: str, program: Program) -> str:
    # A digest, since records of adapt attempts reach learners: a label must not give the answer away.
    return f"{kind}-{json_digest([kind, *program]).removeprefix('sha256:')[:12]}"


def _word(draws: Draws, *, rich: bool) -> str:
    word = "".join([draws.choice(_LOWER) for _ in range(draws.between(2, 7))])
    form = draws.random()
    if form < (0.35 if rich else 0.3):
        word = word.capitalize()
    elif form < (0.5 if rich else 0.4):
        word = word.upper()
    elif form < (0.85 if rich else 0.6):
        word += str(draws.below(100))
    return word + draws.choice(_PUNCTUATION) if draws.random() < 0.3 else word


def _text(draws: Draws, *, rich: bool = False) -> str:
    words = draws.between(7, 8) if rich else draws.between(5, 6)
    return " ".join([_word(draws, rich=rich) for _ in range(words)])


_PROBES = tuple(_text(Draws("synth", "probe", index)) for index in range(16))
type _Behaviour = tuple[str | None, ...]


def _behaviour(program: Program) -> _Behaviour:
    return tuple([apply(program, probe) for probe in _PROBES])


@lru_cache(maxsize=1)
def _short_behaviours() -> dict[_Behaviour, tuple[Program, ...]]:
    """Every program of up to two steps, by what it does to the probes."""
    found: dict[_Behaviour, list[Program]] = {}
    for length in range(3):
        for program in product(NAMES, repeat=length):
            found.setdefault(_behaviour(program), []).append(program)
    return {behaviour: tuple(programs) for behaviour, programs in found.items()}


def behaves_uniquely(program: Program) -> bool:
    """Whether no shorter program, no reordering and, with two steps, no other of two steps does the same.

    Judged on 16 fixed probe texts, for programs of two or more steps, against programs of up to two steps.
    """
    behaviour = _behaviour(program)
    if any(other != program for other in _short_behaviours().get(behaviour, ())):
        return False
    return not any(
        all(apply(other, probe) == text for probe, text in zip(_PROBES, behaviour, strict=True))
        for other in _reorderings(program)
    )


def _reorderings(program: Program) -> Iterator[Program]:
    return (other for other in dict.fromkeys(permutations(program)) if other != program)


class World:
    """What a generator seed decides before any task is made.

    Attributes:
        related, unrelated: The primitives in two groups: those of concepts, and the rest.
        concepts: Two-step programs of related primitives that the first adaptation can learn.
        adapt_t2_programs: Two-step programs of one related and one unrelated primitive.
        heldout_programs: A concept with one more related primitive before or after it.
        replay_programs: Two-step programs of unrelated primitives.
        drift_programs: Held-out programs with one step of their concept changed; no part of two
            steps is a concept.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        names = self._draws("groups").shuffled(NAMES)
        self.related = tuple(sorted(names[:RELATED]))
        self.unrelated = tuple(sorted(names[RELATED:]))
        self.concepts = self._pick("concepts", self._two_steps([(self.related, self.related)]))[:CONCEPTS]
        if len(self.concepts) < CONCEPTS:
            raise EngineError(f"synth seed {seed}: only {len(self.concepts)} concepts; choose another seed")
        mixed = [(self.related, self.unrelated), (self.unrelated, self.related)]
        self.adapt_t2_programs = self._pick("adapt_t2", self._two_steps(mixed))[:CONCEPTS]
        self.replay_programs = self._pick("replay", self._two_steps([(self.unrelated, self.unrelated)]))
        around = {concept: self._around(concept) for concept in self.concepts}
        self.heldout_programs = _in_turn(around)
        self.drift_programs = _in_turn({concept: self._drifted(concept, around) for concept in self.concepts})

    def _draws(self, what: str) -> Draws:
        return Draws("synth", "world", self.seed, what)

    def _pick(self, what: str, programs: Sequence[Program]) -> list[Program]:
        return self._draws(what).shuffled(programs)

    def _two_steps(self, groups: Iterable[tuple[Program, Program]]) -> list[Program]:
        pairs = [pair for first, second in groups for pair in product(first, second) if pair[0] != pair[1]]
        return [pair for pair in pairs if behaves_uniquely(pair)]

    def _around(self, concept: Program) -> list[Program]:
        extra = [name for name in self.related if name not in concept]
        programs = [(name, *concept) for name in extra] + [(*concept, name) for name in extra]
        order = self._pick(format_program(concept), programs)
        return [program for program in order if behaves_uniquely(program)]

    def _drifted(self, concept: Program, around: dict[Program, list[Program]]) -> list[Program]:
        taken = {program for programs in around.values() for program in programs}
        found: list[Program] = []
        for program in around[concept]:
            start = 0 if program[:2] == concept else 1
            others = [name for name in self.related if name not in program]
            changes = [
                (*program[:at], name, *program[at + 1 :]) for at in (start, start + 1) for name in others
            ]
            for changed in self._pick(f"drift {format_program(program)}", changes):
                parts = (changed[:2], changed[1:])
                fresh = changed not in taken and not any(part in self.concepts for part in parts)
                if fresh and behaves_uniquely(changed):
                    found.append(changed)
                    taken.add(changed)
                    break
        return found


def _in_turn(by_concept: dict[Program, list[Program]]) -> list[tuple[Program, Program]]:
    """(program, concept), one of each concept in turn, each program once."""
    longest = max(map(len, by_concept.values()))
    found: dict[Program, Program] = {}
    for index in range(longest):
        for concept, programs in by_concept.items():
            if index < len(programs):
                found.setdefault(programs[index], concept)
    return list(found.items())


@lru_cache(maxsize=8)
def generate(seed: int, sizes: tuple[tuple[str, int], ...]) -> tuple[SynthTask, ...]:
    """The tasks of ``seed``: for each (pool, size) that many, in the order given.

    Where a pool has fewer programs than tasks, programs come again with other inputs.

    Raises:
        EngineError: The seed offers no program for a pool, or no inputs tell a program from others.
    """
    world = World(seed)
    programs: dict[str, list[tuple[Program, Program | None]]] = {
        "adapt": [(concept, concept) for concept in world.concepts],
        "adapt_t2": [(program, program) for program in world.adapt_t2_programs],
        "heldout": list(world.heldout_programs),
        "replay": [(program, None) for program in world.replay_programs],
        "drift": list(world.drift_programs),
    }
    tasks = []
    for pool, size in sizes:
        if size and not programs[pool]:
            raise EngineError(f"synth seed {seed}: no program for {pool}; choose another seed")
        for number in range(size):
            program, concept = programs[pool][number % len(programs[pool])]
            tasks.append(_task(seed, pool, number, program, concept))
    return tuple(tasks)


def _task(seed: int, pool: str, number: int, program: Program, concept: Program | None) -> SynthTask:
    task_id = f"synth-{seed}-{pool}-{number:04d}"
    for draw in range(_INPUT_DRAWS):
        draws = Draws("synth", "inputs", seed, pool, number, draw)
        texts = [_text(draws, rich=pool == "drift") for _ in range(SHOWN + HIDDEN)]
        pairs = [Pair(text, output) for text in texts if (output := apply(program, text)) is not None]
        if len(set(texts)) == len(pairs) == SHOWN + HIDDEN and _tells_apart(program, pairs[:SHOWN]):
            break
    else:
        raise EngineError(
            f"task {task_id}: {_INPUT_DRAWS} draws of inputs do not tell its program from shorter ones; "
            "choose another seed"
        )
    digest = json_digest([[pair.input, pair.output] for pair in pairs])
    return SynthTask(task_id, pool, program, concept, tuple(pairs[:SHOWN]), tuple(pairs[SHOWN:]), digest)


def _tells_apart(program: Program, shown: Sequence[Pair]) -> bool:
    """Whether the shown pairs rule out every shorter program and every reordering."""
    rivals = [*_fitting(len(program) - 1, shown[0]), *_reorderings(program)]
    return not any(all(apply(other, pair.input) == pair.output for pair in shown) for other in rivals)


def _fitting(longest: int, pair: Pair) -> Iterator[Program]:
    """Programs of up to ``longest`` steps that fit one pair; each prefix is run once."""
    made: list[tuple[Program, str]] = [((), pair.input)]
    for length in range(longest + 1):
        yield from (program for program, text in made if text == pair.output)
        if length < longest:
            made = [
                ((*program, name), change(text))
                for program, text in made
                for name, change in PRIMITIVES.items()
            ]
