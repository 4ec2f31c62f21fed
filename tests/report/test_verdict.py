"""The verdict in words: what stands on top of `sip show`."""

from __future__ import annotations

import io

from rich.console import Console

from sipbench.protocol.manifest import Preregistered, replay_list_digest
from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import AnalysisSettings, StudyContext
from sipbench.protocol.summary import Summary
from sipbench.report.tables import print_summary
from sipbench.report.verdict import verdict_lines
from sipbench.stats.summarize import summarize
from tests.protocol.made import cell
from tests.stats.studies import attempts, frozen, gains, manifest, row

DECLARED = Preregistered(
    list_digest=replay_list_digest(manifest().replay), declared_at="2026-05-01T00:00:00.000Z"
)


def study(records: list[RunRecord], *, declared: bool = True, **settings: object) -> Summary:
    context = StudyContext(manifest=manifest(selection=DECLARED if declared else None))
    return summarize(records, settings=AnalysisSettings.model_validate(settings), context=context)


def said(summary: Summary) -> list[str]:
    return list(verdict_lines(summary, {id(item): item.arm for item in summary.rows}))


def printed(summary: Summary) -> str:
    out = io.StringIO()
    print_summary(summary, Console(file=out, width=200, color_system=None, highlight=False))
    return out.getvalue()


def test_a_gain_is_said_with_its_interval_its_control_and_what_it_rests_on() -> None:
    summary = study([*attempts("learner", gains(0.35)), *frozen()], margin=0.3)
    fg = row(summary, "learner").metrics.fg
    assert fg.verdict is not None
    assert fg.verdict.value is not None
    assert fg.verdict.interval is not None
    lines = said(summary)
    low, high = (f"{end * 100:+.1f}" for end in (fg.verdict.interval.low, fg.verdict.interval.high))
    assert lines[0] == (
        f"learner: improved on new tasks: {fg.verdict.value * 100:+.1f} points against 'frozen', which "
        f"learned nothing (95% interval {low} to {high})"
    )
    assert lines[1].startswith("  kept what it could do before: ")
    assert lines[1].endswith("so a loss of 30 points or more is ruled out")
    text = "\n".join(lines)
    assert "rests on 30 tasks, 3 attempts of each before and 3 after, 100% of the planned" in text
    assert "speaks of these agents" in text
    assert "two runs of an agent that does not change differ by up to" in text
    assert "would be found in 80% of such studies" in text


def test_it_stands_before_the_tables() -> None:
    text = printed(study([*attempts("learner", gains(0.35)), *frozen()]))
    assert text.index("improved on new tasks") < text.index("vs control") < text.index("FG verdict")
    assert text.index("\nVerdict\n") < text.index("Kept out of the main comparison")


def test_what_stands_in_the_way_is_said() -> None:
    summary = study([*attempts("learner"), *frozen()], declared=False)
    lines = said(summary)
    assert lines[0].startswith("learner: inconclusive on new tasks: ")
    assert "no smallest effect of interest (`sesoi`) is declared" in lines[0]
    assert lines[1].startswith(
        "  no verdict on what it could do before: how replay was chosen is not declared"
    )


def test_controls_and_oracles_are_not_judged() -> None:
    records = [*attempts("learner"), *attempts("known", path_type="oracle"), *frozen()]
    heads = [line for line in said(study(records)) if not line.startswith(" ")]
    assert [head.partition(":")[0] for head in heads] == ["learner"]


def test_claims_about_the_method_are_told_from_claims_about_agents() -> None:
    records = [*attempts("learner", gains(0.35), repeats=2), *frozen(repeats=2)]
    assert any(
        "speaks of the method that made these agents" in line for line in said(study(records, scope="method"))
    )


def test_the_price_is_said_where_it_is_known() -> None:
    records = [*attempts("learner", gains(0.35), token_total=5), *frozen(token_total=5)]
    records += cell("T1", "adapt", {"x": [1.0]}, arm="learner", token_total=1500)
    summary = summarize(
        records, settings=AnalysisSettings(cost_unit="tokens"), adaptation_cost={"learner": 500.0}
    )
    assert "  learning cost 2,000 tokens per repeat" in said(summary)


def test_lost_attempts_are_shown_with_their_bounds() -> None:
    lost = {"status": "infrastructure_error", "score": None}
    records = [
        RunRecord.model_validate(r.model_dump() | lost) if r.phase == "T1" and i % 3 == 0 else r
        for i, r in enumerate(attempts("learner", gains(0.3)))
    ]
    summary = study(records)
    text = printed(summary)
    bounds = row(summary, "learner").metrics.fg.lost
    assert bounds is not None
    assert "Attempts without a grade" in text
    assert f"whatever they would have scored {bounds.low:+.3f} to {bounds.high:+.3f}" in text
    assert f"with noise {bounds.outer_low:+.3f} to {bounds.outer_high:+.3f}" in text
    assert "Attempts without a grade" not in printed(study(attempts("learner")))
