"""The reader of rules in rule files."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from yaml.nodes import MappingNode, Node

from hooks.builtin.actions import ACTIONS, DEFINING_ACTIONS
from hooks.builtin.policy.condition_reader import ConditionReader
from hooks.builtin.policy.conditions import Condition
from hooks.builtin.policy.demands import (
    Breach,
    Demand,
    ResourceDemand,
    allowed_types,
    forbidden_tags,
    forbidden_types,
    required_tags,
)
from hooks.builtin.policy.nodes import Reader, Unreadable
from hooks.builtin.policy.rules import Effect, Rule
from hooks.builtin.policy.view import StackView

#: Demands on a stack as a whole, by key.
STACK_DEMANDS: Final[Mapping[str, Callable[[tuple[str, ...], StackView], Iterable[Breach]]]] = {
    "require_tags": required_tags,
    "forbid_tags": forbidden_tags,
    "forbid_types": forbidden_types,
    "allow_types": allowed_types,
}
#: Keys of demands on each of some resources.
RESOURCE_DEMANDS: Final = ("require", "forbid")
#: Keys that select these resources.
SELECTORS: Final = ("types", "except_types", "when")
KEYS: Final = (
    *("name", "message", "effect", "when_unknown", "projects", "except_projects", "actions"),
    *STACK_DEMANDS,
    *SELECTORS,
    *RESOURCE_DEMANDS,
)

_Entries = Mapping[str, tuple[Node, Node]]


def read_rules(source: str, file: str) -> tuple[Rule, ...]:
    """Return the rules of a file's text; ``file`` is its name in messages.

    Raises:
        Unreadable: there are faults; the message lists them all.
    """
    reader = Reader(file)
    try:
        root = reader.root(source)
        if root is None:
            raise Unreadable(f"{file}: expected a map with the key rules, found nothing")
        rules = _RuleReader(reader).all(root)
    except RecursionError:
        raise Unreadable(f"{file}: it is nested too deep, or refers to itself") from None
    reader.check()
    return rules


class _RuleReader:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._conditions = ConditionReader(reader)
        self._names: set[str] = set()

    def all(self, root: Node) -> tuple[Rule, ...]:
        """Return all rules of a document."""
        entries = self._reader.map(root, "a map with the key rules", ("rules",))
        if "rules" not in entries:
            if not self._reader.faults:
                self._reader.fault(root, "expected a map with the key rules")
            return ()
        rules = (self._rule(node) for node in self._reader.list(entries["rules"][1], "a list of rules"))
        return tuple(rule for rule in rules if rule is not None)

    def _rule(self, node: Node) -> Rule | None:
        if not isinstance(node, MappingNode):
            self._reader.expected(node, "a rule, a map")
            return None
        entries = self._reader.map(node, "a rule", KEYS)
        name = self._name(node, entries)
        demands = (*self._stack_demands(entries), *self._resource_demands(node, entries))
        if not any(key in entries for key in (*STACK_DEMANDS, *RESOURCE_DEMANDS)):
            known = ", ".join((*STACK_DEMANDS, *RESOURCE_DEMANDS))
            self._reader.fault(node, f"the rule {name!r} demands nothing: expected one of {known}")
        effect = self._effect(entries, "effect", (Effect.REFUSE, Effect.WARN), Effect.REFUSE)
        unknown = self._effect(entries, "when_unknown", tuple(Effect), effect)
        if effect is Effect.WARN and unknown is Effect.REFUSE:
            self._reader.fault(
                entries["when_unknown"][1],
                "what is only warned of where it is known cannot be refused where it is not",
            )
        message = self._reader.text(entries["message"][1]) if "message" in entries else ""
        return Rule(
            name=name,
            demands=demands,
            # Sentences are joined by semicolons.
            message=" ".join((message or "").split()).removesuffix("."),
            effect=effect,
            when_unknown=unknown,
            projects=self._texts(entries, "projects") or ("*",),
            except_projects=self._texts(entries, "except_projects"),
            actions=self._actions(entries),
        )

    def _name(self, node: Node, entries: _Entries) -> str:
        if "name" not in entries:
            self._reader.fault(node, "a rule needs a name: it is what people are told")
            return ""
        key, value = entries["name"]
        name = self._reader.text(value) or ""
        if name and name in self._names:
            self._reader.fault(key, f"there are two rules of the name {name!r}")
        self._names.add(name)
        return name

    def _stack_demands(self, entries: _Entries) -> tuple[Demand, ...]:
        found = ((breaches, key) for key, breaches in STACK_DEMANDS.items() if key in entries)
        return tuple(partial(breaches, self._texts(entries, key)) for breaches, key in found)

    def _resource_demands(self, node: Node, entries: _Entries) -> tuple[Demand, ...]:
        demanded = [key for key in RESOURCE_DEMANDS if key in entries]
        if not demanded:
            for key in SELECTORS:
                if key in entries:
                    self._reader.fault(
                        entries[key][0], f"{key!r} needs 'require' or 'forbid': it says of which resources"
                    )
            return ()
        if "types" not in entries:
            self._reader.fault(
                node, f"{demanded[0]!r} needs 'types': the types of the resources that it speaks of"
            )
        types, excepted = self._texts(entries, "types"), self._texts(entries, "except_types")
        when = self._conditions.together(entries["when"][1]) if "when" in entries else None

        def demand(condition: Condition, *, forbidden: bool) -> Demand:
            return ResourceDemand(
                types=types, except_types=excepted, condition=condition, forbidden=forbidden, when=when
            )

        return tuple(
            demand(condition, forbidden=key == "forbid")
            for key in demanded
            for condition in self._conditions.several(entries[key][1])
        )

    def _texts(self, entries: _Entries, key: str) -> tuple[str, ...]:
        return self._reader.texts(entries[key][1], self._reader.text) if key in entries else ()

    def _effect(self, entries: _Entries, key: str, effects: tuple[Effect, ...], otherwise: Effect) -> Effect:
        if key not in entries:
            return otherwise
        word = self._reader.word(entries[key][1], [effect.value for effect in effects])
        return otherwise if word is None else Effect(word)

    def _actions(self, entries: _Entries) -> frozenset[str]:
        if "actions" not in entries:
            return DEFINING_ACTIONS
        known = [action.lower() for action in ACTIONS]
        words = self._reader.texts(entries["actions"][1], lambda node: self._reader.word(node, known))
        return frozenset(word.upper() for word in words)
