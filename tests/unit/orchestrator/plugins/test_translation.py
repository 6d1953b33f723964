"""Old names of properties, and names in place of ids."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.definition import UNKNOWN
from orchestrator.errors import PluginMistake
from orchestrator.plugins.asking import AmbiguousName, EntityNotFound
from orchestrator.plugins.constraints import Length, Range
from orchestrator.plugins.properties import Property, PropertyError, PropertyNotVerified, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.translation import Add, Delete, Replace, Resolve, Rule
from orchestrator.plugins.validating import property_faults, typed_properties, valid_properties

STRING, INTEGER, MAP, LIST = PropertyType.STRING, PropertyType.INTEGER, PropertyType.MAP, PropertyType.LIST
BOOLEAN = PropertyType.BOOLEAN

ID = "5d0b"


class Cloud:
    """Clients that know a few names, and remember what they were asked."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self._error = error

    def get(self, name: str) -> "Cloud":
        self.client = name
        return self

    @property
    def api_version(self) -> str:
        return ""

    def find(self, entity: str, name: str, *, use_cache: bool = False) -> str:
        assert use_cache, "a thousand resources may have this name"
        self.asked.append((self.client, entity, name))
        if self._error is not None:
            raise self._error
        known = {"public": ID, ID: ID}
        if name == "twice":
            raise AmbiguousName(entity, name, ("1", "2"))
        if name not in known:
            raise EntityNotFound(entity, name)
        return known[name]


