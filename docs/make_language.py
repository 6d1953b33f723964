"""Write the parts of ``docs/language.md`` that the code says: ``python docs/make_language.py``."""

import json
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

from orchestrator.config.settings import Settings
from orchestrator.template.functions.base import LONGEST_TEXT, Departure, Example
from orchestrator.template.functions.description import (
    FunctionDescription,
    Span,
    VersionDescription,
    describe_functions,
    describe_versions,
    latest_version,
    plain_parent,
    version_named,
)
from orchestrator.template.functions.registry import all_functions
from orchestrator.template.versions import (
    CFN_AWS,
    FORMATS,
    HOT,
    NEWTON,
    OCATA,
    PIKE,
    QUEENS,
    V2014_10_16,
    V2015_10_15,
    WALLABY,
    TemplateVersion,
)

PAGE = Path(__file__).with_name("language.md")
#: What ships is what this file declares; other packages may have installed more.
PROJECT = Path(__file__).parents[1] / "pyproject.toml"


#: The settings that bound what a template costs.
LIMITS = (
    "max_template_bytes",
    "max_resources_per_stack",
    "max_template_depth",
    "max_nested_stack_depth",
    "max_template_files",
    "max_repeat_items",
    "pattern_seconds",
    "evaluation_seconds",
    "yaql_seconds",
    "yaql_memory_mib",
)

#: What versions change besides adding and removing functions.
CHANGES = {
    V2014_10_16: "`get_attr` passes an attribute's path to the resource",
    V2015_10_15: "`list_join` takes several lists, and maps and lists in them; `str_replace` takes maps and lists; "
    "`get_attr` of a resource alone gives all its attributes",
    NEWTON: "conditions; `external_id`; `repeat` over the keys of maps; deletion policies in small letters",
    OCATA: "the constraint `modulo`",
    PIKE: "`permutations` in `repeat`",
    QUEENS: "`tags` of parameters",
    WALLABY: "`if` without a second value",
}


#: Deliberate differences from Heat besides those of functions, which their classes declare.
DEPARTURES = (
    Departure("problems", "the first one ends validation", "all are reported at once, with their places"),
    Departure("a key that a map has twice", "the last one counts", "refused"),
    Departure(
        "numbers that are not finite or do not fit 64 bits, and YAML's other tags",
        "taken as Python reads them",
        "refused",
    ),
    Departure("keys that are no text", "become text silently", "become text with a warning"),
    Departure("a map with one key that is nearly a function's name", "data", "data, with a warning"),
    Departure("unknown keys of outputs", "accepted when a stack is made", "refused in HOT"),
    Departure("`external_id` and `condition` before newton", "accepted by one of two checks", "refused"),
    Departure(
        "a reference to a resource that does not exist, in an output",
        "accepted; the output shows an error",
        "refused",
    ),
    Departure(
        "a call in place of a condition that gives null",
        "holds where a condition is used, refused in `conditions`",
        "refused",
    ),
    Departure(
        "several kinds of constraints in one map",
        "the first of a fixed order counts",
        "refused: each is an item of its own",
    ),
    Departure("`hidden` and `immutable`", "any text is true", "true, false, or a word for one of them"),
    Departure(
        "a default of a wrong type that is not used",
        "refused if the parameter has constraints or is a list, else accepted",
        "accepted",
    ),
    Departure("maps and lists in a comma_delimited_list", "written out as Python does", "refused"),
    Departure("NaN and Infinity in a json parameter", "accepted", "refused"),
    Departure(
        "a parameter that both the request and an environment file set",
        "the file's value counts",
        "the request's value counts",
    ),
    Departure(
        "an unknown word under `parameter_merge_strategies`", "counts as the default strategy", "refused"
    ),
    Departure(
        "several entries of a registry that match",
        "the first in alphabetical order, in which wildcards come before names",
        "the type's own entry, then the longest wildcard",
    ),
    Departure(
        "an entry of a registry for a full name whose target does not exist",
        "passed over, like a wildcard",
        "refused",
    ),
    Departure(
        "parameters of a nested stack",
        "lists become text with commas, and maps in lists items such as `.member.0.name=value`",
        "given as they are",
    ),
    Departure("`get_resource` of a nested stack", "an ARN", "the stack's id"),
    Departure("`AWS::StackId`", "an ARN", "the stack's id"),
    Departure("`AWS::Region`", "always one region", "the setting `aws_region`"),
    Departure(
        "templates by URL",
        "fetched by the engine",
        "fetched by the command line, where that is allowed",
    ),
    Departure(
        "limits",
        "1,000 resources and 524,288 characters",
        "the settings in [Limits](#limits); time and memory of an evaluation are bounded, too",
    ),
)


