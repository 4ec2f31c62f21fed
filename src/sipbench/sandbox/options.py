"""What a user may set about the sandbox, as one frozen object without Harbor."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from sipbench.errors import ConfigError
from sipbench.sandbox.egress import Egress
from sipbench.sandbox.limits import Limits
from sipbench.sandbox.network import Mode
from sipbench.sandbox.policy import Policy

__all__ = ["SandboxOptions"]

_LEFTOVER = ("stop", "keep")


@dataclass(frozen=True)
class SandboxOptions:
    """Options of the sandbox; `BwrapEnvironment` takes the same names.

    Attributes:
        store: Directory of layers and boxes; default `SIPBENCH_SANDBOX` or the user's cache.
        base: Root file system to use instead of this machine's system.
        network: How a box whose task asks for the network is connected: `proxy` or `host`.
        build_network: How RUN steps are connected: `proxy`, `host` or `none`.
        allow_hosts: Hosts, addresses or networks that the proxy lets through besides, even if private.
        pass_env: Names of host variables that are let in.
        read_only: Host paths shown read-only at the same place.
        leftover: What becomes of processes the agent left when a shared verifier begins: `stop` or
            `keep` (for tasks whose verifier talks to one).
        cpus: Processors, where the task names none.
        memory_mb: Memory in MiB, where the task names none; default three quarters of the machine's.
        processes: Processes and threads.
        disk_mb: What a box may write in MiB, where the task names no storage.
        lifetime_sec: Age at which a box is ended, seconds.
        groups: Use control groups where they can be had.
        seccomp: Refuse the system calls that Docker's default profile refuses.
    """

    store: str | None = None
    base: str | None = None
    network: str = "proxy"
    build_network: str = "proxy"
    allow_hosts: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    leftover: str = "stop"
    cpus: float | None = None
    memory_mb: int | None = None
    processes: int = 4096
    disk_mb: int = 10240
    lifetime_sec: float = 86400.0
    groups: bool = True
    seccomp: bool = True
    policy: Policy = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.network not in ("proxy", "host"):
            raise ConfigError(f"sandbox option network = '{self.network}': 'proxy' or 'host' is needed")
        if self.build_network not in ("proxy", "host", "none"):
            raise ConfigError(
                f"sandbox option build_network = '{self.build_network}': 'proxy', 'host' or 'none' is needed"
            )
        if self.leftover not in _LEFTOVER:
            raise ConfigError(f"sandbox option leftover = '{self.leftover}': 'stop' or 'keep' is needed")
        Egress(trusted=self.allow_hosts)  # refuses what is no host
        policy = Policy(self.read_only, self.pass_env, seccomp=self.seccomp)
        object.__setattr__(self, "policy", policy)

    @property
    def network_mode(self) -> Mode:
        """How a box is connected whose task asks for the network."""
        return Mode(self.network)

    def limits(
        self, cpus: float | None = None, memory_mb: int | None = None, disk_mb: int | None = None
    ) -> Limits:
        """Limits of a box: the task's own where it names them, else these."""
        try:
            return Limits(
                cpus=cpus if cpus is not None else self.cpus,
                memory_mb=memory_mb or self.memory_mb or _three_quarters_of_memory(),
                processes=self.processes,
                disk_mb=disk_mb or self.disk_mb,
                lifetime_sec=self.lifetime_sec,
            )
        except ValueError as error:
            raise ConfigError(str(error)) from error

    def store_path(self) -> Path | None:
        """Directory of the store, if one is named."""
        return Path(self.store).expanduser() if self.store else None


def _three_quarters_of_memory() -> int:
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return max(256, pages * size // (1024 * 1024) * 3 // 4)
