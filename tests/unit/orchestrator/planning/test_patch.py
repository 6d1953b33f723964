"""A definition on top of another: what is not given again stays as it was."""

from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.planning.patch import upon_existing

TEMPLATE = "heat_template_version: rocky\nparameters: {a: {type: string}, b: {type: string, default: x}}"
OTHER = "heat_template_version: rocky\nparameters: {b: {type: string}}"


def environment(file: str, source: str = "") -> EnvironmentSource:
    return EnvironmentSource(file=file, source=source)


def job(template: str = TEMPLATE, **more: Any) -> StackJob:
    return StackJob(name="web", template=template, **more)


def upon(present: StackJob, given: StackJob) -> StackJob:
    return upon_existing(given, present, Limits())


def test_values_that_are_given_win_and_the_others_stay() -> None:
    made = upon(job(parameters={"a": "1", "b": "1"}), job(parameters={"b": "2"}))
    assert made.parameters == {"a": "1", "b": "2"}


def test_environments_that_are_given_come_last() -> None:
    made = upon(job(environments=(environment("one.yaml"),)), job(environments=(environment("two.yaml"),)))
    assert [each.file for each in made.environments] == ["one.yaml", "two.yaml"]


def test_an_environment_that_is_given_wins_over_a_value_that_came_with_an_earlier_order() -> None:
    given = job(environments=(environment("new.yaml", "parameters: {a: 9}"),))
    assert upon(job(parameters={"a": "1", "b": "1"}), given).parameters == {"b": "1"}


def test_values_that_a_new_template_does_not_declare_are_left_out() -> None:
    present = job(parameters={"a": "1", "b": "1"})
    assert upon(present, job(OTHER)).parameters == {"b": "1"}
    # Somebody mistyped it now.
    assert upon(present, job(OTHER, parameters={"a": "2"})).parameters == {"a": "2", "b": "1"}


def test_a_template_that_cannot_be_read_is_left_to_those_who_refuse_it() -> None:
    assert upon(job(parameters={"a": "1"}), job("oops: [")).parameters == {"a": "1"}


def test_of_two_files_under_one_key_the_given_one_counts() -> None:
    both = "heat_template_version: rocky\nresources: {a: {type: T, properties: {p: [{get_file: x}, {get_file: y}]}}}"
    made = upon(job(both, files={"x": "old", "y": "old"}), job(both, files={"x": "new"}))
    assert made.files == {"x": "new", "y": "old"}


@pytest.mark.parametrize(("given", "expected"), [(None, 30.0), (5.0, 5.0)])
def test_the_time_limit_stays_unless_another_is_given(given: float | None, expected: float) -> None:
    assert upon(job(timeout_minutes=30.0), job(timeout_minutes=given)).timeout_minutes == expected


@pytest.mark.parametrize(
    ("file", "before", "after", "expected"),
    [
        ("envs/e.yaml", "web.yaml", "web.yaml", "envs/e.yaml"),
        ("envs/e.yaml", "web.yaml", "new.yaml", "envs/e.yaml"),
        ("envs/e.yaml", "web.yaml", "sub/new.yaml", "sub/envs/e.yaml"),
        ("/a/envs/e.yaml", "/a/web.yaml", "new.yaml", "envs/e.yaml"),
        ("e.yaml", "sub/web.yaml", "new.yaml", "../e.yaml"),
    ],
)
def test_an_environment_names_the_same_files_beside_a_template_elsewhere(
    file: str, before: str, after: str, expected: str
) -> None:
    present = job(template_file=before, environments=(environment(file),))
    (moved,) = upon(present, job(template_file=after)).environments
    assert moved.file == expected


READS = "heat_template_version: rocky\nresources: {{a: {{type: '{type}', properties: {{p: {{get_file: {file}}}}}}}}}"
INNER = "heat_template_version: rocky\nresources: {b: {type: T, properties: {p: {get_file: deep}}}}"


def test_files_that_nothing_names_any_more_are_left_out() -> None:
    present = job(READS.format(type="T", file="old"), files={"old": "1", "older": "0"})
    assert upon(present, job(present.template)).files == {"old": "1"}
    new = job(READS.format(type="T", file="new"), files={"new": "2"})
    assert upon(present, new).files == {"new": "2"}


def test_files_stay_that_are_named_by_templates_in_files_and_by_environments_that_stay() -> None:
    registry = environment("env.yaml", "resource_registry: {T: given.yaml}")
    files = {"inner/one.yaml": INNER, "inner/deep": "1", "given.yaml": INNER, "deep": "2", "gone": "3"}
    present = job(READS.format(type="inner/one.yaml", file="gone"), files=files, environments=(registry,))
    made = upon(present, job(READS.format(type="inner/one.yaml", file="new"), files={"new": "4"}))
    assert made.files == {**{key: text for key, text in files.items() if key != "gone"}, "new": "4"}


@pytest.mark.parametrize("template", [READS.format(type="T", file="{get_param: f}"), "oops: ["])
def test_all_files_stay_where_nobody_can_tell_which_are_read(template: str) -> None:
    files = {"one": "1", "two": "2"}
    assert upon(job(template, files=files), job(template)).files == files
