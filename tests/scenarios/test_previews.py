"""A dry run says of each resource what the update then does to it, and the plan visits what is to be done."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.health import mark_unhealthy
from orchestrator.engine.update_preview import DryRun
from orchestrator.model.messages import StackJob
from orchestrator.planning.comparing import compare
from orchestrator.planning.comparison import Comparison
from orchestrator.plugins.constraints import Length
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure, Wait
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.store import tables
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.views.stacks import ResourcePlan
from tests.scenarios.world import World
from tests.thoroughness import examples


def text(**more: Any) -> Property:
    return Property(type=PropertyType.STRING, default="", **more)


class Logged(Resource):
    """A type that says what was done to its objects, and decides by its properties what else it says."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "free": text(update_allowed=True),
        "short": text(update_allowed=True, constraints=(Length(max=3),)),
        "held": text(),
        "fixed": text(immutable=True),
        #: Another object is needed to make it larger.
        "odd": text(update_allowed=True),
        #: What failed is mended in place unless this is empty.
        "mends": text(update_allowed=True),
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {"free": Attribute(description="a property")}
    #: What was done: the action, the name, and the row.
    log: ClassVar[list[tuple[str, str, str]]] = []
    #: What fails next: the action and the name.
    failing: ClassVar[set[tuple[str, str]]] = set()

    def _do(self, action: str) -> None:
        if (action, self.name) in self.failing:
            self.failing.remove((action, self.name))
            raise ResourceFailure("no luck")
        self.log.append((action, self.name, self.state.uuid))

    def handle_create(self) -> None:
        self.state.physical_id = self.state.uuid
        self._do("create")

    def handle_update(self, changes: PropertyChanges) -> None:
        self._do("update")

    def handle_delete(self) -> None:
        self._do("delete")

    def handle_check(self) -> None:
        self._do("check")

    def handle_suspend(self) -> None:
        self._do("suspend")

    def needs_replace(self, changes: PropertyChanges) -> bool:
        return bool(changes.after["odd"] > (changes.before.get("odd") or ""))

    def needs_replace_failed(self) -> bool:
        return not self.properties["mends"]

    def attribute(self, name: str) -> Any:
        return self.properties[name]


class Successor(Logged):
    """The same under a new name."""


class Other(Logged):
    """Another type."""

    properties_schema = dict(Logged.properties_schema)

    def needs_replace_failed(self) -> bool:
        return True


class Seen(Other):
    """One that can be looked at."""

    def observe(self) -> Mapping[str, Any]:
        return {}


class Renewed(Logged):
    """A type of which every update makes another one, and that takes its time."""

    renewed_by_updates: ClassVar[bool] = True

    def check_create_complete(self, token: Any) -> bool | Wait:
        return Wait(1) if self.now < self.state.started_at + 2 else True


Logged.support_status = SupportStatus(status=Support.DEPRECATED, substitute="Successor")
TYPES = {"Logged": Logged, "Successor": Successor, "Other": Other, "Seen": Seen, "Renewed": Renewed}
FILES = {"inner.yaml": "heat_template_version: wallaby\nresources: {x: {type: Other}}\n"}
#: What happens in an update that goes as it was told.
DONE = {
    "UNCHANGED": set(),
    "UPDATE": {"update"},
    "REPLACE": {"create", "delete"},
    "CREATE": {"create"},
    "DELETE": {"delete"},
    "REFUSE": set(),
}