def page() -> str:
    """Return the page's text: as it is, but for the parts that are written here."""
    declared = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]["isotherm.functions"]
    shipped = [each for each in describe_functions() if each.name in declared]
    of_hot = [each for each in shipped if latest_version() in {*each.versions, *each.condition_versions}]
    text = PAGE.read_text()
    for name, lines in (
        ("versions", _versions(describe_versions(), set(declared))),
        ("limits", _limits()),
        ("differences", _departures({each.name for each in shipped})),
        ("functions", _functions(of_hot)),
        ("functions of CFN", _functions([each for each in shipped if each not in of_hot])),
    ):
        text = _with_part(text, name, "".join(lines))
    return text


def _with_part(text: str, name: str, part: str) -> str:
    begin, end = f"<!-- {name}: written by docs/make_language.py -->\n", f"<!-- end of {name} -->\n"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{PAGE.name} has no place for {name}")
    return f"{before}{begin}\n{part}\n{end}{after}"


def _versions(versions: Iterable[VersionDescription], shipped: set[str]) -> Iterator[str]:
    yield "| Version | Functions | Else |\n|---|---|---|\n"
    for described in versions:
        version = described.version
        name = f"`{version.date}`" + (f", `{version.alias}`" if version.alias else "")
        parts = []
        for verb, names in (
            ("adds", described.adds),
            ("for conditions", described.adds_in_conditions),
            ("removes", described.removes),
        ):
            listed = ", ".join(f"`{name}`" for name in names if name in shipped)
            parts += [f"{verb} {listed}"] if listed else []
        if version.key == HOT:
            yield f"| {name} | {'; '.join(parts)} | {CHANGES.get(version, '')} |\n"


def _limits() -> Iterator[str]:
    yield "| Setting | Default | Meaning |\n|---|---|---|\n"
    for name in LIMITS:
        field = Settings.declared[name]
        yield f"| `{name}` | `{json.dumps(field.default)}` | {field.description} |\n"
    yield f"\nNo function makes a text of more than {LONGEST_TEXT:,} characters.\n"


def _departures(shipped: set[str]) -> Iterator[str]:
    yield "| What | Heat | Isotherm |\n|---|---|---|\n"
    for each in DEPARTURES:
        yield f"| {each.what} | {each.heat} | {each.here} |\n"
    for name, function in sorted(all_functions().items()):
        # Inherited ones are those of another function.
        for each in vars(function).get("departures", ()) if name in shipped else ():
            yield f"| [`{name}`](#{_anchor(name)}): {each.what} | {each.heat} | {each.here} |\n"


# -- functions -------------------------------------------------------------------------------------------------


def _functions(functions: list[FunctionDescription]) -> Iterator[str]:
    for described in functions:
        yield f"- [{described.name}](#{_anchor(described.name)})\n"
    for described in functions:
        yield "\n" + _section(described)


def _anchor(heading: str) -> str:
    return heading.lower().replace(":", "")


def _section(described: FunctionDescription) -> str:
    calls = " or ".join(f"`{call}`" for call in described.calls)
    parts = [
        f"### {described.name}\n",
        f"{_wrapped(f'{calls}: {described.summary}')}\n",
        f"{_availability(described)}\n",
        *(f"{_wrapped(paragraph)}\n" for paragraph in described.details),
        "```yaml\n" + "\n".join(map(_example, described.examples)) + "```\n",
    ]
    return "\n".join(parts)


def _wrapped(text: str) -> str:
    return fill(text, 118, break_long_words=False, break_on_hyphens=False)


def _availability(described: FunctionDescription) -> str:
    values, conditions = _where(described.versions), _where(described.condition_versions)
    if values == conditions:
        return f"In values and conditions: {values}."
    parts = [f"In values: {values}." if values else "", f"In conditions: {conditions}." if conditions else ""]
    return " ".join(part for part in parts if part)


def _where(versions: tuple[TemplateVersion, ...]) -> str:
    """Return which versions these are, in words."""
    words = []
    for key, known in FORMATS.items():
        span = Span.of(versions, key)
        if span is None:
            continue
        if key != HOT:
            words.append(f"`{key}`")
        elif span.until:
            words.append(f"HOT before {span.until}")
        else:
            words.append("every version of HOT" if span.since == known[0] else f"HOT from {span.since} on")
    # CFN's formats first where both are named: HOT has its functions for a while only.
    return ", ".join(sorted(words, key=lambda word: not word.startswith("`")))


def _example(example: Example) -> str:
    lines = [*_around(example), example.call, f"# gives {_json(example.result)}"]
    return "".join(f"{line}\n" for line in lines)


def _around(example: Example) -> Iterator[str]:
    """Yield what must be known to understand the result."""
    version = version_named(example.version)
    if version not in (latest_version(), CFN_AWS):
        yield f"# {version.key}: {version.date}"
    for title, section in example.sections.items():
        yield f"# {title}: {_json(section)}"
    for what, named in (
        ("parameter", example.parameters),
        ("file", example.files),
        ("resource", example.resources),
    ):
        for name, value in named.items():
            yield f"# the {what} {name}: {_json(value)}"
    if example.parent:
        given = {key: value for key, value in plain_parent(example.parent).items() if value and key != "name"}
        yield f"# the resource that the template is used as: {_json(given)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    PAGE.write_text(page())
