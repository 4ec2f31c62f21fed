from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.cards.checks.grammar import Bounds, bounds, count, files, formats, quoted, read_line


@pytest.mark.parametrize(
    ("text", "token", "rest"),
    [
        ("file_exists: a.csv", "file_exists", "a.csv"),
        ("verify file_exists: a.csv", "file_exists", "a.csv"),
        ("Verify that File exists: a.csv", "file_exists", "a.csv"),
        ("check value in range: x", "value_in_range", "x"),
        ("format_is: csv", "file_format_is", "csv"),
        ("file_format_is TSV", "file_format_is", "TSV"),
        ("expert_review: is it so", "expert_review", "is it so"),
        ("The slope is positive", None, "The slope is positive"),
        ("the table row_count_equals 2", None, "the table row_count_equals 2"),
        ("file_existsence: a", None, "file_existsence: a"),
        ("", None, ""),
    ],
)
def test_a_typed_line_begins_with_its_token(text: str, token: str | None, rest: str) -> None:
    line = read_line(text)
    assert (line.token, line.rest, line.text) == (token, rest, text)


@pytest.mark.parametrize(
    ("text", "negated", "hedged"),
    [
        ("value_in_range: x is between 0 and 1", False, False),
        ("value_in_range: x has no NaN", True, False),
        ("contains_substring: log does not hold 'x'", True, False),
        ("script_runs: macs3 runs without errors", False, False),
        ("script_runs: runs without raising an exception", False, False),
        ("script_runs: runs without a network", True, False),
        ("value_in_range: x is 3, robust to rounding", False, True),
        ("value_in_range: x is approximately 3", False, True),
        ("field_present: key 'a' or equivalent", False, True),
        ("file_exists: data file (e.g. a.csv)", False, True),
    ],
)
def test_denials_and_hedges_are_noticed(text: str, negated: bool, hedged: bool) -> None:
    line = read_line(text)
    assert (line.negated, line.hedged) == (negated, hedged)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("file_exists: fit.csv in the output folder", False),
        ("file_exists: the repository holds a licence", True),
        ("verify that champ.DMR() function exists", True),
        ("file_exists: squidpy/im/_container.py", True),
        ("field_present: docstring of f lists x", True),
    ],
)
def test_lines_about_the_repository_are_told_apart(text: str, about: bool) -> None:
    assert read_line(text).about_repository is about


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("output fit.csv and run/log.txt.", ["fit.csv", "run/log.txt"]),
        ("fit.csv, fit.csv", ["fit.csv"]),
        ("call champ.load() on 1.12.0, e.g. adata.obs", []),
        ("see https://x.org/a.csv and a@b.csv", []),
        ("*_qvalue.bdg", ["*_qvalue.bdg"]),
        ("example_counts.txt.gz", ["example_counts.txt.gz"]),
        ("np.json.loads(x)", []),
        ("../../etc/passwd.txt", []),
    ],
)
def test_file_names_are_found_and_calls_versions_and_addresses_are_not(text: str, names: list[str]) -> None:
    assert files(text) == names


def test_quoted_texts_are_found_and_quoted_files_are_not() -> None:
    assert quoted("columns 'pval', \"padj\", `ES` and 'a.csv'; 5' and 3' ends") == ["pval", "padj", "ES"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a tab-delimited text", ["tsv"]),
        ("CSV or TSV", ["csv", "tsv"]),
        ("standard BED format (tab-delimited)", ["bed"]),
        ("an RDS object", ["?"]),
        ("JSON Lines", ["jsonl"]),
        ("fit.csv is there", []),
    ],
)
def test_formats_are_those_that_the_text_names(text: str, named: list[str]) -> None:
    assert formats(text) == named


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("between 0.6 and 0.65", Bounds(0.6, 0.65)),
        ("in [0, 1]", Bounds(0, 1)),
        ("are between −1.0 and +1.0", Bounds(-1, 1)),
        ("equals 0.99854 ± 0.00020", Bounds(0.99834, 0.99874)),
        ("equals −0.19% ± 0.05%", Bounds(-0.24, -0.14)),
        ("equals 485,512 (exact match)", Bounds(485512, 485512)),
        ("acceptable range 0.985–0.995", Bounds(0.985, 0.995)),
        (">= 0", Bounds(0, None)),
        ("> 0", Bounds(0, None, False)),
        ("≤1000 reads", Bounds(None, 1000)),
        ("at least 2 and at most 5", Bounds(2, 5)),
        ("equals 83.48% (within ±0.01)", None),
        ("between 0 and 1 or between 0 and 100", None),
        ("> 0 and <= 1", None),
        ("is finite", None),
        ("between 5 and 1", None),
    ],
)
def test_bounds_are_read_only_where_one_range_is_stated(text: str, found: Bounds | None) -> None:
    assert bounds(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("equals 2 (one per kmer size)", ("eq", 2)),
        ("exactly 12 rows", ("eq", 12)),
        ("table has at least one row", ("ge", 1)),
        ("greater than 0", ("ge", 1)),
        ("is non-empty", ("ge", 1)),
        ("at most 10 rows", ("le", 10)),
        ("at least 3 rows, at least 1 of them new", None),
        ("as many rows as bins", None),
        ("equals 2.5", None),
    ],
)
def test_counts_are_read_only_where_one_is_stated(text: str, found: tuple[str, int] | None) -> None:
    assert count(text) == found


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    line = read_line(text)
    assert line.text == text
    for name in files(text):
        assert ".." not in name.split("/")
        assert not name.startswith("/")
    quoted(text), formats(text), bounds(text), count(text)


@pytest.mark.parametrize(
    "text", ["a" * 20_000, "1" * 20_000, "-" * 20_000, "'" * 20_000, "a." * 10_000, "1," * 10_000]
)
def test_long_lines_take_no_long_time(text: str) -> None:
    read_line(text), files(text), quoted(text), formats(text), bounds(text), count(text)