class Told:
    """A stack, and what was said that an update would do to it."""

    def __init__(self, **resources: str) -> None:
        Logged.log.clear()
        Logged.failing.clear()
        self.world = World(types=TYPES)
        self.name = "s"
        #: What jobs say besides.
        self.job: dict[str, Any] = {}
        #: The names under which something is told to be deleted.
        self.deleted: set[str] = set()
        self.id = self.world.create(template(**resources), files=FILES)
        self.world.settle()

    @property
    def stack(self) -> StackRow:
        return self.world.store.stacks.find(self.name, project="default")

    def update(self, **resources: str) -> None:
        self.world.update(template(**resources), self.name, files=FILES, **self.job)
        self.world.settle()

    def compared(self, source: str) -> Comparison:
        job = StackJob(name=self.name, template=source, files=FILES, **self.job)
        return compare(self.world.store, self.stack, job, self.world.checker._types, Settings())

    def preview(self, **resources: str) -> dict[str, ResourcePlan]:
        compared = self.compared(template(**resources))
        run = DryRun(compared, self.world.checker._types, Limits(), self.world.store.templates.file)
        planned = run.plan("").resources
        self.deleted = {each.name for each in planned if each.action == "DELETE"}
        # What another has taken the place of comes last.
        told = {each.name: each for each in reversed(planned)}
        for name, match in compared.matches.items():
            # What is clean is left alone as long as what it depends on is.
            assert not match.clean or told[name].action in ("UNCHANGED", "DEPENDS"), told[name]
        return told

    def agrees(self, **resources: str) -> dict[str, str]:
        """Return what is said that an update does, and see that it is what it does."""
        told = self.preview(**resources)
        Logged.log.clear()
        Logged.failing.clear()
        self.update(**resources)
        refused = {name for name, each in told.items() if each.action == "REFUSE"}
        assert self.world.state(self.name) == ("UPDATE_FAILED" if refused else "UPDATE_COMPLETE"), told
        done: dict[str, set[str]] = {}
        for action, name, _ in Logged.log:
            done.setdefault(name, set()).add(action)
        for name, each in told.items():
            meant = DONE[each.action]
            if each.action == "UPDATE" and not each.changes:
                # Nothing of the object changes, but its state, its metadata or its type.
                meant = set()
            meant = meant | ({"delete"} if name in self.deleted else set())
            if refused:
                assert done.get(name, set()) <= meant, each
            else:
                assert done.get(name, set()) == meant, each
        return {name: each.action for name, each in told.items()}


def template(**resources: str) -> str:
    lines = [
        f"  {name}: {{{said if 'type:' in said else f'type: Logged, {said}'}}}"
        for name, said in resources.items()
    ]
    return "\n".join(
        ["heat_template_version: wallaby", "resources:" if lines else "resources: {}", *lines, ""]
    )


def of(kind: str = "Logged", **properties: str) -> str:
    said = ", ".join(f"{name}: {value}" for name, value in properties.items())
    return f"type: {kind}, properties: {{{said}}}"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    for world in list(World.open):
        world.close()


# -- where a dry run and a worker once said different things -------------------------------------------------------


def test_what_a_type_replaces_is_told_as_a_replacement() -> None:
    told = Told(a=of(odd="a"))
    assert told.agrees(a=of(odd="b")) == {"a": "REPLACE"}
    assert told.agrees(a=of(odd="a")) == {"a": "UPDATE"}


def test_what_failed_and_its_type_mends_is_told_as_mended() -> None:
    told = Told(a=of(free="1", mends="yes"))
    Logged.failing.add(("update", "a"))
    told.update(a=of(free="2", mends="yes"))
    assert told.world.state() == "UPDATE_FAILED"
    assert told.agrees(a=of(free="2", mends="yes")) == {"a": "UPDATE"}


def test_what_failed_and_is_mended_may_need_another_one_for_its_properties() -> None:
    told = Told(a=of(free="1", mends="yes"))
    Logged.failing.add(("update", "a"))
    told.update(a=of(free="2", mends="yes"))
    assert told.agrees(a=of(free="2", held="x", mends="yes")) == {"a": "REPLACE"}


