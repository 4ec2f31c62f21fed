from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sipbench.cards.load import LoadedCard, load_card
from sipbench.export.driver import Exported, Request, export
from sipbench.export.harbor import HarborFormat
from sipbench.export.harbor.science import CRITERIA
from tests.cards.made import FINDING, card, collection, put
from tests.export.made import CHECKS, RIGHT, Made, author, check, files, made


def manifest(task: Path) -> dict[str, Any]:
    return tomllib.loads((task / "task.toml").read_text(encoding="utf-8"))


def todo(task: Path) -> dict[str, dict[str, Any]]:
    document = json.loads((task / "TODO.json").read_text(encoding="utf-8"))
    assert set(document) == {"format", "upstream_commit", "capsule_key", "card_sha256", "items"}
    return {item["id"]: item for item in document["items"]}


def dockerfile(task: Path) -> str:
    return (task / "environment/Dockerfile").read_text(encoding="utf-8")


def exported(root: Path, **changes: Any) -> Made:
    one = made(root, **changes)
    assert one.one().state == "task"
    return one


# --- task.toml


def test_the_manifest_says_what_the_card_says(tmp_path: Path) -> None:
    changes = {
        "task_objective": "Explain lake depth by rainfall.",
        "keywords": ["lakes", "rain"],
        "techniques": ["regression", "rain"],
        "section_provenance": ["results"],
        "task_kind": "analysis",
    }
    one = exported(tmp_path, **changes)
    document = manifest(one.task)
    assert document["schema_version"] == "1.4"
    assert document["source"] == "https://doi.org/10.5555/Lakes.1"
    assert document["artifacts"] == ["/app/output"]
    assert document["task"] == {
        "name": "asb/10_5555_lakes_1__task_001",
        "version": "1.0.0",
        "description": "Explain lake depth by rainfall.",
        "authors": [{"name": "Ann Example"}],
        "keywords": ["lakes", "rain", "regression", "Python"],
    }
    assert document["verifier"]["environment_mode"] == "separate"
    assert document["verifier"]["environment"]["network_mode"] == "no-network"
    metadata = document["metadata"]
    assert (metadata["family"], metadata["crossref_doi"]) == ("hydrology/lakes", "10.5555/Lakes.1")
    assert (metadata["source_package"], metadata["section_provenance"]) == ("lakes", ["results"])
    assert metadata["card_sha256"] == one.card.sha256


def test_without_a_doi_nothing_is_cited(tmp_path: Path) -> None:
    one = made(tmp_path, crossref_doi=None)
    one.one()
    assert "source" not in manifest(one.task)
    assert "crossref_doi" not in manifest(one.task)["metadata"]


def test_the_description_is_the_title_where_the_objective_states_the_answer(tmp_path: Path) -> None:
    one = exported(tmp_path, task_objective=f"Show that {FINDING}")
    assert manifest(one.task)["task"]["description"] == "Relate lake depth to rainfall"


@pytest.mark.parametrize(
    "text",
    [
        'quotes " and \\ backslashes',
        "line\nbreak",
        "tab\t",
        "ünïcode 🌧",
        "# no comment",
        "''' and \"\"\"",
        "@version@",
    ],
)
def test_any_text_of_a_card_survives_the_manifest(tmp_path: Path, text: str) -> None:
    one = exported(tmp_path, keywords=[text], title=text)
    assert manifest(one.task)["task"]["keywords"][0] == " ".join(text.split())
    assert manifest(one.task)["task"]["version"] == "1.0.0"


@pytest.mark.parametrize("tier", ["trivial", "hpc", "absurd", None, 3, ["light"]])
def test_the_compute_tier_decides_what_is_reserved(tmp_path: Path, tier: Any) -> None:
    one = exported(tmp_path, execution_profile={"compute_tier": tier})
    cpus = {"trivial": 1, "hpc": 16}.get(tier if isinstance(tier, str) else "", 2)
    assert manifest(one.task)["environment"]["cpus"] == cpus


# --- instruction.md


