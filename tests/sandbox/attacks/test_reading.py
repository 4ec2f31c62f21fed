"""Reading what is the host's or another trial's."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

import pytest

from sipbench.sandbox.policy import Policy
from tests.sandbox.attacks.attempts import SECRET, both
from tests.sandbox.conftest import Place


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


def test_the_store_is_closed_to_other_users(place: Place) -> None:
    assert place.store.root.stat().st_mode & 0o077 == 0
