"""What a box may see.

An allow-list, not a deny-list: what is not named here does not exist inside. No
home directory, no mount, no `/var`, no `/run`, no socket, no environment variable
of the host; of `/etc` only files that a distribution ships for everybody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = [
    "CREDENTIAL_IN_ADDRESS",
    "DEFAULT_ENV",
    "DEVICES",
    "ETC_ALLOWED",
    "ETC_REFUSED",
    "GROUP",
    "LEGACY_DIRECTORIES",
    "PASSWD",
    "SYSTEM_DIRECTORIES",
    "Policy",
    "environment_names",
]

#: Host directories that make up the system; read, never written (writes go to the box's own layer).
SYSTEM_DIRECTORIES: Final = ("/usr",)
#: Present beside `/usr` on hosts whose `/bin` and `/lib` are not links into it.
LEGACY_DIRECTORIES: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")

#: Entries of the host's `/etc` that are copied, directories whole. No passwd, shadow, hosts or
#: resolv.conf: these are written fresh. Nothing that holds accounts, keys, tokens or proxies.
ETC_ALLOWED: Final = (
    "ImageMagick-6", "ImageMagick-7", "R", "adduser.conf", "alternatives", "apt/keyrings",
    "apt/preferences.d", "apt/sources.list", "apt/sources.list.d", "apt/trusted.gpg.d", "bash.bashrc",
    "ca-certificates", "ca-certificates.conf", "debconf.conf", "debian_version", "deluser.conf", "dpkg",
    "fonts", "gai.conf", "host.conf", "inputrc", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "libaudit.conf", "localtime", "locale.alias",
    "locale.gen", "login.defs", "lsb-release", "magic", "magic.mime", "mailcap", "mime.types", "nanorc",
    "networks", "openmpi", "os-release", "pam.conf", "pam.d", "perl", "pki/ca-trust", "pki/tls/certs",
    "profile", "profile.d", "protocols", "python3", "python3.10", "python3.11", "python3.12", "python3.13",
    "python3.14", "rpc", "security", "selinux/semanage.conf", "services", "shells", "skel", "ssl/certs",
    "ssl/openssl.cnf", "terminfo", "texmf", "timezone", "vim",
)  # fmt: skip
#: Names that are never copied, wherever they stand.
ETC_REFUSED: Final = re.compile(
    r"(^|/)(\.netrc|netrc|auth\.conf(\.d)?|private|.*\.key|.*secret.*|.*password.*|.*credential.*|.*token.*"
    r"|opasswd|shadow.*|gshadow.*)$",
    re.IGNORECASE,
)
#: A file that names a user and a password in an address is not copied.
CREDENTIAL_IN_ADDRESS: Final = re.compile(rb"[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)

#: Device nodes inside; the first six are the host's, harmless to everyone, the rest the box's own.
DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")

#: The accounts that Debian's base system has everywhere, with fixed numbers. No account of the host.
_ACCOUNTS: Final = (
    ("root", 0, 0, "/root", "/bin/bash"), ("daemon", 1, 1, "/usr/sbin", ""), ("bin", 2, 2, "/bin", ""),
    ("sys", 3, 3, "/dev", ""), ("sync", 4, 65534, "/bin", ""), ("games", 5, 60, "/usr/games", ""),
    ("man", 6, 12, "/var/cache/man", ""), ("lp", 7, 7, "/var/spool/lpd", ""),
    ("mail", 8, 8, "/var/mail", ""), ("news", 9, 9, "/var/spool/news", ""),
    ("uucp", 10, 10, "/var/spool/uucp", ""), ("proxy", 13, 13, "/bin", ""),
    ("www-data", 33, 33, "/var/www", ""), ("backup", 34, 34, "/var/backups", ""),
    ("list", 38, 38, "/var/list", ""), ("irc", 39, 39, "/run/ircd", ""),
    ("_apt", 42, 65534, "/nonexistent", ""), ("nobody", 65534, 65534, "/nonexistent", ""),
)  # fmt: skip
_GROUPS: Final = (
    "root:0 daemon:1 bin:2 sys:3 adm:4 tty:5 disk:6 lp:7 mail:8 news:9 uucp:10 man:12 proxy:13 kmem:15 "
    "dialout:20 fax:21 voice:22 cdrom:24 floppy:25 tape:26 sudo:27 audio:29 dip:30 www-data:33 backup:34 "
    "operator:37 list:38 irc:39 src:40 shadow:42 utmp:43 video:44 sasl:45 plugdev:46 staff:50 games:60 "
    "users:100 nogroup:65534"
)
PASSWD: Final = "".join(
    f"{name}:x:{uid}:{gid}::{home}:{shell or '/usr/sbin/nologin'}\n"
    for name, uid, gid, home, shell in _ACCOUNTS
)
GROUP: Final = "".join("{}:x:{}:\n".format(*entry.split(":")) for entry in _GROUPS.split())

DEFAULT_ENV: Final = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
}


@dataclass(frozen=True)
class Policy:
    """Choices about what a box sees beyond its base.

    Attributes:
        read_only: Host paths shown read-only at the same place. Everything in them is readable inside.
        pass_env: Names of host variables that are let in.
        shm_mb: Size of `/dev/shm`, MiB.
        seccomp: Refuse the system calls that Docker's default profile refuses.
    """

    read_only: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    shm_mb: int = 64
    seccomp: bool = True


def environment_names(names: Sequence[str], host: Mapping[str, str]) -> dict[str, str]:
    """Pick the named variables from the host's environment; absent ones are left out."""
    return {name: host[name] for name in names if name in host}
