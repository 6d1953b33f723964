"""A site about what is installed: whole, well-formed, and the same for the same packages."""

import json
import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from orchestrator.documentation.catalogue import Catalogue
from orchestrator.documentation.site import PageFormat, pages
from orchestrator.documentation.words import flat
from orchestrator.plugins.custom import CustomConstraints
from orchestrator.plugins.registry import ResourceTypes
from tests.unit.orchestrator.documentation.reading import broken_links, read

#: Hidden types have no pages.
TYPES = sorted(name for name, kind in ResourceTypes.load().items() if not kind.support_status.is_hidden)


def page_of(site: Mapping[str, str], name: str) -> str:
    """Return the page with a heading."""
    (page,) = [text for path, text in site.items() if path.endswith(".html") and heading(text) == name]
    return page


def heading(html: str) -> str:
    found = re.search(r"<h1>(.*?)</h1>", html, flags=re.DOTALL)
    return read(found[1]).text if found else ""


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_a_page_with_all_that_it_takes_and_tells(
    html: dict[str, str], installed: Catalogue, name: str
) -> None:
    described, text = installed.types[name], " ".join(read(page_of(html, name)).text.split())
    names = [*described["properties"], *described["attributes"], *described["update_policy"]]
    assert [each for each in names if each not in text] == []
    assert " ".join(described["example"].split()) in text
    assert f"isotherm {described['origin']['version']}" in text


def test_every_constraint_has_a_page_that_says_who_asks_it(html: dict[str, str]) -> None:
    for name in CustomConstraints.load():
        assert f"custom_constraint: {name}" in page_of(html, name)


def test_every_link_leads_somewhere(html: dict[str, str]) -> None:
    assert [*broken_links(html)] == []
    index = read(html["index.html"])
    assert {path for path in html if path.count("/")} <= set(index.links)


def test_a_link_that_leads_nowhere_is_noticed() -> None:
    site = {"a/b.html": '<a href="../c.html#d">x</a><a href="#e">y</a>', "c.html": '<p id="d"></p>'}
    assert [*broken_links(site)] == ["a/b.html: #e (no such place)"]
    del site["c.html"]
    assert next(broken_links(site)) == "a/b.html: ../c.html#d"


def test_every_page_is_well_formed(html: dict[str, str]) -> None:
    for path, text in html.items():
        if path.endswith(".html"):
            page = read(text)
            assert page.faults == [], path
            assert len(page.anchors) == len(set(page.anchors)), path
            assert set(page.references) <= set(page.anchors), path


def test_a_page_that_is_not_well_formed_is_noticed() -> None:
    assert read("<p><b></p>").faults[0] == "</p> ends <b>"
    assert read("<p>").faults == ["<p> has no end"]
    assert read('<p onclick="x" id="a" id="b">').faults[:2] == [
        "<p> has an attribute twice",
        "<p> has onclick",
    ]


def test_every_page_can_be_read_without_eyes_and_without_a_mouse(html: dict[str, str]) -> None:
    for path, text in html.items():
        if path.endswith(".html"):
            page = read(text)
            assert page.headings[0] == 1, path
            assert page.headings.count(1) == 1, path
            steps = zip(page.headings, page.headings[1:], strict=False)
            assert all(after <= before + 1 for before, after in steps), path
            assert page.links[0] == "#content", path
            assert 'lang="en"' in text
            assert 'name="viewport"' in text
            assert "main" in page.elements


def test_no_page_asks_anybody_for_anything(html: dict[str, str]) -> None:
    for path, text in html.items():
        if path.endswith(".html"):
            assert all(not re.match(r"[a-z]+:|//", each) for each in read(text).fetched), path
            # Whatever would get into a page, the browser fetches nothing for it.
            assert "default-src 'none'" in text
    assert not re.search(r"https?:|@import|url\(", html["style.css"] + html["filter.js"])


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(html: dict[str, str], scheme: int) -> None:
    colours = [
        dict(re.findall(r"--([a-z-]+): (#\w{6});", part)) for part in html["style.css"].split("@media")[:2]
    ]
    for ink, paper in [
        *((ink, paper) for ink in ("ink", "soft", "link") for paper in ("paper", "raised")),
        ("accent", "accent-paper"),
        ("ink", "accent-paper"),
    ]:
        lighter, darker = sorted((luminance(colours[scheme][name]) for name in (ink, paper)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (ink, paper)


def test_every_markdown_link_leads_somewhere(markdown: dict[str, str]) -> None:
    for path, text in markdown.items():
        for target in re.findall(r"\]\(([^)#]+)", text):
            assert posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) in markdown, path


def test_markdown_has_a_page_of_everything_that_html_has(
    html: dict[str, str], markdown: dict[str, str]
) -> None:
    assert {path.removesuffix(".md") for path in markdown} == {
        path.removesuffix(".html") for path in html if path.endswith(".html")
    }


@pytest.mark.parametrize("name", TYPES)
def test_tables_of_markdown_are_tables(markdown: dict[str, str], installed: Catalogue, name: str) -> None:
    (page,) = [text for text in markdown.values() if text.startswith(f"# {name}\n")]
    parsed, described = MarkdownIt().enable("table").render(page), installed.types[name]
    sizes = [
        len([*flat(described["properties"])]),
        len([*flat(described["update_policy"])]),
        len(described["attributes"]),
        *(len(group["rows"]) for group in described["properties_groups"]),
    ]
    assert parsed.count("<table>") == len([size for size in sizes if size])
    assert parsed.count("<tr>") == sum(size + 1 for size in sizes if size)


def test_the_same_packages_give_the_same_pages_in_another_process(
    html: dict[str, str], markdown: dict[str, str]
) -> None:
    code = (
        "import json\n"
        "from orchestrator.documentation.catalogue import Catalogue\n"
        "from orchestrator.documentation.site import PageFormat, pages\n"
        "from orchestrator.config.settings import Settings\n"
        "catalogue = Catalogue.load(Settings())\n"
        "print(json.dumps([pages(catalogue, form) for form in PageFormat]))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert json.loads(done.stdout) == [html, markdown]


def test_a_site_of_some_types_has_only_those(installed: Catalogue) -> None:
    some = replace(installed, types={TYPES[0]: installed.types[TYPES[0]]})
    site = pages(some, PageFormat.HTML)
    assert len([path for path in site if path.startswith("types/")]) == 1
    assert [*broken_links(site)] == []
