"""What the command line may say of a benchmark's options: the sandbox of this machine, for instance.

Which options these are the benchmark declares (``Benchmark.replaceable``). They replace what the study file
says, and the study records them as it records the file's: an attempt is what its options make it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sipbench import plugins
from sipbench.errors import ConfigError
from sipbench.study.config import BenchmarkChoice
from sipbench.study.load import COMMAND_LINE, LoadedStudy, option_name

__all__ = ["with_options"]


def with_options(loaded: LoadedStudy, given: Mapping[str, str | None]) -> LoadedStudy:
    """The study with options of its benchmark replaced.

    Args:
        loaded: The study.
        given: Values by the names that ``Benchmark.replaceable`` has; None means not given.

    Raises:
        ConfigError: The benchmark is unknown or has no such option.
    """
    wanted = {name: value for name, value in given.items() if value is not None}
    if not wanted:
        return loaded
    choice = loaded.config.benchmark
    try:
        places = getattr(plugins.load("benchmarks", choice.name), "replaceable", {})
    except ConfigError as error:
        raise loaded.error(str(error), "benchmark", "name") from None
    options, sources, origins = choice.options, dict(loaded.sources), dict(loaded.origins)
    for name, value in wanted.items():
        if name not in places:
            raise ConfigError(
                f"{option_name(name)}: the benchmark '{choice.name}' has no such choice; leave it out"
            )
        options = _put(loaded, options, places[name], value)
        field = ".".join(("benchmark", *places[name]))
        sources[field], origins[field] = COMMAND_LINE, option_name(name)
    chosen = BenchmarkChoice.model_validate({"name": choice.name, **options})
    config = loaded.config.model_copy(update={"benchmark": chosen})
    return replace(loaded, config=config, sources=sources, origins=origins)


def _put(
    loaded: LoadedStudy, options: Mapping[str, Any], place: tuple[str, ...], value: str, depth: int = 0
) -> dict[str, Any]:
    """``options`` with ``value`` at ``place``; what lies beside it stays."""
    name, deeper = place[depth], depth + 1
    if deeper == len(place):
        return {**options, name: value}
    inner = options.get(name, {})
    if not isinstance(inner, Mapping):
        raise loaded.error("expected keys and values", "benchmark", *place[:deeper])
    return {**options, name: _put(loaded, inner, place, value, deeper)}
