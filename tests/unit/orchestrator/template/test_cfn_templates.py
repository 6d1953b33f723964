"""Templates of CFN's two formats: their sections, parameters and resources, and what a worker gets of them."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.definition import NodeData, ParentResourceProxy, ResourceProxy, StackDefinition
from orchestrator.errors import InvalidInput, Problem
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.template.environment import Environment
from orchestrator.template.parameters import Parameters
from orchestrator.template.template import Draft, Template
from tests.unit.orchestrator.template.settling import settled

AWS = "AWSTemplateFormatVersion: '2010-09-09'"
HEAT = "HeatTemplateFormatVersion: '2012-12-12'"
FORMATS = pytest.mark.parametrize("head", [AWS, HEAT], ids=["aws", "heat"])

PSEUDO = {"AWS::StackName": "s", "AWS::StackId": "1", "AWS::Region": "here"}
CORPUS = Path(__file__).parents[4].parent / "shared" / "corpus" / "heat-templates" / "cfn"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())


def draft_of(body: str, head: str = AWS) -> Draft:
    source = f"{head}\n{textwrap.dedent(body)}"
    return Draft.read(source, file="t.yaml", files={}, limits=Limits())


def parsed(body: str, head: str = AWS) -> Template:
    return Template.parse(f"{head}\n{textwrap.dedent(body)}", file="t.yaml", files={}, limits=Limits())


def problems_of(body: str, head: str = AWS) -> list[Problem]:
    with pytest.raises(InvalidInput) as caught:
        parsed(body, head)
    return list(caught.value.problems)


def with_values(template: Template, **given: Any) -> Parameters:
    return settled(template, Environment.of_parameters(given), pseudo=PSEUDO)


def refused(template: Template, **given: Any) -> Problem:
    with pytest.raises(InvalidInput) as caught:
        with_values(template, **given)
    (problem,) = caught.value.problems
    return problem


# -- sections and resources ------------------------------------------------------------------------------------


@FORMATS
def test_a_whole_template_is_read(head: str) -> None:
    template = parsed(
        """\
        Description: All sections
        Parameters:
          size: {Type: Number, Default: '3'}
        Mappings:
          m: {k: {v: 1}}
        Resources:
          first:
            Type: OS::Heat::None
          second:
            Type: OS::Heat::Value
            DependsOn: first
            DeletionPolicy: Retain
            UpdatePolicy: {batch: {Ref: size}}
            Description: Comes second
            Metadata: {note: {Ref: first}}
            Properties: {value: {Ref: size}}
            Shape: round
        Outputs:
          out:
            Description: What it holds
            Value: {'Fn::GetAtt': [second, value]}
            Export: nothing
        """,
        head,
    )
    assert template.check_references() == []
    assert template.description == "All sections"
    assert list(template.resources) == ["first", "second"]
    second = template.resources["second"]
    assert (second.type, second.description) == ("OS::Heat::Value", "Comes second")
    assert (second.depends_on, second.deletion_policy) == (("first",), "Retain")
    assert second.metadata == {"note": {"Ref": "first"}}
    assert second.requirements == {"first"}
    assert (second.position.line, second.position.column) == (10, 3)
    assert template.outputs["out"].description == "What it holds"
    assert template.outputs["out"].required_attributes == {("second", ("value",))}
    assert template.draft.parameter_groups == ()


def test_an_update_policy_may_refer_to_parameters() -> None:
    body = """\
    Parameters: {size: {Type: Number}}
    Resources: {r: {Type: X, UpdatePolicy: {batch: {Ref: size}}}}
    """
    template = draft_of(body).under({"size": 3, **PSEUDO})
    assert template.resources["r"].update_policy == {"batch": 3}


@FORMATS
@pytest.mark.parametrize(
    "section", ["Description", "Parameters", "Mappings", "Resources", "Outputs"], ids=str.lower
)
def test_a_null_section_is_an_empty_one(head: str, section: str) -> None:
    assert parsed(f"{section}:", head).resources == {}


@pytest.mark.parametrize(
    ("head", "body", "path", "message", "hint"),
    [
        (AWS, "Resorces: {}", "Resorces", "there is no key 'Resorces' here", "did you mean 'Resources'?"),
        (AWS, "resources: {}", "resources", "there is no key 'resources' here", "did you mean 'Resources'?"),
        (AWS, "heat_template_version: 2013", "heat_template_version", "there is no key", None),
        (AWS, "ParameterGroups: []", "ParameterGroups", "there is no key 'ParameterGroups' here", None),
        (HEAT, "Conditions: {}", "Conditions", "there is no key 'Conditions' here", None),
        (AWS, "Mappings: [a]", "Mappings", "expected mappings by name, a map, found a list", None),
        (AWS, "Conditions: 7", "Conditions", "expected conditions by name, a map, found a number", None),
        (AWS, "Resources: []", "Resources", "expected resources by name, a map, found a list", None),
        (
            AWS,
            "Resources: {a: 7}",
            "Resources.a",
            "expected a resource, a map with a type, found a number",
            None,
        ),
        (
            AWS,
            "Resources: {a: {type: X}}",
            "Resources.a",
            "this resource has no type",
            "expected the key 'Type'",
        ),
        (AWS, "Resources: {a: {Type: X, Properties: 7}}", "Resources.a.Properties", "found a number", None),
        (
            AWS,
            "Resources: {a: {Type: X, DeletionPolicy: retain}}",
            "Resources.a.DeletionPolicy",
            "expected one of Delete, Retain, Snapshot, found 'retain'",
            None,
        ),
        (
            AWS,
            "Resources: {a: {Type: X, DependsOn: [{Ref: b}]}}",
            "Resources.a.DependsOn",
            "found a map",
            "calls are not evaluated here",
        ),
        (AWS, "Resources: {a: {Type: X, Description: []}}", "Resources.a.Description", "expected text", None),
        (
            AWS,
            "{Parameters: {a: {Type: String}}, Resources: {a: {Type: X}}}",
            "Resources.a",
            "'a' is the name of a parameter already",
            None,
        ),
        (
            AWS,
            "Outputs: {o: {value: 1}}",
            "Outputs.o",
            "this output has no value",
            "expected the key 'Value'",
        ),
        (AWS, "Outputs: {o: {Value: {'Fn::Join': 7}}}", "Outputs.o.Value.Fn::Join", "found a number", None),
    ],
)
def test_what_is_wrong_is_named_in_the_words_of_the_format(
    head: str, body: str, path: str, message: str, hint: str | None
) -> None:
    body = body[1:-1].replace("}}, R", "}}\nR") if body.startswith("{") else body
    (problem,) = problems_of(body, head)
    assert problem.path == path
    assert message in problem.message
    assert hint is None or problem.hint == hint


def test_a_dependency_that_does_not_exist_is_told() -> None:
    (problem,) = parsed("Resources: {first: {Type: X, DependsOn: [frst]}}").check_references()
    assert (problem.path, problem.hint) == ("Resources.first.DependsOn[0]", "did you mean 'first'?")


CONDITIONAL = """\
Resources:
  a: {Type: X, Condition: no}
  b: {Type: X, DependsOn: a}
