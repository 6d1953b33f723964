"""Limits and rules in the engine: what they refuse never begins, and what they warn of is on record."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from hooks.builtin.limits import LimitOptions, Limits
from hooks.builtin.policy.plugin import Policy, PolicyOptions
from orchestrator.errors import Conflict
from tests.operations import operations_of
from tests.scenarios.groups import TYPES, members
from tests.scenarios.test_groups import group
from tests.scenarios.test_updates import done, present, template, value
from tests.scenarios.world import World

RULES = """
    rules:
    - name: sizes
      types: Cloud::Object
      require: {property: size, one_of: [s, m], optional: true}
    - name: values
      types: Cloud::Object
      effect: warn
      forbid: {property: value, matches: "tmp.*"}
    - name: kept
      actions: [delete]
      forbid_tags: keep
"""


class Guarded:
    """A world with limits and rules, both of which can be changed."""

    def __init__(self, directory: Path, rules: str = "rules: []", **limits: Any) -> None:
        self.world = World(TYPES)
        self._file = directory / "rules.yaml"
        self._limits: Mapping[str, Any] = limits
        self.rule(rules)

    def rule(self, rules: str) -> None:
        """Let these be the rules."""
        other = self._file.with_suffix(".new")
        other.write_text(dedent(rules))
        other.replace(self._file)
        self.limit(**self._limits)

    def limit(self, **limits: Any) -> None:
        """Let these be the limits, as after a restart."""
        self._limits = limits
        self.world.plug(
            Limits(LimitOptions.model_validate(limits)), Policy(PolicyOptions(files=(self._file,)))
        )

    def refused(self, act: str, *arguments: Any, **job: Any) -> str:
        """Try something, and return the words in which it is refused."""
        with pytest.raises(Conflict) as error:
            getattr(self.world, act)(*arguments, **job)
        return str(error.value)

    def done(self, act: str, *arguments: Any, state: str = "COMPLETE", **job: Any) -> list[tuple[str, str]]:
        """Do something to its end, and return what was done in the cloud."""
        getattr(self.world, act)(*arguments, **job)
        self.world.settle()
        assert self.world.state() == f"{act.upper()}_{state}"
        return done(self.world)

    def warnings(self, plugin: str) -> Sequence[str]:
        """Return what a plugin warned of before the last operation."""
        stack = self.world.store.stacks.find("s", project="default")
        operations = operations_of(self.world.store, stack.id)
        (calls,) = [each.calls for each in operations if each.id == stack.traversal_id]
        (call,) = [each for each in calls if each.plugin == plugin]
        return tuple((call.annotations or {}).get("warnings", ()))


def objects(count: int) -> str:
    return template({f"o{number}": value("v") for number in range(count)})


def test_a_stack_grows_to_its_limit_and_keeps_what_it_has_when_the_limit_is_lowered(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, types={"Cloud::*": {"warn": 3, "refuse": 4}})
    assert "5 resources that match 'Cloud::*' are more than the 4" in guarded.refused("create", objects(5))
    assert guarded.world.store.stacks.all(project="default") == []
    guarded.done("create", objects(4))
    assert guarded.warnings("limits") == (
        (
            "4 resources that match 'Cloud::*' are more than the 3 that are thought enough for a stack, and more than "
            "4 are refused"
        ),
    )
    assert "leave out 1" in guarded.refused("update", objects(5))
    assert guarded.world.state() == "CREATE_COMPLETE", "what was refused never began"

    guarded.limit(types={"Cloud::*": 2})
    assert "4 are there already and may stay: leave out 1" in guarded.refused("update", objects(5))
    assert guarded.done("update", objects(4)) == []
    assert len(guarded.done("update", objects(3))) == 1
    assert guarded.warnings("limits") == (
        (
            "3 resources that match 'Cloud::*' are more than the 2 that a stack may have: they may stay, but not "
            "become more"
        ),
    )
    # What was taken away is not there any more.
    assert "3 are there already and may stay" in guarded.refused("update", objects(4))
    guarded.done("update", objects(2))
    assert guarded.warnings("limits") == ()
    guarded.limit(resources=0)
    for act in ("check", "suspend", "resume"):
        guarded.done(act)
    guarded.world.delete()
    guarded.world.settle()
    assert not guarded.world.cloud.objects


def test_a_rollback_is_never_refused_by_limits(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path)
    guarded.done("create", objects(3))
    guarded.world.cloud.failing = {"o9": -1}
    guarded.world.update(template({"o9": value("v")}), rollback=True)
    guarded.limit(resources=0)
    guarded.world.settle()
    assert guarded.world.state() == "ROLLBACK_COMPLETE"
    assert set(present(guarded.world)) == {"o0", "o1", "o2"}


def test_a_rollback_brings_back_a_group_that_would_be_too_large_by_now(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path)
    guarded.done("create", group(5))
    guarded.world.cloud.failing = {"user": -1}
    guarded.world.update(group(2, value="w"), rollback=True)
    guarded.limit(types={"Cloud::Object": 2})
    guarded.world.settle()
    assert guarded.world.state() == "ROLLBACK_COMPLETE"
    assert len(members(guarded.world)) == 5


def test_an_update_takes_a_group_away_whatever_must_not_be_deleted(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, RULES)
    guarded.done("create", group(2), tags=("keep",))
    guarded.done("update", template({"net": value("v", "s")}))
    assert "the tag 'keep' is forbidden" in guarded.refused("delete")


def test_members_of_a_group_count_in_the_groups_own_stack(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, types={"Cloud::Object": 4})
    # Two in the outer stack and four in the inner one are not too many in either.
    guarded.done("create", group(4))
    guarded.world.update(group(5))
    guarded.world.settle()
    assert guarded.world.state() == "UPDATE_FAILED"
    stack = guarded.world.store.stacks.find("s", project="default")
    assert "5 resources of type 'Cloud::Object' are more than the 4" in stack.reason
    guarded.done("update", group(3))


def test_a_stack_keeps_the_rules_of_the_day(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, RULES)
    two = {"a": value("tmp", "s"), "b": value("{get_attr: [a, value]}", "{list_join: ['', [x, l]]}")}
    assert guarded.refused("create", template(two), tags=("keep",)) == (
        "refused by lifecycle plugin 'policy': "
        "resource 'b' breaks rule 'sizes': it requires that size is one of 's', 'm' (or is not given)"
    )
    two["b"] = value("{get_attr: [a, value]}", "m")
    guarded.done("create", template(two), tags=("keep",))
    assert guarded.warnings("policy") == (
        "resource 'a' breaks rule 'values': it forbids that value matches 'tmp.*'",
        (
            "resource 'b' may break rule 'values', which cannot be told because of values that are hidden, or unknown "
            "until resources exist: it forbids that value matches 'tmp.*'"
        ),
    )
    assert "breaks rule 'kept': the tag 'keep' is forbidden" in guarded.refused("delete")
    guarded.rule(RULES.replace("[s, m]", "[l]"))
    assert "resources 'a' and 'b' break rule 'sizes'" in guarded.refused("update", template(two))
    guarded.done("suspend")
    guarded.done("resume")
    guarded.rule("rules: []")
    guarded.done("update", template(two))
    assert guarded.warnings("policy") == ()
    guarded.world.delete()
    guarded.world.settle()
    assert not guarded.world.cloud.objects


def test_a_rule_speaks_of_what_another_resource_of_the_stack_is(tmp_path: Path) -> None:
    guarded = Guarded(
        tmp_path,
        """
        rules:
        - name: guarded
          types: Cloud::Object
          when: {property: size, equals: server}
          require:
            any_of:
            - {property: value, equals: base}
            - {requires: Cloud::Object, where: {property: size, equals: group}}
        """,
    )
    group_, server = value("v", "group"), value("{get_resource: g}", "server")
    assert "resource 'a' breaks rule" in guarded.refused("create", template({"a": value("x", "server")}))
    assert "resource 'a' may break rule" in guarded.refused(
        "create", template({"a": server, "g": value("v")})
    )
    guarded.done("create", template({"a": server, "g": group_, "b": value("base", "server")}))


def test_values_of_hidden_parameters_are_neither_judged_nor_told(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, RULES)
    hidden = template({"a": "properties: {size: {get_param: p}}"})
    hidden += "parameters: {p: {type: string, hidden: true, default: s}}"
    assert "resource 'a' may break rule 'sizes', which cannot be told because" in guarded.refused(
        "create", hidden
    )
    guarded.rule(
        RULES.replace("require: {property: size", "when_unknown: allow\n      require: {property: size")
    )
    guarded.done("create", hidden)
