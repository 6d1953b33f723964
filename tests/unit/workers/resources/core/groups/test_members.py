"""The names of a resource group's members."""

from itertools import islice
from typing import Any

import pytest

from orchestrator.plugins.stack_resource import Member
from workers.resources.core.groups.members import first_names, indexed, numbers, removed_names


def member(name: str) -> Member:
    return Member(
        name=name,
        type="T",
        uuid=f"uuid-{name}",
        action="CREATE",
        status="COMPLETE",
        physical_id=f"id-{name}",
        reference_id=f"ref-{name}",
        attributes={},
        created_at=0.0,
    )


def ids(name: str) -> list[str]:
    return [f"uuid-{name}", f"id-{name}", f"ref-{name}"]


def test_members_are_numbered_and_removed_names_are_left_out() -> None:
    assert first_names(3, ()) == ("0", "1", "2")
    assert first_names(3, {"1", "2"}) == ("0", "3", "4")
    assert first_names(0, {"1"}) == ()
    assert list(islice(numbers({"0"}), 2)) == ["1", "2"]


@pytest.mark.parametrize(
    ("entries", "remembered", "forget", "expected"),
    [
        ([], {}, False, {}),
        (["1"], {}, False, {"1": ids("1")}),
        ([1], {}, False, {"1": ids("1")}),
        (["id-1", "ref-0"], {}, False, {"1": ids("1"), "0": ids("0")}),
        (["uuid-1"], {}, False, {"1": ids("1")}),
        # A number that nobody has is never used; anything else points at nobody.
        (["7"], {}, False, {"7": []}),
        (["07"], {}, False, {"7": []}),
        (["gone", "-1"], {}, False, {}),
        ([], {"5": ["x"]}, False, {"5": ["x"]}),
        ([], {"5": ["x"]}, True, {}),
        (["x"], {"5": ["x"]}, True, {"5": ["x"]}),
        (["5"], {"5": ["x"], "6": []}, True, {"5": ["x"]}),
        # What was remembered of a name stands.
        (["1"], {"1": ["x"]}, False, {"1": ["x"]}),
    ],
)
def test_what_is_removed(
    entries: list[Any], remembered: dict[str, list[str]], forget: bool, expected: dict[str, list[str]]
) -> None:
    members = [member("0"), member("1")]
    assert removed_names(entries, members, remembered, forget=forget) == expected
    # Once more, when the members are gone and what was found out is remembered: an interrupted step is run again.
    found = removed_names(entries, members, remembered, forget=forget)
    assert removed_names(entries, [], found, forget=forget) == expected


def test_the_index_is_put_into_texts_and_nowhere_else() -> None:
    value = {"name-%i%": ["a-%i%-%i%", 1, None, {"x": "%i%"}]}
    assert indexed(value, "%i%", "4") == {"name-%i%": ["a-4-4", 1, None, {"x": "4"}]}
