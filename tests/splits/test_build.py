from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.benchmarks.base import Task
from sipbench.errors import ConfigError, SplitError
from sipbench.protocol.manifest import Preregistered, SplitManifest, replay_list_digest
from sipbench.protocol.rules import check_manifest
from sipbench.protocol.vocabulary import Split
from sipbench.splits.build import DriftTasks, SplitOptions, build_splits
from sipbench.splits.duplicates import near_duplicates
from sipbench.splits.exclusions import EXCLUSIONS_VERSION, ExclusionList
from sipbench.splits.replay import by_screening, crossfit, preregistered, same_run
from sipbench.splits.screening import Flags, Screening, ScreenRule
from sipbench.splits.sizes import parse_sizes
from sipbench.splits.violations import kept_together_violations, near_duplicate_violations
from tests.splits.made import edited, task, words

NOW = "2026-05-01T00:00:00Z"
TASKS = [
    task(
        f"t{n:02}",
        " ".join(words(n)),
        family=f"F{n % 12}",
        user=f"u{n % 24}",
        difficulty=["easy", "hard"][n // 30],
    )
    for n in range(60)
]


def build(
    tasks: list[Task] | None = None, seed: int = 1, sizes: str = "", **options: object
) -> SplitManifest:
    options.setdefault("replay", preregistered(NOW))
    if sizes:
        options["sizes"] = parse_sizes(sizes)
    chosen = SplitOptions(**options)  # type: ignore[arg-type]
    return build_splits(
        TASKS if tasks is None else tasks, seed, chosen, benchmark_name="made", benchmark_version="1"
    )


def ids(manifest: SplitManifest, pool: str) -> list[str]:
    return [entry.id for entry in getattr(manifest, pool)]


def counts(manifest: SplitManifest) -> dict[str, int]:
    return {pool: len(ids(manifest, pool)) for pool in ("adapt", "adapt_t2", "heldout", "replay", "drift")}


def test_counts_are_met_exactly_and_the_rules_are_kept() -> None:
    manifest = build(sizes="adapt=12,adapt_t2=8,heldout=20,replay=10")
    assert counts(manifest) == {"adapt": 12, "adapt_t2": 8, "heldout": 20, "replay": 10, "drift": 0}
    assert check_manifest(manifest) == []
    assert manifest.selection["unused"] == 10


def test_shares_divide_all_tasks() -> None:
    # Twelve families of five: 0.3, 0.4 and 0.3 of 60 are 18, 24 and 18, of which 20 have to be on a side.
    made = counts(build())
    assert made["adapt"] == 18
    assert made["heldout"] + made["replay"] == 40
    assert made["heldout"] == pytest.approx(24, abs=1)


def test_the_same_seed_gives_the_same_manifest_and_another_one_another() -> None:
    assert build(seed=3) == build(seed=3)
    assert build(seed=3) != build(seed=4)


def test_the_order_of_tasks_decides_no_membership() -> None:
    turned = build(TASKS[::-1])
    assert {pool: set(ids(turned, pool)) for pool in ("adapt", "heldout", "replay")} == {
        pool: set(ids(build(), pool)) for pool in ("adapt", "heldout", "replay")
    }


def test_each_split_gets_its_share_of_each_difficulty() -> None:
    manifest = build(sizes="adapt=20,heldout=20,replay=20", stratify="difficulty")
    hard = {item.id for item in TASKS if item.metadata["difficulty"] == "hard"}
    for pool in ("adapt", "heldout", "replay"):
        assert 8 <= len(hard.intersection(ids(manifest, pool))) <= 12
    assert manifest.selection["stratify"] == "difficulty"


def test_tasks_of_one_user_stay_on_one_side() -> None:
    manifest = build(keep_together=("user",))
    assert kept_together_violations(manifest, TASKS, ["user"]) == []
    free = [item for item in TASKS if item.family]
    loose = build([Task(item.id, item.digest, None, None, item.text, item.metadata) for item in free])
    assert kept_together_violations(loose, TASKS, ["user"])  # without the option users are torn apart


def test_near_duplicates_stay_on_one_side() -> None:
    tasks = [
        task(f"{n:02}-{copy}", " ".join(edited(words(n), copy, copy)), family=None)
        for n in range(15)
        for copy in range(3)
    ]
    found = near_duplicates(tasks)
    assert len(found.groups) == 15
    manifest = build(tasks, duplicates=found)
    assert near_duplicate_violations(manifest, tasks) == []
    assert manifest.selection["near_duplicates"]["groups"] == 15
    assert near_duplicate_violations(build(tasks), tasks)


def _possible(families: list[str | None], adapt: int, tested: int) -> bool:
    sizes = [count for name, count in Counter(families).items() if name is not None]
    sums = {0}
    for size in sizes + [1] * families.count(None):
        sums |= {total + size for total in sums}
    return any(total >= adapt and len(families) - total >= tested for total in sums)


@given(
    st.lists(st.sampled_from([None, *"ABCDEFGH"]), min_size=6, max_size=40),
    st.integers(0, 5),
    st.integers(0, 3),
)
def test_whatever_is_built_keeps_the_rules(families: list[str | None], seed: int, extra: int) -> None:
    tasks = [task(f"t{n}", family=family) for n, family in enumerate(families)]
    sizes = f"adapt={1 + extra},heldout={1 + extra},replay=1"
    try:
        manifest = build(tasks, seed, sizes)
    except SplitError:
        assert not _possible(families, 1 + extra, 2 + extra)
        return
    assert check_manifest(manifest) == []
    assert counts(manifest) == {
        "adapt": 1 + extra,
        "adapt_t2": 0,
        "heldout": 1 + extra,
        "replay": 1,
        "drift": 0,
    }


def test_too_large_a_family_is_named() -> None:
    tasks = [task(f"t{n}", family="giant" if n < 18 else f"small {n}") for n in range(20)]
    with pytest.raises(SplitError, match=r"family giant alone has 18 of 20 tasks"):
        build(tasks, sizes="adapt=5,heldout=5,replay=0")


def test_more_tasks_than_there_are_cannot_be_had() -> None:
    with pytest.raises(SplitError, match=r"all splits: 70 tasks wanted, 60 tasks there"):
        build(sizes="adapt=30,heldout=40")


def test_shares_take_what_large_families_leave() -> None:
    tasks = [task(f"t{n}", family=f"F{n // 10}") for n in range(30)]
    made = counts(build(tasks, sizes="adapt=0.5,heldout=0.5"))
    assert sorted((made["adapt"], made["heldout"])) in ([10, 15], [10, 20])


def test_one_group_alone_cannot_be_divided() -> None:
    with pytest.raises(SplitError, match="family F alone has 9 of 9 tasks"):
        build([task(f"t{n}", family="F") for n in range(9)])


def test_repeated_ids_are_refused() -> None:
    with pytest.raises(SplitError, match="task id 'x' occurs twice"):
        build([task("x"), task("x")])


@pytest.mark.parametrize("options", [{"keep_together": ("repo",)}, {"stratify": "level"}])
def test_a_key_that_no_task_has_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="no task has that in its metadata"):
        build(**options)


