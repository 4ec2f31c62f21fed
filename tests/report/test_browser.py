"""The page as a browser shows it: silent, sorted, chosen from, in the light, in the dark and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sipbench.report.leaderboard import leaderboard
from sipbench.report.page import report_page, write_page
from sipbench.report.reading import Study, read_study
from tests.report.browser import chromium, opened
from tests.report.studies import Design, make_study


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def source(study: Study) -> str:
    return report_page([study])


@pytest.fixture(scope="module")
def url(source: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(source, encoding="utf-8")
    return path.as_uri()


def test_nothing_is_said_nothing_is_asked_for_and_every_chart_has_a_size(browser: Any, url: str) -> None:
    with opened(browser, url) as found:
        sizes = found.page.eval_on_selector_all(
            ".drawing svg",
            "all => all.map(e => [e.getBoundingClientRect().width, e.getBoundingClientRect().height])",
        )
        found.quiet()
    assert len(sizes) >= 7
    assert all(width > 150 and height > 60 for width, height in sizes)


def test_it_reads_without_a_script(browser: Any, url: str) -> None:
    with opened(browser, url, java_script_enabled=False) as found:
        assert "gained" in found.page.locator(".lead").first.inner_text()
        found.page.locator("#s1-plane-more > summary").click()
        assert found.page.locator("#s1-plane-values").is_visible()


def column(page: Any, table: str, number: int) -> list[str]:
    return page.eval_on_selector_all(  # type: ignore[no-any-return]
        f"#{table} tbody tr", f"rows => rows.map(row => row.cells[{number}].innerText.trim())"
    )


def test_tables_sort_by_click_and_by_key_both_ways(browser: Any, url: str) -> None:
    with opened(browser, url) as found:
        page = found.page
        page.locator("#s1-plane-more > summary").click()
        head = page.locator("#s1-plane-values thead th").nth(2)
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == "ascending"
        rising = [float(text.replace("−", "-")) for text in column(page, "s1-plane-values", 2)]
        assert rising == sorted(rising)
        head.locator("button").focus()
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "descending"
        falling = [float(text.replace("−", "-")) for text in column(page, "s1-plane-values", 2)]
        assert falling == rising[::-1]
        page.keyboard.press("Space")
        assert head.get_attribute("aria-sort") == "ascending"
        found.quiet()


def test_what_is_unknown_comes_last_both_ways(browser: Any, url: str) -> None:
    with opened(browser, url) as found:
        page = found.page
        page.locator("#s1-plane-more > summary").click()
        head = page.locator("#s1-plane-values thead th").nth(3)
        for _ in range(2):
            head.locator("button").click()
            assert column(page, "s1-plane-values", 3)[-1] == "–"


def test_a_cell_shows_its_record_and_log_and_closes_by_key(browser: Any, url: str, study: Study) -> None:
    with opened(browser, url) as found:
        page = found.page
        page.locator('.chart [data-row="0"]').first.click()
        viewer = page.locator("#viewer")
        assert viewer.is_visible()
        text = viewer.inner_text()
        assert study.frame["run_id"][0] in text
        assert "agent.log" in text
        page.locator("#viewer summary", has_text="agent.log").click()
        assert "tried " in page.locator("#viewer details pre").inner_text()
        page.keyboard.press("Escape")
        assert not viewer.is_visible()
        found.quiet()


def test_a_task_leads_to_its_attempts_and_back_by_keys_alone(browser: Any, url: str) -> None:
    with opened(browser, url) as found:
        page = found.page
        page.locator("#s1-changes-more > summary").focus()
        page.keyboard.press("Enter")
        page.locator("#s1-changes button.link").first.focus()
        page.keyboard.press("Enter")
        viewer = page.locator("#viewer")
        assert viewer.is_visible()
        attempts = page.locator("#viewer-attempts tbody tr").count()
        assert attempts == 4 * 9
        page.locator("#viewer-attempts button.link").first.focus()
        page.keyboard.press("Enter")
        assert "rest of the record" in viewer.inner_text()
        page.locator("#viewer-back").click()
        assert page.locator("#viewer-attempts tbody tr").count() == attempts
        found.quiet()


def test_a_mark_says_what_it_is_when_it_is_pointed_at(browser: Any, url: str) -> None:
    with opened(browser, url) as found:
        page = found.page
        page.locator(".chart [data-row]").first.hover()
        assert "repeat 0" in page.locator("#tip").inner_text()
        page.locator("#s1-plane .chart [data-tip]").first.hover()
        assert "FG" in page.locator("#tip").inner_text()
        found.quiet()


def colours(page: Any) -> dict[str, str]:
    return page.evaluate(  # type: ignore[no-any-return]
        """() => {
            const of = (selector, name) => getComputedStyle(document.querySelector(selector))[name];
            return {
                paper: of("body", "backgroundColor"),
                ink: of("body", "color"),
                mark: of('.chart [fill="#0072b2"]', "fill"),
                label: of('.chart text[fill="#52606d"]', "fill"),
            };
        }"""
    )


def test_light_and_dark_differ_and_can_be_chosen(browser: Any, url: str) -> None:
    with opened(browser, url, color_scheme="light") as found:
        light = colours(found.page)
        found.page.locator("#theme").click()
        chosen = colours(found.page)
    with opened(browser, url, color_scheme="dark") as found:
        dark = colours(found.page)
        assert found.page.locator("#theme").inner_text() == "Light"
        found.quiet()
    assert chosen == dark
    assert all(light[name] != dark[name] for name in light)


def test_paper_is_white_and_has_no_buttons(browser: Any, url: str) -> None:
    with opened(browser, url, color_scheme="dark") as found:
        found.page.emulate_media(media="print")
        assert colours(found.page)["paper"] == "rgb(255, 255, 255)"
        assert not found.page.locator(".bar").is_visible()
        assert len(found.page.pdf()) > 20_000
        found.quiet()


def test_a_narrow_screen_does_not_scroll_sideways(browser: Any, url: str) -> None:
    with opened(browser, url) as found:
        found.page.set_viewport_size({"width": 390, "height": 800})
        width = found.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390


def test_hostile_names_and_logs_do_nothing(browser: Any, tmp_path: Path) -> None:
    names = {
        "heldout-0000": "</script><script>document.title='owned'</script>",
        "heldout-0001": "<img src=x onerror=\"document.title='owned'\">",
        "heldout-0002": "\u202egnp.exe",
        "heldout-0003": "x" * 1000,
        "skilled": "</text><script>document.title='owned'</script>",
    }
    more = {"notes": "<img src=x onerror=\"document.title='owned'\">\u202e" + "z" * 30_000}
    design = Design(
        names=names, arms=("frozen", "skilled"), repeats=1, phases=("T0", "T1"), more=more, name="<b>x"
    )
    folder = make_study(tmp_path / "s", design)
    log = folder / "attempts" / "run-1" / "agent.log"
    log.write_text("<script>document.title='owned'</script>\u202e\x1b[2J", encoding="utf-8")
    path = tmp_path / "report.html"
    path.write_text(report_page([read_study(folder)]), encoding="utf-8")
    with opened(browser, path.as_uri()) as found:
        page = found.page
        page.locator('.chart [data-row="0"]').first.click()
        page.locator("#viewer summary", has_text="agent.log").click()
        text = page.locator("#viewer").inner_text()
        assert "‹202E›" in text
        assert "\u202e" not in text
        assert "characters left out" in text
        assert page.title() == "<b>x"
        assert page.locator("img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 1240
        found.quiet()


def test_a_script_that_got_in_would_not_run(browser: Any, tmp_path: Path, source: str) -> None:
    # What the policy is for: here the hole is made by hand.
    page = source.replace("</main>", "<script>document.title='owned'</script></main>")
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    with opened(browser, path.as_uri()) as found:
        assert found.page.title() == "made"
        assert any("Content Security Policy" in text for text in found.said)


def test_a_leaderboard_is_silent_as_well(browser: Any, study: Study, tmp_path: Path) -> None:
    board = leaderboard([study])
    path = tmp_path / "board.html"
    text = write_page("leaderboard.html", title="x", sections=(), footer="", board=board)
    path.write_text(text, encoding="utf-8")
    with opened(browser, path.as_uri()) as found:
        assert "Leaderboard" in found.page.locator("h1").inner_text()
        found.quiet()
