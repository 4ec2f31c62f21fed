from __future__ import annotations

import io

from rich.console import Console

from sipbench.protocol.records import RunRecord
from sipbench.protocol.rules import Violation
from sipbench.protocol.settings import AnalysisSettings, StudyContext
from sipbench.protocol.summary import Summary
from sipbench.report.tables import print_summary
from sipbench.stats.summarize import summarize
from tests.protocol.made import cell, record


def arm(name: str, repeats: int = 3, gain: float = 0.3, **given: object) -> list[RunRecord]:
    found = []
    for repeat in range(repeats):
        shared = {"arm": name, "repeat": repeat, "token_total": 10, **given}
        found += cell("T0", "heldout", {"a": [0.1], "b": [0.2], "c": [0.2]}, **shared)
        after = {"a": [0.1 + gain], "b": [0.2 + gain + 0.02 * repeat], "c": [0.2 + gain / 2]}
        found += cell("T1", "heldout", after, **shared)
    return found


def printed(summary: Summary, width: int = 200, *, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None, highlight=False)
    print_summary(summary, console)
    return out.getvalue()


def test_mean_sd_interval_and_counts_stand_in_the_table() -> None:
    summary = summarize(arm("learner"))
    text = printed(summary)
    fg = summary.rows[0].metrics.fg
    assert fg.repeats_mean is not None
    assert fg.interval is not None
    assert f"{fg.repeats_mean:+.3f} ± {fg.repeats_sd:.3f}" in text
    assert f"[{fg.interval.low:+.3f}, {fg.interval.high:+.3f}]" in text
    assert "3 held-out" in text
    assert "18 of 18" in text


def test_rows_kept_out_stand_apart_with_the_reason_and_the_oracle_last() -> None:
    records = [*arm("steady"), *arm("once", 1), *arm("known", path_type="oracle")]
    # The verdicts stand before the tables.
    text = printed(summarize(records)).partition("Main comparison")
    text = text[1] + text[2]
    main, out, oracle = (
        text.index(title)
        for title in ("Main comparison", "Kept out of the main comparison", "Oracle: an upper")
    )
    assert main < text.index("steady") < out < text.index("once") < oracle
    assert "once: 1 repeat; the protocol asks for 3" in text


def test_what_is_not_computed_says_why() -> None:
    text = printed(summarize(arm("learner")))
    assert "BR, BR_ratio, NIS: no counted T0 and no T1 attempt on replay tasks (learner)" in text
    assert "IE: no cost unit was declared (learner)" in text


def test_costs_stand_in_their_unit_and_learning_is_apart_from_evaluation() -> None:
    adapt = [
        record(arm="l", phase="T1", benchmark_split="adapt", repeat=r, token_total=2000) for r in range(3)
    ]
    settings = AnalysisSettings(cost_unit="tokens")
    text = printed(summarize([*arm("l"), *adapt], settings=settings, adaptation_cost={"l": 500}))
    assert "cost in tokens" in text
    assert "2,500 per repeat" in text
    assert "180 in all" in text


def test_unknown_cost_is_a_dash_and_no_zero() -> None:
    settings = AnalysisSettings(cost_unit="usd")
    text = printed(summarize(arm("l"), settings=settings))
    (line,) = (line for line in text.splitlines() if line.startswith("evaluation cost"))
    assert line.split()[-1] == "-"


def test_arms_stand_side_by_side_as_the_terminal_is_wide() -> None:
    summary = summarize([r for name in ("one", "two", "three", "four") for r in arm(name)])

    def tables(text: str) -> int:
        return sum(line.startswith("path") for line in text.splitlines())

    assert tables(printed(summary, 200, terminal=True)) == 1
    assert tables(printed(summary, 80, terminal=True)) == 2
    assert tables(printed(summary, 40, terminal=True)) == 4
    assert all(len(line.rstrip()) <= 80 for line in printed(summary, 80, terminal=True).splitlines())


def test_lines_are_not_broken_where_nobody_looks() -> None:
    broken = Violation("disjoint-ids", "tasks stand in both adapt and heldout " * 5, ("x",))
    text = printed(summarize(arm("learner"), context=StudyContext(allowed=(broken,))), 60)
    assert any(
        "disjoint-ids is broken with consent" in line and len(line) > 150 for line in text.splitlines()
    )


def test_a_gain_whose_tasks_vary_in_one_direction_only_claims_nothing() -> None:
    text = printed(summarize(arm("same", gain=0.0)))
    for word in ("improved", "worse", "significant", "evidence"):
        assert word not in text.lower()


def test_names_from_files_cannot_steer_the_terminal() -> None:
    text = printed(summarize(arm("\x1b[31mred[bold]")), terminal=True)
    assert "\x1b[31m" not in text
    assert "[31mred[bold]" in text.replace("\n", "")


def test_arms_of_one_name_are_told_apart_by_what_differs() -> None:
    records = [*arm("l", model_name="x"), *arm("l", model_name="y", benchmark_version="2")]
    text = printed(summarize(records))
    assert "l (made 1) (x)" in text
    assert "l (made 2) (y)" in text


def test_nothing_to_show_is_said() -> None:
    text = printed(summarize([record(benchmark_split="smoke")]))
    assert "no attempt that a metric reads" in text
    assert "Left out of every metric: 1 smoke attempts" in text
