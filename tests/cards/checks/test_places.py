from __future__ import annotations

import os
from pathlib import Path

import pytest

from sipbench.cards.checks.grader import places
from sipbench.cards.checks.grader.kinds import Folders, evaluate
from sipbench.cards.checks.grader.places import Place, matches
from sipbench.cards.checks.grader.verdicts import Failed, Impossible, shown

PATHS = ["/etc/passwd", "../secret", "a/../../secret", "..", "", ".", "a\0b", "/".join(["d"] * 65)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "secret").write_text("the answer", encoding="utf-8")
    root = tmp_path / "submission"
    (root / "run").mkdir(parents=True)
    (root / "run" / "a.txt").write_text("data", encoding="utf-8")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "inner").symlink_to(root / "run" / "a.txt")
    (root / "out").symlink_to(tmp_path)
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    return Place(str(root))


def test_a_regular_file_is_read_and_measured(place: Place) -> None:
    assert place.read("run/a.txt") == b"data"
    assert place.read("./run//a.txt") == b"data"
    assert place.size("run/a.txt") == 4


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leaves_the_submission(place: Place, path: str) -> None:
    with pytest.raises(Failed, match="no path inside"):
        place.read(path)


@pytest.mark.parametrize("path", ["link", "out/secret", "inner", "loop", "out/submission/run/a.txt"])
def test_no_link_is_followed_not_even_inside(place: Place, path: str) -> None:
    with pytest.raises(Failed, match="symbolic link"):
        place.read(path)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("pipe", "no regular file"),
        ("run", "a folder"),
        ("absent", "there is no"),
        ("run/a.txt/x", "there is no"),
    ],
)
def test_what_is_no_regular_file_fails_without_waiting(place: Place, path: str, said: str) -> None:
    with pytest.raises(Failed, match=said):
        place.read(path)


def test_a_large_file_is_not_read(place: Place) -> None:
    with pytest.raises(Failed, match="larger than 3 bytes"):
        place.read("run/a.txt", limit=3)


def test_a_file_that_only_claims_to_be_large_is_no_trouble(place: Place) -> None:
    with Path(place.root, "sparse").open("wb") as file:
        file.truncate(places.MAX_BYTES + 1)
    with pytest.raises(Failed, match="larger than"):
        place.read("sparse")


def test_listing_shows_regular_files_alone(place: Place) -> None:
    assert list(place.files()) == ["run/a.txt"]


def test_a_tree_without_end_is_given_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MAX_ENTRIES", 3)
    with pytest.raises(Failed, match="more than 3 entries"):
        list(place.files())


def test_a_pattern_does_not_leave_either(place: Place) -> None:
    assert list(matches(place, "*")) == []
    assert list(matches(place, "**/*.txt")) == ["run/a.txt"]
    with pytest.raises(Failed, match="no path inside"):
        list(matches(place, "../*"))


def test_a_submission_that_is_not_there_is_not_its_own_fault(tmp_path: Path) -> None:
    with pytest.raises(Impossible, match="cannot be opened"):
        Place(str(tmp_path / "absent")).read("a")
    verdict = evaluate({"kind": "file_exists", "path": "a"}, Folders(Place(str(tmp_path / "absent"))))
    assert verdict.outcome == "error"


def test_what_a_submission_says_is_shown_harmless() -> None:
    assert shown("a\x1b[31m\nb") == "a\ufffd[31m\ufffdb"
    assert len(shown("x" * 1000)) == 61
