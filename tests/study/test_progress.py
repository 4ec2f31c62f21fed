"""What a person sees while a study runs."""

from __future__ import annotations

import io
import logging
from types import SimpleNamespace

import pytest
from rich.console import Console

from sipbench.protocol.vocabulary import Phase, Split, Status
from sipbench.study.design import resolve
from sipbench.study.load import load_study
from sipbench.study.progress import Lines, Live, Progress, headline, progress_for, rendered
from sipbench.study.standing import Standing
from tests.protocol.made import record
from tests.study.trial import LEARNER, Trial


@pytest.fixture
def standing(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> Standing:
    """A study that has been at work for 50 seconds."""
    trial.write(arms={"frozen": {"path_type": "frozen"}, "learner": LEARNER})
    made = Standing.of(resolve(load_study(trial.file)))
    made._start = 0.0
    monkeypatch.setattr("sipbench.study.standing.time", SimpleNamespace(monotonic=lambda: 50.0))
    return made


def attempt(arm: str = "frozen", score: float = 0.5, **fields: object) -> object:
    return record(arm=arm, score=score, **{"tool_calls_total": 10, **fields})


def test_counts_means_cost_and_failures_are_in_one_line(standing: Standing) -> None:
    standing.add(attempt())  # type: ignore[arg-type]
    standing.add(attempt(task_id="t2", status="agent_error"))  # type: ignore[arg-type]
    standing.add(attempt(task_id="t3", tool_calls_total=None))  # type: ignore[arg-type]
    standing.adapted()
    standing.tried = 1
    assert headline(standing) == (
        "3 of 22 attempts, 1 agent error, 1 failed try, 1 of 1 adaptations, 20 tool calls and 1 unknown, 50 s"
    )


def test_the_time_left_follows_from_the_pace_of_this_session(standing: Standing) -> None:
    for number in range(11):
        standing.add(attempt(task_id=f"t{number}"), earlier=number < 6)  # type: ignore[arg-type]
    # Five attempts of this session took 50 seconds; eleven are left.
    assert standing.seconds_left == 110.0
    assert headline(standing).endswith("50 s, about 1 min 50 s left")


def test_no_time_is_guessed_from_a_few_attempts(standing: Standing) -> None:
    standing.add(attempt())  # type: ignore[arg-type]
    assert standing.seconds_left is None


def test_means_so_far_stand_by_phase_split_and_arm(standing: Standing) -> None:
    standing.add(attempt("frozen", 0.25))  # type: ignore[arg-type]
    standing.add(attempt("learner", 0.75))  # type: ignore[arg-type]
    first = standing.table()[0]
    assert (first.phase, first.split, first.made, first.planned) == (Phase.T0, Split.HELDOUT, 2, 6)
    assert first.means == {"frozen": 0.25, "learner": 0.75}
    out = io.StringIO()
    Console(file=out, width=100).print(rendered(standing))
    text = out.getvalue()
    assert "T0      heldout     2 of 6    0.250     0.750" in text
    assert "T1      adapt       0 of 2        -         -" in text


def test_lines_are_written_when_there_is_news(standing: Standing) -> None:
    out = io.StringIO()
    lines = Lines(out)
    lines.begin(standing)
    standing.add(attempt())  # type: ignore[arg-type]
    lines.show(standing)
    lines.end(standing)
    first, *rest = out.getvalue().splitlines()
    assert first == "trial-study: 22 of 22 attempts and 1 of 1 adaptations to do"
    assert rest[0].startswith("trial-study: 1 of 22 attempts")
    assert len(rest) == 1


def test_why_it_stops_is_said(standing: Standing) -> None:
    standing.stopping = "caps.tokens: all used"
    assert headline(standing).endswith("stopping: caps.tokens: all used")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_table_anything_else_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(progress_for(Terminal()), Live)
    assert isinstance(progress_for(io.StringIO()), Lines)
    assert type(progress_for(Terminal(), quiet=True)) is Progress


def test_the_live_table_ends_with_one_line_and_lets_the_log_pass(
    standing: Standing, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    handler = logging.StreamHandler(terminal)
    logging.getLogger("sipbench").addHandler(handler)
    try:
        live = Live()
        live.begin(standing)
        logging.getLogger("sipbench.x").warning("a warning")
        standing.add(attempt(status=Status.GRADED))  # type: ignore[arg-type]
        live.show(standing)
        live.end(standing)
    finally:
        logging.getLogger("sipbench").removeHandler(handler)
    assert handler.stream is terminal
    text = terminal.getvalue()
    assert "a warning" in text
    assert text.rstrip().endswith("10 tool calls, 50 s")
