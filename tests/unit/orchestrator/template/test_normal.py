"""The fixed form of a template says the same as the template, and is fixed."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.formats import as_json, as_yaml
from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN
from orchestrator.errors import InvalidInput
from orchestrator.template.environment import Environment
from orchestrator.template.normal import normal, resolved
from orchestrator.template.parameters import pseudo_parameters
from orchestrator.template.template import Draft, Template

CORPUS = Path(__file__).parents[4].parent / "shared" / "corpus" / "heat-templates"


def draft_of(source: str) -> Draft:
    return Draft.read(source, file="t.yaml", files={}, limits=Limits())


def under(draft: Draft, **values: Any) -> Template:
    """Return the template with the values given and the defaults declared; the rest is unknown."""
    pseudo = dict.fromkeys(pseudo_parameters(draft.version), UNKNOWN)
    settled = draft.settle(Environment.of_parameters(values), pseudo=pseudo, offline=True)
    assert not settled.problems
    template = draft.under(settled.parameters.values, settled.parameters.hidden)
    assert not template.problems
    return template


def meaning_of(template: Template) -> dict[str, Any]:
    """Return what the engine makes of a template, without where it stood."""
    return {
        "version": template.version,
        "description": template.description,
        "groups": template.draft.parameter_groups,
        "parameters": {
            name: {
                "schema": (schema.type, schema.label, schema.description, schema.hidden, schema.immutable),
                "tags": schema.tags,
                "constraints": schema.constraints,
                "default": None if schema.default is None else schema.value_of(schema.default, offline=True),
            }
            for name, schema in template.parameters.items()
        },
        "verdicts": template.verdicts(),
        "resources": dict(template.resources),
        "disabled": template.disabled,
        "outputs": {
            name: (output.description, output.expression.plain) for name, output in template.outputs.items()
        },
    }


def check_normal_form(source: str) -> None:
    draft = draft_of(source)
    form = normal(draft)
    for write in (as_yaml, as_json):
        again = draft_of(write(form))
        assert normal(again) == form
        assert as_yaml(normal(again)) == as_yaml(form)
        assert meaning_of(under(again)) == meaning_of(under(draft))
        assert again.under(again.unknown_values()).disabled == draft.under(draft.unknown_values()).disabled


# -- every template --------------------------------------------------------------------------------------------

TEMPLATES = sorted(
    str(path.relative_to(CORPUS))
    for path in CORPUS.rglob("*")
    if path.is_file() and any(key in path.read_text() for key in ("emplate_version", "TemplateFormatVersion"))
)


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_that_people_wrote_keep_their_meaning(name: str) -> None:
    check_normal_form((CORPUS / name).read_text())


texts = st.text("abAB:#'\" \n-", max_size=8)
scalars = st.none() | st.booleans() | st.integers(-9, 9) | texts
calls = st.sampled_from(
    [
        {"get_param": "p"},
        {"get_attr": ["first", "value"]},
        {"if": ["c", {"get_param": "p"}, None]},
        {"if": [{"not": "c"}, "yes"]},
        {"if": [None, {"get_resource": "first"}, 2]},
    ]
)
values = st.recursive(
    scalars | calls,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
conditions = st.sampled_from(
    [None, True, False, "c", "d", {"not": "d"}, {"equals": [{"get_param": "p"}, "x"]}]
)
parameters = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={
        "label": st.none() | texts | st.integers(-99, 99),
        "description": st.none() | texts,
        "default": st.none() | texts,
        "hidden": st.sampled_from([None, True, "no", 0, "Y"]),
        "immutable": st.sampled_from([None, False, "on"]),
        "tags": st.none() | st.lists(texts, max_size=2),
        "constraints": st.none()
        | st.lists(
            st.sampled_from(
                [
                    {"description": 5, "length": {"max": 99, "min": 0}},
                    {"length": {"min": "0", "max": None}},
                    {"allowed_pattern": "(?s).*", "description": None},
                ]
            ),
            max_size=2,
        ),
        "schema": st.just({"anything": 1}),
    },
)
resources = st.fixed_dictionaries(
    {"type": st.just("T")},
    optional={
        "description": st.none() | texts | st.integers(-99, 99),
        "condition": conditions,
        "depends_on": st.sampled_from([None, [], "first", ["first"], ["first", "first"]]),
        "properties": st.none() | st.dictionaries(st.sampled_from("abc"), values, max_size=3),
        "metadata": st.none() | st.just({}) | st.just({"if": ["c", {"a": 1}, {}]}),
        "deletion_policy": st.sampled_from(
            [None, "Delete", "retain", "snapshot", {"if": ["c", "retain", "delete"]}]
        ),
        "update_policy": st.none() | st.just({"a": {"if": ["c", 1, 2]}}),
    },
)
outputs = st.fixed_dictionaries(
    {"value": values}, optional={"description": st.none() | texts, "condition": conditions}
)
templates = st.fixed_dictionaries(
    {
        "heat_template_version": st.sampled_from(["wallaby", "2021-04-16"]),
        "parameters": parameters.map(lambda declared: {"p": declared}),
        "conditions": conditions.filter(lambda condition: isinstance(condition, (bool, dict))).map(
            lambda condition: {"c": {"equals": [{"get_param": "p"}, "x"]}, "d": condition}
        ),
    },
    optional={
        "description": st.none() | texts | st.integers(-99, 99),
        "parameter_groups": st.sampled_from([None, [], [{"parameters": ["p"], "label": None}]]),
        "resources": st.none()
        | resources.map(lambda resource: {"first": {"type": "T", "external_id": "x"}, "second": resource}),
        "outputs": st.none() | st.dictionaries(st.sampled_from("ab"), outputs, max_size=2),
    },
)


def is_circular(template: Any) -> bool:
    return bool(template["conditions"]["d"] == {"not": "d"})


@given(template=templates.filter(lambda template: not is_circular(template)), order=st.randoms())
def test_templates_keep_their_meaning_whatever_their_author_left_out_or_wrote_twice(
    template: dict[str, Any], order: Any
) -> None:
    keys = list(template)
    order.shuffle(keys)
    check_normal_form(yaml.safe_dump({key: template[key] for key in keys}, sort_keys=False))


@given(template=templates.filter(lambda template: not is_circular(template)), p=st.sampled_from(["x", "y"]))
def test_nothing_is_conditional_in_what_conditions_leave(template: dict[str, Any], p: str) -> None:
    whole = under(draft_of(yaml.safe_dump(template, sort_keys=False)), p=p)
    form = resolved(whole)
    assert "conditions" not in form
    assert "'if'" not in repr(form)
    again = under(draft_of(as_yaml(form)), p=p)
    assert again.resources == whole.resources
    assert resolved(again) == form == normal(again.draft)


# -- what it looks like ----------------------------------------------------------------------------------------


def form_of(body: str, version: str = "rocky") -> dict[str, Any]:
    return normal(draft_of(f"heat_template_version: {version}\n{body}"))


def test_sections_stand_in_one_order_and_the_version_is_its_date() -> None:
    form = form_of(
        "outputs: {o: {value: 1}}\nresources: {r: {type: X}}\nconditions: {c: true}\n"
        "parameters: {p: {type: string}}\nparameter_groups: [{parameters: [p]}]\ndescription: all\n"
    )
    assert list(form) == [
        "heat_template_version",
        "description",
        "parameter_groups",
        "parameters",
        "conditions",
        "resources",
        "outputs",
    ]
    assert form["heat_template_version"] == "2018-08-31"


def test_what_is_null_or_empty_goes_but_not_where_it_is_a_value() -> None:
    form = form_of(
        "description: \nparameters: {p: {type: string, default: '', label: , constraints: []}, "
        "l: {type: comma_delimited_list, default: []}}\n"
        "conditions: {}\n"
        "resources: {r: {type: X, metadata: {}, depends_on: [], properties: {a: null, b: {}}}, s: {type: X, "
        "properties: {}}}\noutputs: {o: {value: null, description: ''}}\n"
    )
    assert form == {
        "heat_template_version": "2018-08-31",
        "parameters": {
            "p": {"type": "string", "default": ""},
            "l": {"type": "comma_delimited_list", "default": []},
        },
        "resources": {"r": {"type": "X", "properties": {"a": None, "b": {}}}, "s": {"type": "X"}},
        "outputs": {"o": {"value": None}},
    }


def test_keys_stand_in_one_order() -> None:
    form = form_of(
        "conditions: {c: true}\n"
        "parameters: {p: {constraints: [{description: d, range: {max: 2, min: 1}}], default: 1, type: number}}\n"
        "resources: {r: {update_policy: {a: 1}, deletion_policy: retain, metadata: {a: 1}, properties: {b: 1, a: 1}, "
        "depends_on: s, condition: c, description: d, type: X}, s: {external_id: x, type: X}}\n"
        "outputs: {o: {value: 1, condition: c, description: d}}\n"
    )
    assert list(form["resources"]["r"].items()) == [
        ("type", "X"),
        ("description", "d"),
        ("condition", "c"),
        ("depends_on", ["s"]),
        ("properties", {"b": 1, "a": 1}),
        ("metadata", {"a": 1}),
        ("deletion_policy", "Retain"),
        ("update_policy", {"a": 1}),
    ]
    assert list(form["resources"]["r"]["properties"]) == ["b", "a"]
    assert list(form["resources"]["s"]) == ["type", "external_id"]
    assert list(form["outputs"]["o"]) == ["description", "condition", "value"]
    assert list(form["parameters"]["p"]) == ["type", "default", "constraints"]
    (constraint,) = form["parameters"]["p"]["constraints"]
    assert (list(constraint), list(constraint["range"])) == (["range", "description"], ["min", "max"])


def test_aliases_merge_keys_and_words_for_booleans_are_written_out() -> None:
    form = form_of(
        "parameters: {p: &p {type: boolean, default: 'Off', hidden: 'yes', immutable: 0}, q: {<<: *p, hidden: false}}\n"
    )
    assert form["parameters"] == {
        "p": {"type": "boolean", "default": False, "hidden": True, "immutable": False},
        "q": {"type": "boolean", "default": False, "hidden": False, "immutable": False},
    }
    assert "*" not in as_yaml(form)


def test_what_cfn_passes_over_is_left_out() -> None:
    source = (
        "HeatTemplateFormatVersion: 2012-12-12\nMappings: {m: {a: {b: 1}}}\n"
        "Parameters: {P: {NoEcho: 'true', Default: '', Type: String}}\n"
        "Resources: {r: {Condition: nothing, Whatever: 1, '': 2, DependsOn: s, Type: X}, s: {Type: X}}\n"
    )
    assert normal(draft_of(source)) == {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Parameters": {"P": {"Type": "String", "Default": "", "NoEcho": True}},
        "Mappings": {"m": {"a": {"b": 1}}},
        "Resources": {"r": {"Type": "X", "DependsOn": ["s"]}, "s": {"Type": "X"}},
    }


# -- what conditions leave -------------------------------------------------------------------------------------

CONDITIONAL = """\
heat_template_version: wallaby
parameters: {size: {type: string}, secret: {type: string}, name: {type: string, default: r}}
conditions: {large: {equals: [{get_param: size}, L]}}
resources:
  r: {type: X, properties: {a: {if: [large, {get_param: secret}, 1]}, b: {if: [large, 1]}}}
  s: {type: X, condition: large, deletion_policy: {if: [large, retain, delete]}}
  t: {type: X, depends_on: [s, r], properties: {a: {get_attr: [{get_param: name}, b]}}}
