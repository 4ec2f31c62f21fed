"""What went wrong elsewhere with engines, and the tests that hold each rule that follows from it.

``PITFALLS`` are Harbor's own, ``REPORTS`` public issues about harnesses, with the rule in a few words.
Reports about splits, gold answers, leaks and the format of skills are held where those things are.
"""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

import pytest

from sipbench.protocol.jsonl import read_records
from sipbench.protocol.vocabulary import PathType, Phase, Status
from sipbench.splits.screening import flag_tasks
from tests.benchmarks.harbor.conftest import Engine
from tests.benchmarks.harbor.made import TEST, make_task, write
from tests.benchmarks.harbor.running import ROOT, sip

ATTEMPTS = "tests/benchmarks/harbor/test_attempts.py"
BENCHMARK = "tests/benchmarks/harbor/test_benchmark.py"
EXPOSURE = "tests/benchmarks/harbor/test_exposure.py"
HERE = "tests/benchmarks/harbor/test_field_reports.py"
TEXTS = "tests/benchmarks/harbor/test_texts.py"
IMPORTER = "tests/importers/harbor/test_importer.py"
OUTCOME = "tests/importers/harbor/test_outcome.py"
USAGE = "tests/importers/harbor/test_usage.py"
JUDGEMENT = "tests/stats/test_judgement.py"
MISSING = "tests/stats/test_missing.py"
PROCESSES = "tests/sandbox/attacks/test_processes.py"
RESUME = "tests/study/test_resume.py"

PITFALLS = {
    "P1 configurations that differ in skills or arguments are merged": [
        f"{IMPORTER}::test_p1_configurations_that_differ_in_arguments_are_not_merged",
        f"{IMPORTER}::test_p1_configurations_that_differ_in_skills_are_not_merged",
    ],
    "P2 invalid rewards leave the mean, unknown exceptions stay": [
        f"{IMPORTER}::test_p2_means_are_recomputed_from_trials",
        f"{OUTCOME}::test_an_exception_of_unknown_cause_is_no_grade_although_harbor_keeps_it",
    ],
    "P3 a retry deletes what the failed trial cost": [
        f"{IMPORTER}::test_p3_what_deleted_trials_cost_is_not_taken_for_nothing",
        f"{ATTEMPTS}::test_a_failed_try_keeps_what_it_cost",
    ],
    "P4 pass@k at few k, no pass@1": [
        f"{IMPORTER}::test_p4_three_attempts_are_three_records_whatever_pass_at_k_there_is"
    ],
    "P5 a job with failed trials exits 0": [
        f"{IMPORTER}::test_p5_a_job_that_ended_well_may_hold_failed_trials"
    ],
    "P6 no seed, attempt index or state": [
        f"{IMPORTER}::test_p6_what_harbor_does_not_keep_is_null",
        f"{ATTEMPTS}::test_an_agent_has_a_seed_only_where_it_takes_one",
    ],
    "P7 a constructor's exception aborts the job": [
        f"{IMPORTER}::test_p7_a_job_that_was_aborted_has_trials_without_a_result",
        f"{ATTEMPTS}::test_p7_an_agent_that_cannot_be_made_ends_its_own_attempt_alone",
    ],
}

