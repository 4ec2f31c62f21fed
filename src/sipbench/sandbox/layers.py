"""Carry out a Dockerfile's steps in a box over the base, and keep the result.

The steps up to the first COPY or ADD make one layer, the rest a second: what
installs packages is then shared by every task, and by every copy of a task with
other skills, that begins the same way. A layer's name is the digest of what is
below it, its steps and, where they copy, the whole context.

One process builds a layer; others that need it wait. A layer appears complete, by
one rename, or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from sipbench.sandbox.base import Base
from sipbench.sandbox.box import Box
from sipbench.sandbox.bwrap import Binary, Machine
from sipbench.sandbox.context import Context
from sipbench.sandbox.dockerfile import Copy, Dockerfile, Run, Step
from sipbench.sandbox.egress import Egress
from sipbench.sandbox.image import Image, ImageConfig, lay_out
from sipbench.sandbox.limits import Limits
from sipbench.sandbox.network import Mode, Proxy
from sipbench.sandbox.policy import Policy, environment_names
from sipbench.sandbox.steps import Worker, check_steps
from sipbench.sandbox.store import Store
from sipbench.sandbox.threads import in_thread

__all__ = ["Builder"]

_FORMAT = "1"


def _silent(_: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Builder:
    """Everything a build depends on beside the Dockerfile.

    Attributes:
        store: Where layers are kept.
        machine: What this machine allows.
        binary: Which bubblewrap.
        base: The lowest layer.
        policy: What steps see beside it.
        limits: What steps may use.
        network: How RUN steps are connected.
        allow: Hosts that the proxy lets them reach even if private.
        timeout_sec: Seconds for one RUN step; None for no limit.
        groups: Use control groups where they can be had.
        tell: Called with one line for each thing a person should know.
    """

    store: Store
    machine: Machine
    binary: Binary
    base: Base
    policy: Policy = field(default_factory=Policy)
    limits: Limits = field(default_factory=Limits)
    network: Mode = Mode.PROXY
    allow: tuple[str, ...] = ()
    timeout_sec: float | None = None
    groups: bool = True
    tell: Callable[[str], None] = _silent

    async def image(self, dockerfile: Dockerfile, context: Context, *, force: bool = False) -> Image:
        """Return the image of a Dockerfile, building the layers that are missing.

        Args:
            dockerfile: What to carry out.
            context: Where its files are.
            force: Build anew even if the layers exist.

        Raises:
            EngineError: A step cannot be carried out here, or failed; with the file and line.
        """
        check_steps(dockerfile, self.base, self.machine)
        image = Image(self.base)
        for steps in _groups(dockerfile.steps):
            image = await self._layer(image, dockerfile, steps, context, force)
        config = ImageConfig(
            dict(dockerfile.env), dockerfile.workdir, dockerfile.user, tuple(dockerfile.notes)
        )
        return replace(image, config=config)

    async def _layer(
        self, below: Image, dockerfile: Dockerfile, steps: list[Step], context: Context, force: bool
    ) -> Image:
        digest = await in_thread(self._digest, below, steps, context)
        place, copied = self.store.layer(digest), below.copied
        if not self.machine.overlay and any(isinstance(step, Run) for step in steps):
            copied = tuple(part.name for part in self.base.parts)
        above = Image(self.base, (*below.layers, digest), copied=copied)
        if place.is_dir() and not force:
            return above
        lock = await in_thread(self.store.hold, digest)
        try:
            if force and place.is_dir():
                gone = self.store.box(f"gone-{self.store.new_box()}")
                place.rename(gone)
                await in_thread(self.store.remove_tree, gone)
            if not place.is_dir():
                await self._build(replace(below, copied=copied), dockerfile, steps, context, digest)
        finally:
            os.close(lock)
        return above

    def _digest(self, below: Image, steps: list[Step], context: Context) -> str:
        sha = hashlib.sha256(f"{_FORMAT} {self.machine.uid} {self.machine.overlay}\n".encode())
        sha.update("\n".join((self.base.digest, *below.layers)).encode())
        for step in steps:
            said = {key: value for key, value in asdict(step).items() if key != "line"}
            line = json.dumps([type(step).__name__, said], sort_keys=True)
            sha.update(line.encode("utf-8", "surrogatepass") + b"\n")
        if any(isinstance(step, Copy) and step.sources for step in steps):
            sha.update(context.digest().encode())
        return sha.hexdigest()[:24]

    async def _build(
        self, below: Image, dockerfile: Dockerfile, steps: list[Step], context: Context, digest: str
    ) -> None:
        if below.copied:
            self.tell("no overlay can be mounted here: the whole system is copied for this task")
        runs = any(isinstance(step, Run) for step in steps)
        host = runs and self.network is Mode.HOST
        layout = await in_thread(
            lambda: lay_out(
                self.store, self.machine, below, self.policy, own_network=not host, host_resolver=host
            )
        )
        box = await Box.start(layout, self.machine, self.binary, self.limits, groups=self.groups)
        proxy = Proxy(Egress(public=True, trusted=self.allow))
        finished = False
        try:
            env = environment_names(self.policy.pass_env, os.environ)
            if runs and self.network is Mode.PROXY:
                await proxy.start(box)
                env = {**proxy.env(), **env}
            worker = Worker(box, dockerfile.path, context, env, self.timeout_sec)
            for step in steps:
                await worker.step(step)
            finished = True
        finally:
            await proxy.stop()
            await box.stop(keep=finished, wait=finished)
        await in_thread(self._publish, layout.directory, digest, host)

    def _publish(self, directory: Path, digest: str, host: bool) -> None:
        """Turn a box's writes into a layer and move it into place."""
        name = self.store.new_box()
        lock = self.store.hold(name)
        made = self.store.box(name)
        try:
            made.mkdir(mode=0o755)
            for part in self.base.parts:
                tree = directory / part.name
                tree = tree / "upper" if self.machine.overlay else tree
                if not tree.is_dir():
                    continue
                if part.target == "/" and host:
                    (tree / "etc/resolv.conf").unlink(missing_ok=True)
                tree.rename(made / part.name)
            record = {"format": _FORMAT, "base": self.base.label}
            (made / "layer.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
            self.store.publish(made, self.store.layer(digest))
        finally:
            self.store.remove_tree(made)
            self.store.remove_tree(directory)
            os.close(lock)
            for gone in (name, directory.name):
                self.store.lock_path(gone).unlink(missing_ok=True)


def _groups(steps: list[Step]) -> list[list[Step]]:
    """Split before the first copy, so that what precedes it is shared."""
    first = next((index for index, step in enumerate(steps) if isinstance(step, Copy)), len(steps))
    return [group for group in (steps[:first], steps[first:]) if group]
