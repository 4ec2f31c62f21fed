"""One directory, one study: what may change while it runs, and what is refused with what changed."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sipbench.adaptation.skills import SkillsOptions
from sipbench.benchmarks.base import options_document
from sipbench.errors import ConfigError, EngineError, RecordError, SplitError, StudyError
from sipbench.protocol.digests import json_digest
from sipbench.protocol.folder import read_folder
from sipbench.protocol.manifest import Preregistered
from sipbench.protocol.versions import LOCK_VERSION
from sipbench.study.directory import StudyDirectory
from sipbench.study.lock import changes
from sipbench.study.splits import read_manifest
from tests.study.trial import LEARNER, Trial

ARMS = {
    "frozen": {"path_type": "frozen"},
    "learner": {"path_type": "external", "adaptation": {"kind": "trial-learner", "reads": "notes.txt"}},
}


@pytest.fixture(scope="module")
def half_done(installed: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that is half done, to be copied."""
    with pytest.MonkeyPatch.context() as patch:
        for folder in installed:
            patch.syspath_prepend(folder)
        trial = Trial(tmp_path_factory.mktemp("half-done"))
        (trial.folder / "notes.txt").write_text("first", encoding="utf-8")
        trial.write(arms=ARMS, benchmark={"content": {"heldout-0": "a"}, "grader": "1"}).run()
    lines = (trial.out / "runs.jsonl").read_bytes().splitlines(keepends=True)
    (trial.out / "runs.jsonl").write_bytes(b"".join(lines[:-3]))
    return trial.folder


@pytest.fixture
def begun(half_done: Path, tmp_path: Path, plugins: None) -> Trial:
    """A study that is half done."""
    shutil.copytree(half_done, tmp_path, dirs_exist_ok=True)
    return Trial(tmp_path)


def lock(trial: Trial) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((trial.out / "study.lock.json").read_text(encoding="utf-8"))
    return document


def refusal(trial: Trial) -> str:
    before = {path: path.read_bytes() for path in trial.out.rglob("*") if path.is_file()}
    calls = trial.calls()
    with pytest.raises(StudyError) as caught:
        trial.run()
    assert trial.calls() == calls
    del before[trial.out / "study.log"]
    assert {path: path.read_bytes() for path in before} == before
    said = str(caught.value)
    assert "\n" not in said
    return said


# --- what it says


def test_the_lock_says_what_was_asked_what_it_came_to_and_where_each_value_came_from(begun: Trial) -> None:
    found = lock(begun)
    assert found["schema_version"] == LOCK_VERSION
    assert found["config"]["retries"] == 1
    assert found["sources"]["retries"] == "study file"
    assert found["sources"]["seed"] == "default"
    assert found["identity"]["benchmark"]["grader_version"] == "1"
    assert found["identity"]["tasks"]["heldout-0"] == json_digest(["heldout", 0, "a"])
    assert found["identity"]["arms"]["learner"]["adaptation"]["kind"] == "trial-learner"
    assert found["engine"] == "trial 1"


def test_an_analysis_finds_in_it_what_it_needs(begun: Trial) -> None:
    folder = read_folder(begun.out)
    assert folder.context.study == "trial-study"
    assert (folder.settings.sesoi, folder.settings.cost_unit) == (0.05, "tool_calls")
    assert folder.context.planned is not None
    assert sum(cell.attempts for cell in folder.context.planned) == 22


# --- what an earlier release wrote


def test_a_lock_that_says_which_sandbox_was_asked_for_and_not_which_it_came_to_goes_on(begun: Trial) -> None:
    path = begun.out / "study.lock.json"
    old = lock(begun)
    assert old["identity"]["benchmark"]["options"]["sandbox"] == "here"
    old["identity"]["benchmark"]["options"]["sandbox"] = "auto"
    path.write_text(json.dumps({**old, "schema_version": "1.0.0"}), encoding="utf-8")
    assert begun.run().missing == 0
    assert lock(begun)["identity"]["benchmark"]["options"]["sandbox"] == "here"


def test_an_option_that_a_later_release_added_is_no_part_of_an_attempt_at_its_default() -> None:
    # These are the options, and so the identities, of a study that was begun before the others existed.
    before = {"path": "s", "pin": None, "select": "all", "cards": None}
    assert options_document(SkillsOptions(path="s")) == before
    assert options_document(SkillsOptions(path="s", through="mcp")) == {**before, "through": "mcp"}