REPORTS = {
    "skillberry-ai/cap-evolve#307: without a verifier's result there is no score": [
        f"{OUTCOME}::test_an_image_that_cannot_be_pulled_is_no_reward_of_zero",
        f"{JUDGEMENT}::test_with_40_percent_of_the_later_attempts_lost_a_gain_is_inconclusive_with_bounds",
    ],
    "modelscope/evalscope#1608: a reward is a finite number in its range, or an error": [
        f"{OUTCOME}::test_a_missing_reward_is_not_zero",
        f"{OUTCOME}::test_a_reward_that_is_no_finite_number_is_no_grade",
        f"{IMPORTER}::test_a_reward_range_makes_scores",
    ],
    "langchain-ai/deepagents#2115: no reward is not 0; conventions stand side by side": [
        f"{OUTCOME}::test_a_missing_reward_is_not_zero",
        f"{MISSING}::test_each_policy_by_hand",
    ],
    "marin-community/marin#8122, #8084: bounds of what is missing, and a gate": [
        f"{MISSING}::test_bounds_by_hand",
        f"{MISSING}::test_the_gate",
        "tests/stats/test_verdicts.py::test_a_failed_gate_leaves_every_metric_inconclusive",
    ],
    "marin-community/marin#8947, apache/maka#2112: a timeout with a grade is a grade": [
        f"{OUTCOME}::test_a_timeout_of_the_agent_with_a_grade_is_a_grade",
        f"{ATTEMPTS}::test_a_timeout_of_the_agent_is_graded_and_what_it_spent_is_kept",
    ],
    "Minions-Land/MagentaBenchmark#37: a verifier that could not set itself up": [
        f"{HERE}::test_a_verifier_that_cannot_set_itself_up_is_found_out_before_the_study",
        f"{OUTCOME}::test_a_failure_of_the_verifier_is_no_grade",
    ],
    "valbaudo/dawn#15: what a killed runner leaves ends, and its attempts are errors": [
        f"{BENCHMARK}::test_a_runner_that_is_killed_leaves_nothing_running_and_its_study_goes_on",
        f"{PROCESSES}::test_nothing_of_a_box_is_left_when_its_owner_is_killed",
        f"{RESUME}::test_an_attempt_that_was_started_and_never_ended_is_a_failed_try_of_unknown_cost",
    ],
    "marin-community/marin#7835: a finished trial is durable": [
        "tests/study/test_kill.py::test_a_study_that_is_killed_twenty_times_ends_like_one_that_is_not",
        "tests/study/test_journal.py::test_many_records_share_a_sync",
    ],
    "marin-community/marin#7789, #9100: resume goes by status; retries are no identity": [
        f"{RESUME}::test_attempts_without_a_grade_are_taken_up_again",
        "tests/study/test_lock.py::test_settings_that_decide_no_outcome_may_change_and_that_is_said",
        "tests/study/test_lock.py::test_a_change_of_what_decides_outcomes_is_refused",
    ],
    "open-thoughts/OpenThoughts-Agent#27, NVIDIA-NeMo/nemo-platform#964: no place or time in an identity": [
        f"{BENCHMARK}::test_where_the_tasks_lie_is_no_part_of_what_they_are",
        f"{RESUME}::test_the_same_study_has_the_same_ids_in_another_folder_and_under_other_names",
    ],
    "existential-birds/daydream#820, Handshake-AI-Research/gandalf-the-grader#7, "
    "NVIDIA-NeMo/nemo-platform#544: several rewards need a name": [
        f"{OUTCOME}::test_of_several_rewards_none_is_taken_silently",
        f"{OUTCOME}::test_a_named_reward_is_taken_and_the_others_are_kept",
        f"{IMPORTER}::test_several_rewards_without_a_name_are_an_error",
    ],
    "NVIDIA-NeMo/nemo-platform#2136: exceptions are read at every level": [
        f"{OUTCOME}::test_an_exception_of_a_step_counts_although_the_trials_own_is_null"
    ],
    "benchflow-ai/benchflow#592, #207, #204: skills that never arrived": [
        f"{ATTEMPTS}::test_skills_that_never_arrive_are_an_error_and_no_result",
        f"{ATTEMPTS}::test_a_control_whose_image_brings_skills_is_an_error_and_no_result",
        f"{EXPOSURE}::test_an_arm_that_was_not_given_its_skills_is_not_let_begin",
    ],
    "skillberry-ai/cap-evolve#164: the seed on record is the one in use": [
        f"{ATTEMPTS}::test_an_agent_has_a_seed_only_where_it_takes_one"
    ],
    "microsoft/SWE-bench-Live#15: the reference solution must pass": [
        f"{HERE}::test_a_verifier_that_cannot_set_itself_up_is_found_out_before_the_study",
        "tests/splits/test_screening.py::test_tasks_that_nothing_passes_or_the_solution_fails_are_flagged",
    ],
    "SWE-bench/SWE-bench#215, #372, agentskills/agentskills#536, Aider-AI/aider#2664: texts of any kind": [
        f"{TEXTS}::test_what_enters_an_environment_is_what_lies_on_disk_byte_for_byte",
        f"{TEXTS}::test_a_test_script_with_windows_line_ends_is_no_reward_of_zero",
        f"{TEXTS}::test_output_of_any_bytes_and_any_length_harms_nobody",
        f"{TEXTS}::test_harbor_is_not_let_read_texts_in_another_alphabet",
        "tests/sandbox/test_box.py::test_what_is_not_utf8_is_replaced_and_split_characters_are_joined",
    ],
    "SWE-bench/SWE-bench#144, #398, #293: a build that failed is no evaluation": [
        f"{ATTEMPTS}::test_an_image_that_cannot_be_built_is_no_reward_of_zero",
        f"{BENCHMARK}::test_a_sandbox_that_does_not_work_is_one_line",
        f"{BENCHMARK}::test_tasks_that_the_sandbox_cannot_run_are_named_before_the_first_attempt",
    ],
    "hezo-ai/hezo#150: unknown usage is null": [
        f"{USAGE}::test_zero_tokens_of_an_agent_without_a_parser_are_unknown",
        f"{USAGE}::test_what_nobody_reported_is_null",
    ],
}


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("what", [*PITFALLS, *REPORTS])
def test_each_has_a_test(what: str) -> None:
    named = (PITFALLS | REPORTS)[what]
    assert named
    for test in named:
        path, _, name = test.partition("::")
        assert name.startswith("test_")
        assert name in names_in(path), test


