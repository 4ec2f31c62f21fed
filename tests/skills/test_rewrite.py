"""Rewriting: conforming for every validator, bodies untouched, nothing lost, the same every time."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sipbench.errors import SkillError
from sipbench.skills.emit import quoted
from sipbench.skills.export import Plan, compare, plan_export, write_export
from sipbench.skills.frontmatter import split
from sipbench.skills.naming import conforming_names
from sipbench.skills.rewrite import read_original, rewrite
from sipbench.skills.validate import check_skill, check_text
from tests.skills.made import raw, skill, text

LONG = "use-" + "very-" * 12 + "long-name"


def made(data: str, name: str = "lake-depth") -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Front matter, sidecar and body of a skill rewritten."""
    written = rewrite(read_original(data.encode()), name=name, folder=name)
    assert check_text(written.skill, name)[1] == []
    parts = split(written.skill)
    return yaml.safe_load(parts.front or ""), json.loads(written.sidecar), parts.body


class TestOneSkill:
    def test_what_it_becomes(self) -> None:
        front, sidecar, body = made(raw("lake-depth"))
        digest = front["metadata"].pop("provenance-digest")
        assert front == {
            "name": "lake-depth",
            "description": "Use when lake-depth is needed, as it measures.",
            "license": "CC-BY-4.0",
            "metadata": {
                "edam-operation": "http://edamontology.org/operation_0337",
                "edam-topics": "http://edamontology.org/topic_0625",
                "techniques": "sounding",
                "tools": "limnos, the old one; R",
                "derived-from": "10.5555/lakes.1",
                "collection": "https://w3id.org/holobiomicslab/asb-skill/collection/lakes/v1",
                "asb-schema-version": "0.2.0",
                "provenance-file": "provenance.json",
            },
        }
        assert sidecar["moved"]["evidence_spans"] == ["a span --- with a rule"]
        assert sidecar["original_description"].startswith("Use when when")
        assert body == raw("lake-depth").encode().split(b"\n---\n", 1)[1]
        assert digest.startswith("sha256:")

    def test_the_digest_is_that_of_the_sidecar(self) -> None:
        written = rewrite(read_original(raw("a").encode()), name="a", folder="a")
        assert f"sha256:{hashlib.sha256(written.sidecar).hexdigest()}".encode() in written.skill

    def test_a_long_description_keeps_when_to_use_it(self) -> None:
        data = f"---\nname: a\ndescription: {'word ' * 300}Use when lakes {'are deep ' * 100}\n---\n"
        front, sidecar, _ = made(data, "a")
        assert len(front["description"]) <= 1024
        assert "Use when lakes are deep" in front["description"]
        assert len(sidecar["original_description"]) > 1500

    def test_a_long_list_is_cut_at_an_item_and_whole_in_the_sidecar(self) -> None:
        items = "".join(f"  - tool-{number}\n" for number in range(302))
        front, sidecar, _ = made(f"---\nname: a\ndescription: d\nmetadata:\n  tools:\n{items}---\n", "a")
        kept = front["metadata"]["tools"].split("; ")
        assert kept == [f"tool-{number}" for number in range(len(kept))]
        assert len(front["metadata"]["tools"]) <= 1000
        assert len(sidecar["metadata"]["tools"]) == 302

    def test_values_keep_their_digits(self) -> None:
        data = "---\nname: a\ndescription: d\nx: 1.10\ny: 1.5\nz: 0123\n"
        data += "t: 2024-01-01\nn: null\nb: true\nq: '1'\n---\n"
        moved = made(data, "a")[1]["moved"]
        assert moved == {
            "x": "1.10", "y": 1.5, "z": "0123", "t": "2024-01-01", "n": None, "b": True, "q": "1",
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            ("no front matter", "no front matter to rewrite"),
            ("---\nname: a\n---\n", "no description"),
            ("---\nname: a\ndescription: ''\n---\n", "no description"),
            ("---\nname: a\ndescription: a: b\n---\n", "line 3: mapping values"),
            ("---\nname: a\nname: b\ndescription: d\n---\n", "line 3: name: the key stands twice"),
            ("---\nname: a\ndescription: d\n---\n\x00", "NUL"),
        ],
    )
    def test_what_cannot_be_made_up_is_refused(self, data: str, said: str) -> None:
        with pytest.raises(SkillError, match=said):
            rewrite(read_original(data.encode()), name="a", folder="a")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_quoted_value_reads_back_in_every_loader(value: str) -> None:
    written = quoted(value)
    assert "---" not in written
    assert "\n" not in written
    assert yaml.load(written, yaml.CSafeLoader) == value
    strictyaml = pytest.importorskip("strictyaml", reason="skills-ref (extra 'skills') is not installed")
    if value.strip():
        assert strictyaml.load(f"a: {written}").data == {"a": value}


