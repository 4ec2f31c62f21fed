"""Boxes for the tests: one store and one base for the whole session."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import EngineError
from sipbench.sandbox.base import Base, prepare
from sipbench.sandbox.box import Box, Done
from sipbench.sandbox.bwrap import Binary, Machine, find, machine
from sipbench.sandbox.image import Image, lay_out
from sipbench.sandbox.limits import Limits
from sipbench.sandbox.policy import Policy
from sipbench.sandbox.store import Store

SMALL = Limits(memory_mb=512, processes=256, disk_mb=256, lifetime_sec=600)


def why_not() -> str | None:
    """Why no box can be started here, or nothing."""
    if not sys.platform.startswith("linux"):
        return "the sandbox needs Linux"
    try:
        find()
    except EngineError as error:
        return str(error)
    done = subprocess.run(["unshare", "-Ur", "true"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"no user namespaces here: {done.stderr.strip()}"


@dataclass
class Place:
    """Where the session's boxes are started."""

    store: Store
    machine: Machine
    binary: Binary
    base: Base
    open_boxes: list[Box] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def box(
        self,
        limits: Limits = SMALL,
        policy: Policy | None = None,
        image: Image | None = None,
        *,
        own_network: bool = True,
        groups: bool = True,
    ) -> AsyncIterator[Box]:
        """A running box, stopped at the end."""
        image = image or Image(self.base)
        layout = lay_out(self.store, self.machine, image, policy or Policy(), own_network=own_network)
        box = await Box.start(layout, self.machine, self.binary, limits, groups=groups)
        try:
            yield box
        finally:
            await box.stop()

    def run(self, script: str, limits: Limits = SMALL, policy: Policy | None = None, **options: Any) -> Done:
        """Run one script in a box of its own."""

        async def body() -> Done:
            async with self.box(limits, policy) as box:
                return await box.exec(["/bin/sh", "-c", script], **options)

        return asyncio.run(body())


def _fast_place() -> str | None:
    """Memory if an overlay can lie on it: the kernel writes a whole disk out when one is unmounted."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < 2 << 30:
        return None
    with tempfile.TemporaryDirectory(prefix="sipbench-test-", dir=memory) as probe:
        return str(memory) if machine(Path(probe)).overlay else None


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    """The session's store, base and machine; skips where no box can be started."""
    reason = why_not()
    if reason:
        pytest.skip(f"sandbox: {reason}")
    root = Path(tempfile.mkdtemp(prefix="sipbench-test-store-", dir=_fast_place()))
    try:
        store = Store.open(root)
        this = machine(store.root)
        if not this.overlay:
            pytest.skip(f"sandbox: {this.reasons[0]}; a copy of the whole system is too slow for the tests")
        yield Place(store, this, find(), prepare(store, this))
    finally:
        assert root.name.startswith("sipbench-test-store-"), root
        for kind in ("boxes", "layers", "base"):
            for path in root.joinpath(kind).glob("*"):
                Store(root).remove_tree(path)
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def root_only() -> None:
    """Skips where the tests do not run as root."""
    if os.geteuid() != 0:
        pytest.skip("sandbox: this test needs root")


@pytest.fixture
def go() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine to its end."""
    return asyncio.run


async def wait_for(condition: Callable[[], Any], patience_sec: float = 30.0) -> Any:
    """Wait until a condition holds and return its value; fail after a generous time."""
    for _ in range(int(patience_sec / 0.02)):
        value = condition()
        if asyncio.iscoroutine(value):
            value = await value
        if value:
            return value
        await asyncio.sleep(0.02)
    raise AssertionError("the condition never held")