outputs:
  o: {condition: {not: large}, value: 1}
  u: {value: {if: [large, {get_resource: s}, none]}}
"""


def test_what_does_not_hold_is_left_out() -> None:
    assert resolved(under(draft_of(CONDITIONAL), size="S")) == {
        "heat_template_version": "2021-04-16",
        "parameters": {
            "size": {"type": "string"},
            "secret": {"type": "string"},
            "name": {"type": "string", "default": "r"},
        },
        "resources": {
            "r": {"type": "X", "properties": {"a": 1}},
            "t": {"type": "X", "depends_on": ["r"], "properties": {"a": {"get_attr": ["r", "b"]}}},
        },
        "outputs": {"o": {"value": 1}, "u": {"value": "none"}},
    }


def test_what_holds_stays() -> None:
    form = resolved(under(draft_of(CONDITIONAL), size="L"))
    assert form["resources"]["r"] == {
        "type": "X",
        "properties": {"a": {"get_param": "secret"}, "b": 1},
    }
    assert form["resources"]["s"] == {"type": "X", "deletion_policy": "Retain"}
    assert form["resources"]["t"]["depends_on"] == ["s", "r"]
    assert form["outputs"] == {"u": {"value": {"get_resource": "s"}}}


def test_what_cannot_be_decided_is_named_with_its_place() -> None:
    with pytest.raises(InvalidInput) as caught:
        resolved(under(draft_of(CONDITIONAL)), ["size"])
    assert {problem.path for problem in caught.value.problems} == {
        "resources.s.condition",
        "resources.r.properties.a",
        "resources.r.properties.b",
        "outputs.o.condition",
        "outputs.u.value",
    }
    assert {problem.hint for problem in caught.value.problems} == {"parameters without a value: size"}
    assert all(problem.position and problem.position.line > 1 for problem in caught.value.problems)
