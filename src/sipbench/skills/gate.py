"""The gate of a release: our check, both reference validators, the manifest and the pins; all must agree."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sipbench.errors import MissingExtraError
from sipbench.skills.collection import check_manifest, verify
from sipbench.skills.layout import Located
from sipbench.skills.tree import on_line
from sipbench.skills.validate import check_skills

__all__ = ["Step", "gate"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the gate.

    Attributes:
        name: ``check``, ``skills-ref``, ``skills-ref-rs``, ``manifest`` or ``verify``.
        looked_at: How many things.
        problems: What is wrong, one line each.
        warnings: What is to be looked at and stops nothing.
    """

    name: str
    looked_at: int
    problems: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def gate(located: Located, *, meta: Collection[str] = ()) -> Iterator[Step]:
    """Yield each step as it is done.

    Raises:
        SkillError: There is no manifest, or nothing is pinned.
        MissingExtraError: A validator or the schema is not installed: a gate that skips a step is none.
    """
    try:
        from skills_ref import validate as python
        from skills_ref_rs import validate as rust
    except ModuleNotFoundError:
        raise MissingExtraError("the gate", "skills") from None
    folders = located.skills
    yield Step(
        "check",
        len(folders),
        tuple(
            f"{on_line(report.folder / finding.path)}:{finding.line or 1}: {finding.message} [{finding.rule}]"
            for report in check_skills(folders)
            for finding in report.findings
        ),
    )
    for name, validate in (("skills-ref", python), ("skills-ref-rs", lambda folder: rust(str(folder)))):
        found = []
        for folder in folders:
            try:
                said = validate(folder.resolve())
            except Exception as error:  # they raise what their readers raise, for instance UnicodeDecodeError
                said = [f"{type(error).__name__}: {error}"]
            found += [f"{on_line(folder)}: {' '.join(str(line).split())[:200]}" for line in said]
        yield Step(name, len(folders), tuple(found))
    for name, troubles in (("manifest", check_manifest), ("verify", verify)):
        listed = troubles(located, meta=meta)
        yield Step(
            name,
            len(folders) + len(located.tools),
            tuple(str(item) for item in listed if not item.warning),
            tuple(f"{item.file}: {item.reason} [{item.rule}]" for item in listed if item.warning),
        )
