"""Functions and versions are described from the classes themselves."""

import json
from typing import Any, ClassVar

import pytest

from orchestrator.definition import StackDefinition
from orchestrator.errors import InvalidInput
from orchestrator.template.functions.base import Example, Function
from orchestrator.template.functions.description import (
    Span,
    describe_function,
    describe_functions,
    describe_versions,
    latest_version,
    version_named,
)
from orchestrator.template.functions.registry import all_functions, condition_functions_of, functions_of
from orchestrator.template.versions import (
    AWS_CFN,
    CFN_AWS,
    CFN_HEAT,
    FORMATS,
    HEAT_CFN,
    HOT,
    NEWTON,
    OCATA,
    PIKE,
    V2013_05_23,
    V2014_10_16,
    VERSIONS,
    WALLABY,
    Lifetime,
    TemplateVersion,
)

ALL_VERSIONS = [version for versions in FORMATS.values() for version in versions]


class Shout(Function):
    """``shout: text`` or ``shout: [text,
    times]``: the text in capitals, ``times`` times.

    Of ``null`` nothing
    comes.

    That is all.
    """

    name = "shout"
    lifetime = Lifetime(NEWTON, OCATA)
    in_conditions = Lifetime(PIKE)
    examples: ClassVar[tuple[Example, ...]] = (Example("shout: a", "A", {"p": 1}),)

    def call(self, arguments: Any, stack: StackDefinition) -> Any:
        """Return the text in capitals."""
        return arguments.upper()


class Whisper(Shout):
    """Says it in small letters."""

    name = "whisper"


def test_a_docstring_is_taken_apart() -> None:
    described = describe_function(Shout)
    assert described.calls == ("shout: text", "shout: [text, times]")
    assert described.summary == "the text in capitals, `times` times."
    assert described.details == ("Of `null` nothing comes.", "That is all.")
    assert described.versions == (NEWTON,)
    assert described.condition_versions == tuple(version for version in VERSIONS if version >= PIKE)


def test_a_docstring_of_another_shape_is_the_summary() -> None:
    described = describe_function(Whisper)
    assert (described.calls, described.summary) == (("whisper",), "Says it in small letters.")
    assert described.details == ()


def test_an_inherited_example_shows_another_function() -> None:
    assert describe_function(Shout).examples == Shout.examples
    assert describe_function(Whisper).examples == ()


def test_a_description_is_plain_json() -> None:
    described = describe_function(Shout).to_dict()
    assert json.loads(json.dumps(described)) == described
    assert described["versions"] == [NEWTON.date]
    assert described["examples"] == [
        {"call": "shout: a", "result": "A", "parameters": {"p": 1}, "version": "wallaby"}
    ]


def test_every_installed_function_is_described_in_json() -> None:
    described = [each.to_dict() for each in describe_functions()]
    assert [each["name"] for each in described] == sorted(all_functions())
    assert json.loads(json.dumps(described)) == described
    for each in described:
        assert each["summary"]
        assert each["versions"] or each["condition_versions"]


@pytest.mark.parametrize("version", ALL_VERSIONS, ids=str)
def test_functions_of_a_version_are_those_that_templates_of_it_can_call(version: TemplateVersion) -> None:
    assert {each.name for each in describe_functions(version)} == functions_of(version).keys()
    conditions = describe_functions(version, in_conditions=True)
    assert {each.name for each in conditions} == condition_functions_of(version).keys()


def test_versions_add_up_to_what_each_has() -> None:
    has: dict[str, set[str]] = {key: set() for key in FORMATS}
    for each in describe_versions():
        key = each.version.key
        assert has[key].isdisjoint(each.adds)
        has[key] = (has[key] | set(each.adds)) - set(each.removes)
        assert has[key] == functions_of(each.version).keys()


def test_versions_come_format_by_format_oldest_first() -> None:
    assert [each.version for each in describe_versions()] == ALL_VERSIONS
    by_version = {each.version: each.to_dict() for each in describe_versions()}
    assert by_version[NEWTON]["alias"] == "newton"
    assert by_version[NEWTON]["adds_in_conditions"] == ["and", "equals", "get_param", "not", "or"]
    assert "Ref" in by_version[V2014_10_16]["removes"]
    assert by_version[CFN_HEAT]["format"] == HEAT_CFN


def test_a_span_is_of_one_format() -> None:
    has = (CFN_AWS, V2013_05_23, V2014_10_16)
    assert Span.of(has, AWS_CFN) == Span(since=CFN_AWS)
    assert Span.of(has, HEAT_CFN) is None
    assert Span.of(has, HOT) == Span(since=V2013_05_23, until=VERSIONS[2])
    assert Span.of(VERSIONS, HOT) == Span(since=V2013_05_23)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("2016-10-14", NEWTON),
        ("newton", NEWTON),
        ("heat_template_version.newton", NEWTON),
        ("heat_template_version.2016-10-14", NEWTON),
        ("2010-09-09", CFN_AWS),
        ("AWSTemplateFormatVersion.2010-09-09", CFN_AWS),
        ("HeatTemplateFormatVersion.2012-12-12", CFN_HEAT),
    ],
)
def test_a_version_has_several_names(name: str, version: TemplateVersion) -> None:
    assert version_named(name) == version


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("newtn", "did you mean 'newton'?"),
        ("2016-10-41", "did you mean '2016-10-14'?"),
        ("heat_template_version.2010-09-09", "did you mean '2010-09-09'?"),
        ("AWSTemplateFormatVersion.newton", "did you mean 'newton'?"),
        ("HotTemplate.newton", "did you mean 'newton'?"),
        ("", "versions: 2013-05-23, "),
        ("x", "versions: 2013-05-23, "),
    ],
)
def test_an_unknown_version_has_the_nearest_as_a_hint(name: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        version_named(name)
    (problem,) = caught.value.problems
    assert problem.hint.startswith(hint)
    assert repr(name) in problem.message


def test_the_latest_version_is_the_last_of_hot() -> None:
    assert latest_version() == WALLABY == max(VERSIONS)