def test_all_seven_pitfalls_are_there() -> None:
    assert [name.split()[0] for name in PITFALLS] == [f"P{number}" for number in range(1, 8)]


# -- the one that has no home elsewhere -----------------------------------------------------------

DOWNLOAD = "python3 -m pip install --no-input --retries 0 --timeout 1 nothing-of-this-name-4711 2>&1"


def test_a_verifier_that_cannot_set_itself_up_is_found_out_before_the_study(engine: Engine) -> None:
    """One goes on after a failed download and writes 0; one stops, and there is no reward."""
    offline = '[environment]\nnetwork_mode = "no-network"\n'
    goes_on = f"{TEST}{DOWNLOAD} || echo 0 > /logs/verifier/reward.txt\n"
    stops = TEST.replace("#!/bin/bash\n", f"#!/bin/bash\nset -e\n{DOWNLOAD}\n")
    make_task(engine.tasks / "sound", offline)
    make_task(engine.tasks / "goes-on", offline, {"tests/test.sh": goes_on})
    make_task(engine.tasks / "stops", offline, {"tests/test.sh": stops})
    study = {
        "name": "s",
        "benchmark": {"name": "harbor", "tasks": "tasks", "sandbox": "bwrap"},
        "agent": {"name": "nop"},
        "phases": ["T0"],
        "repeats": 1,
        "retries": 0,
        "splits": {"sizes": {"heldout": 3, "replay": 0, "adapt": 0}},
        "arms": {
            "idle": {"path_type": "frozen"},
            "known": {"path_type": "oracle", "agent": {"name": "oracle"}},
        },
        "analysis": {"sesoi": 0.05},
    }
    write(engine.root / "study.yaml", json.dumps(study))
    screen = sip("screen", "study.yaml", "--attempts", "1", "--out", "screen", cwd=engine.root)
    said, _ = screen.communicate(timeout=300)
    records = list(read_records(engine.root / "screen" / "runs.jsonl"))
    assert len(records) == 6, said
    assert {record.phase for record in records} == {Phase.T0}
    known = {record.task_id: record for record in records if record.path_type is PathType.ORACLE}
    assert (known["sound"].status, known["sound"].score) == (Status.GRADED, 1.0)
    # A script that writes 0 has graded: only the known solution tells that it cannot be passed.
    assert (known["goes-on"].status, known["goes-on"].score) == (Status.GRADED, 0.0)
    assert (known["stops"].status, known["stops"].score) == (Status.VERIFIER_ERROR, None)
    flags = flag_tasks(records)
    assert flags.oracle_fails == {"goes-on": "0 of 1"}
    assert flags.oracle_unknown == ("stops",)
    assert flags.passes_noop == {}
    flag = sip("splits", "flag", "screen", "-o", "exclusions.json", cwd=engine.root)
    said, _ = flag.communicate(timeout=60)
    listed = json.loads(Path(engine.root, "exclusions.json").read_text(encoding="utf-8"))
    assert "goes-on" in json.dumps(listed), said
