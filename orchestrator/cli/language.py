"""``isotherm template functions`` and ``versions``: functions and versions of the template language."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from orchestrator.cli.formats import Table, show
from orchestrator.cli.options import example, format_option

if TYPE_CHECKING:
    from orchestrator.template.functions.description import FunctionDescription, VersionDescription
    from orchestrator.template.versions import TemplateVersion


@click.command(
    epilog=example(
        "isotherm template functions",
        "isotherm template functions --version rocky --conditions",
        "isotherm template functions --version AWSTemplateFormatVersion.2010-09-09 -f json",
    )
)
@click.option(
    "--version",
    "name",
    metavar="VERSION",
    help="A version's date or code name, of HOT or of CFN; the latest version of HOT if left out.",
)
@click.option("--conditions", "in_conditions", is_flag=True, help="The functions that conditions can call.")
@format_option()
def functions(name: str | None, *, in_conditions: bool, form: str) -> None:
    """List the functions of a version.

    UNTIL is the first version without the function. JSON and YAML also have details, examples, and all versions that
    have the function.
    """
    # Loads every function.
    from orchestrator.template.functions.description import (
        describe_functions,
        latest_version,
        version_named,
    )

    version = version_named(name) if name else latest_version()
    described = [
        (_lifetime(each, version, in_conditions=in_conditions), each)
        for each in describe_functions(version, in_conditions=in_conditions)
    ]
    rows = [
        (each.name, " or ".join(each.calls), *lifetime.values(), each.summary) for lifetime, each in described
    ]
    columns = ("name", "call", "since", "until", "gives")
    data = [{**each.to_dict(), **lifetime} for lifetime, each in described]
    show(form, data, Table(columns=columns, rows=rows))


@click.command(epilog=example("isotherm template versions", "isotherm template versions -f json"))
@format_option()
def versions(form: str) -> None:
    """List the versions of the language.

    Each with what it changes in the functions of the version before it, in the same format.
    """
    from orchestrator.template.functions.description import describe_versions

    described = describe_versions()
    rows = [
        (each.version.key, each.version.date, each.version.alias, "; ".join(_changes(each)))
        for each in described
    ]
    columns = ("format", "date", "alias", "functions")
    show(form, [each.to_dict() for each in described], Table(columns=columns, rows=rows))


def _changes(described: "VersionDescription") -> Iterator[str]:
    for verb, names in (
        ("adds", described.adds),
        ("adds in conditions", described.adds_in_conditions),
        ("removes", described.removes),
    ):
        if names:
            yield f"{verb}: {', '.join(names)}"


def _lifetime(
    described: "FunctionDescription", version: "TemplateVersion", *, in_conditions: bool
) -> dict[str, object]:
    """Return the first version that has a function, and the first that no longer has it, in the version's format."""
    from orchestrator.template.functions.description import Span

    span = Span.of(described.condition_versions if in_conditions else described.versions, version.key)
    until = span.until.date if span and span.until else None
    return {"since": span.since.date if span else None, "until": until}
