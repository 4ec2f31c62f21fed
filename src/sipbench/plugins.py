"""Finds benchmarks, adaptations, executors, formats and importers by name, through entry points.

Built-in ones register in the same groups as everybody's. Each class carries an integer
``contract_version``; one written for another contract is refused when it is loaded.
"""

from __future__ import annotations

import difflib
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from sipbench.errors import ConfigError, EngineError, MissingExtraError, SipbenchError

__all__ = ["CONTRACT_VERSIONS", "Group", "load", "names", "suggestion"]

type Group = Literal["benchmarks", "adaptations", "executors", "formats", "importers"]

CONTRACT_VERSIONS: dict[str, int] = {
    "benchmarks": 1,
    "adaptations": 1,
    "executors": 1,
    "formats": 1,
    "importers": 1,
}
"""The contract that this release offers, per group. It grows when an old plug-in would break."""


def names(group: Group) -> list[str]:
    """The names registered in ``group``, sorted."""
    return sorted({point.name for point in entry_points(group=f"sipbench.{group}")})


def load(group: Group, name: str) -> Any:
    """Import what is registered as ``name`` in ``group``.

    Raises:
        ConfigError: Nothing has that name, or two distributions claim it.
        MissingExtraError: It needs a package that is not installed.
        EngineError: It was written for another contract version, or cannot be imported.
    """
    points = [point for point in entry_points(group=f"sipbench.{group}") if point.name == name]
    singular = group.removesuffix("s")
    if not points:
        known = names(group)
        raise ConfigError(
            f"unknown {singular} '{name}'{suggestion(name, known)}; installed: {', '.join(known)}"
        )
    targets = {point.value for point in points}
    if len(targets) > 1:
        owners = ", ".join(sorted({point.dist.name for point in points if point.dist}))
        raise ConfigError(f"{singular} '{name}' is registered by several packages ({owners}); uninstall one")
    found = _imported(points[0], singular)
    version = getattr(found, "contract_version", None)
    if version != CONTRACT_VERSIONS[group]:
        raise EngineError(
            f"{singular} '{name}' ({points[0].value}) speaks contract version {version}, this release "
            f"{CONTRACT_VERSIONS[group]}; install a matching version of its package"
        )
    return found


def _imported(point: EntryPoint, singular: str) -> Any:
    try:
        return point.load()
    except SipbenchError:
        raise
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == point.module.partition(".")[0]:
            raise EngineError(
                f"{singular} '{point.name}' ({point.value}) is registered but not there: "
                "install its package again"
            ) from error
        # An extra shares its name with the plug-in it belongs to.
        raise MissingExtraError(
            f"{singular} '{point.name}' ({error.name} is not installed)", point.name
        ) from error
    except Exception as error:
        raise EngineError(f"{singular} '{point.name}' ({point.value}) cannot be imported: {error}") from error


def suggestion(word: str, known: list[str]) -> str:
    """``, did you mean 'x'?`` when ``word`` is close to a known one, else nothing."""
    close = difflib.get_close_matches(word, known, n=1)
    return f", did you mean '{close[0]}'?" if close else ""
