from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sipbench.protocol.manifest import SplitManifest
from sipbench.splits.exclusions import read_exclusions
from sipbench.splits.files import read_manifest
from tests.cli.command import sip
from tests.splits.made import edited, record, words

SIZES = "adapt=8,heldout=8,replay=6"


def listed(folder: Path, count: int = 30, **more: Any) -> Path:
    """A list of tasks in pairs of near-duplicates: t0 and t1, t2 and t3, …"""
    path = folder / "made.jsonl"
    lines = []
    for number in range(count):
        base = words(number // 2, 50)
        text = " ".join(base if number % 2 == 0 else edited(base, number, 1))
        metadata = {"user": f"u{number // 4}", "difficulty": ["easy", "hard"][number % 2], **more}
        lines.append(json.dumps({"id": f"t{number}", "text": text, "metadata": metadata}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def attempts(folder: Path, name: str = "screen.jsonl", **fields: Any) -> Path:
    """Two T0 attempts at each task, of which the first ten tasks are solved twice."""
    path = folder / name
    lines = [
        record(f"t{number}", index, score=float(number < 10), **fields).model_dump_json()
        for number in range(30)
        for index in range(2)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def built(folder: Path, *arguments: object) -> SplitManifest:
    output = folder / "splits.json"
    ended = sip("splits", "build", listed(folder), "--sizes", SIZES, "--seed", 5, "-o", output, *arguments)
    assert (ended.code, ended.err) == (0, "")
    return read_manifest(output)


def pool(manifest: SplitManifest, name: str) -> set[str]:
    return {entry.id for entry in getattr(manifest, name)}


def test_splits_of_a_list_of_tasks_keep_near_duplicates_apart(tmp_path: Path) -> None:
    manifest = built(tmp_path)
    assert [len(pool(manifest, name)) for name in ("adapt", "heldout", "replay")] == [8, 8, 6]
    assert manifest.benchmark_name == "made"
    assert manifest.selection["near_duplicates"]["groups"] == 15
    ended = sip("splits", "check", tmp_path / "splits.json", "--tasks", tmp_path / "made.jsonl")
    assert (ended.code, ended.out.splitlines()[-1]) == (0, f"{tmp_path}/splits.json: all rules kept")


def test_without_the_search_they_leak_and_the_check_shows_how(tmp_path: Path) -> None:
    built(tmp_path, "--no-near-duplicates")
    ended = sip("splits", "check", tmp_path / "splits.json", "--tasks", tmp_path / "made.jsonl")
    assert ended.code == 1
    assert "disjoint-families: held-out tasks are near-duplicates of adapt tasks" in ended.out
    assert "[-" in ended.out
    assert "{+new" in ended.out
    assert ended.out.splitlines()[-1].endswith(": 1 finding")


def test_the_check_as_json_gives_pairs_with_similarity_and_difference(tmp_path: Path) -> None:
    built(tmp_path, "--no-near-duplicates")
    ended = sip(
        "splits",
        "check",
        tmp_path / "splits.json",
        "--tasks",
        tmp_path / "made.jsonl",
        "--json",
        "--diffs",
        1,
    )
    document = json.loads(ended.out)
    assert (ended.code, document["good"]) == (1, False)
    assert document["violations"][0]["rule"] == "disjoint-families"
    first, *rest = document["pairs"]
    assert first["kind"] == "near"
    assert 0.5 <= first["similarity"] < 1
    assert "{+new" in first["diff"]
    assert all(pair["diff"] is None for pair in rest)
    assert document["near_duplicates"]["threshold"] == 0.5


def test_a_check_without_tasks_says_what_it_did_not_look_at(tmp_path: Path) -> None:
    built(tmp_path, "--no-near-duplicates")
    ended = sip("splits", "check", tmp_path / "splits.json")
    assert ended.code == 0
    assert "near-duplicates were not looked for" in ended.out


def test_a_check_finds_tasks_that_are_gone(tmp_path: Path) -> None:
    built(tmp_path)
    ended = sip("splits", "check", tmp_path / "splits.json", "--tasks", listed(tmp_path, count=4))
    assert ended.code == 1
    assert "tasks of the splits do not exist, such as t" in ended.out


def test_keys_that_tie_tasks_are_checked_again(tmp_path: Path) -> None:
    built(tmp_path)
    tasks = tmp_path / "made.jsonl"
    ended = sip("splits", "check", tmp_path / "splits.json", "--tasks", tasks, "--keep-together", "user")
    assert ended.code == 1
    assert "share their 'user' with adapt" in ended.out
    manifest = built(tmp_path, "--keep-together", "user")
    assert manifest.selection["keep_together"] == ["user"]
    assert sip("splits", "check", tmp_path / "splits.json", "--tasks", tasks).code == 0


def test_the_same_command_gives_the_same_file_but_for_the_time(tmp_path: Path) -> None:
    first, second = built(tmp_path), built(tmp_path)
    assert first.model_copy(update={"replay_selection": None}) == second.model_copy(
        update={"replay_selection": None}
    )


def test_without_an_output_the_manifest_is_printed(tmp_path: Path) -> None:
    ended = sip("splits", "build", listed(tmp_path), "--sizes", SIZES)
    assert ended.code == 0
    assert SplitManifest.model_validate_json(ended.out).benchmark_name == "made"


def test_splits_of_an_installed_benchmark(tmp_path: Path) -> None:
    output = tmp_path / "splits.json"
    ended = sip("splits", "build", "synth", "--sizes", "adapt=10,heldout=20,replay=10", "--out", output)
    assert ended.code == 0
    assert read_manifest(output).benchmark_version
    assert sip("splits", "check", output, "--tasks", "synth").code == 0
    own = sip("splits", "build", "synth", "--option", "heldout=12", "--own", "-o", output)
    assert own.code == 0
    assert len(read_manifest(output).heldout) == 12
    assert sip("splits", "check", output, "--tasks", "synth", "--option", "heldout=12").code == 0


STUDY = """
name: try
benchmark: {name: synth, adapt: 6, heldout: 9, replay: 9, drift: 0}
agent: {name: enumerative-search}
arms: {frozen: {path_type: frozen}}
analysis: {sesoi: 0.05}
seed: 11
splits: {sizes: {adapt: 4, heldout: 5, replay: 3}}
"""


def test_splits_for_a_study_have_its_seed_and_sizes(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(STUDY, encoding="utf-8")
    output = tmp_path / "splits.json"
    assert sip("splits", "build", study, "-o", output).code == 0
    manifest = read_manifest(output)
    assert manifest.seed == 11
    assert [len(pool(manifest, name)) for name in ("adapt", "heldout", "replay")] == [4, 5, 3]
    study.write_text(
        STUDY.replace("splits: {sizes: {adapt: 4, heldout: 5, replay: 3}}", "splits: {file: splits.json}")
    )
    assert sip("plan", study).code == 0


def test_replay_is_chosen_by_a_screening_run(tmp_path: Path) -> None:
    screen = attempts(tmp_path)
    manifest = built(tmp_path, "--replay", "screened", "--screen", screen, "--rule", "2/2")
    assert pool(manifest, "replay") <= {f"t{number}" for number in range(10)}
    assert manifest.replay_selection is not None
    assert manifest.replay_selection.method == "screened"
    assert manifest.selection["screening"]["eligible"] == 10


def test_attempts_that_chose_replay_must_not_be_scored(tmp_path: Path) -> None:
    screen = attempts(tmp_path)
    built(tmp_path, "--replay", "screened", "--screen", screen, "--rule", "2/2")
    splits = tmp_path / "splits.json"
    apart = attempts(tmp_path, "runs.jsonl", arm="other", agent_version="2")
    assert sip("splits", "check", splits, "--screen", screen, "--runs", apart).code == 0
    ended = sip("splits", "check", splits, "--screen", screen, "--runs", screen)
    assert ended.code == 1
    assert "attempts of the screening run are scored as well" in ended.out


def test_a_replay_list_declared_after_the_first_attempt_is_found(tmp_path: Path) -> None:
    built(tmp_path)
    early = attempts(tmp_path, started_at="2020-01-01T00:00:00Z")
    ended = sip("splits", "check", tmp_path / "splits.json", "--runs", early)
    assert ended.code == 1
    assert "the replay list was fixed at" in ended.out


def test_a_replay_list_is_taken_as_it_is(tmp_path: Path) -> None:
    ids = tmp_path / "replay.txt"
    ids.write_text("t3\n\n t8\n", encoding="utf-8")
    assert pool(built(tmp_path, "--replay-list", ids), "replay") == {"t3", "t8"}


def test_drift_tasks_are_named_by_their_metadata(tmp_path: Path) -> None:
    tasks = listed(tmp_path, policy="old")
    with tasks.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"id": "d", "text": "another", "metadata": {"policy": "new"}}) + "\n")
    output = tmp_path / "splits.json"
    ended = sip("splits", "build", tasks, "--drift", "policy=new", "--drift-changes", "policy", "-o", output)
    assert ended.code == 0
    assert pool(read_manifest(output), "drift") == {"d"}


def test_flagged_tasks_become_a_list_that_leaves_them_out(tmp_path: Path) -> None:
    runs = attempts(tmp_path, arm="idle", agent_name="nop")
    exclusions = tmp_path / "exclusions.json"
    ended = sip("splits", "flag", runs, "-o", exclusions)
    assert ended.code == 0
    assert "t3: a do-nothing agent passes (passed 2 of 2)" in ended.out
    assert "10 of 30 tasks pass when nothing is done, no attempt of an oracle" in ended.out
    assert [item.reason for item in read_exclusions(exclusions).tasks] == ["passes_noop"] * 10
    manifest = built(tmp_path, "--exclude", exclusions, "--sizes", "adapt=6,heldout=6,replay=4")
    assert not {f"t{number}" for number in range(10)} & {entry.id for _, entry in manifest.entries()}
    assert manifest.selection["exclusions"]["digest"] == read_exclusions(exclusions).digest


def test_flags_as_json(tmp_path: Path) -> None:
    runs = attempts(tmp_path, arm="oracle", path_type="oracle")
    document = json.loads(sip("splits", "flag", runs, "--json").out)
    assert document["oracle_fails"]["t29"] == "0 of 2"
    assert (document["noop_tasks"], document["oracle_tasks"]) == (0, 30)


def test_show_counts_tasks_and_families_by_split(tmp_path: Path) -> None:
    built(tmp_path)
    out = sip(
        "splits", "show", tmp_path / "splits.json", "--tasks", tmp_path / "made.jsonl", "--by", "difficulty"
    ).out
    lines = [line.split() for line in out.splitlines()]
    assert lines[1] == ["split", "tasks", "families", "largest", "easy", "hard"]
    adapt = next(line for line in lines if line and line[0] == "adapt")
    assert adapt[1:4] == ["8", "8", "1"]
    assert int(adapt[4]) + int(adapt[5]) == 8
    assert "Replay: preregistered" in out


def test_show_as_json(tmp_path: Path) -> None:
    built(tmp_path)
    document = json.loads(sip("splits", "show", tmp_path / "splits.json", "--json").out)
    assert {row["split"]: row["tasks"] for row in document["splits"]} == {
        "adapt": 8,
        "heldout": 8,
        "replay": 6,
    }
    assert document["selection"]["method"] == "stratified-groups"


def test_few_families_are_pointed_out(tmp_path: Path) -> None:
    tasks = tmp_path / "few.jsonl"
    lines = [json.dumps({"id": f"t{n}", "text": f"number {n}", "family": f"F{n % 5}"}) for n in range(20)]
    tasks.write_text("\n".join(lines), encoding="utf-8")
    ended = sip("splits", "build", tasks, "-o", tmp_path / "splits.json")
    assert "with fewer than 6 no verdict is given" in ended.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "adapt=99,heldout=1"], "all splits: 100 tasks wanted, 30 tasks there"),
        (["--sizes", "half"], "expected NAME=NUMBER"),
        (["--replay", "screend"], "did you mean 'screened'"),
        (["--replay", "screened"], "needs the attempts that choose the tasks: --screen"),
        (["--replay", "crossfit", "--replay-list", "x"], "nothing to choose"),
        (["--threshold", "2"], "--threshold: Input should be less than or equal to 1"),
        (["--measure", "cosine"], "--measure"),
        (["--drift", "policy=new"], "--drift-changes: say what changes"),
        (["--drift", "policy", "--drift-changes", "policy"], "--drift: expected KEY=VALUE"),
        (["--stratify", "level"], "no task has that in its metadata"),
        (["--keep-together", "repo"], "tasks have difficulty, user"),
        (["--own"], "a list of tasks divides nothing"),
        (["--option", "x=1"], "a list of tasks has no options"),
        (["--exclude", "none.json"], "cannot be read"),
        (["--screen", "none.jsonl"], "cannot be read"),
    ],
)
def test_wrong_options_are_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    ended = sip("splits", "build", listed(tmp_path), *arguments)
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert message in line


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no-such-benchmark", "unknown benchmark 'no-such-benchmark'"),
        ("none.jsonl", "cannot be read"),
        ("none.yaml", "cannot be read"),
        (".", "expected a study file (.yaml), a list of tasks (.jsonl) or a benchmark's name"),
    ],
)
def test_wrong_sources_are_one_line(source: str, message: str) -> None:
    ended = sip("splits", "build", source)
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert message in line


