"""JSON Schema files (2020-12) that are generated from models and shipped beside them.

One folder of ``<name>.schema.json`` files belongs to each floor that persists formats. The files are
package data, since editors and other languages read them; a test says when one is stale.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

__all__ = ["SchemaFiles"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class SchemaFiles:
    """The schemas of one folder.

    Attributes:
        folder: Where the files are.
        formats: For each name the model and the version of the format.
        amendments: For a name, what the model's schema cannot say by itself.
    """

    folder: Path
    formats: Mapping[str, tuple[type[BaseModel], str]]
    amendments: Mapping[str, Callable[[dict[str, Any]], None]] = field(default_factory=dict)

    def load(self, name: str) -> dict[str, Any]:
        """The shipped schema of a format.

        Args:
            name: A key of ``formats``.
        """
        text = self._path(self.folder, name).read_text(encoding="utf-8")
        return cast("dict[str, Any]", json.loads(text))

    def generate(self, name: str) -> dict[str, Any]:
        """The schema of a format, made from its model."""
        model, version = self.formats[name]
        schema = {"$schema": _DIALECT, "$id": f"urn:sipbench:{name}:{version}", **model.model_json_schema()}
        if name in self.amendments:
            self.amendments[name](schema)
        return schema

    def stale(self, folder: Path | None = None) -> list[str]:
        """The formats whose file in ``folder`` is not what the model gives."""
        found = []
        for name in self.formats:
            path = self._path(folder or self.folder, name)
            if not path.exists() or path.read_text(encoding="utf-8") != self._text(name):
                found.append(name)
        return found

    def write(self, folder: Path | None = None) -> list[Path]:
        """Write all schemas into ``folder`` and return their paths."""
        paths = []
        for name in self.formats:
            path = self._path(folder or self.folder, name)
            path.write_text(self._text(name), encoding="utf-8", newline="\n")
            paths.append(path)
        return paths

    def main(self, program: str) -> int:
        """The command that writes the schemas, or with ``--check`` says whether one is stale."""
        parser = argparse.ArgumentParser(prog=f"python -m {program}", description="Write the JSON Schemas.")
        parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if one is stale")
        if parser.parse_args().check:
            old = self.stale()
            if old:
                sys.stderr.write(f"stale schemas: {', '.join(old)}; run `make schemas`\n")
            return 1 if old else 0
        for path in self.write():
            sys.stdout.write(f"{path.name}\n")
        return 0

    def _text(self, name: str) -> str:
        return json.dumps(self.generate(name), indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def _path(folder: Path, name: str) -> Path:
        return folder / f"{name}.schema.json"
