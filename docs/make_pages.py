"""The pages of exploring.md, and their pictures where a browser is installed."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import graphc as gc

HERE = Path(__file__).parent
PICTURES = HERE / "pictures"
EXAMPLES = HERE.parent / "examples"
POINT = {"y1": "1/2", "y2": "3/5", "y3": "7/10", "w2": "4/5", "w3": "-3/10"}
SIZES = {"desktop": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}


def pages(folder: Path) -> list[Path]:
    """Writes the pages into a folder."""
    fig27 = gc.load(EXAMPLES / "fig27.gc")
    regression = gc.load(EXAMPLES / "tensor" / "softmax_regression.gc")
    return [
        fig27.explore(folder / "fig27.html", of="y10", wrt="y2", at=POINT),
        regression.explore(folder / "softmax_regression.html"),
    ]


def pictures(file: Path) -> None:
    """Takes the pictures of a page: a step back on a desktop, and a phone in the dark."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for device, scheme in (("desktop", "light"), ("phone", "dark")):
            tab = browser.new_page(viewport=SIZES[device], color_scheme=scheme)
            tab.goto(file.as_uri())
            if device == "desktop":
                tab.click("#last")
                tab.click("#back")
                tab.mouse.move(1, 1)
                tab.wait_for_timeout(400)  # the change of a line's width is animated
            tab.screenshot(path=PICTURES / f"explore-{device}.png")
        browser.close()


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        pictures(pages(Path(folder))[0])
