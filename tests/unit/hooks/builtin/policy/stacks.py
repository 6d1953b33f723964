"""Stacks as plugins are shown them, from the resources of a template, and what rules make of them."""

from collections.abc import Mapping
from functools import lru_cache
from textwrap import dedent, indent
from typing import Any

import yaml

from hooks.builtin.policy.rule_reader import read_rules
from hooks.builtin.policy.rules import Judgement, Rule, judge
from hooks.stack import FrozenResource, FrozenStack
from hooks.values.frozen import frozen
from hooks.values.unknown import UNKNOWN

REFERENCES = ("get_resource", "get_attr")


def stack_of(resources: str, **members: Any) -> FrozenStack:
    """Return a stack of which nothing is there yet; ``resources`` is what stands below that in a template.

    Whatever refers to another resource is unknown, and every parameter is a hidden one.
    """
    said = yaml.safe_load(dedent(resources)) or {}
    made = {
        name: FrozenResource(
            name=name,
            type=each["type"],
            properties=frozen(shown(each.get("properties") or {})),
            requires=tuple(sorted({*depends_on(each), *references(each.get("properties"))})),
        )
        for name, each in said.items()
    }
    return FrozenStack(**{"name": "s", "id": "1", "resources": frozen(made), **members})


def depends_on(resource: Mapping[str, Any]) -> list[str]:
    said = resource.get("depends_on") or []
    return [said] if isinstance(said, str) else said


def shown(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() & set(REFERENCES):
            return UNKNOWN
        return "******" if "get_param" in value else {name: shown(each) for name, each in value.items()}
    return [shown(each) for each in value] if isinstance(value, list) else value


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        for function in REFERENCES:
            if function in value:
                said = value[function]
                return {said if isinstance(said, str) else said[0]}
        return {name for each in value.values() for name in references(each)}
    return {name for each in value for name in references(each)} if isinstance(value, list) else set()


def rules_of(*rules: str) -> tuple[Rule, ...]:
    """Return rules, each given as what stands in its map; those without a name get one."""
    return _rules_of(rules) if rules else ()


@lru_cache
def _rules_of(rules: tuple[str, ...]) -> tuple[Rule, ...]:
    written = []
    for number, rule in enumerate(rules, start=1):
        body = dedent(rule).strip()
        name = "" if body.startswith("name:") else f"name: r{number}\n"
        written.append(indent(f"{name}{body}", "  ").replace("  ", "- ", 1))
    return read_rules("\n".join(["rules:", *written]), "rules.yaml")


def judged(rule: str, resources: str = "{}", **members: Any) -> Judgement:
    """Return what one rule makes of a stack."""
    return judge(rules_of(rule), stack_of(resources, **members))


def verdict(judgement: Judgement) -> str:
    """Return whether a stack is refused, warned of, or fine."""
    return "refused" if judgement.refusals else "warned" if judgement.warnings else "fine"
