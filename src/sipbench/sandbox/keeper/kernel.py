"""The few system calls that Python does not wrap.

Numbers that differ by processor are given for x86_64 and aarch64; elsewhere
`seccomp_filter` returns None and the caller records that no filter held.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

__all__ = [
    "bind",
    "bind_mapped",
    "bounding_drop",
    "capabilities_clear",
    "hide_arguments",
    "keyring_new",
    "make_private",
    "mount",
    "mount_tmpfs",
    "no_new_privileges",
    "seccomp_filter",
    "seccomp_install",
    "set_death_signal",
    "set_dumpable",
]

_libc = ctypes.CDLL(None, use_errno=True)

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NAME, PR_SET_SECCOMP = 1, 4, 15, 22
PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 23, 24, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC = 32, 1024, 2048, 4096, 16384
MS_PRIVATE, MS_RELATIME = 1 << 18, 1 << 21

# The same numbers on every processor.
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH, _AT_EMPTY_PATH, _AT_FDCWD = 1, 4, 0x1000, -100
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_IDMAP = 0x1, 0x100000

_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_KEYCTL = {"x86_64": 250, "aarch64": 219}
# Calls that Docker's default profile refuses to a container without the capability for them:
# mounts, namespaces, modules, keys, clocks, BPF, performance events, asynchronous rings.
# The number on x86_64, then on aarch64.
_DENIED: dict[str, tuple[int, int]] = {
    "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bpf": (321, 280),
    "clock_adjtime": (305, 266), "clock_settime": (227, 112), "delete_module": (176, 106),
    "fanotify_init": (300, 262), "finit_module": (313, 273), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433), "init_module": (175, 105),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_uring_setup": (425, 425),
    "kcmp": (312, 272), "kexec_file_load": (320, 294), "kexec_load": (246, 104), "keyctl": (250, 219),
    "mount": (165, 40), "mount_setattr": (442, 442), "move_mount": (429, 429),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438), "pivot_root": (155, 41), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "reboot": (169, 142), "request_key": (249, 218), "setdomainname": (171, 162),
    "sethostname": (170, 161), "setns": (308, 268), "settimeofday": (164, 170), "swapoff": (168, 225),
    "swapon": (167, 224), "syslog": (103, 116), "umount2": (166, 39), "unshare": (272, 97),
    "userfaultfd": (323, 282),
}  # fmt: skip
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_X32_BIT = 0x40000000
# Every CLONE_NEW* flag: time, mount, cgroup, uts, ipc, user, pid, net.
_NEW_NAMESPACES = 0x7E020080


def _prctl(option: int, a: int = 0, b: int = 0, c: int = 0) -> int:
    zero = ctypes.c_ulong(0)
    result: int = _libc.prctl(option, ctypes.c_ulong(a), ctypes.c_ulong(b), ctypes.c_ulong(c), zero)
    return result


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def set_death_signal(number: int) -> None:
    """Ask the kernel for a signal when the parent dies."""
    _check(_prctl(PR_SET_PDEATHSIG, number), "prctl(PDEATHSIG)")


def set_dumpable(on: bool) -> None:
    """Off: nobody with the same uid may trace this process or read its /proc entries."""
    _check(_prctl(PR_SET_DUMPABLE, int(on)), "prctl(DUMPABLE)")


def no_new_privileges() -> None:
    """From here on no exec gains privileges, whatever the file's bits say."""
    _check(_prctl(PR_SET_NO_NEW_PRIVS, 1), "prctl(NO_NEW_PRIVS)")


def bounding_drop(keep: frozenset[int]) -> None:
    """Remove every capability from the bounding and ambient sets except `keep`."""
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for number in range(64):
        if _prctl(PR_CAPBSET_READ, number) < 0:
            break
        if number not in keep:
            _check(_prctl(PR_CAPBSET_DROP, number), f"prctl(CAPBSET_DROP {number})")


def capabilities_clear(keep: frozenset[int]) -> None:
    """Shrink the effective and permitted sets to `keep`; clear the inheritable set."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0))
    bits = sum(1 << number for number in keep)
    low, high = bits & 0xFFFFFFFF, bits >> 32
    data = ctypes.create_string_buffer(struct.pack("=6I", low, low, 0, high, high, 0))
    _check(_libc.capset(header, data), "capset")


def keyring_new() -> None:
    """Leave the caller's session keyring, so that no key of the host is possessed inside."""
    number = _KEYCTL.get(os.uname().machine)
    if number is not None:
        _libc.syscall(ctypes.c_long(number), ctypes.c_long(1), ctypes.c_long(0))