class TestNames:
    def test_rules(self) -> None:
        given_ = {"a": "Lake Depth!", "b": "_router", "c": LONG, "d": "\U0001f600"}
        names = conforming_names(given_)
        assert (names["a"], names["b"]) == ("lake-depth", "router")
        mark = hashlib.sha256(LONG.encode()).hexdigest()[:6]
        assert names["c"] == f"{LONG[:57][: LONG[:57].rfind('-')]}-{mark}"
        assert names["d"].startswith("skill-")

    def test_who_conforms_keeps_the_name_others_are_marked(self) -> None:
        names = conforming_names({"x": "Lake", "y": "lake", "z": "LAKE"})
        assert names["y"] == "lake"
        assert len(set(names.values())) == 3
        assert names["x"] == f"lake-{hashlib.sha256(b'Lake').hexdigest()[:6]}"

    @given(st.dictionaries(st.text(min_size=1, max_size=6), st.sampled_from(["a", "A", "a-", "b", "", LONG])))
    def test_no_two_alike_and_the_order_does_not_matter(self, given_: dict[str, str]) -> None:
        names = conforming_names(given_)
        assert len(set(names.values())) == len(given_)
        places = list(given_)
        random.Random(7).shuffle(places)
        assert conforming_names({place: given_[place] for place in places}) == names


def collection(root: Path) -> Path:
    for name in ("lake-depth", "Lake Volume", LONG):
        skill(root / "skills", name, raw(name))
    sound = skill(root / "skills", "sound")
    (sound / "SKILL.md").write_text(text("sound"), encoding="utf-8")
    (sound / "run.sh").write_bytes(b"#!/bin/sh\r\n\xff")
    (sound / "run.sh").chmod(0o755)
    manifest = {"slug": "lakes", "skills": ["lake-depth", "Lake Volume", LONG, "sound"]}
    (root / "collection.yaml").write_text(yaml.safe_dump(manifest, sort_keys=False), encoding="utf-8")
    links = {"links": {"lakes/task_001": {"skills": ["Lake Volume", "sound"]}}}
    (root / "links.json").write_text(json.dumps(links), encoding="utf-8")
    return root


class TestExport:
    def test_a_collection_becomes_leaves(self, tmp_path: Path) -> None:
        plan = plan_export(collection(tmp_path / "in"))
        assert write_export(plan, tmp_path / "out")
        leaves = sorted(path.name for path in (tmp_path / "out" / "leaves").iterdir())
        assert leaves[0] == "lake-depth"
        assert "lake-volume" in leaves
        assert all(check_skill(path).valid for path in (tmp_path / "out" / "leaves").iterdir())
        assert (plan.skills, plan.rewritten, len(plan.renamed)) == (4, 3, 2)

    def test_names_are_changed_everywhere_and_the_old_ones_kept(self, tmp_path: Path) -> None:
        write_export(plan_export(collection(tmp_path / "in")), tmp_path / "out")
        manifest = yaml.safe_load((tmp_path / "out" / "collection.yaml").read_text(encoding="utf-8"))
        assert manifest["skills"][:2] == ["lake-depth", "lake-volume"]
        links = json.loads((tmp_path / "out" / "links.json").read_text(encoding="utf-8"))
        assert links["links"]["lakes/task_001"]["skills"] == ["lake-volume", "sound"]
        names = json.loads((tmp_path / "out" / "names.json").read_text(encoding="utf-8"))
        assert names["renamed"]["skills/Lake Volume"] == {"from": "Lake Volume", "to": "lake-volume"}

    def test_what_conforms_is_copied_byte_for_byte_with_its_run_bit(self, tmp_path: Path) -> None:
        root = collection(tmp_path / "in")
        write_export(plan_export(root), tmp_path / "out")
        for name in ("SKILL.md", "run.sh"):
            copy = tmp_path / "out" / "leaves" / "sound" / name
            assert copy.read_bytes() == (root / "skills" / "sound" / name).read_bytes()
        assert (tmp_path / "out" / "leaves" / "sound" / "run.sh").stat().st_mode & 0o777 == 0o755

    def test_again_gives_the_same_bytes(self, tmp_path: Path) -> None:
        first = plan_export(collection(tmp_path / "in"))
        write_export(first, tmp_path / "out")
        assert plan_export(collection(tmp_path / "in")).files == first.files
        second = plan_export(tmp_path / "out")
        assert second.rewritten == 0
        assert all(second.files[name] == data for name, data in first.files.items() if name != "names.json")

    def test_check_says_what_differs_and_writes_nothing(self, tmp_path: Path) -> None:
        plan = plan_export(collection(tmp_path / "in"))
        assert "leaves/lake-depth/SKILL.md: missing" in compare(plan, tmp_path / "out")
        assert not (tmp_path / "out").exists()
        write_export(plan, tmp_path / "out")
        assert compare(plan, tmp_path / "out") == []
        assert not write_export(plan, tmp_path / "out")
        (tmp_path / "out" / "leaves" / "sound" / "SKILL.md").write_text("x", encoding="utf-8")
        (tmp_path / "out" / "more").touch()
        assert compare(plan, tmp_path / "out") == [
            "leaves/sound/SKILL.md: differs",
            "more: not part of the export",
        ]

    def test_a_folder_with_something_else_is_never_touched(self, tmp_path: Path) -> None:
        plan = plan_export(collection(tmp_path / "in"))
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "file").write_text("x", encoding="utf-8")
        with pytest.raises(SkillError, match="holds something else"):
            write_export(plan, tmp_path / "mine")
        assert [path.name for path in (tmp_path / "mine").iterdir()] == ["file"]
        (tmp_path / "link").symlink_to(tmp_path / "mine")
        with pytest.raises(SkillError, match="not a folder"):
            write_export(plan, tmp_path / "link")

    def test_one_that_cannot_be_rewritten_is_named_and_the_others_written(self, tmp_path: Path) -> None:
        root = collection(tmp_path / "in")
        skill(root / "skills", "empty", "---\nname: empty\n---\n")
        linked = skill(root / "skills", "linked")
        (linked / "passwd").symlink_to("/etc/passwd")
        plan = plan_export(root)
        assert [(item.folder.name, item.reason.partition(":")[0]) for item in plan.refused] == [
            ("linked", "passwd"),
            ("empty", "SKILL.md has no description; write one, nobody else can"),
        ]
        assert plan.skills == 4

    def test_a_skill_in_a_skill_becomes_one_beside_it(self, tmp_path: Path) -> None:
        outer = skill(tmp_path / "skills", "outer", text("outer"))
        skill(outer, "inner", text("inner"))
        files = plan_export(tmp_path).files
        assert {name for name in files if name.endswith("SKILL.md")} == {
            "leaves/outer/SKILL.md",
            "leaves/inner/SKILL.md",
        }


