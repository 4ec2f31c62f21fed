"""A program of the user's as an adaptation."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from sipbench.adaptation.command import CommandOptions
from sipbench.errors import AdaptationError
from sipbench.protocol.records import Usage
from sipbench.protocol.vocabulary import PathType, Phase
from tests.adaptation.places import PYTHON, Place

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.make(tmp_path)


def test_it_is_told_what_it_may_use_and_its_state_is_taken_over(place: Place) -> None:
    (place.root / "previous" / "old").write_text("memory", encoding="utf-8")
    script = (
        'cp "$SIPBENCH_ATTEMPTS"/0000/attempt.json "$SIPBENCH_STATE"/seen;'
        'cp "$SIPBENCH_PREVIOUS_STATE"/old "$SIPBENCH_STATE"/old;'
        'mkdir "$SIPBENCH_STATE"/sub;'
        'echo "$SIPBENCH_PHASE $SIPBENCH_REPEAT $SIPBENCH_SEED" >"$SIPBENCH_STATE"/sub/told'
    )
    place.command("sh", "-c", script).adapt(place.request(phase=Phase.T2))
    assert place.left("seen") == '{"task": 1}'
    assert place.left("old") == "memory"
    assert place.left("sub/told") == "T2 2 77\n"
    assert (place.root / "previous" / "old").exists()


def test_attempts_that_lie_in_the_study_are_given_as_a_copy(place: Place) -> None:
    inside = place.study / "staged"
    (place.root / "attempts").rename(inside)
    made = place.command("sh", "-c", 'cat "$SIPBENCH_ATTEMPTS"/0000/attempt.json >"$SIPBENCH_STATE"/seen')
    made.adapt(place.request(attempts=inside))
    assert place.left("seen") == '{"task": 1}'


def test_it_starts_in_the_folder_of_the_study_file(place: Place) -> None:
    (place.root / "learn.py").write_text(
        "import os, pathlib; pathlib.Path(os.environ['SIPBENCH_STATE'], 'x').write_text('learned')", "utf-8"
    )
    place.command("python", "learn.py").adapt(place.request())
    assert place.left("x") == "learned"


def test_one_line_is_split_as_a_shell_would_and_given_to_none() -> None:
    options = CommandOptions.model_validate(
        {"command": "python learn.py --note 'two words; $HOME'", "path_type": "external"}
    )
    assert options.command == ("python", "learn.py", "--note", "two words; $HOME")


def test_its_options_survive_the_way_to_a_worker() -> None:
    options = CommandOptions.model_validate({"command": "a 'b c'", "path_type": "parameter", "env": ["KEY"]})
    assert CommandOptions.model_validate(options.model_dump(mode="json", by_alias=True)) == options


@pytest.mark.parametrize(
    "options",
    [
        {"command": "sh 'open", "path_type": "external"},
        {"command": [], "path_type": "external"},
        {"command": "", "path_type": "external"},
        {"command": ["sh", "a\0b"], "path_type": "external"},
        {"command": "sh"},
        {"command": "sh", "path_type": "frozen"},
        {"command": "sh", "path_type": "oracle"},
        {"command": "sh", "path_type": "external", "env": ["A B"]},
        {"command": "sh", "path_type": "external", "timeout_seconds": 0},
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        CommandOptions.model_validate(options)


def test_its_path_and_its_need_for_attempts_are_declared(place: Place) -> None:
    assert place.command("sh", path_type="parameter").path is PathType.PARAMETER
    assert place.command("sh").needs_attempts
    assert not place.command("sh", needs_attempts=False).needs_attempts


def test_only_named_variables_of_the_environment_reach_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "given")
    monkeypatch.setenv("OTHER_KEY", "kept")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    place.shell('env >"$SIPBENCH_STATE/env"', env=["MY_API_KEY"])
    seen = dict(line.split("=", 1) for line in place.left("env").splitlines())
    assert seen["MY_API_KEY"] == "given"
    assert not {"OTHER_KEY", "PYTHONPATH"} & seen.keys()
    assert str(place.study) not in "".join(seen.values())


def test_it_may_say_what_it_spent(place: Place) -> None:
    outcome = place.shell(
        """echo x >"$SIPBENCH_STATE"/x; echo '{"token_total": 12, "cost_usd": 0.5}' >"$SIPBENCH_USAGE" """
    )
    assert outcome.usage.token_total == 12
    assert outcome.usage.cost_usd == 0.5
    assert outcome.usage.tool_calls_total is None
    assert outcome.usage_source == "agent"


def test_what_it_does_not_say_is_unknown_but_for_the_time_that_was_measured(place: Place) -> None:
    outcome = place.shell('echo x >"$SIPBENCH_STATE"/x')
    assert outcome.usage.wall_clock_seconds is not None
    assert outcome.usage.model_copy(update={"wall_clock_seconds": None}) == Usage()
    assert outcome.usage_source == "engine"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[1]", "Input should be"),
        ('{"token_total": -1}', "token_total: "),
        ('{"token_total": "12"}', "token_total: "),
        ('{"tokens": 1}', "tokens: Extra inputs"),
        ('{"cost_usd": NaN}', "cost_usd: "),
    ],
)
def test_a_usage_that_cannot_be_read_is_an_error(place: Place, text: str, reason: str) -> None:
    with pytest.raises(AdaptationError, match=f"SIPBENCH_USAGE: {reason}"):
        place.shell(f"""echo x >"$SIPBENCH_STATE"/x; echo '{text}' >"$SIPBENCH_USAGE" """)


def test_a_usage_file_that_is_a_link_is_not_followed(place: Place) -> None:
    with pytest.raises(AdaptationError, match="expected a small file"):
        place.shell('echo x >"$SIPBENCH_STATE"/x; ln -s /dev/zero "$SIPBENCH_USAGE"')


def test_failing_is_an_error_that_quotes_its_last_words(place: Place) -> None:
    with pytest.raises(AdaptationError, match=r"ended with status 3: no adapt attempt \| was solved$"):
        place.shell('echo x >"$SIPBENCH_STATE"/x; echo "no adapt attempt" >&2; echo "was solved" >&2; exit 3')


def test_a_key_among_its_last_words_is_not_repeated(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "very-secret-value")
    with pytest.raises(AdaptationError) as caught:
        place.shell('echo "denied: $MY_API_KEY" >&2; exit 1', env=["MY_API_KEY"])
    assert "denied: " in str(caught.value)
    assert "very-secret-value" not in str(caught.value)


def test_leaving_no_state_is_an_error(place: Place) -> None:
    with pytest.raises(AdaptationError, match="left no agent state"):
        place.shell("true")


@pytest.mark.parametrize(
    ("leave", "reason"),
    [
        ("ln -s /etc/passwd", "symbolic link"),
        ("ln -s ../../..", "symbolic link"),
        ("mkfifo", "special file"),
        ('echo x >"$TMPDIR"/y; ln "$TMPDIR"/y', "hard link"),
        ("head -c 1100000 /dev/zero >", "more than 1 MiB"),
    ],
)
def test_a_state_with_anything_but_its_own_files_is_refused(place: Place, leave: str, reason: str) -> None:
    with pytest.raises(AdaptationError, match=reason):
        place.shell(f'{leave} "$SIPBENCH_STATE"/x', max_state_mib=1)


def test_a_program_that_is_not_there_is_one_line(place: Place) -> None:
    with pytest.raises(AdaptationError, match=r"cannot be started: No such file or directory: .*no-such-one"):
        place.command("no-such-one").adapt(place.request())


def test_its_output_goes_to_the_log_whatever_its_encoding(
    place: Place, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("sipbench"), "propagate", True)
    with caplog.at_level(logging.DEBUG, logger="sipbench"):
        place.shell(r"""printf 'caf\351 \303\251\n'; echo 'an error' >&2; echo x >"$SIPBENCH_STATE"/x""")
    assert "caf� é" in caplog.messages
    assert "an error" in caplog.messages


def test_at_its_time_limit_all_that_it_started_is_ended(place: Place, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    # The background process keeps the pipe open for as long as it lives.
    script = "sleep 600 >alive & echo going >&2; wait"
    reader = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(AdaptationError, match=r"took longer than 0\.5 seconds and was ended: going"):
        place.shell(script, timeout_seconds=0.5)
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b"", "the background process lives on"
    os.close(reader)


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux ends the children of a process that is killed"
)
def test_it_does_not_outlive_a_runner_that_is_killed(place: Place, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    (tmp_path / "run.py").write_text(
        "import sys; from pathlib import Path\n"
        "from tests.adaptation.places import Place\n"
        "Place(Path(sys.argv[1])).shell('exec >alive; echo up; sleep 600')\n",
        encoding="utf-8",
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    runner = subprocess.Popen([PYTHON, tmp_path / "run.py", tmp_path], env=env)
    with (tmp_path / "alive").open("rb") as pipe:
        assert pipe.readline() == b"up\n"
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        assert pipe.read() == b"", "the program lives on"


def test_a_folder_for_temporary_files_inside_the_study_is_an_error(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(place.study))
    with pytest.raises(AdaptationError, match="set TMPDIR to another one"):
        place.shell("true")


def test_the_digest_of_its_inputs_follows_the_script_it_names(place: Place) -> None:
    script = place.root / "learn.py"
    script.write_text("1", encoding="utf-8")
    made = place.command("python", "learn.py", "-c", "x" * 9000)
    before = made.inputs_digest()
    script.write_text("2", encoding="utf-8")
    assert before is not None
    assert made.inputs_digest() != before
    assert place.command("python", "-c", "1").inputs_digest() is None


def test_nothing_is_left_in_the_folder_for_temporary_files(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    place.shell('echo x >"$SIPBENCH_STATE"/x; echo y >"$TMPDIR"/y')
    assert list((tmp_path / "tmp").iterdir()) == []
