"""Seeing, signalling or borrowing from the host's processes; outliving the box."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox.attacks.attempts import both, outside
from tests.sandbox.conftest import Place, wait_for


def test_no_process_of_the_host_is_seen(place: Place) -> None:
    with subprocess.Popen(["sleep", "987654"]) as victim:
        try:
            out, inside = both(place, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        finally:
            victim.kill()
    assert "987654" in out
    assert "987654" not in inside


def test_the_process_list_names_no_path_of_the_host(place: Place) -> None:
    """Many short commands, while another watches for what passes by."""
    watch = "for i in $(seq 300); do cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; echo; done"

    async def body() -> str:
        async with place.box() as box:
            watching = asyncio.create_task(box.exec(["bash", "-c", watch]))
            for _ in range(40):
                await box.exec(["true"])
            return (await watching).text()[0]

    seen = asyncio.run(body())
    assert "sleep infinity" in seen
    for path in (str(place.store.root), sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])):
        assert path not in seen


def test_a_process_of_the_host_cannot_be_signalled(place: Place) -> None:
    with subprocess.Popen(["sleep", "60"]) as victim:
        place.run(f"kill -9 {victim.pid}; kill -9 -1; true")
        assert victim.poll() is None
        outside(f"kill -9 {victim.pid}")
        assert victim.wait(30) == -9


def test_the_box_survives_an_agent_that_kills_everything(place: Place) -> None:
    async def body() -> str:
        async with place.box() as box:
            await box.exec(
                ["bash", "-c", "kill -9 1; kill -TERM 1; kill -9 -1; killall5 -9 2>/dev/null; true"]
            )
            return (await box.exec(["echo", "alive"])).text()[0]

    assert asyncio.run(body()) == "alive\n"


@pytest.mark.parametrize("entry", ["exe", "environ", "root/etc/passwd", "cwd", "fd/0", "maps", "mem"])
def test_the_first_process_cannot_be_looked_into(place: Place, entry: str) -> None:
    probe = f"head -c 1 /proc/1/{entry} >/dev/null 2>&1 || readlink /proc/1/{entry} >/dev/null 2>&1; "
    own = f"sleep 60 & p=$!; (readlink /proc/$p/{entry} || head -c 1 /proc/$p/{entry}) >/dev/null 2>&1"
    inside = place.run(f"(readlink /proc/1/{entry} || head -c 1 /proc/1/{entry}) 2>&1 | grep -c .; true")
    assert "denied" in place.run(probe + f"head -c 1 /proc/1/{entry}").text()[1], inside.text()
    # The probe works on a process of one's own, so the refusal above is one.
    assert place.run(own + "; code=$?; kill $p; exit $code").code == 0 or entry == "mem"


def test_a_program_of_the_box_is_never_run_with_privileges(place: Place) -> None:
    """An agent replaces the programs that a careless way in would run."""
    spy = "#!/bin/sh\ngrep -E 'CapEff|NoNewPrivs' /proc/self/status >> /tmp/spy\n"
    names = "setpriv nsenter env sh bash tar mkdir"

    async def body() -> str:
        async with place.box() as box:
            write = f"printf '%s' {shlex.quote(spy)} > /usr/local/sbin/$n; chmod +x /usr/local/sbin/$n"
            plant = f"for n in {names}; do {write}; done"
            await box.exec(["/bin/bash", "-c", plant])
            await box.exec(["setpriv", "true"])
            await box.exec(["tar", "x"])
            return (await box.exec(["/bin/cat", "/tmp/spy"])).text()[0]

    seen = asyncio.run(body())
    assert "NoNewPrivs:\t1" in seen
    assert "NoNewPrivs:\t0" not in seen
    # chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service
    assert {line for line in seen.splitlines() if "CapEff" in line} == {"CapEff:\t00000000000004fb"}


TYPE = """
import fcntl, os, termios
try:
    tty = os.open("/dev/tty", os.O_RDWR)
    print("opened")
    for letter in b"echo typed\\n":
        fcntl.ioctl(tty, termios.TIOCSTI, bytes([letter]))
    print("typed")
except OSError as error:
    print(error)
"""


def test_nothing_can_be_typed_into_the_terminal_of_whoever_runs_it(place: Place) -> None:
    code = f"""
import asyncio, fcntl, subprocess, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.path[:0] = {sys.path!r}
from tests.sandbox.conftest import *
store = Store(Path({str(place.store.root)!r}))
this = machine(store.root)
p = Place(store, this, find(), prepare(store, this))
script = {TYPE!r}
print("outside:", subprocess.run(["python3", "-c", script], capture_output=True, text=True).stdout.split())
async def main():
    async with p.box() as box:
        done = await box.exec(["python3", "-c", script])
        print("inside:", done.text()[0].split())
asyncio.run(main())
"""
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-c", code]
    owner = subprocess.Popen(command, start_new_session=True, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # how a terminal says that its other end is closed
        while block := os.read(terminal, 4096):
            said += block
    os.close(terminal)
    assert owner.wait(60) == 0, said
    lines = dict(line.split(": ", 1) for line in said.decode().splitlines() if ": " in line)
    assert "opened" in lines["outside"]
    assert "opened" not in lines["inside"], lines
    assert "typed" not in lines["inside"]


def test_nothing_of_a_box_is_left_when_its_owner_is_killed(place: Place) -> None:
    """`kill -9` of the process that asked for the box, with commands running in it."""
    code = f"""
import asyncio, os, sys
sys.path[:0] = {sys.path!r}
from tests.sandbox.conftest import *
from sipbench.sandbox.keeper.watch import box_processes
async def main():
    store = Store(Path({str(place.store.root)!r}))
    this = machine(store.root)
    p = Place(store, this, find(), prepare(store, this))
    async with p.box() as box:
        await box.exec(["bash", "-c", "sleep 456789 & setsid sleep 456789 & echo"])
        print(box.layout.name, flush=True)
        await box.exec(["sleep", "456789"])
asyncio.run(main())
"""
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    name = owner.stdout.readline().strip()
    assert name
    assert "456789" in outside("cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
    owner.kill()
    owner.wait()
    owner.stdout.close()

    async def gone() -> None:
        await wait_for(
            lambda: "456789" not in outside("cat /proc/[0-9]*/cmdline 2>/dev/null| tr '\\0' ' '").stdout
        )
        await wait_for(lambda: not place.store.box(name).exists())

    asyncio.run(gone())
