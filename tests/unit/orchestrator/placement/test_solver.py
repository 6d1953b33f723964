"""The solver keeps hard rules and room, finds a way where there is one, and says why where there is none."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.placement.host import MEMORY, VCPUS, Host
from orchestrator.placement.rules import Group, Policy
from orchestrator.placement.solver import Answer, Item, Question, Unplaceable, place
from orchestrator.plugins.machine_requirements import MachineRequirements


def host(name: str, memory: int = 1024, **more: object) -> Host:
    """Return a node with so much memory, all of it free, and a few processors."""
    values: dict[str, object] = {"labels": {"rack": f"r{name[-1]}"}, "hypervisors": {"fake": ""}, **more}
    size = {MEMORY: memory, VCPUS: 8}
    return Host(**{"name": name, "size": size, "free": size, **values})  # type: ignore[arg-type]


def hosts(*of: Host) -> dict[str, Host]:
    return {each.name: each for each in of}


def item(name: str, memory: int = 0, **more: object) -> Item:
    stays = str(more.pop("stays", ""))
    return Item(name=name, requirements=MachineRequirements(memory_mib=memory, **more), stays=stays)  # type: ignore[arg-type]


def solve(*items: Item, on: Mapping[str, Host], groups: tuple[Group, ...] = (), ties: object = ()) -> Answer:
    return place(Question(stack="s", items=items, hosts=on, groups=groups, ties=ties))  # type: ignore[arg-type]


def group(policy: Policy, *members: str, **more: object) -> Group:
    return Group(**{"name": "g", "policy": policy, "members": members, **more})  # type: ignore[arg-type]


THREE = hosts(host("n1"), host("n2"), host("n3"))


def test_equal_ones_are_spread_over_equal_nodes() -> None:
    answer = solve(*(item(f"i{number}", 100) for number in range(6)), on=THREE)
    assert sorted(Counter(answer.nodes.values()).values()) == [2, 2, 2]


def test_the_same_question_has_the_same_answer_and_other_stacks_begin_elsewhere() -> None:
    first = {place(Question(stack=f"s{n}", items=[item("i", 1)], hosts=THREE)).nodes["i"] for n in range(20)}
    again = {place(Question(stack=f"s{n}", items=[item("i", 1)], hosts=THREE)).nodes["i"] for n in range(20)}
    assert first == again == {"n1", "n2", "n3"}


def test_what_was_decided_is_taken_back_where_it_leads_nowhere() -> None:
    """The largest goes first, and to the emptiest node; but that is the only one for another of nearly its size."""
    on = hosts(host("n1", 1000), host("n2", 900, hypervisors={}))
    answer = solve(item("a", 860), item("b", 850, hypervisor="fake"), on=on)
    assert answer.nodes == {"a": "n2", "b": "n1"}


@pytest.mark.parametrize("policy", [Policy.DIFFERENT_HOST, Policy.DIFFERENT_RACK, Policy.SPREAD_RACKS])
def test_member_that_is_taken_back_counts_no_longer_where_it_was(policy: Policy) -> None:
    """The larger goes first, and to the emptier node, which is the only one for the other."""
    on = hosts(host("n1", 1000), host("n2", 900, hypervisors={}))
    rule = group(policy, "a", "b", **({"racks": 2} if policy is Policy.SPREAD_RACKS else {}))
    answer = solve(item("a", 200), item("b", 100, hypervisor="fake"), on=on, groups=(rule,))
    assert answer.nodes == {"a": "n2", "b": "n1"}
    assert answer.warnings == ()


@pytest.mark.parametrize("policy", [Policy.SAME_HOST, Policy.SAME_RACK])
def test_group_whose_first_member_is_taken_back_may_be_elsewhere(policy: Policy) -> None:
    on = hosts(host("n1", 1000), host("n2", 900, hypervisors={"fake": ""}), host("n3", 10))
    on["n1"] = replace(on["n1"], hypervisors={})
    # Tied by the rack alone, so that they are parts of their own.
    rule = group(policy, "a", "b")
    assert solve(item("a", 200), item("b", 100, hypervisor="fake"), on=on, groups=(rule,)).nodes == {
        "a": "n2",
        "b": "n2",
    }


@pytest.mark.parametrize(
    ("asks", "reason"),
    [
        ({"memory": 2000}, "2000 MiB of memory required, 1024 free"),
        ({"hypervisor": "qemu"}, "it has no hypervisor 'qemu', only 'fake', 'oci'"),
        ({"hypervisor": "oci"}, "its hypervisor 'oci' cannot be used: runc is not installed"),
        ({"disks_mib": {"fast": 10}}, "it has no storage unit 'fast'"),
        ({"labels": {"rack": "r9"}}, "its label 'rack' is 'r1', where 'r9' is required"),
        ({"labels": {"zone": "a"}}, "it has no label 'zone', where 'a' is required"),
        ({"vcpus": 9}, "9 vcpus required, 8 free"),
    ],
    ids=["memory", "hypervisor", "broken", "storage", "label", "no-label", "vcpus"],
)
def test_a_refusal_says_of_each_node_why(asks: dict[str, object], reason: str) -> None:
    drained = host("n2", closed="drained: new disks")
    on = hosts(host("n1", hypervisors={"fake": "", "oci": "runc is not installed"}), drained)
    with pytest.raises(Unplaceable) as refused:
        solve(item("i", **asks), on=on)  # type: ignore[arg-type]
    assert refused.value.reasons == {"n1": reason, "n2": "drained: new disks"}
    assert f"n1: {reason}; n2: drained" in str(refused.value)


def test_a_node_that_nobody_knows_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        Unplaceable, match=r"i is to be on node 'n-1', which nobody knows; did you mean 'n1'\?"
    ):
        solve(item("i", node="n-1"), on=THREE)


def test_a_named_node_is_the_only_one_and_a_drained_one_is_none() -> None:
    assert solve(item("i", node="n2"), on=THREE).nodes == {"i": "n2"}
    on = hosts(host("n1"), host("n2", closed="drained"))
    with pytest.raises(Unplaceable) as refused:
        solve(item("i", node="n2"), on=on)
    assert refused.value.reasons == {"n1": "the template names node 'n2'", "n2": "drained"}


def test_what_stays_is_not_moved_whatever_it_asks_for_and_takes_only_what_it_grows_by() -> None:
    on = hosts(host("n1", closed="drained", free={MEMORY: 100}))
    stays = Item(
        name="i",
        requirements=MachineRequirements(memory_mib=600, node="n7"),
        stays="n1",
        promised={MEMORY: 500},
    )
    assert solve(stays, on=on).nodes == {"i": "n1"}
    grows = Item(
        name="i", requirements=MachineRequirements(memory_mib=601), stays="n1", promised={MEMORY: 500}
    )
    with pytest.raises(
        Unplaceable, match="i cannot grow where it is: n1: 101 MiB of memory required, 100 free"
    ):
        solve(grows, on=on)


def test_what_grows_is_not_refused_for_capacity_that_cannot_be_measured_now() -> None:
    away = Host(name="n1", closed="its agent is not there")
    faulty = host("n2", storage={"default": "it is missing"})
    grows = Item(name="i", requirements=MachineRequirements(memory_mib=2), stays="n1", promised={MEMORY: 1})
    disks = MachineRequirements(disks_mib={"default": 2})
    volume = Item(name="v", requirements=disks, stays="n2", promised={"disk:default": 1})
    assert solve(grows, volume, on=hosts(away, faulty)).nodes == {"i": "n1", "v": "n2"}
    with pytest.raises(Unplaceable, match="its agent is not there"):
        solve(item("new", 1, node="n1"), on=hosts(away, faulty))


def test_an_instance_goes_where_its_volume_stays() -> None:
    assert solve(item("v", stays="n3"), item("i", 10), on=THREE, ties=[("i", "v")]).nodes["i"] == "n3"
    with pytest.raises(Unplaceable) as refused:
        solve(
            item("v", stays="n3"), item("w", stays="n2"), item("i"), on=THREE, ties=[("i", "v"), ("i", "w")]
        )
    assert refused.value.reasons["n3"] == "i must be with w, on n2"


def test_new_volumes_and_their_instance_are_weighed_together() -> None:
    small = host("n1", free={MEMORY: 100, "disk:default": 1000}, storage={"default": ""})
    large = host("n2", free={MEMORY: 1000, "disk:default": 100}, storage={"default": ""})
    ask = [item("i", 500), Item(name="v", requirements=MachineRequirements(disks_mib={"default": 500}))]
    assert solve(*ask, on=hosts(small, large)).nodes == {"i": "n2", "v": "n1"}
    with pytest.raises(Unplaceable, match="i and v"):
        solve(*ask, on=hosts(small, large), ties=[("i", "v")])


def test_a_group_over_too_few_racks_is_refused_with_what_was_decided_before() -> None:
    on = hosts(host("n1"), host("n2", labels={"rack": "r1"}), host("n3", labels={}))
    rule = group(Policy.DIFFERENT_RACK, "a", "b")
    with pytest.raises(Unplaceable) as refused:
        solve(item("a"), item("b"), on=on, groups=(rule,))
    assert "b fits on no node, with a on n" in str(refused.value)
    assert set(refused.value.reasons.values()) == {
        "another member of group 'g' is in its rack r1",
        "no label 'rack' says where it is, as group 'g' needs",
    }


def test_a_soft_rule_is_kept_where_that_is_possible_and_told_where_it_is_not() -> None:
    rule = group(Policy.DIFFERENT_HOST, "a", "b", hard=False)
    kept = solve(item("a"), item("b"), on=THREE, groups=(rule,))
    assert len(set(kept.nodes.values())) == 2
    assert kept.warnings == ()
    broken = solve(item("a"), item("b"), on=hosts(host("n1")), groups=(rule,))
    assert broken.warnings == ("group 'g' has members that share a node",)


def test_members_spread_evenly_over_so_many_racks() -> None:
    on = hosts(host("n1"), host("n2"), host("n3"), host("n4", labels={"rack": "r1"}))
    names = [f"i{number}" for number in range(5)]
    answer = solve(*map(item, names), on=on, groups=(group(Policy.SPREAD_RACKS, *names, racks=3),))
    racks = Counter(on[node].labels["rack"] for node in answer.nodes.values())
    assert sorted(racks.values()) == [1, 2, 2]


def test_so_many_racks_are_needed_even_where_fewer_would_be_even() -> None:
    rule = group(Policy.SPREAD_RACKS, *"abcd", racks=3)
    with pytest.raises(Unplaceable, match="group 'g' must be in more than 2 of the racks"):
        solve(
            *map(item, "abcd"),
            on=hosts(host("n1"), host("n2"), host("n4", labels={"rack": "r1"})),
            groups=(rule,),
        )
    answer = solve(*map(item, "abcd"), on=THREE, groups=(rule,))
    assert sorted(Counter(answer.nodes.values()).values()) == [1, 1, 2]


def test_members_elsewhere_count() -> None:
    rule = group(Policy.DIFFERENT_HOST, "a", elsewhere=("n1", "n2"))
    assert solve(item("a"), on=THREE, groups=(rule,)).nodes == {"a": "n3"}


def test_many_fit_in_no_time_and_many_that_do_not_are_refused_soon() -> None:
    on = hosts(*(host(f"n{number}", 310) for number in range(8)))
    names = [f"i{number:03}" for number in range(24)]
    assert set(Counter(solve(*(item(n, 100) for n in names), on=on).nodes.values()).values()) == {3}
    with pytest.raises(Unplaceable):
        # There is room for all of them in total, but not in pieces of this size.
        solve(*(item(name, 145) for name in names[:17]), on=on)


# -- against all that could be tried -----------------------------------------------------------------------------

RACKS = st.sampled_from([None, "r1", "r2", "r3"])


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Make a small question of everything that there is."""
    names = [f"n{number}" for number in range(draw(st.integers(1, 4)))]
    there = {
        name: Host(
            name=name,
            labels={"rack": rack} if (rack := draw(RACKS)) else {},
            free={MEMORY: draw(st.integers(0, 4)), VCPUS: draw(st.integers(1, 3))},
            size={MEMORY: 4, VCPUS: 3},
            hypervisors={"fake": ""} if draw(st.booleans()) else {},
            closed="drained" if draw(st.integers(0, 5)) == 0 else "",
        )
        for name in names
    }
    items = [
        Item(
            name=f"i{number}",
            requirements=MachineRequirements(
                memory_mib=draw(st.integers(0, 3)),
                vcpus=draw(st.integers(0, 1)),
                hypervisor=draw(st.sampled_from(["", "", "fake"])),
                node=draw(st.sampled_from(["", "", "", *names])),
            ),
            stays=(stays := draw(st.sampled_from(["", "", "", *names]))),
            promised={MEMORY: 3, VCPUS: 1} if stays else {},
        )
        for number in range(draw(st.integers(1, 4)))
    ]
    of = [each.name for each in items]
    groups = tuple(
        Group(
            name=f"g{number}",
            policy=draw(st.sampled_from([*Policy, Policy.SPREAD_RACKS])),
            racks=draw(st.integers(1, 3)),
            hard=draw(st.integers(0, 3)) > 0,
            members=tuple(draw(st.sampled_from([of, of[:2], of[1:]]))),
            elsewhere=tuple(draw(st.lists(st.sampled_from(names), max_size=1))),
        )
        for number in range(draw(st.integers(0, 2)))
    )
    pairs = [(a, b) for a, b in itertools.combinations(of, 2)]
    ties = draw(st.lists(st.sampled_from(pairs), max_size=1)) if pairs else []
    return Question(stack=draw(st.sampled_from("st")), items=items, hosts=there, groups=groups, ties=ties)