def test_drift_tasks_are_those_whose_metadata_say_so() -> None:
    tasks = [*TASKS, *(task(f"d{n}", family=f"F{n}", policy="new") for n in range(6))]
    drift = DriftTasks("policy", frozenset(["new"]), ("policy",), "the refund policy changed")
    manifest = build(tasks, drift=drift)
    assert ids(manifest, "drift") == [f"d{n}" for n in range(6)]
    assert manifest.drift_changes == ("policy",)
    assert check_manifest(manifest) == []
    learned = {entry.family for entry in manifest.adapt}
    shared = sum(f"F{n}" in learned for n in range(6))
    assert manifest.selection["drift_tasks_of_adapt_families"] == shared


def test_drift_without_a_rule_is_refused() -> None:
    with pytest.raises(SplitError, match="nothing says which tasks are drift tasks"):
        build(sizes="adapt=10,heldout=10,drift=5")
    with pytest.raises(ConfigError, match="no task has policy=new"):
        build(drift=DriftTasks("policy", frozenset(["new"]), ("policy",)))


def test_excluded_tasks_are_nowhere_and_the_list_is_on_record() -> None:
    exclusions = ExclusionList.model_validate(
        {
            "schema_version": EXCLUSIONS_VERSION,
            "benchmark_name": "made",
            "fixed_at": NOW,
            "tasks": [{"id": f"t{n:02}", "reason": "oracle_fails", "source": "a run"} for n in range(5)],
        }
    )
    manifest = build(exclusions=exclusions)
    assert not {f"t{n:02}" for n in range(5)} & {entry.id for _, entry in manifest.entries()}
    assert manifest.selection["exclusions"] == {"digest": exclusions.digest, "fixed_at": NOW, "tasks": 5}


