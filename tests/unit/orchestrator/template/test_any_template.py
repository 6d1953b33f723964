"""Whatever a template or an environment says, it is accepted or refused with reasons; nothing else ever happens."""

import functools
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgpack
import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import NodeData, ResourceProxy, StackDefinition
from orchestrator.engine.stack_preview import preview_job
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.planning.preparation import Prepared, plan_job, wanted_attributes
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.template.definitions import ResolveError, ResourceDefinition
from orchestrator.template.dialects import dialect_of
from orchestrator.template.functions.registry import all_functions
from orchestrator.template.versions import FORMATS
from orchestrator.validation.normal_form import decided_form, normal_form
from orchestrator.validation.report import validate_job
from tests.unit.orchestrator.template.functions.test_any_function import ARGUMENTS, PURE, VALUES, versions_of
from tests.unit.orchestrator.template.rich import ENVIRONMENT, TEXTS, job_of

#: Small, so that what is made up reaches them, and fast: no text here has a reason to take long.
LIMITS: dict[str, Any] = {
    "max_template_bytes": 20_000,
    "max_resources_per_stack": 20,
    "max_template_depth": 20,
    "max_repeat_items": 50,
    "pattern_seconds": 0.2,
    "yaql_seconds": 0.5,
}
SETTINGS = Settings(**LIMITS)
FACES: tuple[Callable[[StackJob], Any], ...] = (
    lambda job: json.dumps(validate_job(job, SETTINGS).to_dict()),
    lambda job: json.dumps(preview_job(job, SETTINGS).to_dict()),
    lambda job: json.dumps(normal_form(job.template, file="t.yaml", settings=SETTINGS)),
    lambda job: json.dumps(decided_form(job, SETTINGS)),
)

fuzzed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check(job: StackJob) -> None:
    """Hold what every face makes of a job to what is promised."""
    for face in FACES:
        with_reasons(functools.partial(face, job))
    planned = with_reasons(functools.partial(plan_job, job, ResourceTypes.load(), SETTINGS))
    if planned is not None:
        check_plan(*planned)


def with_reasons(call: Callable[[], Any]) -> Any:
    """Return what is returned; None where the input is refused, as it should be."""
    try:
        return call()
    except InvalidInput as error:
        problems = error.problems
    assert problems
    assert len(set(problems)) == len(problems)
    for problem in problems:
        assert problem.message
        assert problem.position is not None or problem.path
    return None


def check_plan(prepared: Prepared, plan: Any) -> None:
    """Hold what workers rebuild from a plan to what the template says."""
    stack = stack_of(prepared)
    for node in plan.nodes:
        if node.fragment is None:
            continue
        fragment = msgpack.unpackb(msgpack.packb(node.fragment))
        rebuilt = ResourceDefinition.from_fragment(node.key, fragment["definition"], Limits.of(SETTINGS))
        definition = prepared.template.resources[node.key]
        # The template that a stack in the stack is made of is one of its resource's files.
        own = {prepared.types[node.key]} & {"inner.yaml"}
        assert set(fragment.get("files", {})) == definition.required_files | own
        assert resolved(rebuilt.resolve_properties, stack) == resolved(definition.resolve_properties, stack)
        assert resolved(rebuilt.resolve_metadata, stack) == resolved(definition.resolve_metadata, stack)


def stack_of(prepared: Prepared) -> StackDefinition:
    """Return the stack as if every resource existed, with some value for whatever is asked of it."""
    wanted = wanted_attributes(prepared)
    data = {
        name: NodeData(
            uuid=name,
            name=name,
            action="CREATE",
            status="COMPLETE",
            reference_id=f"id of {name}",
            attributes={path: f"{path}" for path in wanted[name]},
        )
        for name in prepared.template.resources
    }
    return StackDefinition(
        name=prepared.name,
        id=prepared.stack_id,
        parameters=prepared.parameters.values,
        resources={name: ResourceProxy(name=name, data=each) for name, each in data.items()},
        files=prepared.template.files,
    )


def resolved(resolve: Callable[[StackDefinition], Any], stack: StackDefinition) -> Any:
    try:
        value = resolve(stack)
    except ResolveError as error:
        return error.problem.message
    # Equal, and not only in Python, where 1 is 1.0 and True.
    return json.dumps(value)


# -- the templates that the rest is made of --------------------------------------------------------------------


