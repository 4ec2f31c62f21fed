from __future__ import annotations

import os
from pathlib import Path

import pytest

from sipbench.cards.files import Problem, read_bytes, read_json, read_json_lines, read_text, read_yaml, walk
from sipbench.errors import CardError


def test_a_document_comes_with_the_digest_of_its_own_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"a": 1}\n')
    document = read_json(path)
    assert document.value == {"a": 1}
    # sha256sum of the nine bytes above.
    assert document.sha256 == "sha256:e8c628edc9968ef0c668f54e0ba2636b35503357eb1aca0ddc828aeace432f67"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": 1, "a": 2}', "the key stands twice"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 8"),
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b"[1]", "not a JSON object but list"),
        (b"{", "not JSON"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "too many digits"),
        (b"", "not JSON"),
    ],
)
def test_json_that_is_no_honest_object_gets_one_line(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(data)
    with pytest.raises(CardError) as error:
        read_json(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_lines_are_judged_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n\n{"a": 1, "a": 1}\n{"b": 2}')
    found = list(read_json_lines(path))
    assert [number for number, _ in found] == [1, 3, 4]
    assert isinstance(found[1][1], Problem)
    assert found[2][1] == {"b": 2}


def test_a_link_is_refused_wherever_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("{}", encoding="utf-8")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    with pytest.raises(CardError, match="symbolic link"):
        read_bytes(tmp_path / "link.json")


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CardError, match="it is a pipe"):
        read_bytes(tmp_path / "pipe")
    with pytest.raises(CardError, match="it is a folder"):
        read_bytes(tmp_path)
    with pytest.raises(CardError, match="cannot be read"):
        read_bytes(tmp_path / "absent")


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bytes(tmp_path / "a", limit=5) == b"12345"
    with pytest.raises(CardError, match="larger than 4 bytes"):
        read_bytes(tmp_path / "a", limit=4)


def test_a_text_loses_its_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfab")
    assert read_text(tmp_path / "a") == "ab"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2\n", "line 2: a: the key stands twice"),
        ("a: &x [1, *x]\n", "contains itself"),
        ("- 1\n", "not a YAML mapping"),
        ("a: [1\n", "not YAML"),
        ("a: !!python/object:os.system x\n", "not YAML"),
        ("", "not a YAML mapping"),
        ("a: \t- x: y\n  z", "not YAML"),
        (
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(
                f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(8)
            ),
            "stands for more than",
        ),
    ],
)
def test_yaml_that_is_no_honest_mapping_gets_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(CardError, match=said):
        read_yaml(tmp_path / "a.yaml")


def test_aliases_in_moderation_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: &x [1, 2]\nb: *x\n", encoding="utf-8")
    assert read_yaml(tmp_path / "a.yaml") == {"a": [1, 2], "b": [1, 2]}


def test_walking_is_in_a_stable_order_and_follows_no_folder_link(tmp_path: Path) -> None:
    for name in ("b/2", "a/1", "c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    found = [path.relative_to(tmp_path).as_posix() for path in walk(tmp_path)]
    assert found == ["c", "a/1", "b/2"]
