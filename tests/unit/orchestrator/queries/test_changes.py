"""What one definition changed of the one before it."""

from typing import Any

import pytest

from orchestrator.queries import changes
from orchestrator.queries.changes import changes_of
from orchestrator.queries.definition_source import DefinitionSource
from orchestrator.views.operations import ChangesView
from tests.unit.orchestrator.queries.made import OPERATION


def definition(source: str = "a: 1\n", **fields: Any) -> DefinitionSource:
    return DefinitionSource(traversal_id="t", source=source, resources=fields.pop("resources", {}), **fields)


def compared(
    before: DefinitionSource | None, after: DefinitionSource, *, shows_values: bool = True
) -> ChangesView:
    return changes_of(OPERATION, before, after, contents, shows_values=shows_values)


def contents(digest: str) -> str:
    return {"one": "x\ny\n", "two": "x\nz\n"}[digest]


def test_the_templates_are_compared_line_by_line() -> None:
    view = compared(definition("a: 1\nb: 2\n"), definition("a: 1\nb: 3\n"))
    assert view.template == ("@@ -1,2 +1,2 @@", " a: 1", "-b: 2", "+b: 3")


def test_the_same_template_has_no_difference() -> None:
    assert compared(definition(), definition()).template == ()


def test_of_the_first_operation_all_is_new() -> None:
    view = compared(None, definition("a: 1\n", parameters={"size": 1}, resources={"web": {"t": "T"}}))
    assert view.before_id is None
    assert view.template[1:] == ("+a: 1",)
    assert view.parameters == (("size", "(none)", "1"),)
    assert view.added == ("web",)


def test_a_template_on_a_single_line_is_compared_by_its_parts() -> None:
    view = compared(definition('{"a": 1, "b": 2}'), definition('{"a": 1, "b": 3}'))
    assert [line for line in view.template if line[0] in "+-"] == ['-  "b": 2', '+  "b": 3']


def test_resources_are_added_removed_and_changed() -> None:
    view = compared(
        definition(resources={"a": {"p": 1}, "b": {"p": 1}, "c": {"p": 1}}),
        definition(resources={"b": {"p": 2}, "c": {"p": 1}, "d": {"p": 1}}),
    )
    assert (view.added, view.removed, view.changed) == (("d",), ("a",), ("b",))


def test_where_one_of_two_templates_cannot_be_read_no_resource_is_told_as_new() -> None:
    unread = DefinitionSource(traversal_id="t", source="a: 1\n")
    view = compared(unread, definition(resources={"a": {}}))
    assert (view.added, view.removed, view.changed) == ((), (), ())


def test_hidden_parameters_are_told_as_changed_and_never_shown() -> None:
    before = definition(
        parameters={"password": "old-secret", "size": "1", "same": "x"}, hidden=frozenset({"password"})
    )
    after = definition(parameters={"password": "new-secret", "size": {"b": 1, "a": 2}, "same": "x"})
    view = compared(before, after)
    assert view.parameters == (("password", "******", "******"), ("size", "1", '{"a": 2, "b": 1}'))
    assert "secret" not in str(view.to_dict())


def test_whoever_may_see_no_values_sees_which_parameters_and_files_changed() -> None:
    view = compared(
        definition(parameters={"size": "1"}, files={"f": "one"}),
        definition(parameters={"size": "2"}, files={"f": "two"}),
        shows_values=False,
    )
    assert view.parameters == (("size", "(not shown)", "(not shown)"),)
    assert view.files == (("f", ("(not shown)",)),)


def test_defaults_of_hidden_parameters_are_masked_in_the_templates() -> None:
    source = "parameters:\n  password: {type: string, hidden: true, default: %s}\nresources: {}\n"
    view = compared(definition(source % "old-secret"), definition(source % "new-secret"))
    assert view.template == ()


def test_files_are_compared_and_only_those_that_differ_are_read() -> None:
    view = compared(
        definition(files={"f": "one", "gone": "two", "same": "missing"}),
        definition(files={"f": "two", "same": "missing"}),
    )
    assert dict(view.files)["f"] == ("@@ -1,2 +1,2 @@", " x", "-y", "+z")
    assert dict(view.files).keys() == {"f", "gone"}


def test_environments_are_compared() -> None:
    view = compared(definition(environments={"e": "a: 1\n"}), definition(environments={"e": "a: 2\n"}))
    assert view.files == (("e", ("@@ -1 +1 @@", "-a: 1", "+a: 2")),)


def test_texts_too_long_to_be_compared_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MOST_LINES", 3)
    view = compared(definition("a: 1\nb: 2\n"), definition("a: 1\nb: 3\n"))
    assert view.template == ("(2 lines before, 2 after: too many to be compared)",)


def test_very_long_lines_and_diffs_are_cut() -> None:
    view = compared(definition("a: 1\n"), definition("a: " + "x" * 10_000 + "\n" + "b: 1\n" * 5_000))
    assert max(map(len, view.template)) == 500
    assert len(view.template) == 2001
    assert view.template[-1].endswith("more lines)")
