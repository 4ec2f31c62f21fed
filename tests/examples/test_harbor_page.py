"""The pages about Harbor and its sandbox: their study and their commands, run as they stand."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from sipbench.benchmarks.harbor.benchmark import HarborBenchmark
from sipbench.benchmarks.harbor.tasks import find_tasks
from sipbench.protocol.jsonl import read_records
from sipbench.protocol.vocabulary import Phase, Status
from tests.examples.pages import ROOT, blocks, network, shell, uv
from tests.sandbox.conftest import Place, place

__all__ = ["place"]

PAGE = "harbor.md"
SANDBOX = "sandbox.md"


@pytest.fixture
def here(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run commands in, as somebody who has the repository beside it and no Docker."""
    pytest.importorskip("harbor", reason="this needs the extra 'harbor'")
    pytest.importorskip("dockerfile", reason="this needs the extra 'harbor'")
    monkeypatch.setenv("SIPBENCH_SANDBOX", str(place.store.root))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # Docker, were it there, would be taken
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "somebody")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "somebody@example.com")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.slow
def test_the_way_from_nothing_to_a_table(here: Path) -> None:
    tmp_path = here
    copies, measure, *_, jobs = blocks(PAGE, "sh")
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


@pytest.mark.slow
def test_a_dataset_of_a_registry_on_this_machine_becomes_a_folder_of_tasks(here: Path) -> None:
    _, _, commit, download, _ = blocks(PAGE, "sh")
    (registry,) = blocks(PAGE, "json")
    done = shell(commit, here)
    assert done.returncode == 0, done.stderr
    (here / "registry.json").write_text(registry, encoding="utf-8")
    done = shell(download, here)
    assert done.returncode == 0, done.stderr + done.stdout
    splits = json.loads((here / "splits.json").read_text(encoding="utf-8"))
    names = {"csv-repair-01", "csv-repair-02"}
    assert {task["id"] for split in ("heldout", "replay") for task in splits[split]} == names
    assert {path.name for path in (here / "datasets" / "mine").iterdir()} == names
    # A task is the same task wherever it was brought from.
    digests = [
        {
            task.id: task.digest
            for task in HarborBenchmark(HarborBenchmark.Options(tasks=str(folder)), base=here).tasks()
        }
        for folder in ("datasets/mine", "my-tasks")
    ]
    assert digests[0].items() <= digests[1].items()


@pytest.mark.slow
def test_a_sandbox_can_be_tried_without_a_study(here: Path) -> None:
    (attempt,) = blocks(SANDBOX, "sh")
    done = shell(attempt, here)
    assert done.returncode == 0, done.stderr + done.stdout
    (found,) = here.glob("jobs/try/*/result.json")
    result = json.loads(found.read_text(encoding="utf-8"))
    assert result["verifier_result"]["rewards"] == {"reward": 1.0}


@pytest.mark.parametrize("page", [PAGE, SANDBOX])
def test_what_is_installed_by_the_page_can_be_installed(page: str, tmp_path: Path) -> None:
    """From this folder, since a release may not be there yet, and without touching an environment."""
    install = blocks(page, "sh-network")[0].strip()
    assert install == "pip install 'sipbench[harbor]'"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert "harbor" in extras
    network()
    done = shell(f"'{uv()}' pip install --dry-run --reinstall-package harbor '{ROOT}[harbor]'", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "harbor==" in done.stdout + done.stderr


def test_what_is_downloaded_from_harbors_own_registry_is_a_folder_of_tasks(tmp_path: Path) -> None:
    (download,) = blocks(PAGE, "sh-network")[1:]
    assert re.fullmatch(r"harbor download \S+@\S+ -o \.\n", download)
    network()
    pytest.importorskip("harbor", reason="this needs the extra 'harbor'")
    done = shell(f"HARBOR_TELEMETRY=off {download}", tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    (folder,) = tmp_path.iterdir()
    found, problems = find_tasks(folder)
    assert found
    assert problems == []


@pytest.mark.parametrize("page", [PAGE, SANDBOX])
def test_no_command_stands_where_no_test_runs_it(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    commands = ("pip", "uv", "harbor", "sip", "asb", "git", "make", "python", "docker", "cp", "mkdir")
    assert [
        line for line in outside.splitlines() if re.match(rf"(\t| {{4,}})({'|'.join(commands)}) ", line)
    ] == []
    fences = set(re.findall(r"^```(\S+)$", text, re.MULTILINE))
    assert fences <= {"sh", "sh-network", "yaml", "json"}


def test_the_page_lists_every_option() -> None:
    from sipbench.benchmarks.harbor.options import HarborOptions
    from sipbench.importers.harbor.importer import HarborImportOptions

    text = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    missing = [name for name in HarborOptions.model_fields if f"`{name}`" not in text]
    assert missing == []
    unknown = {"reward_range", "agent_errors", "benchmark_name", "benchmark_version"}
    said = [name for name in HarborImportOptions.model_fields if f"--set {name}=" in text]
    assert set(HarborImportOptions.model_fields) - set(said) == unknown
