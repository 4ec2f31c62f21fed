"""Escaping by `/proc`, device nodes, setuid files and system calls."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from sipbench.sandbox.policy import Policy
from tests.sandbox.attacks.attempts import both, outside
from tests.sandbox.conftest import Place


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


def test_a_device_node_below_a_shown_directory_is_none(place: Place, root_only: None) -> None:
    with tempfile.TemporaryDirectory(prefix="sipbench-test-") as name:
        shown = Path(name)
        shown.chmod(0o755)
        node = shown / "zero"
        assert outside(f"mknod -m 666 {node} c 1 5").returncode == 0
        script = f"head -c 3 {node} | wc -c"
        assert outside(script).stdout.strip() == "3"
        assert place.run(script, policy=Policy(read_only=(name,))).text()[0].strip() == "0"


def test_a_capability_of_a_file_gives_nothing(place: Place, root_only: None) -> None:
    if not shutil.which("setcap"):
        pytest.skip("sandbox: no setcap on this machine")
    with tempfile.TemporaryDirectory(prefix="sipbench-test-") as name:
        shown = Path(name)
        shown.chmod(0o755)
        tool = shown / "cat"
        shutil.copy(os.path.realpath("/usr/bin/cat"), tool)
        if outside(f"setcap cap_sys_admin+ep {tool}").returncode != 0:
            pytest.skip("sandbox: the file system of the tests has no capabilities of files")
        ask = f"{tool} /proc/self/status"
        nobody = f"setpriv --reuid=65534 --regid=65534 --clear-groups {ask}"
        admin = 1 << 21
        assert effective(outside(nobody).stdout) & admin
        assert not effective(place.run(ask, policy=Policy(read_only=(name,))).text()[0]) & admin


def effective(status: str) -> int:
    """The capabilities in effect, from `/proc/PID/status`."""
    (line,) = [line for line in status.splitlines() if line.startswith("CapEff:")]
    return int(line.split()[1], 16)


@pytest.mark.parametrize("name", ["kcore", "kmsg", "timer_list", "kpagecount", "sysrq-trigger"])
def test_what_the_kernel_tells_its_root_is_not_told_inside(place: Place, name: str, root_only: None) -> None:
    if not Path("/proc", name).exists():
        pytest.skip(f"sandbox: this kernel has no /proc/{name}")
    flags = "os.O_WRONLY" if name == "sysrq-trigger" else "os.O_RDONLY"
    script = f"import os; os.open('/proc/{name}', {flags} | os.O_NONBLOCK); print('opened')"
    out, inside = both(place, f"python3 -c {shlex.quote(script)}")
    assert "opened" in out
    assert "opened" not in inside


def test_no_address_of_the_kernel_is_told(place: Place) -> None:
    addresses = place.run("cut -d' ' -f1 /proc/kallsyms 2>/dev/null | sort -u").text()[0].split()
    assert all(int(address, 16) == 0 for address in addresses)


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
        "date -s 2001-01-01",
        "mount --bind / /mnt",
        "pivot_root / /mnt",
        "dmesg",
    ],
)
def test_the_ways_to_more_privilege_are_shut(place: Place, attempt: str) -> None:
    assert place.run(attempt).code not in (0, 127)


def test_the_same_ways_are_open_outside(root_only: None) -> None:
    for attempt in ("unshare -Ur true", "unshare -m true", "chroot / true", "dmesg"):
        assert outside(attempt).returncode == 0, attempt


CALLS = {
    "keyctl": 250, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425,
    "open_by_handle_at": 304, "setns": 308, "fsopen": 430, "open_tree": 428, "mount_setattr": 442,
    "kexec_load": 246, "init_module": 175, "settimeofday": 164, "swapon": 167, "acct": 163,
    "pidfd_getfd": 438,
}  # fmt: skip
UNPRIVILEGED = {"keyctl", "userfaultfd", "io_uring_setup", "setns", "mount_setattr", "pidfd_getfd"}


@pytest.mark.parametrize("call", CALLS)
def test_rarely_used_system_calls_are_refused(place: Place, call: str) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("sandbox: the numbers in this test are those of x86_64")
    script = (
        "import ctypes,os; c=ctypes.CDLL(None,use_errno=True); "
        f"r=c.syscall({CALLS[call]},-1,0,0,0,0); print(r, ctypes.get_errno())"
    )
    inside = place.run(f"python3 -c {shlex.quote(script)}").text()[0]
    without = place.run(f"python3 -c {shlex.quote(script)}", policy=Policy(seccomp=False)).text()[0]
    assert inside == "-1 1\n"  # EPERM
    # What asks for no privilege would be answered otherwise but for the filter.
    assert without != inside or call not in UNPRIVILEGED
