from __future__ import annotations

from sipbench.protocol.manifest import Preregistered, SplitManifest, TaskEntry
from sipbench.protocol.versions import SPLITS_VERSION
from sipbench.splits.replay import check_declared_before, check_screen_apart, preregistered
from tests.splits.made import record


def manifest(declared_at: str, fixed_at: str | None = None) -> SplitManifest:
    return SplitManifest(
        schema_version=SPLITS_VERSION,
        benchmark_name="made",
        replay=(TaskEntry(id="r"),),
        replay_selection=Preregistered(list_digest="sha256:" + "0" * 64, declared_at=declared_at),
        selection={"exclusions": {"fixed_at": fixed_at}} if fixed_at else {},
    )


RECORDS = [
    record("r", 0, started_at="2026-05-01T10:00:00Z"),
    record("r", 1, started_at="2026-05-01T09:00:00Z"),
    record("r", 2, started_at="2026-04-01T00:00:00Z", phase="T1"),
    record("r", 3),
]


def test_what_was_fixed_before_the_first_t0_attempt_stands() -> None:
    assert check_declared_before(manifest("2026-05-01T08:59:59Z", "2026-05-01T08:00:00Z"), RECORDS) == []
    assert check_declared_before(manifest("2027-01-01T00:00:00Z"), []) == []


def test_what_was_fixed_later_breaks_the_rule() -> None:
    found = check_declared_before(manifest("2026-05-01T09:30:00Z", "2026-05-02T00:00:00Z"), RECORDS)
    assert [violation.rule for violation in found] == ["replay-eligible"] * 2
    assert "the replay list was fixed at 2026-05-01T09:30:00Z, after the first T0 attempt" in str(found[0])
    assert "the exclusion list" in str(found[1])


def test_a_time_by_hand_that_is_none_is_passed_over() -> None:
    assert check_declared_before(manifest("2026-05-01T08:00:00Z", "yesterday"), RECORDS) == []
    assert len(check_declared_before(manifest("2026-05-01T08:00:00Z", "2026-06-01"), RECORDS)) == 1


def test_attempts_that_chose_must_not_be_scored() -> None:
    scored = [record("a"), record("b")]
    assert check_screen_apart({"other"}, scored) == []
    (violation,) = check_screen_apart({scored[1].run_id, "other"}, scored)
    assert (violation.rule, violation.tasks) == ("replay-eligible", ("b",))


def test_a_list_is_declared_with_its_digest() -> None:
    one = preregistered("2026-05-01T00:00:00Z").declare([TaskEntry(id="a")])
    other = preregistered("2026-05-01T00:00:00Z").declare([TaskEntry(id="b")])
    assert isinstance(one, Preregistered)
    assert isinstance(other, Preregistered)
    assert one.list_digest != other.list_digest
