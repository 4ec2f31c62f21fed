"""What a run does, in which order, and what it leaves behind."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from sipbench.errors import EngineError
from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.digests import EMPTY_TREE, tree_digest
from sipbench.protocol.validation import check_file, study_files
from sipbench.protocol.vocabulary import Phase, Split, Status
from tests.study.trial import LEARNER, Trial

BOTH = {"frozen": {"path_type": "frozen"}, "learner": LEARNER}


def test_a_study_leaves_what_the_architecture_names_and_all_of_it_is_valid(trial: Trial) -> None:
    result = trial.write(arms=BOTH, repeats=2).run()
    assert (result.missing, result.problems, result.stopped) == (0, (), None)
    assert {path.name for path in trial.out.iterdir()} == {
        ".runner",
        "adaptations.jsonl",
        "attempts",
        "journal.jsonl",
        "runs.jsonl",
        "splits.json",
        "states",
        "study.lock.json",
        "study.log",
        "study.yaml",
        "summary.json",
    }
    assert (trial.out / "study.yaml").read_bytes() == trial.file.read_bytes()
    assert [(found.kind, found.problems) for found in map(check_file, study_files(trial.out))] == [
        ("runs", []),
        ("adaptations", []),
        ("splits", []),
        ("summary", []),
    ]


def test_every_planned_attempt_is_made_once_and_recorded_once(trial: Trial) -> None:
    trial.write(arms=BOTH, repeats=2, attempts=2).run()
    # Per repeat: 5 evaluation tasks for two arms at T0 and T1, 2 adapt tasks for one; each twice.
    assert len(trial.records()) == 2 * 2 * (2 * 2 * 5 + 2)
    assert max(Counter(trial.calls()).values()) == 1
    assert len(trial.calls()) == len(trial.records())
    assert {path.name for path in (trial.out / "attempts").iterdir()} == {
        record.run_id for record in trial.records()
    }


def test_at_t0_every_arm_has_an_empty_state_and_at_t1_the_learner_has_its_own(trial: Trial) -> None:
    trial.write(arms=BOTH, repeats=2).run()
    states = {
        (record.arm, record.repeat, record.phase, record.benchmark_split): record.agent_state_digest
        for record in trial.records()
    }
    assert {digest for (_, _, phase, _), digest in states.items() if phase is Phase.T0} == {EMPTY_TREE}
    assert states["frozen", 1, Phase.T1, Split.HELDOUT] == EMPTY_TREE
    assert states["learner", 1, Phase.T1, Split.ADAPT] == EMPTY_TREE
    for repeat in (0, 1):
        digest = states["learner", repeat, Phase.T1, Split.HELDOUT]
        assert digest == tree_digest(trial.state("learner", repeat))


def test_t1_comes_after_the_adaptation_of_its_repeat(trial: Trial) -> None:
    trial.write(arms={"learner": LEARNER}, repeats=2).run()
    events = trial.journal("adapted", "started")
    phases = {
        record.run_id: (record.repeat, record.phase, record.benchmark_split) for record in trial.records()
    }
    for repeat in (0, 1):
        adapted = next(n for n, event in enumerate(events) if event.get("repeat") == repeat)
        places = [phases.get(event.get("run_id", ""), (None, None, None)) for event in events]
        evaluated = [
            n for n, at in enumerate(places) if at[:2] == (repeat, Phase.T1) and at[2] is not Split.ADAPT
        ]
        assert adapted < min(evaluated)


def test_a_second_adaptation_builds_on_the_first(trial: Trial) -> None:
    trial.write(benchmark={"adapt_t2": 2}, arms=BOTH, phases=["T0", "T1", "T2"]).run()
    learned = json.loads((trial.state("learner", 0, "T2") / "learned.json").read_text())
    assert learned["previous"] == ["learned.json"]
    assert learned["tasks"] == ["adapt_t2-0", "adapt_t2-1"]
    t2 = {r.agent_state_digest for r in trial.records() if (r.arm, r.phase) == ("learner", "T2")}
    assert tree_digest(trial.state("learner", 0, "T2")) in t2


def test_what_an_adaptation_spent_is_recorded_apart(trial: Trial) -> None:
    trial.write(arms=BOTH).run()
    (line,) = (trial.out / "adaptations.jsonl").read_text().splitlines()
    record = AdaptationRecord.model_validate_json(line)
    assert (record.tool_calls_total, record.token_total, record.cost_usd) == (3, 0, None)
    assert record.wall_clock_seconds is not None
    adapt = [r.run_id for r in trial.records() if r.benchmark_split is Split.ADAPT]
    assert sorted(record.attempts) == sorted(adapt)
    assert record.agent_state_digest == tree_digest(trial.state("learner"))
    row = next(row for row in trial.run().summary.rows if row.arm == "learner")  # type: ignore[union-attr]
    assert row.learning_cost is not None
    assert row.learning_cost.value == 2 * 10 + 3


def test_coroutine_benchmarks_run_on_the_runner_s_event_loop(trial: Trial) -> None:
    result = trial.write(benchmark={"name": "trial-async"}, arms=BOTH).run()
    assert result.missing == 0
    where = {path.read_text() for path in trial.out.glob("attempts/*/where.txt")}
    assert where == {str(os.getpid())}


def test_plain_functions_run_in_worker_processes(trial: Trial) -> None:
    trial.write(benchmark={"does": {"heldout-0": "exit"}}, retries=0).run()
    (record,) = (r for r in trial.records() if r.task_id == "heldout-0" and r.phase is Phase.T0)
    assert (record.status, record.error_type) == (Status.INFRASTRUCTURE_ERROR, "SystemExit")


def test_a_finished_study_is_only_summarised_again(trial: Trial) -> None:
    first = trial.run()
    calls, lines = trial.calls(), (trial.out / "runs.jsonl").read_bytes()
    second = trial.run()
    assert trial.calls() == calls
    assert (trial.out / "runs.jsonl").read_bytes() == lines
    assert second.summary is not None
    assert first.summary is not None
    assert second.summary.rows == first.summary.rows


def test_the_benchmark_is_asked_before_the_first_attempt_whether_it_can_run(trial: Trial) -> None:
    trial.write(benchmark={"preflight": "no Docker here; start it"})
    with pytest.raises(EngineError, match="no Docker here; start it"):
        trial.run()
    assert trial.calls() == []
    trial.edit("preflight: no Docker here; start it", "preflight: null")
    assert trial.run().missing == 0


def test_how_it_ended_stands_in_the_journal(trial: Trial) -> None:
    trial.run()
    (planned,) = trial.journal("planned")
    assert (planned["attempts"], planned["finished"]) == (10, 0)
    assert [event["reason"] for event in trial.journal("stopped")] == ["nothing left to do"]
    assert len(trial.journal("started")) == len(trial.journal("finished")) == 10


def test_engines_are_given_absolute_paths(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trial.folder)
    trial.out = Path("relative")
    result = trial.write(arms=BOTH, phases=["T0"]).run()
    assert result.folder == trial.folder / "relative"