def screened(eligible: list[str]) -> Screening:
    digest = "sha256:" + "1" * 64
    return Screening(ScreenRule(2, 3), tuple(eligible), (), (), 180, digest, ())


def test_screened_replay_holds_only_tasks_that_were_solved() -> None:
    eligible = [f"t{n:02}" for n in range(0, 60, 2)]
    manifest = build(sizes="adapt=15,heldout=15,replay=8", replay=by_screening(screened(eligible)))
    assert set(ids(manifest, "replay")) <= set(eligible)
    assert len(manifest.replay) == 8
    assert manifest.replay_selection is not None
    assert manifest.replay_selection.model_dump() == {
        "method": "screened",
        "screen_run_id": "sha256:" + "1" * 64,
        "rule": "solved in at least 2 of 3",
    }
    assert manifest.selection["screening"]["eligible"] == 30


def test_too_few_eligible_tasks_are_an_error_and_not_fewer_replay_tasks() -> None:
    with pytest.raises(SplitError, match=r"replay: 8 tasks wanted, \d eligible tasks there"):
        build(sizes="adapt=15,heldout=15,replay=8", replay=by_screening(screened(["t00", "t01", "t02"])))
    with pytest.raises(SplitError, match="no task is eligible"):
        build(replay=by_screening(screened([])))


def test_tasks_that_a_do_nothing_agent_passes_are_named_and_are_no_replay_tasks() -> None:
    flags = Flags(passes_noop={f"t{n:02}": "3 of 3" for n in range(40)}, oracle_fails={"t59": "0 of 1"})
    manifest = build(sizes="adapt=15,heldout=15,replay=5", flags=flags)
    assert not set(ids(manifest, "replay")) & set(flags.passes_noop)
    assert manifest.selection["passes_noop"] == sorted(flags.passes_noop)
    assert manifest.selection["oracle_fails"] == ["t59"]


def test_a_listed_replay_is_that_list_and_its_digest_is_declared() -> None:
    listed = ["t05", "t17", "t29"]
    manifest = build(sizes="adapt=15,heldout=15", replay=preregistered(NOW, listed))
    assert ids(manifest, "replay") == listed
    assert manifest.replay_selection == Preregistered(
        list_digest=replay_list_digest(manifest.replay), declared_at=NOW
    )


def test_nothing_is_learned_from_the_families_of_listed_replay_tasks() -> None:
    for seed in range(12):
        manifest = build(seed=seed, sizes="adapt=15,heldout=15", replay=preregistered(NOW, ["t05", "t18"]))
        assert not {"F5", "F6"} & {entry.family for entry in manifest.adapt}


@pytest.mark.parametrize(
    ("listed", "message"),
    [(["nope"], "'nope' is no task"), (["t01", "t01"], "names a task twice")],
)
def test_a_listed_replay_task_must_exist_once(listed: list[str], message: str) -> None:
    with pytest.raises(SplitError, match=message):
        build(replay=preregistered(NOW, listed))


def test_crossfit_and_same_run_are_declared() -> None:
    chosen = build(replay=crossfit("solved", 4)).replay_selection
    assert chosen is not None
    assert chosen.model_dump() == {"method": "crossfit", "rule": "solved", "folds": 4}
    again = build(replay=same_run(screened([f"t{n:02}" for n in range(60)]))).replay_selection
    assert again is not None
    assert again.method == "same_run"


def test_a_manifest_without_replay_declares_none() -> None:
    manifest = build(sizes="adapt=20,heldout=20")
    assert manifest.replay_selection is None
    assert check_manifest(manifest) == []


def test_entries_carry_what_the_benchmark_knows() -> None:
    manifest = build(
        [Task(f"t{n}", f"sha256:{n:064x}", f"F{n}", "C", "text", {}) for n in range(9)],
        sizes="adapt=3,heldout=3",
    )
    for entry in manifest.tasks(Split.ADAPT):
        assert (entry.concept, entry.digest) == ("C", f"sha256:{int(entry.id[1:]):064x}")
