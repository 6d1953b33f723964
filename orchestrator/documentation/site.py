"""Pages of the documentation site about installed plugins, in HTML or Markdown.

Nothing is written to disk here, and the same descriptions always give the same pages.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from orchestrator.documentation import markup, words
from orchestrator.documentation.address import Anchors, page_names
from orchestrator.documentation.catalogue import Catalogue


class PageFormat(StrEnum):
    """The format of pages."""

    HTML = "html"
    MARKDOWN = "markdown"


_ENDINGS: Final = {PageFormat.HTML: ".html", PageFormat.MARKDOWN: ".md"}
#: By format: further files of the site.
_FILES: Final = {PageFormat.HTML: ("style.css", "filter.js"), PageFormat.MARKDOWN: ()}
_FILTERS: Final[Mapping[PageFormat, Mapping[str, Callable[..., Any]]]] = {
    PageFormat.HTML: {
        "prose": markup.html_prose,
        "code": markup.html_code,
        "name": markup.html_name,
        "block": markup.html_block,
    },
    PageFormat.MARKDOWN: {
        "prose": markup.markdown_prose,
        "cell": markup.markdown_cell,
        "code": markup.markdown_code,
        "cell_code": markup.markdown_cell_code,
        "block": markup.markdown_block,
    },
}
#: By format: the filter of texts without an explicit one.
_DEFAULT_FILTERS: Final = {PageFormat.HTML: markup.html_text, PageFormat.MARKDOWN: markup.markdown_text}
_WORDS: Final[tuple[Callable[..., Any], ...]] = (
    *(words.when_changed, words.sentence, words.default_of, words.value, words.flat),
    *(words.paragraphs, words.first_paragraph, words.meaning, words.support, words.attribute_sentences),
)


def environment(form: PageFormat) -> Environment:
    """Return the templates of a format; all values are text, and escaped by the format's rules."""
    made = Environment(
        loader=PackageLoader("orchestrator.documentation", f"templates/{form}"),
        # For Markdown, too: text that is escaped already is marked as such, and not escaped again.
        autoescape=True,
        finalize=_DEFAULT_FILTERS[form],
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(_FILTERS[form])
    made.filters.update({function.__name__: function for function in _WORDS})
    return made


def pages(catalogue: Catalogue, form: PageFormat) -> dict[str, str]:
    """Return the contents of a site's files by path, with ``/`` between directories."""
    return dict(_pages(catalogue, form))


def _pages(catalogue: Catalogue, form: PageFormat) -> Iterator[tuple[str, str]]:
    templates, ending = environment(form), _ENDINGS[form]
    names = {
        kind: {name: f"{kind}/{page}{ending}" for name, page in page_names(list(described)).items()}
        for kind, described in (
            ("types", catalogue.types),
            ("constraints", catalogue.constraints),
            ("clients", catalogue.clients),
        )
    }
    shared = {"catalogue": catalogue, "pages": names, "ending": ending, "anchors": Anchors}

    def page(template: str, path: str, **more: object) -> tuple[str, str]:
        up = "../" * path.count("/")
        return path, templates.get_template(f"{template}{ending}.j2").render(
            **shared, **more, up=up, path=path
        )

    yield page("index", f"index{ending}", families=_families(catalogue.types))
    for name, described in catalogue.types.items():
        yield page("type", names["types"][name], type=described)
    for name, described in catalogue.constraints.items():
        yield page(
            "constraint", names["constraints"][name], constraint=described, users=_users(catalogue, name)
        )
    for name, described in catalogue.clients.items():
        asking = [each for each, about in catalogue.constraints.items() if about["client"] == name]
        yield page("client", names["clients"][name], client=described, asking=asking)
    for name in _FILES[form]:
        yield name, templates.get_template(name).render()


def _families(types: Mapping[str, object]) -> dict[str, list[str]]:
    families: dict[str, list[str]] = defaultdict(list)
    for name in types:
        families[words.family(name)].append(name)
    return dict(sorted(families.items()))


def _users(catalogue: Catalogue, constraint: str) -> list[tuple[str, str]]:
    return [
        (name, path)
        for name, described in catalogue.types.items()
        for path, schema, _ in words.flat(described["properties"])
        if any(each.get("custom_constraint") == constraint for each in schema["constraints"])
    ]
