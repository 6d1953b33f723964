"""Each dependent receives the attributes that its definition refers to, and no others."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.definition import NodeData
from orchestrator.model.codec import Codec
from orchestrator.model.messages import CheckOrder
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.store.nodes.claims import Claim
from tests.scenarios.world import World

#: A reference to an attribute, as the arguments of ``get_attr`` after the resource's name.
Path = tuple[str | int, ...]
#: What each resource receives: of each of its requirements, the values of attributes.
Received = Mapping[str, frozenset[Path]]

VALUES: dict[str, Any] = {"text": "t", "map": {"x": "one", "y": {"z": "two"}}, "list": ["first", "second"]}
PATHS: tuple[Path, ...] = (
    ("text",),
    ("map",),
    ("map", "x"),
    ("map", "y", "z"),
    ("map", "none"),
    ("list", 1),
    ("show",),
    (),
)


class Reader(Resource):
    """Records the attributes of other resources that reached it."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "value": Property(type=PropertyType.ANY, update_allowed=True),
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {name: Attribute(name) for name in VALUES}
    #: By resource, newest last.
    received: ClassVar[dict[str, list[Received]]] = {}

    def handle_create(self) -> None:
        self.state.physical_id = self.state.uuid
        self.record()

    def handle_update(self, changes: Any) -> None:
        del changes
        self.record()

    def record(self) -> None:
        """Record what this resource may see of others."""
        present = {
            name: frozenset({*proxy.data.attributes, *proxy.data.unread} if proxy.data else ())
            for name, proxy in self.stack.resources.items()
        }
        self.received.setdefault(self.name, []).append(present)

    def attribute(self, name: str) -> Any:
        if name == "list" and self.properties["value"]["salt"] == "broken":
            raise ValueError("it has none")
        return VALUES[name]


class Scout(Reader):
    """Reads an attribute of the resources that it refers to, besides those of the template."""

    reads = frozenset({"text"})


#: A resource: its type, whether the text in it changes, and what it refers to of each earlier one.
Wanted = tuple[str, str, Mapping[str, frozenset[Path | str]]]
Definition = Mapping[str, Wanted]


@st.composite
def definitions(draw: st.DrawFn, most: int = 5) -> Definition:
    """Return some resources, each of which refers to attributes, ids or only the existence of earlier ones."""
    names = [f"r{number}" for number in range(draw(st.integers(2, most)))]
    kinds: st.SearchStrategy[Path | str] = st.sampled_from([*PATHS, "get_resource", "depends_on"])
    found: dict[str, Wanted] = {}
    for position, name in enumerate(names):
        others = draw(st.frozensets(st.sampled_from(names[:position]), max_size=3)) if position else ()
        references = st.frozensets(kinds, min_size=1, max_size=3)
        wanted: Mapping[str, frozenset[Path | str]] = {other: draw(references) for other in sorted(others)}
        salt = draw(st.sampled_from(["a", "b", "broken"]))
        found[name] = (draw(st.sampled_from(["Reader", "Scout"])), salt, wanted)
    return found


def written(definition: Definition, asked: frozenset[tuple[str, Path]] = frozenset()) -> str:
    """Return the template; its outputs refer to ``asked``."""
    resources = {}
    for name, (kind, salt, wanted) in definition.items():
        values: list[Any] = []
        for other, kinds in wanted.items():
            values += [
                {"get_attr": [other, *path]} for path in sorted(kinds, key=repr) if isinstance(path, tuple)
            ]
            values += [{"get_resource": other}] * ("get_resource" in kinds)
        after = [other for other, kinds in wanted.items() if "depends_on" in kinds]
        properties = {"value": {"salt": salt, "of": values}}
        resources[name] = {"type": kind, "depends_on": after, "properties": properties}
    outputs = {
        f"o{number}": {"value": {"get_attr": [name, *path]}}
        for number, (name, path) in enumerate(sorted(asked, key=repr))
        if name in definition
    }
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources, "outputs": outputs})


def needed(definition: Definition, name: str) -> Received:
    """Return what a resource is to receive by its definition."""
    kind, _, wanted = definition[name]
    found = {}
    for other, kinds in wanted.items():
        paths = {(path or ("*",)) for path in kinds if isinstance(path, tuple)}
        refers = bool(paths) or "get_resource" in kinds
        found[other] = frozenset(paths | ({("text",)} if kind == "Scout" and refers else set()))
    return found


@pytest.fixture(autouse=True)
def nothing_received() -> None:
    Reader.received.clear()


asked_by_outputs = st.frozensets(
    st.tuples(st.sampled_from(["r0", "r1", "r2"]), st.sampled_from(PATHS)), max_size=3
)


@given(
    before=definitions(), after=definitions(), asked=asked_by_outputs, lost=st.frozensets(st.integers(0, 12))
)
def test_a_resource_receives_what_its_definition_refers_to_and_no_more(
    before: Definition,
    after: Definition,
    asked: frozenset[tuple[str, Path]],
    lost: frozenset[int],
) -> None:
    world = World({"Reader": Reader, "Scout": Scout})
    for definition, begin in ((before, world.create), (after, world.update)):
        Reader.received.clear()
        begin(written(definition, asked))
        for number in range(20):
            # The sweep publishes the orders of lost messages again.
            if world.messages and number in lost:
                world.messages.pop()
            elif world.messages:
                world.deliver()
        world.settle()
        for name, all_received in Reader.received.items():
            for received in all_received:
                assert received == needed(definition, name), name
    world.close()


def attributes_in(order: CheckOrder) -> dict[str, list[Any]]:
    """Return the attributes in a message, by resource."""
    found = [NodeData.from_wire(Codec().unpack(packed, ())) for packed in order.node_data or () if packed]
    return {data.name: sorted(data.attributes, key=repr) for data in found}


def test_a_message_has_no_attribute_that_only_another_dependent_reads() -> None:
    world = World({"Reader": Reader})
    definition: Definition = {
        "r0": ("Reader", "a", {}),
        "r1": ("Reader", "a", {"r0": frozenset({("text",)})}),
        "r2": ("Reader", "a", {"r0": frozenset({("map", "x")})}),
        "r3": ("Reader", "a", {"r0": frozenset({"depends_on"})}),
    }
    world.create(written(definition))
    sent: dict[str, dict[str, list[Any]]] = {}
    inputs = world.store.nodes.inputs

    def watched(claim: Claim) -> list[Any]:
        sent[claim.order.key] = attributes_in(claim.order)
        return inputs(claim)

    vars(world.store.nodes)["inputs"] = watched
    world.settle()
    assert sent == {"r0": {}, "r1": {"r0": [("text",)]}, "r2": {"r0": [("map", "x")]}, "r3": {"r0": []}}


def test_what_more_than_a_message_holds_is_cut_to_what_is_read_too() -> None:
    world = World({"Reader": Reader})
    many: dict[str, Wanted] = {f"r{number}": ("Reader", "a", {}) for number in range(70)}
    some = {name: frozenset[Path | str]({("text",) if name == "r7" else "depends_on"}) for name in many}
    asked = frozenset({(name, ("map",)) for name in many})
    definition = {**many, "last": ("Reader", "a", some)}
    world.create(written(definition, asked))
    world.settle()
    (received,) = Reader.received["last"]
    assert received == needed(definition, "last")
