"""The same, started by a user without any privilege."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.sandbox.conftest import Place, why_not
from tests.sandbox.nobody import ROOT, UID, run_as_nobody, store_of_nobody

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def can_become_nobody() -> None:
    if os.geteuid() != 0:
        pytest.skip("sandbox: these tests start as root and become nobody; run all others as yourself")
    if why_not() or not all(map(shutil.which, ("unshare", "setpriv"))):
        pytest.skip(f"sandbox: {why_not() or 'unshare and setpriv are needed'}")
    with store_of_nobody() as store:
        done = run_as_nobody("import os; print(os.getuid(), os.geteuid())")
        assert store.stat().st_uid == UID
    if done.stdout.split() != [str(UID), str(UID)]:
        pytest.skip(f"sandbox: cannot run as an unprivileged user here: {done.stderr.strip()[-200:]}")


@pytest.mark.slow
@pytest.mark.parametrize("tests", ["attacks", "test_box.py", "test_layers.py"])
def test_every_test_that_needs_no_root_passes_without_it(place: Place, tests: str) -> None:
    code = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    with store_of_nobody() as store:
        options = ["-q", "-p", "no:cacheprovider", f"--basetemp={store}/tmp", f"--rootdir={ROOT}"]
        done = run_as_nobody(code, str(HERE / tests), *options, timeout=580)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def test_the_box_runs_as_the_caller_and_says_which_fallback_holds(place: Place) -> None:
    code = """
import asyncio, json, sys
from tests.sandbox.conftest import *
store = Store.open(Path(sys.argv[1])); this = machine(store.root)
place = Place(store, this, find(), prepare(store, this))
async def main():
    async with place.box(Limits(cpus=1, memory_mb=200)) as box:
        me = (await box.exec(["cat", "/proc/self/uid_map"])).text()[0].split()
        other = await box.exec(["true"], user="nobody")
        print(json.dumps([this.root, me, vars(box.held), other.code, other.error_line()]))
asyncio.run(main())
"""
    with store_of_nobody() as store:
        done = run_as_nobody(code, str(store))
    assert done.returncode == 0, done.stderr
    root, mapped, held, code_of_other, line = json.loads(done.stdout)
    assert root is False
    assert mapped[2] == "1"
    assert held["memory"] == "rlimit per process and watchdog over the box"
    assert held["processes"] == "rlimit"
    assert code_of_other == 126
    assert "unprivileged sandbox has one user" in line


def test_packages_of_the_distribution_and_other_users_are_refused_before_anything_is_built(
    place: Place, tmp_path: Path
) -> None:
    code = """
import sys
from tests.sandbox.conftest import *
from sipbench.sandbox.dockerfile import parse
from sipbench.sandbox.steps import check_steps
store = Store.open(Path(sys.argv[1])); this = machine(store.root)
base = prepare(store, this)
for text in ("RUN apt-get update && apt-get install -y figlet", "USER daemon", "RUN echo apt-get"):
    path = Path(sys.argv[1], "Dockerfile"); path.write_text("FROM a\\n" + text + "\\n")
    try:
        check_steps(parse(path), base, this); print("fine")
    except EngineError as error:
        print(error)
"""
    with store_of_nobody() as store:
        done = run_as_nobody(code, str(store))
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()
    assert "Dockerfile:2: RUN: apt-get needs root" in first
    assert "user 'daemon' needs a sandbox started by root" in second
    assert third == "fine"
