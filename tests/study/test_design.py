from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sipbench.benchmarks.base import Benchmark, Task
from sipbench.errors import ConfigError, EngineError, RecordError, SipbenchError, SplitError
from sipbench.protocol.manifest import Preregistered, SplitManifest, replay_list_digest
from sipbench.protocol.vocabulary import Split
from sipbench.study.design import Design, resolve
from sipbench.study.load import load_study

STUDY: dict[str, Any] = {
    "name": "try",
    "benchmark": {"name": "synth", "adapt": 4, "heldout": 4, "replay": 4, "drift": 2},
    "agent": {"name": "enumerative-search"},
    "arms": {"frozen": {"path_type": "frozen"}},
    "analysis": {"sesoi": 0.05},
}
LEARNER = {"path_type": "external", "adaptation": "synth-macros"}


def design(folder: Path, **changes: Any) -> Design:
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump({**STUDY, **changes}), encoding="utf-8")
    return resolve(load_study(path, environment={}))


def refused(folder: Path, kind: type[SipbenchError] = ConfigError, **changes: Any) -> str:
    with pytest.raises(kind) as caught:
        design(folder, **changes)
    return str(caught.value)


def edited(folder: Path, **changes: Any) -> str:
    document = design(folder).manifest.model_dump(mode="json")
    (folder / "splits.json").write_text(json.dumps({**document, **changes}), encoding="utf-8")
    return "splits.json"


def test_the_adapter_makes_the_splits(tmp_path: Path) -> None:
    made = design(tmp_path)
    assert len(made.manifest.heldout) == 4
    assert all(task.digest == made.tasks[task.id].digest for _, task in made.manifest.entries())
    assert made.accepted() == ()


def test_splits_may_come_from_a_file(tmp_path: Path) -> None:
    kept = design(tmp_path).manifest.heldout[:2]
    name = edited(tmp_path, heldout=[task.model_dump() for task in kept])
    assert design(tmp_path, splits={"file": name}).manifest.heldout == kept


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        ({"path_type": "frozen", "adaptation": "synth-macros"}, "frozen has no improvement mechanism"),
        ({"path_type": "oracle", "adaptation": "synth-macros"}, "oracle has no improvement mechanism"),
        ({"path_type": "external"}, "external needs an `adaptation`"),
        ({"path_type": "parameter"}, "parameter needs an `adaptation`"),
        ({"path_type": "external", "adaptation": "none"}, "external needs an `adaptation`"),
        ({"path_type": "parameter", "adaptation": "synth-macros"}, "takes the external path"),
        ({"path_type": "external", "adaptation": "synth-weights"}, "takes the parameter path"),
        ({"path_type": "external", "adaptation": "synth-macro"}, "did you mean 'synth-macros'?"),
        ({"path_type": "external", "adaptation": {"kind": "synth-macros", "max": 3}}, "max: unknown key"),
        ({"path_type": "frozen", "agent": {"name": "nobody"}}, "arms.a.agent"),
    ],
)
def test_an_arm_that_contradicts_itself_is_refused(tmp_path: Path, arm: dict[str, Any], said: str) -> None:
    message = refused(tmp_path, arms={"a": arm})
    assert said in message
    assert "study.yaml:" in message


def test_two_arms_that_differ_in_their_names_only_are_refused(tmp_path: Path) -> None:
    message = refused(tmp_path, arms={"a": {"path_type": "frozen"}, "b": {"path_type": "frozen"}})
    assert "arms.b: it differs in nothing from arm 'a' but its name" in message


def test_an_a_a_comparison_has_a_seed_of_its_own(tmp_path: Path) -> None:
    arms = {"a": {"path_type": "frozen"}, "b": {"path_type": "frozen", "seed": 1000}}
    assert [arm.identity.seed for arm in design(tmp_path, arms=arms).arms.values()] == [0, 1000]


def test_arms_with_different_options_are_different(tmp_path: Path) -> None:
    other = {"path_type": "external", "adaptation": {"kind": "synth-macros", "max_macros": 2}}
    assert len(design(tmp_path, arms={"a": LEARNER, "b": other}).arms) == 2


