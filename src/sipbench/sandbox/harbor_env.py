"""The environment class that Harbor 0.26 loads.

``harbor run -p TASK -a AGENT -e sipbench.sandbox.harbor_env:BwrapEnvironment``,
options as ``--ek name=value``. Only this module needs the extra ``harbor``.

Harbor aborts a whole job when a constructor raises, so that what cannot work is
refused in `start`, as one trial's `EngineError`; `sipbench.sandbox.task.check_task`
tells beforehand.
"""

from __future__ import annotations

import os
import shlex
import socket
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, override

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.environments.options import EnvironmentOptions
from harbor.models.task.config import NetworkMode, NetworkPolicy, TaskOS
from harbor.models.trial.paths import EnvironmentPaths
from harbor.utils.path_filter import filter_paths_by_patterns
from pydantic import Field

from sipbench.errors import EngineError
from sipbench.sandbox import transfer
from sipbench.sandbox.box import Box
from sipbench.sandbox.egress import Egress
from sipbench.sandbox.endings import BoxEndedError, TimedOutError
from sipbench.sandbox.image import Image, lay_out
from sipbench.sandbox.layers import Builder
from sipbench.sandbox.limits import Limits
from sipbench.sandbox.network import Mode, Proxy
from sipbench.sandbox.options import SandboxOptions
from sipbench.sandbox.policy import environment_names
from sipbench.sandbox.ready import Ready, prove
from sipbench.sandbox.record import BoxRecord
from sipbench.sandbox.steps import has_program
from sipbench.sandbox.store import Store
from sipbench.sandbox.task import Asked, check
from sipbench.sandbox.threads import in_thread

__all__ = ["BwrapEnvironment", "BwrapOptions"]


class BwrapOptions(EnvironmentOptions):  # type: ignore[misc]
    """Options of the sandbox; `sipbench.sandbox.options` says what each means."""

    store: str | None = Field(None, description="Directory of layers and boxes.")
    base: str | None = Field(None, description="Root file system instead of this machine's system.")
    network: str = Field("proxy", description="How tasks with network are connected: proxy or host.")
    build_network: str = Field("proxy", description="How RUN steps are connected: proxy, host or none.")
    allow_hosts: list[str] = Field(default_factory=list, description="Hosts the proxy lets through as well.")
    pass_env: list[str] = Field(default_factory=list, description="Names of host variables let in.")
    read_only: list[str] = Field(default_factory=list, description="Host paths shown read-only.")
    leftover: str = Field(
        "stop", description="Agent's processes when a shared verifier begins: stop or keep."
    )
    cpus: float | None = Field(None, description="Processors where the task names none.")
    memory_mb: int | None = Field(None, description="Memory in MiB where the task names none.")
    processes: int = Field(4096, description="Processes and threads at most.")
    disk_mb: int = Field(10240, description="MiB a box may write where the task names no storage.")
    lifetime_sec: float = Field(86400.0, description="Age at which a box is ended, seconds.")
    groups: bool = Field(True, description="Use control groups where they can be had.")
    seccomp: bool = Field(True, description="Refuse the system calls Docker's default profile refuses.")

    def sandbox(self) -> SandboxOptions:
        """The same as `SandboxOptions`.

        Raises:
            ConfigError: A value is not one of those allowed.
        """
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(SandboxOptions) if f.init}
        for name in ("allow_hosts", "pass_env", "read_only"):
            values[name] = tuple(values[name])
        return SandboxOptions(**values)


