"""The reader of conditions in rule files."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from yaml.nodes import MappingNode, Node, SequenceNode

from hooks.builtin.policy import operators as op
from hooks.builtin.policy.conditions import Condition, Not, Property, Relation, Together
from hooks.builtin.policy.nodes import Reader
from hooks.builtin.policy.paths import Path
from hooks.builtin.policy.regular import Regular

OPERATORS: Final = ("exists", "equals", "one_of", "contains", "matches", "at_least", "at_most")
#: The possible subjects of a condition, exactly one of which is required, and the further keys that each allows.
SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "property": (*OPERATORS, "optional"),
    "every": (*OPERATORS, "optional"),
    "some": OPERATORS,
    "requires": ("indirectly", "where"),
    "required_by": ("indirectly", "where"),
    "not": (),
    "any_of": (),
    "all_of": (),
}
KEYS: Final = tuple(dict.fromkeys((*SUBJECTS, *OPERATORS, "optional", "indirectly", "where")))

_Entries = Mapping[str, tuple[Node, Node]]


class ConditionReader:
    """Reads conditions; reports faults to ``reader``."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def several(self, node: Node) -> tuple[Condition, ...]:
        """Return a list of conditions; a single one counts as a list."""
        return self._reader.texts(node, self.one)

    def together(self, node: Node) -> Condition | None:
        """Return the conjunction of a list of conditions; None if one is invalid."""
        conditions = self.several(node)
        if not conditions:
            return None
        return conditions[0] if len(conditions) == 1 else Together(conditions)

    def one(self, node: Node) -> Condition | None:
        """Return a condition; None if it is invalid."""
        if not isinstance(node, MappingNode):
            self._reader.expected(node, f"a condition, a map with one of {', '.join(SUBJECTS)}")
            return None
        faults = len(self._reader.faults)
        entries = self._reader.map(node, "a condition", KEYS)
        subjects = [name for name in SUBJECTS if name in entries]
        if len(subjects) != 1:
            if len(self._reader.faults) == faults:
                found = f"both {subjects[0]} and {subjects[1]}" if subjects else "none of them"
                self._reader.fault(node, f"a condition is about one of {', '.join(SUBJECTS)}; found {found}")
            return None
        (subject,) = subjects
        self._refuse_unknown_keys(subject, entries)
        read: dict[str, Callable[[str, Node, _Entries], Condition | None]] = {
            "not": self._not,
            "any_of": self._list,
            "all_of": self._list,
            "requires": self._relation,
            "required_by": self._relation,
        }
        return read.get(subject, self._property)(subject, node, entries)

    def _refuse_unknown_keys(self, subject: str, entries: _Entries) -> None:
        allowed = SUBJECTS[subject]
        for name, (key, _) in entries.items():
            if name != subject and name not in allowed:
                beside = f"{', '.join(allowed)} may" if allowed else "nothing may"
                self._reader.fault(key, f"{name!r} says nothing about {subject!r}: {beside} stand beside it")

    def _not(self, subject: str, _node: Node, entries: _Entries) -> Condition | None:
        condition = self.one(entries[subject][1])
        return None if condition is None else Not(condition)

    def _list(self, subject: str, _node: Node, entries: _Entries) -> Condition | None:
        value = entries[subject][1]
        if not isinstance(value, SequenceNode):
            self._reader.expected(value, "a list of conditions")
            return None
        conditions = self.several(value)
        return Together(conditions, subject == "any_of") if conditions else None

    def _relation(self, subject: str, _node: Node, entries: _Entries) -> Condition | None:
        types = self._reader.texts(entries[subject][1], self._reader.text)
        indirectly = self._flag(entries, "indirectly")
        where = self.together(entries["where"][1]) if "where" in entries else None
        return Relation(types=types, backwards=subject == "required_by", indirectly=indirectly, where=where)

    def _property(self, subject: str, node: Node, entries: _Entries) -> Condition | None:
        path = self._path(subject, entries[subject][1])
        operator = self._operator(node, entries)
        optional = self._flag(entries, "optional")
        if path is None or operator is None:
            return None
        return Property(path, operator, optional, "" if subject == "property" else subject)

    def _path(self, subject: str, node: Node) -> Path | None:
        text = self._reader.text(node)
        if text is None:
            return None
        try:
            path = Path.parse(text)
        except ValueError as error:
            self._reader.fault(node, str(error))
            return None
        if path.is_many and subject == "property":
            self._reader.fault(
                node, f"{text!r} leads to several values: say 'every' or 'some' in place of 'property'"
            )
        if not path.is_many and subject != "property":
            self._reader.fault(node, f"{text!r} leads to one value: say 'property' in place of {subject!r}")
        return path

    def _operator(self, node: Node, entries: _Entries) -> op.Operator | None:
        names = [name for name in OPERATORS if name in entries]
        if len(names) != 1:
            found = f"both {names[0]} and {names[1]}" if names else "none of them"
            self._reader.fault(node, f"expected one of {', '.join(OPERATORS)}, found {found}")
            return None
        (name,) = names
        value = entries[name][1]
        make: dict[str, Callable[[Node], op.Operator | None]] = {
            "exists": self._exists,
            "equals": lambda value: op.equals(self._reader.value(value)),
            "one_of": self._one_of,
            "contains": lambda value: op.contains(self._reader.value(value)),
            "matches": self._matches,
            "at_least": lambda value: self._bound(value, op.at_least),
            "at_most": lambda value: self._bound(value, op.at_most),
        }
        return make[name](value)

    def _exists(self, node: Node) -> op.Operator | None:
        wanted = self._reader.flag(node)
        return None if wanted is None else op.exists(wanted)

    def _one_of(self, node: Node) -> op.Operator:
        values = self._reader.list(node, "a list of values")
        if isinstance(node, SequenceNode) and not values:
            self._reader.fault(node, "expected at least one value")
        return op.one_of(tuple(self._reader.value(each) for each in values))

    def _matches(self, node: Node) -> op.Operator | None:
        pattern = self._reader.text(node)
        if pattern is None:
            return None
        try:
            return op.matches(pattern, Regular(pattern))
        except ValueError as error:
            self._reader.fault(node, str(error))
            return None

    def _bound(self, node: Node, kind: Callable[[Any], op.Operator]) -> op.Operator | None:
        number = self._reader.number(node)
        return None if number is None else kind(number)

    def _flag(self, entries: _Entries, name: str) -> bool:
        return bool(self._reader.flag(entries[name][1])) if name in entries else False