class Server(Resource):
    """Has old names."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "network": Property(type=STRING, required=True, constraints=(Length(max=10),)),
        "network_id": Property(type=STRING),
        "size": Property(type=INTEGER, default=1, constraints=(Range(1, 9),)),
        "flavor": Property(type=STRING, constraints=(Length(max=2),)),
        "place": Property(type=MAP, schema={"zone": Property(type=STRING), "rack": Property(type=INTEGER)}),
        "zone": Property(type=STRING),
        "groups": Property(type=LIST, schema=Property(type=STRING)),
        "group": Property(type=STRING),
        "more_groups": Property(type=LIST),
        "ports": Property(
            type=LIST,
            schema=Property(
                type=MAP,
                schema={
                    "network": Property(type=STRING, required=True),
                    "uuid": Property(type=STRING),
                    "tags": Property(type=LIST),
                },
            ),
        ),
        "mode": Property(type=STRING, default="a"),
        "ignored": Property(type=INTEGER),
    }
    rules: ClassVar[Sequence[Rule]] = (
        Delete(path=("ignored",)),
        Resolve(path=("network",), client="cloud", entity="network"),
        Resolve(path=("groups",), client="cloud", entity="group"),
        Resolve(path=("ports", "network"), client="cloud", entity="network"),
        Replace(path=("network",), source=("network_id",)),
        Replace(path=("place", "zone"), source=("zone",)),
        Replace(path=("ports", "network"), sibling="uuid"),
        Add(path=("groups",), source=("group",)),
        Add(path=("groups",), source=("more_groups",)),
    )

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:
        literal = [Replace(path=("mode",), value="b")] if properties["size"] == 7 else []
        return [*cls.rules, *literal]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        if properties["network"] == "forbidden":
            raise PropertyError(("network",), "it is forbidden")


def valid(given: Mapping[str, Any], cloud: Cloud | None = None) -> dict[str, Any]:
    return valid_properties(Server, {"network": "n", **given}, clients=cloud)


def faults(given: Mapping[str, Any], cloud: Cloud | None = None) -> list[str]:
    return [str(fault) for fault in property_faults(Server, given, clients=cloud)]


@pytest.mark.parametrize("value", ["n", UNKNOWN], ids=["known", "unknown"])
def test_an_old_name_is_as_good_as_the_new_one_and_then_reads_as_null(value: Any) -> None:
    old, new = {"network_id": value}, {"network": value}
    assert faults(old) == []
    assert valid_properties(Server, old) == valid_properties(Server, new)
    assert valid_properties(Server, old)["network"] == value
    assert valid_properties(Server, old)["network_id"] is None
    assert old == {"network_id": value}, "what was given is nobody else's"


@pytest.mark.parametrize("value", ["n", UNKNOWN], ids=["known", "unknown"])
def test_both_names_at_once_are_refused_in_words(value: Any) -> None:
    sentence = (
        "network_id: it cannot be given together with network: they are two names of one thing "
        "(give only network, and take network_id away)"
    )
    assert faults({"network": "n", "network_id": value}) == [sentence]
    assert faults({"network": None, "network_id": value}) == []
    assert faults({"network": "n", "network_id": None}) == []
    assert typed_properties(Server, {"network": "n", "network_id": "m"})["network"] == "n", (
        "a deletion goes on"
    )


def test_what_is_required_is_missing_only_under_both_names() -> None:
    assert faults({}) == ["network: a value is required: expected a text, found nothing"]
    assert faults({"network_id": None}) == faults({})


def test_the_rules_of_the_new_name_hold_and_what_breaks_them_is_told_where_it_was_written() -> None:
    assert faults({"network_id": "much too long"}) == ["network_id: the length is 13; it must be at most 10"]
    assert faults({"network_id": []}) == ["network_id: expected a text, found a list"]
    assert faults({"network_id": "forbidden"}) == ["network_id: it is forbidden"]


def test_a_neighbour_in_each_item_of_a_list_is_an_old_name_too() -> None:
    ports = [{"uuid": "a"}, {"network": "b"}, UNKNOWN]
    assert faults({"network": "n", "ports": ports}) == []
    assert valid({"ports": ports})["ports"] == [
        {"network": "a", "uuid": None, "tags": None},
        {"network": "b", "uuid": None, "tags": None},
        UNKNOWN,
    ]
    assert faults({"network": "n", "ports": [{}, {"network": "a", "uuid": "b"}]}) == [
        "ports[0].network: a value is required: expected a text, found nothing",
        (
            "ports[1].uuid: it cannot be given together with ports[1].network: they are two names of one thing "
            "(give only ports[1].network, and take ports[1].uuid away)"
        ),
    ]


def test_an_old_name_may_stand_for_what_is_inside_a_map_now() -> None:
    inside = {"zone": "z", "rack": None}
    assert valid({"zone": "z"})["place"] == inside
    assert valid({"zone": "z", "place": {"rack": 3}})["place"] == {"zone": "z", "rack": 3}
    assert valid({})["place"] is None
    assert len(faults({"network": "n", "zone": "z", "place": {"zone": "y"}})) == 1


def test_items_are_added_to_a_list() -> None:
    assert valid({"groups": ["a"], "group": "b", "more_groups": ["c", "d"]})["groups"] == ["a", "b", "c", "d"]
    assert valid({"group": "b"})["groups"] == ["b"]
    assert valid({"group": "b"})["group"] is None
    assert valid({})["groups"] is None
    assert valid({"groups": UNKNOWN, "group": "b"})["groups"] is UNKNOWN


def test_a_literal_takes_the_place_of_whatever_was_given() -> None:
    assert valid({"size": 7, "mode": "c"})["mode"] == "b"
    assert valid({"size": 6, "mode": "c"})["mode"] == "c"


def test_what_is_deleted_reads_as_null_and_nothing_wrong_with_it_is_told() -> None:
    assert valid({"ignored": 3})["ignored"] is None
    assert valid({"ignored": "no number"})["ignored"] is None
    assert faults({"network": "n", "ignored": "no number"}) == []


def test_names_become_ids_once_each() -> None:
    cloud = Cloud()
    ports = [{"uuid": "public"}, {"network": ID}, {"network": UNKNOWN}]
    made = valid({"network": "public", "groups": ["public", "public"], "ports": ports}, cloud)
    assert made["network"] == ID
    assert made["groups"] == [ID, ID]
    assert [UNKNOWN if port is UNKNOWN else port["network"] for port in made["ports"]] == [ID, ID, UNKNOWN]
    asked = [("cloud", "network", "public"), ("cloud", "group", "public"), ("cloud", "network", ID)]
    assert cloud.asked == asked


def test_without_clients_names_stay_names() -> None:
    assert valid({"network": "public"})["network"] == "public"


def test_names_that_lead_nowhere_are_refused_where_they_were_written() -> None:
    cloud = Cloud()
    assert faults({"network_id": "nowhere", "groups": ["twice"]}, cloud) == [
        "network_id: there is no network 'nowhere'",
        "groups[0]: several have the name 'twice' (1, 2): give the id of the group that is meant",
    ]


def test_to_delete_or_compare_what_is_there_names_that_lead_nowhere_any_more_stay() -> None:
    made = typed_properties(Server, {"network": "nowhere", "groups": ["public"]}, clients=Cloud())
    assert (made["network"], made["groups"]) == ("nowhere", [ID])


def test_a_system_that_does_not_tell_makes_no_name_wrong() -> None:
    cloud = Cloud(ConnectionError("refused"))
    with pytest.raises(PropertyNotVerified) as caught:
        valid({"network": "public"}, cloud)
    sentence = "cannot look up the network that it names: ConnectionError: refused"
    assert (caught.value.fault.path, caught.value.fault.message) == (("network",), sentence)
    with pytest.raises(PropertyError, match="size: 10 is out of range"):
        valid({"network": "public", "size": 10}, cloud)


def test_translated_names_are_what_groups_see() -> None:
    class Grouped(Server):
        properties_groups_schema: ClassVar[Sequence[Mapping[str, Any]]] = (
            {"AT_MOST_ONE": [["groups"], ["flavor"]]},
        )

    assert property_faults(Grouped, {"network": "n", "group": "g"}) == []
    (fault,) = property_faults(Grouped, {"network": "n", "group": "g", "flavor": "f"})
    assert fault.message == "expected at most one of groups and flavor, found groups and flavor"


class Renamed(Resource):
    """Old names with defaults, and lists whose items have a schema."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "name": Property(type=STRING, required=True, constraints=(Length(max=5),)),
        "old_name": Property(type=STRING, default="web"),
        "size": Property(type=INTEGER, default=1),
        "old_size": Property(type=STRING, default="2"),
        "place": Property(type=MAP, schema={"zone": Property(type=STRING), "rack": Property(type=INTEGER)}),
        "zone": Property(type=STRING, default="z"),
        "ports": Property(
            type=LIST,
            schema=Property(
                type=MAP,
                schema={
                    "number": Property(type=INTEGER, constraints=(Range(max=9),)),
                    "port": Property(type=INTEGER, default=3),
                },
            ),
        ),
        "sizes": Property(type=LIST, schema=Property(type=INTEGER, constraints=(Range(max=9),))),
        "more_sizes": Property(type=LIST),
        "one_size": Property(type=PropertyType.ANY),
        "modes": Property(type=LIST, schema=Property(type=BOOLEAN)),
    }
    rules: ClassVar[Sequence[Rule]] = (
        Replace(path=("name",), source=("old_name",)),
        Replace(path=("size",), source=("old_size",)),
        Replace(path=("place", "zone"), source=("zone",)),
        Replace(path=("ports", "number"), sibling="port"),
        Add(path=("sizes",), source=("more_sizes",)),
        Add(path=("sizes",), source=("one_size",)),
        Add(path=("modes",), values=("true", "False")),
    )

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:
        return cls.rules


