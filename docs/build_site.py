"""What mkdocs asks for while it builds the site: generated pages, formulas, checked links."""

from __future__ import annotations

import logging
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from mkdocs.structure.files import File

from graphc.table.phrases import leaf
from graphc.write.mathml import mathml

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

import make_api  # noqa: E402  (beside this file)
import make_errata  # noqa: E402
import make_functions  # noqa: E402
import make_gallery  # noqa: E402
import make_identities  # noqa: E402
import make_pages  # noqa: E402

LOG = logging.getLogger("mkdocs.hooks.site")
# Pages of the site that live elsewhere in the project.
ELSEWHERE = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "textbook.md": "examples/textbook/README.md",
}
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
PROSE_LINK = re.compile(r"\]\(([^)\s]+)\)")
FORMULA = re.compile(r"\$([^$\n]+)\$")


def on_files(files, config):
    """The files of docs/ with the pages that are made now."""
    made = {page: (ROOT / place).read_text(encoding="utf-8") for page, place in ELSEWHERE.items()}
    made["api.md"] = make_api.page()
    made["functions.md"] = make_functions.table()
    made["matrix-identities.md"] = make_identities.page()
    made["errata.md"] = make_errata.page(make_errata.solved())
    made["examples.md"] = make_gallery.programs()
    made.update(make_gallery.gallery())
    with TemporaryDirectory() as folder:
        for page in make_pages.pages(Path(folder)):
            made[f"pages/{page.name}"] = page.read_text(encoding="utf-8")
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown, page, config, files):
    """The page with links and formulas as the site needs them."""
    place = ROOT / ELSEWHERE.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    parts = FENCED.split(markdown)
    parts[::2] = [
        FORMULA.sub(
            lambda found: mathml(leaf(found[1])),
            PROSE_LINK.sub(lambda found: f"]({target(found[1], place.parent)})", prose),
        )
        for prose in parts[::2]
    ]
    return "".join(parts)


def target(link: str, folder: Path) -> str:
    """Where a link of a file in the project leads on the site, whose pages all lie side by side."""
    if urlsplit(link).scheme or link.startswith("#"):
        return link
    path, _, anchor = link.partition("#")
    inside = (folder / path).resolve().relative_to(ROOT).as_posix()
    for page, source in ELSEWHERE.items():
        if inside in (source, str(Path(source).parent)) and inside != ".":
            return f"{page}#{anchor}" if anchor else page
    if inside == "examples":
        return "gallery.md"
    if inside.startswith("examples/"):
        return f"examples.md#{make_gallery.anchor(Path(inside).name)}"
    inside = inside.removeprefix("docs/")
    return f"{inside}#{anchor}" if anchor else inside


class Links(HTMLParser):
    """The links of a built page, the anchors it offers, and what it loads from elsewhere."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in ("script", "img", "link", "iframe", "source"):
            place = found.get("src") or found.get("href")
            if place and found.get("rel") != "canonical":
                self.loaded.append(place)


def on_post_build(config):
    """Warns of links that lead nowhere and of anything loaded from the network."""
    site = Path(config["site_dir"])
    pages = {file: Links(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}
    for file, page in pages.items():
        here = file.relative_to(site)
        if here.name == "404.html":
            continue  # its links are absolute: it is served for any address
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme in ("data", "mailto", "javascript"):
                continue
            if parts.scheme or parts.netloc:
                if link in page.loaded:
                    LOG.warning("%s loads %s from the network", here, link)
                continue
            there = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            there = there / "index.html" if there.is_dir() else there
            if not there.exists():
                LOG.warning("%s links to %s, which does not exist", here, link)
            elif parts.fragment and unquote(parts.fragment) not in pages[there].anchors:
                LOG.warning("%s links to %s, an anchor that does not exist", here, link)
    LOG.info("links checked: %d pages", len(pages))
