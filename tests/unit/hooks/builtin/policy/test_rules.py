"""What rules make of a stack: what is refused, of what people are warned, and whom a rule concerns."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.builtin.actions import ACTIONS, DEFINING_ACTIONS
from hooks.builtin.policy.rules import MOST_NAMED, Judgement, Rule, judge
from hooks.lifecycle import LifecycleContext
from hooks.stack import FrozenResource, FrozenStack
from hooks.values.frozen import frozen
from hooks.values.unknown import UNKNOWN
from tests.unit.hooks.builtin.policy.stacks import judged, rules_of, stack_of, verdict

TWO = "a: {type: OS::Nova::Server}\nb: {type: OS::Cinder::Volume}"


@pytest.mark.parametrize(
    ("rule", "members", "refusals"),
    [
        ("require_tags: [owner, 'cost:*']", {"tags": ("owner", "cost:7")}, ()),
        (
            "require_tags: [owner, 'cost:*']",
            {"tags": ("cost", "Owner")},
            (
                "the stack breaks rule 'r1': it has no tag 'owner'",
                "the stack breaks rule 'r1': it has no tag 'cost:*'",
            ),
        ),
        ("forbid_tags: 'tmp*'", {"tags": ("owner",)}, ()),
        (
            "forbid_tags: 'tmp*'",
            {"tags": ("owner", "tmp1")},
            ("the stack breaks rule 'r1': the tag 'tmp1' is forbidden",),
        ),
        ("forbid_types: 'OS::Trove::*'", {}, ()),
        (
            "forbid_types: ['OS::Nova::*', 'OS::Cinder::Volume']",
            {},
            (
                "resource 'a' breaks rule 'r1': the type OS::Nova::Server is forbidden",
                "resource 'b' breaks rule 'r1': the type OS::Cinder::Volume is forbidden",
            ),
        ),
        ("allow_types: ['OS::Nova::*', 'OS::Cinder::*']", {}, ()),
        (
            "allow_types: ['OS::Nova::*', 'OS::Heat::*']",
            {},
            (
                (
                    "resource 'b' breaks rule 'r1': the type OS::Cinder::Volume is none of those allowed, OS::Nova::*, "
                    "OS::Heat::*"
                ),
            ),
        ),
    ],
)
def test_a_stack_as_a_whole_keeps_rules(
    rule: str, members: dict[str, Any], refusals: tuple[str, ...]
) -> None:
    assert judged(rule, TWO, **members).refusals == refusals


SERVERS = """
small: {type: OS::Nova::Server, properties: {flavor: small}}
large: {type: OS::Nova::Server, properties: {flavor: large}}
guarded: {type: OS::Nova::Server, properties: {flavor: large, security_groups: [base]}}
odd: {type: OS::Nova::Server, properties: {flavor: {get_param: flavor}}}
volume: {type: OS::Cinder::Volume, properties: {flavor: large}}
"""


def test_a_rule_speaks_of_the_types_that_it_names_and_of_what_is_so() -> None:
    rule = """
        types: "OS::*"
        except_types: OS::Cinder::Volume
        when: {property: flavor, equals: large}
        require: {property: security_groups, contains: base}
        message: |
          Large servers need the base group.
          Ask netops.
    """
    assert judged(rule, SERVERS).refusals == (
        (
            "resource 'large' breaks rule 'r1': it requires that security_groups contains 'base', where flavor is "
            "'large' - Large servers need the base group. Ask netops"
        ),
        (
            "resource 'odd' may break rule 'r1', which cannot be told because of values that are hidden, or unknown "
            "until resources exist: it requires that security_groups contains 'base', where flavor is 'large' "
            "- Large servers need the base group. Ask netops"
        ),
    )


def test_each_demand_of_a_list_is_one_of_its_own() -> None:
    rule = """
        types: OS::Nova::Server
        require: [{property: key_name, exists: true}, {property: image, exists: true}]
        forbid: [{property: image, equals: old}, {property: flavor, equals: huge}]
    """
    resources = "web: {type: OS::Nova::Server, properties: {image: old, flavor: tiny}}"
    assert [refusal.split(": ", 1)[1] for refusal in judged(rule, resources).refusals] == [
        "it requires that key_name is given",
        "it forbids that image is 'old'",
    ]


@pytest.mark.parametrize(
    ("said", "broken", "untold"),
    [
        ("", "refused", "refused"),
        ("effect: refuse", "refused", "refused"),
        ("when_unknown: warn", "refused", "warned"),
        ("when_unknown: allow", "refused", "fine"),
        ("effect: warn", "warned", "warned"),
        ("effect: warn\nwhen_unknown: allow", "warned", "fine"),
    ],
)
def test_what_cannot_be_told_counts_as_broken_unless_the_rule_says_otherwise(
    said: str, broken: str, untold: str
) -> None:
    rule = f"types: T\nrequire: {{property: a, equals: 1}}\n{said}"
    assert verdict(judged(rule, "x: {type: T, properties: {a: 2}}")) == broken
    assert verdict(judged(rule, "x: {type: T, properties: {a: {get_param: p}}}")) == untold
    assert verdict(judged(rule, "x: {type: T, properties: {a: 1}}")) == "fine"


def test_no_value_of_a_stack_is_ever_told() -> None:
    rule = (
        "types: T\nrequire: [{property: a, equals: 1}, {property: a, matches: x}, {property: a, one_of: [1]}]"
    )
    refusals = judged(rule, "x: {type: T, properties: {a: hunter2}}").refusals
    assert len(refusals) == 3
    assert "hunter2" not in "".join(refusals)


def test_of_many_resources_some_are_named_and_of_many_breaches_some_are_told() -> None:
    many = "\n".join(f"r{number}: {{type: T{number}}}" for number in range(MOST_NAMED + 5))
    refusals = judged("forbid_types: '*'", many).refusals
    assert len(refusals) == MOST_NAMED + 1
    assert refusals[-1] == "and 5 more"
    few = "\n".join(f"r{number}: {{type: T}}" for number in range(7))
    (refusal,) = judged("forbid_types: '*'", few).refusals
    assert refusal.startswith("resources 'r0', 'r1', 'r2', 'r3', 'r4' and 2 more break rule")


def concerns(rule: Rule, action: str, project: str = "p", root_action: str = "") -> bool:
    context = LifecycleContext(operation_id="1", project=project, root_action=root_action)
    return rule.concerns(context, action)


@pytest.mark.parametrize(
    ("said", "project", "concerned"),
    [
        ("", "shop", True),
        ("projects: shop", "shop", True),
        ("projects: shop", "lab", False),
        ("projects: [lab, 'sh*']", "shop", True),
        ("except_projects: [lab, 'sh*']", "shop", False),
        ("projects: '*'\nexcept_projects: lab", "shop", True),
        ("projects: shop\nexcept_projects: shop", "shop", False),
    ],
)
def test_a_rule_concerns_projects(said: str, project: str, concerned: bool) -> None:
    (rule,) = rules_of(f"forbid_types: X\n{said}")
    assert concerns(rule, "CREATE", project) is concerned


def test_a_rule_concerns_what_gives_a_stack_a_definition_unless_it_names_actions() -> None:
    (rule,) = rules_of("forbid_types: X")
    assert {action for action in ACTIONS if concerns(rule, action)} == DEFINING_ACTIONS
    (rule,) = rules_of("forbid_tags: keep\nactions: [delete, abandon]")
    assert {action for action in ACTIONS if concerns(rule, action)} == {"DELETE", "ABANDON"}


def test_what_a_stack_in_a_stack_does_because_of_another_operation_concerns_no_rule() -> None:
    (usual, deleting) = rules_of("forbid_types: X", "forbid_tags: keep\nactions: [delete]")
    assert concerns(usual, "UPDATE", root_action="UPDATE")
    assert concerns(usual, "CREATE", root_action="UPDATE")
    # A group that scales by itself, while nothing else is under way.
    assert concerns(usual, "UPDATE", root_action="")
    # A rollback brings back what was there.
    assert not concerns(usual, "UPDATE", root_action="ROLLBACK")
    assert concerns(deleting, "DELETE", root_action="DELETE")
    # An update takes a group away.
    assert not concerns(deleting, "DELETE", root_action="UPDATE")


RULES = (
    "forbid_types: A",
    "allow_types: [A, B]",
    "require_tags: x",
    "types: A\nrequire: {property: p, equals: 1}",
    "types: '*'\nforbid: {property: p, equals: 1}",
    "types: B\nrequire: {requires: A}",
    "types: A\nrequire: {required_by: B, indirectly: true, where: {property: p, exists: true}}",
    "types: '*'\nwhen: {property: q, one_of: [1, 2]}\nrequire: {some: 'l[*]', equals: 1}",
    "types: '*'\nforbid: {every: 'l[*]', at_least: 1}",
)
values = st.sampled_from([1, 2, "1", "x", None, UNKNOWN, "******"])
properties = st.fixed_dictionaries(
    {}, optional={"p": values, "q": values, "l": st.lists(values, max_size=3) | values}
)


@st.composite
def stacks(draw: st.DrawFn) -> FrozenStack:
    names = draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4))
    resources = {
        name: FrozenResource(
            name=name,
            type=draw(st.sampled_from("ABC")),
            properties=frozen(draw(properties)),
            requires=tuple(sorted(draw(st.sets(st.sampled_from(names[:number]))) if number else ())),
        )
        for number, name in enumerate(names)
    }
    return FrozenStack(
        name="s", id="1", tags=tuple(draw(st.sets(st.sampled_from("xy")))), resources=frozen(resources)
    )


def known(stack: FrozenStack, secret: Any) -> FrozenStack:
    """Return a stack after all that was hidden or unknown in it has come to light."""

    def told(value: Any) -> Any:
        if isinstance(value, list):
            return [told(each) for each in value]
        return secret if value is UNKNOWN or value == "******" else value

    return FrozenStack(
        name=stack.name,
        id=stack.id,
        tags=stack.tags,
        resources=frozen(
            {
                name: FrozenResource(
                    name=name,
                    type=each.type,
                    properties=frozen({key: told(value) for key, value in each.properties.items()}),
                    requires=each.requires,
                )
                for name, each in stack.resources.items()
            }
        ),
    )


@given(st.sampled_from(RULES), stacks(), st.sampled_from([1, 2, "x"]))
def test_what_was_told_stays_so_when_values_come_to_light(rule: str, stack: FrozenStack, secret: Any) -> None:
    strict = verdict(judge(rules_of(rule), stack))
    lenient = verdict(judge(rules_of(f"{rule}\nwhen_unknown: allow"), stack))
    later = verdict(judge(rules_of(rule), known(stack, secret)))
    # What the strict allow was certainly fine, and what the lenient refuse was certainly broken.
    if strict == "fine":
        assert later == "fine"
    if lenient == "refused":
        assert later == "refused"


@given(st.lists(st.sampled_from(RULES), max_size=4), stacks())
def test_a_rule_that_warns_refuses_nothing_and_says_what_it_would_refuse_for(
    rules: list[str], stack: FrozenStack
) -> None:
    refused = judge(rules_of(*rules), stack)
    warned = judge(rules_of(*(f"{rule}\neffect: warn" for rule in rules)), stack)
    assert warned == Judgement(warnings=refused.refusals)


@given(st.lists(st.sampled_from(RULES), min_size=1, max_size=4), stacks())
def test_a_further_rule_never_allows_what_was_refused(rules: list[str], stack: FrozenStack) -> None:
    fewer, all_ = (set(judge(rules_of(*those), stack).refusals) for those in (rules[:-1], rules))
    assert fewer <= all_


def test_without_rules_everything_is_fine() -> None:
    assert judge((), stack_of(SERVERS)) == Judgement()
