"""Handlers of the pages about installed resource types: those of ``isotherm resource-type list`` and ``show``."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from tornado.web import url

from orchestrator.config.settings import Settings
from orchestrator.dashboard.handlers.base import PageHandler
from orchestrator.documentation.catalogue import described_types
from orchestrator.documentation.markup import html_block, html_name, html_prose
from orchestrator.documentation.schema import describe_support, text
from orchestrator.documentation.words import attribute_sentences, default_of, flat, meaning, sentence
from orchestrator.plugins.registry import ResourceTypes


def listed_types(search: str) -> list[tuple[str, str, str]]:
    """Return name, description and support of each installed type with ``search`` in its name or description.

    As in ``isotherm resource-type list``, hidden types are left out.
    """
    found = [
        (name, text(kind.description), str(describe_support(kind.support_status)["description"]))
        for name, kind in sorted(ResourceTypes.load().items())
        if not kind.support_status.is_hidden
    ]
    wanted = search.strip().lower()
    return [each for each in found if any(wanted in part.lower() for part in each[:2])]


def described_type(settings: Settings, name: str) -> Mapping[str, Any]:
    """Return the description of an installed type, hidden ones included.

    Raises:
        NotFound: there is no such type; the message names the nearest.
    """
    return described_types(ResourceTypes.load(), settings, names=[name])[name]


def property_rows(
    described: Mapping[str, Any], *, changes: bool
) -> list[tuple[str, int, str, str, list[str]]]:
    """Return for each property, those in maps and lists too: path, depth, type, whether it is required, sentences.

    With ``changes`` the sentences of an outermost property say what changing it does: it decides for those inside.
    """
    return [
        (
            path,
            depth,
            each["type"],
            "required" if each["required"] else "optional",
            [
                *meaning(each, changes=changes and not depth),
                *([f"Default: `{default_of(each)}`."] if default_of(each) else []),
            ],
        )
        for path, each, depth in flat(described)
    ]


class TypesPage(PageHandler):
    """The installed resource types; with ``?search=TEXT`` those whose name or description has the text."""

    section = "types"

    async def get(self) -> None:
        """Show them."""
        search = self.text("search")
        found = await self.fetch(partial(listed_types, search))
        self.page("types.html", search=search, found=found, prose=html_prose, named=html_name)


class TypePage(PageHandler):
    """One resource type: properties, attributes, and an example."""

    section = "types"

    async def get(self, name: str) -> None:
        """Show it."""
        settings = self.application.stack_settings
        described = await self.fetch(partial(described_type, settings, name), alike=("type", name))
        self.page(
            "type.html",
            described=described,
            properties=property_rows(described["properties"], changes=True),
            policy=property_rows(described["update_policy"], changes=False),
            attribute_sentences=attribute_sentences,
            sentence=sentence,
            prose=html_prose,
            named=html_name,
            block=html_block,
        )


ROUTES: Final[list[Any]] = [
    url(r"/stacks/types", TypesPage, name="stacks_types"),
    url(r"/stacks/types/([^/]+)", TypePage, name="stacks_type"),
]
