"""A memory and a prompt as agent states."""

from __future__ import annotations

from pathlib import Path

import pytest

from sipbench.adaptation.files import FileOptions, MemoryFolder, PromptFile
from sipbench.errors import AdaptationError, ConfigError
from sipbench.protocol.digests import file_digest, tree_digest
from sipbench.protocol.vocabulary import PathType
from tests.adaptation.places import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place.make(tmp_path)
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    (tmp_path / "notes" / "deep" / "a.md").write_text("é\r\n", encoding="utf-8", newline="")
    (tmp_path / "advice.txt").write_text("Be careful.\n", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    (tmp_path / "blank.md").write_text(" \n")
    (tmp_path / "latin.md").write_bytes(b"\xe9")
    with (tmp_path / "huge.md").open("wb") as handle:
        handle.truncate(2 * 1024 * 1024)
    return found


def memory(place: Place, path: str = "notes") -> MemoryFolder:
    return MemoryFolder(FileOptions(path=path), base=place.root)


def prompt(place: Place, path: str = "advice.txt") -> PromptFile:
    return PromptFile(FileOptions(path=path), base=place.root)


def test_a_memory_is_the_folder_byte_for_byte(place: Place) -> None:
    outcome = memory(place).adapt(place.request())
    assert (place.state / "memory" / "deep" / "a.md").read_bytes() == "é\r\n".encode()
    assert outcome.metadata == {"files": 1, "digest": tree_digest(place.root / "notes")}


def test_a_prompt_is_the_text_byte_for_byte(place: Place) -> None:
    outcome = prompt(place).adapt(place.request())
    assert (place.state / "prompt.md").read_bytes() == b"Be careful.\n"
    assert outcome.metadata == {"digest": file_digest(place.root / "advice.txt")}


def test_both_take_the_external_path_and_no_attempts() -> None:
    for kind in (MemoryFolder, PromptFile):
        assert (kind.path_type, kind.needs_attempts) == (PathType.EXTERNAL, False)


def test_what_they_read_is_an_input_of_the_study(place: Place) -> None:
    before = memory(place).inputs_digest(), prompt(place).inputs_digest()
    (place.root / "notes" / "deep" / "a.md").write_text("other")
    (place.root / "advice.txt").write_text("other")
    after = memory(place).inputs_digest(), prompt(place).inputs_digest()
    assert None not in before
    assert not set(before) & set(after)


@pytest.mark.parametrize(
    ("path", "message"),
    [("nothing", "is not a folder"), ("advice.txt", "is not a folder"), ("empty", "holds no files")],
)
def test_a_memory_that_is_none_is_refused(place: Place, path: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"path: .*{path} {message}"):
        memory(place, path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nothing", "is not a file"),
        ("notes", "is not a file"),
        ("blank.md", "is empty"),
        ("latin.md", "is no readable text in UTF-8"),
        ("huge.md", "is larger than 1024 KiB; use `memory`"),
    ],
)
def test_a_prompt_that_is_none_is_refused(place: Place, path: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"path: .*{path} {message}"):
        prompt(place, path)


def test_a_link_in_a_memory_is_refused(place: Place) -> None:
    (place.root / "notes" / "secret").symlink_to(place.root / "private.json")
    with pytest.raises(AdaptationError, match="secret: a symbolic link"):
        memory(place).adapt(place.request())