def renamed(**given: Any) -> dict[str, Any]:
    return valid_properties(Renamed, given)


def renamed_faults(**given: Any) -> list[str]:
    return [str(fault) for fault in property_faults(Renamed, given)]


def test_the_default_of_the_old_name_counts_where_neither_is_given() -> None:
    made = renamed()
    assert (made["name"], made["size"]) == ("web", 2)
    assert made["place"] == {"zone": "z", "rack": None}
    assert [made[old] for old in ("old_name", "old_size", "zone")] == [None, None, None]
    assert renamed_faults() == []
    assert renamed(name=None, old_name=None, place=None) == made


def test_a_given_name_comes_before_the_default_of_the_old_one() -> None:
    made = renamed(name="db", size=5, place={"zone": "y"})
    assert (made["name"], made["size"], made["place"]["zone"]) == ("db", 5, "y")
    assert renamed(place={"rack": 3})["place"] == {"zone": "z", "rack": 3}
    made = renamed(old_name="x", old_size="7", zone="w")
    assert (made["name"], made["size"], made["place"]["zone"]) == ("x", 7, "w")
    assert renamed_faults(name="db", size=5, place={"zone": "y"}) == []
    assert len(renamed_faults(name="db", old_name="x")) == 1


def test_the_default_of_the_old_name_counts_in_each_item_of_a_list() -> None:
    ports = renamed(ports=[{}, {"number": 4}, {"port": "5"}, UNKNOWN])["ports"]
    assert [port if port is UNKNOWN else port["number"] for port in ports] == [3, 4, 5, UNKNOWN]


