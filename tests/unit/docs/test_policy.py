"""Every example on the page about limits and rules is what it is said to be, and its tables are those of the code."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from hooks.builtin.limits import LimitOptions
from hooks.builtin.policy import condition_reader, rule_reader
from hooks.builtin.policy.plugin import PolicyOptions
from hooks.builtin.policy.rule_reader import read_rules
from hooks.builtin.policy.rules import Judgement, Rule, judge
from hooks.lifecycle import LifecycleContext
from hooks.options import HookOptions
from orchestrator.config.settings import Settings
from tests.unit.docs.pages import ROOT, Block, blocks
from tests.unit.docs.test_pages import table
from tests.unit.hooks.builtin.policy.stacks import stack_of

PAGE = ROOT / "docs" / "policy.md"
TEXT = PAGE.read_text()


@dataclass
class Example:
    """A stack, the rules that stand last before it, and what is said of it after it."""

    rules: Block
    stack: Block
    sentences: list[str] = field(default_factory=list)

    @property
    def judged(self) -> Judgement:
        tags = tuple(filter(None, (self.stack.mark("tags") or "").split(",")))
        project, action = self.stack.mark("project") or "default", self.stack.mark("action") or "CREATE"
        context = LifecycleContext(operation_id="1", project=project)
        rules = [rule for rule in rules_in(self.rules) if rule.concerns(context, action)]
        assert rules, f"no rule is about {self.stack.place}"
        return judge(rules, stack_of(self.stack.text, tags=tags))


def rules_in(block: Block) -> tuple[Rule, ...]:
    return read_rules(block.text, block.place)


def examples() -> Iterator[Example]:
    rules: Block | None = None
    example: Example | None = None
    for block in blocks(PAGE):
        if "rules" in block.marks:
            rules = block
        elif block.language == "yaml":
            assert rules is not None
            example = Example(rules, block)
            yield example
        elif block.language == "text":
            assert example is not None
            example.sentences += block.text.splitlines()


#: All are read before the first is looked at: what is said of each comes after it.
EXAMPLES = list(examples())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stack.place)
def test_a_stack_keeps_or_breaks_rules_as_it_is_said_to(example: Example) -> None:
    (mark,) = {"kept", "broken"} & set(example.stack.marks)
    assert list(example.judged.refusals) == example.sentences
    assert bool(example.sentences) == (mark == "broken")


def test_all_rules_of_the_page_have_an_example() -> None:
    used = {example.rules.place for example in EXAMPLES}
    written = {block.place for block in blocks(PAGE) if "rules" in block.marks}
    assert used == written
    assert len(written) >= 10


def rows(heading: str) -> list[list[str]]:
    """Return the rows of all tables below a heading."""
    found = re.search(rf"^#+ {heading}\n(.*?)(?=^#|\Z)", TEXT, flags=re.MULTILINE | re.DOTALL)
    assert found
    tables = re.findall(r"(?:^\|.*\n)+", found[1], flags=re.MULTILINE)
    return [row for each in tables for row in table(each)]


def test_the_table_of_a_rule_has_its_keys() -> None:
    assert {row[0] for row in rows("Rules")} == set(rule_reader.KEYS)


def test_the_tables_of_a_condition_have_its_keys_and_what_stands_beside_each() -> None:
    assert {row[0] for row in rows("Conditions")} == {
        *condition_reader.SUBJECTS,
        *condition_reader.OPERATORS,
    }
    beside = {row[0]: row[3] for row in rows("Conditions") if len(row) == 4}
    for subject, others in condition_reader.SUBJECTS.items():
        assert ("one of the operators" in beside[subject]) == ("exists" in others)
        named = set(re.findall(r"optional|indirectly|where", beside[subject]))
        assert named == set(others) - set(condition_reader.OPERATORS)


def test_the_settings_of_the_page_are_settings() -> None:
    kinds: dict[str, type[HookOptions]] = {"limits": LimitOptions, "policy": PolicyOptions}
    told = [block for block in blocks(PAGE) if block.language == "toml"]
    assert [block.marks for block in told] == [("limits",), ("policy",)]
    for block in told:
        (name,) = block.marks
        said = Settings(**tomllib.loads(block.text)).lifecycle[name]
        assert said.pop("enabled") is True
        kinds[name].model_validate(said)


def test_the_table_of_limits_has_its_options() -> None:
    assert {row[0] for row in rows("limits")} == set(LimitOptions.model_fields)
