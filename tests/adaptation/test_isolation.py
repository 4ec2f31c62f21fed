"""What a program that an adaptation starts can see of the study: nothing, where the machine can hide it.

Each attack is a shell script that tries to print the secret, by whatever way.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sipbench.adaptation import isolation
from sipbench.adaptation.isolation import aliases, launch
from sipbench.errors import AdaptationError
from tests.adaptation.places import PYTHON, SECRET, Place, as_nobody

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def missing_namespaces() -> str | None:
    """Why this machine cannot hide anything; None if it can."""
    launched = launch(["true"], cwd=Path("/"), env={"PATH": os.defpath}, hidden=[])
    launched.process.communicate()
    return launched.note if launched.isolation == "omission" else None


@pytest.fixture
def hiding() -> None:
    if (why := missing_namespaces()) is not None:
        pytest.skip(f"this machine cannot hide files from a program: {why}")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.make(tmp_path)


# STUDY and RUNNER are the study's folder and the process that runs the adaptation. True: the attack
# succeeds where nothing is hidden, which shows that it is one.
ATTACKS: dict[str, tuple[bool, str]] = {
    "by its path": (True, 'cat "$STUDY/secret"'),
    "by the relative path": (True, "cat study/secret"),
    "by a search": (True, 'grep -r held-out "$STUDY"'),
    "a hidden file": (True, 'cat "$STUDY/../private.json"'),
    "through a link": (True, 'ln -s "$STUDY" "$TMPDIR/l"; cat "$TMPDIR/l/secret"'),
    "by a hard link": (True, 'ln "$STUDY/secret" "$TMPDIR/h"; cat "$TMPDIR/h"'),
    "through the runner's folder": (True, "cat /proc/$RUNNER/cwd/secret"),
    "through the runner's root": (True, 'cat "/proc/$RUNNER/root$STUDY/secret"'),
    "through a file the runner has open": (
        True,
        "for f in /proc/$RUNNER/fd/*; do case $(readlink $f) in */secret) cat $f;; esac; done",
    ),
    "through any process": (True, 'for p in /proc/[0-9]*; do cat "$p/root$STUDY/secret"; done'),
    "through its own environment": (False, "env"),
    "through the folder it was started in": (False, "cat secret ../secret"),
    "through what it inherited": (False, "cat /proc/self/fd/*/secret /proc/self/cwd/secret"),
    "after unmounting": (True, 'umount "$STUDY"; umount -l "$STUDY"; cat "$STUDY/secret"'),
    "after unmounting with rights of its own": (
        False,
        """unshare -Urm sh -c 'umount "$STUDY"; cat "$STUDY/secret"'""",
    ),
    "beside the mounts": (
        False,
        """mkdir "$TMPDIR/m"; unshare -Urm sh -c 'mount --bind / $TMPDIR/m; cat $TMPDIR/m$STUDY/secret'""",
    ),
    "by moving what lies over it": (
        True,
        'mv "$STUDY" "$TMPDIR/s"; cat "$STUDY/secret" "$TMPDIR/s/secret"; mv "$TMPDIR/s" "$STUDY"',
    ),
}


def script_of(place: Place, attack: str) -> str:
    assert place.study.is_absolute()
    told = f"STUDY={place.study} RUNNER={os.getpid()}; export STUDY RUNNER"
    return f'{told}; ({attack}) >>"$SIPBENCH_STATE/seen" 2>&1; echo . >>"$SIPBENCH_STATE/seen"'


@pytest.fixture
def runner_in_the_study(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The worst case: this process stands in the study and has a file of it open."""
    monkeypatch.chdir(place.study)
    with (place.study / "secret").open(encoding="utf-8") as held:
        os.set_inheritable(held.fileno(), True)
        yield


@pytest.mark.usefixtures("hiding", "runner_in_the_study")
@pytest.mark.parametrize("attack", [attack for _, attack in ATTACKS.values()], ids=list(ATTACKS))
def test_the_study_cannot_be_read(place: Place, attack: str) -> None:
    outcome = place.shell(script_of(place, attack))
    assert outcome.metadata["isolation"] == "namespaces"
    assert SECRET not in place.left("seen")


