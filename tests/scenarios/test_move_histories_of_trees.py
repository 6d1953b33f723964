"""Any updates that move between stacks of a tree, in any order, interrupted or dying anywhere: what is wanted stays."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.messages import CancelJob, EnvironmentSource, StackJob
from orchestrator.store.stacks.stacks import StackRow
from tests.scenarios.commands import crashes
from tests.scenarios.history import PLAYED, History

#: The stacks: the outermost one, two nested in it, and one nested in the first of these.
STACKS = ("", "one/", "two/", "one/in/")
paths = st.builds(lambda stack, name: f"{stack}{name}", st.sampled_from(STACKS), st.sampled_from("abc"))
#: What resources are, by their paths: a value, which changes in place, or none if they have to go.
Definition = Mapping[str, str]
changes = st.dictionaries(paths, st.sampled_from(["s", "l", ""]), max_size=2)
HEAD = "heat_template_version: 2021-04-16\nresources:\n"


@dataclass(frozen=True)
class Kept:
    """An object that every definition since the stack was complete wants as it is."""

    physical_id: str
    #: The path when the stack was complete, and by the definition that was asked for last.
    complete: str
    asked: str


def source_of(definition: Definition, stack: str) -> str:
    """Return the template of a stack of the tree."""
    lines = []
    for path, size in sorted(definition.items()):
        outer, _, name = path.rpartition("/")
        if (f"{outer}/" if outer else "") == stack:
            lines.append(f"  {name}: {{type: Cloud::Object, properties: {{value: v, size: {size}}}}}\n")
    lines += [f"  {name}: {{type: {file}}}\n" for name, file in nested_in(definition, stack)]
    return HEAD.removesuffix("resources:\n") if not lines else HEAD + "".join(lines)


def nested_in(definition: Definition, stack: str) -> list[tuple[str, str]]:
    """Return the nested stacks in a stack that have something in them: the names, and their files."""
    inner = [each for each in STACKS if each.startswith(stack) and each.count("/") == stack.count("/") + 1]
    return [
        (each.split("/")[-2], f"{each.replace('/', '_')}.yaml")
        for each in inner
        if any(path.startswith(each) for path in definition)
    ]


class Moving(History):
    """One tree's history, and the objects that must be there."""

    refusals = (Conflict, InvalidInput)

    def __init__(self) -> None:
        super().__init__()
        self.complete: Definition = {}
        self.asked: Definition = {}
        self.kept: list[Kept] = []

    @initialize(definition=st.dictionaries(paths, st.sampled_from("sl"), max_size=5))
    def create(self, definition: Definition) -> None:
        self.complete = self.asked = definition
        self.world.coordinator.create(self._job_of(definition))
        self.rest()

    @rule(
        changes=changes,
        moved=st.lists(st.tuples(st.integers(0, 11), paths), max_size=3),
        rollback=st.booleans(),
        crash=crashes,
    )
    def update(
        self,
        changes: dict[str, str],
        moved: list[tuple[int, str]],
        rollback: bool,
        crash: int | None,
    ) -> None:
        base, kept = self._base()
        wanted = {path: size for path, size in {**base, **changes}.items() if size}
        entries: dict[str, str] = {}
        for number, target in moved:
            source = sorted(base)[number % len(base)] if base else ""
            if source in wanted and target not in {*base, *wanted, *entries.values()}:
                wanted[target] = wanted.pop(source)
                entries[source] = target
        environment = "".join(f"- {{from: {source}, to: {target}}}\n" for source, target in entries.items())
        job = replace(
            self._job_of(wanted),
            rollback=rollback,
            environments=(EnvironmentSource(file="env.yaml", source=f"moved:\n{environment}"),),
        )
        if not self._given(lambda: self.world.coordinator.update(job), crash):
            event("refused")
            return
        event("moved" if any("/" in source + target for source, target in entries.items()) else "updated")
        self.kept = [
            replace(each, asked=entries.get(each.asked, each.asked))
            for each in kept
            if entries.get(each.asked, each.asked) in wanted
        ]
        self.asked = wanted
        self._check()

    @rule(rollback=st.booleans(), crash=crashes)
    def cancel(self, rollback: bool, crash: int | None) -> None:
        job = CancelJob(name="s", rollback=rollback, job_id=self._job_id())
        self._given(lambda: self.world.coordinator.cancel(job), crash)

    @rule(name=st.sampled_from("abc"), times=st.sampled_from([-1, 1, 3]))
    def fault(self, name: str, times: int) -> None:
        """Let making a resource fail; what is there is not made."""
        self.world.cloud.failing[name] = times

    @rule()
    def luck(self) -> None:
        self.world.cloud.failing.clear()

    @rule(name=st.sampled_from("abc"))
    def slow(self, name: str) -> None:
        self.world.cloud.polls[name] = 3

    @rule()
    def rest(self) -> None:
        super().rest()
        base, kept = self._base()
        if self._stack().status != "COMPLETE":
            return
        found = self._present()
        assert found.keys() == base.keys()
        for each in kept:
            assert found[each.asked] == each.physical_id
        assert sorted(self.world.cloud.objects) == sorted(found.values())
        self.complete = self.asked = base
        self.kept = [Kept(physical_id, path, path) for path, physical_id in found.items()]

    def _present(self) -> dict[str, str]:
        """Return the id of each object, by the path of its resource."""
        store = self.world.store
        root = self._stack()
        names = {row.id: row for row in store.stacks.resources_in_tree(root.id)}
        prefixes = {root.id: ""}
        for each in store.families.in_tree(root.id):
            if each.parent_id is not None:
                prefixes[each.id] = f"{prefixes[each.parent_id]}{names[each.parent_resource or ''].name}/"
        return {
            f"{prefixes[row.stack_id]}{row.name}": row.physical_id or ""
            for row in names.values()
            if row.id not in prefixes and row.replaced_by is None and row.action != "DELETE"
        }

    def _stack(self) -> StackRow:
        return self.world.store.stacks.find("s", project="default")

    def _base(self) -> tuple[Definition, list[Kept]]:
        """Return the definition that the stack has now, and what is kept by its names."""
        if self._stack().action != "ROLLBACK":
            return self.asked, self.kept
        return self.complete, [replace(each, asked=each.complete) for each in self.kept]

    def _check(self) -> None:
        for each in self.kept:
            assert each.physical_id in self.world.cloud.objects, f"{each.asked} is gone"

    def _job_of(self, definition: Definition) -> StackJob:
        files = {f"{stack.replace('/', '_')}.yaml": source_of(definition, stack) for stack in STACKS[1:]}
        used = {file for stack in STACKS for _, file in nested_in(definition, stack)}
        return StackJob(
            name="s",
            template=source_of(definition, ""),
            files={file: text for file, text in files.items() if file in used},
            job_id=self._job_id(),
        )


TestMovingInTrees = Moving.TestCase
TestMovingInTrees.settings = PLAYED