def test_the_rich_texts_call_every_function() -> None:
    written = "".join(TEXTS.values())
    assert [name for name in all_functions() if not re.search(rf"\b{name}'?:", written)] == []


@pytest.mark.parametrize("name", ["hot", "cfn", "environment"])
def test_the_rich_texts_can_be_made(name: str) -> None:
    prepared, plan = plan_job(job_of(name), ResourceTypes.load(), SETTINGS)
    assert plan.nodes
    check_plan(prepared, plan)


@pytest.mark.parametrize("name", TEXTS)
def test_the_rich_texts_can_be_previewed(name: str) -> None:
    assert preview_job(job_of(name), SETTINGS).resources


# -- texts that were made of them by mistakes ------------------------------------------------------------------

TOKEN = re.compile(r"[\w:%$.]+|[^\w\s]")
#: What may stand in the place of a word or a mark.
STRANGE = [
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "'",
        '"',
        "#",
        "&a ",
        "*a",
        "*word",
        "!!int ",
        "!x ",
        "<<",
        "|",
        ">",
        "- ",
        "? ",
        "%",
    ),
    *(
        "",
        "null",
        "~",
        "true",
        "no",
        "0",
        "-1",
        "1e400",
        ".nan",
        "0x10",
        "1:30",
        "2001-01-01",
        "1_0",
        "999999999999",
    ),
    *(
        "''",
        "'\\0'",
        '"\\0"',
        '"\\ud800"',
        "é",
        "\U0001f600",
        "a/b",
        "x" * 300,
        "{}",
        "[]",
        "[[]]",
        "{a: {}}",
        "[a, b]",
    ),
    *(
        "*",
        "M*",
        "**",
        "a.yaml",
        "../t.yaml",
        "http://[",
        "<cwd>",
        "OS::Heat::Value",
        "OS::stack_id",
        "(a+)+$",
        "$.data",
    ),
    *all_functions(),
]


@st.composite
def broken(draw: st.DrawFn, text: str) -> str:
    """Return a text with a few mistakes in it, such as people and programs make."""
    for _ in range(draw(st.integers(1, 4))):
        lines = text.split("\n")
        index, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match draw(st.integers(0, 6)):
            case 0:
                del lines[index]
            case 1:
                lines.insert(other, lines[index])
            case 2:
                lines[index], lines[other] = lines[other], lines[index]
            case 3:
                lines[index] = f"{'  ' * draw(st.integers(1, 3))}{lines[index]}"
            case 4:
                lines[index] = lines[index].removeprefix("  ")
            case _:
                lines[index] = draw(with_strange_token(lines[index]))
        text = "\n".join(lines)
    return text


@st.composite
def with_strange_token(draw: st.DrawFn, line: str) -> str:
    tokens = [*TOKEN.finditer(line)]
    if not tokens:
        return draw(st.sampled_from(STRANGE))
    # Not always another: of two words of a text, one often can stand where the other did.
    token = draw(st.sampled_from(tokens))
    new = draw(st.sampled_from(STRANGE) | st.sampled_from(tokens).map(lambda each: each[0]))
    return f"{line[: token.start()]}{new}{line[token.end() :]}"


@pytest.mark.parametrize("name", TEXTS)
@fuzzed
@given(data=st.data())
def test_a_text_with_mistakes_is_refused_with_reasons_or_understood(name: str, data: st.DataObject) -> None:
    check(job_of(name, data.draw(broken(TEXTS[name]), label="text")))


@fuzzed
@given(text=st.text() | st.text(alphabet="{}[],:-?&*!|>'\"%@`# \n\tab<=~", max_size=40))
@example(text="\0")
@example(text="\ud800")
@example(text="\ufeff")
@example(text="? {[]: &a [*a]}")
@example(text='{"heat_template_version":"rocky","a":"\\ud800"}')
def test_any_text_is_refused_with_reasons_or_understood(text: str) -> None:
    for name in ("hot", "inner", "environment"):
        check(job_of(name, text))
    for version in ("heat_template_version: wallaby\n", "AWSTemplateFormatVersion: '2010-09-09'\n"):
        check(job_of("hot", version + text))
        check(job_of("hot", f"{version}resources: {text}"))


# -- trees -----------------------------------------------------------------------------------------------------

