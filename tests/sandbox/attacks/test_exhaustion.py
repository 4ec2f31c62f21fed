"""Using up memory, processes, disk and time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sipbench.sandbox.endings import BoxEndedError, TimedOutError
from sipbench.sandbox.limits import Limits
from tests.sandbox.attacks.attempts import outside
from tests.sandbox.conftest import Place, wait_for

ALLOCATE = "python3 -c \"b = bytearray(400 << 20); print('allocated', len(b))\""
MANY = """python3 -c "
import os, time
n = 0
try:
    while n < 300:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        n += 1
except OSError:
    pass
print('made', n)
"
"""


@pytest.mark.parametrize("groups", [True, False], ids=["cgroup", "rlimit"])
def test_memory_is_limited(place: Place, groups: bool) -> None:
    async def body(limits: Limits) -> tuple[str, str]:
        async with place.box(limits, groups=groups) as box:
            done = await box.exec(["bash", "-c", ALLOCATE])
            return done.text()[0], box.held.memory

    assert "allocated" in outside(ALLOCATE).stdout
    assert "allocated" in asyncio.run(body(Limits(memory_mb=900)))[0]
    said, held = asyncio.run(body(Limits(memory_mb=200)))
    assert "allocated" not in said
    assert held.startswith("cgroup") or "rlimit" in held


def test_memory_of_many_processes_together_is_watched_without_control_groups(place: Place) -> None:
    hog = 'for i in 1 2 3 4; do python3 -c "b=bytearray(120<<20); import time; time.sleep(100)" & done; wait'

    async def body() -> None:
        async with place.box(Limits(memory_mb=300), groups=False) as box:
            with pytest.raises(BoxEndedError, match="memory"):
                await box.exec(["bash", "-c", hog], timeout_sec=60)

    asyncio.run(body())


SHARED = """python3 -c "
import mmap, time
m = mmap.mmap(-1, 400 << 20)
for i in range(0, 400 << 20, 4096):
    m[i] = 1
print('allocated', flush=True)
time.sleep(60)
"
"""
FILES_OF_MEMORY = """python3 -c "
import os, time
held = [os.memfd_create('x') for _ in range(4)]
for fd in held:
    for _ in range(100):
        os.write(fd, b'x' * (1 << 20))
