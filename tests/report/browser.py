"""A headless Chromium that is told not to talk to anybody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]


@dataclass
class Opened:
    """A page with what it said and asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def quiet(self) -> None:
        """Fail if it said anything on the console, or asked for anything but itself."""
        assert self.said == []
        assert self.asked == []


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, or a skip that says what is missing."""
    if not CHROMIUM.exists():
        pytest.skip(f"no {CHROMIUM}: `apt-get install chromium` brings it")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Any, url: str, *, allowed: str = "", **context: Any) -> Iterator[Opened]:
    """A page, watched from its beginning. ``allowed`` is where it may ask: its own server."""
    found_context = browser.new_context(viewport={"width": 1240, "height": 900}, **context)
    page = found_context.new_page()
    found = Opened(page)
    page.on("console", lambda message: found.said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: found.said.append(f"error: {error}"))

    def asked(request: Any) -> None:
        own = request.url == url or request.url.startswith("data:")
        if not own and not (allowed and request.url.startswith(allowed)):
            found.asked.append(request.url)

    page.on("request", asked)
    page.goto(url)
    try:
        yield found
    finally:
        found_context.close()
