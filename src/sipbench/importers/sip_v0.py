"""Run records that exist already: SIP-Bench v0.1.0 files (kind ``sip-v0``) and sipbench's own (``runs``).

Such records state phase, split, agent and model themselves: a binding's phase and split select among
them, its arm replaces theirs, and nothing else is changed. What v0.1.0 could not leave out and wrote as
0 is read as unknown where it shows (:mod:`sipbench.protocol.v0`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sipbench.errors import ConfigError, RecordError
from sipbench.importers.base import Binding, Imported, Importer
from sipbench.protocol.jsonl import read_records

__all__ = ["RecordsImporter"]


class RecordsImporter(Importer):
    """Reads JSON lines of run records, of every version that can be read."""

    states_place = True

    def read(self, path: Path, binding: Binding) -> Iterator[Imported]:
        """Yield the records that the binding selects."""
        given = binding.model_dump(exclude_none=True).keys() - {"phase", "split", "arm"}
        if given:
            raise ConfigError(f"{path}: {min(given)}: run records state it themselves; leave it out")
        renamed = {} if binding.arm is None else {"arm": binding.arm}
        kept = False
        for record in read_records(path):
            if binding.keeps(record):
                kept = True
                yield Imported(record.model_copy(update=renamed))
        if not kept:
            asked = " ".join(str(part) for part in (binding.phase, binding.split) if part)
            raise RecordError(f"{path}: holds no attempts" + (f" of {asked}" if asked else ""))
