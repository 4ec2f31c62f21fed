"""A plumbing agent: it shows that skills reach an agent and what that is worth, without any model.

It compares the words of the task with those of each skill's description, takes the skill that fits best
(or one of the two things that it can do by itself), and runs the script in it. It understands nothing:
a description with the right words wins, and the choice can be wrong. That is measured too.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, override

from harbor import AgentContext, BaseAgent, BaseEnvironment
from harbor.agents.capabilities import AgentCapabilities

INNATE = {
    "line-sorting": (
        "Sort the lines of a list in alphabetical order and keep each once.",
        "LC_ALL=C sort -u list.txt > answer.txt",
    ),
    "word-counting": (
        "Count how often each word occurs in a text file.",
        "tr -s ' ' '\\n' < words.txt | LC_ALL=C sort | uniq -c | LC_ALL=C sort -k1,1nr -k2,2 "
        "| awk '{print $2, $1}' > answer.txt",
    ),
}
"""What it can do before it learns anything: a description, and the command."""

COMMON = {
    *("a", "an", "and", "are", "as", "at", "by", "each", "every", "for", "from", "how", "in", "into", "is"),
    *("it", "its", "of", "on", "one", "or", "the", "to", "with"),
}
BEGIN, END = "%%% skill ", "%%% end"


@dataclass(frozen=True)
class Choice:
    """Something that the agent can do.

    Attributes:
        description: What it is for.
        folder: The skill's folder; None for what needs no skill.
        command: What to run in the working directory; None until the skill is read.
    """

    name: str
    description: str
    folder: str | None = None
    command: str | None = None


def words(text: str) -> list[str]:
    """The words of a text that say something, without endings."""
    found = re.findall(r"[a-z]+", text.lower())
    return [re.sub(r"(ies|es|s|ing|ed)$", "", word) for word in found if word not in COMMON and len(word) > 1]


def fit(task: str, choices: list[Choice]) -> list[float]:
    """How well each choice's description fits: shared words, rare ones more, per word described."""
    described = [set(words(f"{choice.name} {choice.description}")) for choice in choices]
    known = Counter(word for one in described for word in one)
    asked = set(words(task))
    weights = {word: math.log((1 + len(choices)) / count) for word, count in known.items()}
    return [sum(weights[word] for word in one & asked) / math.sqrt(len(one) or 1) for one in described]


class SkillPicker(BaseAgent):
    """Picks a skill by its description and runs its script. Arguments: ``seed``, ``temperature``."""

    capabilities = AgentCapabilities(skills=True, atif=True)

    def __init__(self, *args: Any, seed: int = 0, temperature: float = 0.5, **kwargs: Any) -> None:
        """Make it; the seed decides which of the better choices is taken."""
        super().__init__(*args, **kwargs)
        self._random = Random(seed)
        self._temperature = temperature
        self._steps: list[dict[str, Any]] = []

    @staticmethod
    @override
    def name() -> str:
        return "plumbing-skill-picker"

    @override
    def version(self) -> str:
        return "1.0.0"

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        """There is nothing to install."""

    @override
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Choose, read, run."""
        choices = [Choice(name, *about[:1], command=about[1]) for name, about in INNATE.items()]
        choices += await self._skills(environment)
        chosen = self._choose(instruction, choices)
        command = chosen.command or await self._command(chosen, environment)
        if command is not None:
            await self._exec(environment, f"cd /app && printf %s {shlex.quote(instruction)} | ({command})")
        self._write(chosen)
        # No model was called: these are measurements.
        context.n_input_tokens = context.n_output_tokens = context.n_cache_tokens = 0
        context.cost_usd = 0.0
        context.metadata = {"chosen": chosen.name, "of": len(choices)}

    async def _skills(self, environment: BaseEnvironment) -> list[Choice]:
        """Name and description of each skill, as a harness shows them to a model."""
        if self.skills_dir is None:
            return []
        root = shlex.quote(self.skills_dir)
        script = (
            f"find {root} -mindepth 2 -maxdepth 2 -name SKILL.md | sort | while read -r file; do "
            f'echo "{BEGIN}$file"; head -n 5 "$file"; echo "{END}"; done'
        )
        printed = await self._exec(environment, script)
        found = []
        for block in printed.split(BEGIN)[1:]:
            path, _, text = block.partition(END)[0].partition("\n")
            described = re.search(r'^description: "?(.*?)"?$', text, re.MULTILINE)
            folder = path.strip().rpartition("/")[0]
            found.append(Choice(folder.rpartition("/")[2], described.group(1) if described else "", folder))
        return found

    def _choose(self, task: str, choices: list[Choice]) -> Choice:
        """One of the choices, the better fitting ones more often."""
        fits = fit(task, choices)
        best = max(fits)
        weights = [math.exp((value - best) / self._temperature) for value in fits]
        return self._random.choices(choices, weights)[0]

    async def _command(self, chosen: Choice, environment: BaseEnvironment) -> str | None:
        """Read the skill and find the command in its first code block; None if there is none."""
        text = await self._exec(environment, f"cat {shlex.quote(f'{chosen.folder}/SKILL.md')}")
        block = re.search(r"```\w*\n(.+?)\n```", text, re.DOTALL)
        if block is None:
            return None
        return block.group(1).strip().replace("scripts/", f"{chosen.folder}/scripts/")

    async def _exec(self, environment: BaseEnvironment, command: str) -> str:
        done = await environment.exec(command)
        call = {
            "tool_call_id": f"call-{len(self._steps) + 1}",
            "function_name": "bash",
            "arguments": {"command": command},
        }
        said = ((done.stdout or "") + (done.stderr or ""))[:4000]
        seen = {"results": [{"source_call_id": call["tool_call_id"], "content": said}]}
        self._steps.append({"tool_calls": [call], "observation": seen})
        return done.stdout or ""

    def _write(self, chosen: Choice) -> None:
        """Write the trajectory in ATIF."""
        steps = [
            {"step_id": number, "source": "agent", "message": "", "llm_call_count": 0, **step}
            for number, step in enumerate(self._steps, start=1)
        ]
        steps.append(
            {
                "step_id": len(steps) + 1,
                "source": "agent",
                "message": f"chose {chosen.name}",
                "llm_call_count": 0,
            }
        )
        document = {
            "schema_version": "ATIF-v1.7",
            "agent": {"name": self.name(), "version": self.version()},
            "steps": steps,
        }
        path = Path(self.logs_dir) / "trajectory.json"
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")
