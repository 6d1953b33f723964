"""What a stack asks of nodes is read from what plugins are shown of it."""

from collections.abc import Mapping
from typing import Any

import pytest

from hooks.stack import FrozenResource, FrozenStack
from hooks.values.unknown import UNKNOWN
from orchestrator.config.settings import Settings
from orchestrator.placement.requests import (
    Fate,
    PlacementRequests,
    UnknownRequirements,
    is_placed,
    requests_of,
)
from orchestrator.placement.rules import GROUP_TYPE, Policy
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.support import Support, SupportStatus
from tests.scenarios.placing import TYPES, PretendedInstance

INSTANCE = "Pretended::Instance"


def shown(*resources: FrozenResource) -> FrozenStack:
    return FrozenStack(name="s", id="s-id", resources={each.name: each for each in resources})


def resource(
    name: str, kind: str = INSTANCE, requires: tuple[str, ...] = (), **properties: Any
) -> FrozenResource:
    return FrozenResource(name=name, type=kind, properties=properties, requires=requires)


def there(name: str, node: str = "n1", **more: Any) -> FrozenResource:
    """Return a resource that is on a node."""
    values: dict[str, Any] = {"type": INSTANCE, "uuid": "u", "action": "CREATE", "status": "COMPLETE", **more}
    return FrozenResource(name=name, on_node=node, **values)


def read(*wanted: FrozenResource, present: tuple[FrozenResource, ...] = (), **more: Any) -> PlacementRequests:
    return requests_of(shown(*wanted), shown(*present), TYPES, settings=Settings(), **more)


def fate(wanted: FrozenResource, present: FrozenResource, **more: Any) -> Fate:
    (request,) = read(wanted, present=(present,), **more).requests
    return request.fate


def test_only_what_says_what_it_asks_for_is_placed() -> None:
    assert is_placed(PretendedInstance)
    assert not is_placed(Resource)
    assert not is_placed(None)
    found = read(
        resource("a", memory=5), resource("g", GROUP_TYPE, policy="same_host"), resource("o", "Other")
    )
    assert [(request.name, request.requirements.memory_mib, request.fate) for request in found.requests] == [
        ("a", 5, Fate.MADE)
    ]


def test_members_are_found_by_what_they_require_and_by_ids() -> None:
    found = read(
        resource("g", GROUP_TYPE, policy="spread_racks", racks="3", hard="false"),
        resource("h", GROUP_TYPE, policy="same_host"),
        resource("a", groups=[UNKNOWN, "of-another-stack"], requires=("g", "o")),
        # It only comes later than the group.
        resource("b", requires=("h",)),
        resource("o", "Other"),
    )
    (group,) = found.groups.values()
    assert (group.name, group.policy, group.racks, group.hard) == ("g", Policy.SPREAD_RACKS, 3, False)
    assert group.members == ("a",)
    assert found.group_ids == ("of-another-stack",)


@pytest.mark.parametrize(
    ("properties", "words"),
    [({"policy": UNKNOWN}, "known only once others exist"), ({"policy": "apart"}, "cannot be evaluated")],
    ids=["unknown", "wrong"],
)
def test_a_group_whose_rule_nobody_knows_is_refused(properties: Mapping[str, Any], words: str) -> None:
    with pytest.raises(UnknownRequirements, match=f"the rule of group 'g' .*{words}"):
        read(resource("g", GROUP_TYPE, **properties), resource("a", groups=[UNKNOWN], requires=("g",)))


def test_what_cannot_be_told_is_warned_of() -> None:
    found = read(resource("a", node=UNKNOWN), resource("b", node="******"), resource("c", disks=UNKNOWN))
    assert [request.name for request in found.requests] == ["c"]
    assert [warning.partition(" ")[0] for warning in found.warnings] == ["'a'", "'b'", "'c'"]


