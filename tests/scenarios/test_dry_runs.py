"""A dry run never disagrees with the update: what it says is done, or what it says may be, with the reason."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.health import mark_unhealthy
from orchestrator.engine.update_preview import DryRun
from orchestrator.errors import Conflict
from orchestrator.model.messages import StackJob
from orchestrator.planning.comparing import compare
from orchestrator.plugins.constraints import Length
from orchestrator.plugins.properties import Attribute, CacheMode, Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure, Wait
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.views.stacks import ResourcePlan
from tests.scenarios.world import World
from tests.thoroughness import examples


def text(**more: Any) -> Property:
    return Property(type=PropertyType.STRING, default="", **more)


class Site:
    """The objects of one history, and what was done to them."""

    def __init__(self) -> None:
        #: The properties of each object, by physical id.
        self.objects: dict[str, dict[str, Any]] = {}
        #: What was done: the action and the name.
        self.log: list[tuple[str, str]] = []
        #: The steps that fail the next time: the action and the name.
        self.failing: set[tuple[str, str]] = set()
        #: The resources whose creation takes polls.
        self.slow: set[str] = set()


class Plain(Resource):
    """A type with properties of every kind, whose attribute changes in place."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "free": text(update_allowed=True),
        "held": text(),
        "fixed": text(immutable=True),
        "short": text(update_allowed=True, constraints=(Length(max=3),)),
        "data": Property(type=PropertyType.MAP, default={}, update_allowed=True),
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {
        "free": Attribute(description="a property"),
        "now": Attribute(description="the object's", cache_mode=CacheMode.NONE),
    }
    site: ClassVar[Site] = Site()

    def _do(self, action: str) -> None:
        if (action, self.name) in self.site.failing:
            self.site.failing.remove((action, self.name))
            raise ResourceFailure("no luck")
        self.site.log.append((action, self.name))

    def handle_create(self) -> None:
        self.state.physical_id = self.state.uuid
        self.site.objects[self.state.uuid] = dict(self.properties)
        self._do("create")

    def check_create_complete(self, token: Any) -> bool | Wait:
        is_slow = self.name in self.site.slow
        return Wait(1) if is_slow and self.now < self.state.started_at + 2 else True

    def handle_update(self, changes: PropertyChanges) -> None:
        self._do("update")
        self.site.objects[str(self.state.physical_id)] = dict(self.properties)

    def check_update_complete(self, token: Any) -> bool | Wait:
        return self.check_create_complete(token)

    def handle_delete(self) -> None:
        self._do("delete")
        self.site.objects.pop(str(self.state.physical_id), None)

    def handle_check(self) -> None:
        self._do("check")

    def handle_suspend(self) -> None:
        self._do("suspend")

    def attribute(self, name: str) -> Any:
        there = self.site.objects.get(str(self.state.physical_id), {})
        return self.properties["free"] if name == "free" else there.get("free", "")


class Seen(Plain):
    """One whose object can be observed, which others may have changed."""

    def observe(self) -> Mapping[str, Any] | None:
        return self.site.objects.get(str(self.state.physical_id))


class Choosy(Plain):
    """One that decides by its values whether another one is needed, and cannot do so without them."""

    def needs_replace(self, changes: PropertyChanges) -> bool:
        if changes.after["free"] == "no":
            raise ValueError("it cannot be")
        return bool(changes.after["free"] > (changes.before["free"] or "") + self.properties["short"])

    def needs_replace_failed(self) -> bool:
        return bool("1" in self.properties["free"] + self.properties["short"])


class Renewed(Plain):
    """One of which every update makes another one."""

    renewed_by_updates: ClassVar[bool] = True


TYPES = {"Plain": Plain, "Seen": Seen, "Choosy": Choosy, "Renewed": Renewed}
NAMES = ("a", "b", "c", "d")
VALUES = st.sampled_from(["", "1", "2", "no"])
#: What is done to the object for each action, without its cleanup.
DONE = {
    "UNCHANGED": set(),
    "UPDATE": {"update"},
    "REPLACE": {"create"},
    "CREATE": {"create"},
    "REFUSE": set(),
}


