"""``isotherm resource-type``: the installed resource types and their schemas."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import click

from orchestrator.cli.formats import Table, fields_table, show, text_of
from orchestrator.cli.options import example, format_option, shell_command
from orchestrator.cli.shell import Shell


@click.group("resource-type")
def resource_type() -> None:
    """Show the installed resource types."""


@resource_type.command(
    "list",
    epilog=example("isotherm resource-type list", "isotherm resource-type list --filter 'OS::Nova::*'"),
)
@click.option(
    "--filter",
    "pattern",
    metavar="TYPE",
    help="Only types with this in their name, in any case; * and ? match any characters.",
)
@format_option()
def list_types(pattern: str | None, form: str) -> None:
    """List the installed types.

    Hidden types, which exist for old templates only, are left out; `show` knows them.
    """
    # Loads every plugin, which the commands about stacks leave to the service.
    from orchestrator.documentation.schema import describe_support
    from orchestrator.plugins.registry import ResourceTypes

    types: list[dict[str, Any]] = [
        {
            "name": name,
            "description": found.description,
            "support_status": describe_support(found.support_status),
        }
        for name, found in ResourceTypes.load().items()
        if not found.support_status.is_hidden and _fits(name, pattern)
    ]
    table = Table(columns=("name", "description"), rows=[_listed(**entry) for entry in types])
    show(form, types, table)


def _fits(name: str, pattern: str | None) -> bool:
    if pattern is None:
        return True
    whole = pattern if set(pattern) & set("*?") else f"*{pattern}*"
    # Brackets have no meaning of their own.
    return fnmatchcase(name.lower(), whole.lower().replace("[", "[[]"))


def _listed(name: str, description: str, support_status: Mapping[str, str]) -> tuple[str, str]:
    support = support_status["description"]
    return name, f"{description} ({support})" if support else description


@shell_command(
    "isotherm resource-type show OS::Heat::RandomString",
    "isotherm resource-type show OS::Heat::RandomString -f json",
    group=resource_type,
    name="show",
)
@click.argument("name")
def show_type(shell: Shell, name: str, form: str) -> None:
    """Show a type's properties and attributes.

    Shows its properties, its attributes, the keys of its update policy, an example, and the package that contains it.
    docs/types.md describes the JSON and YAML.
    """
    from orchestrator.documentation.catalogue import described_types
    from orchestrator.plugins.registry import ResourceTypes

    described = described_types(ResourceTypes.load(), shell.settings, names=[name])[name]
    show(form, described, *_tables(described))


@resource_type.command(
    "template",
    epilog=example(
        "isotherm resource-type template OS::Heat::RandomString",
        "isotherm resource-type template OS::Heat::RandomString -f json",
    ),
)
@click.argument("name")
@format_option("yaml", "json")
def template_of_type(name: str, form: str) -> None:
    """Write a template that wraps a type.

    It has one resource of the type, a parameter for each property and an output for each attribute: as the start of a
    template, or to replace the type in the resource registry of an environment. A property whose parameter may be
    empty, and is, is left out.
    """
    from orchestrator.documentation.wrapping import wrapping_template
    from orchestrator.plugins.registry import ResourceTypes

    show(form, wrapping_template(name, ResourceTypes.load().find(name)))


def _tables(described: Mapping[str, Any]) -> Iterator[Table]:
    from orchestrator.documentation.words import attribute_sentences, flat, sentence

    origin = described["origin"]
    fields = {
        "name": described["name"],
        "description": described["description"],
        "package": " ".join(part for part in (origin["package"], origin["version"]) if part),
        "class": origin["target"],
    }
    if described["support_status"]["description"]:
        fields["support"] = described["support_status"]["description"]
    if described["accepts_anything"]:
        fields["properties"] = fields["attributes"] = "any name, any value"
    yield fields_table(fields)
    properties = [
        (path, each["type"], "required" if each["required"] else "optional", _about(each, changes=not depth))
        for path, each, depth in flat(described["properties"])
    ]
    if properties:
        yield Table(columns=("name", "type", "given", "about"), rows=properties, title="properties")
    translations = [[sentence(each["description"])] for each in described["translations"]]
    if translations:
        yield Table(columns=("about",), rows=translations, title="translations", has_header=False)
    for group in described["properties_groups"]:
        title = sentence(group["description"])
        rows = [[cell or "not given" for cell in row] for row in group["rows"]]
        yield Table(columns=tuple(group["columns"]), rows=rows, title=title)
    attributes = [
        (key, each["type"], " ".join(attribute_sentences(each)))
        for key, each in described["attributes"].items()
    ]
    if attributes:
        yield Table(columns=("name", "type", "description"), rows=attributes, title="attributes")
    policy = [(path, each["type"], _about(each)) for path, each, _ in flat(described["update_policy"])]
    if policy:
        yield Table(columns=("name", "type", "about"), rows=policy, title="update policy")
    if described["example"]:
        yield Table(
            columns=("example",),
            rows=[[described["example"].rstrip()]],
            title="example",
            keeps_lines=True,
            has_header=False,
        )


def _about(described: Mapping[str, Any], *, changes: bool = False) -> str:
    from orchestrator.documentation.words import when_changed

    notes = [described["support_status"]["description"]] if described["support_status"]["description"] else []
    notes += [] if described["implemented"] else ["not implemented: giving a value is refused"]
    notes += [rule["description"] for rule in described["constraints"]]
    if described["default"] not in (None, "", {}, []):
        notes.append(f"default {text_of(described['default'])}")
    # The outermost property decides the effect of a change.
    if changes:
        changed = when_changed(described).removesuffix(".")
        notes.append(changed[:1].lower() + changed[1:])
    return " ".join([described["description"], f"({'; '.join(notes)})" if notes else ""]).strip()