def test_an_instance_is_tied_to_its_volumes_alone() -> None:
    found = read(
        resource("v", hypervisor="", disk=5),
        resource("a", requires=("v", "b"), disk=5),
        resource("b", requires=("o",)),
        resource("o", "Other"),
    )
    assert found.ties == (("a", "v"),)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {}, Fate.STAYS),
        ({"memory": 1}, {"memory": 2}, Fate.STAYS),
        ({"image": "a"}, {"image": "b"}, Fate.MADE),
        ({"image": "a"}, {"image": UNKNOWN}, Fate.STAYS),
        ({"image": "a"}, {"image": "******"}, Fate.STAYS),
        ({}, {"image": ""}, Fate.STAYS),
        ({"node": ""}, {"node": "n1"}, Fate.MADE),
    ],
    ids=["same", "in-place", "replaced", "unknown", "secret", "default", "named"],
)
def test_what_changes_decides_whether_it_stays(
    before: dict[str, Any], after: dict[str, Any], expected: Fate
) -> None:
    assert fate(resource("a", **after), there("a", properties=before)) is expected


def test_what_is_there_decides_whether_it_stays() -> None:
    wanted = resource("a")
    assert fate(wanted, there("a", status="FAILED")) is Fate.EITHER
    assert fate(wanted, there("a", action="CHECK", status="FAILED")) is Fate.STAYS
    assert fate(wanted, there("a", action="DELETE", status="FAILED")) is Fate.MADE
    assert fate(wanted, there("a", node="")) is Fate.MADE
    beginning = there("a", node="", status="IN_PROGRESS")
    assert fate(wanted, beginning) is Fate.MADE
    assert fate(wanted, beginning, claimed={"a": "n2"}) is Fate.STAYS


class Box(PretendedInstance):
    """A type that has an opinion on every change, and that another takes the place of."""

    support_status = SupportStatus(status=Support.DEPRECATED, substitute=INSTANCE)

    def needs_replace(self, changes: PropertyChanges) -> bool:
        wanted = changes.after["node"]
        return bool(
            changes.after["memory"] < changes.before["memory"] or wanted not in ("", self.state.on_node)
        )


def moved(before: dict[str, Any], after: dict[str, Any], kind: str = "Box", **more: Any) -> Fate:
    """Return what becomes of a box."""
    types = {**TYPES, "Box": Box}
    present = there("a", type="Box", properties=before, **more)
    found = requests_of(shown(resource("a", kind, **after)), shown(present), types, settings=Settings())
    return found.requests[0].fate


def test_what_its_type_replaces_is_made() -> None:
    assert moved({"memory": 2}, {"memory": 1}) is Fate.MADE
    assert moved({"memory": 1}, {"memory": 2}) is Fate.STAYS
    # What is not told of other properties hides nothing.
    assert moved({"memory": 2, "groups": ["g"]}, {"memory": 1, "groups": [UNKNOWN]}) is Fate.MADE
    assert moved({"memory": 2, "image": "a"}, {"memory": 2, "image": UNKNOWN}) is Fate.STAYS


def test_a_type_under_its_new_name_stays_and_another_is_made() -> None:
    assert moved({"memory": 1}, {"memory": 1}, INSTANCE) is Fate.STAYS
    assert moved({"memory": 1}, {"memory": 1, "image": "b"}, INSTANCE) is Fate.MADE
    assert fate(resource("a"), there("a", type="Other")) is Fate.MADE


def test_what_could_not_be_suspended_is_resumed_where_it_is() -> None:
    assert moved({}, {}, action="SUSPEND", status="FAILED") is Fate.STAYS
    assert moved({}, {}, action="RESUME", status="FAILED") is Fate.EITHER


def test_of_what_nothing_is_told_nothing_is_certain() -> None:
    assert moved({"image": "a"}, {"*": UNKNOWN}) is Fate.STAYS
    assert moved({"*": UNKNOWN}, {"image": "a"}) is Fate.STAYS