def test_added_items_are_converted_by_the_schema_of_the_items() -> None:
    assert renamed(sizes=["1"], more_sizes=["2", UNKNOWN], one_size="3")["sizes"] == [1, 2, UNKNOWN, 3]
    assert renamed(more_sizes=[])["sizes"] == []
    assert renamed()["modes"] == [True, False]


def test_what_is_wrong_with_an_added_item_is_reported_where_it_was_written() -> None:
    assert renamed_faults(sizes=[1], more_sizes=[2, "x", 10]) == [
        "more_sizes[1]: expected a whole number, found 'x'",
        "more_sizes[2]: 10 is out of range; it must be at most 9",
    ]
    assert renamed_faults(one_size=10) == ["one_size: 10 is out of range; it must be at most 9"]


WRITTEN: list[Any] = ["a", "forbidden", "much too long", 7, [], ["b"], {"zone": "z"}]
VALUES = st.none() | st.just(UNKNOWN) | st.sampled_from(WRITTEN)
GIVEN = st.dictionaries(
    st.sampled_from(
        ["network", "network_id", "flavor", "size", "place", "zone", "groups", "group", "ignored"]
    ),
    VALUES,
)
PORTS = st.lists(
    st.just(UNKNOWN) | st.dictionaries(st.sampled_from(["network", "uuid", "tags"]), VALUES), max_size=3
)


@given(properties=GIVEN, ports=st.none() | PORTS)
def test_telling_every_fault_and_the_first_agree(properties: Mapping[str, Any], ports: Any) -> None:
    properties = {**properties, "ports": ports}
    kept = repr(properties)
    found = property_faults(Server, properties)
    if found:
        with pytest.raises(PropertyError) as caught:
            valid_properties(Server, properties)
        assert str(caught.value) == str(found[0])
    else:
        assert set(valid_properties(Server, properties)) == set(Server.properties_schema)
    assert repr(properties) == kept


@given(properties=GIVEN, value=st.just(UNKNOWN) | st.sampled_from(WRITTEN))
def test_an_old_name_may_be_exchanged_for_the_new_one(properties: Mapping[str, Any], value: Any) -> None:
    others = {name: each for name, each in properties.items() if not name.startswith("network")}
    old, new = {**others, "network_id": value}, {**others, "network": value}
    assert len(property_faults(Server, old)) == len(property_faults(Server, new))
    if not property_faults(Server, new):
        assert valid_properties(Server, old) == valid_properties(Server, new)


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ([Replace(path=("net",), source=("network_id",))], "Replace of net: there is no such property"),
        ([Replace(path=("network",), source=("net",))], "Replace of network: there is no property net"),
        (
            [Replace(path=("ports", "network"), sibling="id")],
            "Replace of ports.network: there is no property ports.id",
        ),
        (
            [Replace(path=("network",), source=("ports", "uuid"))],
            "Replace of network: its source is in a list, of which it may be any item",
        ),
        (
            [Add(path=("network",), values=("a",))],
            "Add of network: only a list can have more items, and this is a string",
        ),
    ],
    ids=["path", "source", "sibling", "list", "add"],
)
def test_a_rule_about_nothing_is_its_authors_mistake(rules: Sequence[Rule], sentence: str) -> None:
    with pytest.raises(PluginMistake) as caught:
        type("Made", (Server,), {"rules": rules})
    assert str(caught.value).endswith(sentence)
    with pytest.raises(PluginMistake):
        type("Made", (Server,), {"translation_rules": classmethod(lambda cls, properties: properties["no"])})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Add(path=("a",)),
        lambda: Add(path=("a",), values=("b",), source=("c",)),
        lambda: Replace(path=("a",)),
        lambda: Replace(path=("a",), source=("b",), sibling="c"),
        lambda: Replace(path=("a",), sibling="c", value=None),
    ],
    ids=["add-nothing", "add-both", "replace-nothing", "replace-both", "replace-null"],
)
def test_a_rule_says_one_thing(make: Any) -> None:
    with pytest.raises(PluginMistake):
        make()
