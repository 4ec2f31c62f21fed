"""What a planned study could show and would take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sipbench.protocol.settings import AnalysisSettings
from sipbench.protocol.vocabulary import Split
from sipbench.stats.pilot import prices_of
from sipbench.stats.planning import (
    ASSUMED_NOISE,
    SPREADS,
    Part,
    Prices,
    Sketch,
    design_of,
    foresee,
)
from sipbench.stats.power import Design, minimum_detectable_effect, noise_floor
from tests.protocol.made import cell, write_lines
from tests.stats.studies import attempts, frozen

ALONE = Sketch(Part(40, 40, 4), Part(40, 40, 4), 1, False, 1280)
MEASURED = Prices({Split.HELDOUT: 0.12, Split.REPLAY: 0.12})


def test_the_published_detectable_effects() -> None:
    # 40 tasks x 4 attempts, E[pq] .12: 13.0 and 15.9 points
    found = foresee(ALONE, AnalysisSettings(sesoi=0.1), MEASURED).fg
    assert found is not None
    assert (found.detectable.small, found.detectable.large) == pytest.approx((0.130, 0.159), abs=1e-3)
    assert found.floor == pytest.approx(noise_floor(0.12, 40, 4))
    assert found.measured


def test_retention_of_five_points_needs_the_published_259_tasks() -> None:
    found = foresee(ALONE, AnalysisSettings(margin=0.05), MEASURED).br
    assert found is not None
    assert found.tasks_needed.small == pytest.approx(259, abs=3)


def test_a_control_doubles_the_noise_of_attempts() -> None:
    settings = AnalysisSettings()
    part = Part(40, 40, 4)
    with_control = design_of(part, replace(ALONE, controlled=True), settings, 0.12, 0.15)
    assert with_control.se == pytest.approx(np.sqrt((0.15**2 + 4 * 0.12 / 4) / 40))
    without = design_of(part, ALONE, settings, 0.12, 0.15)
    assert without.se == pytest.approx(np.sqrt((0.15**2 + 2 * 0.12 / 4) / 40))


def test_families_and_claims_about_a_method_widen_it() -> None:
    plain = foresee(ALONE, AnalysisSettings(), MEASURED).fg
    grouped = foresee(replace(ALONE, heldout=Part(40, 10, 4)), AnalysisSettings(), MEASURED).fg
    assert plain is not None
    assert grouped is not None
    assert (grouped.detectable.small or 0) > 1.2 * (plain.detectable.small or 1)
    repeated = replace(ALONE, repeats=3)
    agent = foresee(repeated, AnalysisSettings(), MEASURED).fg
    method = foresee(repeated, AnalysisSettings(scope="method"), MEASURED).fg
    assert agent is not None
    assert method is not None
    assert (method.detectable.small or 0) > (agent.detectable.small or 1)
    single = foresee(ALONE, AnalysisSettings(sesoi=0.1, scope="method"), MEASURED)
    assert single.answers == "unknown"
    assert "one repeat" in single.sentence


def test_what_more_of_it_would_buy() -> None:
    found = foresee(ALONE, AnalysisSettings(), MEASURED).fg
    assert found is not None
    for spread, repeat, tasks in zip(
        SPREADS,
        (found.one_repeat_more.small, found.one_repeat_more.large),
        (found.ten_tasks_more.small, found.ten_tasks_more.large),
        strict=True,
    ):
        at = Design(40, 4, 4, 0.12, 0.12, spread)
        assert repeat == pytest.approx(minimum_detectable_effect(replace(at, repeats=2)))
        assert tasks == pytest.approx(minimum_detectable_effect(replace(at, tasks=50)))


@pytest.mark.parametrize(
    ("sesoi", "answer", "words"),
    [
        (0.17, "yes", "It can answer its question"),
        (0.14, "perhaps", "It may answer its question"),
        (0.05, "no", "It may well miss a gain of 5 points, which it asks for"),
    ],
)
def test_one_sentence_says_whether_it_can_answer_its_question(sesoi: float, answer: str, words: str) -> None:
    found = foresee(ALONE, AnalysisSettings(sesoi=sesoi), MEASURED)
    assert found.answers == answer
    assert words in found.sentence
    assert ("held-out tasks" in found.sentence) == (answer == "no")


def test_without_a_smallest_effect_or_tasks_there_is_no_answer() -> None:
    assert foresee(ALONE, AnalysisSettings()).answers == "unknown"
    nothing = foresee(replace(ALONE, heldout=None), AnalysisSettings(sesoi=0.1))
    assert (nothing.fg, nothing.answers) == (None, "unknown")
    assert "no gain can be shown" in nothing.sentence


def test_cost_and_hours_follow_from_what_an_attempt_takes() -> None:
    found = foresee(replace(ALONE, concurrency=4), AnalysisSettings(), Prices({}, cost=0.05, seconds=90))
    assert found.cost == pytest.approx(1280 * 0.05)
    assert found.hours == pytest.approx(1280 * 90 / 4 / 3600)
    unknown = foresee(ALONE, AnalysisSettings())
    assert (unknown.cost, unknown.hours) == (None, None)
    assert unknown.fg is not None
    assert (unknown.fg.noise, unknown.fg.measured) == (ASSUMED_NOISE, False)


def test_a_plan_keeps_its_promise_in_simulated_studies() -> None:
    # The effect it says it would find is found in as many studies as it says.
    rng = np.random.default_rng(3)
    n, k, tau, p0 = 40, 4, 0.15, 0.4
    noise = p0 * (1 - p0)
    sketch = Sketch(Part(n, n, k), None, 1, False, 2 * n * k)
    fg = foresee(sketch, AnalysisSettings(), Prices({Split.HELDOUT: noise})).fg
    assert fg is not None
    assert fg.detectable.small is not None
    found = []
    for _ in range(2_000):
        p1 = np.clip(p0 + fg.detectable.small + rng.normal(0, tau, n), 0, 1)
        d = (rng.binomial(k, p1) - rng.binomial(k, p0, n)) / k
        t = d.mean() / (d.std(ddof=1) / np.sqrt(n))
        found.append(t > 2.0227)
    assert np.mean(found) == pytest.approx(0.80, abs=0.04)


def test_a_pilot_measures_noise_cost_and_time(tmp_path: Path) -> None:
    records = [
        # variances .5 and 0 on held-out; replay has single attempts
        *cell("T0", "heldout", {"a": [1.0, 0.0], "b": [1.0, 1.0]}, token_total=100, wall_clock_seconds=30.0),
        *cell("T0", "replay", {"r": [1.0]}, token_total=300, wall_clock_seconds=10.0),
        *cell("T1", "adapt", {"x": [1.0]}, token_total=9000, wall_clock_seconds=900.0),
        *cell("T1", "heldout", {"a": [1.0]}, wall_clock_seconds=20.0),
    ]
    path = write_lines(tmp_path / "runs.jsonl", records)
    found = prices_of(path, AnalysisSettings(cost_unit="tokens"))
    assert found.noise == {Split.HELDOUT: pytest.approx(0.25)}
    assert found.cost == pytest.approx((4 * 100 + 300) / 5)
    assert found.seconds == pytest.approx((4 * 30 + 10 + 20) / 6)
    assert prices_of(path, AnalysisSettings()).cost is None


def test_an_oracle_says_nothing_of_the_noise_of_others(tmp_path: Path) -> None:
    records = [*frozen(), *attempts("known", path_type="oracle", chances=(1.0, 1.0))]
    alone = prices_of(write_lines(tmp_path / "a.jsonl", frozen()), AnalysisSettings())
    both = prices_of(write_lines(tmp_path / "b.jsonl", records), AnalysisSettings())
    assert both.noise == pytest.approx(alone.noise)


def test_what_is_assumed_is_named_with_its_source() -> None:
    grouped = replace(ALONE, heldout=Part(40, 10, 4), replay=None)
    found = foresee(grouped, AnalysisSettings(scope="method"), Prices({})).assumptions
    assert [(item.name, item.values, item.source) for item in found] == [
        ("noise", (ASSUMED_NOISE,), "default"),
        ("spread", SPREADS, "default"),
        ("rho", (0.2,), "default"),
        ("repeat_sd", (0.05,), "default"),
    ]
    measured = foresee(ALONE, AnalysisSettings(), Prices({Split.HELDOUT: 0.12})).assumptions
    # tasks are their own families and the claim is about agents: the other two do not enter
    assert [(item.name, item.split, item.source) for item in measured] == [
        ("noise", Split.HELDOUT, "pilot"),
        ("noise", Split.REPLAY, "default"),
        ("spread", None, "default"),
    ]
