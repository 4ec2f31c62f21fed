"""Trials that a task has to stand: what they catch, and that they are not run twice."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import ConfigError
from sipbench.export.harbor.instruction import instruction
from sipbench.export.harbor.trials.run import Choice, planned, task_folders
from sipbench.export.harbor.trials.tricks import TRICKS, seen
from sipbench.export.harbor.trials.verdicts import Outcome, Trial, read_trial, verdicts
from tests.cards.made import put
from tests.cli.command import Ended, asb
from tests.export.made import CHECKS, RIGHT, Made, author, check, made
from tests.sandbox.conftest import why_not

# --- tricks


def test_a_cheat_knows_what_the_instruction_tells(tmp_path: Path) -> None:
    one = made(tmp_path)
    author(tmp_path, one.card, *CHECKS)
    from sipbench.cards.checks.run import eval_of

    text = instruction(one.card.card, eval_of(one.card, tmp_path / "evals").checks, {})
    found = seen(text)
    assert found.names == ("fit.csv",)
    assert set(found.fields) == {"slope", "r2"}


def test_an_instruction_that_tells_nothing_gives_a_cheat_nothing() -> None:
    assert (seen("").names, seen("").fields) == ((), ())
    for name, trick in TRICKS.items():
        assert trick(seen("")), name


@pytest.mark.parametrize("name", ["a'b.csv", "$(reboot).csv", "a b.csv", "`x`.csv", "-rf.csv"])
def test_no_name_of_an_output_becomes_a_command(name: str) -> None:
    found = seen(f"- `/app/output/{name}`\n")
    for trick in TRICKS.values():
        script = trick(found)
        assert "$(reboot)" not in re.sub(r"'[^']*'", "", script)


# --- verdicts


def trial(kind: str, reward: float | None, number: int = 1, reason: str = "") -> Trial:
    return Trial(Path("t"), kind, number, Path(f"t/{kind}-{number}"), Outcome(reward, reason))


GOOD = [trial("oracle", 1.0), trial("oracle", 1.0, 2), trial("nop", 0.0), trial("guess-1", 0.0)]


def test_a_task_holds_when_the_oracle_earns_1_and_everything_else_0() -> None:
    (verdict,) = verdicts(GOOD)
    assert verdict.holds
    assert verdict.rewards == {"oracle": [1.0, 1.0], "nop": [0.0], "guess-1": [0.0]}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (trial("oracle", 0.0, 3), "oracle-3: reward 0, has to be 1"),
        (trial("nop", 1.0, 2), "nop-2: reward 1, has to be 0"),
        (trial("guess-0", 1.0), "guess-0-1: reward 1, has to be 0"),
        (trial("guess-0", 0.5), "guess-0-1: reward 0.5, has to be 0"),
        (trial("oracle", None, 3, "the verifier gave no reward"), "oracle-3: the verifier gave no reward"),
        (trial("nop", None, 2, "TimeoutError: x"), "nop-2: TimeoutError: x"),
        (Trial(Path("t"), "nop", 2, Path("t/nop-2")), "nop-2: was not run"),
    ],
)
def test_one_trial_that_ends_otherwise_fails_the_task(more: Trial, said: str) -> None:
    (verdict,) = verdicts([*GOOD, more])
    assert not verdict.holds
    assert verdict.failures[0] == said


def test_a_kind_whose_trials_differ_is_called_flaky() -> None:
    (verdict,) = verdicts([*GOOD, trial("oracle", 0.0, 3)])
    assert verdict.failures[-1] == "oracle is flaky: 1, 1, 0"


@pytest.mark.parametrize(
    ("document", "outcome"),
    [
        ({"finished_at": "x", "verifier_result": {"rewards": {"reward": 1}}}, Outcome(1.0)),
        (
            {"finished_at": "x", "verifier_result": {"rewards": {"reward": True}}},
            Outcome(None, "the verifier gave no reward"),
        ),
        ({"finished_at": "x", "verifier_result": None}, Outcome(None, "the verifier gave no reward")),
        (
            {"finished_at": "x", "exception_info": {"exception_type": "E", "exception_message": "a\nb"}},
            Outcome(None, "E: a b"),
        ),
        ({"verifier_result": {"rewards": {"reward": 1}}}, None),
        ([], None),
        ("not json", None),
    ],
)
def test_a_trial_is_read_from_what_harbor_left(
    tmp_path: Path, document: Any, outcome: Outcome | None
) -> None:
    folder = tmp_path / "oracle-1"
    put(folder / "name" / "result.json", document)
    assert read_trial(Trial(tmp_path, "oracle", 1, folder)).outcome == outcome


# --- plan


def test_each_task_is_tried_by_the_oracle_by_nobody_and_by_every_trick(tmp_path: Path) -> None:
    one = made(tmp_path)
    one.one()
    trials = planned([one.task], tmp_path / "trials", Choice(repeats=2))
    kinds = [trial_.kind for trial_ in trials]
    assert kinds == ["oracle", "oracle", "nop", "nop", *TRICKS]
    assert len({trial_.folder for trial_ in trials}) == len(trials)


def test_a_task_that_changed_is_tried_again(tmp_path: Path) -> None:
    one = made(tmp_path)
    one.one()
    before = planned([one.task], tmp_path / "trials", Choice())[0].folder
    put(one.task / "solution" / "note.txt", "x")
    assert planned([one.task], tmp_path / "trials", Choice())[0].folder != before


def test_another_base_is_another_trial(tmp_path: Path) -> None:
    one = made(tmp_path)
    one.one()
    folders = {
        planned([one.task], tmp_path / "trials", Choice(base=base))[0].folder
        for base in (None, tmp_path / "b", tmp_path / "c")
    }
    assert len(folders) == 3


def test_tasks_are_found_in_a_task_a_folder_and_an_export(tmp_path: Path) -> None:
    one = made(tmp_path)
    one.one()
    for path in (one.task, one.task.parent, tmp_path / "out"):
        assert [folder.name for folder in task_folders(path)] == [one.card.key]
    with pytest.raises(ConfigError, match="no task here"):
        task_folders(tmp_path)


# --- in the sandbox

R2 = {"by": "cell", "column": "r2", "row": 0}
SAME = {"path": "fit.csv", "reference": "ref/fit.csv", "comparator": "text"}


@pytest.fixture(name="sandbox")
def _sandbox() -> None:
    pytest.importorskip("harbor", reason="harbor (extra 'harbor') is not installed")
    if reason := why_not():
        pytest.skip(reason)


def judged(one: Made, *tricks: str, k: int = 1) -> Ended:
    one.one()
    options = [part for name in tricks for part in ("--trick", name)]
    return asb("judge-trials", one.root / "out", "-o", one.root / "trials", "-k", k, *options)


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
class TestInTheSandbox:
    def test_a_sound_task_holds_and_is_not_tried_again(self, tmp_path: Path) -> None:
        one = made(tmp_path)
        ended = judged(one, "touch-outputs", "write-reward", k=2)
        assert ended.code == 0, ended.out
        assert ended.out.splitlines()[-1].startswith("1 of 1 tasks hold")
        stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "trials").rglob("result.json")}
        assert len(stamps) == 6
        assert judged(one, "touch-outputs", "write-reward", k=2).code == 0
        assert {
            path: path.stat().st_mtime_ns for path in (tmp_path / "trials").rglob("result.json")
        } == stamps

    def test_a_trial_that_was_ended_in_the_middle_is_run_again_and_its_rest_kept(
        self, tmp_path: Path
    ) -> None:
        one = made(tmp_path)
        judged(one, "touch-outputs")
        result = next((tmp_path / "trials").rglob("nop-1/*/result.json"))
        result.unlink()
        assert judged(one, "touch-outputs").code == 0
        assert list((tmp_path / "trials").rglob(".ended-nop-1-*"))

    @pytest.mark.parametrize(
        ("weak", "trick"),
        [
            # The words are in the instruction: repeating it is enough.
            (check("weak", kind="contains_substring", path="fit.csv", value="slope"), "echo-instruction"),
            (check("weak", kind="value_in_range", path="fit.csv", selector=R2, min=-1, max=1), "guess-0"),
            # The answer is among the inputs.
            (check("weak", kind="output_matches_reference", **SAME), "copy-input-1"),
        ],
        ids=["echo", "constant", "input"],
    )
    def test_a_weak_check_is_caught(self, tmp_path: Path, weak: dict[str, Any], trick: str) -> None:
        one = made(tmp_path)
        author(tmp_path, one.card, weak)
        if trick == "copy-input-1":
            put(tmp_path / "inputs" / one.card.key / "rain.csv", RIGHT)
        ended = judged(one, trick)
        assert ended.code == 1
        assert f"  {trick}: reward 1, has to be 0" in ended.out.splitlines()

    def test_an_oracle_that_is_wrong_is_caught(self, tmp_path: Path) -> None:
        one = made(tmp_path)
        put(tmp_path / "oracle" / one.card.key / "fit.csv", "slope,r2\n9,9\n")
        ended = judged(one, "touch-outputs")
        assert (ended.code, "oracle-1: reward 0, has to be 1" in ended.out) == (1, True)

    def test_a_task_without_an_oracle_is_not_trusted(self, tmp_path: Path) -> None:
        one = made(tmp_path)
        one.export(given=one.request.given.__class__(inputs=tmp_path / "inputs", evals=tmp_path / "evals"))
        ended = asb(
            "judge-trials", tmp_path / "out", "-o", tmp_path / "trials", "-k", 1, "--trick", "touch-outputs"
        )
        assert (ended.code, "FAILS" in ended.out) == (1, True)

    def test_a_task_that_shares_its_verifier_with_the_agent_is_caught(self, tmp_path: Path) -> None:
        """Overwriting tools earns nothing from a separate verifier, and all from a shared one."""
        one = made(tmp_path)
        assert judged(one, "overwrite-tools").code == 0
        text = (one.task / "task.toml").read_text(encoding="utf-8").replace('"separate"', '"shared"')
        text = re.sub(r"\[verifier\.environment\]\n(?:.+\n)+", "", text)
        shared = tmp_path / "shared" / "task"
        for path in one.task.rglob("*"):
            if path.is_file():
                target = shared / path.relative_to(one.task)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
        (shared / "task.toml").write_text(text, encoding="utf-8")
        (shared / "tests" / "Dockerfile").unlink()
        ended = asb("judge-trials", shared, "-o", tmp_path / "t", "-k", 1, "--trick", "overwrite-tools")
        assert ended.code == 1
        assert "overwrite-tools" in ended.out

    def test_a_program_of_the_submission_runs_shut_in(self, tmp_path: Path) -> None:
        import os

        if os.geteuid() != 0:
            pytest.skip("without root a box has one user, so nothing can be shut in there")
        one = made(tmp_path)
        run = check("run", kind="script_runs", cmd=["python3", "fit.py"], timeout_s=20)
        value = check("r2", kind="contains_substring", path="fit.csv", value="0.625")
        author(tmp_path, one.card, run, value)
        put(tmp_path / "oracle" / one.card.key / "fit.py", "print('ok')\n")
        ended = judged(one, "touch-outputs", "wait-for-verifier")
        assert ended.code == 0, ended.out


def test_an_unknown_trick_is_one_line(tmp_path: Path) -> None:
    ended = asb("judge-trials", tmp_path, "--trick", "guess-2")
    assert ended.code == 2
    assert "--trick guess-2: unknown, did you mean 'guess-1'?" in ended.err


@pytest.mark.usefixtures("sandbox")
def test_a_sandbox_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    one = made(tmp_path)
    one.one()
    ended = asb("judge-trials", tmp_path / "out", "-o", tmp_path / "trials", "--sandbox", "no-such-place")
    assert (ended.code, ended.err.count("\n"), "--sandbox no-such-place" in ended.err) == (2, 1, True)
    ended = asb("judge-trials", tmp_path / "out", "-o", tmp_path / "trials", "--sandbox-base", tmp_path)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"sandbox base {tmp_path} is no root file system" in ended.err


def test_the_document_says_the_same(tmp_path: Path) -> None:
    from sipbench.cli.asb_commands.judge_trials import _document

    document = json.loads(json.dumps(_document(verdicts(GOOD), Choice(2))))
    assert document["tasks"][0]["holds"] is True
