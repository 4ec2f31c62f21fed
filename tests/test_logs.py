from __future__ import annotations

import logging
from pathlib import Path

import pytest

from sipbench.logs import configure, log_to, redact


@pytest.mark.parametrize(
    "secret",
    ["sk-abcdefgh12345678", "ghp_" + "a" * 36, "AKIA" + "A" * 16, "hf_" + "b" * 30, "xoxb-1234567890-abc"],
)
def test_what_looks_like_a_key_is_redacted(secret: str) -> None:
    assert redact(f"calling with {secret} now") == "calling with [redacted] now"


def test_authorization_headers_are_redacted() -> None:
    assert "abcdef123456" not in redact("Authorization: Bearer abcdef123456")


def test_values_of_environment_variables_named_like_keys_are_redacted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "plain-looking-value")
    monkeypatch.setenv("ACME_HOME", "another-plain-value")
    assert redact("plain-looking-value another-plain-value") == "[redacted] another-plain-value"


def test_ordinary_text_passes() -> None:
    text = "task-7 of the basic split; risk-free; tokens: 12"
    assert redact(text) == text


def test_the_study_log_gets_details_and_no_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure()
    handler = log_to(tmp_path / "study.log")
    logging.getLogger("sipbench.test").debug("key sk-abcdefgh12345678")
    logging.getLogger("sipbench").removeHandler(handler)
    handler.close()
    written = (tmp_path / "study.log").read_text(encoding="utf-8")
    assert "DEBUG" in written
    assert "[redacted]" in written
    assert "sk-" not in written
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("verbose", "quiet", "shown"), [(0, False, "W"), (1, False, "IW"), (2, False, "DIW"), (0, True, "")]
)
def test_verbosity(verbose: int, quiet: bool, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure(verbose=verbose, quiet=quiet)
    logger = logging.getLogger("sipbench.test")
    for letter, level in (("D", logging.DEBUG), ("I", logging.INFO), ("W", logging.WARNING)):
        logger.log(level, "%s", letter)
    found = "".join(line[-1] for line in capsys.readouterr().err.splitlines())
    assert found == shown


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_log_on_a_full_disk_is_incomplete_and_nothing_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.log").symlink_to("/dev/full")
    handler = log_to(tmp_path / "study.log")
    logging.getLogger("sipbench.test").debug("not to be written")
    logging.getLogger("sipbench").removeHandler(handler)
    handler.close()
    assert "Traceback" not in capsys.readouterr().err
