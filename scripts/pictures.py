"""Make the pictures of the README: run both studies, write their reports, photograph the top of each page.

    python scripts/pictures.py [--studies DIR] [--browser PATH]

Needs the extras ``harbor`` and ``report``, playwright and a Chromium. Nothing in a picture is made by hand:
if a number in one changes, the text of the README that names it has to follow.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
SIP = Path(sys.executable).with_name("sip")
CHROMIUM = Path("/usr/bin/chromium")
WIDTH = 1180


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture.

    Attributes:
        name: The study's folder; the picture is ``report-<name>.png``.
        command: What runs the study, without ``--out``; a study that has ended is not run again.
        height: How much of the page is in it, in pixels.
    """

    name: str
    command: tuple[str, ...]
    height: int


PICTURES = (
    Picture("demo", ("demo",), 760),
    Picture("skills-uplift", ("run", str(ROOT / "examples" / "skills-uplift" / "study.yaml")), 640),
)


def main() -> int:
    """Make all pictures; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--studies", type=Path, help="where the studies are, or are to be; default: a new folder"
    )
    parser.add_argument("--browser", type=Path, default=CHROMIUM, help="a Chromium (default: %(default)s)")
    given = parser.parse_args()
    if not given.browser.exists():
        parser.error(f"no {given.browser}: install Chromium, or name one with --browser")
    with tempfile.TemporaryDirectory(prefix="sip-pictures-") as made:
        studies = (given.studies or Path(made)).resolve()
        for picture in PICTURES:
            page = Path(made) / f"{picture.name}.html"
            _sip(*picture.command, "--out", str(studies / picture.name))
            _sip("report", str(studies / picture.name), "--out", str(page))
            _photograph(page, IMAGES / f"report-{picture.name}.png", picture.height, given.browser)
    return 0


def _sip(*command: str) -> None:
    subprocess.run([str(SIP), *command], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def _photograph(page: Path, image: Path, height: int, browser: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Root, as in a container, has no sandbox of its own; the page asks for nothing beyond itself.
        opened = driver.chromium.launch(executable_path=str(browser), args=["--no-sandbox", "--disable-gpu"])
        view = opened.new_page(viewport={"width": WIDTH, "height": height}, color_scheme="light")
        view.goto(page.as_uri())
        view.screenshot(path=str(image))
        opened.close()
    sys.stdout.write(f"{image.relative_to(ROOT)}\n")


if __name__ == "__main__":
    sys.exit(main())
