"""Studies for tests: a benchmark and an adaptation that are installed like anybody's, beside the package."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.study.trial import SIP, Trial, environment

PLUGINS = Path(__file__).parent / "plugins"
ENTRY_POINTS = """\
[sipbench.benchmarks]
trial = sip_trial:TrialBenchmark
trial-async = sip_trial:AsyncTrialBenchmark

[sipbench.adaptations]
trial-learner = sip_trial:TrialLearner
"""


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The two folders that make the plug-ins importable and findable."""
    folder = tmp_path_factory.mktemp("site")
    info = folder / "sip_trial-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sip-trial\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    return str(PLUGINS), str(folder)


@pytest.fixture
def plugins(installed: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the plug-ins visible in this process, and so in its workers."""
    for folder in installed:
        monkeypatch.syspath_prepend(folder)


@pytest.fixture
def trial(tmp_path: Path, plugins: None) -> Trial:
    """A study with one frozen arm, unless the test writes another."""
    return Trial(tmp_path).write()


@pytest.fixture
def sip(installed: tuple[str, str], tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs ``sip`` as a process of its own, in an empty folder."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*SIP, *arguments],
            cwd=tmp_path,
            env=environment(installed),
            capture_output=True,
            text=True,
            check=False,
            **options,
        )

    return run
