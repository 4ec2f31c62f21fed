"""The words of a summary: what lost attempts, replay selection and several arms allow to be said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sipbench.protocol.inference import Verdict
from sipbench.protocol.manifest import (
    Crossfit,
    Preregistered,
    ReplaySelection,
    SameRun,
    Screened,
    replay_list_digest,
)
from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import AnalysisSettings, StudyContext
from sipbench.protocol.summary import Summary
from sipbench.protocol.vocabulary import Phase, Status
from sipbench.stats.contrasts import TaskMeans
from sipbench.stats.selection import crossfit_retention, expected_selection_bias
from sipbench.stats.summarize import summarize
from tests.protocol.made import cell
from tests.stats.studies import attempts, codes, frozen, gains, manifest, plan, row, unchanged

NOW = "2026-05-01T00:00:00.000Z"
DECLARED = Preregistered(list_digest=replay_list_digest(manifest().replay), declared_at=NOW)


def study(
    records: list[RunRecord],
    selection: ReplaySelection | None = DECLARED,
    planned: list[object] | None = None,
    n: int = 30,
    **settings: object,
) -> Summary:
    context = StudyContext(manifest=manifest(n, selection), planned=planned)  # type: ignore[arg-type]
    return summarize(records, settings=AnalysisSettings.model_validate(settings), context=context)


def verdict(found: Summary, metric: str = "fg", arm: str = "learner") -> Verdict:
    said = getattr(row(found, arm).metrics, metric).verdict
    assert isinstance(said, Verdict)
    return said


def lose(records: list[RunRecord], share: float, which: Callable[[RunRecord], bool]) -> list[RunRecord]:
    """Records of which a share of those chosen ended in an infrastructure error."""
    rng = np.random.default_rng(7)
    chosen = [i for i, record in enumerate(records) if which(record)]
    gone = set(rng.choice(chosen, round(share * len(chosen)), replace=False).tolist())
    lost = {"status": Status.INFRASTRUCTURE_ERROR, "score": None}
    return [r.model_copy(update=lost) if i in gone else r for i, r in enumerate(records)]


def later(record: RunRecord) -> bool:
    return record.phase == "T1" and record.arm == "learner"


def test_a_clear_gain_against_the_control_is_an_improvement_with_all_that_it_rests_on() -> None:
    found = verdict(study([*attempts("learner", gains(0.3)), *frozen()], sesoi=0.1))
    assert (found.word, found.reasons, found.basis) == ("improved", (), "adjusted")
    assert (found.arm, found.scope, found.n_tasks, found.n_families) == ("learner", "agent", 30, 30)
    assert (found.attempts, found.coverage, found.sesoi, found.margin) == ((3.0, 3.0), 1.0, 0.1, None)
    assert found.interval is not None
    assert found.interval.low > 0
    assert found.p_value is not None
    assert found.p_value < 0.05


def test_a_clear_loss_is_worse() -> None:
    assert verdict(study([*attempts("learner", gains(-0.4)), *frozen()])).word == "worse"


def test_no_evidence_needs_a_study_that_could_have_found_what_matters() -> None:
    # every attempt of 200 tasks is sure, so the noise is small
    records = []
    for phase in ("T0", "T1"):
        scores = {f"t{i:03d}": [float((i % 2 == 0) ^ (phase == "T1" and i % 40 == 0))] for i in range(200)}
        flipped = {"t001": [1.0]} if phase == "T1" else {}
        records += cell(phase, "heldout", scores | flipped)
    assert verdict(study(records, sesoi=0.1)).word in ("no evidence", "worse")
    assert verdict(study(attempts("learner"), sesoi=0.5)).word == "no evidence"
    small = verdict(study(attempts("learner"), sesoi=0.02))
    assert small.word == "inconclusive"
    assert "the study finds changes from" in small.reasons[0]
    undeclared = verdict(study(attempts("learner")))
    assert undeclared.word == "inconclusive"


def test_with_40_percent_of_the_later_attempts_lost_a_gain_is_inconclusive_with_bounds() -> None:
    whole = [*attempts("learner", gains(0.35)), *frozen()]
    assert verdict(study(whole)).word == "improved"
    found = study(lose(whole, 0.4, later))
    said = verdict(found)
    assert said.word == "inconclusive"
    assert any("planned attempts" in reason for reason in said.reasons)
    lost = row(found, "learner").metrics.fg.lost
    assert lost is not None
    assert lost.coverage == pytest.approx(0.6, abs=0.03)
    assert lost.gate in ("numbers", "bounds")
    assert lost.low is not None
    assert lost.high is not None
    assert lost.outer_low is not None
    assert lost.outer_high is not None
    assert lost.outer_low < lost.low < (said.value or 0) < lost.high < lost.outer_high
    assert lost.high - lost.low == pytest.approx(0.4, abs=0.03)
    assert {"low_coverage", "attrition"} <= set(codes(row(found, "learner")))


def test_attempts_that_were_planned_and_never_made_are_lost_as_well() -> None:
    whole = [*attempts("learner", gains(0.35)), *frozen()]
    made = [r for i, r in enumerate(whole) if not (later(r) and i % 5 < 2)]
    planned = [*plan("learner", 90), *plan("frozen", 90)]
    found = study(made, planned=planned)
    assert verdict(found).word == "inconclusive"
    lost = row(found, "learner").metrics.fg.lost
    assert lost is not None
    assert lost.coverage == pytest.approx(0.6, abs=0.02)
    # Without the plan nobody knows of them.
    unplanned = row(study(made), "learner").metrics.fg.lost
    assert unplanned is not None
    assert unplanned.coverage == 1.0


def test_dropping_lost_failures_would_have_invented_the_gain() -> None:
    records = attempts("learner", n=60, k=4)
    failing = [r for r in records if later(r) and r.benchmark_split == "heldout" and r.score == 0.0]
    ids = {r.run_id for r in failing[:70]}
    lost = {"status": Status.CANCELLED, "score": None}
    found = study([r.model_copy(update=lost) if r.run_id in ids else r for r in records], n=60)
    fg = row(found, "learner").metrics.fg
    assert fg.lost is not None
    assert fg.lost.complete_case.interval is not None
    assert fg.lost.complete_case.interval.low > 0
    assert fg.lost.errors_as_0.value == pytest.approx(0.0, abs=0.08)
    assert fg.verdict is not None
    assert fg.verdict.word == "inconclusive"
    assert "attrition" in codes(row(found, "learner"))


def test_uneven_losses_leave_a_verdict_standing_where_both_bounds_agree() -> None:
    whole = [*attempts("learner", gains(0.6), chances=(0.1, 0.3)), *frozen(chances=(0.1, 0.3))]
    found = study(lose(whole, 0.05, later))
    lost = row(found, "learner").metrics.fg.lost
    assert lost is not None
    assert any(gap.flagged for gap in lost.attrition)
    assert verdict(found).word == "improved"


def test_the_metrics_made_of_others_have_bounds_as_well() -> None:
    # replay: a 1 of 1 before, b 0 of 1; after a passes, b is lost. held-out: all known, a gain of .5
    records = [
        *cell("T0", "replay", {"a": [1.0], "b": [0.5]}, token_total=1),
        *cell("T1", "replay", {"a": [1.0], "b": ["cancelled"]}, token_total=1),
        *cell("T0", "heldout", {"x": [0.0], "y": [0.0]}, token_total=1),
        *cell("T1", "heldout", {"x": [0.5], "y": [0.5]}, token_total=1),
    ]
    settings = AnalysisSettings.model_validate({"cost_unit": "tokens", "lambda": 2.0})
    (found,) = summarize(records, settings=settings, adaptation_cost={"learner": 10.0}).rows
    br_ratio, nis, ie = found.metrics.br_ratio.lost, found.metrics.nis.lost, found.metrics.ie.lost
    assert br_ratio is not None
    assert (br_ratio.low, br_ratio.high) == pytest.approx((0.5 / 0.75, 1.0 / 0.75))
    assert br_ratio.complete_case.value == pytest.approx(1.0)
    assert br_ratio.errors_as_0.value == pytest.approx(0.5 / 0.75)
    # BR between -.25 and +.25
    assert nis is not None
    assert (nis.low, nis.high) == pytest.approx((0.5 - 2 * 0.25, 0.5))
    assert (nis.coverage, nis.gate) == (0.5, "bounds")
    assert ie is not None
    assert (ie.low, ie.high, ie.coverage) == pytest.approx((0.05, 0.05, 1.0))


def test_an_agents_own_errors_count_and_are_not_lost() -> None:
    errors = {"status": Status.AGENT_ERROR, "score": None}
    records = [
        r.model_copy(update=errors) if later(r) and i % 2 else r for i, r in enumerate(attempts("learner"))
    ]
    lost = row(study(records), "learner").metrics.fg.lost
    assert lost is not None
    assert (lost.coverage, lost.gate) == (1.0, "verdict")
    assert lost.complete_case.value is not None
    assert lost.errors_as_0.value is not None
    assert lost.complete_case.value > lost.errors_as_0.value


def test_retention_is_judged_against_the_margin() -> None:
    steady = [*attempts("learner", k=10, n=60), *frozen(k=10, n=60)]
    kept = verdict(study(steady, margin=0.15, n=60), "br")
    assert (kept.word, kept.margin, kept.selection) == ("retained", 0.15, "preregistered")
    tight = verdict(study(steady, margin=0.01, n=60), "br")
    assert tight.word == "inconclusive"
    forgetful = [*attempts("learner", gains(-0.4, ("replay",))), *frozen()]
    assert verdict(study(forgetful), "br").word == "loss"


def test_persistence_is_judged_by_the_same_rule() -> None:
    phases = ("T0", "T1", "T2")

    def fades(phase: str, split: str, p: float) -> float:
        return p + 0.2 if phase == "T1" and split == "heldout" else p - 0.2 if phase == "T2" else p

    lasting = attempts("learner", gains(0.2), phases=phases, k=10)
    still = frozen(phases=phases, k=10)
    assert verdict(study([*lasting, *still], margin=0.25), "pds").word == "persists"
    fading = attempts("learner", fades, phases=phases, k=10)
    found = study([*fading, *still], margin=0.05)
    assert verdict(found, "pds").word == "decays"
    assert verdict(found, "pds").basis == "adjusted"


def test_an_undeclared_choice_of_replay_gets_no_verdict() -> None:
    found = study([*attempts("learner"), *frozen()], selection=None)
    said = verdict(found, "br")
    assert said.word is None
    assert "not declared" in said.reasons[0]
    assert said.selection == "undeclared"
    assert "selected_replay" in codes(row(found, "learner"))


def test_a_screened_list_gets_a_verdict() -> None:
    screened = Screened(screen_run_id="screen-1", rule="solved")
    found = study([*attempts("learner", k=10, n=60), *frozen(k=10, n=60)], screened, n=60, margin=0.15)
    assert verdict(found, "br").word == "retained"


def solved_once(records: list[RunRecord]) -> list[RunRecord]:
    """Only the replay tasks whose first attempt at T0 passed."""
    solved = {
        r.task_id
        for r in records
        if (r.phase, r.benchmark_split, r.attempt_index, r.score) == ("T0", "replay", 0, 1.0)
    }
    return [r for r in records if r.benchmark_split != "replay" or r.task_id in solved]


def test_replay_chosen_by_its_own_scores_gives_numbers_without_a_verdict_and_the_expected_bias() -> None:
    records = solved_once(attempts("learner", n=60, k=3, chances=(0.0, 1.0)))
    found = study(records, SameRun(rule="solved in at least 1 of 1"), n=60)
    br = row(found, "learner").metrics.br
    assert br.value is not None
    assert br.value < -0.02
    assert br.interval is not None
    assert br.verdict is not None
    assert br.verdict.word is None
    assert br.selection is not None
    passes = next(c for c in row(found, "learner").cells if (c.phase, c.split) == ("T0", "heldout")).passes
    assert passes is not None
    # one of three scored attempts chose
    want = expected_selection_bias(passes.pass_hat[0], passes.pass_hat[1], 1, 1)
    assert want is not None
    assert br.selection.expected_bias == pytest.approx(want / 3)
    assert f"{want / 3:+.3f}" in br.verdict.reasons[0]
    assert br.selection.expected_bias == pytest.approx(br.value, abs=0.06)


def test_only_what_cancels_is_judged_after_such_a_choice() -> None:
    shared = solved_once(frozen(n=60, k=3))
    kept = {r.task_id for r in shared}
    learner = [r for r in attempts("learner", n=60, k=3) if r.phase == "T1" and r.task_id in kept]
    found = study([*learner, *shared], SameRun(rule="solved"), n=60, margin=0.3)
    said = verdict(found, "br")
    adjusted = row(found, "learner").metrics.br.adjusted
    assert adjusted is not None
    assert adjusted.shared_before
    assert said.word == "retained"


def test_crossfitted_replay_is_chosen_on_one_trial_and_scored_on_the_others() -> None:
    records = attempts("learner", k=4, chances=(0.0, 1.0))
    found = study(records, Crossfit(rule="solved", folds=4))
    br = row(found, "learner").metrics.br
    trials, after = np.zeros((30, 4)), np.zeros(30)
    for r in records:
        if r.benchmark_split == "replay":
            task = int(r.task_id[-2:])
            if r.phase == "T0":
                trials[task, r.attempt_index] = r.score or 0.0
            else:
                after[task] += (r.score or 0.0) / 4
    want = crossfit_retention(trials, trials == 1.0, after)
    assert want.interval is not None
    assert br.value == pytest.approx(want.estimate)
    assert br.interval is not None
    assert (br.interval.low, br.interval.df) == pytest.approx((want.interval.low, want.interval.df))
    assert br.selection is not None
    assert (br.selection.method, br.selection.rule) == ("crossfit", "solved")
    assert br.selection.fold_sizes == want.fold_sizes
    assert br.selection.plain is not None
    assert br.selection.plain.n_tasks == 30
    assert br.repeats_mean == pytest.approx(br.value)
    # the plain value over all candidates is another estimand
    assert br.selection.plain.value != pytest.approx(br.value)
    assert br.verdict is not None
    assert br.verdict.selection == "crossfit"
    ratio = row(found, "learner").metrics.br_ratio
    kept = float(np.sum(want.weights * after))
    assert ratio.value == pytest.approx(kept / (kept - (want.estimate or 0.0)))


def test_crossfitted_replay_against_the_control() -> None:
    records = [*attempts("learner", k=4, chances=(0.0, 1.0)), *frozen(k=4, chances=(0.0, 1.0))]
    found = study(records, Crossfit(rule="solved", folds=4))
    br = row(found, "learner").metrics.br
    assert br.adjusted is not None
    control = row(found, "frozen").metrics.br
    assert control.tasks is not None
    less = dict(
        zip(
            control.tasks.ids,
            np.asarray(control.tasks.after) - np.asarray(control.tasks.before),
            strict=True,
        )
    )
    ids = tuple(sorted({r.task_id for r in records if r.benchmark_split == "replay"}))
    assert br.tasks is not None
    later_mean = TaskMeans(br.tasks.ids, np.asarray(br.tasks.after))
    after = later_mean.means - np.asarray([less[task] for task in ids])
    trials = np.zeros((30, 4))
    for r in records:
        if (r.arm, r.phase, r.benchmark_split) == ("learner", "T0", "replay"):
            trials[int(r.task_id[-2:]), r.attempt_index] = r.score or 0.0
    want = crossfit_retention(trials, trials == 1.0, after)
    assert br.adjusted.value == pytest.approx(want.estimate)


def test_a_crossfitting_rule_that_cannot_be_read_or_kept_gives_no_retention() -> None:
    unread = row(study(attempts("learner"), Crossfit(rule="when lucky", folds=3)), "learner").metrics.br
    assert unread.value is None
    assert "say `solved`" in (unread.reason or "")
    single = row(study(attempts("learner", k=1), Crossfit(rule="solved", folds=2)), "learner").metrics.br
    assert single.value is None
    assert "two attempts" in (single.reason or "")


def test_an_unchanged_agent_keeps_what_it_had_under_crossfitting() -> None:
    values = []
    for seed in range(25):
        records = attempts("learner", seed=seed, k=4, splits=("replay",), chances=(0.0, 1.0))
        found = study(records, Crossfit(rule="solved", folds=4))
        values.append(row(found, "learner").metrics.br.value)
    assert np.mean(values) == pytest.approx(0.0, abs=0.02)


def test_several_arms_are_held_to_holm() -> None:
    learners = [
        *attempts("strong", gains(0.4)),
        *attempts("weak", gains(0.2), seed=4),
        *attempts("idle", unchanged),
    ]
    found = study([*learners, *frozen()])
    strong, weak, idle = (verdict(found, arm=name) for name in ("strong", "weak", "idle"))
    assert strong.word == "improved"
    assert strong.p_holm is not None
    assert strong.p_holm < 0.05
    alone = verdict(study([*attempts("strong", gains(0.4)), *frozen()]), arm="strong")
    assert alone.p_holm is None
    assert idle.word == "inconclusive"
    assert weak.p_holm is not None
    assert idle.p_holm is not None
    assert strong.p_holm <= weak.p_holm <= idle.p_holm


def test_a_gain_that_holm_does_not_confirm_is_inconclusive() -> None:
    frozen_arm = frozen(n=40)
    for seed in range(200):
        learner = attempts("learner", gains(0.12), seed=seed, n=40)
        alone = study([*learner, *frozen_arm], n=40)
        said = verdict(alone)
        if said.word == "improved" and said.interval is not None and said.interval.low < 0.02:
            break
    else:  # pragma: no cover
        pytest.fail("no borderline gain was drawn")
    others = [r for i in range(4) for r in attempts(f"idle{i}", unchanged, n=40)]
    found = verdict(study([*learner, *others, *frozen_arm], n=40))
    assert found.word == "inconclusive"
    assert "Holm" in found.reasons[-1]
    assert found.interval == said.interval


def test_under_ten_families_the_test_must_agree() -> None:
    families = [
        r.model_copy(update={"family": f"f{int(r.task_id[-2:]) % 7}"})
        for r in [*attempts("learner", gains(0.4)), *frozen()]
    ]
    said = verdict(study(families))
    assert said.n_families == 7
    assert said.word == "improved"
    few = [
        r.model_copy(update={"family": f"f{int(r.task_id[-2:]) % 5}"})
        for r in [*attempts("learner", gains(0.4)), *frozen()]
    ]
    assert verdict(study(few)).word == "inconclusive"
    kept = verdict(study(families, margin=0.3), "br")
    assert kept.p_margin is not None


def test_under_ten_families_crossfitted_replay_can_be_judged_as_well() -> None:
    families = [
        r.model_copy(update={"family": f"f{int(r.task_id[-2:]) % 8}"})
        for r in [*attempts("learner", k=4), *frozen(k=4)]
    ]
    said = verdict(study(families, Crossfit(rule="solved", folds=4), margin=0.4), "br")
    assert (said.n_families, said.word) == (8, "retained")
    assert said.p_value is not None
    assert said.p_margin is not None
    assert said.p_margin < 0.05


@pytest.fixture(scope="module")
def airline(shared_data: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> list[RunRecord]:
    """The four tau-bench trials, imported as the command does."""
    from sipbench import load_runs
    from tests.cli.command import sip

    out = tmp_path_factory.mktemp("tau") / "runs.jsonl"
    source = shared_data("tau", "gpt-4o-airline.json")
    ended = sip("import", "tau", source, "--out", out, "--domain", "airline", "--arm", "gpt-4o")
    assert ended.code == 0, ended.err
    return load_runs(out)


def test_the_published_pass_rates_and_the_noise_floor_of_the_airline_trials(airline: list[RunRecord]) -> None:
    # sierra-research/tau-bench, README: gpt-4o (tool calling), airline
    (found,) = row(summarize(airline), "gpt-4o").cells
    assert found.passes is not None
    assert found.passes.pass_hat == pytest.approx((0.420, 0.273, 0.220, 0.200), abs=5e-4)
    assert found.passes.n_tasks == 50
    assert found.noise_floor is not None
    assert found.noise_floor.value == pytest.approx(0.075, abs=5e-4)
    assert found.variance is not None
    assert found.variance.within == pytest.approx(0.147, abs=1e-3)


def test_fake_phases_of_the_airline_trials_are_neither_improved_nor_worse(airline: list[RunRecord]) -> None:
    trials: dict[str, list[dict[Phase, RunRecord]]] = {}
    for record in airline:
        in_phase = {phase: record.model_copy(update={"phase": phase}) for phase in (Phase.T0, Phase.T1)}
        trials.setdefault(record.task_id, []).append(in_phase)
    rng = np.random.default_rng(20_240_612)
    settings = AnalysisSettings(sesoi=0.05)
    claims = 0
    for _ in range(500):
        fake = []
        for records in trials.values():
            for place, i in enumerate(rng.permutation(4)):
                fake.append(records[i][Phase.T0 if place < 2 else Phase.T1])
        (found,) = summarize(fake, settings=settings).rows
        assert found.metrics.fg.verdict is not None
        claims += found.metrics.fg.verdict.word in ("improved", "worse")
    assert claims <= 0.07 * 500


def test_a_verdict_is_plain_json(airline: list[RunRecord]) -> None:
    found = study([*attempts("learner", gains(0.3)), *frozen()]).to_json()
    said = json.loads(found)["rows"][1]["metrics"]["fg"]["verdict"]
    assert said["word"] == "improved"
    assert said["arm"] == "learner"


def test_uneven_losses_are_said_with_the_phases_and_by_how_much() -> None:
    records = lose([*attempts("learner", gains(0.3)), *frozen()], 0.4, later)
    said = [w.message for w in row(study(records), "learner").warnings if w.code == "attrition"]
    assert said[0].startswith("FG: at T1 more of the attempts were lost than at T0, by ")
    assert said[1].startswith("FG: at T1 more of the attempts were lost than by the control 'frozen', by ")
    assert all("percentage points of a task's attempts" in text for text in said)
    early = lose(attempts("learner"), 0.3, lambda r: r.phase == "T0")
    first = next(w.message for w in row(study(early), "learner").warnings if w.code == "attrition")
    assert first.startswith("FG: at T1 fewer of the attempts were lost than at T0, by ")
