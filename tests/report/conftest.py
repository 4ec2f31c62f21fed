from __future__ import annotations

from pathlib import Path

import pytest

from sipbench.report.reading import Study, read_study
from tests.report.studies import Design, make_study


@pytest.fixture(scope="session")
def study_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four arms, three phases, three repeats."""
    return make_study(tmp_path_factory.mktemp("study") / "made")


@pytest.fixture(scope="session")
def study(study_folder: Path) -> Study:
    return read_study(study_folder)


@pytest.fixture(scope="session")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study that lost 40 % of the T1 attempts of its adapted arm."""
    design = Design(lost=0.4, arms=("frozen", "skilled"), phases=("T0", "T1"), name="lossy", seed=11)
    return read_study(make_study(tmp_path_factory.mktemp("lossy") / "lossy", design))