@pytest.fixture(scope="module", name="plan")
def _plan(shared_data: Callable[..., Path]) -> Plan:
    return plan_export(shared_data("asb-collections"))


@pytest.fixture(scope="module", name="out")
def _out(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("given") / "out"
    write_export(plan, target)
    return target


class TestGiven:
    def test_all_are_rewritten_and_conform(self, plan: Plan, out: Path) -> None:
        assert (plan.skills, plan.rewritten, plan.refused) == (369, 369, [])
        assert all(check_skill(path.parent).valid for path in out.rglob("SKILL.md"))

    def test_both_reference_validators_take_all(self, out: Path) -> None:
        python = pytest.importorskip("skills_ref", reason="skills-ref (extra 'skills') is not installed")
        rust = pytest.importorskip("skills_ref_rs", reason="skills-ref-rs (extra 'skills') is not installed")
        folders = [path.parent for path in out.rglob("SKILL.md")]
        assert {message for folder in folders for message in rust.validate(str(folder))} == set()
        assert {message for folder in folders for message in python.validate(folder)} == set()

    def test_bodies_are_kept_and_front_matter_and_sidecar_cover_every_value(
        self, out: Path, shared_data: Callable[..., Path]
    ) -> None:
        root = shared_data("asb-collections")
        for path in sorted(root.rglob("SKILL.md")):
            new = out / path.parent.relative_to(root).parent.parent / "leaves" / path.parent.name
            old, written = split(path.read_bytes()), split((new / "SKILL.md").read_bytes())
            assert written.body == old.body
            front = yaml.load(old.front or "", yaml.CBaseLoader)
            sidecar = json.loads((new / "provenance.json").read_text(encoding="utf-8"))
            kept = yaml.load(written.front or "", yaml.CBaseLoader)
            covered = _texts(sidecar) | _texts(kept)
            assert _texts(front) <= covered, path

    def test_inspect_loads_them(self, out: Path) -> None:
        inspect = pytest.importorskip("inspect_ai.tool", reason="inspect-ai is not installed")
        folders = [path.parent for path in sorted(out.rglob("SKILL.md"))]
        assert [item.name for item in inspect.read_skills(folders)] == [folder.name for folder in folders]

    def test_harbor_finds_them_as_its_option_skill_does(self, out: Path) -> None:
        harbor = pytest.importorskip("harbor.skills", reason="harbor (extra 'harbor') is not installed")
        leaves = out / "epigenomics" / "v1" / "leaves"
        found = harbor.resolve_skills(harbor.resolve_skill_sources([str(leaves)]))
        assert [item.name for item in found] == sorted(path.name for path in leaves.iterdir())


def _texts(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {item for inner in value.values() for item in _texts(inner)}
    if isinstance(value, list):
        return {item for inner in value for item in _texts(inner)}
    return {value if isinstance(value, str) else json.dumps(value)}