print('allocated', flush=True)
time.sleep(60)
"
"""


@pytest.mark.parametrize("groups", [True, False], ids=["cgroup", "rlimit"])
@pytest.mark.parametrize("hog", [SHARED, FILES_OF_MEMORY], ids=["shared", "files"])
def test_memory_that_is_no_processs_own_is_limited_too(place: Place, groups: bool, hog: str) -> None:
    async def body() -> str:
        async with place.box(Limits(memory_mb=200), groups=groups) as box:
            try:
                return (await box.exec(["bash", "-c", hog], timeout_sec=50)).text()[0]
            except BoxEndedError as error:
                return str(error)

    said = asyncio.run(body())
    # A control group ends the process, the watchdog the box.
    assert said == "" or "used more memory than allowed" in said
    assert "allocated" in place.run(hog.replace("sleep(60)", "sleep(0)"), Limits(memory_mb=900)).text()[0]


@pytest.mark.parametrize("groups", [True, False], ids=["cgroup", "rlimit"])
def test_processes_are_limited(place: Place, groups: bool) -> None:
    async def body(limits: Limits) -> int:
        async with place.box(limits, groups=groups) as box:
            done = await box.exec(["bash", "-c", MANY])
            await box.sweep()  # what is full of processes can still be swept
            return int(done.text()[0].split()[1])

    assert asyncio.run(body(Limits(processes=1000))) == 300
    assert asyncio.run(body(Limits(processes=40))) < 40


def test_a_fork_bomb_is_held_and_can_be_ended(place: Place) -> None:
    async def body() -> tuple[str, int]:
        async with place.box(Limits(processes=64, memory_mb=512)) as box:
            bomb = await box.exec(["bash", "-c", "b() { b | b & }; b; sleep 1"], timeout_sec=60)
            await box.sweep()
            left = await box.exec(["bash", "-c", "ls -d /proc/[0-9]* | wc -l"])
            return bomb.text()[1], int(left.text()[0])

    said, left = asyncio.run(body())
    assert "Resource temporarily unavailable" in said
    assert left <= 4  # the first process, bash, ls, wc


def test_the_size_of_one_file_is_limited(place: Place) -> None:
    write = "dd if=/dev/zero of=/var/tmp/big bs=1M count=60 2>/dev/null && echo written"
    assert "written" in place.run(write, Limits(disk_mb=200)).text()[0]
    assert "written" not in place.run(write, Limits(disk_mb=30)).text()[0]


def test_what_all_files_take_is_watched(place: Place) -> None:
    fill = "for i in $(seq 20); do head -c 5M /dev/zero > /var/tmp/$i; done; echo written; sleep 60"

    async def body() -> None:
        async with place.box(Limits(disk_mb=30)) as box:
            with pytest.raises(BoxEndedError, match="disk"):
                await box.exec(["bash", "-c", fill], timeout_sec=60)
            with pytest.raises(BoxEndedError, match="disk"):
                await box.exec(["true"])

    asyncio.run(body())
    assert "written" in place.run(fill.replace("; sleep 60", ""), Limits(disk_mb=300)).text()[0]


REMOVED = """python3 -c "
import os, time
held = []
for number in range(10):
    held.append(os.open(f'/var/tmp/{number}', os.O_CREAT | os.O_WRONLY))
    os.unlink(f'/var/tmp/{number}')
    os.write(held[-1], b'x' * (10 << 20))
print('written', flush=True)
time.sleep(SECONDS)
"
"""
EMPTY = """python3 -c "
import time
for number in range(60000):
    open(f'/var/tmp/{number}', 'w').close()
print('written', flush=True)
time.sleep(SECONDS)
"
"""


@pytest.mark.parametrize("fill", [REMOVED, EMPTY], ids=["removed files", "empty files"])
def test_files_that_take_no_room_by_name_are_counted(place: Place, fill: str) -> None:
    async def body() -> None:
        async with place.box(Limits(disk_mb=40)) as box:
            with pytest.raises(BoxEndedError, match="disk"):
                await box.exec(["bash", "-c", fill.replace("SECONDS", "100")], timeout_sec=100)

    asyncio.run(body())
    assert "written" in place.run(fill.replace("SECONDS", "0"), Limits(disk_mb=300)).text()[0]


def test_time_is_limited_for_a_command_and_for_the_box(place: Place) -> None:
    async def body() -> None:
        async with place.box(Limits(lifetime_sec=1)) as box:
            with pytest.raises(TimedOutError):
                await box.exec(["sleep", "100"], timeout_sec=0.2)
            with pytest.raises(BoxEndedError, match="older"):
                await box.exec(["sleep", "100"], timeout_sec=60)

    asyncio.run(body())


def test_a_deep_and_unreadable_tree_is_removed_with_the_box(place: Place) -> None:
    plant = (
        "cd /var/tmp && python3 -c \"import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\"; "
        "mkdir /var/tmp/closed; touch /var/tmp/closed/x; chmod 000 /var/tmp/closed"
    )

    async def body() -> Path:
        async with place.box() as box:
            done = await box.exec(["bash", "-c", plant])
            assert done.code == 0, done.text()
            return box.layout.directory

    async def gone() -> None:
        directory = await body()
        await wait_for(lambda: not directory.exists())

    asyncio.run(gone())


def test_the_shared_memory_of_the_box_is_small(place: Place) -> None:
    done = place.run("head -c 100M /dev/zero > /dev/shm/x; stat -c %s /dev/shm/x")
    assert int(done.text()[0]) <= 64 << 20
