"""A path leads to a value, to nothing, or to what cannot be told."""

from typing import Any

import pytest

from hooks.builtin.policy.paths import Path
from hooks.builtin.policy.values import NOTHING, PERHAPS
from hooks.values.frozen import frozen
from hooks.values.unknown import UNKNOWN

PROPERTIES = frozen(
    {
        "flavor": "small",
        "size": 0,
        "none": None,
        "networks": [{"network": "a", "port": None}, {"network": UNKNOWN}, UNKNOWN, None],
        "metadata": {"owner": "me", "a.b": {"c": 1}, "empty": None},
        "unknown": UNKNOWN,
        "hidden": "******",
        "empty": [],
        "text": "a,b",
    }
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("flavor", "small"),
        ("size", 0),
        ("none", NOTHING),
        ("missing", NOTHING),
        ("missing.deep[0]", NOTHING),
        ("flavor.deep", NOTHING),
        ("unknown", UNKNOWN),
        ("unknown.deep", PERHAPS),
        ("unknown[0].deep", PERHAPS),
        ("hidden", "******"),
        ("hidden.deep", PERHAPS),
        ("networks[0].network", "a"),
        ("networks[0].port", NOTHING),
        ("networks[1].network", UNKNOWN),
        ("networks[2]", UNKNOWN),
        ("networks[2].network", PERHAPS),
        ("networks[3]", NOTHING),
        ("networks[9]", NOTHING),
        ("networks.network", NOTHING),
        ("metadata.owner", "me"),
        ("metadata.empty", NOTHING),
        ('metadata["a.b"].c', 1),
        ("metadata[0]", NOTHING),
    ],
)
def test_a_path_leads_to_one_value(path: str, value: Any) -> None:
    assert Path.parse(path).values(PROPERTIES) == [value]
    assert Path.parse(path).values(PROPERTIES) == [value]


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("networks[*].network", ["a", UNKNOWN, PERHAPS, NOTHING]),
        ("networks[*]", [*PROPERTIES["networks"][:3], NOTHING]),
        ("metadata[*]", ["me", {"c": 1}, NOTHING]),
        ("unknown[*].network", [PERHAPS]),
        ("hidden[*]", [PERHAPS]),
        ("empty[*]", []),
        ("missing[*]", []),
        ("none[*].deep", []),
        ("text[*]", [NOTHING]),
        ("networks[*][*]", ["a", NOTHING, UNKNOWN, PERHAPS]),
    ],
)
def test_a_path_with_an_asterisk_leads_to_every_item(path: str, values: list[Any]) -> None:
    assert Path.parse(path).is_many
    assert Path.parse(path).values(PROPERTIES) == values


@pytest.mark.parametrize("whole", [UNKNOWN, "******"])
def test_where_only_the_whole_of_the_properties_can_be_told_nothing_is(whole: Any) -> None:
    assert Path.parse("flavor.deep").values(frozen({"*": whole})) == [PERHAPS]
    assert Path.parse("flavor").values(frozen({"*": whole})) == [PERHAPS]


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("", 1),
        (".a", 1),
        ("a.", 2),
        ("a..b", 2),
        ("a[", 2),
        ("a[b]", 2),
        ("a[-1]", 2),
        ("a[0]b", 5),
        ('a["b]', 2),
        ("a]", 2),
    ],
)
def test_what_is_no_path_is_refused_with_the_place(path: str, where: int) -> None:
    with pytest.raises(ValueError, match=rf"wrong from character {where} on"):
        Path.parse(path)


@pytest.mark.parametrize("path", ["[0]", "[*].a"])
def test_a_path_begins_with_a_property(path: str) -> None:
    with pytest.raises(ValueError, match="begins with the name of a property"):
        Path.parse(path)
