"""Time from asking for a sandbox over a cached layer to its first command's end, and memory over many.

    python benchmarks/sandbox_start.py [--boxes 200] [--at-once 4] [--store DIR]

Goal: 0.1 s for a start in a cached layer. Each box runs one command and is stopped; all share one
layer, built before the clock runs. Printed: median, 95th percentile and largest of the time to lay out,
to start, for the first command and to stop; the rate with several at once; and how the memory of this
process and of its helper grew, which must not depend on the number of boxes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from sipbench.sandbox.base import prepare
from sipbench.sandbox.box import Box
from sipbench.sandbox.bwrap import find, machine
from sipbench.sandbox.context import Context
from sipbench.sandbox.dockerfile import parse
from sipbench.sandbox.image import Image, lay_out
from sipbench.sandbox.layers import Builder
from sipbench.sandbox.limits import Limits
from sipbench.sandbox.network import Mode
from sipbench.sandbox.policy import Policy
from sipbench.sandbox.store import Store

LIMITS = Limits(cpus=1, memory_mb=512)
PARTS = ("lay_out", "start", "command", "stop")


async def make_image(store: Store, builder: Builder) -> Image:
    """A layer with a file of the context and one written by a command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").write_text("x" * 1000)
        (folder / "Dockerfile").write_text(
            "FROM any\nRUN echo made > /made\nCOPY data /app/data\nWORKDIR /app\n"
        )
        return await builder.image(parse(folder / "Dockerfile"), Context.open(folder))


async def one(builder: Builder, image: Image) -> dict[str, float]:
    """Seconds of each part of one box's life."""
    marks = [time.perf_counter()]
    layout = lay_out(builder.store, builder.machine, image, Policy())
    marks.append(time.perf_counter())
    box = await Box.start(layout, builder.machine, builder.binary, LIMITS)
    marks.append(time.perf_counter())
    done = await box.exec(["cat", "/made"])
    assert done.stdout == b"made\n", done
    marks.append(time.perf_counter())
    await box.stop()
    marks.append(time.perf_counter())
    return dict(zip(PARTS, (after - before for before, after in pairwise(marks)), strict=True))


def resident(pid: int) -> int:
    """Resident memory of a process, bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def helper() -> int:
    """Process id of the process that forks keepers."""
    from sipbench.sandbox import launcher

    assert launcher._current is not None
    return launcher._current[1].pid


async def run(boxes: int, at_once: int, root: Path) -> dict[str, object]:
    """Measure, and return what is printed."""
    store = Store.open(root)
    this, binary = machine(store.root), find()
    builder = Builder(store, this, binary, prepare(store, this), network=Mode.NONE)
    image = await make_image(store, builder)
    for _ in range(5):
        await one(builder, image)
    before = resident(os.getpid()), resident(helper())
    alone = [await one(builder, image) for _ in range(boxes)]
    gate = asyncio.Semaphore(at_once)

    async def gated() -> None:
        async with gate:
            await one(builder, image)

    begun = time.perf_counter()
    await asyncio.gather(*(gated() for _ in range(boxes)))
    together = time.perf_counter() - begun
    after = resident(os.getpid()), resident(helper())
    whole = [row["lay_out"] + row["start"] + row["command"] for row in alone]
    return {
        "boxes": boxes,
        "root": this.root,
        "overlay": this.overlay,
        "to_first_command_sec": spread(whole),
        **{f"{part}_sec": spread([row[part] for row in alone]) for part in PARTS},
        "boxes_per_sec": {"at_once": at_once, "rate": round(boxes / together, 2)},
        "memory_growth_mib": [round((b - a) / 2**20, 2) for a, b in zip(before, after, strict=True)],
    }


def spread(values: list[float]) -> dict[str, float]:
    """Median, 95th percentile and largest."""
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), 4),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 4),
        "max": round(ordered[-1], 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--boxes", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--store", type=Path, help="default: the user's store")
    options = parser.parse_args()
    print(json.dumps(asyncio.run(run(options.boxes, options.at_once, options.store)), indent=2))


if __name__ == "__main__":
    main()
