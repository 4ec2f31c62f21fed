"""What an attempt leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from sipbench.benchmarks.synth.answer import read_program, write_answer
from sipbench.benchmarks.synth.search import Found


@pytest.mark.parametrize("program", [None, (), ("reverse",), ("reverse", "mirror", "drop_first")])
def test_an_answer_reads_back_as_written(tmp_path: Path, program: tuple[str, ...] | None) -> None:
    write_answer(tmp_path, Found(program, (), 12))
    assert read_program(tmp_path) == program


def test_an_answer_is_one_file(tmp_path: Path) -> None:
    write_answer(tmp_path, Found(("reverse",), (0,), 12))
    assert [path.name for path in tmp_path.iterdir()] == ["answer.json"]
    assert (tmp_path / "answer.json").read_bytes() == (
        b'{"schema_version":"1.0.0","program":["reverse"],"candidates":12}\n'
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Expecting value"),
        (b"[]", "no field 'program'"),
        (b"{}", "no field 'program'"),
        (b'{"program": "reverse"}', "expected a list of primitives or null"),
        (b'{"program": [1]}', "expected a list of primitives or null"),
        (b'{"program": ["eval"]}', "'eval' is not a primitive"),
        (b'{"program": ["\xff"]}', "utf-8"),
        (b"[" * 60_000, "nested too deeply"),
        (b" " * 65_537, "larger than 65536 bytes"),
    ],
)
def test_what_is_no_answer_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "answer.json").write_bytes(data)
    with pytest.raises(ValueError, match=reason):
        read_program(tmp_path)


def test_a_missing_answer_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_program(tmp_path)