#: Words that mean something: sections, keys, functions, names of what there is.
WORDS = sorted(
    {match for text in TEXTS.values() for match in re.findall(r"[\w:*]*\w\*?", text)} | {"", "*", "<<"}
)
KEYS = st.sampled_from(sorted(all_functions())) | st.sampled_from(WORDS)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([2**63, -(2**63) - 1, 0.5, 1e300, -0.0])
    | KEYS
    | st.text(max_size=3)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)
NAMED = st.dictionaries(st.sampled_from(["a", "b", "word", "1"]), TREES, max_size=3) | TREES


def section_of(*entry: str) -> st.SearchStrategy[Any]:
    """Return a section whose entries have some of these keys."""
    entries = st.fixed_dictionaries({}, optional=dict.fromkeys(entry, TREES))
    return st.dictionaries(st.sampled_from(["a", "b", "word", "1"]), entries | TREES, max_size=3) | TREES


RESOURCE = (
    "properties",
    "metadata",
    "depends_on",
    "deletion_policy",
    "update_policy",
    "condition",
    "external_id",
)
TYPES = st.sampled_from(["OS::Heat::Value", "OS::Heat::None", "OS::Heat::RandomString", "inner.yaml"]) | TREES
RESOURCES = st.dictionaries(
    st.sampled_from(["a", "b", "word", "1"]),
    st.fixed_dictionaries({"type": TYPES}, optional=dict.fromkeys(RESOURCE, TREES)),
    max_size=3,
)
HOT_TEMPLATES = st.fixed_dictionaries(
    {
        "heat_template_version": st.sampled_from(
            [*map(str, FORMATS["heat_template_version"]), "wallaby", "newton"]
        )
    },
    optional={
        "parameters": section_of("type", "default", "constraints", "hidden", "tags"),
        "parameter_groups": TREES,
        "conditions": NAMED,
        "resources": RESOURCES | TREES,
        "outputs": section_of("value", "condition", "description"),
        "x": TREES,
    },
)
CFN_TEMPLATES = st.fixed_dictionaries(
    {"AWSTemplateFormatVersion": st.just("2010-09-09")},
    optional={
        "Parameters": section_of("Type", "Default", "AllowedValues", "MinLength", "MaxValue", "NoEcho"),
        "Mappings": NAMED,
        "Conditions": NAMED,
        "Resources": section_of("Type", "Properties", "Metadata", "DependsOn", "DeletionPolicy", "Condition"),
        "Outputs": section_of("Value", "Condition"),
    },
)
ENVIRONMENTS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(yaml.safe_load(ENVIRONMENT), NAMED | st.dictionaries(KEYS, TREES, max_size=3))
)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("written", [as_json, yaml.safe_dump])
@fuzzed
@given(template=HOT_TEMPLATES | CFN_TEMPLATES, environment=ENVIRONMENTS, parameters=NAMED)
def test_any_tree_is_refused_with_reasons_or_understood(
    written: Callable[[Any], str],
    template: Mapping[str, Any],
    environment: Mapping[str, Any],
    parameters: Any,
) -> None:
    job = job_of("outer", written(template))
    check(
        StackJob(
            name="s",
            template=job.template,
            template_file="t.yaml",
            files=job.files,
            environments=(EnvironmentSource(file="e.yaml", source=written(environment)),),
            parameters=parameters if isinstance(parameters, dict) else {},
        )
    )


@fuzzed
@given(name=st.sampled_from(sorted(PURE)), arguments=ARGUMENTS, value=VALUES, data=st.data())
def test_calls_of_any_values_come_to_the_same_on_a_worker(
    name: str, arguments: Any, value: Any, data: st.DataObject
) -> None:
    version = data.draw(st.sampled_from(versions_of(PURE[name])), label="version")
    words = dialect_of(version)
    given_value = {words.type: "json" if version.is_hot else "Json"}
    called = {name: arguments}
    properties = {"p": called, "q": [{"get_param" if version.is_hot else "Ref": "v"}, called]}
    template = {
        version.key: version.date,
        words.parameters: {"v": given_value},
        words.resources: {"r": {words.type: "OS::Heat::None", words.properties: properties}},
    }
    order = StackJob(name="s", template=as_json(template), parameters={"v": value})
    planned = with_reasons(functools.partial(plan_job, order, ResourceTypes.load(), SETTINGS))
    if planned is not None:
        check_plan(*planned)
