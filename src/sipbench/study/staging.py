"""What an adaptation is handed: its own adapt attempts, copied to a private folder outside of the study."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sipbench.adaptation.trees import Bounds, copy_tree, scratch_folder
from sipbench.benchmarks.base import Task
from sipbench.protocol.records import RunRecord

__all__ = ["staged"]

_BOUNDS = Bounds(bytes=2**40, files=1_000_000, depth=256, skip=True)


@contextmanager
def staged(attempts: Iterable[tuple[Task, RunRecord, Path]]) -> Iterator[Path]:
    """A folder with attempts, as :mod:`sipbench.adaptation.base` describes it; removed afterwards.

    Args:
        attempts: The task, the record and the engine's output of each, in the order of the plan.
            Of the output, files and folders are copied; links and special files are left out.

    Raises:
        AdaptationError: An output cannot be copied.
    """
    with scratch_folder("sipbench-adapt-") as root:
        for number, (task, record, output) in enumerate(attempts):
            place = root / f"{number:04d}"
            (place / "output").mkdir(parents=True)
            document = {
                "task": {"id": task.id, "text": task.text, "metadata": dict(task.metadata)},
                "record": record.model_dump(mode="json"),
            }
            text = json.dumps(document, ensure_ascii=False, allow_nan=False)
            (place / "attempt.json").write_text(text + "\n", encoding="utf-8", newline="\n")
            if output.is_dir():
                copy_tree(output, place / "output", _BOUNDS)
        yield root
