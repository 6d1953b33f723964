"""A type in plain types has the shape that docs/types.md says, and whatever its class says of itself."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from orchestrator.documentation.catalogue import Catalogue
from orchestrator.documentation.group import least_given
from orchestrator.documentation.resource_type import describe_type
from orchestrator.documentation.site import PageFormat, pages
from orchestrator.documentation.words import attribute_sentences, flat
from orchestrator.errors import PluginMistake
from orchestrator.plugins.constraints import AllowedValues, Constraint, Length, Modulo, Range
from orchestrator.plugins.groups import XOR
from orchestrator.plugins.properties import Attribute, CacheMode, Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.plugins.translation import Add, Delete, Replace, Resolve, Rule
from tests.unit.orchestrator.documentation.reading import read

PAGE = (Path(__file__).parents[4] / "docs" / "types.md").read_text()


class Unsayable(Constraint):
    def rule(self) -> str:
        return "must be liked"

    def fault(self, value: Any) -> str | None:
        return None


HIDDEN = SupportStatus(status=Support.HIDDEN)
TEXT = PropertyType.STRING


class Full(Resource):
    """A type with one of everything."""

    description = "Has one of everything."
    support_status = SupportStatus(status=Support.DEPRECATED, version="5.0", substitute="My::Other")
    properties_schema: ClassVar = {
        "ports": Property(
            type=PropertyType.LIST,
            schema=Property(
                type=PropertyType.MAP,
                schema={
                    "port": Property(type=PropertyType.INTEGER, required=True, constraints=(Range(1, 9),))
                },
            ),
            update_allowed=True,
        ),
        "content": Property(type=TEXT, constraints=(Length(max=3, description="be short"), Unsayable())),
        "source": Property(type=TEXT, default="x", constraints=(AllowedValues(("x", "y")),)),
        "step": Property(type=PropertyType.INTEGER, constraints=(Modulo(4, 1),), immutable=True),
        "old": Property(type=TEXT, support_status=HIDDEN),
        "none": Property(type=TEXT, implemented=False),
    }
    properties_groups_schema: ClassVar = [{XOR: [["content"], ["source"]]}]
    attributes_schema: ClassVar = {
        "state": Attribute("How it is.", TEXT, cache_mode=CacheMode.NONE),
        "shape": Attribute("What it is."),
        "old": Attribute("Gone.", support_status=HIDDEN),
    }
    update_policy_schema: ClassVar = {"pause": Property(type=PropertyType.NUMBER, default=1.5)}

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:
        return (
            Replace(path=("content",), source=("old",)),
            Replace(path=("source",), value="y"),
            Resolve(path=("content",), client="store", entity="box"),
            Add(path=("ports",), values=({"port": 1},)),
            Delete(path=("none",)),
        )


DESCRIBED = describe_type("My::Full", Full)


def keys_of(heading: str) -> list[str]:
    """Return the first cells of the table below a line of docs/types.md."""
    rows = PAGE.split(heading)[1].split("| --- | --- |\n")[1].split("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", rows, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("heading", "described"),
    [
        ("writes an object:", DESCRIBED),
        ("A property is an object:", DESCRIBED["properties"]["content"]),
        ("A support status is an object:", DESCRIBED["support_status"]),
        ("An attribute is an object:", DESCRIBED["attributes"]["state"]),
        ("A properties group is an object:", DESCRIBED["properties_groups"][0]),
        ("A translation is an object:", DESCRIBED["translations"][0]),
    ],
    ids=["type", "property", "support", "attribute", "group", "translation"],
)
def test_the_page_of_types_names_every_key(heading: str, described: dict[str, Any]) -> None:
    assert keys_of(heading) == list(described)


def test_every_installed_type_has_that_shape(installed: Catalogue) -> None:
    for described in installed.types.values():
        assert list(described) == list(DESCRIBED)
        for _, each, _ in flat({**described["properties"], **described["update_policy"]}):
            assert list(each) == list(DESCRIBED["properties"]["content"])
        assert json.loads(json.dumps(described)) == described


def test_children_stand_under_their_names_and_items_under_a_star() -> None:
    ports = DESCRIBED["properties"]["ports"]
    assert ports["schema"]["*"]["schema"]["port"]["required"]
    assert [path for path, _, _ in flat({"ports": ports})] == ["ports", "ports.*", "ports.*.port"]


def test_constraints_are_as_templates_declare_them() -> None:
    rules = {path: each["constraints"] for path, each, _ in flat(DESCRIBED["properties"])}
    assert rules["ports.*.port"] == [{"range": {"min": 1, "max": 9}, "description": "must be from 1 to 9"}]
    assert rules["content"] == [
        {"length": {"max": 3}, "description": "be short"},
        {"description": "must be liked"},
    ]
    assert rules["step"][0]["modulo"] == {"step": 4, "offset": 1}
    assert rules["source"][0]["allowed_values"] == ["x", "y"]


def test_what_is_hidden_is_left_out_and_what_does_nothing_is_not() -> None:
    assert set(DESCRIBED["properties"]) == {"ports", "content", "source", "step", "none"}
    assert not DESCRIBED["properties"]["none"]["implemented"]
    assert set(DESCRIBED["attributes"]) == {"state", "shape"}
    assert DESCRIBED["support_status"] == {
        "status": "deprecated",
        "version": "5.0",
        "substitute": "My::Other",
        "description": "deprecated since 5.0: use My::Other",
    }


def test_how_long_an_attribute_holds_is_told() -> None:
    attributes = DESCRIBED["attributes"]
    assert {name: each["cache_mode"] for name, each in attributes.items()} == {
        "state": "none",
        "shape": "local",
    }
    assert attribute_sentences(attributes["state"]) == [
        "How it is.",
        "Read again at every visit of the resource.",
    ]
    assert attribute_sentences(attributes["shape"]) == ["What it is."]


def test_what_is_translated_is_told() -> None:
    assert [each["description"] for each in DESCRIBED["translations"]] == [
        "`old` is an old name of `content`",
        '`source` is always "y"',
        "`content` may be the name of a box: the client store finds its id",
        '`ports` has {"port": 1} besides what is given',
        "`none` has no effect any more",
    ]
    assert [each["rule"] for each in DESCRIBED["translations"]][:3] == ["replace", "replace", "resolve"]


def test_groups_are_told_in_words_and_as_a_table() -> None:
    (group,) = DESCRIBED["properties_groups"]
    assert group["declared"] == {"XOR": [["content"], ["source"]]}
    assert group["description"] == "exactly one of `content` and `source` must be given"
    assert group["columns"] == ["content", "source", "allowed"]
    assert ["given", "", "yes"] in group["rows"]
    assert ["given", "given", "no"] in group["rows"]


def test_pages_tell_all_of_it() -> None:
    catalogue = Catalogue(types={"My::Full": DESCRIBED}, constraints={}, clients={})
    page = " ".join(read(pages(catalogue, PageFormat.HTML)["types/my-full.html"]).text.split())
    markdown = pages(catalogue, PageFormat.MARKDOWN)["types/my-full.md"].replace("`", "").replace("\\", "")
    for said in (
        "Deprecated since 5.0: use My::Other.",
        "Not implemented: giving a value is refused.",
        "Cannot be changed.",
        "Changed in place.",
        "A change replaces the resource.",
        "Be short.",
        "Must be liked.",
        "Must be from 1 to 9.",
        "Exactly one of content and source must be given.",
        "old is an old name of content.",
        "Read again at every visit of the resource.",
    ):
        assert said in page
        assert said in markdown
    assert "Gone." not in page + markdown


def test_the_least_that_groups_let_one_give_comes_first() -> None:
    assert [[str(path) for path in paths] for paths in least_given(Full)] == [["content"], ["source"]]


def test_a_class_that_cannot_be_described_is_named() -> None:
    class Odd(Constraint):
        def rule(self) -> str:
            raise RuntimeError("no words")

        def fault(self, value: Any) -> str | None:
            return None

    kind = type("Bad", (Resource,), {"properties_schema": {"a": Property(type=TEXT, constraints=(Odd(),))}})
    with pytest.raises(PluginMistake, match="'My::Bad' cannot be described: no words"):
        describe_type("My::Bad", kind)


def test_a_schema_that_holds_itself_is_refused() -> None:
    inside: dict[str, Property] = {}
    inside["again"] = Property(type=PropertyType.MAP, schema=inside)
    kind = type("Endless", (Resource,), {})
    kind.properties_schema = inside  # type: ignore[attr-defined]
    with pytest.raises(PluginMistake, match="nested deeper than 20 levels"):
        describe_type("My::Endless", kind)


def test_a_long_text_is_cut() -> None:
    kind = type("Long", (Resource,), {"description": "x" * 100_000})
    assert len(describe_type("My::Long", kind)["description"]) == 4_000
