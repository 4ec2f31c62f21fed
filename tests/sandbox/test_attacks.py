"""What somebody hostile tries from inside a box, and that the same thing works outside.

Each attack is run twice: outside, where it must succeed (else the test could not
fail), and inside, where it must not.
"""

from __future__ import annotations

import asyncio
import http.server
import io
import os
import shlex
import socket
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sipbench.errors import EngineError
from sipbench.sandbox.endings import BoxEndedError, TimedOutError
from sipbench.sandbox.keeper.files import unpack
from sipbench.sandbox.limits import Limits
from sipbench.sandbox.policy import Policy
from sipbench.sandbox.transfer import download_dir, download_file, upload_dir
from tests.sandbox.conftest import Place, wait_for

SECRET = "only-the-host-knows-this"


def outside(script: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def both(place: Place, script: str, policy: Policy | None = None) -> tuple[str, str]:
    """Run a script outside and inside; return what each printed."""
    return outside(script).stdout, place.run(script, policy=policy).text()[0]


# -- reading ------------------------------------------------------------------------------------


def test_a_file_of_the_host_cannot_be_read(place: Place, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    out, inside = both(place, f"cat {shlex.quote(str(tmp_path / 'secret'))}")
    assert SECRET in out
    assert SECRET not in inside


@pytest.mark.parametrize(
    "path", ["/home", "/root", "/mnt", "/media", "/srv", "/opt", "/var/log", "/boot", "/sys"]
)
def test_the_hosts_directories_are_empty_inside(place: Place, path: str) -> None:
    done = place.run(f"find {path} -mindepth 1 -type f | head -5")
    assert done.text()[0] == ""


def test_every_file_of_etc_inside_is_one_that_everybody_may_read_outside(place: Place) -> None:
    listed = place.run("cd /etc && find . -type f").text()[0].split("\n")
    names = [name.removeprefix("./") for name in listed if name]
    assert "passwd" in names
    own = {
        "passwd",
        "group",
        "shadow",
        "hosts",
        "hostname",
        "nsswitch.conf",
        "resolv.conf",
        "apt/apt.conf.d/99sandbox",
    }
    for name in set(names) - own:
        assert Path("/etc", name).stat().st_mode & stat.S_IROTH, name


def test_no_account_of_a_person_is_seen_inside(place: Place) -> None:
    people = [line.split(":") for line in place.run("cat /etc/passwd").text()[0].splitlines()]
    assert all(int(row[2]) < 1000 or int(row[2]) == 65534 for row in people)
    assert all(row[4] == "" for row in people)


def test_no_variable_of_the_host_is_seen_inside(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    out, inside = both(place, "env; cat /proc/1/environ /proc/self/environ 2>/dev/null")
    assert SECRET in out
    assert SECRET not in inside
    assert {line.split("=")[0] for line in place.run("/usr/bin/env").text()[0].splitlines()} <= {
        "PATH", "HOME", "LANG", "PWD", "SHLVL", "_", "OLDPWD",
    }  # fmt: skip


def test_a_variable_is_let_in_by_name_only(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from sipbench.sandbox.policy import environment_names

    monkeypatch.setenv("WANTED", "yes")
    assert environment_names(("WANTED", "ABSENT"), os.environ) == {"WANTED": "yes"}


def test_a_closed_file_below_a_shown_directory_stays_closed(
    place: Place, tmp_path: Path, root_only: None
) -> None:
    shown = tmp_path / "shown"
    shown.mkdir()
    shown.chmod(0o755)
    (shown / "open").write_text("open")
    (shown / "closed").write_text(SECRET)
    (shown / "closed").chmod(0o600)
    policy = Policy(read_only=(str(shown),))
    out, inside = both(place, f"cat {shown}/open {shown}/closed", policy)
    assert SECRET in out
    assert "open" in inside
    assert SECRET not in inside


# -- writing ------------------------------------------------------------------------------------


def test_a_shown_directory_cannot_be_written(place: Place, tmp_path: Path) -> None:
    policy = Policy(read_only=(str(tmp_path),))
    script = f"echo x > {tmp_path}/made"
    place.run(script + f"; mount -o remount,rw {tmp_path}; {script}; chmod 777 {tmp_path}", policy=policy)
    assert not (tmp_path / "made").exists()
    outside(script)
    assert (tmp_path / "made").exists()


def test_what_is_written_to_the_system_stays_in_the_box(place: Place) -> None:
    name = f"/usr/local/bin/made-{os.getpid()}"
    done = place.run(f"echo x > {name} && rm /usr/bin/env && cat {name}")
    assert done.code == 0, done.text()
    assert not Path(name).exists()
    assert Path("/usr/bin/env").exists()


def test_a_box_does_not_see_what_another_wrote(place: Place) -> None:
    script = "cat /var/tmp/mark 2>/dev/null; echo seen > /var/tmp/mark"
    assert place.run(script).text()[0] == ""
    assert place.run(script).text()[0] == ""


# -- network ------------------------------------------------------------------------------------


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


# -- processes ----------------------------------------------------------------------------------


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


# -- escapes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "probe",
    [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/panic",
        "/proc/sys/vm/drop_caches",
    ],
)
def test_the_kernels_switches_cannot_be_opened_for_writing(place: Place, probe: str, root_only: None) -> None:
    script = f"python3 -c {shlex.quote(f'''import os; os.open({probe!r}, os.O_WRONLY); print('opened')''')}"
    out, inside = both(place, script)
    assert "opened" in out
    assert "opened" not in inside


def test_device_nodes_cannot_be_made_and_only_harmless_ones_are_there(
    place: Place, tmp_path: Path, root_only: None
) -> None:
    assert outside(f"mknod {tmp_path}/disk b 8 0").returncode == 0
    assert place.run("mknod /tmp/disk b 8 0").code != 0
    inside = place.run("find /dev -type b -o -type c | sort").text()[0].split()
    assert {Path(name).name for name in inside} <= {
        "null",
        "zero",
        "full",
        "random",
        "urandom",
        "tty",
        "ptmx",
    }


def test_a_setuid_file_gives_nothing(place: Place, root_only: None) -> None:
    with tempfile.TemporaryDirectory(prefix="sipbench-test-") as name:
        shown = Path(name)
        shown.chmod(0o755)
        tool = shown / "id"
        tool.write_bytes(Path("/usr/bin/id").read_bytes())
        tool.chmod(0o4755)
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(tool), "-u"]
        assert subprocess.run(nobody, capture_output=True, text=True, check=True).stdout == "0\n"
        done = place.run(f"{tool} -u", policy=Policy(read_only=(str(shown),)), user="nobody")
        assert done.text()[0] == "65534\n"
        made = "cp /usr/bin/id /tmp/id && chmod 4755 /tmp/id && su -s /bin/sh nobody -c '/tmp/id -u'"
        assert "0" not in place.run(made).text()[0].split()


@pytest.mark.parametrize(
    "attempt",
    [
        "unshare -Ur true",
        "unshare -m true",
        "mount -t tmpfs none /mnt",
        "mount -t proc proc /mnt",
        "umount /proc",
        "mount -o remount,rw /usr",
        "chroot / true",
        "nsenter -t 1 -m true",
        "hostname other",
        "dmesg",
    ],
)
def test_the_ways_to_more_privilege_are_shut(place: Place, attempt: str) -> None:
    assert place.run(attempt).code not in (0, 127)


def test_the_same_ways_are_open_outside(root_only: None) -> None:
    for attempt in ("unshare -Ur true", "unshare -m true", "chroot / true", "dmesg"):
        assert outside(attempt).returncode == 0, attempt


@pytest.mark.parametrize("call", ["keyctl", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup"])
def test_rarely_used_system_calls_are_refused(place: Place, call: str) -> None:
    numbers = {"keyctl": 250, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425}
    if os.uname().machine != "x86_64":
        pytest.skip("sandbox: the numbers in this test are those of x86_64")
    script = (
        "import ctypes,os; c=ctypes.CDLL(None,use_errno=True); "
        f"r=c.syscall({numbers[call]},99,0,0,0,0); print(r, ctypes.get_errno())"
    )
    inside = place.run(f"python3 -c {shlex.quote(script)}").text()[0]
    without = place.run(f"python3 -c {shlex.quote(script)}", policy=Policy(seccomp=False)).text()[0]
    assert inside == "-1 1\n"  # EPERM
    assert without != inside or call in ("bpf", "perf_event_open")


# -- archives and links -------------------------------------------------------------------------


def hostile_archive(secret: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:

        def add(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", body: bytes = b"") -> None:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, link, len(body)
            archive.addfile(info, io.BytesIO(body))

        add("../climbed", body=b"x")
        add(f"{secret.parent}/absolute", body=b"x")
        add("out", tarfile.SYMTYPE, str(secret.parent))
        add("out/through-link", body=b"x")
        add("hard", tarfile.LNKTYPE, "../" + secret.name)
        add("hard2", tarfile.LNKTYPE, str(secret))
        add("a/b", tarfile.SYMTYPE, "..")
        add("a/c", tarfile.SYMTYPE, "b/../..")
        add("pipe", tarfile.FIFOTYPE)
        add("disk", tarfile.BLKTYPE)
        add("good", body=b"good")
    return buffer.getvalue()


def test_no_name_or_link_of_an_archive_leads_out(tmp_path: Path) -> None:
    def scene(name: str) -> tuple[Path, Path]:
        target = tmp_path / name / "target"
        target.mkdir(parents=True)
        (tmp_path / name / "secret").write_text(SECRET)
        return target, tmp_path / name

    target, around = scene("naive")
    with tarfile.open(fileobj=io.BytesIO(hostile_archive(around / "secret"))) as archive:
        for member in archive:
            if not member.isdev():
                try:
                    archive.extract(member, target, filter="fully_trusted")
                except (OSError, KeyError):
                    continue
    assert (around / "climbed").exists()
    assert (around / "through-link").exists()

    target, around = scene("ours")
    root = os.open(target, os.O_RDONLY)
    done = unpack(io.BytesIO(hostile_archive(around / "secret")), root)
    os.close(root)
    assert sorted(path.name for path in around.iterdir()) == ["secret", "target"]
    assert (target / "good").read_text() == "good"
    for path in target.rglob("*"):
        assert path.resolve().is_relative_to(target), path
    assert (target / "out" / "through-link").read_text() == "x"  # a real directory in the link's place
    assert len(done.skipped) >= 6


def test_a_link_that_an_earlier_download_left_is_not_written_through(tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    target.mkdir()
    elsewhere.mkdir()
    (target / "dir").symlink_to(elsewhere)
    (target / "file").symlink_to(elsewhere / "file")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("dir/x", "file"):
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(b"x"))
    buffer.seek(0)
    root = os.open(target, os.O_RDONLY)
    unpack(buffer, root)
    os.close(root)
    assert list(elsewhere.iterdir()) == []
    assert (target / "dir" / "x").read_text() == "x"


def test_links_of_an_agent_bring_nothing_of_the_host_out(place: Place, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    plant = f"""
    mkdir -p /out/sub && cd /out && ln -s {secret} link && ln -s {tmp_path} dir
    ln -s /etc/passwd passwd && mkfifo pipe && ln -s ../../../../../../{secret} climb && echo fine > sub/fine
    python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('/out/sock')"
    """

    async def body() -> None:
        async with place.box() as box:
            done = await box.exec(["bash", "-c", plant])
            assert done.code == 0, done.text()
            await download_dir(box, "/out", tmp_path / "got")
            for name in ("link", "passwd", "pipe", "dir"):
                with pytest.raises(FileNotFoundError):
                    await download_file(box, f"/out/{name}", tmp_path / "one")
            with pytest.raises(FileNotFoundError):
                await download_file(box, "/out/dir/secret", tmp_path / "one")

    asyncio.run(body())
    got = list((tmp_path / "got").rglob("*"))
    assert [path.name for path in got if path.is_file()] == ["fine"]
    assert not any(path.is_symlink() for path in got)
    assert not (tmp_path / "one").exists()


def test_an_upload_is_not_written_through_a_planted_link(place: Place, tmp_path: Path) -> None:
    source = tmp_path / "tests"
    source.mkdir()
    (source / "test.sh").write_text("echo real")

    async def body() -> str:
        async with place.box() as box:
            await box.exec(
                ["bash", "-c", "mkdir /tests; echo old > /tmp/mine; ln -s /tmp/mine /tests/test.sh"]
            )
            await upload_dir(box, source, "/tests")
            return (await box.exec(["cat", "/tests/test.sh", "/tmp/mine"])).text()[0]

    assert asyncio.run(body()) == "echo real" + "old\n"


def test_a_file_swapped_for_a_pipe_cannot_hang_a_download(place: Place, tmp_path: Path) -> None:
    swap = "cd /out; while :; do rm -f f; mkfifo f; rm -f f; echo x > f; done"

    async def body() -> None:
        async with place.box() as box:
            await box.exec(["mkdir", "/out"])
            await box.exec(["bash", "-c", f"({swap}) >/dev/null 2>&1 &"])
            for number in range(30):
                await asyncio.wait_for(download_dir(box, "/out", tmp_path / str(number)), 60)

    asyncio.run(body())


def test_a_huge_sparse_file_does_not_fill_the_host(place: Place, tmp_path: Path) -> None:
    async def body() -> None:
        async with place.box(Limits(disk_mb=4096)) as box:
            await box.exec(["bash", "-c", "mkdir /out; truncate -s 3G /out/big"])
            with pytest.raises(EngineError, match="more bytes than allowed"):
                await download_dir(box, "/out", tmp_path / "got", max_bytes=1 << 20)
            with pytest.raises(EngineError, match="more bytes than allowed"):
                await download_file(box, "/out/big", tmp_path / "big", max_bytes=1 << 20)

    asyncio.run(body())
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) == 0


# -- exhaustion ---------------------------------------------------------------------------------

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


def test_the_store_is_closed_to_other_users(place: Place) -> None:
    assert place.store.root.stat().st_mode & 0o077 == 0