Outputs:
  o: {Value: 1, Condition: no}
"""


def test_the_aws_format_has_conditions() -> None:
    template = parsed(f"Conditions: {{no: {{'Fn::Not': [true]}}}}\n{CONDITIONAL}".replace("no", "never"))
    assert list(template.resources) == ["b"]
    assert template.disabled == {"a"}
    assert template.resources["b"].requirements == frozenset()
    assert template.outputs["o"].resolve(StackDefinition(name="s", id="1")) is None


def test_the_heat_format_passes_over_conditions() -> None:
    template = parsed(CONDITIONAL, HEAT)
    assert list(template.resources) == ["a", "b"]
    assert template.outputs["o"].resolve(StackDefinition(name="s", id="1")) == 1


@FORMATS
def test_functions_of_hot_are_data(head: str) -> None:
    value = {"a": {"get_param": "x"}, "b": {"str_replace": 7}, "c": {"if": []}}
    template = parsed(f"Outputs: {{o: {{Value: {json.dumps(value)}}}}}", head)
    assert template.outputs["o"].resolve(StackDefinition(name="s", id="1")) == value


# -- parameters ------------------------------------------------------------------------------------------------


@FORMATS
def test_a_declaration_says_everything(head: str) -> None:
    template = parsed(
        "Parameters: {p: {Type: String, Label: L, Description: D, Default: d, NoEcho: 'true'}}", head
    )
    schema = template.parameters["p"]
    assert (schema.name, schema.type, schema.label, schema.description) == ("p", "string", "L", "D")
    assert (schema.default, schema.hidden, schema.immutable, schema.tags) == ("d", True, False, ())
    assert schema.path == ("Parameters", "p")
    assert not schema.required


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("String", 7, "7"),
        ("Number", "7", 7),
        ("Number", 1.5, 1.5),
        ("CommaDelimitedList", "a,b", ["a", "b"]),
        ("Json", '{"a": 1}', {"a": 1}),
        ("Boolean", "on", True),
    ],
)
def test_types_are_those_of_hot_under_other_names(kind: str, given: Any, value: Any) -> None:
    template = parsed(f"Parameters: {{p: {{Type: {kind}}}}}")
    assert with_values(template, p=given).values == {"p": value, **PSEUDO}
    template = parsed(f"Parameters: {{p: {{Type: {kind}, Default: {json.dumps(given)}}}}}")
    assert with_values(template).values["p"] == value


@pytest.mark.parametrize(
    ("declaration", "good", "bad"),
    [
        ("Type: Number, MinValue: '1', MaxValue: 3", [1, "3", 2.5], [0, "3.1"]),
        ("Type: Number, MinValue: 1", [1, 10**6], [0]),
        ("Type: Number, MaxValue: '1'", [1, -(10**6)], [2]),
        ("Type: String, MinLength: '2', MaxLength: 3", ["ab", 123], ["a", "abcd"]),
        ("Type: CommaDelimitedList, MaxLength: 2", ["a,b", []], ["a,b,c"]),
        ("Type: Json, MinLength: 1", [{"a": 1}], ["{}"]),
        ("Type: String, AllowedValues: [a, 1]", ["a", 1, "1"], ["b"]),
        ("Type: Number, AllowedValues: ['1', 2]", [1, "2"], [3]),
        ("Type: CommaDelimitedList, AllowedValues: [a, b]", ["b,a"], ["a,c"]),
        ("Type: String, AllowedPattern: '[a-z]+'", ["abc"], ["abc1", "1abc"]),
        ("Type: String, MinLength: 2, AllowedPattern: '[a-z]+'", ["ab"], ["a", "AB"]),
        ("Type: String, MinLength: null, AllowedPattern: null, AllowedValues: null", ["", "x"], [[1]]),
    ],
)
def test_constraints_hold_for_values(declaration: str, good: list[Any], bad: list[Any]) -> None:
    template = parsed(f"Parameters: {{p: {{{declaration}}}}}")
    for value in good:
        assert "p" in with_values(template, p=value).values
    for value in bad:
        assert refused(template, p=value).path == "parameters.p"


def test_all_constraints_share_one_sentence() -> None:
    template = parsed(
        "Parameters: {p: {Type: String, MinLength: 2, AllowedPattern: '[a-z]+', ConstraintDescription: Be good}}"
    )
    assert refused(template, p="x").message == "Be good"
    assert refused(template, p="XX").message == "Be good"


def test_what_is_not_echoed_is_hidden() -> None:
    template = parsed("Parameters: {p: {Type: String, NoEcho: true, AllowedValues: [good]}}")
    assert with_values(template, p="good").shown() == {"p": "******"}
    assert "secret" not in refused(template, p="secret").message


def test_a_parameter_without_a_value_is_told_where_it_is_declared() -> None:
    settled = draft_of("Parameters: {p: {Type: String}}").settle(Environment(), pseudo=PSEUDO)
    (problem,) = settled.missing
    assert (problem.path, str(problem.position)) == ("Parameters.p", "t.yaml:2:14")


@pytest.mark.parametrize("name", PSEUDO)
def test_what_every_stack_has_cannot_be_given_or_declared(name: str) -> None:
    problem = refused(parsed(""), **{name: "x"})
    assert problem.message == f"{name!r} is set by Isotherm itself and cannot be given"
    (problem,) = problems_of(f"Parameters: {{'{name}': {{Type: String}}}}")
    assert "reserved" in problem.message


@pytest.mark.parametrize(
    ("declaration", "path", "message"),
    [
        ("7", "", "expected a declaration"),
        ("{}", "", "this parameter has no type"),
        ("{Type: String, type: x}", ".type", "there is no key 'type' here"),
        ("{Type: string}", ".Type", "there is no parameter type 'string'"),
        ("{Type: 'List<Number>'}", ".Type", "there is no parameter type 'List<Number>'"),
        ("{Type: [String]}", ".Type", "there is no parameter type a list"),
        ("{Type: String, MaxLenght: 1}", ".MaxLenght", "there is no key 'MaxLenght' here"),
        ("{Type: String, NoEcho: perhaps}", ".NoEcho", "expected true or false"),
        ("{Type: String, Label: []}", ".Label", "expected text"),
        ("{Type: String, ConstraintDescription: []}", ".ConstraintDescription", "expected text"),
        ("{Type: Number, Default: 5, MaxValue: 4}", ".Default", "5 is out of range"),
        ("{Type: Number, MinValue: x}", ".MinValue", "'MinValue': expected a number"),
        ("{Type: Number, MinValue: 1, MaxValue: x}", ".MinValue", "'MaxValue': expected a number"),
        ("{Type: Number, MinValue: 2, MaxValue: 1}", ".MinValue", "above"),
        ("{Type: String, MaxLength: 1.5}", ".MaxLength", "'MaxLength': expected a whole number"),
        ("{Type: String, MinLength: -1}", ".MinLength", "negative"),
        ("{Type: String, AllowedValues: a}", ".AllowedValues", "expected a list of values"),
        ("{Type: String, AllowedValues: []}", ".AllowedValues", "empty"),
        ("{Type: Number, AllowedValues: [x]}", ".AllowedValues", "expected a number"),
        ("{Type: String, AllowedPattern: '('}", ".AllowedPattern", "regular expression"),
        ("{Type: String, AllowedPattern: 7}", ".AllowedPattern", "found a number"),
        (
            "{Type: String, MaxValue: 1}",
            ".MaxValue",
            "'MaxValue' does not apply to parameters of type string",
        ),
        ("{Type: Number, MinLength: 1}", ".MinLength", "does not apply"),
        ("{Type: Number, AllowedPattern: a}", ".AllowedPattern", "does not apply"),
        ("{Type: Json, AllowedValues: [a]}", ".AllowedValues", "does not apply"),
    ],
)
def test_a_wrong_declaration_is_named_with_its_path(declaration: str, path: str, message: str) -> None:
    problem = problems_of(f"Parameters: {{p: {declaration}}}")[0]
    assert problem.path == f"Parameters.p{path}"
    assert message in problem.message
    assert problem.position is not None


@pytest.mark.parametrize(
    ("declaration", "hint"),
    [
        ("{Type: Strin}", "did you mean 'String'?"),
        ("{Type: x}", "types: String, Number, CommaDelimitedList, Json, Boolean"),
        ("{}", "types: String, Number, CommaDelimitedList, Json, Boolean"),
        ("{Type: String, Defalt: x}", "did you mean 'Default'?"),
    ],
)
def test_what_was_meant_is_told(declaration: str, hint: str) -> None:
    (problem,) = problems_of(f"Parameters: {{p: {declaration}}}")
    assert problem.hint == hint


# -- what a worker gets ----------------------------------------------------------------------------------------

EVERY_FUNCTION = {
    "Ref": ({"Ref": "other"}, "id-7"),
    "Fn::GetAtt": ({"Fn::GetAtt": ["other", "address"]}, "10.0.0.4"),
    "Fn::FindInMap": ({"Fn::FindInMap": ["m", {"Ref": "key"}, "v"]}, [1, {"a": "b"}]),
    "Fn::GetAZs": ({"Fn::Join": [",", {"Fn::GetAZs": ""}]}, None),
    "Fn::Select": ({"Fn::Select": ["0", [{"Ref": "other"}]]}, "id-7"),
    "Fn::Join": ({"Fn::Join": ["-", ["a", {"Ref": "other"}]]}, "a-id-7"),
    "Fn::Split": ({"Fn::Split": ["-", {"Ref": "other"}]}, ["id", "7"]),
    "Fn::Replace": ({"Fn::Replace": [{"x": {"Ref": "other"}}, "<x>"]}, "<id-7>"),
    "Fn::Base64": ({"Fn::Base64": {"Ref": "key"}}, "k"),
    "Fn::MemberListToMap": (
        {"Fn::MemberListToMap": ["N", "V", [".member.0.N=a", {"Fn::Join": ["", [".member.0.V=", "b"]]}]]},
        {"a": "b"},
    ),
    "Fn::ResourceFacade": ({"Fn::ResourceFacade": "Metadata"}, {"role": "web"}),
    "Fn::If": ({"Fn::If": ["yes", {"Ref": "other"}, {"Ref": "nothing"}]}, "id-7"),
}


OTHER = NodeData(
    uuid="u",
    name="other",
    action="CREATE",
    status="COMPLETE",
    reference_id="id-7",
    attributes={("address",): "10.0.0.4"},
)


def whole_template() -> Template:
    body = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Parameters": {"key": {"Type": "String"}},
        "Mappings": {"m": {"k": {"v": [1, {"a": "b"}]}}},
        "Conditions": {"yes": {"Fn::Equals": [{"Ref": "key"}, "k"]}},
        "Resources": {
            "other": {"Type": "X"},
            "r": {
                "Type": "X",
                "DeletionPolicy": {"Fn::If": ["yes", "Retain", "Delete"]},
                "DependsOn": ["other"],
                "Description": "Calls all there is",
                "Properties": {name: call for name, (call, _) in EVERY_FUNCTION.items()},
                "Metadata": {name: call for name, (call, _) in EVERY_FUNCTION.items()},
            },
        },
    }
    draft = Draft.read(json.dumps(body), file="t.json", files={}, limits=Limits())
    template = draft.under({"key": "k", **PSEUDO})
    assert [*template.problems, *template.check_references()] == []
    return template


def test_a_worker_resolves_every_function_as_the_template_does() -> None:
    definition = whole_template().resources["r"]
    fragment = json.loads(json.dumps(definition.fragment()))
    rebuilt = ResourceDefinition.from_fragment("r", fragment)
    assert rebuilt == definition
    assert (rebuilt.deletion_policy, rebuilt.description) == ("Retain", "Calls all there is")
    around = StackDefinition(
        name="s",
        id="1",
        parameters={"key": "k", **PSEUDO},
        resources={"other": ResourceProxy(name="other", type="X", data=OTHER)},
        parent=ParentResourceProxy(name="p", metadata={"role": "web"}),
        asker="r",
    )
    expected = {name: result for name, (_, result) in EVERY_FUNCTION.items() if name != "Fn::GetAZs"}
    for resolved in (
        definition.resolve_properties(around),
        rebuilt.resolve_properties(around),
        rebuilt.resolve_metadata(around),
    ):
        assert isinstance(resolved.pop("Fn::GetAZs"), str)
        assert resolved == expected


def test_a_fragment_has_what_was_decided_in_place_of_what_decided_it() -> None:
    properties = whole_template().resources["r"].fragment()["p"]
    assert properties["Fn::FindInMap"] == [1, {"a": "b"}]
    assert properties["Fn::If"] == {"Ref": "other"}
    assert isinstance(properties["Fn::GetAZs"]["Fn::Join"][1], list)
    # Calls of what is known only later stay as they were written.
    assert properties["Fn::Replace"] == {"Fn::Replace": [{"x": {"Ref": "other"}}, "<x>"]}


def test_a_worker_says_in_which_words_a_call_failed() -> None:
    template = parsed("Resources: {r: {Type: X, Properties: {p: {'Fn::Base64': {Ref: gone}}}}}")
    rebuilt = ResourceDefinition.from_fragment("r", template.resources["r"].fragment())
    with pytest.raises(Exception, match=r"^t\.yaml:2:\d+: Resources\.r\.Properties\.p\.Fn::Base64\.Ref: "):
        rebuilt.resolve_properties(StackDefinition(name="s", id="1", asker="r"))


# -- the wild --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not FILES, reason="the corpus of templates is not beside the repository")
@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_templates_that_people_wrote_are_read(path: Path) -> None:
    template = Template.parse(path.read_text(), file=path.name, files={}, limits=Limits())
    assert template.check_references() == []
    assert template.resources
    for name, definition in template.resources.items():
        rebuilt = ResourceDefinition.from_fragment(name, definition.fragment())
        assert rebuilt == definition


@pytest.mark.skipif(not FILES, reason="the corpus of templates is not beside the repository")
def test_a_template_of_the_corpus_comes_to_what_its_mappings_say() -> None:
    (path,) = (path for path in FILES if path.name == "EC2WithEBSSample.template")
    draft = Draft.read(path.read_text(), file=path.name, files={}, limits=Limits())
    settled = draft.settle(
        Environment.of_parameters({"KeyName": "k", "InstanceType": "m1.tiny"}), pseudo=PSEUDO
    )
    assert (settled.problems, settled.missing) == ((), ())
    template = draft.under(settled.parameters.values)
    instance = template.resources["Ec2Instance"]
    assert instance.properties["ImageId"] == "F17-i386-cfntools"
    assert instance.requirements == {"InstanceSecurityGroup", "NewVolume"}
