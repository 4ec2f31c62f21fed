"""tau-bench result files: what a trial, a crash, a missing grade and an absent number become."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import ConfigError, RecordError, SipbenchError
from sipbench.importers.base import Binding
from sipbench.protocol.records import RunRecord, Usage
from sipbench.protocol.vocabulary import PathType, Phase, Split, Status
from tests.importers.made import T1, UNTOUCHED, read, tau_crash, tau_item, tau_task, write


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    return lambda *items: write(tmp_path / "results.json", list(items))


def one(path: Path, **options: Any) -> RunRecord:
    (item,) = read("tau", path, **options)
    return item.record


def test_an_attempt_stands_where_it_is_bound_to(file: Callable[..., Path]) -> None:
    record = one(file(tau_item(12, 0)))
    assert (record.phase, record.benchmark_split, record.arm) == (Phase.T1, Split.HELDOUT, "learner")
    assert record.path_type is PathType.FROZEN
    assert record.benchmark_name == "tau-bench"
    assert record.task_id == "retail:test:12"
    assert record.metadata["source"] == {"file": "results.json", "item": 0, "trial": 0}


@pytest.mark.parametrize(
    ("reward", "success"), [(1.0, True), (0.9999999, True), (0.999, False), (0.0, False), (1, True)]
)
def test_a_reward_is_a_score(file: Callable[..., Path], reward: float, success: bool) -> None:
    record = one(file(tau_item(reward=reward)))
    assert (record.status, record.score, record.success) == (Status.GRADED, reward, success)


def test_a_crash_is_an_infrastructure_error_and_never_a_zero(file: Callable[..., Path]) -> None:
    record = one(file(tau_crash()), domain="retail")
    assert (record.status, record.score, record.reward) == (Status.INFRASTRUCTURE_ERROR, None, None)
    assert record.error_type == "RateLimitError"
    assert record.error_message == "slow down"


def test_running_out_of_steps_is_graded_zero(file: Callable[..., Path]) -> None:
    item = tau_item(reward=0.0)
    item["info"]["reward_info"] = item["info"]["user_cost"] = None
    record = one(file(item))
    assert (record.status, record.score, record.success) == (Status.GRADED, 0.0, False)
    assert "steps ran out" in str(record.notes)


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -0.1, 1.5, "1.0", True, None, [1]])
def test_a_reward_that_is_no_number_in_range_is_a_verifier_error(
    file: Callable[..., Path], reward: Any
) -> None:
    record = one(file(tau_item(reward=reward)))
    assert (record.status, record.score) == (Status.VERIFIER_ERROR, None)
    assert "reward" in str(record.error_message)


def test_a_reward_without_a_grade_is_no_score(file: Callable[..., Path]) -> None:
    item = tau_item(reward=1.0)
    item["info"]["reward_info"] = None
    assert one(file(item)).status is Status.VERIFIER_ERROR


def test_what_the_file_does_not_say_is_null_and_the_last_user_turn_is_no_price(
    file: Callable[..., Path],
) -> None:
    record = one(file(tau_item()))
    known = {name: getattr(record, name) for name in Usage.model_fields if getattr(record, name) is not None}
    assert known == {"tool_calls_total": 1}
    assert record.started_at is record.finished_at is record.seed is record.attempt_seed is None
    assert record.usage_source == "import"


def test_calls_that_an_agent_writes_into_text_are_not_counted_as_none(file: Callable[..., Path]) -> None:
    item = tau_item()
    for message in item["traj"]:
        message.pop("tool_calls", None)
    record = one(file(item))
    assert record.tool_calls_total is None
    assert record.usage_source is None


def test_trials_are_attempts_at_the_task(file: Callable[..., Path]) -> None:
    path = file(*[tau_item(task, trial) for trial in range(3) for task in range(2)])
    places = [
        (item.record.task_id[-1], item.record.repeat, item.record.attempt_index) for item in read("tau", path)
    ]
    assert places == [(str(task), 0, trial) for trial in range(3) for task in range(2)]


def test_or_repeats_where_that_is_asked_for(file: Callable[..., Path]) -> None:
    path = file(tau_item(0, 0), tau_item(0, 1))
    places = [(i.record.repeat, i.record.attempt_index) for i in read("tau", path, trials_as="repeats")]
    assert places == [(0, 0), (1, 0)]


def test_chosen_trials_are_numbered_from_zero(file: Callable[..., Path]) -> None:
    path = file(*[tau_item(0, trial) for trial in range(4)])
    found = [
        (i.record.metadata["source"]["trial"], i.record.attempt_index)
        for i in read("tau", path, trials=[2, 3])
    ]
    assert found == [(2, 0), (3, 1)]


def test_a_missing_trial_leaves_its_number_free(
    file: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    path = file(tau_item(0, 0), tau_item(0, 1), tau_item(1, 1))
    assert [(i.record.task_id[-1], i.record.attempt_index) for i in read("tau", path)] == [
        ("0", 0),
        ("0", 1),
        ("1", 1),
    ]
    assert "1 of 4 attempts are missing (task 1 trial 0)" in caplog.text


def test_a_second_file_goes_on_counting(file: Callable[..., Path]) -> None:
    binding = T1.model_copy(update={"first_attempt": 4, "repeat": 2})
    (item,) = read("tau", file(tau_item(0, 0)), binding)
    assert (item.record.repeat, item.record.attempt_index) == (2, 4)


def test_the_family_of_a_task_is_its_user(file: Callable[..., Path]) -> None:
    found = [item.record.family for item in read("tau", file(tau_item(0), tau_item(1), tau_item(2)))]
    assert found == ["retail:user_0", "retail:user_0", "retail:user_1"]


def test_the_digest_of_a_task_follows_its_content_and_not_the_attempt(file: Callable[..., Path]) -> None:
    before = one(file(tau_item(0, reward=1.0))).task_digest
    assert one(file(tau_item(0, 5, reward=0.0))).task_digest == before
    item = tau_item(0)
    item["info"]["task"] = tau_task(0, outputs=["12"])
    assert one(file(item)).task_digest != before
    assert one(file(tau_item(0)), domain="airline").task_digest != before


def test_a_crash_takes_the_task_from_the_other_trials(file: Callable[..., Path]) -> None:
    first, second = read("tau", file(tau_crash(3, 0), tau_item(3, 1)))
    assert first.record.task_digest == second.record.task_digest is not None
    assert first.record.family == "retail:user_1"


def test_a_task_that_always_crashed_is_known_by_its_id_alone(file: Callable[..., Path]) -> None:
    first, _ = read("tau", file(tau_crash(3), tau_item(4)))
    assert (first.record.task_id, first.record.task_digest, first.record.family) == (
        "retail:test:3",
        None,
        None,
    )


def test_doing_nothing_passes_where_the_reference_leaves_the_database_as_it_was(
    file: Callable[..., Path],
) -> None:
    def item(task_id: int, digest: str, **task: Any) -> dict[str, Any]:
        made = tau_item(task_id)
        made["info"]["task"] = tau_task(task_id, **task)
        made["info"]["reward_info"]["info"]["gt_data_hash"] = digest
        return made

    nothing, looks, acts, speaks = (0, UNTOUCHED), (1, UNTOUCHED), (2, "c" * 64), (3, UNTOUCHED)
    items = [item(*nothing, actions=[]), item(*looks), item(*acts), item(*speaks, outputs=["7"])]
    assert [each.task_metadata["passes_noop"] for each in read("tau", file(*items))] == [
        True,
        True,
        False,
        False,
    ]
    # Without a task whose reference does nothing, the untouched database is not known.
    assert [each.task_metadata for each in read("tau", file(*items[1:]))] == [{}, {}, {}]


def test_the_task_and_what_the_agent_did_are_there_for_learners_but_not_in_the_record(
    file: Callable[..., Path],
) -> None:
    (item,) = read("tau", file(tau_item(0)))
    assert item.text == "You want to cancel order 0."
    assert item.trajectory[1] == {"role": "user", "content": "hello"}
    assert len(item.record.model_dump_json()) < 2000


def test_error_text_is_short_one_line_and_without_keys(file: Callable[..., Path]) -> None:
    secret = "sk-" + "a1b2c3d4e5f6"
    record = one(file(tau_crash(error=f"bad key {secret}\n" + "x" * 5000)), domain="retail")
    assert secret not in str(record.error_message)
    assert len(str(record.error_message)) <= 500
    assert "\n" not in str(record.error_message)


def test_half_a_surrogate_pair_does_not_stop_an_import(tmp_path: Path) -> None:
    text = json.dumps([tau_item(), tau_crash(1)]).replace("slow", "\\ud83d broken \\ud83d\\ude00")
    (tmp_path / "odd.json").write_text(text, encoding="utf-8")
    _, crash = read("tau", tmp_path / "odd.json")
    assert crash.record.error_message == "� broken \U0001f600 down"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{}", "not a tau-bench result file: expected a list"),
        (b'{"simulations": []}', "looks like tau2's (kind tau2)"),
        (b"[]", "holds no attempts"),
        (b"[1]", "item 0: attempt: expected an object, found 1"),
        (b'[{"task_id": "1"}]', "item 0: task_id: expected an integer from 0, found '1'"),
        (b'[{"task_id": 1, "trial": null}]', "item 0: trial: expected an integer"),
        (b'[{"task_id": 1, "trial": -1}]', "item 0: trial: expected an integer"),
        (b'[{"task_id": true, "trial": 0}]', "item 0: task_id: expected an integer"),
        (b'[{"task_id": 1, "trial": 0}]', "item 0: reward: expected a number"),
        (b'[{"task_id": 1, "trial": 0, "reward": 1}]', "item 0: info: expected an object"),
        (b'[{"task_id": 1, "trial": 0, "reward": 1, "info": {}}]', "item 0: traj: expected a list"),
        (b'[{"task_id": 1, "trial": 0, "reward": 1, "info": {}, "traj": []}]', "item 0: info.task: expected"),
        (b"[", "not JSON: Expecting value at line 1, column 2"),
        (b"[" * 100_000, "nested too deeply"),
        (b'[{"task_id": 1' + b"0" * 5000 + b"}]", "too many digits"),
        (b"[\xff]", "not UTF-8 at byte 2"),
        (b"", "not JSON"),
    ],
)
def test_what_is_no_result_file_is_one_clear_line(tmp_path: Path, text: bytes, reason: str) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(text)
    with pytest.raises(SipbenchError) as caught:
        read("tau", path, domain="retail")
    assert reason in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["nowhere.json", "folder"])
def test_a_path_that_is_no_file_is_one_clear_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(RecordError, match=f"{name}: cannot be read: (No such file|it is a folder)"):
        read("tau", tmp_path / name)


def test_a_file_that_would_fill_the_memory_is_refused(
    file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(tau_item())
    with path.open("r+b") as handle:
        handle.truncate(2 * 1024**3)  # sparse: it takes no room
    with pytest.raises(RecordError, match="larger than 512 MiB; split it"):
        read("tau", path)


def test_an_attempt_that_stands_twice_is_an_error(file: Callable[..., Path]) -> None:
    with pytest.raises(RecordError, match="item 2: task 0 trial 1 was already item 1"):
        read("tau", file(tau_item(0, 0), tau_item(0, 1), tau_item(0, 1)))


def test_a_file_of_two_revisions_is_an_error(file: Callable[..., Path]) -> None:
    other = tau_item(0, 1)
    other["info"]["task"] = tau_task(0, instruction="Something else.")
    with pytest.raises(RecordError, match="item 1: task 0 differs from the one in item 0"):
        read("tau", file(tau_item(0, 0), other))


def test_a_trial_that_is_not_there_is_an_error(file: Callable[..., Path]) -> None:
    with pytest.raises(ConfigError, match="trials: 4 is not in the file, which holds 0, 1"):
        read("tau", file(tau_item(0, 0), tau_item(0, 1)), trials="1,4")


def test_a_domain_that_the_file_does_not_say_must_be_named(file: Callable[..., Path]) -> None:
    path = file(tau_crash())
    with pytest.raises(ConfigError, match="does not say its domain; name it with the option domain"):
        read("tau", path)
    assert one(path, domain="airline").task_id == "airline:test:0"


def test_a_binding_must_say_what_the_file_cannot(file: Callable[..., Path]) -> None:
    with pytest.raises(ConfigError, match="does not say its phase and split and arm: bind it"):
        read("tau", file(tau_item()), Binding())


@pytest.fixture(scope="module")
def records(shared_data: Callable[..., Path]) -> list[RunRecord]:
    return [item.record for item in read("tau", shared_data("tau", "gpt-4o-airline.json"))]


class TestRealFile:
    """The trajectories of gpt-4o that tau-bench ships: 50 airline tasks, four trials each."""

    def test_it_holds_200_graded_attempts_of_50_tasks_of_34_users(self, records: list[RunRecord]) -> None:
        assert Counter(record.status for record in records) == {Status.GRADED: 200}
        assert len({record.task_id for record in records}) == 50
        assert len({record.family for record in records}) == 34
        assert Counter(record.attempt_index for record in records) == dict.fromkeys(range(4), 50)

    def test_five_ran_out_of_steps(self, records: list[RunRecord]) -> None:
        assert sum(record.notes is not None for record in records) == 5

    def test_pass_k_is_what_the_benchmark_publishes(self, records: list[RunRecord]) -> None:
        solved: dict[str, int] = defaultdict(int)
        for record in records:
            solved[record.task_id] += bool(record.success)
        pass_k = [
            sum(comb(solved[record], k) / comb(4, k) for record in {r.task_id for r in records}) / 50
            for k in (1, 2, 3, 4)
        ]
        assert [round(value, 3) for value in pass_k] == [0.42, 0.273, 0.22, 0.2]

    def test_19_tasks_are_passed_by_doing_nothing(self, records: list[RunRecord]) -> None:
        idle = {int(r.task_id.split(":")[-1]) for r in records if r.metadata["passes_noop"]}
        assert idle == {12, 13, 15, 17, 18, 21, 24, 29, *range(35, 43), 47, 48, 49}
