from __future__ import annotations

from pathlib import Path

from sipbench.cards.chains import chained
from sipbench.cards.load import LoadedCard, load_card
from tests.cards.made import card, collection


def cards(root: Path, **links: str | None) -> list[LoadedCard]:
    documents = [card(task_id=task, input_from=source, crossref_doi=None) for task, source in links.items()]
    return [load_card(file) for file in collection(root, *documents, capsules=False)]


def tasks(order: tuple[LoadedCard, ...]) -> list[str]:
    return [card_.card.task_id for card_ in order]


def test_each_card_comes_after_the_one_it_starts_from(tmp_path: Path) -> None:
    chains = chained(cards(tmp_path, a="b", b="c", c=None))
    assert tasks(chains.order) == ["c", "b", "a"]
    assert chains.before["lakes__a"].card.task_id == "b"
    assert (chains.circles, chains.dangling) == ({}, {})


def test_a_circle_and_all_that_waits_for_it_have_no_place(tmp_path: Path) -> None:
    chains = chained(cards(tmp_path, a="b", b="a", c="b", d=None, e="c"))
    assert tasks(chains.order) == ["d"]
    assert set(chains.circles) == {"lakes__a", "lakes__b", "lakes__c", "lakes__e"}
    assert {circle.count(" -> ") for circle in chains.circles.values()} == {2}


def test_a_card_that_starts_from_itself_is_a_circle(tmp_path: Path) -> None:
    assert set(chained(cards(tmp_path, a="a")).circles) == {"lakes__a"}


def test_a_link_to_nowhere_is_named_and_the_card_keeps_its_place(tmp_path: Path) -> None:
    chains = chained(cards(tmp_path, a="task_000"))
    assert tasks(chains.order) == ["a"]
    assert chains.dangling == {"lakes__a": "task_000"}


def test_links_stay_in_one_paper_of_one_collection(tmp_path: Path) -> None:
    (first,) = collection(tmp_path, card(task_id="a", input_from="b", crossref_doi=None), capsules=False)
    (other,) = collection(tmp_path, card(task_id="b", crossref_doi=None), paper="seas", capsules=False)
    (third,) = collection(tmp_path, card(task_id="b", crossref_doi=None), name="other", capsules=False)
    chains = chained(load_card(file) for file in (first, other, third))
    assert chains.dangling == {"lakes__a": "b"}
