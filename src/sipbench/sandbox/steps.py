"""Carry out single steps of a Dockerfile in a running box."""

from __future__ import annotations

import re
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sipbench.errors import EngineError
from sipbench.sandbox.base import Base
from sipbench.sandbox.box import Box
from sipbench.sandbox.bwrap import Machine
from sipbench.sandbox.context import Context
from sipbench.sandbox.dockerfile import Copy, Dockerfile, Run, Step, Workdir
from sipbench.sandbox.endings import TimedOutError
from sipbench.sandbox.transfer import As, upload_dir, upload_file

__all__ = ["Worker", "check_steps", "has_program"]

_NEEDS_ROOT = ("apt-get", "apt", "aptitude", "dpkg")
_MANAGERS = (*_NEEDS_ROOT, "apk", "yum", "dnf", "microdnf", "zypper", "pacman")
_COMMAND = re.compile(rf"(?:^|[\s;&|(`])(?:sudo\s+)?({'|'.join(_MANAGERS)})\s+[-a-zA-Z]")
_BINARIES = ("/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin")
_SCRIPT, _ARCHIVE = "/tmp/.run-script", "/tmp/.added-archive"
_TAIL = 12
_OUTPUT = 1 << 20


def check_steps(dockerfile: Dockerfile, base: Base, machine: Machine) -> None:
    """Refuse, before anything is built, what cannot work here.

    Raises:
        EngineError: A package manager needs root or is not in the base; a user other than root is
            asked for where a box has one uid. The message names the file and line.
    """
    for step in dockerfile.steps:
        if not isinstance(step, Run):
            continue
        where = f"{dockerfile.path}:{step.line}: RUN"
        for manager in sorted(set(_COMMAND.findall(" ".join(step.words)))):
            if not has_program(base, manager):
                raise EngineError(
                    f"{where}: {manager} is not in {base.label}: give a sandbox base, or use Docker"
                )
            if manager in _NEEDS_ROOT and not machine.root:
                raise EngineError(
                    f"{where}: {manager} needs root: run as root, give a sandbox base, or use Docker"
                )
        _check_user(step.user, machine, where)
    _check_user(dockerfile.user, machine, f"{dockerfile.path}: USER")


def _check_user(user: str | None, machine: Machine, where: str) -> None:
    if not machine.root and (user or "root").partition(":")[0] not in ("root", "0"):
        raise EngineError(f"{where}: user '{user}' needs a sandbox started by root, or Docker")


def has_program(base: Base, name: str) -> bool:
    """Tell whether the base has a program of that name in a usual place."""
    for part in base.parts:
        for place in map(PurePosixPath, _BINARIES):
            if part.below is not None and place.is_relative_to(part.target):
                path = part.below / place.relative_to(part.target) / name
                if path.exists() or path.is_symlink():
                    return True
    return False


@dataclass(frozen=True)
class Worker:
    """Carries out steps in a box.

    Attributes:
        box: A running box.
        path: The Dockerfile, for messages.
        context: Where files come from.
        env: Variables beneath those of the Dockerfile.
        timeout_sec: Seconds for one RUN step; None for no limit.
    """

    box: Box
    path: str
    context: Context
    env: dict[str, str]
    timeout_sec: float | None

    async def step(self, step: Step) -> None:
        """Carry out one step.

        Raises:
            EngineError: It failed; with the file and line.
        """
        where = f"{self.path}:{step.line}"
        try:
            if isinstance(step, Run):
                await self._run(step)
            elif isinstance(step, Copy):
                await self._copy(step)
            elif isinstance(step, Workdir):
                await self._ok(["mkdir", "-p", "--", step.path])
        except TimedOutError as error:
            raise EngineError(f"{where}: {error}") from error
        except (ValueError, OSError) as error:
            raise EngineError(f"{where}: {error}") from error

    async def _run(self, step: Run) -> None:
        argv = await self._script(step.words[0]) if step.script else [*step.shell, *step.words]
        done = await self.box.exec(
            argv,
            env={**self.env, **dict(step.env)},
            cwd=step.workdir,
            user=step.user,
            make_cwd=True,
            timeout_sec=self.timeout_sec,
            limit=_OUTPUT,
        )
        if done.code != 0:
            out, err = done.text()
            tail = "\n".join((err.strip() or out.strip()).splitlines()[-_TAIL:])
            raise ValueError(f"RUN failed with exit code {done.code}: {tail}")

    async def _script(self, text: str) -> list[str]:
        with tempfile.TemporaryDirectory() as staging:
            place = Path(staging) / "script"
            place.write_text(text, encoding="utf-8", newline="\n")
            await upload_file(self.box, place, _SCRIPT, As(mode=0o755))
        return ["/bin/sh", "-c", f"{_SCRIPT}; code=$?; rm -f {_SCRIPT}; exit $code"]

    async def _copy(self, step: Copy) -> None:
        with tempfile.TemporaryDirectory() as staging:
            paths = [path for source in step.sources for path in self.context.find(source)]
            for document in step.inline:
                place = Path(staging) / document.name
                place.write_text(document.content, encoding="utf-8", newline="\n")
                paths.append(place)
            into = step.into or len(paths) > 1
            for path in paths:
                await self._copy_one(step, path, into)

    async def _copy_one(self, step: Copy, path: Path, into: bool) -> None:
        if path.is_dir():
            how = As(step.owner, step.mode, self.context.left_out(path))
            await upload_dir(self.box, path, step.target, how)
        elif step.unpack and tarfile.is_tarfile(path):
            await upload_file(self.box, path, _ARCHIVE)
            await self._ok(["mkdir", "-p", "--", step.target])
            await self._ok(["tar", "-xf", _ARCHIVE, "--no-same-owner", "-C", step.target])
            await self._ok(["rm", "-f", _ARCHIVE])
        else:
            inside = into or (await self.box.exec(["test", "-d", step.target])).code == 0
            target = f"{step.target.rstrip('/')}/{path.name}" if inside else step.target
            await upload_file(self.box, path, target, As(step.owner, step.mode))

    async def _ok(self, argv: list[str]) -> None:
        done = await self.box.exec(argv)
        if done.code != 0:
            raise ValueError(f"{argv[0]} failed: {done.error_line()}")
