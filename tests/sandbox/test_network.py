"""The proxy: what it forwards, what it refuses, and that it is the only way out."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from sipbench.sandbox.box import Box
from sipbench.sandbox.egress import Egress
from sipbench.sandbox.network import Proxy
from tests.sandbox.conftest import Place

FETCH = """
import sys, urllib.request, urllib.error
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=20).read().decode())
    except urllib.error.HTTPError as error:
        print("refused", error.code, error.read().decode().strip())
    except Exception as error:
        print("failed", error)
"""


@asynccontextmanager
async def server() -> AsyncIterator[int]:
    """A server on the host's loopback that answers with the request it saw."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = json.dumps(head.decode().split("\r\n")).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


async def fetch(box: Box, proxy: Proxy, *urls: str) -> list[str]:
    # The box's own loopback is not asked by way of the proxy; the tests' server is not there.
    env = {**proxy.env(), "no_proxy": "", "NO_PROXY": ""}
    done = await box.exec(["python3", "-c", FETCH, *urls], env=env, timeout_sec=120)
    return done.text()[0].splitlines()


def test_what_is_allowed_is_forwarded_and_all_else_is_refused(place: Place) -> None:
    async def body() -> tuple[list[str], set[str]]:
        async with server() as port, place.box() as box:
            proxy = Proxy(Egress(public=True, trusted=(f"127.0.0.1:{port}",)))
            await proxy.start(box)
            urls = (
                f"http://127.0.0.1:{port}/path?q=1",
                "http://127.0.0.1:9/",
                "http://169.254.169.254/latest/",
            )
            lines = await fetch(box, proxy, *urls)
            await proxy.stop()
            return lines, proxy.refused

    (good, *bad), refused = asyncio.run(body())
    request, *headers = json.loads(good)
    assert request == "GET /path?q=1 HTTP/1.1"
    assert "Connection: close" in headers
    assert not any(line.lower().startswith("proxy-") for line in headers)
    assert [line[:11] for line in bad] == ["refused 403", "refused 403"]
    assert refused == {"127.0.0.1:9", "169.254.169.254:80"}


def test_a_tunnel_carries_bytes_both_ways(place: Place) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while block := await reader.read(100):
            writer.write(block.upper())
        writer.close()

    script = """
exec 3<>/dev/tcp/127.0.0.1/8118
printf 'CONNECT 127.0.0.1:%s HTTP/1.1\\r\\n\\r\\n' "$0" >&3
read -r status <&3; read -r empty <&3
printf 'abc\\n' >&3; read -r answer <&3
echo "$status|$answer"
"""

    async def body() -> str:
        listening = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with listening, place.box() as box:
            port = listening.sockets[0].getsockname()[1]
            proxy = Proxy(Egress(trusted=("127.0.0.0/8",)))
            await proxy.start(box)
            done = await box.exec(["bash", "-c", script, str(port)], timeout_sec=60)
            await proxy.stop()
            return done.text()[0].replace("\r", "").strip()

    assert asyncio.run(body()) == "HTTP/1.1 200 Connection established|ABC"


def test_a_policy_can_change_while_the_box_runs(place: Place) -> None:
    async def body() -> list[str]:
        async with server() as port, place.box() as box:
            url, proxy = f"http://127.0.0.1:{port}/", Proxy(Egress(trusted=(f"127.0.0.1:{port}",)))
            await proxy.start(box)
            env = proxy.env()
            lines = await fetch(box, proxy, url)
            await proxy.change(Egress())
            assert proxy.env() == {}
            done = await box.exec(["python3", "-c", FETCH, url], env={**env, "no_proxy": "", "NO_PROXY": ""})
            await proxy.stop()
            return [*lines, *done.text()[0].splitlines()]

    allowed, refused = asyncio.run(body())
    assert "GET / HTTP/1.1" in allowed
    assert refused.startswith("refused 403")


def test_there_is_no_way_beside_the_proxy(place: Place) -> None:
    async def body() -> str:
        async with server() as port, place.box() as box:
            proxy = Proxy(Egress(public=True, trusted=("127.0.0.0/8",)))
            await proxy.start(box)
            script = (
                f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached; getent hosts localhost.example; true"
            )
            done = await box.exec(["bash", "-c", script])
            await proxy.stop()
            return done.text()[0]

    assert "reached" not in asyncio.run(body())


@pytest.mark.parametrize(
    "request_head",
    [
        "GET / HTTP/1.1", "CONNECT nothing HTTP/1.1", "CONNECT host:0 HTTP/1.1", "CONNECT :443 HTTP/1.1",
        "rubbish", "GET http:// HTTP/1.1", "GET ftp://x/ HTTP/1.1", "CONNECT a:b:c HTTP/1.1",
    ],
)  # fmt: skip
def test_a_malformed_request_is_answered_and_harms_nothing(place: Place, request_head: str) -> None:
    async def body() -> str:
        async with place.box() as box:
            proxy = Proxy(Egress(public=True))
            await proxy.start(box)
            line = shlex.quote(request_head)
            send = f"exec 3<>/dev/tcp/127.0.0.1/8118; printf '%s\\r\\n\\r\\n' {line} >&3; head -1 <&3"
            done = await box.exec(["bash", "-c", send], timeout_sec=60)
            await proxy.stop()
            return done.text()[0]

    assert asyncio.run(body()).split()[1] in ("400", "403", "502")
