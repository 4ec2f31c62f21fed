"""What all tests share: the shared data, how property tests search, and a guard for the tree."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# `default` explores anew each time and knows no deadline, since a busy machine is not a bug. `ci` tries
# the same examples each time: what it finds was broken by the change that it runs on.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))


@pytest.fixture(scope="session")
def shared_data() -> Callable[..., Path]:
    """A function that gives the path of real input, or skips the test where it is not at hand.

    The data are not part of the repository: they stand in ``shared/data`` beside it, or in the folder
    that the environment variable ``SIPBENCH_SHARED_DATA`` names. ``shared_data("tau", "x.json")`` is a
    file there.
    """
    named = os.environ.get("SIPBENCH_SHARED_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"

    def locate(*parts: str) -> Path:
        path = folder.joinpath(*parts)
        if not path.exists():
            where = "SIPBENCH_SHARED_DATA" if named else "../shared/data, or set SIPBENCH_SHARED_DATA"
            pytest.skip(f"no shared data {'/'.join(parts) or '(the folder)'}: looked in {where}")
        return path

    return locate


@pytest.fixture(scope="session", autouse=True)
def _the_tree_is_not_removed() -> Iterator[None]:
    """Refuse to remove a folder that holds the repository: a wrong path must fail, not succeed."""
    original = shutil.rmtree

    def guarded(path: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("dir_fd") is None:
            target = Path(os.fsdecode(path)).resolve()
            if ROOT.is_relative_to(target):
                raise AssertionError(f"a test tried to remove {target}, which holds the repository")
        return original(path, *args, **kwargs)

    patch = pytest.MonkeyPatch()
    patch.setattr(shutil, "rmtree", guarded)
    yield
    patch.undo()
