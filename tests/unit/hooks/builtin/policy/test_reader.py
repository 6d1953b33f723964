"""A rule file that is wrong is refused with the places, what was expected, and the nearest right name."""

from textwrap import dedent
from typing import Any

import pytest

from hooks.builtin.policy.nodes import Unreadable
from hooks.builtin.policy.rule_reader import read_rules

HEAD = "rules:\n- name: r\n  types: T\n  require: "

#: What stands in a file, and what is said about it.
WRONG = [
    ("", "f.yaml: expected a map with the key rules, found nothing"),
    ("# nothing", "f.yaml: expected a map with the key rules, found nothing"),
    ("[]", "f.yaml:1:1: expected a map with the key rules, found a list"),
    ("{}", "f.yaml:1:1: expected a map with the key rules"),
    ("rule: []", "f.yaml:1:1: there is no key 'rule' here; did you mean 'rules'?"),
    ("rules: x", "f.yaml:1:8: expected a list of rules, found 'x'"),
    ("rules:", "f.yaml:1:7: expected a list of rules, found nothing"),
    ("rules: [x]", "f.yaml:1:9: expected a rule, a map, found 'x'"),
    ("rules: [", "f.yaml:1:9: it is no YAML: expected the node content, but found '<stream end>'"),
    ("rules: []\n---\nrules: []", "f.yaml:2:1: it is no YAML: but found another document"),
    ("rules: *x", "f.yaml:1:8: it is no YAML: found undefined alias 'x'"),
    ("rules: \a", "f.yaml: it is no YAML: unacceptable character"),
    ("[" * 550, "f.yaml: it is nested too deep"),
    ("rules: &a [*a]", "f.yaml:1:8: expected a rule, a map, found a list"),
    ("rules:\n- {forbid_types: X}", "f.yaml:2:3: a rule needs a name: it is what people are told"),
    ("rules: [{}]", "f.yaml:1:9: a rule needs a name"),
    (
        "rules:\n- {name: 5, forbid_types: X}",
        "f.yaml:2:10: expected a text, found a number ('5'); put it in quotes",
    ),
    ("rules:\n- {name: '', forbid_types: X}", "f.yaml:2:10: expected a text, found nothing"),
    ("rules:\n- {name: x, name: y, forbid_types: X}", "f.yaml:2:13: the key 'name' stands here twice"),
    (
        "rules:\n- {name: x, forbid_types: X}\n- {name: x, forbid_types: X}",
        "f.yaml:3:4: there are two rules of the name 'x'",
    ),
    (
        "rules:\n- {name: x, requires: {}}",
        "f.yaml:2:13: there is no key 'requires' here; did you mean 'require'?",
    ),
    ("rules:\n- {name: x}", "f.yaml:2:3: the rule 'x' demands nothing: expected one of require_tags,"),
    ("rules:\n- {name: x, types: T}", "f.yaml:2:13: 'types' needs 'require' or 'forbid'"),
    (
        "rules:\n- {name: x, require: {property: a, exists: true}}",
        "f.yaml:2:3: 'require' needs 'types': the types of the resources that it speaks of",
    ),
    ("rules:\n- {name: x, forbid_types: []}", "f.yaml:2:27: expected at least one item"),
    ("rules:\n- {name: x, forbid_types: [a, 5]}", "f.yaml:2:31: expected a text, found a number ('5')"),
    ("rules:\n- {name: x, forbid_types: {a: 5}}", "f.yaml:2:27: expected a text, found a map"),
    (
        "rules:\n- {name: x, forbid_types: X, effect: refused}",
        "f.yaml:2:38: expected one of refuse, warn, found 'refused'; did you mean 'refuse'?",
    ),
    ("rules:\n- {name: x, forbid_types: X, effect: [warn]}", "expected one of refuse, warn, found a list"),
    (
        "rules:\n- {name: x, forbid_types: X, actions: [creat]}",
        (
            "f.yaml:2:40: expected one of create, update, adopt, restore, delete, rollback, check, suspend, resume, "
            "snapshot, abandon, found 'creat'; did you mean 'create'?"
        ),
    ),
    (
        "rules:\n- {name: x, forbid_types: X, effect: warn, when_unknown: refuse}",
        "f.yaml:2:58: what is only warned of where it is known cannot be refused where it is not",
    ),
    (f"{HEAD}x", "f.yaml:4:12: expected a condition, a map with one of property, every, some, requires,"),
    (f"{HEAD}[]", "f.yaml:4:12: expected at least one item"),
    (f"{HEAD}{{}}", "f.yaml:4:12: a condition is about one of property, every,"),
    (
        f"{HEAD}{{property: a, requires: T}}",
        (
            "f.yaml:4:12: a condition is about one of property, every, some, requires, required_by, not, any_of, "
            "all_of; found both property and requires"
        ),
    ),
    (
        f"{HEAD}{{proprety: a, exists: true}}",
        "f.yaml:4:13: there is no key 'proprety' here; did you mean 'property'?",
    ),
    (f"{HEAD}{{property: a}}", "f.yaml:4:12: expected one of exists, equals,"),
    (f"{HEAD}{{property: a, equals: 1, exists: true}}", "found both exists and equals"),
    (
        f"{HEAD}{{property: a, equals: 1, where: {{}}}}",
        "f.yaml:4:37: 'where' says nothing about 'property': exists, equals, one_of,",
    ),
    (f"{HEAD}{{some: 'a[*]', equals: 1, optional: true}}", "'optional' says nothing about 'some'"),
    (f"{HEAD}{{not: {{requires: T}}, exists: true}}", "'exists' says nothing about 'not': nothing may stand"),
    (f"{HEAD}{{any_of: {{requires: T}}}}", "f.yaml:4:21: expected a list of conditions, found a map"),
    (f"{HEAD}{{property: a..b, exists: true}}", "f.yaml:4:23: expected a path such as"),
    (f"{HEAD}{{property: 5, exists: true}}", "f.yaml:4:23: expected a text, found a number ('5')"),
    (
        f"{HEAD}{{property: 'a[*]', exists: true}}",
        "f.yaml:4:23: 'a[*]' leads to several values: say 'every' or 'some' in place of 'property'",
    ),
    (
        f"{HEAD}{{every: a, exists: true}}",
        "f.yaml:4:20: 'a' leads to one value: say 'property' in place of 'every'",
    ),
    (f"{HEAD}{{property: a, exists: maybe}}", "f.yaml:4:34: expected true or false, found 'maybe'"),
    (f"{HEAD}{{property: a, one_of: x}}", "f.yaml:4:34: expected a list of values, found 'x'"),
    (f"{HEAD}{{property: a, one_of: []}}", "f.yaml:4:34: expected at least one value"),
    (
        f"{HEAD}{{property: a, equals: null}}",
        "f.yaml:4:34: expected a value, found nothing; what is not given is",
    ),
    (f"{HEAD}{{property: a, equals: !x 5}}", "f.yaml:4:34: the tag '!x' is not supported here"),
    (
        f"{HEAD}{{property: a, equals: !!bool x}}",
        "f.yaml:4:34: the tag 'tag:yaml.org,2002:bool' does not fit 'x'",
    ),
    (
        f"{HEAD}{{property: a, equals: !!int 5.5}}",
        "f.yaml:4:34: the tag 'tag:yaml.org,2002:int' does not fit '5.5'",
    ),
    (f"{HEAD}{{<<: {{property: a}}, exists: true}}", "f.yaml:4:13: expected a text, found a value ('<<')"),
    (f"{HEAD}{{property: a, equals: {{5: 5}}}}", "f.yaml:4:35: expected a text, found a number ('5')"),
    (f"{HEAD}{{property: a, at_least: x}}", "f.yaml:4:36: expected a number, found 'x'"),
    (f"{HEAD}{{property: a, at_most: true}}", "expected a number, found true or false ('true')"),
    (
        f"{HEAD}{{property: a, matches: '('}}",
        "f.yaml:4:35: '(' is no regular expression of RE2: missing ): (",
    ),
    (
        f"{HEAD}{{property: a, matches: '(?=a)'}}",
        "is no regular expression of RE2: invalid perl operator: (?=",
    ),
    (
        f"{HEAD}{{property: a, matches: '(abcdefghijklmnop){{900}}'}}",
        "f.yaml:4:35: the regular expression '(abcdefghijklmnop){900}' is too large",
    ),
    *(
        (
            f"{HEAD}{{property: a, equals: [{number}]}}",
            f"f.yaml:4:35: {number!r} is a number that may be misread",
        )
        for number in ("0640", "0x1f", "22:30", "1_000", ".inf", "1:30.5")
    ),
    (f"{HEAD}{{property: a, at_most: 010}}", "f.yaml:4:35: '010' is a number that may be misread"),
    (f"{HEAD}{{requires: T, indirectly: x}}", "f.yaml:4:38: expected true or false, found 'x'"),
    (f"{HEAD}&a {{not: *a}}", "f.yaml: it is nested too deep, or refers to itself"),
    (f"{HEAD}{{property: a, equals: &a [*a]}}", "f.yaml: it is nested too deep, or refers to itself"),
]


