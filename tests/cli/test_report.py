from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import sip
from tests.report.studies import Design, make_study

pytest.importorskip("altair", reason="pages need the extra 'report'")

SMALL = Design(arms=("frozen", "skilled"), repeats=1, phases=("T0", "T1"), sizes={"heldout": 6, "replay": 4})


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return make_study(tmp_path / "study", SMALL)


def test_the_page_stands_in_the_study(study: Path) -> None:
    ended = sip("report", study)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith(f"{study / 'report.html'}: ")
    assert (study / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_report_of_a_study_changes_nothing_else_in_it(study: Path) -> None:
    before = {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
    sip("report", study)
    after = {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
    del after[study / "report.html"]
    assert after == before


@pytest.mark.parametrize(
    ("form", "start"), [("md", "# made"), ("csv", "study,chart,"), ("latex", "% Made by sipbench")]
)
def test_other_formats_go_to_stdout_or_to_a_file(study: Path, tmp_path: Path, form: str, start: str) -> None:
    ended = sip("report", study, "--format", form)
    assert ended.code == 0
    assert ended.out.startswith(start)
    out = tmp_path / "out"
    assert sip("report", study, "--format", form, "--out", out).code == 0
    assert out.read_text(encoding="utf-8").startswith(start)


def test_several_studies_make_one_page_here(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_study(tmp_path / "other", Design(**{**SMALL.__dict__, "name": "second", "prefix": "b"}))
    monkeypatch.chdir(tmp_path)
    assert sip("report", study, other).code == 0
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "2 studies" in text
    assert "second" in text


def test_a_file_of_records_is_reported_as_well(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sip("report", study / "runs.jsonl", "--out", "page.html").code == 0
    assert (tmp_path / "page.html").exists()


def test_a_dash_is_stdout(study: Path) -> None:
    ended = sip("report", study, "--out", "-")
    assert ended.out.startswith("<!doctype html>")


@pytest.mark.parametrize("place", ["nothing", "."])
def test_what_is_no_study_is_one_line_and_exit_2(tmp_path: Path, place: str) -> None:
    ended = sip("report", tmp_path / place)
    assert ended.code == 2
    assert ended.err.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_one_line(study: Path, tmp_path: Path) -> None:
    ended = sip("report", study, "--out", tmp_path / "no" / "such" / "page.html")
    assert ended.code == 2
    assert "cannot be written" in ended.err


@pytest.mark.parametrize("missing", ["altair", "vl_convert", "jinja2"])
def test_a_missing_extra_says_what_to_install_and_csv_needs_none(
    study: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == missing:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    from sipbench.report import page

    page._environment.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    ended = sip("report", study)
    assert ended.code == 2
    assert "pip install 'sipbench[report]'" in ended.err
    for form in ("csv", "md", "latex"):
        assert sip("report", study, "--format", form).code == 0
