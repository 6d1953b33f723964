"""What an update comes to, by what was applied, what is wanted, and what is really there."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.model.messages import CONVERGE, CheckOrder
from orchestrator.plugins.properties import Property, PropertyType, convert_properties
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import CANNOT_TELL, CannotTell, ResourceState
from orchestrator.store.nodes.claims import Claim
from workers.check.changing import RefusedChange, ReplaceResource, changes_of, is_doubted

CHECKED = ("CHECK", "FAILED")


class Plain(Resource):
    """A type with a property of each kind; what is there is what a test says."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "free": Property(type=PropertyType.STRING, default="", update_allowed=True),
        "more": Property(type=PropertyType.STRING, default="", update_allowed=True),
        "held": Property(type=PropertyType.STRING, default=""),
        "fixed": Property(type=PropertyType.STRING, default="", immutable=True),
    }
    there: ClassVar[Mapping[str, Any] | CannotTell | None] = {}
    mended_in_place: ClassVar[bool] = False

    def observe(self) -> Mapping[str, Any] | CannotTell | None:
        return self.there

    def needs_replace_failed(self) -> bool:
        return not self.mended_in_place


class Row(Plain):
    """A type whose properties nobody else can change, so that it tells those it has."""

    def observe(self) -> Mapping[str, Any] | CannotTell | None:
        return self.properties


class Looking(Plain):
    """A type with an eye of its own."""

    def handle_check(self) -> Any:
        """Look."""


def changes(
    kind: type[Plain] = Plain,
    *,
    there: Mapping[str, Any] | CannotTell | None = CANNOT_TELL,
    was: tuple[str, str] = ("CREATE", "COMPLETE"),
    told: Mapping[str, Any] | None = None,
    applied: Mapping[str, str] | None = None,
    wanted: Mapping[str, str] | None = None,
    mended_in_place: bool = False,
) -> set[str]:
    """Return the names of what is to change in place."""
    made: type[Plain] = type("Made", (kind,), {"there": there, "mended_in_place": mended_in_place})
    resource = made(
        name="it",
        type_name="Test",
        state=ResourceState(uuid="row", physical_id="there"),
        properties=convert_properties(made.properties_schema, wanted or {}),
        stack=StackDefinition(name="s", id="1"),
        settings=Settings(),
        now=0.0,
    )
    claim = replace(CLAIM, was=was, fragment=told or {}, properties=applied or {})
    found, _ = changes_of(resource, claim, lambda _: True)
    assert resource.properties == convert_properties(made.properties_schema, wanted or {})
    assert found.after == resource.properties
    return set(found.names)


CLAIM = Claim(
    order=CheckOrder(stack_id="1", traversal_id="2", no=1, key="it", phase=CONVERGE, node_data=()),
    attempt=1,
    action="UPDATE",
    now=0.0,
    retries=0,
    fragment={},
    wanted=(),
    dependents=(),
    requirements=(),
    resource_id="row",
    type="Test",
    physical_id="there",
    properties={},
    data={},
    metadata=None,
    token=None,
    started=False,
    started_at=0.0,
)
REFRESH = {"refresh": True}


def test_what_is_not_doubted_is_not_looked_at() -> None:
    assert changes(there=None) == set()
    assert changes(there={"free": "x"}, wanted={"more": "m"}) == {"more"}


@pytest.mark.parametrize("kind", [Plain, Row])
def test_a_look_does_not_hide_what_the_definition_changes(kind: type[Plain]) -> None:
    assert changes(kind, told=REFRESH, applied={"free": "a"}, wanted={"free": "b"}) == {"free"}


def test_what_others_changed_is_changed_back_with_what_is_new() -> None:
    assert changes(there={"free": "x", "more": ""}, told=REFRESH, wanted={"more": "m"}) == {"free", "more"}
    # What they changed to what it is to become needs no change.
    assert changes(there={"free": "x"}, told=REFRESH, wanted={"free": "x"}) == set()


@pytest.mark.parametrize("name", ["held", "fixed"])
def test_what_cannot_be_changed_back_is_replaced(name: str) -> None:
    with pytest.raises(ReplaceResource, match=name):
        changes(there={name: "x"}, told=REFRESH)


def test_what_the_definition_may_not_change_is_refused_whatever_is_there() -> None:
    for there in ({"fixed": "b"}, {"free": "x"}, None):
        with pytest.raises(RefusedChange, match=r"properties.fixed: it cannot be changed"):
            changes(there=there, told=REFRESH, applied={"fixed": "a"}, wanted={"fixed": "b"})


@pytest.mark.parametrize("was", [("CREATE", "COMPLETE"), CHECKED, ("CHECK", "IN_PROGRESS")])
def test_what_is_gone_is_replaced(was: tuple[str, str]) -> None:
    with pytest.raises(ReplaceResource, match="not there any more"):
        changes(there=None, told=REFRESH, was=was)


def test_what_a_check_found_wrong_and_nobody_can_see_is_replaced_unless_its_type_mends_it() -> None:
    for kind, there in ((Plain, CANNOT_TELL), (Looking, {"free": ""})):
        with pytest.raises(ReplaceResource, match="its check failed"):
            changes(kind, there=there, was=CHECKED)
        assert changes(kind, there=there, was=CHECKED, mended_in_place=True) == set()
        # A check that was cut short found nothing.
        assert changes(kind, there=there, was=("CHECK", "IN_PROGRESS")) == set()
    assert changes(Plain, there={"free": ""}, was=CHECKED) == set()
    assert changes(Looking, there={"free": "x"}, was=CHECKED) == {"free"}


def test_what_somebody_called_unhealthy_is_replaced_whatever_its_type_says() -> None:
    with pytest.raises(ReplaceResource, match="it hums"):
        changes(told={"replace": "it hums"}, mended_in_place=True)


@pytest.mark.parametrize(
    ("was", "replaced"),
    [
        (("CREATE", "FAILED"), True),
        (("UPDATE", "FAILED"), True),
        (("RESUME", "FAILED"), True),
        (("SNAPSHOT", "FAILED"), False),
        (("SNAPSHOT", "IN_PROGRESS"), False),
        (("DELETE", "FAILED"), True),
    ],
)
def test_what_failed_is_replaced_but_for_what_only_a_snapshot_failed_of(
    was: tuple[str, str], replaced: bool
) -> None:
    if replaced:
        with pytest.raises(ReplaceResource, match=f"it is {was[0]}_FAILED"):
            changes(was=was)
    else:
        assert changes(was=was) == set()


@pytest.mark.parametrize("action", ["UPDATE", "RESTORE"])
def test_an_action_that_was_cut_short_changes_all_that_may_change(action: str) -> None:
    """The object may be anything between what it was and what it was to become, whatever is on record."""
    assert changes(was=(action, "IN_PROGRESS"), applied={"held": "h"}, wanted={"held": "h"}) == {
        "free",
        "more",
    }
    assert changes(was=(action, "COMPLETE"), applied={"held": "h"}, wanted={"held": "h"}) == set()


def test_only_a_refresh_and_a_check_that_did_not_end_well_raise_doubts() -> None:
    assert is_doubted(replace(CLAIM, fragment=REFRESH))
    assert is_doubted(replace(CLAIM, was=CHECKED))
    assert not is_doubted(replace(CLAIM, was=("CHECK", "COMPLETE")))
    assert not is_doubted(CLAIM)
