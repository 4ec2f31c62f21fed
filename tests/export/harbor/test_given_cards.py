"""All tasks together: Harbor loads them, and a search of its own finds no finding in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sipbench.cards.load import LoadedCard, load_card
from sipbench.export.driver import Exported, Request, export
from sipbench.export.harbor import HarborFormat
from tests.cards.made import FINDING, card, collection, put
from tests.export.harbor.made import exported, manifest
from tests.export.made import CHECKS, author, check, files, made

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
