"""The tests that packages run on themselves find what is wrong with one, and nothing wrong with one that is right."""

import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from unittest import SkipTest

import pytest

from isotherm.clients import ClientPlugin, EntityNotFound
from isotherm.hooks import (
    Annotations,
    Event,
    EventSink,
    FrozenStack,
    HookOptions,
    LifecycleContext,
    LifecyclePlugin,
)
from isotherm.properties import Attribute, Property, PropertyType
from isotherm.resources import PropertyChanges, Resource, ResourceFailure, Wait
from isotherm.testing import (
    ClientConformance,
    EventSinkConformance,
    LifecycleConformance,
    ResourceConformance,
)

#: What there is: by id, the row that made it and its properties.
Yard = dict[str, tuple[str, dict[str, Any]]]


def outcomes(case: type) -> dict[str, str]:
    """Return what each test of a class says that does not pass: a sentence, or why it is skipped."""
    said = {}
    for name in sorted(name for name in dir(case) if name.startswith("test_")):
        try:
            getattr(case(), name)()
        except SkipTest as reason:
            said[name] = f"skipped: {reason}"
        except AssertionError as error:
            said[name] = str(error)
    return said


def crate_type(yard: Yard) -> type[Resource]:
    class Crate(Resource):
        """A crate in a yard."""

        description = "A crate in a yard."
        properties_schema = {
            "label": Property(
                type=PropertyType.STRING, description="What stands on it.", default="a", update_allowed=True
            ),
            "size": Property(type=PropertyType.INTEGER, description="How large it is.", default=1),
        }
        attributes_schema = {"label": Attribute("What stands on it.", PropertyType.STRING)}

        def handle_create(self) -> Any:
            self.state.physical_id = f"crate-{len(yard)}-{self.state.uuid[:8]}"
            yard[self.state.physical_id] = (self.state.uuid, dict(self.properties))
            return {"polls": 1}

        def check_create_complete(self, token: Any) -> bool | Wait:
            return True if self.now >= self.state.started_at + 1 else Wait(1)

        def find(self) -> str | None:
            return next((name for name, (row, _) in yard.items() if row == self.state.uuid), None)

        def handle_update(self, changes: PropertyChanges) -> Any:
            assert self.state.physical_id is not None
            yard[self.state.physical_id] = (self.state.uuid, dict(self.properties))

        def handle_delete(self) -> Any:
            yard.pop(self.state.physical_id or "", None)

        def observe(self) -> Mapping[str, Any] | None:
            found = yard.get(self.state.physical_id or "")
            return None if found is None else found[1]

        def attribute(self, name: str) -> Any:
            return yard[self.state.physical_id or ""][1][name]

    return Crate


def pictured_type(yard: Yard, taken: list[str]) -> type[Resource]:
    class Pictured(crate_type(yard)):  # type: ignore[misc]  # made by a function
        """A crate of which a picture is taken before it goes."""

        pictures = taken

        def handle_snapshot_delete(self) -> str | None:
            if self.state.physical_id not in yard:
                return None
            if self.state.uuid not in self.pictures:
                self.pictures.append(self.state.uuid)
            return str(self.state.uuid)

        def check_snapshot_delete_complete(self, token: Any) -> bool | Wait:
            return True if self.now >= self.state.started_at + 1 else Wait(1)

    return Pictured


def crate_case(**members: Any) -> type[ResourceConformance]:
    """Return the tests of a crate, of which some members are others."""
    yard: Yard = {"here before": ("", {})}
    pictures: list[str] = ["of another"]
    crate = pictured_type(yard, pictures)
    own = {name: made(yard) for name, made in members.items()}

    class Case(ResourceConformance):
        type = type(crate.__name__, (crate,), {"__module__": __name__, **own})
        changes = {"label": "b", "size": 2}

        def objects(self) -> Collection[str]:
            return list(yard)

        def snapshots(self) -> Collection[str]:
            return list(pictures)

        def discard(self, snapshot: str) -> None:
            pictures.remove(snapshot)

    return Case


def test_a_type_that_is_right_passes_and_what_does_not_apply_is_skipped() -> None:
    skipped = {"test_the_example_is_valid_and_shows_the_type": "skipped: it has no example"}
    assert outcomes(crate_case()) == skipped


def not_found(yard: Yard) -> Any:
    return lambda self: None


def deletes_once(yard: Yard) -> Any:
    def handle_delete(self: Resource) -> None:
        if self.state.physical_id not in yard:
            raise ResourceFailure("there is no such crate")
        del yard[self.state.physical_id]

    return handle_delete


def deletes_nothing(yard: Yard) -> Any:
    return lambda self: None


def takes_another(yard: Yard) -> Any:
    def handle_snapshot_delete(self: Any) -> str | None:
        if self.state.physical_id not in yard:
            return None
        self.pictures.append(f"{self.state.uuid}-{len(self.pictures)}")
        return str(self.pictures[-1])

    return handle_snapshot_delete


def updates_nothing(yard: Yard) -> Any:
    return lambda self, changes: None