@pytest.mark.skipif(sys.platform != "linux", reason="some go through /proc")
@pytest.mark.usefixtures("runner_in_the_study")
@pytest.mark.parametrize("attack", [attack for works, attack in ATTACKS.values() if works])
def test_where_nothing_is_hidden_the_attack_succeeds(place: Place, attack: str) -> None:
    (place.root / "tmp").mkdir()
    env = {"PATH": os.environ["PATH"], "SIPBENCH_STATE": str(place.state), "TMPDIR": str(place.root / "tmp")}
    subprocess.run(["sh", "-c", script_of(place, attack)], cwd=place.root, env=env, check=False)
    assert SECRET in place.left("seen")


@pytest.mark.usefixtures("hiding")
def test_it_has_no_capability_and_cannot_gain_one(place: Place) -> None:
    place.shell('grep -E "^Cap|^NoNewPrivs" /proc/self/status >"$SIPBENCH_STATE/seen"')
    values = dict(line.split(":\t") for line in place.left("seen").splitlines())
    assert values.pop("NoNewPrivs") == "1"
    assert {int(value, 16) for value in values.values()} == {0}


@pytest.mark.usefixtures("hiding")
def test_a_raw_disk_is_empty(place: Place) -> None:
    nodes = [path for path in Path("/dev").iterdir() if path.is_block_device()]
    readable = [str(path) for path in nodes if os.access(path, os.R_OK)]
    if not readable:
        pytest.skip("no disk that we may read")
    disks = " ".join(readable)
    place.shell(f'for d in {disks}; do head -c 1 $d; done >"$SIPBENCH_STATE/seen"; date >"$SIPBENCH_STATE/x"')
    assert place.left("seen") == ""


@pytest.mark.usefixtures("hiding")
def test_what_is_not_hidden_can_be_read_and_written(place: Place) -> None:
    place.shell('echo out >note; cat note >"$SIPBENCH_STATE/seen"; echo "$PPID" >>"$SIPBENCH_STATE/seen"')
    assert place.left("seen") == "out\n1\n"
    assert (place.root / "note").read_text(encoding="utf-8") == "out\n"


@pytest.mark.usefixtures("hiding")
def test_the_study_cannot_be_written(place: Place) -> None:
    place.shell(f'echo x >{place.study}/new; echo y >{place.study}/secret; echo x >"$SIPBENCH_STATE/x"')
    assert (place.study / "secret").read_text(encoding="utf-8") == SECRET
    assert not (place.study / "new").exists()


@pytest.mark.usefixtures("hiding")
def test_a_program_that_ends_by_a_signal_says_so(place: Place) -> None:
    with pytest.raises(AdaptationError, match="status 137"):
        place.shell("kill -9 $$")


RUN = """\
import os, sys
from pathlib import Path
from tests.adaptation.places import Place
os.chdir(sys.argv[1] + "/study")
print(Place(Path(sys.argv[1])).shell(sys.argv[2]).metadata)
"""


def run_apart(place: Place, script: str, wrap: Sequence[str]) -> str:
    """Run ``script`` as an adaptation in a process of its own, behind the command ``wrap``."""
    (place.root / "run.py").write_text(RUN, encoding="utf-8")
    command = [*wrap, PYTHON, str(place.root / "run.py"), str(place.root), script]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "TMPDIR": str(place.root)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("hiding")
def test_an_unprivileged_user_hides_the_study_as_well(place: Place) -> None:
    wrap = as_nobody([])
    if wrap is None:
        pytest.skip("only root can become another user")
    subprocess.run(["chown", "-R", "65534:65534", str(place.root)], check=True)
    temporary = Path(tempfile.gettempdir()).resolve()
    for folder in [place.root, *place.root.parents]:
        if folder.is_relative_to(temporary) and folder != temporary:
            folder.chmod(folder.stat().st_mode | 0o011)
    script = "; ".join(script_of(place, attack) for _, attack in ATTACKS.values())
    said = run_apart(place, f'{script}; id -u >"$SIPBENCH_STATE/id"', wrap)
    if "omission" in said:
        pytest.skip(f"an unprivileged user cannot hide files here: {said}")
    assert place.left("id") == "65534\n"
    assert SECRET not in place.left("seen")


