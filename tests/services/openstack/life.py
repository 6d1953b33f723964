"""The whole life of a resource of each type: what a stack does with it, and what its service has of it meanwhile."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from isotherm.testing import Engine
from isotherm.testing.resources import NAME
from orchestrator.engine.health import mark_unhealthy
from orchestrator.model.messages import AdoptJob, DeleteJob
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges
from workers.resources.openstack.tokens import token_of

#: What is done with a resource, in this order.
STAGES: Final = (
    *("created", "checked", "updated", "replaced", "replaced by its like", "rolled back", "adopted"),
    "deleted",
)


class Life:
    """A stack with one resource, and what a test of its type says of that."""

    def __init__(self, case: Any, engine: Engine) -> None:
        self._case, self._engine = case, engine
        self._type: Any = case.type
        #: By stage: ``yes``, or why there is none.
        self.stages: dict[str, str] = {}
        self._changes: Mapping[str, Any] = {**case.changes, **case.more_changes}
        #: How many claims were true.
        self.claims = 0
        #: The property that is not as at first.
        self._changed = ""
        #: How many objects there are, once it is made.
        self._objects = 0
        #: The row that made the object.
        self._maker = ""

    def live(self) -> None:
        """Do everything, and ask the service after each stage."""
        before = self._case.everything()
        self._is(self._engine.create("s", self._template("")), "CREATE_COMPLETE")
        self._maker = self._row.id
        self._lasts("created")
        self.stages["checked"] = "yes"
        for stage, act in (
            ("updated", self._update),
            ("replaced", self._replace),
            ("replaced by its like", self._replace_by_its_like),
        ):
            if not self._is_refused(stage):
                act()
                self._lasts(stage)
        self._roll_back()
        self._lasts("rolled back")
        if not self._is_refused("adopted"):
            self._adopt()
            self._lasts("adopted")
        last = self._row.physical_id
        self._claim(self._engine.delete("s") is None, "the stack is not gone")
        self._is_gone(last)
        left = self._case.everything() - before
        self._claim(not left, f"the deletion left {sorted(left)}")
        self.stages["deleted"] = "yes"

    def end(self) -> None:
        """Delete what is left of a life that failed."""
        with suppress(Exception):
            self._engine.delete("s")

    # -- the stages --------------------------------------------------------------------------------------------

    def _update(self) -> None:
        was, name = self._row, self._change(in_place=True)
        assert name, "no change is made in place: say in 'cannot' why"
        self._is(self._engine.update("s", self._template(name)), "UPDATE_COMPLETE", f"{name}: ")
        self._claim(self._row.id == was.id, f"{name} was changed, and another took its place")

    def _replace(self) -> None:
        was, name = self._row, self._change(in_place=False)
        if not name:
            # Something changes all the same: names may be unique in the cloud.
            name = "name" if "name" in self._changes and self._changed != "name" else self._other()
            self._mark_unhealthy()
        self._becomes_another(name, was)

    def _replace_by_its_like(self) -> None:
        was = self._row
        self._mark_unhealthy()
        self._becomes_another(self._changed, was)

    def _mark_unhealthy(self) -> None:
        stack = self._engine.store.stacks.find("s", project="default")
        mark_unhealthy(self._engine.store, stack, NAME, reason="")

    def _becomes_another(self, name: str, was: Any) -> None:
        self._is(self._engine.update("s", self._template(name)), "UPDATE_COMPLETE", f"{name}: ")
        self._claim(self._row.id != was.id, "it was not replaced")
        self._maker = self._row.id
        if self._row.physical_id != was.physical_id:
            self._is_gone(was.physical_id)

    def _roll_back(self) -> None:
        was, kept = self._row, self._changed
        rolled_back = self._engine.update_or_roll_back("s", self._template(self._other(), fails=True))
        self._changed = kept
        self._is(rolled_back, "ROLLBACK_COMPLETE")
        self._claim(self._row.id == was.id, "another is in its place")
        self._claim(self._row.physical_id == was.physical_id, "it is another object")

    def _adopt(self) -> None:
        was, exported = self._row, json.loads(json.dumps(self._engine.queries.export("s")))
        self._engine.run(DeleteJob(name="s", abandon=True))
        self._claim(not self._engine.queries.stacks(), "the stack is still there")
        self._engine.run(
            AdoptJob(name="s", template=self._template(self._changed), resources=exported["resources"])
        )
        self._is(self._engine.queries.stack("s"), "ADOPT_COMPLETE")
        self._claim(self._row.id != was.id, "it is the same row")
        self._claim(self._row.physical_id == was.physical_id, "it is another object")

    # -- what there is -----------------------------------------------------------------------------------------

    def _lasts(self, stage: str) -> None:
        """Find by a check, by the type and by the service that the object is there, as it is wanted."""
        self._is(self._engine.operate("CHECK", "s"), "CHECK_COMPLETE", f"{stage}: ")
        row = self._row
        resource: Any = self._engine.watch.last
        self._claim(resource is not None and resource.state.uuid == row.id, f"{stage}: another was checked")
        resource.changed()
        observed = resource.observe()
        self._claim(observed is not None, f"{stage}: it is gone")
        for name, value in observed.items() if isinstance(observed, Mapping) else ():
            wanted = resource.properties[name]
            self._claim(value == wanted, f"{stage}: {name} is {value!r}, expected {wanted!r}")
        if self._case.is_shown:
            self._is_shown(stage, self._case.asked(str(row.physical_id)))
        there = len(set(self._case.objects() or ()))
        self._objects = self._objects or there
        self._claim(there == self._objects, f"{stage}: there are {there} objects: expected {self._objects}")
        self.stages[stage] = "yes"

    def _is_shown(self, stage: str, shown: Mapping[str, Any] | None) -> None:
        self._claim(shown is not None, f"{stage}: the service does not have it")
        found: Mapping[str, Any] = shown or {}
        given = {**self._case.properties, **self._changed_to(self._changed)}
        if "name" in self._type.properties_schema and "name" in found:
            name, prefix = given.get("name"), "s-it-"
            is_right = found["name"] == name if name else found["name"].startswith(prefix)
            self._claim(is_right, f"{stage}: its name is {found['name']!r}, expected {name or prefix!r}")
        if given.get("tags") and "tags" in found:
            tags = set(found["tags"])
            self._claim(set(given["tags"]) <= tags, f"{stage}: its tags are {tags}, not {given['tags']}")
        if self._type.has_description and "description" in found:
            token = token_of(found["description"])
            self._claim(token == self._maker, f"{stage}: its token is {token}, expected {self._maker}")

    def _is_gone(self, object_id: str | None) -> None:
        if self._case.is_shown:
            shown = self._case.asked(str(object_id))
            self._claim(shown is None, f"the service still has {object_id}")

    # -- how ---------------------------------------------------------------------------------------------------

    @property
    def _row(self) -> Any:
        return self._engine.resource("s", NAME)

    def _changed_to(self, name: str) -> dict[str, Any]:
        return {name: self._changes[name]} if name else {}

    def _template(self, changed: str, *, fails: bool = False) -> str:
        """Return the template with one change; an object that is replaced stays until its user has the new one."""
        self._changed = changed
        template = json.loads(self._case._template())
        template["resources"][NAME]["properties"] |= self._changed_to(changed)
        properties = {"value": {"get_resource": NAME}, "fail": fails}
        template["resources"]["uses_it"] = {"type": "OS::Heat::TestResource", "properties": properties}
        return json.dumps(template)

    def _change(self, *, in_place: bool) -> str:
        """Return the first property that is changed in place, or whose change replaces; empty if there is none."""
        for name in self._changes:
            schema = self._type.properties_schema[name]
            stays = schema.update_allowed and not self._needs_replace(name)
            if name != self._changed and not schema.immutable and stays == in_place:
                return name
        return ""

    def _other(self) -> str:
        """Return another property to change than now; the empty name changes it back."""
        return "" if self._changed else next(iter(self._changes), "")

    def _needs_replace(self, name: str) -> bool:
        resource = self._engine.watch.last
        assert resource is not None
        if self._type.needs_replace is Resource.needs_replace:
            return False
        before = {**resource.properties, name: self._case.properties.get(name)}
        return resource.needs_replace(
            PropertyChanges(before=before, after={**before, name: self._changes[name]})
        )

    def _is_refused(self, stage: str) -> bool:
        cannot: Mapping[str, str] = self._case.cannot
        if stage in cannot:
            self.stages[stage] = cannot[stage]
        return stage in cannot

    def _is(self, stack: Any, state: str, words: str = "") -> None:
        self._claim(stack is not None, f"{words}the stack is gone")
        self._claim(stack.state == state, f"{words}{stack.state}, expected {state}: {stack.reason}")

    def _claim(self, is_true: bool, words: str) -> None:
        assert is_true, words
        self.claims += 1


def table(lives: list[tuple[str, Mapping[str, str], int]]) -> list[str]:
    """Return a table of lives: a type, its stages and the number of claims each; below it why some have no stage."""
    reasons = sorted({words for _, stages, _ in lives for words in stages.values() if words != "yes"})
    rows = [["type", *STAGES, "assertions"]]
    for name, stages, claims in sorted(lives):
        signs = {words: f"({number})" for number, words in enumerate(reasons, 1)} | {"yes": "yes"}
        rows.append([name, *(signs.get(stages.get(stage, ""), "-") for stage in STAGES), str(claims)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
    return [*lines, *(f"({number}) {words}" for number, words in enumerate(reasons, 1))]