def always_replaced(yard: Yard) -> Any:
    def handle_update(self: Resource, changes: PropertyChanges) -> None:
        yard.pop(self.state.physical_id or "", None)
        self.state.physical_id = f"another-{len(yard)}"
        yard[self.state.physical_id] = (self.state.uuid, dict(self.properties))
        yard[f"{self.state.physical_id}-copy"] = (self.state.uuid, dict(self.properties))

    return handle_update


def blind(yard: Yard) -> Any:
    return lambda self: dict(self.properties)


def complete_once(yard: Yard) -> Any:
    def check_create_complete(self: Resource, token: Any) -> bool:
        if self.state.data.get("asked"):
            raise ResourceFailure("it was complete already")
        self.state.data["asked"] = True
        return True

    return check_create_complete


def never_complete(yard: Yard) -> Any:
    return lambda self, token: False


def unreadable(yard: Yard) -> Any:
    def attribute(self: Resource, name: str) -> Any:
        raise KeyError(name)

    return attribute


def undescribed(yard: Yard) -> Any:
    return {"label": Property(type=PropertyType.STRING, default="a", update_allowed=True)}


def odd_example(yard: Yard) -> Any:
    return (
        "heat_template_version: 2021-04-16\nresources: {it: {type: Testing::Crate, properties: {lable: x}}}\n"
    )


CRASH = "test_a_crash_makes_nothing_twice_and_loses_nothing"
SNAPSHOT = "test_a_crash_of_a_deletion_leaves_one_snapshot_where_one_is_wanted"
GONE = "test_what_is_gone_fails_its_check_and_can_be_deleted"