def test_what_could_not_be_suspended_is_resumed_and_not_replaced() -> None:
    told = Told(a=of("Other", free="1"))
    Logged.failing.add(("suspend", "a"))
    told.world.suspend()
    told.world.settle()
    assert told.world.state() == "SUSPEND_FAILED"
    told.world.resume()
    told.world.cancel()
    told.world.settle()
    assert told.world.store.stacks.resource(told.id, "a").action == "SUSPEND"
    assert told.agrees(a=of("Other", free="2")) == {"a": "UPDATE"}


def test_what_failed_its_check_and_cannot_be_looked_at_is_replaced() -> None:
    told = Told(a=of(free="1"), b=of(free="1"), c=of(free="1", mends="yes"))
    Logged.failing.update({("check", "a"), ("check", "b"), ("check", "c")})
    told.world.check()
    told.world.settle()
    assert told.agrees(a=of(free="1"), b=of(free="2"), c=of(free="1", mends="yes")) == {
        "a": "REPLACE",
        "b": "REPLACE",
        "c": "UNCHANGED",
    }


def test_what_stays_as_it_is_need_not_be_fit_to_be_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    resources = {"a": of("Other", free="long"), "b": of(free="{get_attr: [a, free]}")}
    told = Told(**resources)
    stricter = {**Logged.properties_schema, "free": text(update_allowed=True, constraints=(Length(max=3),))}
    monkeypatch.setattr(Logged, "properties_schema", stricter)
    assert told.agrees(**resources) == {"a": "UNCHANGED", "b": "UNCHANGED"}
    resources["b"] = of(free="{get_attr: [a, free]}", short="s")
    assert told.agrees(**resources) == {"a": "UNCHANGED", "b": "REFUSE"}


def test_what_is_made_of_a_value_that_is_there_and_unfit_is_refused() -> None:
    told = Told(a=of(free="long"), b=of(free="{get_attr: [a, free]}"))
    unfit = of(short="{get_attr: [a, free]}")
    assert told.agrees(a=of(free="long"), b=of(), c=unfit)["c"] == "REFUSE"
    # So is another one in the place of what failed.
    told = Told(a=of(free="long"), b=of(free="{get_attr: [a, free]}"))
    Logged.failing.add(("update", "b"))
    told.update(a=of(free="long"), b=of())
    assert told.agrees(a=of(free="long"), b=unfit)["b"] == "REFUSE"


def test_what_could_not_be_deleted_is_not_told_as_replaced() -> None:
    told = Told(a=of("Other"))
    Logged.failing.add(("delete", "a"))
    told.update()
    assert told.agrees(a=of()) == {"a": "CREATE"}


def test_a_look_at_what_cannot_be_looked_at_changes_nothing() -> None:
    told = Told(a=of(free="1"), b=of(free="1"))
    told.job = {"refresh": True}
    assert told.agrees(a=of(free="1"), b=of(free="2")) == {"a": "UNCHANGED", "b": "UPDATE"}


def test_what_is_being_made_of_the_same_definition_comes_to_its_end() -> None:
    told = Told()
    told.world.create(template(a=of("Renewed", free="1")), name="t")
    told.name = "t"
    told.world.deliver()
    assert told.world.state("t") == "CREATE_IN_PROGRESS"
    planned = told.preview(a=of("Renewed", free="1"))["a"]
    assert (planned.action, planned.reason) == ("UPDATE", "it is CREATE_IN_PROGRESS")
    assert told.preview(a=of("Renewed", free="2"))["a"].action == "REPLACE"
    Logged.log.clear()
    told.world.update(template(a=of("Renewed", free="1")), name="t")
    told.world.settle()
    assert Logged.log == []
    assert told.agrees(a=of("Renewed", free="1")) == {"a": "REPLACE"}


def test_what_is_not_ours_and_was_never_looked_at_is_created() -> None:
    told = Told()
    Logged.failing.add(("create", "a"))
    external = "type: Seen, external_id: there"
    told.update(a=of(), b=external)
    assert told.world.state() == "UPDATE_FAILED"
    assert told.preview(a=of(), b=external)["b"].action == "CREATE"


