"""The page of the clients names their options as they are."""

import re
import tomllib
from typing import Any

import pytest

from orchestrator.plugins.client_plugin import NAMESPACE
from orchestrator.plugins.clients import ClientPlugins
from tests.unit.docs.pages import ROOT
from tests.unit.docs.test_pages import DOCS, section, table

PAGE = (DOCS / "clients.md").read_text()
PLUGINS = ClientPlugins.load()
#: Those that have a section: the others take the options of one that has.
SECTIONS = re.findall(r"^## (\w+)$", PAGE, flags=re.MULTILINE)


def written(default: Any) -> str:
    """Return a default as the settings have it."""
    if isinstance(default, bool):
        return str(default).lower()
    return "none" if default is None else str(default)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_has_every_option_of_its_client(name: str) -> None:
    schema = PLUGINS[name].options_schema
    rows = {row[0]: row for row in table(section(PAGE, name))}
    assert list(rows) == list(schema)
    for option, (_, default, description) in rows.items():
        assert default == ("required" if schema[option].required else written(schema[option].default))
        assert description == schema[option].description


def test_what_the_page_writes_into_the_settings_is_right() -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    for clients in (tomllib.loads(block)["clients"] for block in blocks):
        for name, options in clients.items():
            for given in (options, *options.get("projects", {}).values()):
                assert given.keys() - {"projects"} <= PLUGINS[name].options_schema.keys()


def test_clients_without_a_section_are_named_with_the_one_whose_options_they_have() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][NAMESPACE]
    for name in declared.keys() - set(SECTIONS):
        if shared := PLUGINS[name].settings_of:
            assert f"`{name}`" in section(PAGE, shared)