class BwrapEnvironment(BaseEnvironment):  # type: ignore[misc]
    """A Harbor environment that is one bubblewrap box.

    It lives from `start` to `stop`; commands enter it one by one, and what they leave running stays
    until the verifier of a shared environment begins (option `leftover`), or until `stop`.
    """

    options_model = BwrapOptions
    options: BwrapOptions

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._given = {name: kwargs[name] for name in BwrapOptions.model_fields if name in kwargs}
        self._choice = BwrapOptions.model_validate(self._given).sandbox()
        self._box: Box | None = None
        self._proxy: Proxy | None = None
        self._image: Image | None = None
        self._record: BoxRecord | None = None
        self._workdir = "/"
        self._shell = "bash"
        self._uploading_tests = False
        super().__init__(*args, **kwargs)

    # -- declarations -------------------------------------------------------------------------

    @staticmethod
    @override
    def type() -> str:
        return "bwrap"

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        # With the proxy the policy is ours to change at any time; the host's network cannot be left.
        proxied = self._choice.network_mode is Mode.PROXY
        return EnvironmentCapabilities(
            disable_internet=True,
            dynamic_network_policy=proxied,
            network_allowlist=proxied,
            network_allowlist_hostnames=proxied,
            network_allowlist_wildcard_hostnames=proxied,
            network_allowlist_ipv4_addresses=proxied,
            network_allowlist_ipv6_addresses=proxied,
            network_allowlist_ipv4_cidrs=proxied,
            network_allowlist_ipv6_cidrs=proxied,
        )

    @classmethod
    @override
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities(cpu_limit=True, memory_limit=True, fractional_cpus=True)

    @classmethod
    @override
    def preflight(cls, kwargs: dict[str, Any] | None = None) -> None:
        super().preflight(kwargs)
        try:
            prove(BwrapOptions.model_validate(kwargs or {}).sandbox())
        except EngineError as error:
            raise SystemExit(str(error)) from error

    @override
    def _validate_definition(self) -> None:
        """Nothing is refused here: see the module's docstring."""

    _validate_gpu_support = _validate_tpu_support = _validate_windows_support = _validate_definition

    @override
    async def _apply_network_policy(self, network_policy: NetworkPolicy) -> None:
        if self._proxy is None:
            self._proxy = Proxy(self._egress(network_policy))
            await self._proxy.start(self._running())
        else:
            await self._proxy.change(self._egress(network_policy))

    # -- life ---------------------------------------------------------------------------------

    @override
    async def start(self, force_build: bool) -> None:
        begun = time.monotonic()
        ready, choice = await in_thread(Ready.make, self._choice), self._choice
        image, limits, notes = await self._make_image(ready, force_build)
        host = choice.network_mode is Mode.HOST and not self._network_disabled
        if host:
            self._tell("the sandbox shares the host's network: services on the host's loopback are reachable")
        network = {"own_network": not host, "host_resolver": host}
        layout = await in_thread(lay_out, ready.store, ready.machine, image, choice.policy, **network)
        self._box = await Box.start(layout, ready.machine, ready.binary, limits, groups=choice.groups)
        self._image, self._workdir = image, self.task_env_config.workdir or image.config.workdir
        self._shell = "bash" if has_program(ready.base, "bash") else "sh"
        role = self.session_id.partition("__")[2].partition("__")[2] or "env"
        record = self._record = BoxRecord(role, ready.machine, ready.binary, image, limits, notes=notes)
        record.held, record.seccomp, record.mapped = self._box.held, self._box.seccomp, self._box.mapped
        if not host and not self._network_disabled:
            await self._apply_network_policy(self._network_policy)
        await self._make_directories()
        await self._upload_environment_dir_after_start()
        record.start_sec = round(time.monotonic() - begun, 4)
        self._write_record()

    async def _make_image(self, ready: Ready, force_build: bool) -> tuple[Image, Limits, list[str]]:
        config, choice = self.task_env_config, self._choice
        asked = Asked(
            self.environment_dir,
            self._effective_gpus,
            config.tpu is not None,
            self.os == TaskOS.WINDOWS,
            bool(self.extra_docker_compose_paths),
        )
        dockerfile, context = await in_thread(check, asked, ready.base, ready.machine)
        asks = (self._effective_cpus, self._effective_memory_mb, self._effective_storage_mb)
        limits = choice.limits(*asks)
        if self._host_mounts:
            raise EngineError(
                f"{self.environment_name}: mounts of host directories are not supported by the sandbox; "
                "use the option read_only"
            )
        if dockerfile is None or context is None:
            note = f"image {config.docker_image} noted, not pulled: {ready.base.label} stands in"
            return Image(ready.base), limits, [note]
        builder = Builder(
            ready.store,
            ready.machine,
            ready.binary,
            ready.base,
            policy=choice.policy,
            # A build is the task author's code: it gets the user's defaults, not the task's limits.
            limits=choice.limits(),
            network=Mode(choice.build_network),
            allow=choice.allow_hosts,
            timeout_sec=config.build_timeout_sec,
            groups=choice.groups,
            tell=self._tell,
        )
        image = await builder.image(dockerfile, context, force=force_build)
        return image, limits, list(image.config.notes)

    async def _make_directories(self) -> None:
        writable = " ".join(shlex.quote(path) for path in self._mount_targets(writable_only=True))
        script = f"mkdir -p {shlex.quote(self._workdir)}"
        if writable:
            script += f" && mkdir -p {writable} && chmod 777 {writable}"
        done = await self._running().exec(["/bin/sh", "-c", script])
        if done.code != 0:
            raise EngineError(f"{self.environment_name}: {done.error_line()}")

    @override
    async def stop(self, delete: bool) -> None:
        if self._box is None:
            return
        if self._record is not None:
            try:
                self._record.outcome = await self._box.state()
            except EngineError as error:
                self._record.outcome = {"exceeded": str(error)}
            self._write_record()
        if self._proxy is not None:
            await self._proxy.stop()
        await self._box.stop(keep=not delete)
        if not delete:
            self._tell(f"kept: {self._box.layout.directory}")
        self._box = None

    def _write_record(self) -> None:
        if self._record is None:
            return
        policy = self._network_policy
        self._record.network = {
            "connected": "none" if self._network_disabled else self._choice.network,
            "policy": policy.network_mode.value,
            "hosts": [*policy.allowed_hosts, *self._choice.allow_hosts],
            "refused": sorted(self._proxy.refused) if self._proxy is not None else [],
        }
        directory = self.trial_paths.trial_dir
        if directory.is_dir():
            self._record.write(directory)

    # -- commands -----------------------------------------------------------------------------

    def _running(self) -> Box:
        if self._box is None:
            raise BoxEndedError(f"{self.environment_name}: the sandbox is not running")
        return self._box

    def _egress(self, policy: NetworkPolicy) -> Egress:
        allow = self._choice.allow_hosts
        if policy.network_mode == NetworkMode.PUBLIC:
            return Egress(public=True, trusted=allow)
        if policy.network_mode == NetworkMode.ALLOWLIST:
            return Egress(hosts=tuple(policy.allowed_hosts), trusted=allow)
        return Egress()

    def _environment(self, env: dict[str, str] | None) -> dict[str, str]:
        image = self._image.config.env if self._image is not None else {}
        host = environment_names(self._choice.pass_env, os.environ)
        proxy = self._proxy.env() if self._proxy is not None else {}
        return {**proxy, **host, **image, **(self._merge_env(env) or {})}

    def _user(self, user: str | int | None) -> str | None:
        resolved = self._resolve_user(user)
        if resolved is None and self._image is not None:
            return self._image.config.user
        return None if resolved is None else str(resolved)

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        self._uploading_tests = False
        try:
            done = await self._running().exec(
                [self._shell, "-c", command],
                env=self._environment(env),
                cwd=cwd or self._workdir,
                user=self._user(user),
                timeout_sec=timeout_sec,
                handler=self._output_callback(),
            )
        except TimedOutError as error:
            # The words of Harbor's own environments.
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds") from error
        out, err = done.text()
        return ExecResult(stdout=out, stderr=err, return_code=done.code)

    async def listen(self, port: int) -> socket.socket:
        """Open a listening socket on the box's own loopback, for a process outside of it to serve."""
        if self._choice.network_mode is Mode.HOST and not self._network_disabled:
            raise EngineError("it has the host's network and no loopback of its own; use network: proxy")
        return await self._running().listen(port)

    # -- files --------------------------------------------------------------------------------

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        await transfer.upload_file(self._running(), Path(source_path), self._inside(target_path))

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        if str(target_dir).rstrip("/") == str(EnvironmentPaths().tests_dir):
            await self._before_tests()
        await transfer.upload_dir(self._running(), Path(source_dir), self._inside(target_dir))

    async def _before_tests(self) -> None:
        """Make a shared environment ready for its verifier.

        Whatever the agent left running is ended, since it could edit what is uploaded now; what it
        planted where the tests go is removed; a reward that was written since Harbor removed the
        old one is removed again.
        """
        if self._uploading_tests or self._choice.leftover == "keep":
            self._uploading_tests = True
            return
        self._uploading_tests = True
        box, paths = self._running(), EnvironmentPaths()
        await box.sweep()
        planted = [str(paths.reward_text_path), str(paths.reward_json_path)]
        if not self._image_has(str(paths.tests_dir)):
            planted.append(str(paths.tests_dir))
        done = await box.exec(["rm", "-rf", "--", *planted])
        if done.code != 0:
            raise EngineError(f"{self.environment_name}: {done.error_line()}")

    def _image_has(self, path: str) -> bool:
        if self._image is None:
            return False
        store = Store.open(self._choice.store_path())
        places = [store.layer(digest) / "root" for digest in self._image.layers]
        places += [part.below for part in self._image.base.parts if part.target == "/" and part.below]
        return any(os.path.lexists(place / path.lstrip("/")) for place in places)

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        await transfer.download_file(self._running(), self._inside(source_path), Path(target_path))

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        await self._download(source_dir, Path(target_dir))

    @override
    async def download_dir_with_exclusions(
        self, *, source_dir: str, target_dir: Path | str, exclude: list[str]
    ) -> None:
        await self._download(source_dir, Path(target_dir), exclude)

    async def _download(self, source: str, target: Path, exclude: Sequence[str] = ()) -> None:
        done = await transfer.download_dir(self._running(), self._inside(source), target, exclude=exclude)
        for skipped in done.skipped[:20]:
            self.logger.warning(f"left out of {source}: {skipped.name}: {skipped.reason}")

    @override
    async def download_dir_filtered(
        self,
        *,
        source_dir: str,
        target_dir: Path | str,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        protect: Sequence[str] | None = None,
    ) -> None:
        def select(paths: list[str]) -> set[str]:
            chosen = set(filter_paths_by_patterns(paths, include=include, exclude=exclude))
            return chosen | set(protect or ())

        await transfer.download_selected(self._running(), self._inside(source_dir), Path(target_dir), select)

    def _inside(self, path: str) -> str:
        return path if path.startswith("/") else f"{self._workdir.rstrip('/')}/{path}"

    def _tell(self, line: str) -> None:
        self.logger.warning(line)
