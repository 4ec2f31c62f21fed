"""The page about Harbor: its study and its commands, run as they stand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from sipbench.protocol.jsonl import read_records
from sipbench.protocol.vocabulary import Phase, Status
from tests.examples.pages import ROOT, blocks, shell
from tests.sandbox.conftest import Place, place

__all__ = ["place"]

PAGE = "harbor.md"


@pytest.mark.slow
def test_the_way_from_nothing_to_a_table(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("harbor", reason="this needs the extra 'harbor'")
    pytest.importorskip("dockerfile", reason="this needs the extra 'harbor'")
    monkeypatch.setenv("SIPBENCH_SANDBOX", str(place.store.root))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # Docker, were it there, would be taken
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    copies, measure, jobs = blocks(PAGE, "sh")
    (study,) = blocks(PAGE, "yaml")
    done = shell(copies, tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "my-study" / "study.yaml").write_text(study, encoding="utf-8")
    done = shell(measure, tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "FG" in done.stdout
    records = list(read_records(tmp_path / "my-study" / "out" / "runs.jsonl"))
    assert Counter((record.arm, record.phase) for record in records) == {
        (arm, phase): 16 for arm in ("frozen", "skills") for phase in (Phase.T0, Phase.T1)
    }
    assert {record.status for record in records} == {Status.GRADED}
    summary = json.loads((tmp_path / "my-study" / "out" / "summary.json").read_text(encoding="utf-8"))
    gains = {row["arm"]: row["metrics"]["fg"]["value"] for row in summary["rows"]}
    assert gains["skills"] > gains["frozen"]
    done = shell(jobs, tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    idle = list(read_records(tmp_path / "runs.jsonl"))
    assert [(record.status, record.score, record.attempt_index) for record in idle] == [
        (Status.GRADED, 0.0, 0),
        (Status.GRADED, 0.0, 1),
    ]


def test_the_page_lists_every_option() -> None:
    from sipbench.benchmarks.harbor.options import HarborOptions
    from sipbench.importers.harbor.importer import HarborImportOptions

    text = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    missing = [name for name in HarborOptions.model_fields if f"`{name}`" not in text]
    assert missing == []
    unknown = {"reward_range", "agent_errors", "benchmark_name", "benchmark_version"}
    said = [name for name in HarborImportOptions.model_fields if f"--set {name}=" in text]
    assert set(HarborImportOptions.model_fields) - set(said) == unknown
