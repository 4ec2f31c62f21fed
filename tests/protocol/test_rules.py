from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.errors import ConfigError, SplitError
from sipbench.protocol.manifest import Preregistered, SplitManifest, TaskEntry, replay_list_digest
from sipbench.protocol.rules import check_manifest, check_replay_attempted, enforce
from sipbench.protocol.versions import SPLITS_VERSION


def listed(tasks: Sequence[TaskEntry]) -> Preregistered:
    return Preregistered(list_digest=replay_list_digest(tasks), declared_at="2026-01-01T00:00:00Z")


def manifest(**splits: Any) -> SplitManifest:
    splits.setdefault("replay_selection", listed(splits.get("replay", [])))
    return SplitManifest.model_validate(
        {"schema_version": SPLITS_VERSION, "benchmark_name": "made", **splits}
    )


def task(name: str, family: str | None = None, concept: str | None = None) -> TaskEntry:
    return TaskEntry(id=name, family=family, concept=concept)


def broken(splits: SplitManifest) -> dict[str, tuple[str, ...]]:
    return {violation.rule: violation.tasks for violation in check_manifest(splits)}


def test_clean_splits_break_nothing() -> None:
    splits = manifest(
        replay=[task("r", "F1")],
        adapt=[task("a", "F2", "C")],
        heldout=[task("h", "F3", "C")],
        drift=[task("d", "F3")],
        drift_changes=["evidence"],
    )
    assert check_manifest(splits) == []


@pytest.mark.parametrize(
    "pair", [("replay", "adapt"), ("adapt", "heldout"), ("heldout", "drift"), ("adapt_t2", "replay")]
)
def test_no_id_stands_in_two_splits(pair: tuple[str, str]) -> None:
    splits = manifest(**{name: [task("same"), task(name)] for name in pair}, drift_changes=["policy"])
    assert broken(splits) == {"disjoint-ids": ("same",)}


def test_no_id_stands_twice_in_one_split() -> None:
    assert broken(manifest(heldout=[task("h"), task("h")])) == {"disjoint-ids": ("h",)}


def test_adapt_and_heldout_share_no_family_but_may_share_a_concept() -> None:
    splits = manifest(adapt=[task("a", "F", "C")], heldout=[task("h1", "F"), task("h2", "G", "C")])
    assert broken(splits) == {"disjoint-families": ("h1",)}


def test_the_second_adaptation_counts_as_adapt() -> None:
    splits = manifest(adapt_t2=[task("a", "F")], heldout=[task("h", "F")])
    assert broken(splits) == {"disjoint-families": ("h",)}


def test_tasks_without_a_family_share_none() -> None:
    assert broken(manifest(adapt=[task("a")], heldout=[task("h")])) == {}


def test_replay_and_drift_must_be_declared() -> None:
    splits = manifest(replay=[task("r")], drift=[task("d")], replay_selection=None)
    assert set(broken(splits)) == {"replay-eligible", "drift-declared"}


def test_a_preregistered_list_must_be_the_one_that_is_used() -> None:
    splits = manifest(replay=[task("r1"), task("r2")], replay_selection=listed([task("r1")]))
    assert broken(splits) == {"replay-eligible": ()}


def test_replay_tasks_must_have_been_attempted_before_adaptation() -> None:
    splits = manifest(replay=[task("r1"), task("r2")])
    assert check_replay_attempted(splits, {"r1", "r2"}) == []
    assert [violation.tasks for violation in check_replay_attempted(splits, {"r1"})] == [("r2",)]


def test_a_violation_is_an_error_that_names_rule_tasks_and_way_out() -> None:
    splits = manifest(adapt=[task("x")], heldout=[task("x")])
    with pytest.raises(SplitError, match=r"both adapt and heldout: x\. .*--allow disjoint-ids"):
        enforce(check_manifest(splits))


def test_an_allowed_violation_stays_as_a_mark() -> None:
    splits = manifest(adapt=[task("x")], heldout=[task("x")])
    marks = enforce(check_manifest(splits), allow=["disjoint-ids"])
    assert [(mark.rule, mark.tasks) for mark in marks] == [("disjoint-ids", ("x",))]


def test_allowing_one_rule_does_not_allow_another() -> None:
    splits = manifest(adapt=[task("x", "F")], heldout=[task("x", "F")])
    with pytest.raises(SplitError, match="family"):
        enforce(check_manifest(splits), allow=["disjoint-ids"])


def test_allowing_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ConfigError, match="--allow everything: no such rule"):
        enforce([], allow=["everything"])


def test_long_lists_are_cut_and_counted() -> None:
    same = [task(f"t{number}") for number in range(9)]
    with pytest.raises(SplitError, match="t4 and 4 more"):
        enforce(check_manifest(manifest(adapt=same, heldout=same)))


@given(st.lists(st.sampled_from("abcdef"), max_size=6), st.lists(st.sampled_from("abcdef"), max_size=6))
def test_ids_are_disjoint_exactly_when_nothing_is_found(left: list[str], right: list[str]) -> None:
    splits = manifest(adapt=[task(name) for name in left], heldout=[task(name) for name in right])
    clean = len({*left, *right}) == len(left) + len(right)
    assert (check_manifest(splits) == []) is clean