def hide_arguments(name: str) -> None:
    """Overwrite this process's argument vector: `ps` inside a box shows `name` alone."""
    fd = os.open("/proc/self/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        fields = os.read(fd, 4096).rpartition(b")")[2].split()
    finally:
        os.close(fd)
    start, end = int(fields[45]), int(fields[46])
    if 0 < start < end:
        ctypes.memset(start, 0, end - start)
        text = name.encode()[: end - start - 1]
        ctypes.memmove(start, text, len(text))
    _libc.prctl(PR_SET_NAME, ctypes.c_char_p(name.encode()[:15]), 0, 0, 0)


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Call ``mount(2)``.

    Raises:
        OSError: The kernel refused.
    """
    result = _libc.mount(
        source.encode(),
        os.fsencode(target),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        data.encode() if data else None,
    )
    _check(result, f"mount on {target}")


def make_private() -> None:
    """Let no mount made here reach the host."""
    mount("none", "/", None, MS_REC | MS_PRIVATE)


def mount_tmpfs(target: str) -> None:
    """Mount a small empty file system of memory."""
    mount("none", target, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m")


def bind(source_fd: int, target: str, *, writable: bool) -> None:
    """Bind an open directory or file; read-only unless `writable`.

    Args:
        source_fd: Descriptor opened before any mount could hide the path.
        target: Existing mount point of the same kind.
        writable: Leave the mount writable.
    """
    mount(f"/proc/self/fd/{source_fd}", target, None, MS_BIND)
    if writable:
        return
    held = os.statvfs(target).f_flag
    flags = MS_REMOUNT | MS_BIND | MS_RDONLY
    # A flag that the source carries is locked in a user namespace and must be repeated.
    for bit, flag in ((2, MS_NOSUID), (4, MS_NODEV), (8, MS_NOEXEC), (1024, MS_NOATIME),
                      (2048, MS_NODIRATIME), (4096, MS_RELATIME)):  # fmt: skip
        if held & bit:
            flags |= flag
    mount("none", target, None, flags)


def bind_mapped(source_fd: int, target: str, user_space: int) -> None:
    """Bind an open directory read-only, with the host's ids below it shifted into a user namespace's.

    Args:
        source_fd: Descriptor of the directory.
        target: Existing directory to mount on.
        user_space: Descriptor of the user namespace; host id n is shown as id n inside it.

    Raises:
        OSError: The kernel or the file system cannot do this.
    """
    tree = _libc.syscall(
        ctypes.c_long(_OPEN_TREE),
        ctypes.c_int(source_fd),
        ctypes.c_char_p(b""),
        ctypes.c_uint(_OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_EMPTY_PATH),
    )
    _check(min(tree, 0), "open_tree")
    try:
        wanted = struct.pack("=QQQQ", _MOUNT_ATTR_IDMAP | _MOUNT_ATTR_RDONLY, 0, 0, user_space)
        changed = _libc.syscall(
            ctypes.c_long(_MOUNT_SETATTR),
            ctypes.c_int(tree),
            ctypes.c_char_p(b""),
            ctypes.c_uint(_AT_EMPTY_PATH),
            ctypes.c_char_p(wanted),
            ctypes.c_size_t(len(wanted)),
        )
        _check(changed, "mount_setattr")
        moved = _libc.syscall(
            ctypes.c_long(_MOVE_MOUNT),
            ctypes.c_int(tree),
            ctypes.c_char_p(b""),
            ctypes.c_int(_AT_FDCWD),
            ctypes.c_char_p(os.fsencode(target)),
            ctypes.c_uint(_MOVE_MOUNT_F_EMPTY_PATH),
        )
        _check(moved, f"move_mount to {target}")
    finally:
        os.close(tree)


def seccomp_filter() -> bytes | None:
    """Build the filter: refused calls give EPERM, `clone3` ENOSYS so that libc falls back to `clone`.

    Returns:
        Instructions of `struct sock_filter`, or None on a processor without a table.
    """
    machine = os.uname().machine
    if machine not in _ARCH or sys.byteorder != "little":
        return None

    def op(code: int, jt: int, jf: int, k: int) -> bytes:
        return struct.pack("=HBBI", code, jt, jf, k)

    load, equal, at_least, bits, ret = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, eperm, enosys, kill = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
    program = [op(load, 0, 0, 4), op(equal, 1, 0, _ARCH[machine]), op(ret, 0, 0, kill), op(load, 0, 0, 0)]
    if machine == "x86_64":
        program += [op(at_least, 0, 1, _X32_BIT), op(ret, 0, 0, eperm)]
    column = list(_ARCH).index(machine)
    for numbers in _DENIED.values():
        program += [op(equal, 0, 1, numbers[column]), op(ret, 0, 0, eperm)]
    program += [op(equal, 0, 1, _CLONE3), op(ret, 0, 0, enosys)]
    program += [op(equal, 0, 3, _CLONE[machine]), op(load, 0, 0, 16)]
    program += [op(bits, 0, 1, _NEW_NAMESPACES), op(ret, 0, 0, eperm), op(ret, 0, 0, allow)]
    return b"".join(program)


def seccomp_install(program: bytes) -> None:
    """Install a filter for this process and all it starts; needs `no_new_privileges` first."""
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    prog = ctypes.create_string_buffer(header, len(header))
    _check(_prctl(PR_SET_SECCOMP, 2, ctypes.addressof(prog)), "prctl(SECCOMP)")
