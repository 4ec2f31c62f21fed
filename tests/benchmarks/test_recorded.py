"""Recorded attempts as a benchmark: what the files say, where a study asks for it, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sipbench.benchmarks.base import Agent, Attempt, AttemptContext
from sipbench.benchmarks.recorded import RecordedBenchmark, RecordedOptions
from sipbench.errors import ConfigError, EngineError, RecordError, SplitError
from sipbench.protocol.digests import EMPTY_TREE
from sipbench.protocol.records import RunRecord, Usage
from sipbench.protocol.rules import check_manifest
from sipbench.protocol.versions import RUN_RECORD_VERSION
from sipbench.protocol.vocabulary import PathType, Phase, Split, Status
from tests.importers.made import tau_crash, tau_item, tau_task, write


def attempts(tasks: int = 4, trials: int = 4) -> list[dict[str, Any]]:
    """``trials`` attempts of each task; a task is solved in the trials below its number."""
    return [tau_item(task, trial, float(trial < task)) for trial in range(trials) for task in range(tasks)]


def tau(path: str = "tau.json", **fields: Any) -> dict[str, Any]:
    return {"path": path, "kind": "tau", "phase": "T0", "split": "heldout", "arm": "a", **fields}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write(tmp_path / "tau.json", attempts())
    return tmp_path


def benchmark(place: Path, *files: dict[str, Any], **options: Any) -> RecordedBenchmark:
    text = json.dumps({"files": list(files), **options})
    return RecordedBenchmark(RecordedOptions.model_validate_json(text, strict=True), base=place)


def before_and_after(place: Path) -> RecordedBenchmark:
    return benchmark(place, tau(trials=[0, 1]), tau(phase="T1", trials=[2, 3]))


def run(
    made: RecordedBenchmark,
    task_id: str,
    phase: str = "T0",
    *,
    attempt: int = 0,
    workdir: Path | None = None,
    path_type: str = "frozen",
    **where: Any,
) -> Attempt:
    task = next(task for task in made.tasks() if task.id == task_id)
    context = AttemptContext(
        Agent("g"),
        state=made.base,
        state_digest=EMPTY_TREE,
        workdir=workdir or made.base,
        **{"arm": "a", "split": Split.HELDOUT, "repeat": 0, "attempt_index": attempt, **where},
    )
    return made.run(task, Phase(phase), PathType(path_type), 0, context=context)


def test_trials_of_one_file_serve_for_two_phases(place: Path) -> None:
    made = before_and_after(place)
    # Task 2 is solved in trials 0 and 1, which are T0, and not in 2 and 3, which are T1.
    scores = {
        phase: [run(made, "retail:test:2", phase, attempt=k).reward for k in (0, 1)] for phase in ("T0", "T1")
    }
    assert scores == {"T0": [1.0, 1.0], "T1": [0.0, 0.0]}
    trial = run(made, "retail:test:2", "T1", attempt=1).metadata["source"]["trial"]
    assert trial == 3


def test_it_is_the_benchmark_that_the_attempts_were_made_on(place: Path) -> None:
    made = benchmark(place, tau(version="59a200c"))
    assert (made.name, made.version) == ("tau-bench", "59a200c")
    assert benchmark(place, tau()).version == "unknown"


def test_tasks_carry_what_the_files_know(place: Path) -> None:
    tasks = before_and_after(place).tasks()
    assert [task.id for task in tasks] == [f"retail:test:{number}" for number in range(4)]
    assert [task.family for task in tasks] == ["retail:user_0"] * 2 + ["retail:user_1"] * 2
    assert tasks[1].text == "You want to cancel order 1."
    assert len({task.digest for task in tasks}) == 4


def test_splits_are_what_the_files_are_bound_to(place: Path) -> None:
    even, odd = ["retail:test:[02]"], ["retail:test:1", "retail:test:3"]
    selection = {"method": "same_run", "rule": "solved once"}
    made = benchmark(place, tau(tasks=even), tau(split="replay", tasks=odd), replay_selection=selection)
    manifest = made.splits(seed=1, sizes={})
    assert [entry.id for entry in manifest.heldout] == ["retail:test:0", "retail:test:2"]
    assert [entry.id for entry in manifest.replay] == ["retail:test:1", "retail:test:3"]
    assert manifest.replay_selection is not None
    assert manifest.replay_selection.method == "same_run"
    assert check_manifest(manifest) == []
    assert made.splits(seed=2, sizes={}) == manifest, "no choice is left to a seed"


def test_adapt_attempts_before_t1_and_before_t2_are_two_sets(place: Path) -> None:
    one, two = {"split": "adapt", "phase": "T1"}, {"split": "adapt", "phase": "T2"}
    made = benchmark(place, tau(**one, tasks=["*:0"], trials=[0]), tau(**two, tasks=["*:[01]"], trials=[1]))
    manifest = made.splits(0, {})
    assert [entry.id for entry in manifest.adapt] == ["retail:test:0"]
    assert [entry.id for entry in manifest.adapt_t2] == ["retail:test:1"]


def test_drift_tasks_say_what_changes(place: Path) -> None:
    made = benchmark(place, tau(split="drift"), drift_changes=["policy"], drift_note="new rules")
    assert made.splits(0, {}).drift_changes == ("policy",)
    assert check_manifest(made.splits(0, {})) == []
    (violation,) = check_manifest(benchmark(place, tau(split="drift")).splits(0, {}))
    assert violation.rule == "drift-declared"


def test_no_other_size_can_be_had(place: Path) -> None:
    made = before_and_after(place)
    assert made.splits(0, {Split.HELDOUT: 4, Split.REPLAY: 0}) == made.splits(0, {})
    with pytest.raises(SplitError, match="heldout: 2 asked for, but the recorded files hold 4 tasks"):
        made.splits(0, {Split.HELDOUT: 2})


def test_the_manifest_tells_the_bindings_but_no_place_of_this_machine(place: Path) -> None:
    (place / "sub").mkdir()
    write(place / "sub" / "tau.json", attempts())
    said = benchmark(place, tau("sub/tau.json", trials=[0])).splits(0, {}).selection
    assert said["files"][0] == {**tau(trials=[0]), "path": "tau.json"}


@pytest.mark.parametrize(
    "where", [{"attempt": 2}, {"repeat": 1}, {"arm": "b"}, {"split": Split.REPLAY}, {"phase": "T2"}]
)
def test_what_no_file_holds_is_cancelled_and_says_so(place: Path, where: dict[str, Any]) -> None:
    attempt = run(before_and_after(place), "retail:test:0", **where)
    assert (attempt.status, attempt.reward, attempt.error_type) == (Status.CANCELLED, None, "NotRecorded")
    assert str(attempt.error_message).startswith("no file holds task retail:test:0, T")
    assert attempt.usage == Usage()


def test_what_is_missing_belongs_to_the_agent_that_made_the_rest(place: Path) -> None:
    records(place, {}, {"phase": "T1", "model_name": "m+"})
    made = benchmark(place, {"path": "runs.jsonl", "kind": "runs"})
    missing = [run(made, "t", phase, attempt=1).overrides for phase in ("T0", "T1", "T2")]
    assert [each["model_name"] for each in missing] == ["m", "m+", "m"]
    assert missing[0]["agent_name"] == "g"
    assert missing[0]["started_at"] is missing[0]["wall_clock_seconds"] is None


def test_a_recorded_crash_stays_what_it_was(place: Path) -> None:
    write(place / "tau.json", [tau_crash(0), tau_item(1)])
    attempt = run(benchmark(place, tau()), "retail:test:0")
    assert (attempt.status, attempt.reward) == (Status.INFRASTRUCTURE_ERROR, None)
    assert attempt.error_type == "RateLimitError"


def test_what_the_file_does_not_know_stays_unknown_in_the_study(place: Path) -> None:
    overrides = run(before_and_after(place), "retail:test:0").overrides
    unknown = {"started_at", "finished_at", "wall_clock_seconds", "attempt_seed", "benchmark_version"}
    assert {name: overrides[name] for name in unknown} == dict.fromkeys(unknown)
    assert not {"agent_name", "model_name", "agent_version"} & overrides.keys(), "the study file names them"


def test_what_the_file_knows_better_than_the_plan_is_given(place: Path) -> None:
    records(
        place, {"attempt_seed": 5, "started_at": "2026-01-01T00:00:00Z", "token_total": 7, "engine": "e 1"}
    )
    attempt = run(benchmark(place, {"path": "runs.jsonl", "kind": "runs"}), "t")
    assert attempt.usage.token_total == 7
    assert attempt.started_at == "2026-01-01T00:00:00Z"
    expected = {
        "attempt_seed": 5,
        "agent_name": "g",
        "model_name": "m",
        "agent_version": "2",
        "engine": "e 1",
    }
    assert expected.items() <= attempt.overrides.items()


def records(place: Path, *changes: dict[str, Any]) -> None:
    base: dict[str, Any] = {
        "schema_version": RUN_RECORD_VERSION,
        "benchmark_name": "own",
        "benchmark_split": "heldout",
        "phase": "T0",
        "path_type": "frozen",
        "arm": "a",
        "model_name": "m",
        "agent_name": "g",
        "agent_version": "2",
        "task_id": "t",
        "status": "graded",
        "score": 0.5,
    }
    made = [RunRecord.model_validate({"run_id": str(n), **base, **each}) for n, each in enumerate(changes)]
    text = "".join(record.model_dump_json() + "\n" for record in made)
    (place / "runs.jsonl").write_text(text, encoding="utf-8")


def test_run_records_bring_their_own_place(place: Path) -> None:
    records(place, {}, {"phase": "T1", "score": 1.0}, {"phase": "T1", "benchmark_split": "smoke"})
    made = benchmark(place, {"path": "runs.jsonl", "kind": "runs"})
    assert run(made, "t", "T1").reward == 1.0
    only = benchmark(place, {"path": "runs.jsonl", "kind": "runs", "phase": "T1", "arm": "b"})
    assert run(only, "t", "T1", arm="b").reward == 1.0
    assert run(only, "t", "T0", arm="b").status is Status.CANCELLED


def test_repeats_are_numbered_in_the_order_of_what_the_file_calls_them(place: Path) -> None:
    records(place, {"repeat": 3, "score": 0.3}, {"repeat": 21, "score": 0.9}, {"repeat": 21, "phase": "T1"})
    made = benchmark(place, {"path": "runs.jsonl", "kind": "runs"})
    assert [run(made, "t", repeat=repeat).reward for repeat in (0, 1)] == [0.3, 0.9]
    assert run(made, "t", "T1", repeat=0).status is Status.CANCELLED


def test_an_attempt_of_another_path_is_not_passed_off(place: Path) -> None:
    records(place, {"path_type": "external"})
    made = benchmark(place, {"path": "runs.jsonl", "kind": "runs"})
    assert run(made, "t", path_type="external").reward == 0.5
    attempt = run(made, "t", path_type="parameter")
    assert (attempt.status, attempt.error_type) == (Status.CANCELLED, "OtherPath")


def test_adapt_attempts_that_were_logged_at_t0_lead_to_t1(place: Path) -> None:
    records(place, {"benchmark_split": "adapt"})
    made = benchmark(place, {"path": "runs.jsonl", "kind": "runs"})
    assert [entry.id for entry in made.splits(0, {}).adapt] == ["t"]
    assert run(made, "t", "T1", split=Split.ADAPT).reward == 0.5


def test_what_the_agent_did_is_left_for_learners_without_the_answer(place: Path) -> None:
    (place / "work").mkdir()
    item = tau_item(0)
    item["info"]["task"] = tau_task(0, outputs=["the answer"])
    write(place / "tau.json", [item])
    run(
        benchmark(place, tau(split="adapt", phase="T1")),
        "retail:test:0",
        "T1",
        split=Split.ADAPT,
        workdir=place / "work",
    )
    trajectory = json.loads((place / "work" / "trajectory.json").read_text(encoding="utf-8"))
    assert trajectory[1] == {"role": "user", "content": "hello"}
    record = json.loads((place / "work" / "record.json").read_text(encoding="utf-8"))
    assert record["task_id"] == "retail:test:0"
    assert "the answer" not in "".join(
        path.read_text(encoding="utf-8") for path in (place / "work").iterdir()
    )


def test_the_files_are_nothing_for_an_adaptation(place: Path) -> None:
    assert list(before_and_after(place).private_paths()) == [place / "tau.json"] * 2


def test_what_is_read_and_how_decides_an_attempts_identity(place: Path) -> None:
    before = before_and_after(place).grader_version
    assert before_and_after(place).grader_version == before
    assert benchmark(place, tau(trials=[1, 0]), tau(phase="T1", trials=[2, 3])).grader_version != before
    (place / "moved.json").write_bytes((place / "tau.json").read_bytes())
    moved = [tau("moved.json", trials=[0, 1]), tau("moved.json", phase="T1", trials=[2, 3])]
    assert benchmark(place, *moved).grader_version == before, "a path is not part of it"
    changed = attempts()
    changed[0]["reward"] = 0.5
    write(place / "tau.json", changed)
    assert before_and_after(place).grader_version != before


def test_its_options_survive_the_way_to_a_worker(place: Path) -> None:
    made = before_and_after(place)
    sent = json.loads(json.dumps(made.options.model_dump(mode="json", by_alias=True)))
    again = RecordedBenchmark(RecordedOptions.model_validate(sent), base=place)
    assert again.grader_version == made.grader_version
    assert again.tasks() == made.tasks()


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (tau(trails=[0]), r"files\[0\]: unknown key 'trails', did you mean 'trials'\?"),
        (tau(phse="T0"), r"files\[0\]: unknown key 'phse', did you mean 'phase'\?"),
        (tau(kind="tua"), r"files\[0\]: unknown importer 'tua', did you mean 'tau'"),
        (tau(phase=None), r"files\[0\]: phase: missing; a file of kind tau does not state it"),
        (tau(arm=None), r"files\[0\]: arm: missing"),
        (tau(trials="x"), r"files\[0\]: option trials.0 of kind tau"),
    ],
)
def test_a_key_that_means_nothing_is_named(place: Path, file: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        benchmark(place, file)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([tau("nowhere.json")], "cannot be read: No such file"),
        ([tau(), tau()], "arm a, repeat 0, attempt 0 stands twice in tau.json"),
        ([tau(), tau("other.json")], "stands in tau.json and in other.json"),
        ([tau(tasks=["airline:*"])], "holds none of the tasks airline:*"),
    ],
)
def test_files_that_do_not_fit_are_one_clear_line(
    place: Path, files: list[dict[str, Any]], reason: str
) -> None:
    (place / "other.json").write_bytes((place / "tau.json").read_bytes())
    with pytest.raises(RecordError) as caught:
        benchmark(place, *files)
    assert reason in str(caught.value)


def test_files_that_disagree_about_a_task_are_refused(place: Path) -> None:
    changed = tau_item(0)
    changed["info"]["task"] = tau_task(0, instruction="Something else.")
    write(place / "other.json", [changed])
    with pytest.raises(EngineError, match=r"other.json: task retail:test:0 is not the one"):
        benchmark(place, tau(), tau("other.json", phase="T1"))


def test_attempts_of_two_benchmarks_are_no_study(place: Path) -> None:
    records(place, {})
    with pytest.raises(EngineError, match="more than one benchmark"):
        benchmark(place, tau(), {"path": "runs.jsonl", "kind": "runs"})


def test_one_file_may_hold_a_task_that_another_knows_only_by_its_crash(place: Path) -> None:
    write(place / "other.json", [tau_crash(0)])
    files = [tau("other.json", domain="retail"), tau(phase="T1")]
    for order in (files, files[::-1]):
        task = next(task for task in benchmark(place, *order).tasks() if task.id == "retail:test:0")
        assert task.family == "retail:user_0"


def test_the_shipped_trajectories_serve_as_two_observations_of_a_frozen_arm(
    shared_data: Callable[..., Path], tmp_path: Path
) -> None:
    path = str(shared_data("tau", "gpt-4o-airline.json"))
    made = benchmark(tmp_path, tau(path, trials=[0, 1]), tau(path, phase="T1", trials=[2, 3]))
    assert len(made.splits(0, {}).heldout) == 50
    ids = [task.id for task in made.tasks()]
    scores = {
        phase: [run(made, name, phase, attempt=k).reward for name in ids for k in (0, 1)]
        for phase in ("T0", "T1")
    }
    # Per trial .42, .44 and .40, .42 (the file's own rewards).
    assert sum(map(float, scores["T0"])) == 43  # type: ignore[arg-type]
    assert sum(map(float, scores["T1"])) == 41  # type: ignore[arg-type]
