from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sipbench.errors import RecordError
from sipbench.report.attempts import Caps
from sipbench.report.page import Live, report_page
from sipbench.report.reading import Study, read_study
from sipbench.report.words import points
from tests.protocol.made import document, write_lines
from tests.report.studies import Design, make_study

# Elements that hold nothing and are never closed.
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Parsed(HTMLParser):
    """Tags, attributes and texts of a page; fails on a tag that closes another one."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else at line {self.getpos()}"

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def text(self) -> str:
        return " ".join(" ".join(text for tag, text in self.texts if tag not in ("script", "style")).split())

    def data(self, number: int = 0) -> dict[str, object]:
        found = [text for tag, text in self.texts if tag == "script" and text.startswith('{"number"')]
        return json.loads(found[number])  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def raw(study: Study) -> str:
    return report_page([study])


@pytest.fixture(scope="module")
def page(raw: str) -> Parsed:
    return Parsed(raw)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Study:
    sizes = {"heldout": 4, "replay": 4}
    design = Design(arms=("frozen", "skilled"), repeats=1, phases=("T0", "T1"), sizes=sizes, name="tiny")
    return read_study(make_study(tmp_path_factory.mktemp("tiny") / "tiny", design))


def test_it_begins_with_the_verdict_and_follows_the_order(page: Parsed) -> None:
    text = page.text()
    order = [
        "made 1 ·",
        "gained",
        "improved",
        "Warnings",
        "Gained, kept, paid",
        "Main comparison",
        "Against the control arm",
        "From T0 to T1 to T2",
        "Gain and retention Right is",
        "Task by task",
        "Attempts on held-out tasks",
        "What the gain costs",
        "Skills given and opened",
        "From planned to scored",
        "Splits and leaks",
        "Provenance Benchmark",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_it_needs_nothing_from_anywhere(page: Parsed) -> None:
    for tag, attributes in page.tags:
        assert tag not in ("img", "iframe", "object", "embed", "base", "form")
        for name in ("src", "href", "action", "data", "poster", "srcset", "xlink:href"):
            value = attributes.get(name)
            assert value is None or value.startswith("#") or value == "data:,", (tag, name, value)
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag


def test_the_policy_allows_this_script_and_this_style_alone(page: Parsed) -> None:
    (policy,) = (a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    (style,) = (text for tag, text in page.texts if tag == "style")
    script = next(text for tag, text in page.texts if tag == "script" and "use strict" in text)
    for name, text in (("style-src", style), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy


def test_every_chart_is_described_and_its_values_stand_in_a_table(page: Parsed) -> None:
    ids = {attributes["id"] for _, attributes in page.tags if attributes.get("id")}
    drawings = [attributes for _, attributes in page.tags if attributes.get("role") == "img"]
    assert len(drawings) >= 7
    for attributes in drawings:
        assert attributes["aria-label"]
        assert attributes["aria-describedby"] in ids
    assert len(ids) == len([1 for _, attributes in page.tags if attributes.get("id")]), "an id stands twice"
    assert {"s1-plane-values", "s1-phases-values", "s1-attrition-values"} <= ids


def test_links_lead_to_sections_that_exist(page: Parsed) -> None:
    ids = {attributes.get("id") for _, attributes in page.tags}
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert links
    assert {link[1:] for link in links if link and link.startswith("#")} <= ids


def test_headings_and_tables_can_be_followed_without_seeing(page: Parsed) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    body = levels[: levels.index(2, 1)] if 2 in levels[1:] else levels
    assert body[0] == 1
    heads = [attributes for tag, attributes in page.tags if tag == "th"]
    assert all(attributes.get("scope") in ("col", "row") for attributes in heads)


def test_a_record_can_be_put_together_from_the_page(page: Parsed, study: Study) -> None:
    data = page.data()
    records = data["records"]
    assert isinstance(records, dict)
    first = study.runs.read_text(encoding="utf-8").splitlines()[0]
    place = records["row"].index(0)
    found = {}
    for name, column in records["columns"].items():
        if "same" in column:
            found[name] = column["same"]
        elif "values" in column:
            found[name] = column["values"][column["codes"][place]]
        else:
            found[name] = column["each"][place]
    assert found == json.loads(first)
    logs = data["logs"]
    assert isinstance(logs, dict)
    assert logs["0"][0]["text"] == f"tried {found['task_id']}\n"


def test_a_live_page_asks_for_attempts_and_holds_none(tiny: Study) -> None:
    found = Parsed(report_page([tiny], live=Live("abc")))
    assert next(a for tag, a in found.tags if tag == "html")["data-live"] == "abc"
    data = found.data()
    assert data["records"] == {"row": [], "columns": {}}
    assert data["logs"] == {}
    policy = next(a["content"] for _, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "connect-src 'self'" in policy


def test_what_does_not_fit_is_said(tiny: Study) -> None:
    found = Parsed(report_page([tiny], caps=Caps(indexed=10)))
    assert f"it holds the records of 10 of {tiny.frame.height:,} attempts" in found.text()


def test_several_studies_stand_one_after_the_other(tiny: Study) -> None:
    found = Parsed(report_page([tiny, tiny]))
    assert "2 studies" in found.text()
    assert [found.data(0)["number"], found.data(1)["number"]] == [0, 1]
    ids = [attributes["id"] for _, attributes in found.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))


def test_forty_percent_lost_is_inconclusive_with_bounds_on_the_page(lossy: Study) -> None:
    text = Parsed(report_page([lossy])).text()
    lost = lossy.summary.rows[lossy.names.index("skilled")].metrics.fg.lost
    assert lost is not None
    assert (
        f"gain on new tasks: inconclusive, between {points(lost.low)} and {points(lost.high)} points" in text
    )
    assert f"confidence limits {points(lost.outer_low)} and {points(lost.outer_high)}" in text
    assert "What lost attempts could change" in text
    assert "improved" not in text


HOSTILE = {
    "heldout-0000": "</script><script>document.title='owned'</script>",
    "heldout-0001": "<!--<script>",
    "heldout-0002": "]]><svg onload=alert(1)>",
    "heldout-0003": "\u202egnp.exe \u2066x\u2069",
    "heldout-0004": "n" * 1000,
    "heldout-0005": '"><img src=x onerror=alert(1)>',
    "heldout-0006": "{{ 7 * 7 }}{% raw %}",
    "heldout-0007": "line\u2028separator\u2029",
    "replay-0000": "&lt;b&gt;",
    "skilled": "</style><b>arm</b>",
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    design = Design(
        names=HOSTILE,
        arms=("frozen", "skilled"),
        repeats=2,
        phases=("T0", "T1"),
        name="</title><script>alert(1)</script>",
        more={
            "notes": "</script>" + "\u202e" + "z" * 10_000,
            "metadata": {"</script>": ["<!--", {"x": "]]>"}]},
        },
    )
    folder = make_study(tmp_path_factory.mktemp("hostile") / "<h1>", design)
    output = folder / "attempts" / "run-1"
    output.mkdir(exist_ok=True)
    (output / "<b>.log").write_bytes(b"</script><script>alert(1)</script>\xff")
    (output / "link").symlink_to("/etc/passwd")
    return report_page([read_study(folder)])


def test_hostile_names_records_and_logs_are_text(hostile: str) -> None:
    found = Parsed(hostile)
    scripts = [attributes for tag, attributes in found.tags if tag == "script"]
    assert len(scripts) == 2, "the page's own script and its data"
    assert not [tag for tag, _ in found.tags if tag == "img"]
    assert "\u202e" not in re.sub(
        r'<script type="application/json".*?</script>', "", hostile, flags=re.DOTALL
    )
    names = set(found.data()["tasks"].values())  # type: ignore[attr-defined]
    assert set(HOSTILE.values()) - {HOSTILE["skilled"]} <= names
    assert "49" not in {text.strip() for _, text in found.texts if "7 * 7" in text}
    assert "root:x:0" not in hostile


def test_a_long_name_does_not_fill_the_page(hostile: str) -> None:
    text = Parsed(hostile).text()
    assert "n" * 200 not in text
    assert "n" * 100 in text


@pytest.mark.parametrize("suite", ["oracle-suite", "prepared-suite", "sample"])
def test_records_of_others_make_a_page(shared_data: Callable[..., Path], suite: str) -> None:
    found = read_study(shared_data("sip-runs", suite, "runs.jsonl"))
    text = Parsed(report_page([found])).text()
    assert "Gained, kept, paid" in text
    assert "none: the plan of these attempts is not known" in text


def test_many_arms_and_repeats_are_bounded_and_said(tmp_path: Path) -> None:
    rows = [
        document(
            arm=f"arm-{arm:02d}", phase=phase, repeat=repeat, seed=repeat, task_id=f"t{task}", score=task / 2
        )
        for arm in range(30)
        for phase in ("T0", "T1")
        for repeat in range(8)
        for task in range(3)
    ]
    found = Parsed(report_page([read_study(write_lines(tmp_path / "runs.jsonl", rows))]))
    assert "18 further arms not drawn" in found.text()
    assert "22 further arms not drawn." in found.text()
    widths = [float(a["width"] or 0) for tag, a in found.tags if tag == "svg" and a.get("viewbox")]
    assert max(widths) < 1300


def test_half_a_character_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(document(task_id="a\ud800b")) + "\n", encoding="utf-8")
    with pytest.raises(RecordError, match=r"runs\.jsonl:1"):
        read_study(path)


def test_the_page_is_small(raw: str) -> None:
    assert len(raw.encode()) < 2_000_000


def test_ten_thousand_tasks_are_put_together(tmp_path: Path) -> None:
    # The whole size is measured in benchmarks/bench_report.py; here it must only be bounded.
    sizes = {"heldout": 1500, "replay": 500}
    design = Design(sizes=sizes, arms=("frozen", "skilled"), repeats=1, phases=("T0", "T1"))
    found = read_study(make_study(tmp_path / "s", design))
    raw = report_page([found])
    assert len(raw.encode()) < 6_000_000
    text = Parsed(raw).text()
    assert "A line is up to 15 tasks" in text
    assert "A bar is the mean of up to 13 tasks" in text
