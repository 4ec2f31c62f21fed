"""What lost attempts could change in every metric: no way to score them leads out of the bounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sipbench.protocol.inference import LostAttempts
from sipbench.protocol.manifest import Crossfit
from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import AnalysisSettings, StudyContext
from sipbench.protocol.summary import Estimate, Row
from sipbench.protocol.vocabulary import Status
from sipbench.stats._arrays import group
from sipbench.stats.crossfit_lost import least_mean
from sipbench.stats.intervals import t_quantile
from sipbench.stats.losses import ratio_bounds
from sipbench.stats.missing import Tally
from sipbench.stats.ratio import retention_ratio
from sipbench.stats.summarize import summarize
from tests.protocol.made import cell
from tests.stats.studies import manifest

LOST = "cancelled"
NEAR = 1e-9


def tallied(planned: list[int], graded: list[int], total: list[float]) -> Tally:
    ids = tuple(f"t{i:02d}" for i in range(len(planned)))
    return Tally(ids, np.array(planned), np.array(graded), np.zeros(len(ids), dtype=int), np.array(total))


def learner(records: list[RunRecord], context: StudyContext | None = None, **analysis: object) -> Row:
    found = summarize(records, settings=AnalysisSettings.model_validate(analysis), context=context)
    (row,) = (row for row in found.rows if row.arm == "learner")
    return row


def lost_of(estimate: Estimate) -> LostAttempts:
    assert estimate.lost is not None
    return estimate.lost


def completions(records: list[RunRecord], scores: tuple[float, ...]) -> Iterator[list[RunRecord]]:
    """The records with each lost attempt graded, in every way."""
    gone = [i for i, record in enumerate(records) if record.score is None]
    for values in itertools.product(scores, repeat=len(gone)):
        made = list(records)
        for i, value in zip(gone, values, strict=True):
            made[i] = made[i].model_copy(update={"status": Status.GRADED, "score": value})
        yield made


def test_bounds_of_a_ratio_by_hand() -> None:
    # before a 2 of 3 graded 4 planned: .5 to .75; after 1 of 2 graded: .25 to .75
    before, after = tallied([4], [3], [2.0]), tallied([4], [2], [1.0])
    got = ratio_bounds(before, after)
    assert got is not None
    assert (got.low, got.high, got.sharp) == (pytest.approx(0.25 / 0.75), pytest.approx(0.75 / 0.5), True)
    # one task has no interval
    assert (got.outer_low, got.outer_high) == (None, None)
    assert got.reason is not None
    assert got.reason.startswith("one task")


def test_a_ratio_whose_denominator_may_be_too_small_has_no_upper_bound_and_says_so() -> None:
    before, after = tallied([4], [3], [0.0]), tallied([4], [2], [1.0])
    got = ratio_bounds(before, after)
    assert got is not None
    assert (got.low, got.high, got.outer_high) == (pytest.approx(0.25 / 0.25), None, None)
    assert got.reason == "unbounded above: with lost attempts at 0 the mean T0 score is 0, below eps = 0.05"
    # even the best score before is below eps; no task in common
    assert ratio_bounds(tallied([4], [4], [0.0]), after) is None
    assert ratio_bounds(before, Tally(("x",), *(np.array([1]),) * 2, np.array([0]), np.array([1.0]))) is None


def test_outer_limits_of_a_ratio_are_the_ends_of_its_intervals_at_worst_and_at_best() -> None:
    before = tallied([2] * 6, [2, 1, 2, 2, 2, 2], [2.0, 1.0, 2.0, 1.0, 2.0, 2.0])
    after = tallied([2] * 6, [1, 2, 2, 2, 2, 2], [0.0, 1.0, 2.0, 1.0, 1.0, 2.0])
    got = ratio_bounds(before, after)
    assert got is not None
    worst = retention_ratio([1.0, 1.0, 1.0, 0.5, 1.0, 1.0], [0.0, 0.5, 1.0, 0.5, 0.5, 1.0])
    best = retention_ratio([1.0, 0.5, 1.0, 0.5, 1.0, 1.0], [0.5, 0.5, 1.0, 0.5, 0.5, 1.0])
    assert worst.interval is not None
    assert best.interval is not None
    assert (got.low, got.high) == (pytest.approx(3.5 / 5.5), pytest.approx(4.0 / 5.0))
    assert (got.outer_low, got.outer_high) == (worst.interval.low, best.interval.high)


side = st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))


@given(st.lists(st.tuples(side, side), min_size=1, max_size=8))
def test_no_scores_of_lost_attempts_lead_a_ratio_out_of_its_bounds(
    rows: list[tuple[tuple[int, ...], ...]],
) -> None:
    cells, truths = [], []
    for one in zip(*rows, strict=True):
        planned = [p for p, *_ in one]
        graded = [min(g, p) for p, g, *_ in one]
        passed = [min(x, g) for (_, _, x, _), g in zip(one, graded, strict=True)]
        more = [min(y, p - g) for (p, _, _, y), g in zip(one, graded, strict=True)]
        cells.append(tallied(planned, graded, [float(x) for x in passed]))
        truths.append(float(np.mean([(x + y) / p for x, y, p in zip(passed, more, planned, strict=True)])))
    got = ratio_bounds(*cells)
    if truths[0] < 0.05:
        return
    assert got is not None
    assert got.low is not None
    assert got.low - NEAR <= truths[1] / truths[0]
    assert got.high is None or truths[1] / truths[0] <= got.high + NEAR


def test_efficiency_and_net_score_at_worst_and_at_best_by_hand() -> None:
    records = [
        *cell("T0", "heldout", {"u": [0.0], "v": [0.0], "w": [0.0]}, token_total=1),
        *cell("T1", "heldout", {"u": [1.0], "v": [0.5], "w": [LOST]}, token_total=1),
        *cell("T0", "replay", {"a": [1.0], "b": [0.5], "c": [0.5]}, token_total=1),
        *cell("T1", "replay", {"a": [0.5], "b": [LOST], "c": [0.5]}, token_total=1),
    ]
    found = summarize(
        records,
        settings=AnalysisSettings.model_validate({"cost_unit": "tokens", "lambda": 2.0}),
        adaptation_cost={"learner": 10.0},
    ).rows[0]
    fg, ie, nis = (lost_of(getattr(found.metrics, name)) for name in ("fg", "ie", "nis"))
    # gains 1, .5, 0 to 1: FG .5 to .8333; losses -.5, -.5 to .5, 0: BR -.3333 to 0
    assert (fg.low, fg.high) == (pytest.approx(0.5), pytest.approx(2.5 / 3))
    assert (ie.low, ie.high) == (pytest.approx(0.05), pytest.approx(0.25 / 3))
    assert (nis.low, nis.high) == (pytest.approx(0.5 - 2 / 3), pytest.approx(2.5 / 3))
    # one cost is a constant, so the limits of IE are those of FG over it
    assert fg.outer_low is not None
    assert ie.outer_low == pytest.approx(fg.outer_low / 10)
    # gains 1, .5, 0 have SE .5/sqrt(3), losses -.5, -.5, 0 have SE 1/6; two intervals at 97.5 %
    t = t_quantile(2, 0.025)
    gain, kept = 0.5 - t * 0.5 / np.sqrt(3), -1 / 3 - t / 6
    assert nis.outer_low == pytest.approx(gain - 2 * -kept)
    assert (ie.sharp, nis.sharp) == (True, True)
    assert ie.complete_case.value == pytest.approx(0.075)


def test_the_least_mean_over_folds_takes_what_lowers_it_by_hand() -> None:
    # fold 1 selects .4 and may take .1 and .3: (.4 + .1)/2 = .25 is the least, .3 would raise it.
    # fold 2 selects nothing and may take .9, which would raise the mean over folds.
    r = np.array([[0.4, 0.9], [0.1, 0.0], [0.3, 0.0]])
    chosen = np.array([[True, False], [False, False], [False, False]])
    possible = np.array([[True, True], [True, False], [True, False]])
    got = least_mean(r, chosen, possible, group(None, 3), 0.05)
    assert got.estimate == pytest.approx(0.25)
    assert got.fold_sizes == (2, 0)
    # .1 in place of .9 lowers it
    lower = least_mean(np.where(r == 0.9, 0.1, r), chosen, possible, group(None, 3), 0.05)
    assert lower.estimate == pytest.approx((0.25 + 0.1) / 2)


def replayed(t0: dict[str, list[object]], t1: dict[str, list[object]], **given: object) -> list[RunRecord]:
    return [*cell("T0", "replay", t0, **given), *cell("T1", "replay", t1, **given)]  # type: ignore[arg-type]


CROSSFIT = StudyContext(manifest=manifest(3, Crossfit(rule="solved", folds=2)))
OUTCOME = st.sampled_from([0.0, 1.0, LOST])


@settings(max_examples=40)
@given(st.lists(st.tuples(OUTCOME, OUTCOME, OUTCOME), min_size=3, max_size=3))
def test_no_scores_of_lost_attempts_lead_crossfitted_retention_out_of_its_bounds(
    rows: list[tuple[object, ...]],
) -> None:
    if sum(value == LOST for row in rows for value in row) > 4:
        return
    names = [f"replay{i:02d}" for i in range(3)]
    records = replayed(
        {name: [first, second] for name, (first, second, _) in zip(names, rows, strict=True)},
        {name: [later] for name, (_, _, later) in zip(names, rows, strict=True)},
    )
    found = learner(records, CROSSFIT).metrics
    if found.br.value is None:
        return
    br, ratio = lost_of(found.br), lost_of(found.br_ratio)
    assert br.low is not None
    assert br.high is not None
    assert br.low - NEAR <= found.br.value <= br.high + NEAR
    for made in completions(records, (0.0, 0.5, 1.0)):
        full = learner(made, CROSSFIT).metrics
        if full.br.value is None:
            continue
        assert br.low - NEAR <= full.br.value <= br.high + NEAR
        if ratio.low is not None and full.br_ratio.value is not None:
            assert ratio.low - NEAR <= full.br_ratio.value
            assert ratio.high is None or full.br_ratio.value <= ratio.high + NEAR


def test_bounds_of_crossfitted_retention_by_hand() -> None:
    # every T0 attempt is there: fold 1 selects a and b, fold 2 a; b's T1 attempt is lost
    records = replayed(
        {"replay00": [1.0, 1.0], "replay01": [1.0, 0.0], "replay02": [0.0, 0.0]},
        {"replay00": [0.5, 0.5], "replay01": [1.0, LOST], "replay02": [0.0, 0.0]},
    )
    br = lost_of(learner(records, CROSSFIT).metrics.br)
    # fold 1: a .5 - 1, b .5 or 1 - 0; fold 2: a .5 - 1
    assert (br.low, br.high) == (pytest.approx((0.0 - 0.5) / 2), pytest.approx((0.25 - 0.5) / 2))
    assert br.complete_case.value == pytest.approx((0.25 - 0.5) / 2)
    assert br.errors_as_0.value == pytest.approx(-0.25)
    assert br.sharp is True
    # a lost T0 attempt might have chosen its task: the folds are bounded one by one
    open_choice = replayed(
        {"replay00": [1.0, 1.0], "replay01": [1.0, LOST], "replay02": [1.0, 1.0]},
        {"replay00": [0.5], "replay01": [1.0], "replay02": [1.0]},
    )
    br = lost_of(learner(open_choice, CROSSFIT).metrics.br)
    # at worst fold 1: a -.5, b 1 - 1, c 0, where b would raise -.25 and b may be left out; fold 2: a -.5, c 0
    assert br.low == pytest.approx(-0.25)
    # at best fold 1: a -.5, b 1 - 0, c 0; fold 2: a -.5, b (1 - 1 = 0, which raises -.25), c 0
    assert br.high == pytest.approx((0.5 / 3 - 0.5 / 3) / 2)
    assert br.sharp is False


def adaptations(*repeats: dict[str, tuple[object, object]]) -> list[RunRecord]:
    """Held-out attempts at T0 and T1 of each task, repeat by repeat."""
    found = []
    for number, tasks in enumerate(repeats):
        found += cell("T0", "heldout", {name: [first] for name, (first, _) in tasks.items()}, repeat=number)
        found += cell("T1", "heldout", {name: [later] for name, (_, later) in tasks.items()}, repeat=number)
    return found


def test_bounds_of_a_claim_about_the_method_by_hand() -> None:
    records = adaptations(
        {"a": (0.0, 1.0), "b": (0.0, LOST), "c": (0.5, 0.5)},
        {"a": (0.0, 0.5), "b": (0.0, 1.0), "c": (0.0, 0.5)},
    )
    method = learner(records, scope="method").metrics.fg.method
    assert method is not None
    assert method.lost is not None
    # at worst 1, 0, 0 and .5, 1, .5; at best the second is 1
    assert (method.lost.low, method.lost.high) == (pytest.approx(0.5), pytest.approx(4 / 6))
    # dropped: task b has no cell in the first adaptation, so a and c are left: 1, 0, .5, .5
    assert method.lost.complete_case.value == pytest.approx(0.5)
    assert method.lost.errors_as_0.value == pytest.approx(0.5)
    assert method.lost.outer_low is not None
    assert method.lost.outer_high is not None
    assert method.lost.outer_low < method.lost.low
    assert method.lost.outer_high > method.lost.high
    assert method.lost.sharp is True


@settings(max_examples=40)
@given(st.lists(st.tuples(OUTCOME, OUTCOME), min_size=6, max_size=6))
def test_no_scores_of_lost_attempts_lead_a_claim_about_the_method_out_of_its_bounds(
    rows: list[tuple[object, object]],
) -> None:
    if sum(value == LOST for row in rows for value in row) > 4:
        return
    names = ("a", "b", "c")
    records = adaptations(*(dict(zip(names, rows[i : i + 3], strict=True)) for i in (0, 3)))
    found = learner(records, scope="method").metrics.fg
    if found.method is None or found.method.value is None:
        return
    assert found.method.lost is not None
    assert found.method.lost.low is not None
    assert found.method.lost.high is not None
    for made in completions(records, (0.0, 1.0)):
        full = learner(made, scope="method").metrics.fg.method
        assert full is not None
        assert full.value is not None
        assert found.method.lost.low - NEAR <= full.value <= found.method.lost.high + NEAR
    # every adaptation has as many attempts, so these are the bounds of the plain mean as well
    assert found.method.lost.low == pytest.approx(lost_of(found).low)
    assert found.method.lost.high == pytest.approx(lost_of(found).high)
