"""What a change is worth: against the control, over adaptations, and what the study could have found."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sipbench.protocol.manifest import Preregistered, replay_list_digest
from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import AnalysisSettings, StudyContext
from sipbench.protocol.summary import Summary, parse_summary
from sipbench.report.estimates import bounds
from sipbench.stats.contrasts import method_scope
from sipbench.stats.intervals import clustered_t
from sipbench.stats.power import detectable
from sipbench.stats.shrinkage import shrink_changes
from sipbench.stats.summarize import summarize
from tests.protocol.made import cell
from tests.stats.studies import attempts, codes, frozen, gains, manifest, row

LISTED = manifest()
DECLARED = Preregistered(
    list_digest=replay_list_digest(LISTED.replay), declared_at="2026-05-01T00:00:00.000Z"
)


def study(records: list[RunRecord], **settings: object) -> Summary:
    context = StudyContext(manifest=manifest(selection=DECLARED))
    return summarize(records, settings=AnalysisSettings.model_validate(settings), context=context)


def by_hand() -> list[RunRecord]:
    """Learner gains .5, .25, 0, -.25; control .25, 0, 0, 0."""
    before = {"a": [0.0], "b": [0.25], "c": [0.5], "d": [0.75]}
    learner = {"a": [0.5], "b": [0.5], "c": [0.5], "d": [0.5]}
    control = {"a": [0.25], "b": [0.25], "c": [0.5], "d": [0.75]}
    return [
        *cell("T0", "heldout", before, arm="learner"),
        *cell("T1", "heldout", learner, arm="learner"),
        *cell("T0", "heldout", before, arm="still", path_type="frozen"),
        *cell("T1", "heldout", control, arm="still", path_type="frozen"),
    ]


def test_the_control_is_subtracted_task_by_task() -> None:
    fg = row(study(by_hand()), "learner").metrics.fg
    assert fg.value == pytest.approx(0.125)
    assert fg.adjusted is not None
    assert (fg.adjusted.control, fg.adjusted.n_tasks) == ("still", 4)
    assert fg.adjusted.value == pytest.approx((0.25 + 0.25 + 0.0 - 0.25) / 4)
    want = clustered_t(np.array([0.25, 0.25, 0.0, -0.25])).interval
    assert want is not None
    assert fg.adjusted.interval is not None
    assert (fg.adjusted.interval.low, fg.adjusted.interval.high) == pytest.approx((want.low, want.high))


def test_what_happens_to_both_arms_is_no_gain_of_either() -> None:
    easier = gains(0.3)
    found = study([*attempts("learner", easier, n=40, k=5), *frozen(easier, n=40, k=5)])
    fg = row(found, "learner").metrics.fg
    assert fg.interval is not None
    assert fg.interval.low > 0.1
    assert fg.adjusted is not None
    assert fg.adjusted.interval is not None
    assert fg.adjusted.interval.low < 0.0 < fg.adjusted.interval.high
    assert fg.verdict is not None
    assert (fg.verdict.basis, fg.verdict.word) == ("adjusted", "inconclusive")
    assert "control_changed" in codes(row(found, "frozen"))


def test_a_control_is_judged_only_where_nothing_is_compared_with_it() -> None:
    together = study([*attempts("learner"), *frozen()])
    assert row(together, "frozen").metrics.fg.verdict is None
    assert row(together, "learner").control == "frozen"
    alone = row(study(frozen()), "frozen").metrics.fg.verdict
    assert alone is not None
    assert alone.basis == "plain"


def test_an_oracle_is_neither_compared_nor_judged() -> None:
    found = row(study([*attempts("known", gains(0.3), path_type="oracle"), *frozen()]), "known")
    assert found.metrics.fg.adjusted is None
    assert found.metrics.fg.verdict is None


def test_without_own_attempts_before_an_arm_shares_those_of_the_control() -> None:
    later = [r for r in attempts("learner", gains(0.2)) if r.phase == "T1"]
    found = row(study([*later, *frozen()]), "learner").metrics
    assert found.fg.value is None
    assert found.fg.adjusted is not None
    assert found.fg.adjusted.shared_before
    control = row(study(frozen()), "frozen")
    learner = row(study(later), "learner")
    means = [item.cells for item in (learner, control)]
    at = {(c.phase, c.split): c.mean for c in means[0]}, {(c.phase, c.split): c.mean for c in means[1]}
    assert found.fg.adjusted.value == pytest.approx(at[0]["T1", "heldout"] - at[1]["T1", "heldout"])
    assert found.fg.verdict is not None
    assert found.fg.verdict.attempts == (3.0, 3.0)


def test_copies_of_the_same_earlier_attempts_cancel() -> None:
    shared = [r for r in frozen() if r.phase == "T0"]
    copies = [r.model_copy(update={"arm": "learner", "run_id": f"{r.run_id}-copy"}) for r in shared]
    later = [r for r in attempts("learner", gains(0.2)) if r.phase == "T1"]
    found = row(study([*copies, *later, *frozen()]), "learner").metrics.fg
    assert found.value is not None
    assert found.adjusted is not None
    assert found.adjusted.shared_before
    alone = row(study([*later, *frozen()]), "learner").metrics.fg.adjusted
    assert alone is not None
    assert found.adjusted.value == pytest.approx(alone.value)


def test_of_several_frozen_arms_the_one_of_the_same_model_is_the_control() -> None:
    learner = attempts("learner", model_name="big")
    two = [*frozen(model_name="big"), *frozen(name="other", model_name="small")]
    assert row(study([*learner, *two]), "learner").control == "frozen"
    same = [*frozen(model_name="big"), *frozen(name="other", model_name="big")]
    found = row(study([*learner, *same]), "learner")
    assert found.control is None
    assert found.metrics.fg.adjusted is None
    assert "no_control" in codes(found)


def test_the_scope_of_several_adaptations_is_tasks_by_repeats() -> None:
    records = attempts("learner", gains(0.2), repeats=3, n=12)
    fg = row(study(records), "learner").metrics.fg
    columns = []
    for repeat in range(3):
        of = row(study([r for r in records if r.repeat == repeat]), "learner").metrics.fg.tasks
        assert of is not None
        columns.append(np.asarray(of.after) - np.asarray(of.before))
    want = method_scope(np.stack(columns, axis=1))
    assert fg.method is not None
    assert fg.method.n_adaptations == 3
    assert fg.method.value == pytest.approx(want.estimate)
    assert want.interval is not None
    assert fg.method.interval is not None
    assert (fg.method.interval.se, fg.method.interval.df) == pytest.approx(
        (want.interval.se, want.interval.df)
    )
    assert (fg.method.v_task, fg.method.v_adaptation) == pytest.approx((want.v_task, want.v_seed))


def test_the_declared_scope_decides_which_interval_is_judged() -> None:
    records = [*attempts("learner", gains(0.25), repeats=3), *frozen(repeats=3)]
    agent, method = (row(study(records, scope=scope), "learner").metrics.fg for scope in ("agent", "method"))
    assert agent.verdict is not None
    assert method.verdict is not None
    assert (agent.verdict.scope, method.verdict.scope) == ("agent", "method")
    assert agent.adjusted is not None
    assert method.method is not None
    assert agent.verdict.interval == agent.adjusted.interval
    assert method.verdict.interval == method.method.interval
    assert method.verdict.interval != agent.verdict.interval


def test_one_adaptation_supports_no_claim_about_the_method() -> None:
    fg = row(study([*attempts("learner", gains(0.4)), *frozen()], scope="method"), "learner").metrics.fg
    assert fg.verdict is not None
    assert fg.verdict.word == "inconclusive"
    assert "one adaptation" in fg.verdict.reasons[0]
    assert fg.detectable is not None
    assert fg.detectable.effect is None


def test_a_frozen_arm_has_no_adaptations_to_draw() -> None:
    assert row(study(frozen(repeats=3)), "frozen").metrics.fg.method is None


def test_the_detectable_effect_is_that_of_the_headlines_noise() -> None:
    fg = row(study([*attempts("learner"), *frozen()], power=0.9), "learner").metrics.fg
    assert fg.adjusted is not None
    assert fg.adjusted.interval is not None
    assert fg.detectable is not None
    assert fg.detectable.effect == pytest.approx(
        detectable(fg.adjusted.interval.se or 0, fg.adjusted.interval.df or 0, 0.05, 0.9)
    )


def test_the_noise_floor_of_one_repeat_is_that_of_its_trials() -> None:
    # E[pq] of the T0 attempts: a 1, 0 -> .5; b 1, 1 -> 0; two attempts before and after, two tasks
    records = [
        *cell("T0", "heldout", {"a": [1.0, 0.0], "b": [1.0, 1.0]}),
        *cell("T1", "heldout", {"a": [1.0, 1.0], "b": [1.0, 1.0]}),
    ]
    floor = row(study(records), "learner").metrics.fg.noise_floor
    assert floor is not None
    assert floor.value == pytest.approx(1.959964 * np.sqrt(2 * 0.25 / (2 * 2)))
    assert (floor.source, floor.arm, floor.n_tasks, floor.trials) == ("trials", "learner", 2, 2.0)


def test_the_noise_floor_of_several_repeats_is_measured_between_them() -> None:
    # T0 means of a: .5, 1 -> variance .125; of b: 1, 1 -> 0; phases of two repeats
    records = []
    for repeat, scores in enumerate(({"a": [1.0, 0.0], "b": [1.0, 1.0]}, {"a": [1.0, 1.0], "b": [1.0, 1.0]})):
        for phase in ("T0", "T1"):
            records += cell(phase, "heldout", scores, repeat=repeat)
    floor = row(study(records), "learner").metrics.fg.noise_floor
    assert floor is not None
    assert floor.value == pytest.approx(1.959964 * np.sqrt(2 * 0.0625 / (2 * 2)))
    assert floor.source == "repeats"


def test_the_noise_floor_is_the_controls_where_there_is_one() -> None:
    floor = row(study([*attempts("learner"), *frozen()]), "learner").metrics.fg.noise_floor
    assert floor is not None
    assert floor.arm == "frozen"


def test_two_unchanged_runs_stay_below_the_floor_19_times_in_20() -> None:
    below = []
    for seed in range(60):
        found = row(study(attempts("x", seed=seed, n=40, k=2, splits=("heldout",))), "x").metrics.fg
        assert found.noise_floor is not None
        assert found.value is not None
        below.append(abs(found.value) <= found.noise_floor.value)
    assert np.mean(below) >= 0.88


def test_single_attempts_have_no_floor_and_no_shrinkage_but_flips() -> None:
    records = [
        *cell("T0", "heldout", {"a": [0.0], "b": [1.0], "c": [1.0]}),
        *cell("T1", "heldout", {"a": [1.0], "b": [0.0], "c": [1.0]}),
    ]
    fg = row(study(records), "learner").metrics.fg
    assert fg.noise_floor is None
    assert fg.tasks is not None
    assert (fg.tasks.ids, fg.tasks.flips) == (("a", "b", "c"), (1, -1, 0))
    assert (fg.tasks.shrunken, fg.tasks.kept) == (None, None)


def test_the_changes_of_tasks_are_shrunken_by_their_noise() -> None:
    fg = row(study(attempts("learner", gains(0.2))), "learner").metrics.fg
    assert fg.tasks is not None
    assert fg.tasks.shrunken is not None
    want = shrink_changes(fg.tasks.before, [3] * 30, fg.tasks.after, [3] * 30)
    assert want is not None
    assert fg.tasks.shrunken == pytest.approx(tuple(want.effects), abs=1e-6)
    assert fg.tasks.kept == pytest.approx(want.weight, abs=1e-6)


def test_pass_rates_are_those_of_binary_scores_with_two_attempts() -> None:
    records = cell("T0", "heldout", {"a": [1.0, 1.0, 0.0, 1.0], "b": [0.0, 1.0]})
    (found,) = row(study(records), "learner").cells
    assert found.passes is not None
    # pass^1 (.75 + .5)/2; pass^2 (3/6 + 0)/2; pass@2 (1 + 1)/2
    assert found.passes.pass_hat == pytest.approx((0.625, 0.25))
    assert found.passes.pass_at == pytest.approx((0.625, 1.0))
    graded = cell("T0", "heldout", {"a": [0.5, 1.0]})
    assert row(study(graded), "learner").cells[0].passes is None
    single = cell("T0", "heldout", {"a": [1.0, 1.0], "b": [1.0]})
    assert row(study(single), "learner").cells[0].passes is None


def test_an_agent_error_fails_a_trial() -> None:
    (found,) = row(study(cell("T0", "heldout", {"a": [1.0, "agent_error"]})), "learner").cells
    assert found.passes is not None
    assert found.passes.pass_hat == pytest.approx((0.5, 0.0))


def test_the_variance_of_a_cell_is_split() -> None:
    records = []
    for repeat, scores in enumerate(({"a": [0.0, 1.0], "b": [0.0, 0.0]}, {"a": [1.0, 1.0], "b": [0.0, 1.0]})):
        records += cell("T0", "heldout", scores, repeat=repeat)
    (found,) = row(study(records), "learner").cells
    assert found.variance is not None
    assert found.variance.within == pytest.approx(0.25)
    assert found.variance.between_task == pytest.approx(0.125)
    assert found.variance.between_repeat == pytest.approx(0.125)


def test_gain_and_price_come_as_a_pair_with_a_region() -> None:
    records = [
        *attempts("learner", gains(0.2), repeats=3, token_total=10),
        *frozen(repeats=3, token_total=10),
    ]
    for repeat, tokens in enumerate((900, 1000, 1100)):
        records += cell(
            "T1", "adapt", {"x": [1.0]}, arm="learner", repeat=repeat, token_total=tokens, attempt_seed=repeat
        )
    context = StudyContext(manifest=manifest(selection=DECLARED))
    found = summarize(
        records,
        settings=AnalysisSettings(cost_unit="tokens"),
        context=context,
        adaptation_cost={"learner": 0.0},
    )
    learner = row(found, "learner")
    pair = learner.gain_and_cost
    assert pair is not None
    assert learner.metrics.fg.adjusted is not None
    assert (pair.gain, pair.cost) == (learner.metrics.fg.adjusted.value, pytest.approx(1000.0))
    assert (pair.level, pair.n_costs, pair.unit) == (0.95, 3, "tokens")
    assert pair.gain_interval.level == pytest.approx(0.975)
    assert pair.cost_interval is not None
    assert pair.cost_interval.low < 1000 < pair.cost_interval.high
    ie = learner.metrics.ie
    assert ie.adjusted is not None
    assert ie.adjusted.value == pytest.approx(pair.gain / 1000.0)
    assert row(found, "frozen").gain_and_cost is None


def test_an_efficiency_without_bounds_says_the_word() -> None:
    records = [*attempts("learner", gains(0.2), repeats=3, token_total=10)]
    for repeat, tokens in enumerate((1, 500, 20)):
        records += cell("T1", "adapt", {"x": [1.0]}, arm="learner", repeat=repeat, token_total=tokens)
    found = summarize(
        records, settings=AnalysisSettings(cost_unit="tokens"), adaptation_cost={"learner": 0.0}
    )
    ie = row(found, "learner").metrics.ie
    assert ie.value is not None
    assert ie.interval is None
    assert (ie.interval_reason or "").startswith("unbounded")


def test_few_families_are_said() -> None:
    records = [
        r.model_copy(update={"family": f"f{int(r.task_id[-2:]) % 8}"})
        for r in attempts("learner", gains(0.2))
    ]
    found = row(study(records), "learner")
    assert "few_families" in codes(found)
    assert any("8 families" in warning.message for warning in found.warnings)


def test_an_interval_that_is_known_to_be_too_narrow_warns() -> None:
    before = {f"t{i:02d}": [0.0, 0.0] for i in range(20)}
    after = {**before, "t00": [1.0, 1.0], "t01": [1.0, 1.0]}
    found = row(study([*cell("T0", "heldout", before), *cell("T1", "heldout", after)]), "learner")
    (message,) = (w.message for w in found.warnings if w.code == "narrow_interval")
    assert "the interval of FG may be too narrow" in message
    assert "only 2 of 20 families changed" in message
    even = row(study(attempts("learner", n=40)), "learner")
    assert "narrow_interval" not in codes(even)


def test_a_summary_reads_back_as_it_was_written() -> None:
    found = study([*attempts("learner", gains(0.2), repeats=2), *frozen(repeats=2)])
    assert parse_summary(found.to_json().encode()) == found


def test_a_summary_of_the_first_version_is_still_read() -> None:
    document = study(attempts("learner")).document()
    document["schema_version"] = "1.0.0"
    new = ("adjusted", "method", "verdict", "lost", "selection", "detectable", "noise_floor", "tasks")
    for item in document["rows"]:
        for key in ("control", "gain_and_cost"):
            del item[key]
        for metric in item["metrics"].values():
            for key in new:
                del metric[key]
        for part in item["cells"]:
            for key in ("passes", "variance", "noise_floor"):
                del part[key]
    old = parse_summary(json.dumps(document).encode())
    assert old.rows[0].metrics.fg.verdict is None


def test_a_summary_from_before_the_bounds_of_methods_is_still_read_and_shown() -> None:
    records = [*attempts("learner", gains(0.2), repeats=2), *frozen(repeats=2)]
    document = study(records).document()
    document["schema_version"] = "1.1.0"
    for item in document["rows"]:
        for metric in item["metrics"].values():
            if metric["lost"] is not None:
                del metric["lost"]["reason"], metric["lost"]["sharp"]
            if metric["method"] is not None:
                del metric["method"]["lost"]
    (old,) = (item for item in parse_summary(json.dumps(document).encode()).rows if item.arm == "learner")
    assert old.metrics.fg.lost is not None
    assert old.metrics.fg.lost.sharp is None
    assert old.metrics.fg.method is not None
    assert old.metrics.fg.method.lost is None
    assert bounds("fg", old.metrics.fg.lost) == bounds("fg", row(study(records), "learner").metrics.fg.lost)