def test_overlapping_splits_are_named(tmp_path: Path) -> None:
    both = [task.model_dump() for task in design(tmp_path).manifest.heldout]
    made = design(tmp_path, splits={"file": edited(tmp_path, adapt=both)})
    with pytest.raises(SplitError, match="both adapt and heldout"):
        made.accepted()


def test_a_task_that_stands_twice_in_one_split_is_refused_whatever_is_allowed(tmp_path: Path) -> None:
    twice = [task.model_dump() for task in design(tmp_path).manifest.heldout] * 2
    name = edited(tmp_path, heldout=twice)
    message = refused(tmp_path, SplitError, splits={"file": name}, allow=["disjoint-ids"])
    assert "heldout: tasks stand twice" in message


@pytest.mark.parametrize("split", ["heldout", "replay"])
def test_an_empty_split_is_an_error_unless_the_study_does_without(tmp_path: Path, split: str) -> None:
    benchmark = {**STUDY["benchmark"], split: 0}
    assert f"{split} is empty" in refused(tmp_path, SplitError, benchmark=benchmark)
    sizes = {"sizes": {split: 0}}
    assert not design(tmp_path, benchmark=benchmark, splits=sizes).manifest.tasks(Split(split))


def test_a_learner_needs_adapt_tasks(tmp_path: Path) -> None:
    benchmark = {**STUDY["benchmark"], "adapt": 0}
    assert "adapt is empty, but arm 'm'" in refused(
        tmp_path, SplitError, benchmark=benchmark, arms={"m": LEARNER}
    )
    assert design(tmp_path, benchmark=benchmark).plan.slots


def test_t2_needs_something_to_come_by(tmp_path: Path) -> None:
    phases = ["T0", "T1", "T2"]
    without = {**STUDY["benchmark"], "drift": 0, "adapt": 0}
    assert "T2 follows a second adaptation" in refused(tmp_path, SplitError, benchmark=without, phases=phases)
    no_drift = {**STUDY["benchmark"], "drift": 0}
    message = refused(tmp_path, SplitError, benchmark=no_drift, phases=phases, t2={"by": "drift"})
    assert "drift is empty" in message
    delayed = design(tmp_path, benchmark=without, phases=phases, t2={"delay": "7d"})
    assert sum(slot.phase == "T2" for slot in delayed.plan.slots) == 3 * 8


def test_a_delay_alone_is_what_lies_between_t1_and_t2_unless_the_study_says_more(tmp_path: Path) -> None:
    phases = ["T0", "T1", "T2"]

    def comes_by(**t2: Any) -> tuple[bool, bool]:
        plan = design(tmp_path, phases=phases, t2=t2, arms={"m": LEARNER}).plan
        return (
            any(step.key.phase == "T2" for step in plan.steps),
            any(slot.split is Split.DRIFT for slot in plan.slots),
        )

    assert comes_by() == (True, True)
    assert comes_by(delay="7d") == comes_by(delay="7d", by="delay") == (False, False)
    assert comes_by(delay="7d", by="adaptation") == (True, False)
    assert comes_by(delay="7d", by=["delay", "drift"]) == (False, True)


def test_a_benchmark_may_ask_for_one_arm_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert design(tmp_path, seed=3).order.document() == {
        "name": "interleaved",
        "rule": "sipbench-order-1",
        "seed": 3,
        "reason": "default",
    }
    monkeypatch.setattr(Benchmark, "arms_apart", True)
    found = design(tmp_path).order
    assert found.name == "by_arm"
    assert found.reason.endswith("asks for")
    assert design(tmp_path, order="interleaved").order.name == "interleaved"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"heldout": [{"id": "unheard-of"}]}, "not in benchmark 'synth', such as 'unheard-of'"),
        ({"benchmark_name": "other"}, "splits of 'other'"),
        ({"schema_version": "9.0.0"}, "this release reads split manifests 1.0.0"),
        ({"heldout": "x"}, "heldout"),
    ],
)
def test_a_manifest_that_is_not_this_study_s_is_refused(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    assert said in refused(tmp_path, SipbenchError, splits={"file": edited(tmp_path, **change)})


def test_a_task_that_changed_since_the_splits_were_made_is_named(tmp_path: Path) -> None:
    first = design(tmp_path).manifest.heldout[0]
    changed = [{**first.model_dump(), "digest": "sha256:" + "0" * 64}]
    message = refused(tmp_path, SplitError, splits={"file": edited(tmp_path, heldout=changed)})
    assert f"changed since the splits were made, such as '{first.id}'" in message


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"schema_version": NaN}'])
def test_a_broken_manifest_is_one_line(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "splits.json").write_bytes(text)
    message = refused(tmp_path, RecordError, splits={"file": "splits.json"})
    assert "\n" not in message
    assert "splits.json" in message


