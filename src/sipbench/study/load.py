"""Reads a study file and settles every value: command line, then environment, then file, then default."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from sipbench.errors import ConfigError
from sipbench.study.complaints import complain, field_name, located
from sipbench.study.config import StudyConfig
from sipbench.study.yamltext import Document, Place, read_yaml

__all__ = ["COMMAND_LINE", "ENVIRONMENT", "LoadedStudy", "load_study", "option_name"]

ENVIRONMENT: Mapping[str, str] = {
    "SIPBENCH_CONCURRENCY": "concurrency",
    "SIPBENCH_EXECUTOR": "executor",
    "SIPBENCH_RETRIES": "retries",
}
"""Environment variables that replace a field of the study file."""

COMMAND_LINE = "command line"


def option_name(name: str) -> str:
    """A setting as the command line writes it."""
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class LoadedStudy:
    """A study file, read and settled.

    Attributes:
        config: The settled values.
        base: The folder that relative paths start from.
        document: The file as it was written.
        sources: Where each top-level field's value came from: ``command line``, ``environment``,
            ``study file`` or ``default``; and likewise each replaced option of the benchmark.
        origins: For replaced fields, what to name in a message: ``--retries`` or a variable.
    """

    config: StudyConfig
    base: Path
    document: Document
    sources: Mapping[str, str]
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> bytes:
        """The file's bytes, as given."""
        return self.document.text

    def where(self, place: Sequence[str | int]) -> str:
        """``file:line`` of a place, or the option or variable that replaced it."""
        return located(self.document, place, _origin(self.origins, place))

    def error(self, message: str, *place: str | int) -> ConfigError:
        """An error about ``place``."""
        at = f"{self.where(place)}: {field_name(place)}: " if place else f"{self.document.file}: "
        return ConfigError(at + message)

    def options[Model: BaseModel](
        self, model: type[Model], values: Mapping[str, Any], *place: str | int
    ) -> Model:
        """Check a plug-in's options, which stand at ``place``.

        Raises:
            ConfigError: An option is unknown, missing or wrong.
        """
        try:
            return model.model_validate(dict(values))
        except ValidationError as error:
            raise ConfigError(complain(error, model, place=tuple(place), where=self.where)) from None


def load_study(
    path: Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> LoadedStudy:
    """Read a study file.

    Args:
        path: The file.
        overrides: Values from the command line, by field; None means not given. ``allow`` adds to
            the file's.
        environment: The environment; default: the process's own.

    Raises:
        ConfigError: The file cannot be read, or a value is unknown, missing or wrong.
    """
    document = read_yaml(path)
    if not isinstance(document.data, dict):
        raise ConfigError(f"{path}: expected keys and values, such as `name: my-study`")
    data: dict[str, Any] = dict(document.data)
    sources = {name: "study file" if name in data else "default" for name in StudyConfig.model_fields}
    origins: dict[str, str] = {}
    variables = os.environ if environment is None else environment
    for variable, name in ENVIRONMENT.items():
        if variables.get(variable):
            data[name], sources[name], origins[name] = variables[variable], "environment", variable
    for name, value in (overrides or {}).items():
        if value is None or (name == "allow" and not value):
            continue
        data[name] = [*data.get("allow", ()), *value] if name == "allow" else value
        sources[name], origins[name] = COMMAND_LINE, option_name(name)
    return LoadedStudy(_checked(data, document, origins), path.resolve().parent, document, sources, origins)


def _origin(origins: Mapping[str, str], place: Sequence[str | int]) -> str | None:
    """What replaced the value at ``place`` or around it."""
    around = (field_name(place[:length]) for length in range(len(place), 0, -1))
    return next((origins[name] for name in around if name in origins), None)


def _checked(data: Mapping[str, Any], document: Document, origins: Mapping[str, str]) -> StudyConfig:
    def where(place: Sequence[str | int]) -> str:
        return located(document, place, _origin(origins, place))

    try:
        return StudyConfig.model_validate(dict(data))
    except ValidationError as error:
        place: Place = ()
        raise ConfigError(complain(error, StudyConfig, place=place, where=where)) from None
