"""Reading Dockerfiles: words, steps, and one line for what is not understood."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("dockerfile", reason="sandbox: reading a Dockerfile needs the extra 'harbor'")

from sipbench.errors import EngineError
from sipbench.sandbox.dockerfile import Copy, Dockerfile, Run, Workdir, parse
from sipbench.sandbox.words import expand, fill

VARIABLES = {"A": "a b", "EMPTY": "", "N": "1"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$A", "a b"), ("${A}", "a b"), ("x$N.y", "x1.y"), ("$NONE|", "|"), ("\\$A", "$A"), ('"$A"', "a b"),
        ("'$A'", "$A"), ('"it\'s"', "it's"), ("a\\ b", "a b"), ('"a\\nb"', "a\\nb"), ('"\\""', '"'),
        ("${NONE:-d}", "d"), ("${EMPTY:-d}", "d"), ("${EMPTY-d}", ""), ("${NONE-d}", "d"), ("${A:+s}", "s"),
        ("${EMPTY:+s}", ""), ("${EMPTY+s}", "s"), ("${NONE:-${A}}", "a b"), ("${NONE:-$N$N}", "11"),
        ("$", "$"), ("a$", "a$"), ("${NONE:-}", ""),
    ],
)  # fmt: skip
def test_words_are_expanded_as_buildkit_does(text: str, value: str) -> None:
    assert expand(text, VARIABLES) == value


@pytest.mark.parametrize("text", ['"open', "'open", "${A", "${}", "${A:?x}", "${A%x}"])
def test_a_word_that_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"quote|brace|substitution"):
        expand(text, VARIABLES)


@given(st.text(alphabet="ab'\"$\\{}:- ", max_size=20))
def test_expanding_ends_and_raises_nothing_but_a_value_error(text: str) -> None:
    for function in (expand, fill):
        try:
            assert isinstance(function(text, VARIABLES), str)
        except ValueError:
            continue


@given(st.text(alphabet="abc/._-", max_size=20))
def test_a_word_without_special_characters_is_itself(text: str) -> None:
    assert expand(text, VARIABLES) == fill(text, VARIABLES) == text


def read(tmp_path: Path, text: str | bytes) -> Dockerfile:
    path = tmp_path / "Dockerfile"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return parse(path)


def test_variables_apply_to_what_follows_them(tmp_path: Path) -> None:
    text = "ARG V=1\nFROM a:$V\nENV X=$V\nARG V\nENV Y=$V X=2\nENV Z=$X\nRUN true\n"
    read_file = read(tmp_path, text)
    assert read_file.env == {"X": "2", "Y": "1", "Z": "2"}
    (run,) = read_file.steps
    assert isinstance(run, Run)
    assert dict(run.env) == {"V": "1", "X": "2", "Y": "1", "Z": "2"}
    assert "FROM a:1 noted" in read_file.notes[0]


def test_a_build_argument_wins_over_its_default(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text("FROM a\nARG V=1\nARG W\nRUN true\n")
    (run,) = parse(path, {"V": "9"}).steps
    assert isinstance(run, Run)
    assert dict(run.env) == {"V": "9"}


def test_directories_users_and_shells_hold_from_their_line_on(tmp_path: Path) -> None:
    text = 'FROM a\nRUN one\nWORKDIR /x\nWORKDIR y/../z\nUSER me\nSHELL ["/bin/bash", "-ec"]\nRUN two\n'
    first, _, _, last = read(tmp_path, text).steps
    assert isinstance(first, Run)
    assert isinstance(last, Run)
    assert (first.workdir, first.user, first.shell) == ("/", None, ("/bin/sh", "-c"))
    assert (last.workdir, last.user, last.shell) == ("/x/z", "me", ("/bin/bash", "-ec"))


def test_windows_line_ends_and_a_byte_order_mark_are_no_obstacle(tmp_path: Path) -> None:
    steps = read(tmp_path, b"\xef\xbb\xbfFROM a\r\nRUN one && \\\r\n  two\r\nWORKDIR /w\r\n").steps
    assert isinstance(steps[0], Run)
    assert "\r" not in steps[0].words[0]
    assert isinstance(steps[1], Workdir)
    assert steps[1].path == "/w"


def test_a_copy_into_the_directory_itself_or_by_json_is_read(tmp_path: Path) -> None:
    text = (
        'FROM a\nWORKDIR /w\nENV D=dir\nCOPY . .\nCOPY ["a b", "$D/"]\nCOPY --chown=me:us --chmod=0755 f g\n'
    )
    _, all_of_it, json, owned = read(tmp_path, text).steps
    assert isinstance(all_of_it, Copy)
    assert (all_of_it.sources, all_of_it.target, all_of_it.into) == ((".",), "/w", True)
    assert isinstance(json, Copy)
    assert (json.sources, json.target, json.into) == (("a b",), "/w/dir", True)
    assert isinstance(owned, Copy)
    assert (owned.owner, owned.mode, owned.into) == ("me:us", 0o755, False)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("FROM a\nFROM b\n", 2, "more than one stage"),
        ("FROM a\nCOPY --from=x f g\n", 2, "--from=x is not supported"),
        ("FROM a\nCOPY ../f g\n", 2, "leads out of the build context"),
        ("FROM a\nADD https://x/y z\n", 2, "a source on the network"),
        ("FROM a\nADD git@x:y z\n", 2, "a source on the network"),
        ("FROM a\nRUN --mount=type=secret,id=x true\n", 2, "--mount=type=secret,id=x is not supported"),
        ("FROM a\nRUN --network=none true\n", 2, "--network=none is not supported"),
        ("FROM a\nONBUILD RUN true\n", 2, "this instruction is not supported"),
        ("FROM a\nNONSENSE x\n", 2, "this instruction is not supported"),
        ("FROM a\nSHELL bash\n", 2, "a JSON list is needed"),
        ("FROM a\n\n# comment\nWORKDIR ${X\n", 4, "unclosed brace"),
        ("RUN true\n", 1, "no FROM line before it"),
    ],
)
def test_what_is_not_understood_is_one_line_with_its_place(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    with pytest.raises(EngineError) as raised:
        read(tmp_path, text)
    assert f"Dockerfile:{line}: " in str(raised.value)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "content", [b"", b"# nothing\n", b"\xff\xfe", b"FROM a\nRUN <<EOF\nnever closed\n", b"\0\0"]
)
def test_a_broken_file_is_one_line(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(EngineError, match="Dockerfile") as raised:
        read(tmp_path, content)
    assert "\n" not in str(raised.value)


@given(st.text(alphabet="FROMRUNCOPY <>=\\\n\"'${}[]#ae/.-", max_size=60))
def test_no_text_raises_anything_else(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        try:
            read(Path(name), "FROM a\n" + text)
        except EngineError:
            return
