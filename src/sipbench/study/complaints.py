"""Says what is wrong with a study file, where, and what to write instead."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from sipbench.plugins import suggestion
from sipbench.study.yamltext import Document, Place

__all__ = ["complain", "field_name", "located"]

_SHOWN = 3


def located(document: Document, place: Sequence[str | int], origin: str | None = None) -> str:
    """``file:line`` of a place; or the option or variable that replaced what the file says."""
    if origin is not None:
        return origin
    line = document.line(place)
    return f"{document.file}:{line}" if line else document.file


def field_name(place: Sequence[str | int]) -> str:
    """A place as people write it: ``arms.macros.seed``."""
    return ".".join(str(part) for part in place)


def complain(
    error: ValidationError,
    model: type[BaseModel],
    *,
    place: Place = (),
    where: Callable[[Sequence[str | int]], str],
) -> str:
    """One line for what a model refuses: the first few complaints, each with its place.

    Args:
        error: What pydantic said.
        model: The model that refused.
        place: Where the model's data stand in the document.
        where: Gives ``file:line`` of a place.
    """
    items = error.errors(include_url=False, include_input=True)
    # A mistyped key is also a missing one; its own complaint says more.
    items.sort(key=lambda item: item["type"] != "extra_forbidden")
    said = [_one(item, model, place, where) for item in items[:_SHOWN]]
    more = f"; and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return "; ".join(dict.fromkeys(said)) + more


def _one(item: Any, model: type[BaseModel], place: Place, where: Callable[[Sequence[str | int]], str]) -> str:
    inner = tuple(item["loc"])
    full = (*place, *inner)
    kind = item["type"]
    if kind == "extra_forbidden":
        known = sorted(_fields(model, inner[:-1]))
        hint = suggestion(str(inner[-1]), known) or (f"; known are {', '.join(known)}" if known else "")
        return f"{where(full)}: {field_name(full)}: unknown key{hint}"
    if kind == "missing":
        wanted = _fields(model, inner[:-1]).get(str(inner[-1]))
        meaning = f": {wanted.description}" if wanted is not None and wanted.description else ""
        return f"{where(full)}: {field_name(full)}: is missing{meaning}".rstrip(".")
    reason = item["msg"].removeprefix("Value error, ")
    named, _, rest = reason.partition(": ")
    if kind == "value_error" and rest and " " not in named:
        # A check of the whole document names the place that it is about.
        full, reason = (*place, *inner, *named.split(".")), rest
    return f"{where(full)}: {field_name(full)}: {_plain(reason, item)}"


def _plain(reason: str, item: Any) -> str:
    if item["type"] == "string_pattern_mismatch":
        return f"{item['input']!r} may hold letters, digits, dot, hyphen and underscore only, at most 64"
    found = item["input"]
    shown = (
        f" (found {found!r})" if isinstance(found, str | int | float | bool) and len(repr(found)) < 60 else ""
    )
    return reason[:1].lower() + reason[1:] + shown


def _fields(model: type[BaseModel], inner: Sequence[str | int]) -> Mapping[str, Any]:
    """The fields of the model at ``inner``, as far as annotations tell."""
    current: Any = model
    for part in inner:
        current = _into(current, part)
        if current is None:
            return {}
    found = next((kind for kind in _models(current)), None)
    if found is None:
        return {}
    return {field.alias or name: field for name, field in found.model_fields.items()}


def _into(annotation: Any, part: str | int) -> Any:
    for kind in _models(annotation):
        by_name = {field.alias or name: field for name, field in kind.model_fields.items()}
        if part in by_name:
            return by_name[str(part)].annotation
    for option in _options(annotation):
        arguments = typing.get_args(option)
        if typing.get_origin(option) in (dict, Mapping) and len(arguments) == 2:
            return arguments[1]
        if typing.get_origin(option) in (tuple, list) and arguments:
            return arguments[0]
    return annotation if any(True for _ in _models(annotation)) else None


def _models(annotation: Any) -> list[type[BaseModel]]:
    return [kind for kind in _options(annotation) if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _options(annotation: Any) -> list[Any]:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _options(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [option for argument in typing.get_args(annotation) for option in _options(argument)]
    return [annotation]
