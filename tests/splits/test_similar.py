from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sipbench.errors import MissingExtraError
from sipbench.splits import lsh, similar
from sipbench.splits.lsh import components, pairs_by_minhash
from sipbench.splits.similar import Measure, Pairs, pairs_by_index, shared_counts
from sipbench.splits.sketch import banding, signatures
from sipbench.splits.words import shingle_sets, word_shingles
from tests.splits.made import edited, words

MEASURES: tuple[Measure, ...] = ("jaccard", "containment")
TEXTS = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=12).map(" ".join), max_size=12)


def brute_force(
    texts: list[str], size: int, threshold: float, measure: Measure
) -> dict[tuple[int, int], float]:
    sets = [word_shingles(text, size) for text in texts]
    found = {}
    for i, first in enumerate(sets):
        for j in range(i + 1, len(sets)):
            whole = len(first | sets[j]) if measure == "jaccard" else min(len(first), len(sets[j]))
            value = len(first & sets[j]) / whole
            if value >= threshold:
                found[i, j] = value
    return found


def as_dict(pairs: Pairs) -> dict[tuple[int, int], float]:
    return {
        (int(i), int(j)): float(value)
        for i, j, value in zip(pairs.first, pairs.second, pairs.similarity, strict=True)
    }


@given(TEXTS, st.integers(1, 4), st.sampled_from([0.1, 0.3, 0.5, 0.8, 1.0]), st.sampled_from(MEASURES))
def test_the_index_finds_what_comparing_all_finds(
    texts: list[str], size: int, threshold: float, measure: Measure
) -> None:
    if not texts:
        return
    pairs = pairs_by_index(shingle_sets(texts, size), threshold, measure)
    assert pairs is not None
    assert pairs.complete
    assert as_dict(pairs) == pytest.approx(brute_force(texts, size, threshold, measure))


@given(TEXTS, st.integers(1, 4), st.sampled_from([0.3, 0.5, 0.8, 1.0]), st.sampled_from(MEASURES))
@settings(max_examples=50)
def test_minhash_finds_nothing_that_is_not_similar(
    texts: list[str], size: int, threshold: float, measure: Measure
) -> None:
    pytest.importorskip("datasketch", reason="the extra 'splits' is not installed")
    sets = shingle_sets(texts, size)
    pairs = pairs_by_minhash(sets, signatures(sets, 128, 1), banding(threshold, 128), threshold, measure)
    expected = brute_force(texts, size, threshold, measure)
    assert as_dict(pairs) == pytest.approx({key: expected[key] for key in as_dict(pairs)})


def test_minhash_finds_nearly_all_pairs_at_the_threshold_and_all_above() -> None:
    pytest.importorskip("datasketch", reason="the extra 'splits' is not installed")
    texts = []
    for seed in range(150):
        base = words(seed, 100)
        # 3 to 9 changed words of 100 leave a similarity of about .75 to .45.
        texts += [" ".join(base), " ".join(edited(base, seed, 3 + seed % 7))]
    expected = brute_force(texts, 5, 0.5, "jaccard")
    assert len(expected) > 100
    sets = shingle_sets(texts, 5)
    bands = banding(0.5, 128)
    pairs = pairs_by_minhash(sets, signatures(sets, 128, 1), bands, 0.5, "jaccard")
    assert pairs.complete
    missed = set(expected) - set(as_dict(pairs))
    assert len(missed) <= 2
    assert not {pair for pair in missed if expected[pair] > 0.65}


def test_bands_catch_a_pair_at_the_threshold_almost_surely() -> None:
    # 42 bands of 3 rows: 1 - (1 - .5^3)^42 = 1 - .875^42 = .99633.
    bands = banding(0.5, 128)
    assert (bands.bands, bands.rows) == (42, 3)
    assert bands.recall == pytest.approx(0.99633, abs=5e-6)
    for threshold in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95):
        assert banding(threshold, 128).recall >= 0.99
    # No number of rows helps here; the recall that one row gives is what is said.
    assert banding(0.02, 16).recall == pytest.approx(1 - 0.98**16)