def test_a_replay_list_can_be_registered_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump({**STUDY, "replay_selection": "preregistered"}), encoding="utf-8")
    found = resolve(load_study(path, environment={}), declared_at="2026-02-03T04:05:06Z").manifest
    expected = Preregistered(list_digest=replay_list_digest(found.replay), declared_at="2026-02-03T04:05:06Z")
    assert found.replay_selection == expected


def test_another_replay_list_than_the_registered_one_breaks_a_rule(tmp_path: Path) -> None:
    selection = {
        "method": "preregistered",
        "list_digest": "sha256:" + "0" * 64,
        "declared_at": "2026-01-01T00:00:00Z",
    }
    made = design(tmp_path, replay_selection=selection)
    with pytest.raises(SplitError, match="not the one that was preregistered"):
        made.accepted()


def test_manifests_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    manifest = design(tmp_path).manifest
    assert SplitManifest.model_validate_json(manifest.model_dump_json()) == manifest


# --- a benchmark that does not keep its contract


def unruly(monkeypatch: pytest.MonkeyPatch, **attributes: Any) -> None:
    """Have the benchmark ``synth`` be somebody's with these attributes."""
    from sipbench.benchmarks.synth import SynthBenchmark

    for name, value in attributes.items():
        monkeypatch.setattr(SynthBenchmark, name, value)


def leaves(*_: Any) -> Any:
    raise SystemExit(3)


def half(*_: Any) -> Any:
    yield Task("a", "sha256:" + "a" * 64)
    raise RuntimeError("no more")


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"tasks": lambda _: None}, "TypeError"),
        ({"tasks": lambda _: [1]}, "tasks() yields int, expected Task"),
        ({"tasks": lambda _: [Task(["a"], "sha256:" + "a" * 64)]}, "id: Input should be a valid string"),  # type: ignore[arg-type]
        ({"tasks": half}, "RuntimeError: no more"),
        ({"tasks": leaves}, "SystemExit: 3"),
        ({"splits": lambda *_: None}, "splits() returned NoneType, expected a SplitManifest"),
        ({"splits": leaves}, "SystemExit: 3"),
        ({"reward_range": None}, "reward_range None is not two finite numbers"),
        ({"reward_range": (0.0, float("inf"))}, "is not two finite numbers"),
        ({"reward_range": ("0", "1")}, "is not two finite numbers"),
        ({"reward_range": (1.0, 1.0)}, "its reward_range (1, 1) is empty"),
        ({"engine": " "}, "declares no `engine`"),
        ({"engine": "caf\udce9"}, "its `engine` cannot be encoded"),
    ],
)
def test_a_benchmark_that_breaks_its_contract_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attributes: dict[str, Any], said: str
) -> None:
    unruly(monkeypatch, **attributes)
    message = refused(tmp_path, EngineError)
    assert said in message
    assert message.startswith("benchmark 'synth'")
    assert "\n" not in message


def test_held_out_tasks_that_are_nearly_adapt_tasks_break_a_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = design(tmp_path)
    text = "sort the words of each line and write them to a file in the folder that is named above"
    alike = {made.manifest.adapt[0].id: text, made.manifest.heldout[0].id: text.replace("file", "list")}

    def tasks(benchmark: Any) -> list[Task]:
        return [replace(task, text=alike.get(task.id, task.id)) for task in original(benchmark)]

    original = type(made.benchmark).tasks
    monkeypatch.setattr(type(made.benchmark), "tasks", tasks)
    with pytest.raises(SplitError, match=made.manifest.heldout[0].id):
        design(tmp_path).accepted()
    marks = design(tmp_path, allow=["disjoint-families"]).accepted()
    assert [mark.rule for mark in marks] == ["disjoint-families"]
