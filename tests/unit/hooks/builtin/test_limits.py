"""A stack has no more resources than its limits allow; what is there already may stay."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hooks.builtin.limits import LimitOptions, Limits
from hooks.errors import Refusal
from hooks.lifecycle import LifecycleContext
from hooks.stack import FrozenResource, FrozenStack
from hooks.values.frozen import frozen

SERVER, VOLUME, FILE = "OS::Nova::Server", "OS::Cinder::Volume", "Isotherm::Node::File"
TYPES = (SERVER, VOLUME, FILE)


def stack(types: Mapping[str, int]) -> FrozenStack:
    """Return a stack with so many resources of each type."""
    resources = {
        f"{type_}-{number}": FrozenResource(name=f"{type_}-{number}", type=type_)
        for type_, count in types.items()
        for number in range(count)
    }
    return FrozenStack(name="s", id="1", resources=frozen(resources))


def ask(
    options: Mapping[str, Any],
    wanted: Mapping[str, int],
    present: Mapping[str, int] | None = None,
    *,
    action: str = "UPDATE",
    project: str = "default",
    preview: bool = False,
    root_action: str = "",
) -> tuple[str, ...] | None:
    """Return what the plugin warns of; None if the operation is none of its business."""
    plugin = Limits(LimitOptions.model_validate(options))
    context = LifecycleContext(operation_id="1", project=project, root_action=root_action)
    current = None if present is None else stack(present)
    act = plugin.do_preview if preview else plugin.do_pre_op
    said = act(context, stack(wanted), current, action)
    return None if said is None else tuple(said.warnings)


def refusal(*arguments: Any, **options: Any) -> str:
    with pytest.raises(Refusal) as refused:
        ask(*arguments, **options)
    return str(refused.value)


def test_without_limits_everything_may_be_made() -> None:
    assert ask({}, {SERVER: 100}) == ()


def test_a_refusal_names_every_limit_that_is_passed_and_what_to_do() -> None:
    said = {"resources": 3, "types": {SERVER: 2, "OS::*": {"refuse": 3}, VOLUME: 1}}
    assert refusal(said, {SERVER: 4, VOLUME: 1, FILE: 5}).split("; ") == [
        "10 resources are more than the 3 that a stack may have: leave out 7, or put them into a further stack",
        (
            "4 resources of type 'OS::Nova::Server' are more than the 2 that a stack may have: leave out 2, or put "
            "them into a further stack"
        ),
        (
            "5 resources that match 'OS::*' are more than the 3 that a stack may have: leave out 2, or put them into a "
            "further stack"
        ),
    ]
    assert refusal({"types": {SERVER: 0}}, {SERVER: 1}).startswith("1 resource of type")


def test_as_many_as_the_limit_says_are_none_too_many() -> None:
    assert ask({"resources": {"warn": 2, "refuse": 3}}, {SERVER: 2}) == ()


def test_a_warning_tells_what_would_be_refused() -> None:
    assert ask({"resources": {"warn": 2, "refuse": 3}}, {SERVER: 3}) == (
        "3 resources are more than the 2 that are thought enough for a stack, and more than 3 are refused",
    )
    assert ask({"types": {"*::Server": {"warn": 2}}}, {SERVER: 3}) == (
        "3 resources that match '*::Server' are more than the 2 that are thought enough for a stack",
    )


def test_a_stack_from_before_the_limit_may_keep_what_it_has_but_get_no_more() -> None:
    said = {"resources": 3}
    kept = ("5 resources are more than the 3 that a stack may have: they may stay, but not become more",)
    assert ask(said, {SERVER: 5}, {SERVER: 5}) == kept
    assert ask(said, {SERVER: 4}, {SERVER: 5}) != ()
    assert ask(said, {SERVER: 3}, {SERVER: 5}) == ()
    assert "and 5 are there already and may stay: leave out 1, or" in refusal(said, {SERVER: 6}, {SERVER: 5})


def test_a_stack_may_not_grow_under_one_limit_because_it_shrinks_under_another() -> None:
    said = {"types": {SERVER: 1, VOLUME: 1}}
    assert "'OS::Nova::Server'" in refusal(said, {SERVER: 2, VOLUME: 2}, {SERVER: 1, VOLUME: 9})


@pytest.mark.parametrize("action", ["CREATE", "UPDATE", "ADOPT", "RESTORE"])
def test_what_gives_a_stack_a_definition_is_limited(action: str) -> None:
    assert refusal({"resources": 0}, {SERVER: 1}, action=action)


@pytest.mark.parametrize(
    "action", ["DELETE", "ROLLBACK", "CHECK", "SUSPEND", "RESUME", "SNAPSHOT", "ABANDON"]
)
def test_whatever_else_is_done_with_a_stack_is_never_refused_and_leaves_standing_what_was_said(
    action: str,
) -> None:
    assert ask({"resources": 0}, {SERVER: 1}, action=action) is None


def test_what_a_rollback_brings_back_in_a_stack_in_a_stack_is_never_refused() -> None:
    assert ask({"resources": 0}, {SERVER: 1}, action="UPDATE", root_action="ROLLBACK") is None
    assert refusal({"resources": 0}, {SERVER: 1}, action="UPDATE", root_action="UPDATE")


def test_a_limit_of_a_project_takes_the_place_of_the_same_limit_for_all() -> None:
    said = {
        "resources": 1,
        "types": {SERVER: 1, FILE: 0},
        "projects": {"lab": {"types": {SERVER: 2}, "resources": {}}, "small": {"resources": 0}},
    }
    assert ask(said, {SERVER: 2}, project="lab") == ()
    assert refusal(said, {SERVER: 3}, project="lab")
    assert refusal(said, {FILE: 1}, project="lab"), "a limit that it does not speak of holds all the same"
    assert refusal(said, {SERVER: 2}, project="laboratory")
    assert refusal(said, {SERVER: 1}, project="small")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"resources": {"warn": 3, "refuse": 3}}, "warn (3) must be less than refuse (3)"),
        ({"resources": -1}, "greater than or equal to 0"),
        ({"resources": True}, "valid integer"),
        ({"resources": "many"}, "valid integer"),
        ({"types": {SERVER: {"refused": 3}}}, "types.OS::Nova::Server.refused"),
        ({"types": {"": 3}}, "at least 1 character"),
        ({"projects": {"lab": {"projects": {}}}}, "projects.lab.projects"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_limits_that_cannot_be_are_refused(said: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as error:
        LimitOptions.model_validate(said)
    assert sentence in str(error.value)


counts = st.dictionaries(st.sampled_from(TYPES), st.integers(0, 6))
limits = st.one_of(
    st.integers(0, 8),
    st.builds(lambda warn, more: {"warn": warn, "refuse": warn + more}, st.integers(0, 8), st.integers(1, 3)),
    st.builds(lambda warn: {"warn": warn}, st.integers(0, 8)),
)
options = st.fixed_dictionaries(
    {}, optional={"resources": limits, "types": st.dictionaries(st.sampled_from([*TYPES, "OS::*"]), limits)}
)


def refused(said: Mapping[str, Any], wanted: Mapping[str, int], present: Mapping[str, int] | None) -> bool:
    try:
        ask(said, wanted, present)
    except Refusal:
        return True
    return False


@given(options, counts, counts)
def test_what_does_not_grow_is_never_refused(
    said: Mapping[str, Any], wanted: Mapping[str, int], more: Mapping[str, int]
) -> None:
    present = {type_: wanted.get(type_, 0) + more.get(type_, 0) for type_ in TYPES}
    assert not refused(said, wanted, present)


@given(options, counts, counts, st.none() | counts)
def test_what_is_refused_stays_refused_with_more_resources(
    said: Mapping[str, Any],
    wanted: Mapping[str, int],
    more: Mapping[str, int],
    present: Mapping[str, int] | None,
) -> None:
    larger = {type_: wanted.get(type_, 0) + more.get(type_, 0) for type_ in TYPES}
    assert refused(said, larger, present) >= refused(said, wanted, present)


@given(options, counts, st.none() | counts)
def test_a_preview_says_what_the_operation_would(
    said: Mapping[str, Any], wanted: Mapping[str, int], present: Mapping[str, int] | None
) -> None:
    if refused(said, wanted, present):
        assert refusal(said, wanted, present, preview=True) == refusal(said, wanted, present)
    else:
        assert ask(said, wanted, present, preview=True) == ask(said, wanted, present)


@given(options, options, counts, st.none() | counts)
def test_a_project_has_its_own_limits_and_all_others_those_for_all(
    general: Mapping[str, Any],
    own: Mapping[str, Any],
    wanted: Mapping[str, int],
    present: Mapping[str, int] | None,
) -> None:
    said = {**general, "projects": {"lab": own}}
    both = {**general, **own, "types": {**general.get("types", {}), **own.get("types", {})}}
    for project, same in (("lab", both), ("default", general)):
        if refused(same, wanted, present):
            assert refusal(said, wanted, present, project=project) == refusal(same, wanted, present)
        else:
            assert ask(said, wanted, present, project=project) == ask(same, wanted, present)


@given(counts, st.none() | counts, st.integers(0, 5))
def test_a_limit_that_only_warns_refuses_nothing(
    wanted: Mapping[str, int], present: Mapping[str, int] | None, most: int
) -> None:
    assert (ask({"resources": {"warn": most}}, wanted, present) != ()) == (sum(wanted.values()) > most)


def test_it_is_off_until_the_settings_say_otherwise() -> None:
    assert not Limits.enabled_by_default
