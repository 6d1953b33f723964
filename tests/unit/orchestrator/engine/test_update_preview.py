"""What a dry run tells is what an update does, and it tells no secret."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa
from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.health import mark_unhealthy
from orchestrator.engine.plan_changes import KNOWN_LATER
from orchestrator.engine.update_preview import DryRun
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.planning.comparing import compare
from orchestrator.plugins.constraints import Length
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.translation import Replace, Rule
from orchestrator.store import tables
from orchestrator.template.hiding import HIDDEN
from orchestrator.views.stacks import ResourcePlan, UpdatePlan
from tests.scenarios.world import World


class Stubborn(Resource):
    """A type that has an opinion on every change."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "fixed": Property(type=PropertyType.STRING, default="f", immutable=True),
        "free": Property(type=PropertyType.STRING, update_allowed=True, constraints=(Length(max=3),)),
        "items": Property(type=PropertyType.LIST, update_allowed=True),
    }

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Decide by what it would become; once by what only a worker has."""
        if changes.after["free"] == "far":
            self.client("far away")
        return bool(changes.after["free"] == "new")


@pytest.fixture
def world() -> Iterator[World]:
    with_types = World()
    with_types.checker._types["Stubborn"] = Stubborn  # type: ignore[index]  # a dict that both halves share
    yield with_types
    with_types.close()


def template(resources: str, parameters: str = "") -> str:
    head = "heat_template_version: wallaby\n"
    declared = f"parameters:\n  {parameters}\n" if parameters else ""
    lines = "".join(f"  {line}\n" for line in resources.strip().splitlines())
    return f"{head}{declared}resources:\n{lines}" if lines else f"{head}{declared}resources: {{}}"


def cloud(name: str, value: str = "1", size: str = "s", more: str = "") -> str:
    return f"{name}: {{type: Cloud::Object, properties: {{value: {value}, size: {size}}}{more}}}\n"


def stubborn(name: str, properties: str) -> str:
    return f"{name}: {{type: Stubborn, properties: {{{properties}}}}}\n"


def created(world: World, source: str, **job: Any) -> None:
    world.create(source, **job)
    world.settle()


def plan(world: World, source: str, **job: Any) -> UpdatePlan:
    stack = world.store.stacks.find("s", project="default")
    types = world.checker._types
    asked = StackJob(name="s", template=source, **job)
    compared = compare(world.store, stack, asked, types, Settings())
    content = world.store.templates.file
    return DryRun(compared, types, Limits(), content).plan(f"{stack.action}_{stack.status}")


def actions(planned: UpdatePlan) -> dict[str, str]:
    return {each.name: each.action for each in planned.resources}


def the(planned: UpdatePlan, name: str) -> ResourcePlan:
    (found,) = [each for each in planned.resources if each.name == name]
    return found


def told(each: ResourcePlan) -> list[tuple[str, Any, Any]]:
    return [(change.name, change.before, change.after) for change in each.changes]


A_ATTR = "{get_attr: [a, value]}"
#: One whose value another one asks for.
ASKED = cloud("a") + cloud("c", A_ATTR)
STAY = {"a": "UNCHANGED", "c": "UNCHANGED"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (cloud("a"), cloud("a"), {"a": "UNCHANGED"}),
        (cloud("a"), cloud("a", size="l"), {"a": "UPDATE"}),
        (cloud("a"), cloud("a", value="2"), {"a": "REPLACE"}),
        (cloud("a"), "a: {type: Cloud::Object}", {"a": "REPLACE"}),
        (cloud("a"), cloud("b"), {"b": "CREATE", "a": "DELETE"}),
        (cloud("a"), cloud("a", more=", metadata: {k: v}"), {"a": "UPDATE"}),
        (cloud("a"), cloud("a", more=", deletion_policy: Retain"), {"a": "UNCHANGED"}),
        (cloud("a"), stubborn("a", "free: x"), {"a": "REPLACE"}),
        (stubborn("a", "free: x"), stubborn("a", "free: y"), {"a": "UPDATE"}),
        (stubborn("a", "free: x"), stubborn("a", "free: x, fixed: y"), {"a": "REFUSE"}),
        # What depends on what stays has its values, as far as somebody asked for them before.
        (cloud("a") + cloud("b"), cloud("a") + cloud("b", A_ATTR), {"a": "UNCHANGED", "b": "DEPENDS"}),
        (ASKED + cloud("b"), ASKED + cloud("b", A_ATTR), {**STAY, "b": "UNCHANGED"}),
        (ASKED + cloud("b", "2"), ASKED + cloud("b", A_ATTR), {**STAY, "b": "REPLACE"}),
        (
            cloud("a") + stubborn("b", "free: x"),
            cloud("a", "1111") + stubborn("b", f"free: {A_ATTR}"),
            {"a": "REPLACE", "b": "DEPENDS"},
        ),
        # The value is too long for the property, which only its being known tells.
        (
            ASKED.replace("1", "1111") + stubborn("b", "free: x"),
            ASKED.replace("1", "1111") + stubborn("b", f"free: {A_ATTR}"),
            {**STAY, "b": "REFUSE"},
        ),
        # What only comes after what changes is not changed by that.
        (
            cloud("a") + cloud("b", more=", depends_on: a"),
            cloud("a", "2") + cloud("b", more=", depends_on: a"),
            {"a": "REPLACE", "b": "UNCHANGED"},
        ),
        # Of a list of which one item is not known yet, the others may tell.
        (
            cloud("a") + stubborn("b", f"items: [x, {A_ATTR}]"),
            cloud("a", "2") + stubborn("b", f"items: [x, {A_ATTR}]"),
            {"a": "REPLACE", "b": "DEPENDS"},
        ),
        (
            cloud("a") + stubborn("b", f"items: [x, {A_ATTR}]"),
            cloud("a", "2") + stubborn("b", f"items: [y, {A_ATTR}]"),
            {"a": "REPLACE", "b": "UPDATE"},
        ),
    ],
)
def test_each_resource_has_its_action(
    world: World, before: str, after: str, expected: dict[str, str]
) -> None:
    created(world, template(before))
    assert actions(plan(world, template(after))) == expected


def test_nothing_is_changed(world: World) -> None:
    created(world, template(cloud("a")))
    stack, log = world.store.stacks.find("s", project="default"), list(world.cloud.log)
    with world.store.database.read() as connection:
        stored = connection.execute(sa.select(tables.template.c.id)).all()
    plan(world, template(cloud("a", "2") + cloud("b")))
    assert world.messages == []
    assert world.cloud.log == log
    assert world.store.stacks.find("s", project="default") == stack
    with world.store.database.read() as connection:
        assert connection.execute(sa.select(tables.template.c.id)).all() == stored


VALUES = st.sampled_from(["1", "2", "{get_attr: [a, value]}", "{get_attr: [b, value]}"])
SIZES = st.sampled_from(["s", "l"])


@st.composite
def stacks(draw: st.DrawFn) -> str:
    """Return a template of some of a, b and c, of which the later ones may refer to those before."""
    text, known = "", list[str]()
    for name in "abc":
        if draw(st.booleans()):
            value = draw(VALUES.filter(lambda each: "get_attr" not in each or each[12] in known))
            after = draw(st.sampled_from(["", *(f", depends_on: {other}" for other in known)]))
            text += cloud(name, value, draw(SIZES), after)
            known.append(name)
    return template(text)


@given(before=stacks(), after=stacks())
# What is new may start at once, with the values of what is there.
@example(before=template(ASKED), after=template(ASKED + cloud("b", A_ATTR)))
def test_what_is_told_is_what_is_done(before: str, after: str) -> None:
    world = World()
    created(world, before)
    planned = plan(world, after)
    world.cloud.log.clear()
    world.update(after)
    world.settle()
    world.close()
    done = {name: {what for what, whose in world.cloud.log if whose == name} for name in "abc"}
    meant = {
        "CREATE": {"make"},
        "UPDATE": {"change"},
        "REPLACE": {"make", "unmake"},
        "DELETE": {"unmake"},
        "UNCHANGED": set(),
        # As ``may`` says.
        "DEPENDS": set(),
    }
    for each in planned.resources:
        assert done[each.name] in [meant[action] for action in (each.action, *each.may)], each
    assert {name for name, what in done.items() if what} <= actions(planned).keys()


def test_a_type_that_decides_by_itself_is_named(world: World) -> None:
    created(world, template(stubborn("a", "free: x")))
    planned = the(plan(world, template(stubborn("a", "free: new"))), "a")
    assert (planned.action, planned.reason) == (
        "REPLACE",
        "its type says that these changes need another resource",
    )
    planned = the(plan(world, template(stubborn("a", "free: far"))), "a")
    assert (planned.action, planned.reason) == (
        "UPDATE",
        "may replace, because needs_replace of Stubborn raised NotFound: there is no client plugin 'far away' here",
    )
    assert planned.may == ("REPLACE",)


def test_what_would_be_replaced_if_a_value_turns_out_to_be_another_one_is_told(world: World) -> None:
    created(world, template(cloud("a") + cloud("b", A_ATTR)))
    planned = the(plan(world, template(cloud("a", size="l") + cloud("b", A_ATTR))), "b")
    assert planned.reason == (
        "only if what it depends on changes; may replace, because value may change, which needs another resource"
    )
    assert planned.may == ("REPLACE", "UNCHANGED", "UPDATE")
    assert told(planned) == [("value", HIDDEN, KNOWN_LATER)]
    assert not planned.changes[0].is_certain


def test_what_stays_in_the_world_is_told(world: World) -> None:
    created(world, template(cloud("a", more=", deletion_policy: Retain")))
    planned = the(plan(world, template("")), "a")
    assert (planned.action, planned.reason) == (
        "DELETE",
        "what it stands for stays: its deletion policy is Retain",
    )


def test_a_snapshot_before_a_deletion_is_told(world: World) -> None:
    created(world, template(cloud("a", more=", deletion_policy: Snapshot")))
    planned = the(plan(world, template("")), "a")
    assert (planned.action, planned.reason) == (
        "DELETE",
        "a snapshot of it is taken first: its deletion policy is Snapshot",
    )


def test_what_failed_is_replaced_and_what_was_never_begun_is_created(world: World) -> None:
    world.cloud.failing = {"a": -1}
    source = template(cloud("a") + cloud("b", more=", depends_on: a"))
    created(world, source)
    planned = plan(world, source)
    assert actions(planned) == {"a": "REPLACE", "b": "CREATE"}
    assert the(planned, "a").reason == "it is CREATE_FAILED"


def test_what_is_under_way_is_told_as_such(world: World) -> None:
    world.cloud.polls = {"a": 5}
    world.create(template(cloud("a")))
    world.deliver()
    planned = the(plan(world, template(cloud("a", size="l"))), "a")
    assert (planned.action, planned.reason) == ("UPDATE", "it is CREATE_IN_PROGRESS")
    world.settle()


def test_what_would_be_refused_is_refused(world: World) -> None:
    created(world, template(cloud("a"), "p: {type: string, default: x, immutable: true}"))
    with pytest.raises(InvalidInput, match="immutable"):
        plan(world, template(cloud("a"), "p: {type: string, default: y, immutable: true}"))
    with pytest.raises(InvalidInput, match="no property"):
        plan(world, template("a: {type: Cloud::Object, properties: {valu: 1}}"))
    world.delete()
    with pytest.raises(Conflict, match="only a delete can follow"):
        world.update(template(""))


# -- secrets ---------------------------------------------------------------------------------------------------

OPEN, SECRET = "p: {type: string}", "p: {type: string, hidden: true}"
READS_P = cloud("a", size="{get_param: p}")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((READS_P, OPEN), (READS_P, OPEN), ("old", "new")),
        ((READS_P, SECRET), (READS_P, SECRET), (HIDDEN, HIDDEN)),
        # It is a secret still though the new template does not say so, and was none only as far as the old one knew.
        ((READS_P, SECRET), (READS_P, OPEN), (HIDDEN, HIDDEN)),
        ((READS_P, OPEN), (READS_P, SECRET), (HIDDEN, HIDDEN)),
        ((READS_P, SECRET), (cloud("a", size="plain"), OPEN), (HIDDEN, "plain")),
        ((cloud("a", size="plain"), OPEN), (READS_P, SECRET), (HIDDEN, HIDDEN)),
        ((READS_P, OPEN), ("a: {type: Cloud::Object, properties: {value: 1}}", OPEN), ("old", "")),
        ((READS_P, SECRET), ("a: {type: Cloud::Object, properties: {value: 1}}", SECRET), (HIDDEN, "")),
    ],
)
def test_values_are_shown_that_are_no_secret_in_either_definition(
    world: World, before: tuple[str, str], after: tuple[str, str], expected: tuple[str, str]
) -> None:
    created(world, template(*before), parameters={"p": "old"})
    planned = plan(world, template(*after), parameters={"p": "new"})
    assert told(the(planned, "a")) == [("size", *expected)]
    if HIDDEN in expected and "hidden" in before[1]:
        assert "'old'" not in repr(planned)


def test_a_secret_that_is_in_force_still_is_not_taken_for_what_was_to_take_its_place(world: World) -> None:
    created(world, template(READS_P, SECRET), parameters={"p": "s3cret"})
    world.cloud.failing_updates = {"a": True}
    world.update(template(cloud("a", size="plain"), OPEN), parameters={"p": "x"})
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    # A row that failed is replaced; that of another one, which waited for it, has what it had.
    assert "s3cret" not in repr(plan(world, template(cloud("a", size="other"), OPEN), parameters={"p": "x"}))


def test_a_secret_of_what_an_update_never_came_to_is_masked(world: World) -> None:
    first = cloud("z") + cloud("a", size="{get_param: p}", more=", depends_on: z")
    created(world, template(first, SECRET), parameters={"p": "s3cret"})
    world.cloud.failing_updates = {"z": True}
    second = cloud("z", size="l") + cloud("a", size="plain", more=", depends_on: z")
    world.update(template(second, OPEN), parameters={"p": "x"})
    world.settle()
    third = cloud("z", size="l") + cloud("a", size="other", more=", depends_on: z")
    planned = plan(world, template(third, OPEN), parameters={"p": "x"})
    assert told(the(planned, "a")) == [("size", HIDDEN, "other")]


def test_the_content_of_a_file_is_masked_and_nothing_else_beside_it(world: World) -> None:
    before, after = (template(cloud("a", value, "{get_file: f}")) for value in ("one", "two"))
    created(world, before, files={"f": "old"})
    planned = the(plan(world, after, files={"f": "new"}), "a")
    assert told(planned) == [("size", HIDDEN, HIDDEN), ("value", "one", "two")]


ID_OF_A = "{get_resource: a}"
TWO = cloud("a") + cloud("b", size=ID_OF_A)


def test_ids_of_resources_are_shown(world: World) -> None:
    created(world, template(TWO))
    (id_of_a,) = (each for each in world.cloud.objects if each.startswith("a-"))
    planned = the(plan(world, template(cloud("a") + cloud("b", size="plain"))), "b")
    assert told(planned) == [("size", id_of_a, "plain")]
    planned = the(plan(world, template(cloud("a", "2") + cloud("b", size=ID_OF_A))), "b")
    assert told(planned) == [("size", id_of_a, KNOWN_LATER)]
    joined = f"{{str_replace: {{template: x-ID, params: {{ID: {ID_OF_A}}}}}}}"
    world.update(template(cloud("a") + cloud("b", size=joined)))
    world.settle()
    planned = the(plan(world, template(cloud("a") + cloud("b", size=ID_OF_A))), "b")
    assert told(planned) == [("size", f"x-{id_of_a}", id_of_a)]


def test_the_id_that_a_cfn_template_refers_to_is_shown(world: World) -> None:
    head = "AWSTemplateFormatVersion: 2010-09-09\nParameters: {p: {Type: String, NoEcho: true}}\nResources:\n"
    one = "  a: {Type: 'Cloud::Object'}\n"
    two = "  b: {Type: 'Cloud::Object', Properties: {size: {Ref: a}}}\n"
    three = "  c: {Type: 'Cloud::Object', Properties: {size: {Ref: p}}}\n"
    created(world, head + one + two + three, parameters={"p": "s3cret"})
    (id_of_a,) = (each for each in world.cloud.objects if each.startswith("a-"))
    after = head + one + two.replace("{Ref: a}", "x") + three.replace("{Ref: p}", "x")
    planned = plan(world, after, parameters={"p": "s3cret"})
    assert told(the(planned, "b")) == [("size", id_of_a, "x")]
    assert told(the(planned, "c")) == [("size", HIDDEN, "x")]


def test_maps_and_lists_are_compared_by_key_and_only_hidden_parts_are_masked(world: World) -> None:
    parameters = "p: {type: string, hidden: true}"

    def of(*items: str) -> str:
        return template(cloud("a") + stubborn("b", f"items: [{', '.join(items)}]"), parameters)

    secret, same = "{k: {get_param: p}, l: {get_resource: a}}", "same"
    created(world, of(secret, same, "old", "{m: [1, 2]}"), parameters={"p": "s3cret"})
    (id_of_a,) = (each for each in world.cloud.objects if each.startswith("a-"))
    after = of("{k: {get_param: p}, l: new}", same, A_ATTR, "{m: [1, 3], n: 4}", "more")
    planned = plan(world, after, parameters={"p": "other"})
    assert "s3cret" not in repr(planned)
    (change,) = the(planned, "b").changes
    assert change.before == [{"k": HIDDEN, "l": id_of_a}, "same", "old", {"m": [1, 2]}]
    assert [(part.path, part.before, part.after) for part in change.parts] == [
        ("[0].k", HIDDEN, HIDDEN),
        ("[0].l", id_of_a, "new"),
        ("[2]", "old", KNOWN_LATER),
        ("[3].m[1]", 2, 3),
        ("[3].n", None, 4),
        ("[4]", None, "more"),
    ]


def test_a_literal_in_whose_place_a_secret_is_put_is_masked_and_nothing_beside_it(world: World) -> None:
    created(world, template(stubborn("b", "items: [{pw: s3cret, user: me}]")))
    after = template(stubborn("b", "items: [{pw: {get_param: p}, user: you}]"), SECRET)
    planned = plan(world, after, parameters={"p": "x"})
    (change,) = the(planned, "b").changes
    assert (change.before, change.after) == (
        [{"pw": HIDDEN, "user": "me"}],
        [{"pw": HIDDEN, "user": "you"}],
    )


class Spilling(Resource):
    """A type that others refer to by a value of its own."""

    def handle_create(self) -> None:
        self.state.physical_id = "there"

    def reference_id(self) -> str:
        return "s3cret"


def test_a_value_by_which_others_refer_to_a_resource_may_be_a_secret(world: World) -> None:
    world.checker._types["Spilling"] = Spilling  # type: ignore[index]  # a dict that both halves share
    one = "a: {type: Spilling}\n"
    created(world, template(one + cloud("b", size=ID_OF_A)))
    assert "s3cret" not in repr(plan(world, template(one + cloud("b", size="plain"))))
    assert "s3cret" not in repr(plan(world, template(one + cloud("b", size=ID_OF_A + "\n"))))


class Renamed(Resource):
    """A type one of whose properties goes by an old name, too."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "old": Property(type=PropertyType.STRING, update_allowed=True),
        "new": Property(type=PropertyType.STRING, update_allowed=True),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> list[Rule]:
        return [Replace(path=("new",), source=("old",))]


