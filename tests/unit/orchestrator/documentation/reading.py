"""HTML as tests read it: what is in a page, where it leads, and what is wrong with how it is written."""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

#: Elements that have no end.
VOID = frozenset({"meta", "link", "br", "wbr", "input", "img", "hr"})


@dataclass
class Page:
    """What a page says of itself."""

    text: str = ""
    links: list[str] = field(default_factory=list)
    #: What the browser fetches by itself.
    fetched: list[str] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)
    elements: list[str] = field(default_factory=list)
    #: The values of attributes that refer to an element by its id.
    references: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class Reader(HTMLParser):
    """Reads a page, and holds every element to have its end where it belongs."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page, self._open = Page(), list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if len(given) != len(attrs):
            self.page.faults.append(f"<{tag}> has an attribute twice")
        self.page.faults += [
            f"<{tag}> has {name}" for name in given if name.startswith("on") or name == "style"
        ]
        self.page.elements.append(tag)
        if tag not in VOID:
            self._open.append(tag)
        if anchor := given.get("id"):
            self.page.anchors.append(anchor)
        if tag == "a":
            self.page.links.append(given.get("href") or "")
        self.page.fetched += [given[name] or "" for name in ("src", "srcset") if name in given]
        if tag == "link":
            self.page.fetched.append(given.get("href") or "")
        if tag[0] == "h" and tag[1:].isdigit():
            self.page.headings.append(int(tag[1:]))
        self.page.references += [given[name] or "" for name in ("aria-labelledby", "for") if name in given]

    def handle_endtag(self, tag: str) -> None:
        if self._open[-1:] != [tag]:
            self.page.faults.append(f"</{tag}> ends <{self._open[-1] if self._open else 'nothing'}>")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self.page.text += data

    def close(self) -> None:
        super().close()
        self.page.faults += [f"<{tag}> has no end" for tag in self._open]


def read(html: str) -> Page:
    """Return what a page says."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader.page


def broken_links(site: Mapping[str, str]) -> Iterator[str]:
    """Yield every link between pages, and everything a page fetches, that leads nowhere."""
    pages = {path: read(text) for path, text in site.items() if path.endswith(".html")}
    for path, page in pages.items():
        for link in (*page.links, *page.fetched):
            target, _, anchor = link.partition("#")
            file = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
            if file not in site:
                yield f"{path}: {link}"
            elif anchor and anchor not in pages[file].anchors:
                yield f"{path}: {link} (no such place)"
