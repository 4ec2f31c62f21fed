"""A disk that is full at any write: one line says so, and with room the same command goes on."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.study.trial import LEARNER, SIP, Trial, environment

# In a mount namespace of its own, so that nothing is left behind whatever happens.
SCRIPT = """\
mount -t tmpfs -o size={size}k none {disk} || exit 77
{sip} >/dev/null; code=$?
find {disk} -name '*.partial' >&2
mount -o remount,size=50m {disk}
# What could not be made without room is made again where tries are allowed.
{sip} --retries 1 >/dev/null 2>&1 || exit 78
{validate} >/dev/null || exit 79
cp {disk}/out/runs.jsonl {copy}
exit $code
"""
# From the first file to the last one; what fits into how much is not promised, only how it ends.
SIZES = [4, 12, 28, 48, 80, 120]


@pytest.fixture(scope="module")
def namespaces() -> None:
    """Skips where this user cannot mount."""
    probe = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs rights that this user does not have")


@pytest.mark.parametrize("size", SIZES)
def test_it_ends_with_one_line_and_goes_on(
    tmp_path: Path, installed: tuple[str, str], namespaces: None, size: int
) -> None:
    trial = Trial(tmp_path).write(arms={"learner": LEARNER}, retries=0)
    disk, copy = tmp_path / "disk", tmp_path / "copy.jsonl"
    disk.mkdir()
    start = shlex.join(SIP)
    script = SCRIPT.format(
        size=size,
        disk=disk,
        copy=copy,
        sip=f"{start} run {trial.file} --out {disk}/out",
        validate=f"{start} validate {disk}/out",
    )
    variables = {**environment(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(
        ["unshare", "-m", "bash", "-c", script],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode in (0, 1, 2), ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("No space left on device") <= 2
    if ended.returncode == 2:
        assert "cannot be written: No space left on device" in ended.stderr
    if size == SIZES[0]:
        assert ended.returncode == 2, "nothing fits"
    assert len(copy.read_bytes().splitlines()) == len(set(copy.read_bytes().splitlines())) > 0
    assert os.listdir(disk) == [], "the mount was the script's own"  # noqa: PTH208
