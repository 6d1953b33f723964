"""All that is shown of one resource."""

import pytest

from orchestrator.errors import NotFound
from orchestrator.queries.details import Recorded, details_of, node_of
from tests.unit.orchestrator.queries.made import BEGUN_AT, event, facts, join, node, wired

NODES = wired(
    [node(0, "a"), node(1, "b"), join(2), node(3, "c"), node(4, "d")], {2: (0, 1), 3: (2,), 4: (3,)}
)


def test_requirements_are_told_through_points_where_edges_meet() -> None:
    details = details_of(facts(NODES), 3, Recorded())
    assert (details.requires, details.required_by) == (("a", "b"), ("d",))
    assert details_of(facts(NODES), 0, Recorded()).required_by == ("c",)


@pytest.mark.parametrize(
    ("state", "told"),
    [({"state": "waiting", "attempt": 1}, 12.0), ({"state": "running", "attempt": 1}, None)],
)
def test_when_it_is_looked_at_again_is_told_of_what_waits_for_that(
    state: dict[str, object], told: float | None
) -> None:
    nodes = [node(0, "a", due_at=12.0, **state)]
    assert details_of(facts(nodes), 0, Recorded()).due_at == told


def test_how_long_an_action_usually_takes_is_told_once_enough_is_known() -> None:
    assert details_of(facts(NODES), 0, Recorded(taken=[3.0, 5.0])).usual is None
    usual = details_of(facts(NODES), 0, Recorded(taken=[3.0, 5.0, 4.0])).usual
    assert usual is not None
    assert (usual.seconds, usual.samples) == (4.0, 3)


def test_properties_are_told_as_the_template_has_them() -> None:
    properties = {"size": 1, "password": {"get_param": "secret"}}
    recorded = Recorded(fragment={"definition": {"t": "T", "p": properties}}, created_at=1.0, updated_at=2.0)
    details = details_of(facts(NODES), 0, recorded)
    assert details.properties == properties
    assert (details.created_at, details.updated_at) == (1.0, 2.0)


@pytest.mark.parametrize("fragment", [None, {}, {"definition": {"t": "T"}}], ids=["none", "empty", "bare"])
def test_without_a_definition_there_are_no_properties(fragment: dict[str, object] | None) -> None:
    assert details_of(facts(NODES), 0, Recorded(fragment=fragment)).properties == {}


def test_the_last_events_are_told_newest_first() -> None:
    events = [event(no, BEGUN_AT + no, "a", "CREATE_IN_PROGRESS", f"{no}", cause="retry") for no in range(30)]
    told = details_of(facts(NODES, events), 0, Recorded()).events
    assert len(told) == 20
    assert told[0] == (29, BEGUN_AT + 29, "CREATE_IN_PROGRESS", "29")


def test_signals_are_told_among_the_events() -> None:
    told = details_of(facts(NODES, [event(1, BEGUN_AT, "a", "SIGNAL_COMPLETE", "up")]), 0, Recorded())
    assert [state for _, _, state, _ in told.events] == ["SIGNAL_COMPLETE"]


@pytest.mark.parametrize("no", [2, 99], ids=["a-point-where-edges-meet", "nothing"])
def test_what_is_no_resource_is_not_found(no: int) -> None:
    with pytest.raises(NotFound, match=f"no resource number {no}"):
        node_of(facts(NODES), no)


def test_a_resource_is_not_required_by_the_deletion_of_what_it_replaces() -> None:
    nodes = wired(
        [node(0, "a"), node(1, "b"), node(2, "a", phase="cleanup", action="DELETE")], {1: (0,), 2: (0,)}
    )
    assert details_of(facts(nodes), 0, Recorded()).required_by == ("b",)
    assert details_of(facts(nodes), 2, Recorded()).requires == ()
