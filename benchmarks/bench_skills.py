"""Skills at the size of a large collection: checking, against both reference validators; rewriting; serving.

    python benchmarks/bench_skills.py [--skills 12000] [--served 5000] [--data DIR]

DIR holds real skills, which are repeated under new names; without it skills like them are made up.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sipbench.skills.export import plan_export, write_export
from sipbench.skills.tree import find_skills
from sipbench.skills.validate import check_skills

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "asb-collections"
MADE = """\
---
name: {name}
description: Use when when {name} has to be told apart from what only looks like it.
license: CC-BY-4.0
metadata:
  edam_topics:
  - http://edamontology.org/topic_0625
  tools:
{tools}
derived_from:
- doi: 10.5555/made.up
  title: made
evidence_spans:
{spans}
claims: []
schema_version: 0.2.0
---

# {name}

{body}"""


def texts(data: Path) -> list[str]:
    """Real skills, else made ones of their size."""
    if data.is_dir():
        return [(folder / "SKILL.md").read_text(encoding="utf-8") for folder in find_skills([data])]
    tools = "\n".join(f"  - tool {number}" for number in range(12))
    spans = "\n".join(f"- a span of evidence with the number {number}" for number in range(20))
    return [MADE.format(name="made", tools=tools, spans=spans, body="word " * 1000)]


def write(root: Path, count: int, given: list[str]) -> None:
    """``count`` skills below ``root``."""
    for number in range(count):
        name = f"skill-{number}"
        text = re.sub(r"^name: .*$", f"name: {name}", given[number % len(given)], count=1, flags=re.M)
        folder = root / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text, encoding="utf-8", newline="\n")


@dataclass(frozen=True)
class Took:
    """Seconds of the wall clock, and of processors (with children), which load hardly changes."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s ({self.cpu:.2f} s of processor)"


def timed[Result](work: Callable[[], Result]) -> tuple[Took, Result]:
    """How long it took, and what came out."""
    start, before = time.perf_counter(), os.times()
    result = work()
    after = os.times()
    return Took(time.perf_counter() - start, sum(after[:4]) - sum(before[:4])), result


def references(folders: list[Path], own: Took) -> None:
    """The same skills with the reference validators, which run on one core."""
    try:
        from skills_ref import validate as python
        from skills_ref_rs import validate as rust
    except ModuleNotFoundError as error:
        print(f"reference validators: {error.name} is not installed (extra 'skills')")
        return
    part = folders[:: max(1, len(folders) // 500)]
    for name, check, some in (
        ("skills-ref-rs", lambda folder: rust(str(folder)), folders),
        ("skills-ref", python, part),
    ):
        took, _ = timed(lambda check=check, some=some: [check(folder) for folder in some])
        whole = took.cpu * len(folders) / len(some)
        how = "" if len(some) == len(folders) else f", from {len(some)} of them"
        print(f"{name}: {whole:.2f} s of processor{how}: {whole / own.cpu:.2f} times our check")


async def listed(folder: Path) -> tuple[float, float, int]:
    """Seconds until a client is connected, seconds of a whole listing, number of skills."""
    from tests.skills.mcp_client import connect, list_skills, stdio

    start = time.perf_counter()
    async with connect(stdio(folder)) as client:
        connected = time.perf_counter() - start
        first = time.perf_counter()
        skills = await list_skills(client)
        waited = time.perf_counter() - first
        again = time.perf_counter()
        await list_skills(client)
        print(f"served: listed {len(skills)} at once after connecting: {waited:.2f} s")
        return connected, time.perf_counter() - again, len(skills)


def main() -> None:
    """Print one line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skills", type=int, default=12_000)
    parser.add_argument("--served", type=int, default=5_000)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    given = texts(options.data)
    with tempfile.TemporaryDirectory(prefix="bench-skills-") as scratch:
        root = Path(scratch)
        write(root / "in", options.skills, given)
        seconds, folders = timed(lambda: find_skills([root / "in"]))
        own, reports = timed(lambda: list(check_skills(folders)))
        print(f"check: {len(reports)} skills found in {seconds}, checked in {own}")
        write(root / "few", 369, given)
        seconds, plan = timed(lambda: plan_export(root / "few"))
        written, _ = timed(lambda: write_export(plan, root / "few-out"))
        print(f"rewrite: 369 skills planned in {seconds}, written in {written}")
        write(root / "some", options.served, given)
        write_export(plan_export(root / "some"), root / "out")
        own, reports = timed(lambda: list(check_skills(find_skills([root / "out"]))))
        print(f"check: {len(reports)} conforming skills in {own}, {sum(r.valid for r in reports)} valid")
        references([report.folder for report in reports], own)
        try:
            connected, again, count = asyncio.run(listed(root / "out"))
        except ModuleNotFoundError as error:
            print(f"served: {error.name} is not installed (extra 'mcp')")
            return
        print(f"served: {count} skills: connected in {connected:.2f} s, listed in {again:.2f} s")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
