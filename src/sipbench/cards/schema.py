"""The shipped schemas of ``asb-schema``, asked without its LinkML runtime."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from sipbench.errors import MissingExtraError

__all__ = ["schema_problems"]

_SHOWN = 160


@cache
def _validator(file: str, definition: str) -> Any:
    # The root of a shipped file is not the class that its name says (the collection's is SkillBundle),
    # and it is open; the definition is closed.
    try:
        from jsonschema import Draft201909Validator

        text = files("asb_schema").joinpath(file).read_text(encoding="utf-8")
    except ModuleNotFoundError:
        raise MissingExtraError("validating cards", "cards") from None
    shipped = json.loads(text)
    schema = {"$schema": shipped["$schema"], "$defs": shipped["$defs"], "$ref": f"#/$defs/{definition}"}
    return Draft201909Validator(schema)


def schema_problems(document: dict[str, Any], file: str, definition: str) -> Iterator[tuple[str | None, str]]:
    """Yield (field, reason) of everything that a shipped definition refuses, in the order of fields.

    Args:
        document: The object.
        file: The shipped file, for instance ``asb_card.schema.json``.
        definition: The key under ``$defs``, for instance ``ASBTaskCard``.

    Raises:
        MissingExtraError: ``asb-schema`` or ``jsonschema`` is not installed.
    """
    errors = _validator(file, definition).iter_errors(document)
    for error in sorted(errors, key=lambda error: [str(part) for part in error.absolute_path]):
        field = ".".join(str(part) for part in error.absolute_path) or None
        yield field, _reason(error)


def _reason(error: Any) -> str:
    text = str(error.message)
    if error.validator == "type":
        found = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
        wanted = error.validator_value
        names = " or ".join(wanted) if isinstance(wanted, list) else str(wanted)
        text = f"expected {names}, found {found.get(type(error.instance), 'a number')}"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