# --- what must not change


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("heldout-0: a", "heldout-0: b", "changed: task heldout-0; benchmark.options.content.heldout-0 was"),
        ("grader: '1'", "grader: '2'", 'benchmark.grader_version was "1" and is "2"'),
        ("name: somebody", "name: another", 'arms.frozen.agent.name was "somebody" and is "another"'),
        ("repeats: 1", "repeats: 2", "repeats was 1 and is 2"),
        ("retries: 1", "retries: 1\nseed: 5", "arms.frozen.seed was 0 and is 5"),
        (
            "reads: notes.txt",
            "reads: notes.txt\n      note: x",
            'arms.learner.adaptation.note was "" and is "x"',
        ),
        ("  learner:", "  other:", "arm 'learner' is gone; arm 'other' is new"),
        ("retries: 1", "retries: 1\nlimits: {tokens: 9}", "arms.frozen.limits.tokens was null and is 9"),
        (
            "retries: 1",
            "retries: 1\nsplits: {sizes: {drift: 0}}\nattempts: 2",
            "attempts.replay was 1 and is 2",
        ),
        ("grader: '1'", "grader: '1'\n  drift: 1", "not in the splits before: task drift-0"),
        ("grader: '1'", "grader: '1'\n  heldout: 2", "no longer in the splits: task heldout-2"),
    ],
)
def test_a_change_of_what_decides_outcomes_is_refused(
    begun: Trial, before: str, after: str, said: str
) -> None:
    begun.edit(before, after)
    message = refusal(begun)
    assert said in message
    assert "the study changed since it was begun" in message
    assert message.endswith(f"start afresh with another --out, or remove {begun.out}")


def test_changed_files_that_an_adaptation_reads_are_a_change(begun: Trial) -> None:
    (begun.folder / "notes.txt").write_text("second", encoding="utf-8")
    assert "the files that the adaptation of arm 'learner' reads changed" in refusal(begun)


def test_an_edited_agent_state_is_refused(begun: Trial) -> None:
    state = begun.state("learner") / "learned.json"
    state.chmod(0o644)
    state.write_text("{}", encoding="utf-8")
    message = refusal(begun)
    assert f"{begun.state('learner')}: the agent state was changed since it was made" in message
    assert "start afresh with another --out" in message


def test_a_removed_agent_state_is_refused(begun: Trial) -> None:
    (begun.state("learner") / "learned.json").unlink()
    begun.state("learner").rmdir()
    assert "the agent state was removed" in refusal(begun)