def refusal(source: str) -> str:
    with pytest.raises(Unreadable) as error:
        read_rules(dedent(source), "f.yaml")
    return str(error.value)


@pytest.mark.parametrize(("source", "sentence"), WRONG, ids=lambda text: text[:50])
def test_what_is_wrong_is_told_with_its_place(source: str, sentence: str) -> None:
    assert sentence in refusal(source)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    said = refusal(
        """
        rules:
        - name: first
          effect: refuze
          forbid_types: 5
        - name: second
          typs: T
          require: {property: a, equal: 1}
        """
    )
    places = ["f.yaml:4:11", "f.yaml:5:17", "f.yaml:6:3", "f.yaml:7:3", "f.yaml:8:12", "f.yaml:8:26"]
    assert [fault.partition(": ")[0] for fault in said.splitlines() if fault.startswith("f.")] == places


def test_of_very_many_mistakes_the_first_are_told() -> None:
    assert refusal("rules: [" + "x, " * 30 + "]").endswith("\nand 20 more")


def test_values_that_refer_to_each_other_without_end_are_not_expanded() -> None:
    lines = ["- &a0 [x]", *(f"- &a{number} [*a{number - 1}, *a{number - 1}]" for number in range(1, 40))]
    one_of = "\n".join(f"      {line}" for line in lines)
    said = refusal(f"rules:\n- name: r\n  types: T\n  require:\n    property: a\n    one_of:\n{one_of}\n")
    assert "it has more than 50000 values" in said