@pytest.mark.parametrize(
    ("members", "test", "sentence"),
    [
        ({"find": not_found}, CRASH, "the process died after handle_create: it was made twice, as ['crate-"),
        ({"handle_delete": deletes_once}, CRASH, "the process died after handle_delete: DELETE_FAILED"),
        ({"handle_delete": deletes_once}, GONE, "it is gone: DELETE_FAILED: "),
        (
            {"handle_delete": deletes_once},
            "test_calls_that_come_twice_or_late_do_no_harm",
            "there is no such crate",
        ),
        ({"handle_delete": deletes_nothing}, "test_it_is_made_and_deleted", "the deletion left ['crate-"),
        (
            {"handle_update": updates_nothing},
            "test_each_change_does_what_the_schema_says",
            "label was changed: CHECK_F",
        ),
        (
            {"handle_update": always_replaced},
            "test_a_crash_of_an_update_leaves_what_was_wanted",
            "expected 1",
        ),
        ({"handle_snapshot_delete": takes_another}, SNAPSHOT, "every call came twice: the deletion left the"),
        ({"handle_snapshot_delete": deletes_nothing}, SNAPSHOT, "snapshots []: expected one"),
        ({"observe": blind}, GONE, "it is gone: CHECK_COMPLETE, expected CHECK_FAILED"),
        (
            {"check_create_complete": complete_once},
            "test_calls_that_come_twice_or_late_do_no_harm",
            "it was complete already",
        ),
        (
            {"check_create_complete": never_complete},
            "test_it_is_made_and_deleted",
            "timed out after 60 minutes",
        ),
        ({"attribute": unreadable}, "test_it_is_made_and_deleted", "attributes that cannot be read: label: "),
        ({"properties_schema": undescribed}, "test_everything_has_a_description", "properties_schema.label"),
        ({"example": odd_example}, "test_the_example_is_valid_and_shows_the_type", "finds fault with it"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_type_that_is_wrong_is_found_out(members: dict[str, Any], test: str, sentence: str) -> None:
    case = crate_case(**members)
    with pytest.raises(AssertionError) as error:
        getattr(case(), test)()
    assert sentence in str(error.value)


# -- clients ------------------------------------------------------------------------------------------------------


class Shop(ClientPlugin):
    """Knows one room."""

    name = "shop"
    description = "A shop."
    entities = frozenset({"room"})
    options_schema = {
        "address": Property(type=PropertyType.STRING, description="Where it is.", default="here")
    }

    def look_up(self, entity: str, name: str) -> str:
        if name not in ("attic", "r1"):
            raise EntityNotFound(entity, name)
        return "r1"


class ShopCase(ClientConformance):
    client = Shop
    known = {"room": ("attic", "r1")}


@pytest.mark.parametrize(
    ("members", "test", "sentence"),
    [
        ({}, "", ""),
        (
            {"look_up": lambda self, entity, name: "r1"},
            "test_what_is_not_there_is_not_found",
            "'r1' was found",
        ),
        (
            {"look_up": lambda self, entity, name: name},
            "test_names_and_ids_are_found",
            "is 'attic', expected 'r1'",
        ),
        (
            {"is_retryable": lambda self, error: True},
            "test_errors_are_judged_and_none_is_taken_for_another",
            "says that nothing is there, and that it may be later",
        ),
        ({"scope": lambda self, entity: [entity]}, "test_answers_are_kept_apart_by_texts", "no tuple"),
        ({"description": ""}, "test_everything_has_a_description", "description"),
    ],
)
def test_clients(members: dict[str, Any], test: str, sentence: str) -> None:
    client = type("Shop", (Shop,), {"__module__": __name__, **members})
    found = outcomes(type("Case", (ShopCase,), {"client": client}))
    if not members:
        assert found == {}
    else:
        assert sentence in found[test]


# -- lifecycle plugins and sinks -----------------------------------------------------------------------------------


def ledger_case(**members: Any) -> type[LifecycleConformance]:
    """Return the tests of a plugin that reserves one place for each operation; some of its members are others."""
    taken: dict[str, str] = {}

    class Ledger(LifecyclePlugin):
        """Reserves a place by operation, and keeps one for each stack that is there."""

        description = "Reserves places."

        class Options(HookOptions):
            """None."""

        def do_pre_op(
            self,
            context: LifecycleContext,
            stack: FrozenStack,
            current_stack: FrozenStack | None,
            action: str,
        ) -> Annotations:
            taken.setdefault(stack.id, context.operation_id)
            return Annotations(stack={"place": 1})

        def do_post_op(
            self,
            context: LifecycleContext,
            stack: FrozenStack,
            current_stack: FrozenStack | None,
            action: str,
            is_stack_failure: bool,
        ) -> None:
            if current_stack is None:
                taken.pop(stack.id, None)

        def do_preview(
            self,
            context: LifecycleContext,
            stack: FrozenStack,
            current_stack: FrozenStack | None,
            action: str,
        ) -> Annotations:
            return Annotations(stack={"place": 1})

    own = {name: made(taken) for name, made in members.items()}
    kind = type("Ledger", (Ledger,), {"__module__": __name__, **own})

    class Case(LifecycleConformance):
        plugin: ClassVar[type[LifecyclePlugin]] = kind

        def kept(self) -> Any:
            return dict(taken)

    return Case


def test_a_lifecycle_plugin_that_is_right_passes() -> None:
    assert outcomes(ledger_case()) == {}


def takes_each_time(taken: dict[str, str]) -> Any:
    def do_pre_op(self: Any, context: Any, stack: Any, current_stack: Any, action: str) -> None:
        taken[f"{stack.id} {len(taken)}"] = context.operation_id

    return do_pre_op


def gives_nothing_back(taken: dict[str, str]) -> Any:
    return lambda self, context, stack, current_stack, action, is_stack_failure: None


def previews_for_real(taken: dict[str, str]) -> Any:
    return takes_each_time(taken)


@pytest.mark.parametrize(
    ("members", "test"),
    [
        ({"do_pre_op": takes_each_time}, "test_who_is_asked_twice_answers_the_same"),
        ({"do_post_op": gives_nothing_back}, "test_what_is_not_begun_leaves_no_trace"),
        ({"do_preview": previews_for_real}, "test_a_preview_changes_nothing"),
    ],
)
def test_a_lifecycle_plugin_that_is_wrong_is_found_out(members: dict[str, Any], test: str) -> None:
    with pytest.raises(AssertionError, match=r"left \{"):
        getattr(ledger_case(**members)(), test)()


def diary_case(**members: Any) -> type[EventSinkConformance]:
    written: list[int] = []

    class Diary(EventSink):
        """Writes ids down."""

        description = "Writes ids down."

        def consume(self, events: Sequence[Event]) -> None:
            written.extend(event.id for event in events)

    own = {name: made(written) for name, made in members.items()}
    kind = type("Diary", (Diary,), {"__module__": __name__, **own})

    class Case(EventSinkConformance):
        sink: ClassVar[type[EventSink]] = kind

        def received(self) -> Collection[int]:
            return written

    return Case


def loses_the_last(written: list[int]) -> Any:
    return lambda self, events: written.extend(event.id for event in events[:-1])


def refuses_again(written: list[int]) -> Any:
    def consume(self: Any, events: Sequence[Event]) -> None:
        assert not {event.id for event in events} & set(written), "it was there before"
        written.extend(event.id for event in events)

    return consume


def test_sinks() -> None:
    assert outcomes(diary_case()) == {}
    lost = outcomes(diary_case(consume=loses_the_last))
    assert lost["test_events_arrive"] == "events that did not arrive: [3, 4]"
    again = outcomes(diary_case(consume=refuses_again))
    assert "it was there before" in again["test_events_that_come_again_do_no_harm"]


# -- as a package runs it ---------------------------------------------------------------------------------------


def test_it_takes_three_lines_and_no_pytest_to_be_imported(tmp_path: Path) -> None:
    (tmp_path / "test_value.py").write_text(
        "from isotherm.testing import ResourceConformance\n"
        "from workers.resources.core.value import Value\n"
        "class TestValue(ResourceConformance):\n"
        "    type, properties, exists_outside = Value, {'value': 'a'}, False\n"
    )
    words = ["-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-c", "/dev/null"]
    command = [sys.executable, "-m", "pytest", *words, "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "6 passed, 4 skipped" in done.stdout
    alone = "import sys, isotherm.testing; assert 'pytest' not in sys.modules"
    subprocess.run([sys.executable, "-c", alone], check=True)