def is_right(question: Question, nodes: Mapping[str, str]) -> bool:
    """Whether a placement keeps every hard rule, said in other words than the solver's."""
    new = [each for each in question.items if not each.stays]
    used: Counter[tuple[str, str]] = Counter()
    for each in new:
        there = question.hosts[nodes[each.name]]
        if there.closed or (each.requirements.node and each.requirements.node != there.name):
            return False
        if each.requirements.hypervisor and each.requirements.hypervisor not in there.hypervisors:
            return False
        used[there.name, MEMORY] += each.requirements.memory_mib
        used[there.name, VCPUS] += each.requirements.vcpus
    if any(amount and amount > question.hosts[name].free[kind] for (name, kind), amount in used.items()):
        return False
    fresh = {each.name for each in new}
    if any(nodes[a] != nodes[b] for a, b in question.ties if {a, b} & fresh):
        return False
    return all(keeps(question, each, nodes, fresh) for each in question.groups if each.hard)


def keeps(question: Question, rule: Group, nodes: Mapping[str, str], fresh: set[str]) -> bool:
    """Whether what is new in a group breaks its rule with nobody in it."""
    where = [*rule.elsewhere, *(nodes[member] for member in rule.members)]
    is_new = [*(False for _ in rule.elsewhere), *(member in fresh for member in rule.members)]
    rack = {name: each.labels.get("rack") for name, each in question.hosts.items()}
    mine = [node for node, new in zip(where, is_new, strict=True) if new]
    known = [rack[node] for node in where if rack[node]]
    if not mine:
        return True
    match rule.policy:
        case Policy.SAME_HOST:
            return len(set(where)) == 1
        case Policy.DIFFERENT_HOST:
            return all(where.count(node) == 1 for node in mine)
        case Policy.SAME_RACK:
            return all(rack[node] for node in mine) and len(set(known)) == 1
        case Policy.DIFFERENT_RACK:
            return all(rack[node] and known.count(rack[node]) == 1 for node in mine)
        case Policy.SPREAD_RACKS:
            most, least = math.ceil(len(where) / rule.racks), min(rule.racks, len(where))
            even = all(rack[node] and known.count(rack[node]) <= most for node in mine)
            return even and len(set(known)) >= least
    raise AssertionError


