"""Where connections may go, by hand and by law."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.errors import ConfigError
from sipbench.sandbox.egress import Egress, is_refused_address

PUBLIC = ipaddress.ip_address("93.184.216.34")


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
        "169.254.169.254", "100.100.100.200", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::",
        "fe80::1", "fd00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)  # fmt: skip
def test_the_host_private_networks_and_metadata_services_are_refused(text: str) -> None:
    address = ipaddress.ip_address(text)
    assert is_refused_address(address)
    assert not Egress(public=True).allows_address("name.example", address, 443)


@pytest.mark.parametrize("text", ["93.184.216.34", "172.32.0.1", "11.0.0.1", "2606:2800:220:1::1"])
def test_public_addresses_are_not(text: str) -> None:
    assert not is_refused_address(ipaddress.ip_address(text))


@given(st.ip_addresses(v=4, network="127.0.0.0/8") | st.ip_addresses(v=4, network="10.0.0.0/8"))
def test_no_spelling_of_a_private_address_gets_through(address: ipaddress.IPv4Address) -> None:
    mapped = ipaddress.ip_address(f"::ffff:{address}")
    assert not Egress(public=True).allows_address("x", mapped, 80)
    assert not Egress(hosts=("x",)).allows_address("x", address, 80)


@pytest.mark.parametrize(
    ("entry", "host", "port", "allowed"),
    [
        ("example.org", "example.org", 443, True), ("example.org", "EXAMPLE.org.", 443, True),
        ("example.org", "www.example.org", 443, False), ("example.org", "notexample.org", 443, False),
        ("*.example.org", "www.example.org", 443, True), ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False), ("*.example.org", "xexample.org", 443, False),
        ("example.org:443", "example.org", 443, True), ("example.org:443", "example.org", 80, False),
    ],
)  # fmt: skip
def test_names_are_matched_whole_and_by_port(entry: str, host: str, port: int, allowed: bool) -> None:
    egress = Egress(hosts=(entry,))
    assert egress.allows_name(host, port) is allowed
    assert egress.allows_address(host, PUBLIC, port) is allowed


def test_what_the_user_trusts_is_allowed_even_if_private() -> None:
    egress = Egress(public=True, trusted=("10.1.0.0/16:8080",))
    inside, beside = ipaddress.ip_address("10.1.2.3"), ipaddress.ip_address("10.2.2.3")
    assert egress.allows_address("mirror.internal", inside, 8080)
    assert not egress.allows_address("mirror.internal", inside, 80)
    assert not egress.allows_address("mirror.internal", beside, 8080)
    assert Egress(trusted=("mirror.internal",)).allows_address("mirror.internal", inside, 443)


@pytest.mark.parametrize(
    "entry", ["127.0.0.1", "10.0.0.0/8", "169.254.169.254", "0.0.0.0/0", "::/0", "localhost"]
)
def test_what_a_task_lists_opens_nothing_private(entry: str) -> None:
    egress = Egress(hosts=(entry,))
    for text in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"):
        assert not egress.allows_address("localhost", ipaddress.ip_address(text), 80)
    assert Egress(hosts=("93.184.0.0/16",)).allows_address("any.example", PUBLIC, 443)


def test_nothing_is_allowed_by_nothing() -> None:
    assert not Egress().allows_name("example.org", 443)
    assert not Egress().allows_address("example.org", PUBLIC, 443)


@pytest.mark.parametrize(
    "entry", ["", "a b", "user@host", "http://x", "x/y", "host:0", "host:99999", "a*b", "*.*.x"]
)
def test_what_is_no_host_is_refused(entry: str) -> None:
    with pytest.raises(ConfigError, match="sandbox network"):
        Egress(hosts=(entry,))


def test_a_name_is_not_looked_up_because_some_network_is_allowed() -> None:
    egress = Egress(hosts=("93.184.0.0/16",))
    assert egress.allows_name("93.184.216.34", 443)
    assert not egress.allows_name("93.185.216.34", 443)
    assert not egress.allows_name("told-to-the-name-server.example", 443)
