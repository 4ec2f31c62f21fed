"""The plumbing agent of the example about skills, at work on tasks that were made of cards.

It understands nothing: it takes the skill whose description has the words of the task and runs its script.
Without a skill it can do one thing: count the rows of a table by their second column.
"""

from __future__ import annotations

from typing import override

from harbor import BaseEnvironment
from skill_picker import Choice, SkillPicker

TALLY = (
    'mkdir -p output; (echo class,count; tail -n +2 "$(ls inputs/*.csv | head -n 1)" | cut -d , -f 2 '
    "| sort | uniq -c | awk '{print $2 \",\" $1}') > output/counts.csv"
)


class CardAgent(SkillPicker):
    """Picks a skill by its description and runs its script. Arguments: ``seed``, ``temperature``."""

    @staticmethod
    @override
    def name() -> str:
        return "plumbing-card-agent"

    @override
    async def _skills(self, environment: BaseEnvironment) -> list[Choice]:
        """What it can do by itself, and each skill that it is given."""
        own = Choice("tally", "Count how many rows of a table there are for each class.", command=TALLY)
        return [own, *await super()._skills(environment)]
