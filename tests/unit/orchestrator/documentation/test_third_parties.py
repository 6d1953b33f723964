"""What other packages bring has pages like what ships, and whatever it says of itself stays text."""

import html as entities
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from orchestrator.config.settings import Settings
from orchestrator.documentation import markup
from orchestrator.documentation.address import Anchors, page_names, slug
from orchestrator.documentation.catalogue import Catalogue
from orchestrator.documentation.site import PageFormat, pages
from orchestrator.documentation.wrapping import wrapping_template
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.validation.job import examine_job
from tests import keys
from tests.unit.orchestrator.documentation.reading import broken_links, read
from tests.unit.orchestrator.plugins.conftest import Install, install

__all__ = ["install"]

HOSTILE = (
    "</p><script>alert(1)</script>\"'&amp; `</code><b>` "
    "[x](javascript:1) **b** _i_ <!-- | --> \x00\x1b[31m \u2028 ]]>"
)
ACME = f'''
from orchestrator.plugins.constraints import Length
from orchestrator.plugins.groups import XOR
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.support import Support, SupportStatus

HOSTILE = {HOSTILE!r}
TEXT = PropertyType.STRING

class Box(Resource):
    """A box."""
    description = "Makes a box."
    properties_schema = {{
        "label": Property(type=TEXT, description="What it says.", required=True, constraints=(Length(max=9),)),
        "plan": Property(type=TEXT, description="How it is made."),
        "copy": Property(type=TEXT, description="What it is made like.", default="none"),
        "colour": Property(type=TEXT, support_status=SupportStatus(status=Support.DEPRECATED, message="paint it")),
    }}
    properties_groups_schema = [{{XOR: [["plan"], ["copy"]]}}]
    attributes_schema = {{"weight": Attribute("In grams.", PropertyType.NUMBER)}}

class Hidden(Resource):
    support_status = SupportStatus(status=Support.HIDDEN)

class Hostile(Resource):
    description = HOSTILE
    properties_schema = {{
        HOSTILE: Property(type=PropertyType.MAP, description=HOSTILE, default={{HOSTILE: HOSTILE}}, schema={{
            HOSTILE: Property(type=TEXT, constraints=(Length(max=999, description=HOSTILE),)),
        }}),
        HOSTILE.upper(): Property(type=TEXT, support_status=SupportStatus(status=Support.DEPRECATED, message=HOSTILE)),
    }}
    attributes_schema = {{HOSTILE: Attribute(HOSTILE)}}
'''


@pytest.fixture
def acme(install: Install) -> Catalogue:
    entries = {
        "Acme::Box": "Box",
        "Acme::Old": "Hidden",
        "<b>../Ev::il": "Hostile",
        "<B>../Ev::il": "Hostile",
    }
    return Catalogue.load(Settings(), types=install("acme", entries, ACME))


def test_a_page_tells_the_package_and_all_that_its_type_takes(acme: Catalogue) -> None:
    text = read(pages(acme, PageFormat.HTML)["types/acme-box.html"]).text
    words = " ".join(text.split())
    assert re.search(r"Package ?acme-\w+ 1", words)
    assert "Must have a length of at most 9." in words
    assert "Exactly one of plan and copy must be given." in words
    assert "Deprecated: paint it." in words
    assert "In grams." in words
    (page,) = [
        text for path, text in pages(acme, PageFormat.MARKDOWN).items() if path.endswith("acme-box.md")
    ]
    assert "Exactly one of `plan` and `copy` must be given." in page
    assert "| given | not given | yes |" in page


def test_an_example_is_made_up_by_its_groups(acme: Catalogue) -> None:
    example = acme.types["Acme::Box"]["example"]
    assert "label: example" in example
    assert "plan: example" in example
    assert "copy" not in example


def test_what_is_hidden_has_a_page_only_if_it_is_asked_for(acme: Catalogue) -> None:
    assert "Acme::Old" not in acme.types


def test_what_a_package_says_is_never_markup_in_html(acme: Catalogue) -> None:
    site = pages(acme, PageFormat.HTML)
    assert [*broken_links(site)] == []
    hostile = [path for path in site if path.startswith("types/") and "acme" not in path]
    assert len(hostile) == 2
    assert all(re.fullmatch(r"types/[a-z0-9-]+\.html", path) for path in hostile)
    for path, text in site.items():
        if path.endswith(".html"):
            page = read(text)
            assert page.faults == []
            assert page.elements.count("script") == (1 if path == "index.html" else 0)
            assert not {"b", "em", "strong"} & set(page.elements)
            assert len(page.anchors) == len(set(page.anchors))
            assert not re.search("[\x00\x1b\u2028]", text)
    assert "alert(1)" in read(site[hostile[0]]).text


def test_what_a_package_says_is_never_markup_in_markdown(acme: Catalogue) -> None:
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    for path, text in pages(acme, PageFormat.MARKDOWN).items():
        tokens = [token for each in reader.parse(text) for token in (each, *(each.children or ()))]
        kinds = {token.type for token in tokens}
        assert not {"html_block", "html_inline", "em_open", "image"} & kinds, path
        assert all(not str(token.attrGet("href") or "").startswith("javascript") for token in tokens)
        tables = re.findall(r"<tr>(.*?)</tr>", reader.render(text), flags=re.DOTALL)
        assert {row.count("<td>") + row.count("<th>") for row in tables} <= {3, 4}, path


TEXTS = st.text(
    st.one_of(st.sampled_from("`*_[]()<>#+-=!|~&\\:.1 \n\tab"), st.characters(codec="utf-8")),
    max_size=40,
)


def shown(markdown: str) -> str:
    """Return what a reader of a page sees."""
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    return entities.unescape(re.sub(r"<[^>]*>", "", rendered)).strip()


