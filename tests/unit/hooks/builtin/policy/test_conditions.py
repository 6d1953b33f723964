"""What a rule asks of a resource: of its properties, of those that it needs and of those that need it."""

import pytest

from tests.unit.hooks.builtin.policy.stacks import judged, verdict

SERVER = """
web:
  type: OS::Nova::Server
  properties:
    flavor: small
    size: "20"
    public: "False"
    security_groups: [base, {get_resource: group}]
    networks: [{network: a, port: 1}, {network: b}]
    metadata: {owner: me, password: {get_param: password}, "cost.centre": 7}
    address: {get_attr: [group, address]}
    secret: {get_param: password}
    empty: []
group: {type: OS::Neutron::SecurityGroup}
"""

FINE, REFUSED = "fine", "refused"
UNTOLD = "untold"


def answer(condition: str, resources: str = SERVER, types: str = "OS::Nova::Server") -> str:
    """Return whether the demand is met: fine, refused or untold."""
    for unknown, answers in (("refuse", {"fine": FINE}), ("allow", {"fine": UNTOLD, "refused": REFUSED})):
        told = verdict(judged(f"types: '{types}'\nwhen_unknown: {unknown}\nrequire: {condition}", resources))
        if told in answers:
            return answers[told]
    raise AssertionError(told)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("{property: flavor, exists: true}", FINE),
        ("{property: missing, exists: true}", REFUSED),
        ("{property: missing, exists: false}", FINE),
        # Something is given, whatever it will be.
        ("{property: address, exists: true}", FINE),
        ("{property: address.deep, exists: true}", UNTOLD),
        ("{property: secret, exists: true}", FINE),
        ("{property: flavor, equals: small}", FINE),
        ("{property: flavor, equals: large}", REFUSED),
        ("{property: size, equals: 20}", FINE),
        ("{property: public, equals: false}", FINE),
        ("{property: missing, equals: small}", REFUSED),
        ("{property: missing, equals: small, optional: true}", FINE),
        ("{property: flavor, equals: large, optional: true}", REFUSED),
        ("{property: address, equals: small}", UNTOLD),
        ("{property: address, equals: small, optional: true}", UNTOLD),
        ("{property: secret, equals: small}", UNTOLD),
        ("{property: metadata, equals: {owner: me}}", REFUSED),
        ("{property: flavor, one_of: [small, large]}", FINE),
        ("{property: flavor, one_of: [medium, large]}", REFUSED),
        ("{property: size, one_of: [10, 20]}", FINE),
        ("{property: missing, one_of: [small]}", REFUSED),
        ("{property: secret, one_of: [small, large]}", UNTOLD),
        ("{property: security_groups, contains: base}", FINE),
        # It may be the one that is unknown.
        ("{property: security_groups, contains: web}", UNTOLD),
        ("{property: networks, contains: {network: b}}", FINE),
        ("{property: networks, contains: b}", REFUSED),
        ("{property: metadata, contains: owner}", FINE),
        ("{property: metadata, contains: me}", REFUSED),
        ("{property: metadata, contains: 7}", REFUSED),
        ("{property: flavor, contains: mal}", FINE),
        ("{property: flavor, contains: 5}", REFUSED),
        ("{property: missing, contains: a}", REFUSED),
        ("{property: secret, contains: a}", UNTOLD),
        ("{property: address, contains: a}", UNTOLD),
        ("{property: flavor, matches: 's.*l'}", FINE),
        ("{property: flavor, matches: 'mal'}", REFUSED),
        ("{property: size, matches: '[0-9]+'}", FINE),
        ("{property: networks, matches: '.*'}", REFUSED),
        ("{property: missing, matches: '.*'}", REFUSED),
        ("{property: secret, matches: '.*'}", UNTOLD),
        ("{property: size, at_least: 20}", FINE),
        ("{property: size, at_least: 20.5}", REFUSED),
        ("{property: size, at_most: 20}", FINE),
        ("{property: size, at_most: 19}", REFUSED),
        ("{property: flavor, at_most: 19}", REFUSED),
        ("{property: missing, at_most: 19}", REFUSED),
        ("{property: missing, at_most: 19, optional: true}", FINE),
        ("{property: address, at_least: 1}", UNTOLD),
        ("{property: 'metadata[\"cost.centre\"]', at_least: 7}", FINE),
        ("{every: 'networks[*].network', one_of: [a, b, c]}", FINE),
        ("{every: 'networks[*].network', one_of: [a]}", REFUSED),
        ("{every: 'networks[*].port', exists: true}", REFUSED),
        ("{every: 'networks[*].port', equals: 1, optional: true}", FINE),
        ("{every: 'empty[*]', equals: 1}", FINE),
        ("{every: 'missing[*]', equals: 1}", FINE),
        ("{every: 'flavor[*]', exists: true}", REFUSED),
        ("{every: 'security_groups[*]', equals: base}", UNTOLD),
        ("{every: 'security_groups[*]', equals: other}", REFUSED),
        ("{some: 'networks[*].network', equals: b}", FINE),
        ("{some: 'networks[*].network', equals: c}", REFUSED),
        ("{some: 'missing[*]', exists: false}", REFUSED),
        ("{some: 'security_groups[*]', equals: other}", UNTOLD),
        ("{some: 'metadata[*]', equals: me}", FINE),
        ("{not: {property: flavor, equals: large}}", FINE),
        ("{not: {property: flavor, equals: small}}", REFUSED),
        ("{not: {property: secret, equals: small}}", UNTOLD),
        ("{any_of: [{property: secret, equals: x}, {property: flavor, equals: small}]}", FINE),
        ("{any_of: [{property: secret, equals: x}, {property: flavor, equals: large}]}", UNTOLD),
        ("{all_of: [{property: secret, equals: x}, {property: flavor, equals: large}]}", REFUSED),
        ("{all_of: [{property: secret, equals: x}, {property: flavor, equals: small}]}", UNTOLD),
        ("{requires: OS::Neutron::SecurityGroup}", FINE),
        ("{requires: 'OS::Neutron::*'}", FINE),
        ("{requires: [OS::Neutron::Port, OS::Neutron::SecurityGroup]}", FINE),
        ("{requires: OS::Neutron::Port}", REFUSED),
        ("{required_by: 'OS::Neutron::*'}", REFUSED),
    ],
)
def test_every_question_is_answered_by_what_is_given(condition: str, told: str) -> None:
    assert answer(condition) == told