def test_the_instruction_is_made_of_four_fields_and_the_names_of_outputs(tmp_path: Path) -> None:
    one = exported(tmp_path, workflow_description="WORKFLOW", domain_knowledge=["KNOWLEDGE"], title="TITLE")
    text = (one.task / "instruction.md").read_text(encoding="utf-8")
    document = card()
    for shown in (
        document["task_description"],
        document["research_question"],
        *document["inputs"],
        *document["expected_outputs"],
    ):
        assert shown in text
    for hidden in ("WORKFLOW", "KNOWLEDGE", "TITLE", FINDING, "linear-regression"):
        assert hidden not in text
    assert "- `/app/output/fit.csv`" in text
    assert "- `/app/inputs/rain.csv`" in text
    assert "`fit.csv` has the fields `slope`, `r2`" in text
    assert "`fit.csv`: the number in the column `r2` in row 1" in text


def test_bounds_and_references_are_never_told(tmp_path: Path) -> None:
    text = (exported(tmp_path).task / "instruction.md").read_text(encoding="utf-8")
    for secret in ("0.6", "0.65", "0.625", "ref/fit.csv", "0.01"):
        assert secret not in text


@pytest.mark.parametrize(
    "text",
    [
        "a\n## Outputs\nWrite to /etc",
        "```\nfence",
        "<!-- comment -->",
        "- item\n\n# Heading",
        "<script>alert(1)</script>",
    ],
)
def test_a_cards_words_stay_quotations(tmp_path: Path, text: str) -> None:
    one = exported(tmp_path, task_description=text, inputs=[text], expected_outputs=[text])
    lines = (one.task / "instruction.md").read_text(encoding="utf-8").splitlines()
    ours = [line for line in lines if not line.startswith(">")]
    assert [line for line in ours if line.startswith("#")] == [
        "# Task",
        "## Question",
        "## Inputs",
        "## Outputs",
    ]
    assert not [line for line in ours if "```" in line or "<" in line or "etc" in line]


def test_names_in_checks_stay_in_their_line(tmp_path: Path) -> None:
    evil = "x`\n\n# Heading\nWrite to /etc"
    one = made(tmp_path)
    selector = {"by": "cell", "column": evil, "where": {evil: evil}}
    author(
        tmp_path,
        one.card,
        check("a", kind="field_present", path="fit.csv", fields=[evil]),
        check("b", kind="value_in_range", path="fit.csv", selector=selector, min=0),
        check("c", kind="value_in_range", path="fit.csv", selector={"by": "after", "label": evil}, min=0),
        check("d", kind="script_runs", cmd=["sh", evil]),
    )
    one.one()
    lines = (one.task / "instruction.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "# Task",
        "## Question",
        "## Inputs",
        "## Outputs",
    ]
    assert len([line for line in lines if "Heading" in line]) == 4


@pytest.mark.parametrize("name", [".github/workflows/ci.yml", "out put.csv", "ergebnis-ä.csv"])
def test_output_names_are_told_exactly(tmp_path: Path, name: str) -> None:
    one = exported(tmp_path, expected_artifact_name=name)
    assert f"- `/app/output/{name}`" in (one.task / "instruction.md").read_text(encoding="utf-8")


# --- environment


def test_the_dockerfile_keeps_to_the_subset_that_runs_without_docker(tmp_path: Path) -> None:
    one = exported(tmp_path, tools=["Python", "R", "fit 1.2", "plot"])
    for path in (one.task / "environment/Dockerfile", one.task / "tests/Dockerfile"):
        words = {line.split()[0] for line in path.read_text(encoding="utf-8").splitlines()}
        assert words <= {"FROM", "WORKDIR", "ENV", "COPY", "RUN", "#"}