def test_wrong_options_of_a_benchmark_are_one_line() -> None:
    ended = sip("splits", "build", "synth", "--option", "adapt=many")
    assert ended.code == 2
    assert "option 'adapt'" in ended.err
    assert "expected KEY=VALUE" in sip("splits", "build", "synth", "--option", "adapt").err


def test_text_that_would_steer_a_terminal_is_made_harmless(tmp_path: Path) -> None:
    tasks = tmp_path / "hostile.jsonl"
    lines = [
        json.dumps(
            {"id": f"t{n}", "text": "one two three four five\u001b[2J six", "family": f"\u001b[31m{n}"}
        )
        for n in range(4)
    ]
    tasks.write_text("\n".join(lines), encoding="utf-8")
    output = tmp_path / "splits.json"
    built = sip(
        "splits", "build", tasks, "--no-near-duplicates", "--sizes", "adapt=2,heldout=2", "-o", output
    )
    checked = sip("splits", "check", output, "--tasks", tasks)
    assert checked.code == 1
    assert "\u001b" not in built.out + checked.out


def test_attempts_at_another_benchmark_choose_nothing(tmp_path: Path) -> None:
    ended = sip("splits", "build", "synth", "--screen", attempts(tmp_path), "--replay", "screened")
    assert ended.code == 2
    assert "these are attempts at 'made', the tasks are of 'synth'" in ended.err


def test_held_out_tasks_that_are_alike_but_of_no_family_are_pointed_out(tmp_path: Path) -> None:
    tasks = listed(tmp_path, count=60)
    output = tmp_path / "splits.json"
    assert sip("splits", "build", tasks, "--sizes", "adapt=20,heldout=40", "-o", output).code == 0
    checked = sip("splits", "check", output, "--tasks", tasks)
    assert checked.code == 0
    assert "heldout: 40 tasks in 20 groups of near-duplicates are of different families" in checked.out