def test_what_may_be_refused_is_not_told_as_what_may_be_replaced() -> None:
    told = Told(a=of(free="1"), b=of(fixed="{get_attr: [a, free]}"))
    planned = told.preview(a=of(free="2"), b=of(fixed="{get_attr: [a, free]}"))["b"]
    assert planned.reason == (
        "only if what it depends on changes; "
        "may replace, because needs_replace of Logged is called once its properties are known: fixed; "
        "may be refused, because fixed may change, which is not allowed"
    )


def test_a_stack_in_which_something_is_wrong_is_told_as_changed() -> None:
    told = Told(a="type: inner.yaml")
    # As of what was on a node that is lost: the stacks around it are as they were.
    lost = {"action": "CHECK", "status": "FAILED", "unhealthy": True}
    with told.world.store.database.write() as connection:
        connection.execute(tables.resource.update().where(tables.resource.c.name == "x").values(**lost))
    assert told.preview(a="type: inner.yaml")["a"].action == "UPDATE"
    told.world.update(template(a="type: inner.yaml"), files=FILES)
    told.world.settle()
    assert [action for action, _, _ in Logged.log] == ["create", "create", "delete"]


# -- all together --------------------------------------------------------------------------------------------------

NAMES = ("a", "b", "c")
VALUES = st.sampled_from(["", "1", "2"])


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, str]:
    """Return resources all of whose values are known."""
    kinds = st.sampled_from(["Logged", "Logged", "Logged", "Successor", "Other", "Renewed"])
    resources: dict[str, str] = {}
    for name in NAMES:
        if draw(st.integers(0, 4)):
            properties = {each: repr(draw(VALUES)) for each in Logged.properties_schema}
            metadata = draw(st.sampled_from(["", ", metadata: {k: v}", ", metadata: {k: w}"]))
            resources[name] = of(draw(kinds), **properties) + metadata
    return resources


@st.composite
def changes(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, str]]:
    """Return two definitions, of which the second has some resources of the first."""
    before, after = draw(definitions()), draw(definitions())
    for name in after:
        if name in before and draw(st.booleans()):
            after[name] = before[name]
    for definition in (before, after):
        for name, other in ("b", "a"), ("c", "a"), ("c", "b"):
            if name in definition and other in definition and draw(st.booleans()):
                said, _, others = definition[name].partition(", depends_on: ")
                definition[name] = f"{said}, depends_on: [{others.strip('[]')}{', ' * bool(others)}{other}]"
    return before, after


WRONGS = st.sampled_from(["", "check", "unhealthy", "update", "create", "suspend"])


def go_wrong(told: Told, resources: dict[str, str], name: str, wrong: str) -> None:
    """Let something happen to a resource."""
    if wrong == "unhealthy":
        mark_unhealthy(told.world.store, told.stack, name, reason="it hums")
    elif wrong in ("check", "suspend"):
        Logged.failing.add((wrong, name))
        getattr(told.world, wrong)()
        told.world.settle()
        if wrong == "suspend":
            told.world.resume()
            told.world.cancel()
            told.world.settle()
    elif wrong in ("update", "create"):
        Logged.failing.add((wrong, name))
        other = (
            of("Logged", free="other", odd="9")
            if wrong == "create"
            else resources[name].replace("free: '", "free: 'o")
        )
        told.update(**{**resources, name: other})


@given(change=changes(), name=st.sampled_from(NAMES), wrong=WRONGS, refresh=st.booleans())
@settings(max_examples=examples(40), deadline=None)
def test_dry_run_plan_and_worker_agree(
    change: tuple[dict[str, str], dict[str, str]], name: str, wrong: str, refresh: bool
) -> None:
    before, after = change
    told = Told(**before)
    try:
        if name in before:
            go_wrong(told, before, name, wrong)
        told.job = {"refresh": refresh}
        told.agrees(**after)
    finally:
        told.world.close()