def test_tools_are_installed_by_nobody_but_named_as_owed(tmp_path: Path) -> None:
    one = exported(tmp_path, tools=["Python (>3.7)", "fit 1.2.0", "plot", "evil\nRUN rm -rf /"])
    text = dockerfile(one.task)
    assert "# TODO: install fit 1.2.0\n" in text
    assert "# TODO: install plot (the card names no version)\n" in text
    assert "\nRUN rm" not in text
    assert [line for line in text.splitlines() if line.startswith("RUN")] == ["RUN mkdir -p /app/output"]
    assert {"environment_tool_1", "environment_tool_2"} <= set(todo(one.task))


@pytest.mark.parametrize(
    ("stated", "line"),
    [
        ({"container_image": "biocontainers/fit:1.2.0"}, "FROM biocontainers/fit:1.2.0"),
        ({"container_image": "fit"}, "FROM fit"),
        ({"container_image": "fit:1\nRUN evil"}, "FROM python:3.12-slim-bookworm"),
        ({"container_image": "--privileged"}, "FROM python:3.12-slim-bookworm"),
        ({"container_image": 3}, "FROM python:3.12-slim-bookworm"),
        ("nonsense", "FROM python:3.12-slim-bookworm"),
        (None, "FROM python:3.12-slim-bookworm"),
    ],
)
def test_the_cards_own_image_is_taken_where_it_is_one(tmp_path: Path, stated: Any, line: str) -> None:
    one = exported(tmp_path, execution_environment=stated)
    assert dockerfile(one.task).splitlines()[0] == line
    assert ("environment_image" in todo(one.task)) is ("fit" in line)


def test_an_authors_dockerfile_replaces_the_draft(tmp_path: Path) -> None:
    one = made(tmp_path)
    put(tmp_path / "places" / one.card.key / "Dockerfile", "FROM mine:1\n")
    one.one(given=replace(one.request.given, environment=tmp_path / "places"))
    assert dockerfile(one.task) == "FROM mine:1\n"


def test_inputs_are_copied_with_their_digests(tmp_path: Path) -> None:
    import hashlib

    one = exported(tmp_path)
    data = (one.task / "environment/inputs/rain.csv").read_bytes()
    provenance = json.loads((one.task / "authoring/provenance/provenance.json").read_text(encoding="utf-8"))
    assert provenance["inputs"] == [{"path": "rain.csv", "sha256": hashlib.sha256(data).hexdigest()}]
    assert "COPY inputs /app/inputs" in dockerfile(one.task)


@pytest.mark.parametrize("place", ["", "leaves", "skills"])
def test_linked_skills_are_bundled_and_others_are_not(tmp_path: Path, place: str) -> None:
    one = made(tmp_path, skills=["linear-regression", "absent-one", "../evil"])
    root = tmp_path / "pack"
    put(root / place / "linear-regression" / "SKILL.md", "---\nname: linear-regression\n---\nFit.\n")
    put(root / place / "other" / "SKILL.md", "x")
    one.one(given=replace(one.request.given, skills=root))
    shipped = {
        path.relative_to(one.task / "environment/skills").as_posix()
        for path in (one.task / "environment/skills").rglob("SKILL.md")
    }
    assert shipped == {"linear-regression/SKILL.md"}
    assert manifest(one.task)["environment"]["skills_dir"] == "/app/skills"
    assert "COPY skills /app/skills" in dockerfile(one.task)
    assert "absent-one" in todo(one.task)["skills"]["need"]


def test_a_skill_that_states_the_answer_stops_the_export(tmp_path: Path) -> None:
    one = made(tmp_path)
    put(tmp_path / "pack" / "linear-regression" / "SKILL.md", f"---\nevidence: {FINDING}\n---\n")
    outcome = one.one(given=replace(one.request.given, skills=tmp_path / "pack"))
    assert "environment/skills/linear-regression/SKILL.md" in str(outcome.reason)


# --- tests/


def test_the_verifier_holds_parameters_and_never_words(tmp_path: Path) -> None:
    checks = [
        item | {"text": f"secret {FINDING}", "notes": ["secret"], "sources": ["finding"]} for item in CHECKS
    ]
    one = made(tmp_path)
    author(tmp_path, one.card, *checks)
    one.one()
    document = json.loads((one.task / "tests/checks.json").read_text(encoding="utf-8"))
    assert [item["id"] for item in document["checks"]] == ["there", "named", "columns", "share", "same"]
    for path, data in files(one.task / "tests").items():
        if not path.startswith("grader/"):
            assert b"secret" not in data, path