def test_a_signature_is_the_one_that_datasketch_makes() -> None:
    datasketch = pytest.importorskip("datasketch", reason="the extra 'splits' is not installed")
    sets = shingle_sets([" ".join(words(seed, 30 + seed)) for seed in range(40)], 3)
    made = signatures(sets, 64, 7)
    for position in range(len(sets)):
        hashes = sets.hashes[sets.bounds[position] : sets.bounds[position + 1]]
        theirs = datasketch.MinHash(num_perm=64, seed=7, hashfunc=int)
        theirs.update_batch((hashes >> np.uint64(32)).tolist())
        assert np.array_equal(theirs.hashvalues, made[position])


def test_candidates_are_the_ones_that_the_index_of_datasketch_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    datasketch = pytest.importorskip("datasketch", reason="the extra 'splits' is not installed")
    texts = [" ".join(edited(words(seed // 3, 50), seed, 2)) for seed in range(90)]
    sets = shingle_sets(texts, 4)
    made = signatures(sets, 120, 1)
    index = datasketch.MinHashLSH(num_perm=120, params=(40, 3))
    sketches = [datasketch.MinHash(hashvalues=row, scheme="affine32") for row in made]
    for position, sketch in enumerate(sketches):
        index.insert(position, sketch)
    theirs = {
        (min(a, b), max(a, b)) for a, sketch in enumerate(sketches) for b in index.query(sketch) if a != b
    }
    # With a threshold that everything meets, all candidates are pairs.
    monkeypatch.setattr(lsh, "EPS", 2.0)
    pairs = pairs_by_minhash(sets, made, type(banding(0.5, 120))(40, 3, 1.0), 1e-6, "jaccard")
    assert set(as_dict(pairs)) == theirs


def test_shared_shingles_are_counted_pair_by_pair() -> None:
    texts = ["a b c d", "a b c e", "x y", "a b"]
    sets = shingle_sets(texts, 2)
    first, second = np.array([0, 0, 0, 1]), np.array([1, 2, 3, 3])
    # ab bc cd / ab bc ce: two; nothing; ab: one; ab: one.
    assert shared_counts(sets, first, second).tolist() == [2, 0, 1, 1]


def test_the_index_gives_up_where_texts_share_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = shingle_sets([f"a b c d e f {number}" for number in range(30)], 2)
    assert pairs_by_index(sets, 0.5, "jaccard") is not None
    for limit in ("INDEX_WORK", "INDEX_PAIRS", "INDEX_HASHES"):
        with monkeypatch.context() as patch:
            patch.setattr(similar, limit, 10)
            assert pairs_by_index(sets, 0.5, "jaccard") is None
            assert pairs_by_index(sets, 0.5, "jaccard", limited=False) is not None


def test_a_crowd_of_similar_texts_is_connected_without_comparing_all_of_them() -> None:
    pytest.importorskip("datasketch", reason="the extra 'splits' is not installed")
    base = words(1, 80)
    texts = [" ".join(edited(base, seed, 1)) for seed in range(1500)]
    sets = shingle_sets(texts, 5)
    pairs = pairs_by_minhash(sets, signatures(sets, 128, 1), banding(0.5, 128), 0.5, "jaccard")
    assert not pairs.complete
    assert len(set(components(len(texts), pairs.first, pairs.second).tolist())) == 1
    assert len(pairs.first) < 150_000  # all pairs would be 1,124,250


def test_counting_stops_when_its_allowance_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasketch", reason="the extra 'splits' is not installed")
    texts = [" ".join(edited(words(seed // 2, 50), seed, 1)) for seed in range(200)]
    sets = shingle_sets(texts, 5)
    monkeypatch.setattr(lsh, "COUNTED", 42)
    pairs = pairs_by_minhash(sets, signatures(sets, 128, 1), banding(0.5, 128), 0.5, "jaccard")
    assert not pairs.complete
    assert 0 < len(pairs.first) <= 42


def test_without_datasketch_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasketch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sipbench\[splits\]'"):
        signatures(shingle_sets(["a b"], 2), 16, 1)
