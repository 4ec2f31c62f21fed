"""``authoring/``, ``solution/``, the to-do list and the stricter conditions: for the author alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from sipbench.cards.load import load_card
from sipbench.export.harbor.science import CRITERIA
from tests.cards.made import FINDING, put
from tests.export.harbor.made import exported, todo
from tests.export.made import CHECKS, author, files, made

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