def test_a_secret_that_has_another_name_for_its_type_is_masked(world: World) -> None:
    world.checker._types["Renamed"] = Renamed  # type: ignore[index]  # a dict that both halves share
    resource = "a: {type: Renamed, properties: {old: {get_param: p}}}"
    created(world, template(resource, SECRET), parameters={"p": "s3cret"})
    planned = plan(world, template(resource, SECRET), parameters={"p": "an0ther"})
    assert the(planned, "a").action == "UPDATE"
    assert "s3cret" not in repr(planned)
    assert "an0ther" not in repr(planned)


# -- what is doubted -----------------------------------------------------------------------------------------------


def test_what_is_unhealthy_is_replaced_and_the_reason_told(world: World) -> None:
    created(world, template(cloud("a") + cloud("b")))
    mark_unhealthy(world.store, world.store.stacks.find("s", project="default"), "a", reason="it hums")
    planned = plan(world, template(cloud("a", size="l") + cloud("b")))
    assert actions(planned) == {"a": "REPLACE", "b": "UNCHANGED"}
    assert the(planned, "a").reason == "marked unhealthy: it hums"


def test_what_a_check_found_wrong_is_told_as_what_nobody_can_tell_yet(world: World) -> None:
    created(world, template(cloud("a") + cloud("b")))
    world.cloud.sizes[next(iter(world.cloud.objects))] = "x"
    world.check()
    world.settle()
    planned = plan(world, template(cloud("a") + cloud("b")))
    assert actions(planned) == {"a": "DEPENDS", "b": "UNCHANGED"}
    assert the(planned, "a").reason.startswith("it is CHECK_FAILED: may change back or replace")
    planned = plan(world, template(cloud("a", size="l") + cloud("b", value="2")))
    assert actions(planned) == {"a": "UPDATE", "b": "REPLACE"}
    assert "it is CHECK_FAILED" in the(planned, "a").reason
    assert the(planned, "a").may == ("REPLACE", "UNCHANGED")


def test_a_refresh_tells_what_is_certain_and_leaves_the_rest_open(world: World) -> None:
    created(world, template(cloud("a") + cloud("b")))
    planned = plan(world, template(cloud("a") + cloud("b", size="l")), refresh=True)
    assert actions(planned) == {"a": "DEPENDS", "b": "UPDATE"}
    assert the(planned, "a").reason == (
        "may change back or replace, because others may have changed or removed it"
    )


def test_what_rests_is_resumed_first(world: World) -> None:
    created(world, template(cloud("a")))
    world.suspend()
    world.settle()
    world.resume()
    world.cancel()
    world.settle()
    planned = plan(world, template(cloud("a")))
    assert actions(planned) == {"a": "UPDATE"}
    assert the(planned, "a").reason == "it is suspended, and resumed first"
