from __future__ import annotations

from sipbench.protocol.records import SkillRef
from sipbench.protocol.vocabulary import Phase
from sipbench.stats.exposure import ExposureCounts, arm_key
from tests.protocol.made import record

GREP, AWK = SkillRef(name="grep"), SkillRef(name="awk")


def seen(*records: object) -> ExposureCounts:
    counts = ExposureCounts()
    for item in records:
        counts.add(item)  # type: ignore[arg-type]
    return counts


def with_skills(given: tuple[SkillRef, ...] | None, opened: tuple[SkillRef, ...] | None, **more: object):  # type: ignore[no-untyped-def]
    return record(phase="T1", **more).model_copy(update={"skills_given": given, "skills_opened": opened})


def test_given_and_opened_are_counted_by_attempt_and_by_skill() -> None:
    records = [
        with_skills((GREP, AWK), (GREP,)),
        with_skills((GREP, AWK), ()),
        with_skills((), ()),
    ]
    (found,) = seen(*records).exposures([arm_key(records[0])])
    assert (found.phase, found.attempts) == (Phase.T1, 3)
    assert (found.given_known, found.given, found.opened_known, found.opened) == (3, 2, 3, 1)
    assert [(use.name, use.given, use.opened) for use in found.skills] == [("grep", 2, 1), ("awk", 2, 0)]


def test_unknown_is_no_zero() -> None:
    records = [with_skills(None, None), with_skills((GREP,), None)]
    (found,) = seen(*records).exposures([arm_key(records[0])])
    assert (found.attempts, found.given_known, found.given) == (2, 1, 1)
    assert (found.opened_known, found.opened) == (0, 0)
    assert (found.given_share, found.opened_share) == (1.0, None)


def test_a_skill_named_twice_in_one_attempt_counts_once() -> None:
    (found,) = seen(first := with_skills((GREP, GREP), ())).exposures([arm_key(first)])
    assert found.skills[0].given == 1


def test_adapt_and_smoke_attempts_are_left_out_and_arms_are_apart() -> None:
    records = [
        with_skills((GREP,), None, benchmark_split="adapt"),
        with_skills((GREP,), None, benchmark_split="smoke"),
        with_skills((GREP,), None, arm="other"),
        with_skills((), None),
    ]
    counts = seen(*records)
    (found,) = counts.exposures([arm_key(records[3])])
    assert (found.attempts, found.given) == (1, 0)
    (both,) = counts.exposures([arm_key(records[2]), arm_key(records[3])])
    assert (both.attempts, both.given) == (2, 1)
    assert counts.exposures([]) == []


def test_two_skills_of_one_name_are_two() -> None:
    first, second = (SkillRef(name="grep", tree_digest="sha256:" + sign * 64) for sign in "12")
    records = [with_skills((first, second), (second,))]
    (found,) = seen(*records).exposures([arm_key(records[0])])
    assert [(use.digest, use.given, use.opened) for use in found.skills] == [
        (second.tree_digest, 1, 1),
        (first.tree_digest, 1, 0),
    ]
