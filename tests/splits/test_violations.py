from __future__ import annotations

import pytest

from sipbench.errors import SplitError
from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.rules import enforce
from sipbench.protocol.versions import SPLITS_VERSION
from sipbench.splits.duplicates import DuplicateSettings, near_duplicates
from sipbench.splits.violations import (
    crossing_pairs,
    duplicate_violations,
    kept_together_violations,
    near_duplicate_violations,
)
from tests.splits.made import edited, task, words

BASE = words(1, 40)


def manifest(**pools: list[str]) -> SplitManifest:
    return SplitManifest.model_validate(
        {
            "schema_version": SPLITS_VERSION,
            "benchmark_name": "made",
            **{pool: [{"id": name} for name in names] for pool, names in pools.items()},
        }
    )


TASKS = [
    task("a1", " ".join(BASE)),
    task("a2", " ".join(words(2))),
    task("h1", " ".join(edited(BASE, 3, 1))),
    task("h2", " ".join(words(4))),
    task("h3", " ".join(words(2)).title()),
    task("r1", " ".join(BASE)),
]


def test_a_held_out_task_that_is_nearly_an_adapt_task_breaks_the_family_rule() -> None:
    (violation,) = near_duplicate_violations(manifest(adapt=["a1"], heldout=["h1", "h2"]), TASKS)
    assert violation.rule == "disjoint-families"
    assert violation.tasks == ("h1",)
    assert "h1 is like a1: 0.76" in violation.message  # 31 of 41 shingles: one word is in five of 36
    assert "5-word shingles, jaccard >= 0.5" in violation.message


def test_the_second_adaptation_counts() -> None:
    assert near_duplicate_violations(manifest(adapt_t2=["a2"], heldout=["h3"]), TASKS)[0].tasks == ("h3",)


def test_replay_may_be_like_either() -> None:
    assert near_duplicate_violations(manifest(adapt=["a1"], replay=["r1"], heldout=["h2"]), TASKS) == []
    assert near_duplicate_violations(manifest(adapt=["a2"], replay=["r1"], heldout=["h1"]), TASKS) == []


def test_settings_decide_what_is_alike() -> None:
    splits = manifest(adapt=["a1"], heldout=["h1"])
    assert near_duplicate_violations(splits, TASKS, DuplicateSettings(threshold=0.8)) == []


def test_it_is_enforced_like_any_rule() -> None:
    found = near_duplicate_violations(manifest(adapt=["a1"], heldout=["h1"]), TASKS)
    with pytest.raises(SplitError, match="--allow disjoint-families"):
        enforce(found)
    assert enforce(found, ["disjoint-families"]) == tuple(found)


def test_where_not_every_pair_is_listed_the_groups_still_tell() -> None:
    tasks = [task(f"t{n}", "one and the same text of several words") for n in range(300)]
    splits = manifest(adapt=[f"t{n}" for n in range(150)], heldout=[f"t{n}" for n in range(150, 300)])
    found = near_duplicates(tasks, DuplicateSettings(max_pairs=5))
    assert not found.complete
    assert crossing_pairs(splits, found) == []
    (violation,) = duplicate_violations(splits, found)
    assert len(violation.tasks) == 150


def test_tasks_of_one_user_on_both_sides_break_the_family_rule() -> None:
    tasks = [task("a", user="ann"), task("h", user="ann"), task("i", user="bob"), task("j")]
    (violation,) = kept_together_violations(manifest(adapt=["a"], heldout=["h", "i", "j"]), tasks, ["user"])
    assert (violation.rule, violation.tasks) == ("disjoint-families", ("h",))
    assert kept_together_violations(manifest(adapt=["j"], heldout=["h"]), tasks, ["user"]) == []
