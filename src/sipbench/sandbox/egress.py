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
        if self.network is not None:
            return False
        host = host.rstrip(".").lower()
        return host.endswith(self.name[1:]) if self.name.startswith("*.") else host == self.name

    def matches(self, host: str, address: Address, port: int) -> bool:
        if not self.is_for(port):
            return False
        if self.network is None:
            return self.names(host)
        return self.network.version == address.version and address in self.network


@dataclass(frozen=True)
class Egress:
    """Where connections may go.

    Attributes:
        public: Any address of the public network.
        hosts: Names (`example.org`, `*.example.org`), addresses and networks (`192.0.2.0/24`)
            allowed instead. An entry may end in `:port`. A task may say these, so that none of
            them opens what is private.
        trusted: Likewise, allowed beside all others and even if private; for the user to say.

    Raises:
        ConfigError: An entry is no name, address or network.
    """

    public: bool = False
    hosts: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("hosts", "trusted"):
            entries = tuple(_Entry.parse(text) for text in getattr(self, name))
            object.__setattr__(self, f"_{name}", entries)

    def allows_name(self, host: str, port: int) -> bool:
        """Tell whether a host may be looked up at all; its address is judged afterwards.

        An entry for an address or network allows addresses written as such, not names that may lead
        there: looking up a name is a message to whoever answers for it.
        """
        literal = as_address(host)
        for entry in (*self._list("hosts"), *self._list("trusted")):
            if entry.names(host) and entry.is_for(port):
                return True
            if literal is not None and entry.matches(host, literal, port):
                return True
        return self.public

    def allows_address(self, host: str, address: Address, port: int) -> bool:
        """Tell whether a connection to `address`, resolved from `host`, may be made."""
        if any(entry.matches(host, address, port) for entry in self._list("trusted")):
            return True
        named = any(entry.matches(host, address, port) for entry in self._list("hosts"))
        return (self.public or named) and not is_refused_address(address)

    def _list(self, name: str) -> tuple[_Entry, ...]:
        entries: tuple[_Entry, ...] = self.__dict__[f"_{name}"]
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
