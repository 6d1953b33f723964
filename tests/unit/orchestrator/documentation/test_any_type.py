"""Whatever properties a type has: the template around it is valid, and so is its example if there is one."""

import json
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from orchestrator.config.settings import Settings
from orchestrator.documentation.catalogue import Catalogue
from orchestrator.documentation.example import Examples
from orchestrator.documentation.resource_type import describe_type
from orchestrator.documentation.site import PageFormat, pages
from orchestrator.documentation.wrapping import wrapping_template
from orchestrator.errors import PluginMistake
from orchestrator.model.messages import StackJob
from orchestrator.plugins.constraints import AllowedValues, Constraint, Length, Modulo, Range
from orchestrator.plugins.groups import Operator
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.validation.job import examine_job
from tests.unit.orchestrator.documentation.reading import broken_links, read

NAMES = ("name", "size", "value", "given", "a_given", "2", "on", "type:", "日本", "OS::stack_name", "x y")
WORDS = st.text(st.sampled_from("ab ':{[#&*!|>%@`é\n0"), max_size=8)
NUMBERS = st.integers(-20, 20)
SIZES = st.integers(0, 6)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(WORDS, inside, max_size=2),
    max_leaves=4,
)


def between(
    kind: type[Range] | type[Length], bounds: st.SearchStrategy[int]
) -> st.SearchStrategy[Constraint]:
    return st.tuples(bounds, bounds).map(lambda two: kind(min=min(two), max=max(two)))


CONSTRAINTS: dict[PropertyType, st.SearchStrategy[Constraint]] = {
    PropertyType.STRING: between(Length, SIZES)
    | st.lists(WORDS, min_size=1, max_size=3).map(lambda words: AllowedValues(tuple(words))),
    PropertyType.INTEGER: between(Range, NUMBERS)
    | st.integers(2, 5).map(lambda step: Modulo(step, step - 1))
    | st.lists(NUMBERS, min_size=1, max_size=3).map(lambda numbers: AllowedValues(tuple(numbers))),
    PropertyType.LIST: between(Length, SIZES),
    PropertyType.MAP: between(Length, SIZES),
}
DEFAULTS: dict[PropertyType, st.SearchStrategy[Any]] = {
    PropertyType.STRING: WORDS,
    PropertyType.INTEGER: NUMBERS,
    PropertyType.NUMBER: st.floats(-1e6, 1e6),
    PropertyType.BOOLEAN: st.booleans(),
    PropertyType.ANY: ANYTHING,
}


@st.composite
def properties(draw: st.DrawFn, depth: int = 0) -> Property:
    kind = draw(st.sampled_from(list(PropertyType)))
    inside = depth < 2 and draw(st.booleans())
    children: Any = None
    if kind is PropertyType.LIST and inside:
        children = draw(properties(depth + 1))
    elif kind is PropertyType.MAP and inside:
        children = draw(st.dictionaries(st.sampled_from(NAMES), properties(depth + 1), max_size=2))
    required = draw(st.booleans())
    default = None if required else draw(st.none() | DEFAULTS.get(kind, st.none()))
    statuses = [SupportStatus(), SupportStatus(status=Support.HIDDEN)]
    return Property(
        type=kind,
        description=draw(WORDS),
        required=required,
        default=default,
        immutable=draw(st.booleans()),
        schema=children,
        constraints=tuple(draw(st.lists(CONSTRAINTS[kind], max_size=1))) if kind in CONSTRAINTS else (),
        support_status=statuses[0] if required else draw(st.sampled_from(statuses)),
    )


@st.composite
def types(draw: st.DrawFn) -> type[Resource]:
    schema = draw(st.dictionaries(st.sampled_from(NAMES), properties(), max_size=4))
    paths = st.lists(st.sampled_from([[name] for name in schema]), min_size=2, max_size=3, unique_by=str)
    groups = [{draw(st.sampled_from(list(Operator))): draw(paths)}] if len(schema) > 1 else []
    body = {
        "description": draw(WORDS),
        "properties_schema": schema,
        "attributes_schema": {name: Attribute(draw(WORDS)) for name in draw(st.sets(st.sampled_from(NAMES)))},
    }
    for declared in (groups, []):
        try:
            return type("Any", (Resource,), {**body, "properties_groups_schema": declared})
        except PluginMistake:
            # A default breaks a rule, or a group can never hold: no such class can be loaded.
            continue
    return type("Any", (Resource,), {})


def note_of(kind: type[Resource]) -> str:
    return f"{kind.properties_schema} {kind.properties_groups_schema}"


def is_valid(template: str, kind: type[Resource]) -> bool:
    job = StackJob(name="any", template=template)
    return bool(examine_job(job, {"My::Any": kind}, Settings(), offline=True, values_required=False))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(types())
def test_the_template_around_any_type_is_valid(kind: type[Resource]) -> None:
    note(note_of(kind))
    assert is_valid(json.dumps(wrapping_template("My::Any", kind)), kind)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(types())
def test_any_type_has_a_page_and_no_example_that_is_not_valid(kind: type[Resource]) -> None:
    example = Examples({"My::Any": kind}, Settings()).of("My::Any")
    assert example is None or is_valid(example, kind)
    described = describe_type("My::Any", kind, example=example)
    site = pages(Catalogue(types={"My::Any": described}, constraints={}, clients={}), PageFormat.HTML)
    assert [*broken_links(site)] == []
    assert read(site["types/my-any.html"]).faults == []
    assert pages(Catalogue(types={"My::Any": described}, constraints={}, clients={}), PageFormat.MARKDOWN)
