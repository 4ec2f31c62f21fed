"""One running box: commands, what they leave behind, their output, their ids."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from sipbench.errors import EngineError
from sipbench.sandbox.box import Box
from sipbench.sandbox.endings import BoxEndedError, TimedOutError
from sipbench.sandbox.policy import Policy
from sipbench.sandbox.streams import Capture
from tests.sandbox.conftest import Place, wait_for


def test_a_command_has_its_exit_code_and_both_streams(place: Place) -> None:
    done = place.run("echo out; echo err >&2; exit 3")
    assert (done.code, done.stdout, done.stderr) == (3, b"out\n", b"err\n")


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["no-such-program"], 127, "no-such-program: No such file or directory"),
        (["/etc/passwd"], 126, "Permission denied"),
        (["sh", "-c", "kill -9 $$"], 137, ""),
        (["sh", "-c", "kill -15 $$"], 143, ""),
    ],
)
def test_a_command_that_cannot_start_or_is_killed_says_so_as_a_shell_does(
    place: Place, argv: list[str], code: int, words: str
) -> None:
    async def body() -> None:
        async with place.box() as box:
            done = await box.exec(argv)
            assert done.code == code
            assert words in done.text()[1]

    asyncio.run(body())


def test_the_directory_must_exist_unless_it_is_to_be_made(place: Place) -> None:
    async def body() -> None:
        async with place.box() as box:
            done = await box.exec(["pwd"], cwd="/not/there")
            assert (done.code, done.error_line()) == (126, "/not/there: No such file or directory")
            assert (await box.exec(["pwd"], cwd="/not/there", make_cwd=True)).stdout == b"/not/there\n"

    asyncio.run(body())


def test_variables_arrive_whole_whatever_their_names_and_values(place: Place) -> None:
    env = {
        "A": "x y\n'\"$HOME",
        "with.dot": "1",
        "UMLAUT": "äöü",
        "EMPTY": "",
        "PATH": "/usr/bin:/bin",
        "HOME": "/h",
    }

    async def body() -> str:
        async with place.box() as box:
            return (await box.exec(["/usr/bin/env", "-0"], env=env)).text()[0]

    seen = dict(line.split("=", 1) for line in asyncio.run(body()).split("\0") if line)
    assert seen == {**env, "LANG": "C.UTF-8"}


@pytest.mark.parametrize("env", [{"": "x"}, {"A=B": "x"}, {"A": "x\0y"}])
def test_a_variable_that_cannot_be_passed_is_refused(place: Place, env: dict[str, str]) -> None:
    with pytest.raises(EngineError, match="sandbox variable"):
        place.run("true", env=env)


def test_a_very_long_command_runs_or_says_why_not(place: Place) -> None:
    long = "x" * 120_000
    assert place.run(f": {long}; echo done").stdout == b"done\n"
    done = place.run(f": {long}{long}")
    assert done.code in (126, 127)
    assert "Argument list too long" in done.text()[1]


def test_what_is_not_utf8_is_replaced_and_split_characters_are_joined(place: Place) -> None:
    pieces: list[str] = []

    async def handler(text: str, _: str) -> None:
        pieces.append(text)

    async def body() -> None:
        async with place.box() as box:
            script = "printf '\\303'; sleep 0.1; printf '\\244\\377x'"
            done = await box.exec(["bash", "-c", script], handler=handler)
            assert done.text()[0] == "ä\ufffdx"
            assert "".join(pieces) == "ä\ufffdx"

    asyncio.run(body())


def test_output_beyond_the_limit_keeps_its_beginning_and_end(place: Place) -> None:
    async def body() -> bytes:
        async with place.box() as box:
            return (await box.exec(["bash", "-c", "echo first; seq 200000; echo last"], limit=1000)).stdout

    kept = asyncio.run(body())
    assert kept.startswith(b"first\n1\n2\n")
    assert kept.endswith(b"200000\nlast\n")
    assert b"bytes left out" in kept
    assert len(kept) < 1100


def test_a_capture_counts_what_it_leaves_out() -> None:
    capture = Capture(10)
    for letter in b"abcdefghijklmno":
        capture.add(bytes([letter]))
    # Ten bytes are kept of fifteen: the first five and the last five.
    assert capture.value() == b"abcde\n[... 5 bytes left out ...]\nklmno"


def test_dev_stdout_can_be_opened_anew(place: Place) -> None:
    done = place.run("echo out > /dev/stdout; echo err > /dev/stderr; echo tee | tee /dev/stderr")
    assert done.code == 0, done.text()
    assert done.stdout == b"out\ntee\n"
    assert sorted(done.stderr.split()) == [b"err", b"tee"]


def test_a_background_process_survives_its_command_and_its_output_does_not_hold_it_up(place: Place) -> None:
    server = "python3 -m http.server 8000 --bind 127.0.0.1 & echo started"
    ask = "exec 3<>/dev/tcp/127.0.0.1/8000; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; head -1 <&3"

    async def body() -> None:
        async with place.box() as box:
            done = await box.exec(["bash", "-c", server], timeout_sec=60)
            assert done.stdout == b"started\n"

            async def answers() -> bool:
                return b"200" in (await box.exec(["bash", "-c", ask])).stdout

            await wait_for(answers)
            for _ in range(3):
                assert await answers()  # it logs each request to a pipe nobody reads

    asyncio.run(body())


def test_a_timeout_ends_the_whole_session_and_spares_a_daemon(place: Place) -> None:
    script = "setsid sleep 1111 >/dev/null 2>&1 & sleep 2222 & timeout 3333 sleep 3333"

    async def body() -> str:
        async with place.box() as box:
            with pytest.raises(TimedOutError, match=r"took longer than 0.4 seconds"):
                await box.exec(["bash", "-c", script], timeout_sec=0.4)
            return (await box.exec(["bash", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"])).text()[0]

    left = asyncio.run(body())
    assert "sleep 1111" in left
    assert "2222" not in left
    assert "3333" not in left


def test_a_cancelled_command_is_ended(place: Place) -> None:
    async def body() -> str:
        async with place.box() as box:
            task = asyncio.create_task(box.exec(["sleep", "4444"]))
            await wait_for(lambda: _lists(box, "4444"))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await _list(box)

    assert "4444" not in asyncio.run(body())


async def _list(box: Box) -> str:
    return (await box.exec(["bash", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"])).text()[0]


async def _lists(box: Box, words: str) -> bool:
    return words in await _list(box)


def test_sweeping_ends_everything_and_keeps_files(place: Place) -> None:
    async def body() -> tuple[str, str]:
        async with place.box() as box:
            await box.exec(["bash", "-c", "echo x > /root/file; sleep 5555 & setsid sleep 6666 & true"])
            await box.sweep()
            return await _list(box), (await box.exec(["cat", "/root/file"])).text()[0]

    processes, file = asyncio.run(body())
    assert "5555" not in processes
    assert "6666" not in processes
    assert file == "x\n"


def test_orphans_are_reaped(place: Place) -> None:
    async def body() -> None:
        async with place.box() as box:
            await box.exec(["bash", "-c", "for i in 1 2 3; do (sh -c 'exit 0' &) ; done"])

            async def none_left() -> bool:
                states = (await box.exec(["bash", "-c", "cat /proc/[0-9]*/stat | cut -d' ' -f3"])).text()[0]
                return "Z" not in states.split()

            await wait_for(none_left)

    asyncio.run(body())


def test_commands_run_side_by_side(place: Place) -> None:
    async def body() -> list[bytes]:
        async with place.box() as box:
            meet = "echo {0} > /tmp/{0}; until [ -e /tmp/{1} ]; do sleep 0.02; done; echo {0}"
            a, b = (box.exec(["bash", "-c", meet.format(*pair)], timeout_sec=60) for pair in ("ab", "ba"))
            return [done.stdout for done in await asyncio.gather(a, b)]

    assert asyncio.run(body()) == [b"a\n", b"b\n"]


@pytest.mark.parametrize(
    ("user", "ids"),
    [
        (None, "0 0"),
        ("root", "0 0"),
        ("0", "0 0"),
        ("nobody", "65534 65534"),
        ("1234:8", "1234 8"),
        ("daemon:mail", "1 8"),
    ],
)
def test_a_command_runs_as_the_user_asked_for(
    place: Place, root_only: None, user: str | None, ids: str
) -> None:
    assert place.run("echo $(id -u) $(id -g)", user=user).text()[0].strip() == ids


def test_an_unknown_user_is_one_line(place: Place) -> None:
    done = place.run("true", user="who")
    assert (done.code, done.error_line()) == (126, "no user 'who' in the sandbox")


def test_ownership_works_inside_and_is_nobodys_outside(place: Place, root_only: None) -> None:
    async def body() -> tuple[str, set[int]]:
        async with place.box() as box:
            done = await box.exec(
                ["bash", "-c", "touch /var/tmp/f && chown 1000:1000 /var/tmp/f && stat -c %u:%g /var/tmp/f"]
            )
            tree = box.layout.directory / "root" / "upper" / "var" / "tmp"
            return done.text()[0], {(tree / "f").stat().st_uid}

    inside, outside = asyncio.run(body())
    assert inside == "1000:1000\n"
    assert outside == {1_900_001_000}


def test_a_stopped_box_says_so(place: Place) -> None:
    async def body() -> None:
        async with place.box() as box:
            await box.stop()
            await box.stop()
            with pytest.raises(BoxEndedError, match="it was stopped"):
                await box.exec(["true"])

    asyncio.run(body())


def test_a_missing_shown_path_is_one_line(place: Place) -> None:
    for path, words in (
        ("/not/there", "does not exist"),
        ("relative", "absolute path"),
        ("/", "below the root"),
    ):
        with pytest.raises(EngineError, match=words):
            place.run("true", policy=Policy(read_only=(path,)))


def test_the_files_of_a_stopped_box_are_removed_and_its_group_is(place: Place) -> None:
    from sipbench.sandbox.limits import GROUP_PREFIX

    async def body() -> None:
        async with place.box() as box:
            name = box.layout.name
            await box.exec(["bash", "-c", "echo x > /usr/made; echo x > /made"])
            assert box.layout.directory.is_dir()
        await wait_for(lambda: not place.store.box(name).exists())
        groups = Path("/sys/fs/cgroup")
        await wait_for(lambda: not list(groups.glob(f"*/{GROUP_PREFIX}{name}")))

    asyncio.run(body())


def test_pip_may_install_and_python_has_its_short_name(place: Place) -> None:
    if not list(Path("/usr/lib").glob("python3*/EXTERNALLY-MANAGED")):
        pytest.skip("sandbox: this machine's Python is not externally managed")
    assert place.run("ls /usr/lib/python3*/EXTERNALLY-MANAGED").code != 0
    assert place.run("python -c 'print(1)'").stdout == b"1\n"


def test_no_descriptor_of_the_host_is_open_in_a_command(place: Place) -> None:
    secret = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(secret, True)
    try:
        done = place.run("ls /proc/self/fd")
    finally:
        os.close(secret)
    assert done.text()[0].split() == ["0", "1", "2", "3"]  # 3 is the directory that ls reads


def test_no_device_of_the_host_changes_its_owner(place: Place) -> None:
    """Input is the host's /dev/null when there is none."""
    before = Path("/dev/null").stat()
    place.run("chown 1000 /dev/null; chmod 600 /dev/null; echo x; true")
    after = Path("/dev/null").stat()
    assert (after.st_uid, after.st_mode) == (before.st_uid, before.st_mode) == (0, before.st_mode)
