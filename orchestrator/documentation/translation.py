"""Descriptions of translation rules: old names of properties, and names in place of ids."""

from orchestrator.documentation.schema import plain, text
from orchestrator.documentation.words import value
from orchestrator.plugins.properties import convert_properties
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.translation import Add, Nothing, Replace, Resolve, Rule, RulePath


def describe_translations(kind: type[Resource]) -> list[dict[str, object]]:
    """Return descriptions of a type's translation rules that apply if no property is given.

    Rules that depend on values are left out.
    """
    nothing = convert_properties(kind.properties_schema, {}, constraints=False)
    return [
        {
            "path": text(".".join(rule.path)),
            "rule": type(rule).__name__.lower(),
            "description": text(_in_words(rule)),
        }
        for rule in kind.translation_rules(nothing)
    ]


def _in_words(rule: Rule) -> str:
    path = _named(rule.path)
    match rule:
        case Add(source=source) if source:
            return f"what {_named(source)} holds is added to {path}"
        case Add(values=values):
            return f"{path} has {', '.join(value(plain(each)) for each in values)} besides what is given"
        case Replace(value=literal) if not isinstance(literal, Nothing):
            return f"{path} is always {value(plain(literal))}"
        case Replace(source=source, sibling=sibling):
            return f"{_named(source or (*rule.path[:-1], sibling))} is an old name of {path}"
        case Resolve(client=client, entity=entity):
            return f"{path} may be the name of a {entity}: the client {client} finds its id"
    # A Delete.
    return f"{path} has no effect any more"


def _named(path: RulePath) -> str:
    return f"`{'.'.join(path)}`"