def test_conditions_that_refer_to_each_other_without_end_are_not_expanded() -> None:
    lines = [
        "&c0 {requires: T}",
        *(f"&c{number} {{any_of: [*c{number - 1}, *c{number - 1}]}}" for number in range(1, 40)),
    ]
    conditions = "\n".join(f"  - {line}" for line in lines)
    assert "it has more than 50000 values" in refusal(
        f"rules:\n- name: r\n  types: T\n  require:\n{conditions}\n"
    )


def test_what_yaml_takes_for_a_date_is_a_text() -> None:
    (rule,) = read_rules(f"{HEAD}{{property: a, equals: 2021-04-16}}", "f.yaml")
    assert str(rule.demands[0].condition) == "a is '2021-04-16'"  # type: ignore[attr-defined]  # it is of this kind


@pytest.mark.parametrize("number", [0, -5, 8080, 1.5, -0.25])
def test_a_plain_number_is_what_it_seems_to_be(number: float) -> None:
    (rule,) = read_rules(f"{HEAD}{{property: a, equals: {number}}}", "f.yaml")
    operator = rule.demands[0].condition.operator  # type: ignore[attr-defined]  # as above
    assert operator.words == f"is {number!r}"
    assert operator.holds(number) is True


def test_no_rules_are_rules_too() -> None:
    assert read_rules("rules: []", "f.yaml") == ()


def test_lists_that_several_rules_share_are_written_once() -> None:
    rules = read_rules("rules:\n- {name: a, forbid_types: &t [X, Y]}\n- {name: b, allow_types: *t}", "f.yaml")
    demands: list[Any] = [rule.demands[0] for rule in rules]
    assert [demand.args for demand in demands] == [(("X", "Y"),), (("X", "Y"),)]
