"""Everything that must be there before a box can start, and the proof that one can."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sipbench.sandbox.base import Base, prepare
from sipbench.sandbox.box import Box
from sipbench.sandbox.bwrap import Binary, Machine, find, machine
from sipbench.sandbox.image import Image, lay_out
from sipbench.sandbox.options import SandboxOptions
from sipbench.sandbox.store import Store

__all__ = ["Ready", "prove"]


@dataclass(frozen=True)
class Ready:
    """A store, what this machine allows, the binary and the base."""

    store: Store
    machine: Machine
    binary: Binary
    base: Base

    @classmethod
    def make(cls, options: SandboxOptions) -> Ready:
        """Open the store, probe the machine, find bubblewrap and make the base.

        Raises:
            EngineError: One of them cannot be had; the message says what to do.
        """
        store = Store.open(options.store_path())
        binary, this = find(), machine(store.root)
        base = prepare(store, this, Path(options.base) if options.base else None)
        return cls(store, this, binary, base)


def prove(options: SandboxOptions) -> None:
    """Start and stop one empty box: the only proof that boxes can be started here.

    Left-over boxes of processes that are gone are removed first. May be called inside a running event
    loop, which it blocks.

    Raises:
        EngineError: No box can be started; the message says why.
    """

    async def body() -> None:
        ready = Ready.make(options)
        ready.store.reap()
        layout = lay_out(ready.store, ready.machine, Image(ready.base), options.policy)
        limits = options.limits()
        box = await Box.start(layout, ready.machine, ready.binary, limits, groups=options.groups)
        await box.stop()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(body())).result()
