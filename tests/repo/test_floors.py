"""Imports go down only: each part of the package knows what stands below it, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.repo.tree import PACKAGE, modules

# From the top floor to the ground. Parts of one floor are neighbours: they see each other only through
# the contract that each keeps in its module `base`.
FLOORS = [
    ["sipbench"],  # the public face: the package's own __init__
    ["cli"],
    ["api"],
    ["report"],
    ["study"],
    ["benchmarks", "adaptation", "export"],
    # Below the benchmarks, so that an adapter's own `splits()` can call it: of a task it knows only what
    # its `base.TaskLike` names.
    ["splits"],
    ["importers", "sandbox"],
    ["cards", "skills"],
    ["stats"],
    ["protocol"],
    ["logs", "plugins"],
    ["files"],
    ["errors"],
]
HEIGHT = {part: len(FLOORS) - floor for floor, parts in enumerate(FLOORS) for part in parts}


@dataclass(frozen=True)
class Import:
    """One import statement's view of one module of the package."""

    source: str
    target: str
    line: int
    at_load: bool


def name_of(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def imports_of(path: Path, package: Path = PACKAGE) -> Iterator[Import]:
    """Every import of a module of the package in ``path``, nested and type-checking ones included."""
    source = name_of(path, package)
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    at_load = set(_statements_at_load(tree.body))
    for node in ast.walk(tree):
        for target in _targets(node, source, path.name == "__init__.py", package):
            if target.split(".")[0] == package.name:
                yield Import(source, target, node.lineno, node in at_load)


def _statements_at_load(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.Try):
            yield from _statements_at_load(statement.body)


def _targets(node: ast.AST, source: str, is_package: bool, package: Path) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = source.split(".")[: len(source.split(".")) - node.level + is_package]
            base = ".".join([*above, *([base] if base else [])])
        for alias in node.names:
            # `from sipbench import stats` imports a module, `from sipbench.stats import mean` a name.
            module = package.parent.joinpath(*base.split("."), alias.name)
            yield f"{base}.{alias.name}" if module.is_dir() or module.with_suffix(".py").is_file() else base


def violation(use: Import) -> str | None:
    """Why ``use`` is not allowed, or None."""
    source, target = part_of(use.source), part_of(use.target)
    if source == target:
        return None
    unknown = sorted({source, target} - HEIGHT.keys())
    if unknown:
        return f"{', '.join(unknown)} has no floor: give it one in FLOORS"
    if HEIGHT[target] > HEIGHT[source]:
        return f"{source} is below {target}"
    if HEIGHT[target] == HEIGHT[source] and use.target != f"sipbench.{target}.base":
        return f"{source} and {target} are neighbours: only sipbench.{target}.base may be imported"
    return None


def test_imports_go_down_only() -> None:
    uses = [(path, use) for path in modules() for use in imports_of(path)]
    assert uses, f"no import found under {PACKAGE}"
    wrong = [
        f"{path.relative_to(PACKAGE.parents[1])}:{use.line}: imports {use.target}: {reason}"
        for path, use in uses
        if (reason := violation(use))
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_part_of_the_package_has_a_floor() -> None:
    parts = {part_of(name_of(path, PACKAGE)) for path in modules()}
    assert parts <= HEIGHT.keys(), f"give these a floor in FLOORS: {sorted(parts - HEIGHT.keys())}"


def test_no_module_needs_itself_to_load() -> None:
    graph: dict[str, set[str]] = {}
    for path in modules():
        uses = [use for use in imports_of(path) if use.at_load]
        # `import a.b` runs a/__init__ first, but inside one package that is the package's own affair.
        graph[name_of(path, PACKAGE)] = {use.target for use in uses if use.target != use.source}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("modules import each other in a circle: " + " -> ".join(error.args[1]))


@pytest.mark.parametrize(
    ("place", "line", "reason"),
    [
        ("protocol/records.py", "from sipbench.study import config", "protocol is below study"),
        ("protocol/records.py", "import sipbench.stats.intervals", "protocol is below stats"),
        ("protocol/records.py", "from .. import stats", "protocol is below stats"),
        ("stats/intervals.py", "def f():\n    from ..cli.sip import main", "stats is below cli"),
        ("cards/model.py", "from sipbench import run_study", "cards is below sipbench"),
        (
            "benchmarks/tau.py",
            "from sipbench.adaptation.none import x",
            "benchmarks and adaptation are neighbours",
        ),
        ("benchmarks/tau.py", "import sipbench.unheard_of", "unheard_of has no floor"),
        ("benchmarks/tau.py", "from sipbench.adaptation.base import Adaptation", None),
        ("benchmarks/tau.py", "from ..protocol import records", None),
        ("benchmarks/tau.py", "from .base import Benchmark", None),
        ("cli/sip.py", "from sipbench.errors import ConfigError", None),
        ("__init__.py", "from sipbench.study.runner import run_study", None),
    ],
)
def test_the_rule_sees(tmp_path: Path, place: str, line: str, reason: str | None) -> None:
    package = tmp_path / "sipbench"
    for part in ("adaptation", "benchmarks", "cards", "cli", "protocol", "stats", "study"):
        (package / part).mkdir(parents=True)
        (package / part / "__init__.py").touch()
    path = package / place
    path.write_text(line, encoding="utf-8")
    (use,) = imports_of(path, package)
    found = violation(use)
    assert found is None if reason is None else found is not None and found.startswith(reason)
