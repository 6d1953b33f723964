"""Example templates of resource types: the class's own, or a generated minimal template."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.documentation.group import least_given, put, schema_at
from orchestrator.documentation.schema import plain
from orchestrator.documentation.wrapping import VERSION, resource_name
from orchestrator.model.messages import StackJob
from orchestrator.plugins.constraints import AllowedValues, Constraint, Length, Modulo, Range
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.sandbox.budget import evaluation
from orchestrator.template import writer
from orchestrator.validation.job import examine_job

#: The longest example that is shown.
_LONGEST: Final = 20_000
#: The longest text or list that is generated.
_LONGEST_MADE_UP: Final = 256
#: The most generated templates that are tried.
_MOST_TEMPLATES: Final = 20
#: Texts that are tried for a constraint that has no schema; the first valid one is used.
_TEXTS: Final = (
    "example",
    "192.0.2.7",
    "192.0.2.0/24",
    "00:16:3e:7f:00:01",
    "https://example.org/",
    "example.org",
    "2026-01-01T00:00:00Z",
    "0 3 * * *",
    "Europe/London",
    "{}",
    "1",
    "a",
)
_NUMBERS: Final = (1, 0, 2, 10, 100, 0.5, -1)


class Examples:
    """Valid examples of installed types."""

    def __init__(self, types: Mapping[str, type[Resource]], settings: Settings) -> None:
        self._types, self._settings = types, settings

    def of(self, name: str) -> str | None:
        """Return the text of a template that uses a type: its class's own, else a generated one, else None."""
        kind = self._types[name]
        own = f"{str(kind.example).strip()}\n"
        return own if self.shows(own, name) else self._made_up(name, kind)

    def _made_up(self, name: str, kind: type[Resource]) -> str | None:
        try:
            for each in least_templates(name, kind):
                written = writer.write(plain(each), ascii_only=False)
                if self.shows(written, name):
                    return written
        except Exception:  # noqa: BLE001  # a plugin's constraint failed: there is no example
            return None
        return None

    def shows(self, template: str, name: str) -> bool:
        """Return whether a template is valid and has a resource of a type."""
        if len(template) > _LONGEST:
            return False
        job = StackJob(name="example", template=template, template_file="example.yaml")
        try:
            with evaluation(Limits.of(self._settings)):
                examined = examine_job(
                    job, self._types, self._settings, offline=True, values_required=False, stack_id="example"
                )
        except Exception:  # noqa: BLE001  # a plugin failed on its own example: there is none
            return False
        return any(each.type == name for each in examined.template.resources.values())


def least_templates(name: str, kind: type[Resource]) -> Iterator[dict[str, object]]:
    """Yield templates with one resource of a type and a minimum of properties; they may be invalid."""
    schemas = kind.properties_schema
    for chosen in islice(least_given(kind), _MOST_TEMPLATES):
        properties = {key: made_up(schema) for key, schema in schemas.items() if schema.required}
        for path in chosen:
            schema = schema_at(schemas, path.steps)
            put(properties, path.steps, made_up(schema) if schema is not None else "example")
        yield _template(name, properties)


def _template(name: str, properties: Mapping[str, object]) -> dict[str, object]:
    resource = {"type": name, **({"properties": properties} if properties else {})}
    return {"heat_template_version": VERSION, "resources": {resource_name(name): resource}}


def made_up(schema: Property) -> object:
    """Return a value for a property that satisfies its constraints, as far as they can be checked here."""
    tried = [*_candidates(schema)]
    return next((value for value in tried if _holds(schema.constraints, value)), tried[0])


def _holds(constraints: tuple[Constraint, ...], value: object) -> bool:
    return all(each.check(value) is None for each in constraints if each.is_available)


def _candidates(schema: Property) -> Iterator[object]:
    for constraint in schema.constraints:
        if isinstance(constraint, AllowedValues):
            yield from (
                ([value] for value in constraint.values)
                if schema.type is PropertyType.LIST
                else constraint.values
            )
    least = max((each.min or 0 for each in schema.constraints if isinstance(each, Length)), default=0)
    least = min(least, _LONGEST_MADE_UP)
    match schema.type:
        case PropertyType.STRING | PropertyType.ANY:
            yield from _TEXTS
            yield "x" * least
        case PropertyType.INTEGER | PropertyType.NUMBER:
            yield from _numbers(schema)
        case PropertyType.BOOLEAN:
            yield from (True, False)
        case PropertyType.LIST:
            item = made_up(schema.schema) if isinstance(schema.schema, Property) else "example"
            yield from ([item] * max(least, 1), [])
        case PropertyType.MAP:
            yield _map(schema, least)


def _numbers(schema: Property) -> Iterator[float]:
    for constraint in schema.constraints:
        match constraint:
            case Range(min=low, max=high):
                yield from (bound for bound in (low, high) if bound is not None)
            case Modulo(step=step, offset=offset):
                yield from (step + offset, offset)
    yield from (
        number for number in _NUMBERS if schema.type is PropertyType.NUMBER or isinstance(number, int)
    )


def _map(schema: Property, least: int) -> dict[str, object]:
    if isinstance(schema.schema, Mapping):
        return {key: made_up(child) for key, child in schema.schema.items() if child.required}
    return {f"example{number}": "example" for number in range(1, least + 1)}
