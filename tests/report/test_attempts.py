from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sipbench.errors import RecordError
from sipbench.report.attempts import Caps, embed, index_of, list_logs, read_log, read_raw
from sipbench.report.reading import Study, read_study
from tests.protocol.made import document, write_lines


@pytest.fixture
def one(tmp_path: Path) -> Study:
    """A study of one attempt, with a secret beside it."""
    folder = tmp_path / "study"
    folder.mkdir()
    write_lines(folder / "runs.jsonl", [document(run_id="run-a")])
    (folder / "attempts" / "run-a").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (folder / "attempts" / "secret.txt").write_text("secret", encoding="utf-8")
    return read_study(folder)


def output(study: Study) -> Path:
    assert study.folder is not None
    return study.folder / "attempts" / "run-a"


def test_files_are_listed_with_their_sizes_by_name(one: Study) -> None:
    (output(one) / "deep" / "er").mkdir(parents=True)
    (output(one) / "b.log").write_text("bb", encoding="utf-8")
    (output(one) / "deep" / "er" / "a.log").write_text("a", encoding="utf-8")
    found = list_logs(one, "run-a")
    assert [(file.name, file.size, file.text) for file in found] == [
        ("b.log", 2, None),
        ("deep/er/a.log", 1, None),
    ]
    assert (read_log(one, "run-a", "deep/er/a.log", 100) or found[0]).text == "a"


@pytest.mark.parametrize(
    "name",
    [
        "../secret.txt",
        "../../../secret.txt",
        "deep/../../secret.txt",
        "/etc/passwd",
        "",
        ".",
        "..",
        "nothing",
        "a\0b",
    ],
)
def test_a_name_that_leads_out_is_no_file(one: Study, name: str) -> None:
    assert read_log(one, "run-a", name, 100) is None


@pytest.mark.parametrize(
    "run_id", ["..", ".", "", "run-b", "../attempts/run-a", "/etc", "run-a/", "-", "x" * 300]
)
def test_a_run_id_that_is_no_plain_name_has_no_files(one: Study, run_id: str) -> None:
    (output(one) / "passwd").write_text("x", encoding="utf-8")
    assert list_logs(one, run_id) == []
    assert read_log(one, run_id, "passwd", 100) is None


def test_links_are_not_followed(one: Study) -> None:
    assert one.folder is not None
    out = output(one)
    (out / "file").symlink_to(one.folder.parent / "secret.txt")
    (out / "folder").symlink_to(one.folder.parent)
    (out / "loop").symlink_to(out)
    assert list_logs(one, "run-a") == []
    for name in ("file", "folder/secret.txt", "loop/file"):
        assert read_log(one, "run-a", name, 100) is None


def test_an_attempt_folder_that_is_a_link_is_not_followed(one: Study) -> None:
    assert one.folder is not None
    outside = one.folder.parent / "outside"
    outside.mkdir()
    (outside / "secret.log").write_text("secret", encoding="utf-8")
    output(one).rmdir()
    output(one).symlink_to(outside)
    assert list_logs(one, "run-a") == []
    assert read_log(one, "run-a", "secret.log", 100) is None


def test_a_pipe_does_not_hold_up_the_reader(one: Study) -> None:
    os.mkfifo(output(one) / "pipe")
    assert list_logs(one, "run-a") == []
    assert read_log(one, "run-a", "pipe", 100) is None


def test_a_long_log_shows_both_ends(one: Study) -> None:
    (output(one) / "long.log").write_text("a" * 5000 + "b" * 5000, encoding="utf-8")
    found = read_log(one, "run-a", "long.log", 100)
    assert found is not None
    assert (found.size, found.cut) == (10_000, 9_900)
    assert found.text == "a" * 50 + "\n[... 9,900 bytes left out ...]\n" + "b" * 50


def test_what_is_no_text_is_named_and_what_is_no_utf8_is_replaced(one: Study) -> None:
    (output(one) / "picture").write_bytes(b"PNG\0\1\2")
    (output(one) / "latin").write_bytes(b"caf\xe9")
    assert [
        (read_log(one, "run-a", name, 100) or list_logs(one, "run-a")[0]).text
        for name in ("picture", "latin")
    ] == ["[no text: 6 bytes]", "caf\N{REPLACEMENT CHARACTER}"]


def test_very_many_files_and_deep_folders_are_bounded(one: Study) -> None:
    for number in range(200):
        (output(one) / f"{number:03d}.log").write_text("x", encoding="utf-8")
    deep = output(one).joinpath(*["d"] * 30)
    deep.mkdir(parents=True)
    (deep / "bottom").write_text("x", encoding="utf-8")
    found = list_logs(one, "run-a")
    assert 0 < len(found) <= 60
    assert not any(file.name.endswith("bottom") for file in found)


def test_a_record_is_read_as_it_stands(one: Study) -> None:
    assert read_raw(one, 0) == json.loads(one.runs.read_text(encoding="utf-8"))
    one.runs.write_text("[]\n", encoding="utf-8")
    with pytest.raises(RecordError, match="has changed"):
        read_raw(one, 0)


def test_numbers_that_a_browser_would_round_are_text(tmp_path: Path) -> None:
    seed = 2**63 - 1
    metadata = {"deep": [{"n": seed}], "small": 2**53}
    path = write_lines(tmp_path / "runs.jsonl", [document(attempt_seed=seed, metadata=metadata)])
    found = read_raw(read_study(path), 0)
    assert found["attempt_seed"] == str(seed)
    assert found["metadata"] == {"deep": [{"n": str(seed)}], "small": 2**53}


def test_drawn_attempts_come_first_then_those_without_a_grade(lossy: Study) -> None:
    drawn = [5, 3]
    found = embed(lossy, drawn, Caps(indexed=4))
    statuses = lossy.frame["status"].cast(str).to_list()
    rest = sorted(set(found.records) - set(drawn))
    assert set(drawn) <= set(found.records)
    assert len(found.records) == 4
    assert [statuses[row] for row in rest] == ["infrastructure_error"] * 2
    assert found.left == lossy.frame.height - 4


def test_a_page_holds_no_more_than_it_may(study: Study) -> None:
    found = embed(study, [], Caps(records=2_000, logs=50, log=10))
    assert 0 < len(found.records) < 20
    assert sum(len(file.text or "") for files in found.logs.values() for file in files) <= 50 + 60
    nothing = embed(study, [], Caps(records=0, logs=0))
    assert (nothing.records, nothing.left) == ({}, study.frame.height)


def test_the_index_says_where_each_attempt_stands(study: Study) -> None:
    index = index_of(study, [0, 10])
    assert index["row"] == [0, 10]
    for place, row in enumerate(index["row"]):
        record = read_raw(study, row)
        assert index["arms"][index["arm"][place]] == record["arm"]
        assert study.task_ids[index["task"][place]] == record["task_id"]
        assert index["phases"][index["phase"][place]] == record["phase"]
        assert index["splits"][index["split"][place]] == record["benchmark_split"]
        assert index["statuses"][index["status"][place]] == record["status"]
        assert (index["repeat"][place], index["attempt"][place]) == (
            record["repeat"],
            record["attempt_index"],
        )
        assert index["score"][place] == record["score"]
