"""Flatten record.json."""

import json
from pathlib import Path


def leaves(value, path):
    """Yield path and value of everything that holds nothing else."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]")
    else:
        yield path, json.dumps(value)


found = sorted(leaves(json.loads(Path("record.json").read_text(encoding="utf-8")), ""))
Path("answer.txt").write_text("".join(f"{path}={value}\n" for path, value in found), encoding="utf-8")
