"""Where connections from a box may go."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from dataclasses import dataclass

from sipbench.errors import ConfigError

__all__ = ["Address", "Egress", "as_address", "is_refused_address"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_REFUSED = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        "192.168.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "::/128", "::1/128", "64:ff9b:1::/48", "fc00::/7",
        "fe80::/10", "fec0::/10", "ff00::/8",
    )
)  # fmt: skip
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True)
class _Entry:
    """One allowed host: a name, perhaps with a leading `*.`, or a network."""

    name: str
    port: int | None
    network: _Network | None

    @classmethod
    def parse(cls, text: str) -> _Entry:
        name, port = text.strip().lower(), None
        if name.count(":") == 1 or (name.startswith("[") and "]:" in name):
            name, _, digits = name.rpartition(":")
            if not digits.isdigit() or not 0 < int(digits) < 65536:
                raise ConfigError(f"sandbox network: '{text}' has no valid port; write host or host:port")
            port = int(digits)
        name = name.strip("[]").rstrip(".")
        with contextlib.suppress(ValueError):
            return cls(name, port, ipaddress.ip_network(name, strict=False))
        if not name or any(char in name for char in " \t@/\\:") or "*" in name.removeprefix("*."):
            raise ConfigError(f"sandbox network: '{text}' is no host name, address or network")
        return cls(name, port, None)

    def is_for(self, port: int) -> bool:
        return self.port is None or self.port == port

    def names(self, host: str) -> bool:
        if self.name.startswith("*."):
            return host.endswith(self.name[1:])
        return host == self.name


@dataclass(frozen=True)
class Egress:
    """Where connections may go.

    Attributes:
        public: Any address of the public network.
        hosts: Names (`example.org`, `*.example.org`), addresses and networks (`192.0.2.0/24`)
            allowed beside or, if not `public`, instead. An entry may end in `:port`. An address
            or network named here is allowed even if it is private.

    Raises:
        ConfigError: An entry is no name, address or network.
    """

    public: bool = False
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "_entries", tuple(_Entry.parse(text) for text in self.hosts))

    def allows_name(self, host: str, port: int) -> bool:
        """Tell whether a host may be looked up at all; its address is judged afterwards."""
        if self.public or self._is_named(host, port):
            return True
        # Without a name, only an entry for an address or network can still allow it.
        return any(entry.network is not None and entry.is_for(port) for entry in self._list)

    def allows_address(self, host: str, address: Address, port: int) -> bool:
        """Tell whether a connection to `address`, resolved from `host`, may be made."""
        for entry in self._list:
            same = entry.network is not None and entry.network.version == address.version
            if same and entry.is_for(port) and address in entry.network:  # type: ignore[operator]
                return True
        return (self.public or self._is_named(host, port)) and not is_refused_address(address)

    def _is_named(self, host: str, port: int) -> bool:
        host = host.rstrip(".").lower()
        return any(e.network is None and e.is_for(port) and e.names(host) for e in self._list)

    @property
    def _list(self) -> tuple[_Entry, ...]:
        entries: tuple[_Entry, ...] = self.__dict__["_entries"]
        return entries


def as_address(text: str) -> Address | None:
    """Read an address, or None."""
    try:
        return ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None


def is_refused_address(address: Address) -> bool:
    """Tell whether an address is private, special, or this host's own."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_refused_address(inner)
    if any(address.version == network.version and address in network for network in _REFUSED):
        return True
    # What can be bound is an address of this very host.
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((str(address), 0))
        return True
    return False