def test_an_attempt_of_another_study_among_the_records_is_refused(begun: Trial) -> None:
    lines = (begun.out / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    record = json.loads(lines[0]) | {"run_id": "0" * 32, "attempt_index": 7}
    lines.append(json.dumps(record))
    (begun.out / "runs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(RecordError, match=rf"run_id: attempt {'0' * 32} \(task heldout-0.* another --out"):
        begun.run()


# --- what may change


def test_settings_that_decide_no_outcome_may_change_and_that_is_said(
    begun: Trial, caplog: pytest.LogCaptureFixture
) -> None:
    begun.edit("retries: 1", "retries: 4\nconcurrency: 1\ncaps: {hours: 9}\nallow: [disjoint-families]")
    begun.edit("sesoi: 0.05", "sesoi: 0.1")
    before = lock(begun)
    assert begun.run().missing == 0
    after = lock(begun)
    assert (after["config"]["retries"], after["analysis"]["sesoi"]) == (4, 0.1)
    assert after["created_at"] == before["created_at"]
    assert after["identity"] == before["identity"]
    assert (begun.out / "study.yaml").read_bytes() == begun.file.read_bytes()
    said = " ".join(record.getMessage() for record in caplog.records)
    for change in (
        "retries was 1 and is 4",
        "analysis.sesoi was 0.05 and is 0.1",
        "concurrency was 2 and is 1",
    ):
        assert change in said
    summary = begun.run().summary
    assert summary is not None
    assert summary.settings.sesoi == 0.1


def test_a_study_that_has_not_begun_may_change_altogether(trial: Trial) -> None:
    trial.write(benchmark={"preflight": "not yet"})
    with pytest.raises(EngineError):
        trial.run()
    trial.write(repeats=2, arms=ARMS | {"learner": LEARNER}, benchmark={"heldout": 5})
    assert trial.run().missing == 0


def test_when_the_replay_list_was_declared_is_kept_from_the_first_time(begun: Trial) -> None:
    begun.write(replay_selection="preregistered", name="declared")
    begun.out = begun.folder / "second"
    begun.run()
    first = read_manifest(begun.out / "splits.json").replay_selection
    (begun.out / "runs.jsonl").write_bytes(b"")
    begun.run()
    assert isinstance(first, Preregistered)
    assert read_manifest(begun.out / "splits.json").replay_selection == first


# --- whose directory it is


def test_two_studies_in_one_directory_are_refused(begun: Trial) -> None:
    begun.edit("name: trial-study", "name: other-study")
    assert refusal(begun) == (
        f"{begun.out}: holds the study 'trial-study', not 'other-study'; choose another folder with --out"
    )


def test_a_folder_of_somebody_else_s_is_refused_and_left_alone(trial: Trial) -> None:
    trial.out.mkdir()
    (trial.out / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(StudyError, match=r"not a study directory, and not empty \(thesis\.txt\)"):
        trial.run()
    assert [path.name for path in trial.out.iterdir()] == ["thesis.txt"]


def test_another_study_file_in_the_folder_is_not_written_over(trial: Trial) -> None:
    trial.out.mkdir()
    (trial.out / "study.yaml").write_text("name: mine\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"not empty \(study\.yaml\)"):
        trial.run()
    assert (trial.out / "study.yaml").read_text(encoding="utf-8") == "name: mine\n"


def test_an_empty_folder_is_taken(trial: Trial) -> None:
    trial.out.mkdir()
    assert trial.run().missing == 0


def test_what_is_no_folder_is_refused(trial: Trial) -> None:
    trial.out.write_text("a file", encoding="utf-8")
    with pytest.raises(StudyError, match="cannot be used as a study directory"):
        trial.run()


def test_a_second_runner_is_refused_while_the_first_is_at_work(begun: Trial) -> None:
    with StudyDirectory(begun.out).held(begun.file.read_bytes()):
        message = refusal(begun)
    assert message.startswith(f"{begun.out}: another runner (process ")
    assert begun.run().missing == 0


def test_a_file_system_without_locks_is_named(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: Any) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(StudyError, match="this file system has no locks"):
        trial.run()


@pytest.mark.parametrize(
    ("name", "spoil", "said"),
    [
        ("study.lock.json", lambda text: text[:100], "not JSON"),
        ("study.lock.json", lambda text: text.replace(LOCK_VERSION.encode(), b"9.0.0", 1), "found 9.0.0"),
        ("study.lock.json", lambda text: text.replace(b'"engine"', b'"motor"'), "engine: Field required"),
        ("journal.jsonl", lambda text: text.replace(b'"started"', b'"begun"', 1), "changed by hand"),
        ("journal.jsonl", lambda text: text.replace(b"{", b"", 1), "not JSON"),
        ("adaptations.jsonl", lambda text: text.replace(b'"repeat":0', b'"repeat":-1'), "repeat"),
    ],
)
def test_files_that_were_changed_by_hand_are_named(
    begun: Trial, name: str, spoil: Callable[[bytes], bytes], said: str
) -> None:
    path = begun.out / name
    path.write_bytes(spoil(path.read_bytes()))
    message = refusal(begun)
    assert name in message
    assert said in message


# --- bad input, before anything is made


@pytest.mark.parametrize(
    ("fields", "error", "said"),
    [
        ({"benchmark": {"name": "trail"}}, ConfigError, "unknown benchmark 'trail', did you mean 'trial'?"),
        ({"executor": "cloud"}, ConfigError, "unknown executor 'cloud'"),
        ({"benchmark": {"twice": True}}, EngineError, "the task id 'heldout-0' occurs twice"),
        ({"benchmark": {"replay": 0}}, SplitError, "replay is empty"),
        ({"agent": {"name": "nobody"}}, ConfigError, "trial does not know 'nobody'"),
    ],
)
def test_bad_input_leaves_nothing_behind(
    trial: Trial, fields: dict[str, Any], error: type[Exception], said: str
) -> None:
    trial.write(**fields)
    with pytest.raises(error) as caught:
        trial.run()
    assert said in str(caught.value)
    assert not trial.out.exists()


def test_overlapping_splits_are_refused_unless_allowed_and_then_marked(trial: Trial, tmp_path: Path) -> None:
    trial.run()
    splits = json.loads((trial.out / "splits.json").read_text(encoding="utf-8"))
    splits["heldout"].append(splits["replay"][0])
    (tmp_path / "splits.json").write_text(json.dumps(splits), encoding="utf-8")
    trial.write(splits={"file": "splits.json"}, name="overlapping")
    trial.out = tmp_path / "second"
    with pytest.raises(
        SplitError, match=r"tasks stand in both replay and heldout: replay-0.*--allow disjoint-ids"
    ):
        trial.run()
    assert not trial.out.exists()
    result = trial.run(allow=["disjoint-ids"])
    assert result.missing == 0
    assert result.summary is not None
    assert [mark.rule for mark in result.summary.allowed] == ["disjoint-ids"]


def test_equal_identities_have_no_changes(begun: Trial) -> None:
    identity = lock(begun)["identity"]
    assert changes(identity, identity) == []
    assert changes(identity, identity | {"splits": "x"}) == ["splits.json is another one"]
    (said,) = changes(identity, identity | {"slots": "x"})
    assert "planned in another way" in said


# --- what lies where a runner writes


@pytest.mark.parametrize("name", [".runner", "study.log"])
def test_a_link_or_a_pipe_where_the_runner_writes_is_refused(trial: Trial, name: str) -> None:
    theirs = trial.folder / "theirs.txt"
    theirs.write_text("precious", encoding="utf-8")
    trial.out.mkdir()
    path = trial.out / name
    path.symlink_to(theirs)
    with pytest.raises(StudyError, match=f"{name}: it is a symbolic link"):
        trial.run()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(StudyError, match=f"{name}: it is a pipe"):
        trial.run()
    assert (theirs.read_text(encoding="utf-8"), trial.calls()) == ("precious", [])


def test_what_is_written_as_a_whole_does_not_go_through_a_link(trial: Trial) -> None:
    theirs = trial.folder / "theirs.txt"
    theirs.write_text("precious", encoding="utf-8")
    trial.out.mkdir()
    for name in ("study.lock.json", "summary.json"):
        (trial.out / f".{name}.partial").symlink_to(theirs)
    assert trial.run().missing == 0
    assert theirs.read_text(encoding="utf-8") == "precious"
    assert lock(trial)["name"] == "trial-study"
