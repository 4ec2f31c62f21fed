from __future__ import annotations

from sipbench.protocol.manifest import SplitManifest, TaskEntry
from sipbench.protocol.overlap import overlaps, split_sizes
from sipbench.protocol.vocabulary import Split

MANIFEST = SplitManifest(
    schema_version="1.0.0",
    benchmark_name="made",
    adapt=(
        TaskEntry(id="a1", family="f", concept="c"),
        TaskEntry(id="a2", family="f", concept="c", digest=f"sha256:{'0' * 64}"),
    ),
    adapt_t2=(TaskEntry(id="a3"), TaskEntry(id="both", family="g", concept="d")),
    heldout=(TaskEntry(id="h1", family="f", concept="c"), TaskEntry(id="both", family="h", concept="d")),
    drift=(TaskEntry(id="d1"),),
)


def test_a_split_has_tasks_families_and_concepts() -> None:
    sizes = {
        size.split: (size.tasks, size.families, size.concepts, size.digests) for size in split_sizes(MANIFEST)
    }
    # Of adapt a3 has no family and is one of its own, and no concept.
    assert sizes == {Split.ADAPT: (4, 3, 2, 1), Split.HELDOUT: (2, 2, 2, 0), Split.DRIFT: (1, 1, 0, 0)}


def test_each_two_splits_share_ids_families_and_concepts() -> None:
    found = {(o.first, o.second): (o.tasks, o.families, o.concepts) for o in overlaps(MANIFEST)}
    assert found == {
        (Split.ADAPT, Split.HELDOUT): (1, 1, 2),
        (Split.ADAPT, Split.DRIFT): (0, 0, 0),
        (Split.HELDOUT, Split.DRIFT): (0, 0, 0),
    }


def test_tasks_without_a_family_share_none() -> None:
    plain = SplitManifest(
        schema_version="1.0.0",
        benchmark_name="made",
        adapt=(TaskEntry(id="a"),),
        heldout=(TaskEntry(id="b"),),
    )
    (found,) = overlaps(plain)
    assert (found.families, found.concepts) == (0, 0)
