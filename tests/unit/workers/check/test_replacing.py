"""What only one object can have, a replacement gets, and a rollback gives back, whatever process dies when."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from isotherm.testing.engine import Engine
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import Busy, PropertyChanges, ResourceFailure, Wait

TEXT = PropertyType.STRING


class Land:
    """Addresses, each of which one object can have."""

    def __init__(self) -> None:
        #: By object: its row, and its address.
        self.objects: dict[str, dict[str, Any]] = {}
        self.made = 0
        #: How often an object that is to let go of its address is asked until it has.
        self.slow = 0
        #: Whether it stores something first.
        self.notes = False

    def give(self, object_id: str, address: str | None) -> None:
        holders = [
            each for each, of in self.objects.items() if of["address"] == address and each != object_id
        ]
        if address is not None and holders:
            raise ResourceFailure(f"{address} belongs to {holders}")
        self.objects[object_id]["address"] = address


LAND = Land()


class Holder(Resource):
    """Holds an address; another size is another object."""

    properties_schema = {
        "address": Property(type=TEXT, update_allowed=True),
        "size": Property(type=TEXT),
        "doomed": Property(type=PropertyType.BOOLEAN, default=False),
    }

    def handle_create(self) -> None:
        LAND.made += 1
        object_id = f"o{LAND.made}"
        LAND.objects[object_id] = {"row": self.state.uuid, "address": None}
        LAND.give(object_id, self.properties["address"])
        self.state.physical_id = object_id

    def find(self) -> str | None:
        return next((each for each, of in LAND.objects.items() if of["row"] == self.state.uuid), None)

    def check_create_complete(self, token: Any) -> bool:
        if self.properties["doomed"]:
            raise ResourceFailure("it cannot be")
        return True

    def handle_update(self, changes: PropertyChanges) -> None:
        LAND.give(str(self.state.physical_id), self.properties["address"])

    def handle_delete(self) -> None:
        LAND.objects.pop(str(self.state.physical_id), None)

    def prepare_for_replace(self) -> bool | Wait:
        if (held := LAND.objects.get(str(self.state.physical_id))) is None or held["address"] is None:
            return True
        if LAND.slow:
            LAND.slow -= 1
            return Wait(2)
        if LAND.notes and "noted" not in self.state.data:
            # Stored before it is given up.
            self.state.data["noted"] = held["address"]
            return Wait(0)
        held["address"] = None
        return True

    def observe(self) -> Mapping[str, Any] | None:
        held = LAND.objects.get(str(self.state.physical_id))
        return None if held is None else {"address": held["address"]}


def template(size: str = "small", *, doomed: bool = False) -> str:
    resource = {"type": "T::Holder", "properties": {"address": "10.0.0.7", "size": size, "doomed": doomed}}
    return json.dumps({"heat_template_version": "2021-04-16", "resources": {"it": resource}})


@pytest.fixture
def engine() -> Iterator[Engine]:
    LAND.__init__()  # type: ignore[misc]
    engine = Engine({"T::Holder": Holder})
    yield engine
    engine.close()


def test_a_replacement_gets_the_address_whenever_the_process_dies(engine: Engine) -> None:
    for instant in range(60):
        assert engine.create("s", template())
        LAND.slow = 1
        engine.watch.crash_after(instant)
        updated = engine.update("s", template("large"))
        crashed, engine.watch.crashed = engine.watch.crashed, ""
        engine.watch.disarm()
        assert updated
        assert updated.state == "UPDATE_COMPLETE", (crashed, updated.reason)
        assert [each["address"] for each in LAND.objects.values()] == ["10.0.0.7"], crashed
        assert engine.delete("s") is None
        assert LAND.objects == {}
        if not crashed:
            return
    pytest.fail("the process died at every instant")


@pytest.mark.parametrize(("slow", "notes"), [(0, False), (2, False), (0, True)])
def test_a_rollback_gives_the_address_back_whenever_the_process_dies(
    engine: Engine, slow: int, *, notes: bool
) -> None:
    LAND.notes = notes
    for instant in range(80):
        assert engine.create("s", template())
        (first,) = LAND.objects
        LAND.slow = slow
        engine.watch.crash_after(instant)
        updated = engine.update_or_roll_back("s", template("large", doomed=True))
        crashed, engine.watch.crashed = engine.watch.crashed, ""
        engine.watch.disarm()
        assert updated
        assert updated.state == "ROLLBACK_COMPLETE", (crashed, updated.reason)
        assert {each: of["address"] for each, of in LAND.objects.items()} == {first: "10.0.0.7"}, crashed
        assert engine.delete("s") is None
        assert LAND.objects == {}
        if not crashed:
            return
    pytest.fail("the process died at every instant")


def test_a_failed_replacement_is_taken_back_by_the_next_update(engine: Engine) -> None:
    engine.create("s", template())
    failed = engine.update("s", template("large", doomed=True))
    assert failed
    assert failed.state == "UPDATE_FAILED"
    mended = engine.update("s", template())
    assert mended
    assert mended.state == "UPDATE_COMPLETE", mended.reason
    assert {each: of["address"] for each, of in LAND.objects.items()} == {"o1": "10.0.0.7"}


class Seat(Resource):
    """Takes an address as such, which has no object besides; another takes it once this one has left it."""

    properties_schema = Holder.properties_schema

    def handle_create(self) -> None:
        # On record before it is taken: what is taken after a crash is one's own.
        if self.state.physical_id is None:
            if self.properties["address"] in LAND.objects:
                raise ResourceFailure("the seat is taken")
            self.state.physical_id = self.properties["address"]

    def find(self) -> str | None:
        return self.state.physical_id

    def resume_create(self) -> str:
        return "on record"

    def check_create_complete(self, token: Any) -> bool | Wait:
        if token is None:
            return Wait(0, token="on record")
        LAND.objects[str(self.state.physical_id)] = {"row": self.state.uuid, "address": None}
        if self.properties["doomed"]:
            raise ResourceFailure("it cannot be")
        return True

    def handle_delete(self) -> None:
        if self.state.physical_id is not None:
            LAND.objects.pop(self.state.physical_id, None)

    def prepare_for_replace(self) -> bool:
        self.handle_delete()
        self.state.physical_id = None
        return True

    def observe(self) -> Mapping[str, Any] | None:
        return {} if self.state.physical_id in LAND.objects else None


@pytest.mark.parametrize("doomed", [False, True])
def test_what_has_no_object_is_never_taken_away_from_who_has_it_now(*, doomed: bool) -> None:
    LAND.__init__()  # type: ignore[misc]
    engine = Engine({"T::Holder": Seat})
    try:
        for instant in range(80):
            assert engine.create("s", template())
            engine.watch.crash_after(instant)
            updated = engine.update_or_roll_back("s", template("large", doomed=doomed))
            crashed, engine.watch.crashed = engine.watch.crashed, ""
            engine.watch.disarm()
            assert updated
            expected = "ROLLBACK_COMPLETE" if doomed else "UPDATE_COMPLETE"
            assert updated.state == expected, (crashed, updated.reason)
            assert list(LAND.objects) == ["10.0.0.7"], crashed
            assert LAND.objects["10.0.0.7"]["row"] == engine.resource("s", "it").id
            assert engine.delete("s") is None
            assert LAND.objects == {}
            if not crashed:
                return
        pytest.fail("the process died at every instant")
    finally:
        engine.close()


class Crowded(Holder):
    """Cannot be deleted at first."""

    def handle_delete(self) -> None:
        if LAND.slow:
            LAND.slow -= 1
            raise Busy("somebody is in it")
        super().handle_delete()


@pytest.mark.parametrize(("tries", "ends"), [(9, "gone"), (10_000, "busy")])
def test_a_busy_system_is_waited_for_within_a_limit(tries: int, ends: str) -> None:
    LAND.__init__()  # type: ignore[misc]
    engine = Engine({"T::Holder": Crowded}, settings={"busy_limit_seconds": 120, "action_retry_limit": 2})
    try:
        engine.create("s", template())
        LAND.slow, begun = tries, engine.now
        left = engine.delete("s")
        if ends == "gone":
            assert left is None
        else:
            assert left
            assert "somebody is in it (for 1" in left.reason
            assert 120 <= engine.now - begun < 160
    finally:
        engine.close()
