"""Reaching the network and the host's own services."""

from __future__ import annotations

import asyncio
import http.server
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator

import pytest

from tests.sandbox.attacks.attempts import SECRET, both, outside
from tests.sandbox.conftest import Place


@pytest.fixture
def host_server() -> Iterator[int]:
    """An HTTP server on the host's loopback; yields its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(SECRET.encode())

        def log_message(self, *_: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


def fetch(port: int) -> str:
    return f"exec 3<>/dev/tcp/127.0.0.1/{port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3"


def test_the_hosts_loopback_cannot_be_reached(place: Place, host_server: int) -> None:
    out, inside = both(place, f"bash -c {shlex.quote(fetch(host_server))}")
    assert SECRET in out
    assert SECRET not in inside


def test_with_the_hosts_network_the_loopback_is_reached_as_the_warning_says(
    place: Place, host_server: int
) -> None:
    async def body() -> str:
        async with place.box(own_network=False) as box:
            return (await box.exec(["bash", "-c", fetch(host_server)])).text()[0]

    assert SECRET in asyncio.run(body())


def test_there_is_no_interface_but_loopback(place: Place) -> None:
    out, inside = both(place, "cut -d: -f1 -s /proc/net/dev | tr -d ' '; wc -l < /proc/net/route")
    assert inside.split() == ["Inter-|", "face|", "lo", "1"] or inside.split()[-2:] == ["lo", "1"], inside
    assert "lo" in out


def test_a_datagram_does_not_reach_the_host(place: Place) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(30)
        send = f"echo -n {{who}} > /dev/udp/127.0.0.1/{server.getsockname()[1]}"
        place.run(f"bash -c {shlex.quote(send.format(who='inside'))}")
        outside(f"bash -c {shlex.quote(send.format(who='outside'))}")
        # Sent later, and all that arrives.
        assert server.recv(100) == b"outside"


def test_a_socket_file_of_the_host_cannot_be_reached(place: Place) -> None:
    folder = tempfile.TemporaryDirectory(prefix="sipbench-test-")
    with folder as name, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{name}/socket")
        server.listen()
        connect = f"import socket; socket.socket(socket.AF_UNIX).connect('{name}/socket'); print('reached')"
        out, inside = both(place, f"python3 -c {shlex.quote(connect)}")
    assert "reached" in out
    assert "reached" not in inside


def test_no_name_is_looked_up(place: Place) -> None:
    """Questions to a name server are a way out by themselves."""
    script = "import socket; print(socket.getaddrinfo('{name}', 80))"
    assert "127.0.0.1" in place.run(f'python3 -c "{script.format(name="localhost")}"').text()[0]
    done = place.run(f'python3 -c "{script.format(name="secret.example.com")}"')
    assert done.code != 0
    assert place.run("grep -c nameserver /etc/resolv.conf").text()[0] == "0\n"


def test_an_abstract_socket_of_the_host_cannot_be_reached(place: Place) -> None:
    name = f"\0sipbench-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        script = f"import socket; socket.socket(socket.AF_UNIX).connect({name!r}); print('reached')"
        outer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        inner = place.run(f"python3 -c {shlex.quote(script)}")
    assert "reached" in outer.stdout
    assert "reached" not in inner.text()[0]
