"""Imports go down only: no floor of the package knows what stands above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.repo.tree import SOURCE, module_name, modules, named

# From the top down. Parts on one floor are neighbours: they see of each other only `base`, the contract.
FLOORS: tuple[frozenset[str], ...] = (
    frozenset({""}),
    frozenset({"cli"}),
    frozenset({"api"}),
    frozenset({"report"}),
    frozenset({"study"}),
    frozenset({"benchmarks", "adaptation", "export"}),
    # Below the benchmarks, so that an adapter's own `splits()` can call it: of a task it knows only what
    # its `base.TaskLike` names.
    frozenset({"splits"}),
    frozenset({"importers", "sandbox"}),
    frozenset({"cards", "skills"}),
    frozenset({"stats"}),
    frozenset({"protocol"}),
    frozenset({"logs", "plugins"}),
    frozenset({"errors"}),
)
LEVEL = {part: level for level, parts in enumerate(FLOORS) for part in parts}


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import of the package itself, also of those inside functions."""
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]) if base else ".".join(above)
            found = [f"{base}.{alias.name}" if base == "sipbench" else base for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in dict.fromkeys(found) if name.split(".")[0] == "sipbench")


def forbidden(importer: str, imported: str) -> str | None:
    """Why a module must not import another one; None if it may."""
    above, below = part_of(importer), part_of(imported)
    if above == below:
        return None
    if LEVEL[below] < LEVEL[above]:
        return f"'{above}' stands below '{below}'"
    if LEVEL[below] == LEVEL[above] and imported.split(".")[2:3] != ["base"]:
        return f"'{above}' and '{below}' are neighbours, which share only '{below}.base'"
    return None


def test_every_part_has_a_floor() -> None:
    parts = {part_of(module_name(path)) for path in modules()}
    assert parts <= set(LEVEL), f"give {sorted(parts - set(LEVEL))} a floor in {Path(__file__).name}"


def test_imports_go_down_only() -> None:
    wrong = [
        f"{named(path, line)}: imports {imported}: {reason}"
        for path in modules()
        for line, imported in imports(path)
        if part_of(imported) in LEVEL and (reason := forbidden(module_name(path), imported))
    ]
    assert not wrong, "\n".join(wrong)


def test_upward_and_sideways_imports_are_seen() -> None:
    assert forbidden("sipbench.stats.power", "sipbench.study.plan") == "'stats' stands below 'study'"
    assert "neighbours" in str(forbidden("sipbench.adaptation.none", "sipbench.benchmarks.synth.search"))
    assert forbidden("sipbench.adaptation.base", "sipbench.benchmarks.base") is None
    assert forbidden("sipbench.study.runner", "sipbench.stats.summarize") is None


def test_the_package_is_where_it_is_looked_for() -> None:
    assert (SOURCE / "errors.py") in modules()