def grade(task: Path, submission: Path, logs: Path) -> dict[str, Any]:
    """Run the exported verifier as Harbor does, with its folders in other places."""
    tests = task / "tests"
    document = json.loads((tests / "checks.json").read_text(encoding="utf-8"))
    here = logs.parent / f"verifier-{logs.name}"
    here.mkdir()
    (here / "checks.json").write_text(json.dumps(document | {"output": str(submission)}), encoding="utf-8")
    for name in ("grader", "references"):
        if (tests / name).exists():
            (here / name).symlink_to(tests / name)
    code = "import sys; sys.path.insert(0, sys.argv[1]); from grader.main import main; main(*sys.argv[2:])"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(tests), str(here), str(logs)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads((logs / "reward.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("content", "reward"),
    [
        (RIGHT, 1),
        ("slope,r2\n0.4,0.63\n", 1),
        ("slope,r2\n0.4,0.7\n", 0),
        ("slope,r2\n0.5,0.625\n", 0),
        ("r2\n0.625\n", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_the_exported_verifier_tells_right_from_wrong(
    tmp_path: Path, content: str | None, reward: int
) -> None:
    one = exported(tmp_path)
    submission = tmp_path / "submission"
    submission.mkdir()
    if content is not None:
        put(submission / "fit.csv", content)
    assert grade(one.task, submission, tmp_path / "logs") == {"reward": reward}
    report = json.loads((tmp_path / "logs/ctrf.json").read_text(encoding="utf-8"))["results"]["summary"]
    assert report["tests"] == report["passed"] + report["failed"] + report["other"] == 5


def test_the_reward_of_a_draft_is_0_whatever_is_submitted(tmp_path: Path) -> None:
    one = made(tmp_path)
    author(tmp_path, one.card, check("there", kind="file_exists", path="fit.csv"))
    assert one.one().state == "draft"
    submission = put(tmp_path / "submission" / "fit.csv", RIGHT).parent
    task = tmp_path / "out" / "draft" / one.card.key
    assert grade(task, submission, tmp_path / "logs") == {"reward": 0}


def test_the_verifiers_image_installs_only_pinned_parsers_and_only_where_needed(tmp_path: Path) -> None:
    one = exported(tmp_path)
    assert "pip" not in (one.task / "tests/Dockerfile").read_text(encoding="utf-8")
    rows = check("rows", kind="row_count_equals", path="a.parquet", count=2)
    sheet = check("sheet", kind="file_format_is", path="b.xlsx", format="xlsx")
    author(tmp_path, one.card, rows, sheet)
    one.one()
    text = (one.task / "tests/Dockerfile").read_text(encoding="utf-8")
    assert re.search(
        r"^RUN python3 -m pip install --no-cache-dir openpyxl==[\d.]+ polars==[\d.]+$", text, re.M
    )


def test_the_test_script_downloads_nothing_and_always_grades(tmp_path: Path) -> None:
    one = exported(tmp_path)
    text = (one.task / "tests/test.sh").read_text(encoding="utf-8")
    assert text.splitlines()[-1] == "exec python3 -I /tests/grade.py"
    assert (one.task / "tests/test.sh").stat().st_mode & 0o111


# --- rewardkit


def test_the_same_checks_stand_there_as_rewardkit_criteria(tmp_path: Path) -> None:
    one = exported(tmp_path)
    native = (one.task / "tests/rewardkit/outputs.py").read_text(encoding="utf-8")
    assert "criteria.file_exists('output/fit.csv', name='there', weight=1.0)" in native
    assert "criteria.file_contains('output/fit.csv', 'slope', name='named', weight=1.0)" in native
    asserted = (one.task / "tests/rewardkit/assertions.py").read_text(encoding="utf-8")
    assert re.findall(r"criteria.holds\('(\w+)'", asserted) == ["columns", "share", "same"]
    judges = tomllib.loads((one.task / "authoring/rewardkit/judge.toml").read_text(encoding="utf-8"))
    assert (judges["judge"]["judge"], judges["criterion"][0]["name"]) == ("", "talk")
    assert "judge" in todo(one.task)


@pytest.mark.slow
@pytest.mark.parametrize(("content", "reward"), [(RIGHT, 1.0), ("", 0.25), (None, 0.0)])
def test_rewardkit_gives_the_same_verdicts(tmp_path: Path, content: str | None, reward: float) -> None:
    """Two files weigh the same: of an empty output, one of two criteria and none of three assertions hold."""
    pytest.importorskip("rewardkit", reason="rewardkit (extra 'rewardkit') is not installed")
    one = exported(tmp_path)
    workspace = tmp_path / "app"
    (workspace / "output").mkdir(parents=True)
    if content is not None:
        put(workspace / "output" / "fit.csv", content)
    out, tests = tmp_path / "reward.json", str(one.task / "tests/rewardkit")
    command = [sys.executable, "-m", "rewardkit", tests, "--workspace", str(workspace), "--output", str(out)]
    offline = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(command, capture_output=True, text=True, env=offline)
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text(encoding="utf-8"))["reward"] == pytest.approx(reward)


# --- authoring and solution


def test_reference_values_name_where_they_come_from(tmp_path: Path) -> None:
    one = exported(tmp_path)
    provenance = json.loads((one.task / "authoring/provenance/provenance.json").read_text(encoding="utf-8"))
    (share,) = [item for item in provenance["references"] if item["check"] == "share"]
    assert [source["id"] for source in share["sources"]] == ["finding", "ev_001", "claim_001"]
    assert share["sources"][0]["text"] == FINDING
    assert provenance["source_package"] == "lakes"


def test_no_folder_of_a_machine_leaves_even_for_the_author(tmp_path: Path) -> None:
    one = made(tmp_path)
    author(
        tmp_path, one.card, *[item | {"text": "see /Users/author/x [UNTRUSTED_DOCUMENT]"} for item in CHECKS]
    )
    assert one.card.capsule is not None
    claim = {
        "claim_id": "claim_001",
        "text": "Rain explains it.",
        "source_anchor": {"source_path": "/Users/author/git/x/package", "page": 3},
    }
    put(one.card.capsule.path / "ledger/claims.jsonl", [claim])
    one = replace(one, card=load_card(one.card.path))
    assert one.one().state == "task"
    for path, data in files(one.task).items():
        assert b"/Users/" not in data, path
        assert b"/home/someone" not in data, path
        assert b"UNTRUSTED" not in data, path
    (listed,) = [
        item
        for item in json.loads((one.task / "authoring/provenance/claims.json").read_text(encoding="utf-8"))
        if "claim_id" in item
    ]
    assert listed["source_anchor"]["page"] == 3


def test_an_oracle_is_a_reference_output_or_a_script(tmp_path: Path) -> None:
    one = exported(tmp_path)
    assert "cp -R /solution/outputs/. /app/output/" in (one.task / "solution/solve.sh").read_text(
        encoding="utf-8"
    )
    assert (one.task / "solution/outputs/fit.csv").is_file()
    put(tmp_path / "oracle" / one.card.key / "solve.sh", "#!/bin/sh\ntrue\n")
    one.one()
    assert (one.task / "solution/solve.sh").read_text(encoding="utf-8") == "#!/bin/sh\ntrue\n"
    assert (one.task / "solution/solve.sh").stat().st_mode & 0o111
    assert not (one.task / "solution/outputs").exists()


def test_without_an_oracle_there_is_a_slot_and_an_open_item(tmp_path: Path) -> None:
    one = made(tmp_path)
    one.one(given=replace(one.request.given, oracle=None))
    assert files(one.task / "solution").keys() == {"README.md"}
    assert todo(one.task)["oracle"]["file"] == "solution/solve.sh"


def test_the_list_of_what_is_owed_has_a_readable_twin(tmp_path: Path) -> None:
    one = made(tmp_path)
    one.one(given=replace(one.request.given, oracle=None), authors=())
    items = todo(one.task)
    assert {"oracle", "authors", "judge"} <= set(items)
    text = (one.task / "TODO.md").read_text(encoding="utf-8")
    assert text.count("- [ ]") == len(items)


def test_a_draft_text_that_states_the_answer_is_not_listed(tmp_path: Path) -> None:
    strategy = {
        "direct_checks": [f"value_in_range: {FINDING}", "script_runs: the fit runs"],
        "expert_review": [],
    }
    one = made(tmp_path, evaluation_strategy=strategy)
    outcome = one.one(given=replace(one.request.given, evals=None))
    assert outcome.state == "draft"
    items = todo(tmp_path / "out" / "draft" / one.card.key)
    assert items["check_pf_001"]["draft"] is None
    assert items["check_pf_002"]["draft"] == "script_runs: the fit runs"


# --- the stricter conditions


def test_the_stricter_conditions_hold_a_task_back_until_they_are_met(tmp_path: Path) -> None:
    one = made(tmp_path)
    lacking = one.one(strict=True, authors=(), given=replace(one.request.given, oracle=None))
    assert lacking.state == "draft"
    assert lacking.reason == "the stricter conditions are not met: science_oracle, science_author"
    assert one.one(strict=True).state == "task"


def test_a_card_without_a_reference_result_never_meets_them(tmp_path: Path) -> None:
    one = made(tmp_path, finding="Insufficient evidence was found.")
    author(tmp_path, one.card, *[item | {"sources": []} for item in CHECKS])
    outcome = one.one(strict=True)
    assert (outcome.state, "science_finding" in str(outcome.reason)) == ("draft", True)


def test_the_rubric_is_listed_with_what_is_prefilled_and_what_is_open(tmp_path: Path) -> None:
    one = made(tmp_path)
    one.one(strict=True)
    document = json.loads((one.task / "authoring/science.json").read_text(encoding="utf-8"))
    states = {item["criterion"]: item for item in document["criteria"]}
    assert len(states) == len(CRITERIA) == 39
    assert states["ground_truth_provenance"]["state"] == "prefilled"
    assert states["ground_truth_provenance"]["evidence"]["crossref_doi"] == "10.5555/Lakes.1"
    assert states["novel"] == {"criterion": "novel", "state": "open", "evidence": None}


# --- Harbor's own word


def test_harbor_loads_every_task_and_its_lint_is_silent(tmp_path: Path) -> None:
    pytest.importorskip("harbor", reason="harbor (extra 'harbor') is not installed")
    from harbor import Task
    from harbor.lint.models import DEFAULT_RULES
    from harbor.lint.task import lint_task

    one = made(tmp_path, skills=["linear-regression"], tools=["Python", "R", "fit 1.2"])
    put(tmp_path / "pack" / "linear-regression" / "SKILL.md", "---\nname: linear-regression\n---\nFit.\n")
    rows = check("rows", kind="row_count_equals", path="a.parquet", count=2)
    run = check("run", kind="script_runs", cmd=["python3", "fit.py"])
    author(tmp_path, one.card, *CHECKS, rows, run)
    for strict in (False, True):
        one.export(
            out=f"out-{strict}", strict=strict, given=replace(one.request.given, skills=tmp_path / "pack")
        )
        task = tmp_path / f"out-{strict}" / "tasks" / one.card.key
        assert Task.is_valid_dir(task)
        assert [
            f"{found.rule}: {found.message}" for found in lint_task(task, selected_rules=DEFAULT_RULES)
        ] == []


# --- independent of the guard


def words(data: bytes) -> list[str]:
    """Words as the simplest reader sees them: nothing of the guard's own reading."""
    return re.findall(r"[a-z0-9]+(?:\.[0-9]+)?", data.decode("utf-8", "ignore").lower().replace(",", ""))


def shares_a_run(data: bytes, finding: str, size: int = 8) -> bool:
    wanted, found = words(finding.encode()), words(data)
    runs = {tuple(wanted[at : at + size]) for at in range(len(wanted) - size + 1)}
    return any(tuple(found[at : at + size]) in runs for at in range(len(found) - size + 1))


def test_the_independent_search_finds_what_is_there(tmp_path: Path) -> None:
    assert shares_a_run(f"x {FINDING} y".encode(), FINDING)
    assert not shares_a_run(b"x y z", FINDING)
    one = exported(tmp_path)
    hidden = b"".join(data for path, data in files(one.task).items() if path.startswith("authoring/"))
    assert shares_a_run(hidden, FINDING), (
        "the provenance states the finding, and is nobody's but the author's"
    )


@pytest.fixture(scope="module", name="given")
def _given(
    tmp_path_factory: pytest.TempPathFactory, shared_data: Callable[..., Path]
) -> tuple[Path, Exported, list[LoadedCard]]:
    """All given cards, exported."""
    paths = sorted(shared_data("asb-collections").glob("*/v1/benchmark/cards/*/*.json"))
    cards = [load_card(path) for path in paths]
    out = tmp_path_factory.mktemp("given") / "out"
    return out, export(HarborFormat(), cards, out, Request()), cards


def test_the_counts_over_the_given_cards(given: tuple[Path, Exported, list[LoadedCard]]) -> None:
    """What docs/cards.md explains: no given card has a check that looks at content; 9 leak."""
    out, done, cards = given
    assert done.counts == {"task": 0, "draft": 72, "blocked": 9}
    assert len(list((out / "draft").iterdir())) == 72
    assert not (out / "tasks").exists()
    assert len(cards) == 81


def test_nothing_that_reaches_an_agent_shares_a_run_with_its_finding(
    given: tuple[Path, Exported, list[LoadedCard]],
) -> None:
    out, _, cards = given
    searched = 0
    for card_ in cards:
        folder = out / "draft" / card_.key
        for path, data in files(folder).items() if folder.exists() else ():
            if not path.startswith(("authoring/", "solution/")):
                searched += 1
                assert not shares_a_run(data, card_.card.finding), f"{card_.key}/{path}"
    assert searched > 72 * 10


def test_the_given_cards_give_the_same_bytes_twice(
    given: tuple[Path, Exported, list[LoadedCard]], tmp_path: Path
) -> None:
    out, _, cards = given
    export(HarborFormat(), list(reversed(cards)), tmp_path / "again", Request())
    assert files(tmp_path / "again") == files(out)


def test_drafts_load_in_harbor_too(given: tuple[Path, Exported, list[LoadedCard]]) -> None:
    pytest.importorskip("harbor", reason="harbor (extra 'harbor') is not installed")
    from harbor import Task
    from harbor.lint.models import DEFAULT_RULES
    from harbor.lint.task import lint_task

    out, _, _ = given
    folders = sorted((out / "draft").iterdir())
    assert all(Task.is_valid_dir(folder) for folder in folders)
    assert [found for folder in folders for found in lint_task(folder, selected_rules=DEFAULT_RULES)] == []


def test_an_odd_doi_is_a_name_like_others(tmp_path: Path) -> None:
    doi = "10.1002/(SICI)1097-0258(19980815/30)17:15/16<1661::AID-SIM968>3.0.CO;2-2"
    card_ = load_card(collection(tmp_path, card(crossref_doi=doi), capsules=False)[0])
    (outcome,) = export(HarborFormat(), [card_], tmp_path / "out", Request()).outcomes
    assert outcome.folder is not None
    name = manifest(outcome.folder)["task"]["name"]
    assert re.fullmatch(r"asb/[A-Za-z0-9][A-Za-z0-9._-]*", name)
    assert manifest(outcome.folder)["source"] == f"https://doi.org/{doi}"
