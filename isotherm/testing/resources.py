"""The tests of a resource type."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any, ClassVar
from unittest import SkipTest

import msgpack

from hooks.lifecycle import LifecyclePlugin
from hooks.values.texts import storable
from isotherm.testing.engine import Engine
from isotherm.testing.pages import undescribed
from orchestrator.config.settings import Settings
from orchestrator.documentation.example import Examples
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges, Wait
from orchestrator.views.stacks import StackView

ClientPluginsByName = Mapping[str, type[ClientPlugin]]
#: What the resource is called in the stacks of these tests.
NAME = "it"
#: A step of a deletion outside of the engine is asked so often at most.
_MOST_POLLS = 1_000


class ResourceConformance:
    """Derive from it, and say at least ``type`` and the ``properties`` that it needs.

    Of what is made outside only ``objects`` tells for sure: say it, and nothing is made twice or left behind unseen.
    What the outside needs is for fixtures of your own to set up; every test deletes what it makes.
    """

    #: The type that is tested.
    type: ClassVar[type[Resource]]
    properties: Mapping[str, Any] = {}
    #: By property, another value: each is an update by itself.
    changes: Mapping[str, Any] = {}
    #: Further resources of the template, by name, for properties to refer to.
    others: Mapping[str, Mapping[str, Any]] = {}
    #: By resource, a signal for it, which is given as soon as it is taken.
    signals: Mapping[str, Mapping[str, Any]] = {}
    #: What differs from the default settings, such as ``{"clients": {"shelf": {"directory": "/tmp/shelf"}}}``.
    settings: Mapping[str, Any] = {}
    #: Client plugins by name, where the package that brings them is not installed.
    clients: ClientPluginsByName = {}
    #: Lifecycle plugins, where the type goes by what they say.
    plugins: Sequence[LifecyclePlugin] = ()
    #: Whether it makes anything outside the engine, which then can be gone.
    exists_outside: bool = True
    #: How long, really, to wait before asking again whether something is complete.
    poll_seconds: float = 0.0

    def objects(self) -> Collection[str] | None:
        """Return what there is outside, by any names; None if the test cannot list them."""
        return None

    def snapshots(self) -> Collection[str] | None:
        """Return the ids of the snapshots that deletions have left behind; None where that cannot be told."""
        return None

    def discard(self, snapshot: str) -> None:
        """Delete a snapshot that a deletion has left behind."""

    # -- pages -------------------------------------------------------------------------------------------------

    def test_everything_has_a_description(self) -> None:
        """Pages say what the type, each property and each attribute is for."""
        missing = list(undescribed(self.type))
        assert not missing, f"without a description: {', '.join(missing)}"

    def test_the_example_is_valid_and_shows_the_type(self) -> None:
        """The example validates, so all of its properties are there."""
        if not self.type.example.strip():
            raise SkipTest("it has no example")
        types = {**ResourceTypes.load(), self._type_name: self.type}
        shown = Examples(types, Settings(**self.settings)).shows(self.type.example, self._type_name)
        assert shown, "'isotherm template validate' finds fault with it, or it has no resource of this type"

    # -- the world ---------------------------------------------------------------------------------------------

    def test_it_is_made_and_deleted(self) -> None:
        """What is made is there, can be stored, told and deleted."""
        with self._engine() as engine:
            before = self._there()
            made = engine.create("s", self._template(), **self.signals)
            self._is(made, "CREATE_COMPLETE")
            assert made is not None
            self._can_be_stored(engine)
            untold = [f"{each.key}: {each.error}" for each in made.outputs if each.error]
            assert not untold, f"attributes that cannot be read: {'; '.join(untold)}"
            self._is(engine.operate("CHECK", "s"), "CHECK_COMPLETE")
            self._is_gone(engine, before)

    def test_a_crash_makes_nothing_twice_and_loses_nothing(self) -> None:
        """Whenever the process dies while the stack is made or deleted, it ends as if none had died."""
        with self._engine() as engine:
            before = self._there()
            engine.create("s", self._template(), **self.signals)
            expected = len(self._there() - before)
            self._is_gone(engine, before)
            for words in self._crashes(engine):
                made = engine.create("s", self._template(), **self.signals)
                self._is(made, "CREATE_COMPLETE", words())
                row = engine.resource("s", NAME)
                tries = engine.watch.made.get(row.id, set())
                fault = f"{words()}it was made twice, as {sorted(tries)}: find must tell what there is"
                assert tries <= {row.physical_id}, fault
                there = self._there() - before
                assert len(there) == expected, f"{words()}there are {sorted(there)}: expected {expected}"
                self._is_gone(engine, before, words)

    def test_a_crash_of_an_update_leaves_what_was_wanted(self) -> None:
        """Whenever the process dies, the resource ends as the new definition says, and nothing is left of the old."""
        if not self.changes:
            raise SkipTest("no changes are given")
        with self._engine() as engine:
            before = self._there()
            engine.create("s", self._template(), **self.signals)
            expected = len(self._there() - before)
            wanted = [self._template(name) for name in self.changes]
            for words in self._crashes(engine):
                for template in (*wanted, self._template()):
                    self._is_updated(engine, template, words())
                    there = self._there() - before
                    assert len(there) == expected, f"{words()}there are {sorted(there)}: expected {expected}"
            self._is_gone(engine, before)

    def test_a_crash_of_a_deletion_leaves_one_snapshot_where_one_is_wanted(self) -> None:
        """By the deletion policy ``Snapshot``, one is left behind, whenever the process dies, and only one."""
        if not self.type.implements("handle_snapshot_delete"):
            raise SkipTest("its deletions leave no snapshots behind")
        with self._engine() as engine:
            before, kept = self._there(), set(self.snapshots() or ())
            for words in self._crashes_of_deletions(engine):
                self._is_gone(engine, before, words)
                left = set(self.snapshots() or ()) - kept
                for snapshot in left:
                    self.discard(snapshot)
                many = self.snapshots() is not None and len(left) != 1
                assert not many, f"{words()}the deletion left the snapshots {sorted(left)}: expected one"

    def test_a_crash_of_any_other_operation_does_no_harm(self) -> None:
        """Whenever the process dies while the stack is checked, suspended or resumed, another goes on."""
        with self._engine() as engine:
            before = self._there()
            engine.create("s", self._template(), **self.signals)
            for words in self._crashes(engine):
                for action in ("CHECK", "SUSPEND", "RESUME"):
                    self._is(engine.operate(action, "s"), f"{action}_COMPLETE", words())
            self._is_gone(engine, before)

    def test_each_change_does_what_the_schema_says(self) -> None:
        """A property that may be updated changes in place, unless ``needs_replace`` says so; others replace."""
        if not self.changes:
            raise SkipTest("no changes are given")
        with self._engine() as engine:
            before = self._there()
            engine.create("s", self._template(), **self.signals)
            for name in self.changes:
                self._changes_as_it_says(engine, name)
            self._is_gone(engine, before)

    def test_calls_that_come_twice_or_late_do_no_harm(self) -> None:
        """Whatever is begun twice is done once, and what is complete stays so when it is asked again."""
        with self._engine() as engine:
            before = self._there()
            engine.watch.twice = True
            self._is(engine.create("s", self._template(), **self.signals), "CREATE_COMPLETE")
            expected = self._there()
            for action in ("CHECK", "SUSPEND", "RESUME"):
                self._is(engine.operate(action, "s"), f"{action}_COMPLETE")
            for name in self.changes:
                self._is_updated(engine, self._template(name), "")
                self._is_updated(engine, self._template(), "")
            assert len(self._there()) == len(expected), f"there are {sorted(self._there())}"
            self._is_gone(engine, before)

    def test_what_is_gone_fails_its_check_and_can_be_deleted(self) -> None:
        """What somebody has taken away is missed by a check, and no trouble to a deletion."""
        if not self.exists_outside:
            raise SkipTest("it makes nothing outside")
        with self._engine() as engine:
            before = self._there()
            engine.create("s", self._template(), **self.signals)
            self._take_away(engine)
            if self._looks:
                self._is(engine.operate("CHECK", "s"), "CHECK_FAILED", "it is gone: ")
            self._is_gone(engine, before, lambda: "it is gone: ")

    # -- how -----------------------------------------------------------------------------------------------------

    @property
    def _type_name(self) -> str:
        installed = [name for name, kind in ResourceTypes.load().items() if kind is self.type]
        return installed[0] if installed else f"Testing::{self.type.__name__}"

    @property
    def _looks(self) -> bool:
        """Whether the type says of itself whether it is there."""
        return any(
            getattr(self.type, name) is not getattr(Resource, name) for name in ("observe", "handle_check")
        )

    def _engine(self) -> AbstractContextManager[Engine]:
        return closing(
            Engine(
                {self._type_name: self.type},
                settings=self.settings,
                clients=self.clients,
                plugins=self.plugins,
                poll_seconds=self.poll_seconds,
            )
        )

    def _there(self) -> set[str]:
        return set(self.objects() or ())

    def _template(self, changed: str = "", **more: Any) -> str:
        change = {changed: self.changes[changed]} if changed else {}
        properties = {**self.properties, **change}
        wanted = {name: {"value": {"get_attr": [NAME, name]}} for name in self.type.attributes_schema}
        resources = {**self.others, NAME: {"type": self._type_name, "properties": properties, **more}}
        template = {"heat_template_version": "2021-04-16", "resources": resources, "outputs": wanted}
        return json.dumps(template)

    def _crashes_of_deletions(self, engine: Engine) -> Iterator[Callable[[], str]]:
        """Yield once with all calls made twice, then as :meth:`_crashes`, with a new stack each time."""
        template = self._template(deletion_policy="Snapshot")
        engine.watch.twice = True
        self._is(engine.create("s", template, **self.signals), "CREATE_COMPLETE")
        yield lambda: "every call came twice: "
        engine.watch.twice = False
        calls = 0
        while not calls or engine.watch.crashed:
            engine.watch.disarm()
            self._is(engine.create("s", template, **self.signals), "CREATE_COMPLETE")
            engine.watch.crash_after(calls)
            yield lambda: f"the process died {engine.watch.crashed}: " if engine.watch.crashed else ""
            calls += 1
        engine.watch.disarm()

    def _crashes(self, engine: Engine) -> Iterator[Callable[[], str]]:
        """Yield once for each call of the type, with a crash set; what is yielded tells in words where it came."""
        calls = 0
        while True:
            engine.watch.crash_after(calls)
            yield lambda: f"the process died {engine.watch.crashed}: " if engine.watch.crashed else ""
            if not engine.watch.crashed:
                engine.watch.disarm()
                return
            calls += 1

    def _is(self, stack: StackView | None, state: str, words: str = "") -> None:
        assert stack is not None, f"{words}the stack is gone"
        assert stack.state == state, f"{words}{stack.state}, expected {state}: {stack.reason}"

    def _is_gone(self, engine: Engine, before: set[str], words: Callable[[], str] = str) -> None:
        left = engine.delete("s")
        said = words()
        assert left is None, f"{said}{left.state}: {left.reason}" if left else ""
        there = self._there() - before
        assert not there, f"{said}the deletion left {sorted(there)}"

    def _is_updated(self, engine: Engine, template: str, words: str) -> None:
        self._is(engine.update("s", template, **self.signals), "UPDATE_COMPLETE", words)

    def _changes_as_it_says(self, engine: Engine, name: str) -> None:
        schema, was = self.type.properties_schema[name], engine.resource("s", NAME)
        updated = engine.update("s", self._template(name), **self.signals)
        if schema.immutable:
            self._is(updated, "UPDATE_FAILED", f"{name} is immutable: ")
        else:
            self._is(updated, "UPDATE_COMPLETE", f"{name} was changed: ")
            row = engine.resource("s", NAME)
            replaced = row.id != was.id
            wanted = not schema.update_allowed or self._needs_replace(engine, name)
            words = "another took its place" if replaced else "it was changed in place"
            assert replaced == wanted, f"{name} has update_allowed={schema.update_allowed}, and {words}"
            self._is(engine.operate("CHECK", "s"), "CHECK_COMPLETE", f"{name} was changed: ")
        self._is_updated(engine, self._template(), f"{name} was changed back: ")

    def _needs_replace(self, engine: Engine, name: str) -> bool:
        resource = engine.watch.last
        if resource is None or self.type.needs_replace is Resource.needs_replace:
            return False
        after = {**resource.properties, name: self.changes[name]}
        before = {**after, name: self.properties.get(name)}
        return resource.needs_replace(PropertyChanges(before=before, after=after))

    def _can_be_stored(self, engine: Engine) -> None:
        row = engine.resource("s", NAME)
        kept = [row.physical_id, row.reference_id, dict(row.data), list(row.attributes), dict(row.metadata)]
        msgpack.packb(kept)
        odd = [text for text in _texts(kept) if text != storable(text)]
        assert not odd, f"texts with characters that no database keeps: {odd!r}"

    def _take_away(self, engine: Engine) -> None:
        """Delete the object by the type itself, behind the engine's back."""
        resource = engine.watch.last
        assert resource is not None, "none of its methods was called"
        token = resource.handle_delete()
        for _ in range(_MOST_POLLS):
            answer = resource.check_delete_complete(token)
            if answer is True:
                return
            if isinstance(answer, Wait):
                resource.now += answer.seconds
                token = answer.next_token(token)
        raise AssertionError("check_delete_complete is never complete")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(key)
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
