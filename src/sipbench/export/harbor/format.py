"""One card in, the files of one Harbor task out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from sipbench.cards.leaks.secrets import no_finding
from sipbench.export.base import Built, File, Format, Job, Part, Todo
from sipbench.export.harbor.authoring import PROVENANCE, authoring, solution, todo_files
from sipbench.export.harbor.environment import environment, inputs_of
from sipbench.export.harbor.instruction import instruction
from sipbench.export.harbor.manifest import VERSION, manifest
from sipbench.export.harbor.rewardkit import JUDGE, rewardkit
from sipbench.export.harbor.science import conditions
from sipbench.export.harbor.verifier import is_telling, verifier

__all__ = ["HarborFormat"]

_HIDDEN = ("authoring/", "tests/", "solution/")
_ENVIRONMENT = ("environment/", "instruction.md")


class HarborFormat(Format):
    """Task directories of Harbor's schema 1.4, for ``harbor run -p DIR/tasks``."""

    name: ClassVar[str] = "harbor"
    upstream: ClassVar[str] = "harbor 0.26, task schema 1.4"
    summary: ClassVar[str] = "one Harbor task directory per card, with a separate verifier without network"
    strict_option: ClassVar[str | None] = "--tb-science"

    def build(self, job: Job) -> Built:
        """Make the files of one task.

        Raises:
            CardError: A reference of a check is missing.
        """
        place = environment(job)
        todos = [*_owed(job), *place.todos, *(conditions(job) if job.strict else ())]
        draft = _draft(job, todos)
        files = {
            "task.toml": File.text(manifest(job, place)),
            "instruction.md": File.text(instruction(job.card.card, job.plan.checks, inputs_of(job))),
            **place.files,
            **verifier(job.plan, draft=draft is not None),
            **rewardkit(job.plan.checks),
            **solution(job),
            **authoring(job, inputs_of(job)),
            **todo_files(job, todos, self.name, self.upstream),
        }
        visible = frozenset(path for path in files if not path.startswith(_HIDDEN))
        return Built(files, visible, tuple(todos), draft, settings=_settings(job))

    def part(self, path: str) -> Part:
        """Instruction, environment and data: running again; tests: grading again; the rest: neither."""
        if path.startswith(_ENVIRONMENT):
            return "environment"
        return "verifier" if path.startswith("tests/") else "metadata"

    def with_version(
        self, files: Mapping[str, File], version: str, allowed: Sequence[str]
    ) -> dict[str, File]:
        """Write the version into ``task.toml`` and allowed leaks into the provenance."""
        text = files["task.toml"].data.decode("utf-8").replace(VERSION, version, 1)
        provenance = json.loads(files[PROVENANCE].data)
        provenance["version"] = version
        provenance["allowed_leaks"] = list(allowed)
        written = json.dumps(provenance, indent=2, ensure_ascii=False) + "\n"
        return {**files, "task.toml": File.text(text), PROVENANCE: File.text(written)}


def _settings(job: Job) -> dict[str, File]:
    """Another network is another environment, though ``task.toml`` is what says it."""
    network = job.network
    if network is None or network.mode == "public":
        return {}
    return {"environment/network": File.text(" ".join((network.mode, *network.hosts)))}


def _draft(job: Job, todos: Sequence[Todo]) -> str | None:
    """Why a task cannot be graded yet; None if it can."""
    if not job.plan.checks.scored():
        return "no check that a program decides is ready"
    if not is_telling(job.plan.checks):
        return "no ready check looks at what an output holds: an empty file would pass"
    open_ = [todo.id for todo in todos if todo.blocks != "quality"]
    return f"the stricter conditions are not met: {', '.join(open_)}" if open_ else None


def _owed(job: Job) -> Iterator[Todo]:
    checks = job.plan.checks
    if not is_telling(checks):
        need = "write checks that tell a right output from a wrong one, with thresholds"
        yield Todo("checks", "authoring/eval.json", "checks", need, blocks="grade")
    for check in checks.checks:
        if check.status == "todo" and check.scope == "output":
            need = f"check {check.id} ({check.kind}) lacks {', '.join(check.missing)}"
            yield Todo(f"check_{check.id}", "authoring/eval.json", check.id, need, draft=check.text)
    if any(check.kind == "llm_judge" for check in checks.checks):
        yield Todo("judge", JUDGE, "judge", "name the model that judges, or leave the judge out")
    if not job.trees.oracle and not job.strict:
        need = "give an oracle with --oracle; it has to score 1, and doing nothing has to score 0"
        yield Todo("oracle", "solution/solve.sh", "oracle", need)
    if not job.authors and not job.strict:
        yield Todo("authors", "task.toml", "task.authors", "name the authors with --author")
    reason = no_finding(job.card.card)
    if reason and not job.strict:
        need = f"the card has no reference result ({reason}); checks must not compare with it"
        yield Todo("finding", PROVENANCE, "finding", need)
