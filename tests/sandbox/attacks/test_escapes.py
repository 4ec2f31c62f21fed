"""Escaping by `/proc`, device nodes, setuid files and system calls."""

from __future__ import annotations

import os
import shlex
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