@given(TEXTS)
def test_any_text_reads_in_markdown_as_it_was_written(text: str) -> None:
    assert shown(f"x {markup.markdown_text(text)}x") == f"x {markup.one_line(text)}x"


@given(TEXTS.map(lambda text: text.replace("`", "")))
def test_any_paragraph_reads_in_markdown_as_it_was_written(text: str) -> None:
    assert shown(markup.markdown_prose(text)) == markup.one_line(text)


@given(TEXTS)
def test_any_text_is_one_cell_of_a_table(text: str) -> None:
    table = f"| a | b |\n| --- | --- |\n| {markup.markdown_cell(text)} | end |\n"
    rendered = MarkdownIt("commonmark").enable("table").render(table)
    cells = re.findall(r"<td>(.*?)</td>", rendered, flags=re.DOTALL)
    assert len(cells) == 2
    assert cells[1] == "end"


@given(TEXTS.filter(lambda text: markup.lines(text).strip()))
def test_any_block_of_code_stays_one(text: str) -> None:
    (token,) = MarkdownIt().parse(markup.markdown_block(text, "yaml"))
    assert token.type == "fence"
    assert token.content == f"{markup.lines(text).strip(chr(10))}\n"


@given(TEXTS)
def test_any_text_reads_in_html_as_it_was_written(text: str) -> None:
    page = read(f"<p>{markup.html_prose(text)}</p><p>{markup.html_name(text)}</p>")
    assert page.faults == []
    assert set(page.elements) <= {"p", "code", "wbr"}


@given(st.lists(TEXTS, unique=True))
def test_pages_and_places_have_names_of_their_own_that_are_safe_anywhere(names: list[str]) -> None:
    found = page_names(names)
    assert len(set(found.values())) == len(names)
    anchors = Anchors()
    given_names = [anchors.give(name) for name in names]
    assert len(set(given_names)) == len(names)
    for name in (*found.values(), *given_names, *map(slug, names)):
        assert re.fullmatch(r"[a-z0-9-]{1,100}", name)


def test_an_installed_package_is_found_by_the_command(tmp_path: Path) -> None:
    metadata = tmp_path / "acme_boxes-7.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-boxes\nVersion: 7.1\n")
    (metadata / "entry_points.txt").write_text(
        "[isotherm.resources]\nAcme::Box = acme_boxes:Box\n"
        "[isotherm.constraints]\nacme.colour = acme_boxes:Colour\n"
        "[isotherm.clients]\nacme = acme_boxes:Warehouse\n"
    )
    (tmp_path / "acme_boxes.py").write_text(
        ACME
        + '''
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.custom import ClientConstraint

class Colour(ClientConstraint):
    """A colour that the warehouse has."""
    name, client, entity = "acme.colour", "acme", "colour"

class Warehouse(ClientPlugin):
    name, description, entities = "acme", "The warehouse.", frozenset({"colour"})
    options_schema = {"address": Property(type=TEXT, description="Where it is.", required=True)}
    def look_up(self, entity, name):
        return name
'''
    )
    environment = {
        **keys.others(),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "ISOTHERM_STATE_DIRECTORY": str(tmp_path / "state"),
    }

    commands = [
        ["docs", "build", "Acme::Box"],
        ["resource-type", "show", "Acme::Box", "-f", "json"],
        ["resource-type", "template", "Acme::Box", "-f", "json"],
    ]
    code = (
        "from orchestrator.cli.main import isotherm\n"
        f"for words in {commands}:\n"
        "    isotherm(words, standalone_mode=False)\n"
        "    print('-- end --')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    built, shown_type, template, _ = done.stdout.split("-- end --\n")
    assert "isotherm-docs/index.html" in built
    site = {
        str(path.relative_to(tmp_path / "isotherm-docs")): path.read_text(encoding="utf-8")
        for path in (tmp_path / "isotherm-docs").rglob("*")
        if path.is_file()
    }
    assert [path for path in site if path.startswith("types/")] == ["types/acme-box.html"]
    assert [*broken_links(site)] == []
    assert "acme-boxes 7.1" in site["types/acme-box.html"]
    assert "../clients/acme.html" in site["constraints/acme-colour.html"]
    client = " ".join(read(site["clients/acme.html"]).text.split())
    assert "[clients.acme]" in client
    assert "address string required Where it is." in client
    assert "acme.colour" in client
    assert json.loads(shown_type)["origin"] == {
        "package": "acme-boxes",
        "version": "7.1",
        "target": "acme_boxes:Box",
    }
    assert json.loads(template)["resources"]["box"]["type"] == "Acme::Box"


def test_the_template_around_a_type_with_groups_is_valid(install: Install) -> None:
    types = ResourceTypes.load(install("acme", {"Acme::Box": "Box"}, ACME))
    template = wrapping_template("Acme::Box", types["Acme::Box"])
    assert "default" not in template["parameters"]["plan"]
    assert template["parameters"]["copy"]["default"] == "none"

    def given(**parameters: str) -> dict[str, object]:
        job = StackJob(name="box", template=json.dumps(template), parameters=parameters)
        needed = bool(parameters)
        examined = examine_job(job, types, Settings(), offline=True, values_required=needed)
        return dict(examined.template.resources["box"].resolve_properties(examined.blank))

    assert set(given()) == {"label", "plan"}
    assert given(label="a", plan="b") == {"label": "a", "plan": "b"}
    assert given(label="a", plan="", copy="c") == {"label": "a", "copy": "c"}
    with pytest.raises(InvalidInput, match="expected exactly one of plan and copy, found plan and copy"):
        given(label="a", plan="b", copy="c")
