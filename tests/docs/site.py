"""Reads what built pages load."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

# Elements and the attribute by which a browser loads something, without a click.
_LOADING = {
    ("audio", "src"),
    ("embed", "src"),
    ("iframe", "src"),
    ("img", "src"),
    ("link", "href"),
    ("object", "data"),
    ("script", "src"),
    ("source", "src"),
    ("video", "src"),
}
# Links of the head that a browser only notes.
_NOTED = {"canonical", "index", "next", "prev", "search", "author"}
_STYLE = re.compile(r"""(?:url\(\s*['"]?|@import\s+['"])(//|https?://)""")
_SCRIPT = re.compile(r"""(?:import\s*\(?|importScripts\(|fetch\()\s*['"]https?://""")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.code = {"script": "", "style": ""}
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self._inside = tag if tag in self.code else ""
        noted = tag == "link" and set(found.get("rel", "").split()) <= _NOTED
        for name, value in found.items():
            if (tag, name) in _LOADING and not noted:
                self.loaded.append(value)
            if name == "style":
                self.code["style"] += value + "\n"

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.code[self._inside] += data + "\n"


def _is_elsewhere(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp")


def loaded_from_elsewhere(page: Path) -> Iterator[str]:
    """Yield what a page would load from another machine, if a browser opened it."""
    read = _Reader()
    read.feed(page.read_text(encoding="utf-8"))
    yield from filter(_is_elsewhere, read.loaded)
    for kind, pattern in (("style", _STYLE), ("script", _SCRIPT)):
        yield from (match.group(0) for match in pattern.finditer(read.code[kind]))


def styles_from_elsewhere(sheet: Path) -> Iterator[str]:
    """Yield what a style sheet would load from another machine."""
    for match in _STYLE.finditer(sheet.read_text(encoding="utf-8")):
        yield match.group(0)