@pytest.mark.usefixtures("hiding")
@pytest.mark.parametrize("inner", ["study", "."])
def test_a_second_mount_of_the_study_is_hidden_too(place: Place, inner: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    (place.root / "second").mkdir()
    mount = f'mount --bind "{place.root / inner}" "{place.root}/second" && exec "$@"'
    script = 'cat second/secret second/study/secret >"$SIPBENCH_STATE/seen" 2>&1; true'
    run_apart(place, script, ["unshare", "-m", "sh", "-c", mount, "-"])
    assert SECRET not in place.left("seen")
    assert "No such file" in place.left("seen")


def without_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation.sys, "platform", "darwin")


def test_where_nothing_can_be_hidden_that_is_said_and_recorded(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    without_namespaces(monkeypatch)
    outcome = place.shell('echo x >"$SIPBENCH_STATE/x"')
    assert outcome.metadata["isolation"] == "omission"
    assert outcome.metadata["isolation_note"] == "darwin has no namespaces"
    assert "cannot hide held-out tasks" in caplog.text


def test_by_omission_it_is_not_told_where_the_study_is(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    without_namespaces(monkeypatch)
    place.shell('env >"$SIPBENCH_STATE/env"; pwd -P >>"$SIPBENCH_STATE/env"')
    assert str(place.study) not in place.left("env")


def test_a_study_may_ask_for_nothing_less(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    without_namespaces(monkeypatch)
    with pytest.raises(AdaptationError, match="this machine cannot hide held-out tasks"):
        place.shell('echo x >"$SIPBENCH_STATE/x"', isolation="require")
    assert list(place.state.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has namespaces that it could refuse")
def test_a_refusal_of_the_kernel_is_recorded_in_its_words(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    patched = tmp_path / "launcher.py"
    source = Path(isolation.__file__).read_text(encoding="utf-8")
    refusal = "def _unshare() -> None:\n    raise PermissionError(1, 'Operation not permitted')\n    flags"
    patched.write_text(source.replace("def _unshare() -> None:\n    flags", refusal), encoding="utf-8")
    monkeypatch.setattr(isolation, "__file__", str(patched))
    outcome = place.shell('grep NoNewPrivs /proc/self/status >"$SIPBENCH_STATE/x"')
    assert outcome.metadata["isolation_note"] == "no new namespaces: Operation not permitted"
    assert place.left("x").split() == ["NoNewPrivs:", "1"]


@pytest.mark.skipif(sys.platform != "linux", reason="the launcher is for Linux")
def test_a_launcher_that_breaks_is_an_error_and_no_silent_way_around(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "launcher.py").write_text("raise SystemExit('broken')", encoding="utf-8")
    monkeypatch.setattr(isolation, "__file__", str(tmp_path / "launcher.py"))
    with pytest.raises(AdaptationError, match="the launcher ended early: broken"):
        place.shell('echo x >"$SIPBENCH_STATE/x"')


MOUNTS = r"""
22 1 254:0 / / rw - ext4 /dev/vda rw
30 22 0:20 / /proc rw - proc proc rw
31 22 254:0 /data /mnt/data rw - ext4 /dev/vda rw
32 22 254:0 /data/a\040study/attempts /mnt/attempts rw - ext4 /dev/vda rw
33 22 254:0 /other /mnt/other rw - ext4 /dev/vda rw
34 22 0:41 / /data/own rw - tmpfs tmpfs rw
""".strip()


@pytest.mark.parametrize(
    ("path", "others"),
    [
        ("/data/a study", ["/mnt/data/a study", "/mnt/attempts"]),
        ("/data", ["/mnt/data", "/mnt/attempts"]),
        ("/mnt/data/a study", ["/data/a study", "/mnt/attempts"]),
        ("/data/own/x", []),
        ("/home/x", []),
        ("/database", []),
    ],
)
def test_other_names_of_a_folder_are_found_in_the_list_of_mounts(path: str, others: list[str]) -> None:
    assert aliases(path, MOUNTS) == others
