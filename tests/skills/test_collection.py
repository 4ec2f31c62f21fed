"""Collections: the manifest against the schema and the tree, pins, drift named per file, packs, search."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sipbench.errors import SkillError
from sipbench.skills.catalogue import Filters, catalogue, find, plan_pack
from sipbench.skills.collection import check_manifest, pin_collection, pin_of, read_manifest, verify
from sipbench.skills.export import plan_export, write_export
from sipbench.skills.layout import locate, locate_one
from tests.skills.made import raw, skill, text

MANIFEST = {
    "iri": "https://w3id.org/holobiomicslab/asb-skill/collection/lakes/v1",
    "slug": "lakes",
    "version": 1,
    "title": "Lakes",
    "description": "About lakes.",
    "license": "CC-BY-4.0",
    "skills_count": 2,
    "tools_count": 1,
    "skills": ["lake-depth", "lake-volume"],
    "tools": ["limnos"],
}


def collection(root: Path, **changes: Any) -> Path:
    skill(root / "leaves", "lake-depth", text("lake-depth"))
    skill(root / "leaves", "lake-volume", text("lake-volume", body="Volume.\n"))
    (root / "leaves" / "lake-volume" / "run.py").write_text("print(1)\n", encoding="utf-8")
    (root / "tools").mkdir()
    (root / "tools" / "limnos.yaml").write_text("name: limnos\nslug: limnos\n", encoding="utf-8")
    document = {key: value for key, value in (MANIFEST | changes).items() if value is not None}
    (root / "collection.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    links = {"schema": "x", "links": {"lakes/task_001": {"skills": ["lake-depth", "lake-volume"]}}}
    (root / "links.json").write_text(json.dumps(links), encoding="utf-8")
    return root


def put(root: Path, name: str) -> None:
    (root / name).write_text("x: y", encoding="utf-8")


def rules(root: Path) -> list[str]:
    return [item.rule for item in check_manifest(locate_one(root))]


class TestManifest:
    @pytest.fixture(autouse=True)
    def _schemas(self) -> None:
        pytest.importorskip(
            "asb_schema", reason="the schemas of asb-schema (extra 'cards') are not installed"
        )

    def test_a_sound_one(self, tmp_path: Path) -> None:
        assert check_manifest(locate_one(collection(tmp_path))) == []

    @pytest.mark.parametrize(
        ("changes", "found"),
        [
            ({"unheard_of": 1}, ["schema"]),
            ({"title": None}, ["schema"]),
            ({"version": "one"}, ["schema"]),
            ({"doi": "TODO-zenodo"}, ["doi"]),
            ({"doi": "10.5281/zenodo.123"}, []),
            ({"skills_count": 3}, ["count", "count"]),
            ({"tools_count": 0}, ["count", "count"]),
            ({"skills": ["lake-depth"], "skills_count": 2}, ["count", "member"]),
            ({"skills": ["lake-depth", "lake-volume", "lake-volume"], "skills_count": None}, ["member"]),
            ({"skills": ["lake-depth", "absent"]}, ["member", "member"]),
            (
                {"skills": ["lake-depth", "lake-volume", "not a curie at all !!"], "skills_count": None},
                ["member", "pin"],
            ),
            ({"tools": [pin_of("skill", "limnos", b"")]}, ["pin"]),
        ],
    )
    def test_what_is_wrong(self, tmp_path: Path, changes: dict[str, Any], found: list[str]) -> None:
        assert rules(collection(tmp_path, **changes)) == found

    def test_a_skill_about_the_collection_need_not_be_listed(self, tmp_path: Path) -> None:
        root = collection(tmp_path)
        skill(root / "leaves", "router", text("router"))
        assert rules(root) == ["count", "member"]
        assert check_manifest(locate_one(root), meta=["router"]) == []

    def test_the_given_manifests(self, shared_data: Callable[..., Path]) -> None:
        for located in locate(shared_data("asb-collections")):
            assert [item.rule for item in check_manifest(located)] == ["doi"]


class TestPins:
    def test_a_pin_is_the_sha256_of_the_bytes_of_skill_md(self, tmp_path: Path) -> None:
        root = collection(tmp_path)
        assert pin_collection(locate_one(root)) == (2, 1)
        data = (root / "leaves" / "lake-depth" / "SKILL.md").read_bytes()
        pins = read_manifest(locate_one(root))["skills"]
        assert pins[0] == (
            "https://w3id.org/holobiomicslab/asb-skill/lake-depth@sha256:" + hashlib.sha256(data).hexdigest()
        )
        assert read_manifest(locate_one(root))["tools"][0].startswith(
            "https://w3id.org/holobiomicslab/asb-tool/limnos@sha256:"
        )
        assert verify(locate_one(root)) == []

    def test_pinning_again_changes_nothing(self, tmp_path: Path) -> None:
        root = collection(tmp_path)
        pin_collection(locate_one(root))
        before = [(root / name).read_bytes() for name in ("collection.yaml", "pins.json")]
        pin_collection(locate_one(root))
        assert [(root / name).read_bytes() for name in ("collection.yaml", "pins.json")] == before

    @pytest.mark.parametrize(
        ("change", "found"),
        [
            (lambda root: put(root, "leaves/lake-depth/SKILL.md"), ("changed", "leaves/lake-depth/SKILL.md")),
            (lambda root: put(root, "leaves/lake-volume/run.py"), ("changed", "leaves/lake-volume/run.py")),
            (
                lambda root: (root / "leaves/lake-volume/run.py").unlink(),
                ("missing", "leaves/lake-volume/run.py"),
            ),
            (lambda root: (root / "leaves/lake-depth/more").touch(), ("added", "leaves/lake-depth/more")),
            (lambda root: put(root, "tools/limnos.yaml"), ("changed", "tools/limnos.yaml")),
            (lambda root: (root / "tools/limnos.yaml").unlink(), ("missing", "tools/limnos.yaml")),
            (lambda root: skill(root / "leaves", "new", text("new")), ("added", "leaves/new/SKILL.md")),
        ],
    )
    def test_what_is_no_longer_as_pinned_is_named_by_file(
        self, tmp_path: Path, change: Callable[[Path], object], found: tuple[str, str]
    ) -> None:
        root = collection(tmp_path)
        pin_collection(locate_one(root))
        change(root)
        assert [(item.rule, item.file) for item in verify(locate_one(root))] == [found]

    @pytest.mark.parametrize("left", [None, "{}", '{"skills": {"lake-depth": {}, "lake-volume": 1}}'])
    def test_files_that_are_in_no_list_any_more_are_named(self, tmp_path: Path, left: str | None) -> None:
        root = collection(tmp_path)
        pin_collection(locate_one(root))
        (root / "pins.json").unlink()
        if left is not None:
            (root / "pins.json").write_text(left, encoding="utf-8")
        found = [(item.rule, item.file) for item in verify(locate_one(root))]
        assert found == [("added", "leaves/lake-volume/run.py")]

    def test_a_sidecar_is_pinned_through_the_metadata(self, tmp_path: Path) -> None:
        skill(tmp_path / "in" / "skills", "lake-depth", raw("lake-depth"))
        manifest = MANIFEST | {"skills": ["lake-depth"], "skills_count": 1, "tools": [], "tools_count": 0}
        (tmp_path / "in" / "collection.yaml").write_text(yaml.safe_dump(manifest), encoding="utf-8")
        out = tmp_path / "out"
        write_export(plan_export(tmp_path / "in"), out)
        pin_collection(locate_one(out))
        (out / "pins.json").unlink()
        assert verify(locate_one(out)) == []
        (out / "leaves" / "lake-depth" / "provenance.json").write_text("{}", encoding="utf-8")
        assert [item.file for item in verify(locate_one(out))] == ["leaves/lake-depth/provenance.json"]

    def test_without_pins_there_is_nothing_to_verify(self, tmp_path: Path) -> None:
        with pytest.raises(SkillError, match="nothing is pinned"):
            verify(locate_one(collection(tmp_path)))

    def test_links_that_somebody_left_where_pins_are_written_lead_to_no_other_file(
        self, tmp_path: Path
    ) -> None:
        root = collection(tmp_path / "release")
        other = tmp_path / "other"
        other.write_text("mine", encoding="utf-8")
        for name in (".collection.yaml.partial", ".pins.json.partial"):
            (root / name).symlink_to(other)
        pin_collection(locate_one(root))
        assert other.read_text(encoding="utf-8") == "mine"
        assert verify(locate_one(root)) == []

    def test_a_name_that_does_not_conform_cannot_be_pinned(self, tmp_path: Path) -> None:
        root = collection(tmp_path)
        skill(root / "leaves", "_router", text("router"))
        with pytest.raises(SkillError, match="export-skills first"):
            pin_collection(locate_one(root))


class TestCatalogue:
    def test_entries(self, tmp_path: Path) -> None:
        entry = catalogue(locate(collection(tmp_path / "lakes")))[0]
        assert (entry.name, entry.collection, entry.tools) == ("lake-depth", "lakes", ("limnos", "R"))
        assert entry.tasks == ("lakes/task_001",)
        assert entry.digest is not None

    def test_words_find_the_skill_that_has_them(self, tmp_path: Path) -> None:
        pytest.importorskip("bm25s", reason="bm25s (extra 'skills') is not installed")
        entries = catalogue(locate(collection(tmp_path)))
        assert [hit.entry.name for hit in find("volume", entries)] == ["lake-volume"]
        assert len(find("lake VOLUME!", entries)) == 2
        assert find("unheard", entries) == []
        assert find("", entries) == []

    def test_bm25_by_hand(self, tmp_path: Path) -> None:
        """Lucene's: idf ln(1 + (N - n + 0.5) / (n + 0.5)), times tf / (tf + k1 (1 - b + b L / mean))."""
        pytest.importorskip("bm25s", reason="bm25s (extra 'skills') is not installed")
        for name, words in (("a", "x y"), ("b", "y")):
            skill(tmp_path, name, text(name, front=f"name: {name}\ndescription: {words}\n"))
        # Words: a x y (3) and b y (2); mean 2.5; x is in one of two.
        idf = 0.6931471805599453
        expected = idf * 1 / (1 + 1.5 * (0.25 + 0.75 * 3 / 2.5))
        (hit,) = find("x", catalogue(locate(tmp_path)))
        assert hit.score == pytest.approx(expected, rel=1e-5)


