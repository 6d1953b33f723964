"""Drift names each part that differs, with both values, and keeps secrets."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.model.drift import Finding
from orchestrator.template.document import Path
from workers.check.drift import MOST_DESCRIBED, MOST_RECORDED, drift_of, findings_of


def told(recorded: Mapping[str, Any], observed: Mapping[str, Any]) -> str:
    return drift_of(recorded, observed, lambda _: True)


@pytest.mark.parametrize(
    ("recorded", "observed", "words"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, ""),
        ({"a": {"x": 1}}, {"a": {"x": 1}}, ""),
        ({"a": 1}, {"a": "1"}, "a: recorded 1, observed '1'"),
        ({}, {"a": 1}, "a: recorded nothing, observed 1"),
        ({"a": 1}, {"a": None}, "a: recorded 1, observed nothing"),
        ({"a": {"x": 1, "y": [1]}}, {"a": {"x": 1, "y": [2]}}, "a.y: recorded [1], observed [2]"),
        (
            {"body": {"on": True}},
            {"body": {"on": False, "new": 2}},
            "body.new: recorded nothing, observed 2; body.on: recorded True, observed False",
        ),
        ({"a": {"x": {}}}, {"a": {"x": "text"}}, "a.x: recorded {}, observed 'text'"),
        ({"a": {"old": 1}}, {"a": {}}, "a.old: recorded 1, observed nothing"),
        ({"a": {1: "x"}}, {"a": {1: "y"}}, "a.1: recorded 'x', observed 'y'"),
    ],
)
def test_each_part_that_differs_is_named(
    recorded: Mapping[str, Any], observed: Mapping[str, Any], words: str
) -> None:
    assert told(recorded, observed) == words


def test_a_secret_is_masked_by_its_path_and_nothing_else_is() -> None:
    def is_open(path: Path) -> bool:
        return path != ("body", "token")

    words = drift_of({"body": {"token": "a", "x": 1}}, {"body": {"token": "b", "x": 2}}, is_open)
    assert words == "body.token: recorded ******, observed ******; body.x: recorded 1, observed 2"


def test_many_differences_are_counted_and_long_values_cut() -> None:
    words = told({}, {f"p{number:02}": "x" * 1000 for number in range(30)})
    assert words.endswith(f"; and {30 - MOST_DESCRIBED} more")
    assert len(words) < 200 * MOST_DESCRIBED


def test_findings_have_both_values_unless_they_are_secrets_or_ignored() -> None:
    recorded = {"size": "s", "tags": {"owner": "me", "cost": 1}, "key": "k"}
    observed = {"size": "l", "tags": {"owner": "you", "more": 2}, "key": "other"}
    found = findings_of(
        recorded, observed, lambda path: path[0] != "key", lambda path: path == ("tags", "owner")
    )
    assert found == [
        Finding(key="key", hidden=True),
        Finding(key="size", recorded="s", observed="l"),
        Finding(key="tags.cost", recorded=1),
        Finding(key="tags.more", observed=2),
    ]
    assert [Finding.of_wire(each.key, each.to_wire()) for each in found] == found
    assert findings_of(recorded, recorded, lambda _: True, lambda _: False) == []


def test_so_many_findings_are_recorded_and_no_more() -> None:
    observed = {f"p{number:03}": number for number in range(MOST_RECORDED + 5)}
    assert len(findings_of({}, observed, lambda _: True, lambda _: False)) == MOST_RECORDED