@settings(max_examples=300)
@given(questions())
def test_no_placement_breaks_a_rule_and_none_is_refused_that_could_be(question: Question) -> None:
    stays = {each.name: each.stays for each in question.items if each.stays}
    new = [each.name for each in question.items if not each.stays]
    ways = (
        {**stays, **dict(zip(new, nodes, strict=True))}
        for nodes in itertools.product(question.hosts, repeat=len(new))
    )
    answer = found(question)
    if answer is None:
        assert not any(is_right(question, way) for way in ways)
        return
    assert is_right(question, answer.nodes)
    assert {name: answer.nodes[name] for name in stays} == stays
    assert found(question) == answer


@st.composite
def crowded(draw: st.DrawFn) -> Question:
    """Make a question with as many machines as items that must all be apart, each item on some of the machines.

    Sizes decide who goes first, and room who goes where: hardly ever is the first way the right one.
    """
    count = draw(st.integers(2, 5))
    may_be = [draw(st.sets(st.integers(0, count - 1), min_size=1)) for _ in range(count)]
    there = {
        f"n{number}": host(
            f"n{number}",
            draw(st.integers(100, 1000)),
            labels={"rack": f"r{number}", **{f"i{i}": "may" for i in range(count) if number in may_be[i]}},
        )
        for number in range(count)
    }
    items = [item(f"i{i}", draw(st.integers(0, 100)), labels={f"i{i}": "may"}) for i in range(count)]
    policy = draw(st.sampled_from([Policy.DIFFERENT_HOST, Policy.DIFFERENT_RACK, Policy.SPREAD_RACKS]))
    rule = group(policy, *(each.name for each in items), racks=count)
    return Question(stack="s", items=items, hosts=there, groups=(rule,))


@settings(max_examples=200)
@given(crowded())
def test_items_that_must_be_apart_are_placed_wherever_each_can_have_a_node_of_its_own(
    question: Question,
) -> None:
    names = [each.name for each in question.items]
    ways = (
        way
        for way in itertools.permutations(question.hosts)
        if all(name in question.hosts[node].labels for name, node in zip(names, way, strict=True))
    )
    answer = found(question)
    assert (answer is not None) == (next(ways, None) is not None)
    assert answer is None or is_right(question, answer.nodes)


def found(question: Question) -> Answer | None:
    try:
        return place(question)
    except Unplaceable:
        return None