@st.composite
def definitions(draw: st.DrawFn, like: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return resources, each of which refers to earlier ones, some of them as in another definition."""
    resources: dict[str, str] = {}
    for name in NAMES:
        kept = (like or {}).get(name)
        if (
            kept is not None
            and draw(st.integers(0, 2))
            and all(
                f"[{other}," not in kept and f": {other}}}" not in kept
                for other in NAMES
                if other not in resources
            )
        ):
            resources[name] = kept
        elif draw(st.integers(0, 4)):
            references = [
                reference
                for other in resources
                for reference in (
                    f"{{get_attr: [{other}, free]}}",
                    f"{{get_attr: [{other}, now]}}",
                    f"{{get_resource: {other}}}",
                )
            ]
            values = (
                st.one_of(VALUES.map(repr), st.sampled_from(references)) if references else VALUES.map(repr)
            )
            chosen = draw(st.sets(st.sampled_from(["free", "held", "fixed", "data"]), max_size=3))
            given = {each: draw(values) for each in sorted(chosen)}
            if "data" in given:
                given["data"] = f"{{k: {draw(values)}, l: {draw(values)}}}"
            given["short"] = repr(draw(VALUES))
            kind = draw(st.sampled_from(["Plain", "Seen", "Choosy", "Choosy", "Renewed"]))
            said = ", ".join(f"{key}: {value}" for key, value in given.items())
            metadata = draw(values)
            more = f", metadata: {{k: {metadata}}}" if draw(st.integers(0, 3)) == 0 else ""
            if draw(st.integers(0, 5)) == 0:
                more += ", deletion_policy: Retain"
            resources[name] = f"{{type: {kind}, properties: {{{said}}}{more}}}"
    return resources


def template(resources: Mapping[str, str]) -> str:
    lines = [f"  {name}: {said}" for name, said in resources.items()]
    return "\n".join(
        ["heat_template_version: wallaby", "resources:" if lines else "resources: {}", *lines, ""]
    )


class Stack:
    """A stack with a history, whose every update is preceded by a dry run."""

    def __init__(self, resources: Mapping[str, str]) -> None:
        self.site = Plain.site = Site()
        self.world = World(types=TYPES)
        self.world.create(template(resources))
        self.world.settle()

    @property
    def rows(self) -> list[ResourceRow]:
        """The rows of what was begun, and is not being deleted."""
        found = self.world.store.stacks.resources(self.world.store.stacks.find("s", project="default").id)
        return [row for row in found if row.action not in ("INIT", "DELETE")]

    def row(self, name: str) -> ResourceRow | None:
        """Return the youngest row of a name."""
        return max(
            (row for row in self.rows if row.name == name), key=lambda row: row.created_at, default=None
        )

    def told(self, source: str, *, refresh: bool) -> dict[str, list[ResourcePlan]]:
        """Return what a dry run says of each name."""
        stack = self.world.store.stacks.find("s", project="default")
        job = StackJob(name="s", template=source, refresh=refresh)
        types = self.world.checker._types
        compared = compare(self.world.store, stack, job, types, Settings())
        plan = DryRun(compared, types, Limits(), self.world.store.templates.file).plan("")
        told: dict[str, list[ResourcePlan]] = {}
        for each in plan.resources:
            told.setdefault(each.name, []).append(each)
        return told

    def update(self, resources: Mapping[str, str], *, refresh: bool = False) -> None:
        """Update the stack, and compare what was said with what is done."""
        source = template(resources)
        told = self.told(source, refresh=refresh)
        self.site.log.clear()
        self.site.failing.clear()
        before = {row.id: row for row in self.rows}
        self.world.update(source, refresh=refresh)
        self.world.settle()
        is_failed = self.world.state() == "UPDATE_FAILED"
        plans = [each for of_name in told.values() for each in of_name]
        may_fail = any(
            "REFUSE" in (each.action, *each.may) or "needs_replace" in each.reason for each in plans
        )
        assert not is_failed or may_fail, self.world.store.stacks.find("s", project="default").reason
        done: dict[str, set[str]] = {}
        for action, name in self.site.log:
            done.setdefault(name, set()).add(action)
        for each in plans:
            if each.action != "DELETE":
                self._compare(each, done.get(each.name, set()) - {"delete"}, is_failed=is_failed)
        assert {name for name, what in done.items() if what} <= told.keys()
        # The dry run named each resource that the update deleted.
        gone = before.keys() - {row.id for row in self.rows}
        for row in map(before.get, gone):
            assert row is not None
            assert {"DELETE", "REPLACE", "CREATE"} & {
                action for each in told[row.name] for action in (each.action, *each.may)
            }, (row, told[row.name])
        for row in self.rows:
            if row.id in before and row.metadata != before[row.id].metadata:
                (each,) = (each for each in told[row.name] if each.action != "DELETE")
                assert {"UPDATE", "CREATE"} & {each.action, *each.may}, each

    @staticmethod
    def _compare(told: ResourcePlan, done: set[str], *, is_failed: bool) -> None:
        actions = {told.action, *told.may}
        event(" ".join([told.action, *told.may]))
        assert not told.may or "because" in told.reason or "only if" in told.reason, told
        meant = [DONE[action] for action in actions if action in DONE]
        if is_failed or ("UPDATE" in actions and not any(change.is_certain for change in told.changes)):
            # Not begun; or nothing of the object changes, but its state or its metadata.
            meant.append(set())
        assert done in meant, (told, done)

    def disturb(self, wrong: str, name: str, resources: Mapping[str, str]) -> None:
        """Let something happen to a stack."""
        row = self.row(name)
        if row is None:
            return
        stack = self.world.store.stacks.find("s", project="default")
        there = self.site.objects.get(str(row.physical_id))
        if wrong == "unhealthy":
            mark_unhealthy(self.world.store, stack, name, reason="it hums")
        elif wrong in ("check", "suspend"):
            self.site.failing.add((wrong, name))
            getattr(self.world, wrong)()
            self.world.settle()
            if wrong == "suspend":
                self.world.resume()
                self.world.cancel()
                self.world.settle()
        elif wrong == "changed by others" and there is not None:
            there["free"] = "odd"
        elif wrong == "checked":
            self.world.check()
            self.world.settle()
        elif wrong in ("update", "create"):
            self.site.failing.add((wrong, name))
            self.world.update(template(resources))
            self.world.settle()
        elif wrong == "interrupted":
            self.site.slow.update(NAMES)
            self.world.update(template(resources))
            for _ in range(len(self.world.messages)):
                self.world.deliver()


WRONGS = (
    "",
    "unhealthy",
    "check",
    "suspend",
    "changed by others",
    "checked",
    "update",
    "create",
    "interrupted",
)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    for world in list(World.open):
        world.close()


@given(data=st.data())
@settings(max_examples=examples(25), deadline=None)
def test_a_dry_run_never_disagrees_with_the_update(data: st.DataObject) -> None:
    resources = data.draw(definitions())
    stack = Stack(resources)
    try:
        for _ in range(data.draw(st.integers(1, 4))):
            wrong, name = data.draw(st.sampled_from(WRONGS)), data.draw(st.sampled_from(NAMES))
            with suppress(Conflict):
                stack.disturb(wrong, name, data.draw(definitions(resources)))
            stack.site.failing.clear()
            resources = data.draw(definitions(resources))
            stack.update(resources, refresh=data.draw(st.integers(0, 3)) == 0)
    finally:
        stack.world.close()