CHAIN = """
web: {type: Server, depends_on: port}
port: {type: Port, properties: {group: {get_resource: group}}}
group: {type: Group, properties: {name: base}}
other: {type: Group, properties: {name: {get_param: name}}}
alone: {type: Server}
second: {type: Server, depends_on: other}
"""


@pytest.mark.parametrize(
    ("types", "condition", "told"),
    [
        ("Port", "{requires: Group}", FINE),
        ("Group", "{required_by: Port}", REFUSED),  # one of both groups is not
        ("Port", "{required_by: Server}", FINE),
        ("Server", "{requires: Group}", REFUSED),
        ("Server", "{requires: Group, indirectly: true}", REFUSED),  # one is alone
        ("Group", "{required_by: Server, indirectly: true}", FINE),
        ("Port", "{requires: Group, where: {property: name, equals: base}}", FINE),
        ("Port", "{requires: Group, where: {property: name, equals: other}}", REFUSED),
        ("Port", "{requires: Group, where: [{property: name, equals: base}, {required_by: Port}]}", FINE),
        ("Port", "{requires: Group, where: {requires: Group}}", REFUSED),
    ],
)
def test_resources_need_and_are_needed(types: str, condition: str, told: str) -> None:
    assert answer(condition, CHAIN, types) == told


def test_whether_the_right_one_is_needed_may_be_untold() -> None:
    condition = "{requires: Group, indirectly: true, where: {property: name, equals: base}}"
    rule = f"types: Server\nrequire: {condition}"
    told = judged(rule, CHAIN).refusals
    assert [sentence.split(", which")[0].split(":")[0] for sentence in told] == [
        "resource 'alone' breaks rule 'r1'",
        "resource 'second' may break rule 'r1'",
    ]


def test_a_long_chain_of_resources_is_gone_through_once() -> None:
    links = "\n".join(f"r{number}: {{type: Link, depends_on: r{number - 1}}}" for number in range(1, 1500))
    chain = f"r0: {{type: End}}\n{links}"
    rule = "types: Link\nrequire: [{requires: End, indirectly: true}, {required_by: End, indirectly: true}]"
    (refusal,) = judged(rule, chain).refusals
    assert "'r5' and 1494 more" in refusal


def test_no_text_takes_longer_to_match_than_others_of_its_length() -> None:
    # Python's own expressions would take longer than the world is old.
    resources = f"web: {{type: Server, properties: {{name: {'a' * 100_000}}}}}"
    assert (
        verdict(judged("types: Server\nrequire: {property: name, matches: '(a|a?)+b'}", resources)) == REFUSED
    )


def test_a_text_that_utf_8_does_not_know_is_matched_all_the_same() -> None:
    resources = 'web: {type: Server, properties: {name: "a\\ud800b"}}'
    assert verdict(judged("types: Server\nrequire: {property: name, matches: 'a.b'}", resources)) == FINE


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("{property: a, exists: true}", "a is given"),
        ("{property: a, exists: false}", "a is not given"),
        ("{property: a, equals: true}", "a is true"),
        ("{property: a, one_of: [x, 1]}", "a is one of 'x', 1"),
        ("{property: a.b, contains: x, optional: true}", "a.b contains 'x' (or is not given)"),
        ("{every: 'a[*]', matches: 'x+'}", "every a[*] matches 'x+'"),
        ("{some: 'a[*]', at_least: 5}", "some a[*] is at least 5"),
        ("{not: {property: a, at_most: 5}}", "not (a is at most 5)"),
        (
            "{any_of: [{requires: T}, {all_of: [{required_by: [T, U], indirectly: true}]}]}",
            (
                "(the resource requires one of type T) or "
                "((the resource is required by one of type T or U (directly or not)))"
            ),
        ),
        (
            "{requires: T, where: {property: a, equals: x}}",
            "the resource requires one of type T of which a is 'x'",
        ),
    ],
)
def test_a_condition_is_told_in_words(condition: str, words: str) -> None:
    kind = "{property: kind, equals: 1}"
    rule = f"types: X\nwhen: {kind}\nforbid: {{any_of: [{condition}, {kind}]}}"
    (refusal,) = judged(rule, "x: {type: X, properties: {kind: 1}}").refusals
    assert refusal == (
        f"resource 'x' breaks rule 'r1': it forbids that ({words}) or (kind is 1), where kind is 1"
    )
