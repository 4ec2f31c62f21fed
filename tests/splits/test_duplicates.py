from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from pydantic import ValidationError

from sipbench.splits.diff import word_diff
from sipbench.splits.duplicates import Duplicates, DuplicateSettings, near_duplicates
from tests.splits.made import edited, task, words

BASE = words(1, 40)


def found(duplicates: Duplicates) -> list[tuple[str, str, str]]:
    return [(pair.first, pair.second, pair.kind) for pair in duplicates.pairs]


def test_equal_digests_equal_texts_and_similar_texts_are_told_apart() -> None:
    near = " ".join(edited(BASE, 2, 1))
    tasks = [
        task("a", " ".join(BASE)),
        task("b", "other words entirely that share nothing with it at all", digest_of="a"),
        task("c", " ".join(BASE).upper() + "."),
        task("d", near),
        task("e", "far away from all of the others in each and every word"),
    ]
    result = near_duplicates(tasks)
    assert found(result) == [("a", "b", "digest"), ("a", "c", "text"), ("a", "d", "near"), ("c", "d", "near")]
    assert result.groups == (("a", "b", "c", "d"),)
    assert result.complete
    assert (result.method, result.recall) == ("index", 1.0)


def test_similarity_is_shared_shingles_over_all() -> None:
    # Five-word shingles of seven words: abcde bcdef cdefg; with another last word: abcde bcdef cdefx.
    tasks = [task("1", "a b c d e f g"), task("2", "a b c d e f x")]
    (pair,) = near_duplicates(tasks).pairs
    assert pair.similarity == pytest.approx(2 / 4)
    assert not near_duplicates(tasks, DuplicateSettings(threshold=0.51)).pairs


def test_containment_finds_a_task_that_quotes_another_one() -> None:
    tasks = [
        task("short", " ".join(BASE[:10])),
        task("long", " ".join([*words(9, 50), *BASE[:10], *words(8, 50)])),
    ]
    assert not near_duplicates(tasks).pairs
    (pair,) = near_duplicates(tasks, DuplicateSettings(measure="containment", threshold=0.9)).pairs
    assert pair.similarity == 1.0


def test_minhash_and_index_agree_where_both_can_search() -> None:
    pytest.importorskip("datasketch", reason="the extra 'splits' is not installed")
    tasks = [task(f"t{n}", " ".join(edited(words(n // 3, 60), n, 2))) for n in range(60)]
    index = near_duplicates(tasks, DuplicateSettings(method="index"))
    minhash = near_duplicates(tasks, DuplicateSettings(method="minhash"))
    assert index.pairs == minhash.pairs
    assert index.groups == minhash.groups
    assert minhash.recall == pytest.approx(0.9963, abs=1e-4)


def test_short_texts_are_the_same_or_not() -> None:
    tasks = [task("1", "Sum two numbers"), task("2", "sum two numbers."), task("3", "sum three numbers")]
    assert found(near_duplicates(tasks)) == [("1", "2", "text")]


def test_tasks_without_words_are_named_and_compared_by_digest_only() -> None:
    tasks = [task("1", None), task("2", ""), task("3", " ?! ", digest_of="1")]
    result = near_duplicates(tasks)
    assert result.without_text == ("1", "2", "3")
    assert found(result) == [("1", "3", "digest")]


def test_a_pair_that_is_equal_in_both_ways_is_listed_once() -> None:
    text = " ".join(BASE)
    tasks = [
        task("1", text),
        task("2", text, digest_of="1"),
        task("3", " ".join(edited(BASE, 1, 1)), digest_of="1"),
    ]
    assert found(near_duplicates(tasks)) == [("1", "2", "digest"), ("1", "3", "digest"), ("2", "3", "digest")]


def test_an_empty_list_of_tasks_has_no_duplicates() -> None:
    result = near_duplicates([])
    assert (result.pairs, result.groups, result.tasks) == ((), (), 0)


def test_a_hundred_thousand_copies_are_one_group() -> None:
    tasks = [task(f"t{n}", "The same  text" if n % 2 else "the same text!") for n in range(100_000)]
    result = near_duplicates(tasks, DuplicateSettings(max_pairs=50))
    assert [len(group) for group in result.groups] == [100_000]
    assert len(result.pairs) == 50
    assert not result.complete


def test_pairs_beyond_the_cap_are_left_out_and_that_is_said() -> None:
    tasks = [task(str(n), "one text of a few words") for n in range(5)]  # ten pairs
    assert len(near_duplicates(tasks, DuplicateSettings(max_pairs=10)).pairs) == 10
    assert near_duplicates(tasks, DuplicateSettings(max_pairs=10)).complete
    assert not near_duplicates(tasks, DuplicateSettings(max_pairs=9)).complete


def test_repeated_ids_and_shortened_texts_are_named() -> None:
    result = near_duplicates([task("x", "a"), task("x", "b"), task("y", "word " * 100_000)])
    assert result.repeated_ids == ("x",)
    assert result.shortened == ("y",)


def test_what_is_recorded_says_how_it_was_searched() -> None:
    summary = near_duplicates([task("1", "a b"), task("2", "a b")]).summary()
    assert summary["shingle"] == 5
    assert summary["threshold"] == 0.5
    assert (summary["groups"], summary["tasks_in_groups"]) == (1, 2)


@pytest.mark.parametrize(
    "wrong", [{"shingle": 0}, {"threshold": 0}, {"threshold": 1.5}, {"measure": "cosine"}]
)
def test_senseless_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        DuplicateSettings.model_validate(wrong)


def test_a_difference_reads_as_what_was_taken_and_what_was_put() -> None:
    first = "You want to fly from New York to Seattle on May 20 and pay with your card"
    second = "You want to fly from New York to Boston on May 20 and pay with your card"
    assert word_diff(first, second, context=3) == "… New York to [-Seattle-] {+Boston+} on May 20 …"


def test_equal_texts_have_no_difference_to_show() -> None:
    assert word_diff("a b c d", "a b c d") == "…"


def test_only_the_beginnings_of_long_texts_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sipbench.splits.diff.MAX_WORDS", 3)
    assert word_diff("a b c d", "a x c e") == "a [-b-] {+x+} c …"


def test_a_difference_is_bounded() -> None:
    first, second = " ".join(words(1, 50_000)), " ".join(words(2, 50_000))
    assert len(word_diff(first, second, limit=300)) == 300
    assert word_diff("a " * 50_000, "a " * 49_999).endswith("…")


@pytest.mark.parametrize("method", ["index", "minhash"])
def test_near_duplicates_of_real_tasks(
    shared_data: Callable[..., Path], method: Literal["index", "minhash"]
) -> None:
    if method == "minhash":
        pytest.importorskip("datasketch", reason="the extra 'splits' is not installed")
    rows = json.loads(shared_data("tau", "gpt-4o-airline.json").read_text(encoding="utf-8"))
    texts = {row["task_id"]: row["info"]["task"]["instruction"] for row in rows}
    tasks = [task(str(number), texts[number]) for number in sorted(texts)]
    assert len(tasks) == 50
    result = near_duplicates(tasks, DuplicateSettings(method=method))
    pairs = {(pair.first, pair.second): round(pair.similarity, 3) for pair in result.pairs}
    # Five pairs over ten tasks; the last one is 0.5 exactly.
    assert pairs == {
        ("23", "24"): 0.675,
        ("28", "29"): 0.588,
        ("8", "9"): 0.555,
        ("6", "7"): 0.554,
        ("45", "46"): 0.5,
    }
    assert len({name for pair in pairs for name in pair}) == 10
