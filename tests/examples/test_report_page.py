"""The page about the report: its commands run as they stand."""

from __future__ import annotations

from pathlib import Path

from sipbench.report.attempts import Caps
from sipbench.report.server import DEFAULT_PORT
from tests.examples.pages import ROOT, blocks, shell

PAGE = "report.md"


def test_its_commands_run_one_after_the_other(tmp_path: Path) -> None:
    _, *scripts = blocks(PAGE, "sh")
    for script in scripts:
        done = shell(script, tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "report.html").stat().st_size > 100_000
    assert {path.name for path in tmp_path.iterdir()} == {"demo", "demo.md", "demo.csv", "demo.tex"}


def test_the_limits_that_it_names_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    caps = Caps()
    assert f"the first {caps.indexed:,}" in text
    assert f"{caps.records / 1e6:g} MB of them" in text
    assert f"{caps.logs // 1_000_000} MB in all, {caps.log // 1024} kB of each" in text
    assert f"http://127.0.0.1:{DEFAULT_PORT}/" in text