class TestPack:
    def test_a_part_is_a_collection_of_its_own(self, tmp_path: Path) -> None:
        root = collection(tmp_path / "in")
        located = locate_one(root)
        filters = Filters(tools=("LIMNOS",), keywords=("volume",))
        plan = plan_pack(located, read_manifest(located), filters, slug="volumes", title="Volumes")
        write_export(plan, tmp_path / "out")
        packed = locate_one(tmp_path / "out")
        assert [path.name for path in packed.skills] == ["lake-volume"]
        manifest = read_manifest(packed)
        assert (manifest["skills"], manifest["skills_count"], manifest["slug"]) == (
            ["lake-volume"],
            1,
            "volumes",
        )
        assert (manifest["tools"], manifest["tools_count"]) == (["limnos"], 1)
        for name in ("SKILL.md", "run.py"):
            there = tmp_path / "out" / "leaves" / "lake-volume" / name
            assert there.read_bytes() == (root / "leaves" / "lake-volume" / name).read_bytes()
        links = json.loads((tmp_path / "out" / "links.json").read_text(encoding="utf-8"))
        assert links["links"]["lakes/task_001"]["skills"] == ["lake-volume"]

    @pytest.mark.parametrize(
        ("links", "kept"),
        [
            ({"x": 1, "y": None, "z": {"skills": [["lake-depth"], {}, "lake-depth"]}}, ["z"]),
            ({"x": {"skills": 5}, "y": {"skills": ["absent"]}}, []),
            ([1], []),
            (None, []),
        ],
    )
    def test_links_that_are_none_are_left_out(self, tmp_path: Path, links: Any, kept: list[str]) -> None:
        located = locate_one(collection(tmp_path))
        (located.root / "links.json").write_text(json.dumps({"links": links}), encoding="utf-8")
        filters = Filters(keywords=("lake",))
        plan = plan_pack(located, read_manifest(located), filters, slug="all", title="All")
        assert list(json.loads(plan.files["links.json"][0])["links"]) == kept

    def test_filters(self, tmp_path: Path) -> None:
        front = 'name: {name}\ndescription: d\nmetadata:\n  edam-topics: "http://edamontology.org/topic_1"\n'
        skill(tmp_path, "a", text("a", front=front))
        (entry,) = catalogue(locate(tmp_path))
        assert Filters(topics=("topic_1",)).takes(entry)
        assert not Filters(topics=("topic_11",)).takes(entry)
        assert not Filters(tools=("x",)).takes(entry)

    @pytest.mark.parametrize(
        "techniques", [["mass spectrometry"], ["mass spectrometry", "sounding"], ["sounding", "echo"], []]
    )
    def test_techniques_are_read_back_as_they_were(self, tmp_path: Path, techniques: list[str]) -> None:
        listed = yaml.safe_dump({"techniques": techniques}, default_flow_style=False)
        front = "name: {name}\ndescription: d\nmetadata:\n" + "".join(f"  {x}\n" for x in listed.splitlines())
        skill(tmp_path / "in" / "skills", "a", text("a", front=front))
        write_export(plan_export(tmp_path / "in"), tmp_path / "out")
        (entry,) = catalogue(locate(tmp_path / "out"))
        assert list(entry.techniques) == techniques
        assert Filters(techniques=("Mass Spectrometry",)).takes(entry) == ("mass spectrometry" in techniques)

    def test_nothing_to_pack_is_an_error(self, tmp_path: Path) -> None:
        located = locate_one(collection(tmp_path))
        with pytest.raises(SkillError, match="no skill fits"):
            plan_pack(located, read_manifest(located), Filters(tools=("absent",)), slug="a", title="a")


def test_several_collections_are_told_apart(tmp_path: Path) -> None:
    collection(tmp_path / "a")
    collection(tmp_path / "b")
    assert [item.root.name for item in locate(tmp_path)] == ["a", "b"]
    with pytest.raises(SkillError, match="2 collections"):
        locate_one(tmp_path)
