"""Definitions of stacks of cloud objects as plain values: drawn at random, edited, written down as templates.

A resource depends on others in four ways: by ``depends_on``; by its ``value``, which can only be changed by another
object in its place, and is made of others' values, or of others' sizes; by its ``size``, which is changed in place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from hypothesis import strategies as st

NAMES = tuple("abcdefghijkl")
TYPES = ("Cloud::Object", "Cloud::Other")
#: The ways to depend on another.
EDGES = ("after", "of", "like", "beside")


@dataclass(frozen=True)
class Wanted:
    """One resource of a definition."""

    value: str = "v"
    size: str = "s"
    #: By depends_on; by get_attr in its value, of a value and of a size; by get_resource in its size.
    after: frozenset[str] = frozenset()
    of: frozenset[str] = frozenset()
    like: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    type: str = TYPES[0]
    retained: bool = False
    #: Whether its condition is true.
    enabled: bool = True

    def __repr__(self) -> str:
        """Show what is not as it mostly is."""
        said = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if getattr(self, each.name) != each.default
        }
        return f"Wanted({', '.join(f'{name}={value!r}' for name, value in said.items())})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    @property
    def others(self) -> frozenset[str]:
        """The names it mentions."""
        return self.after | self.of | self.like | self.beside

    def without(self, name: str) -> "Wanted":
        """Return the same without any mention of another."""
        return self.among(self.others - {name})

    def among(self, names: frozenset[str]) -> "Wanted":
        """Return the same that mentions no others than these."""
        edges: dict[str, Any] = {kind: getattr(self, kind) & names for kind in EDGES}
        return replace(self, **edges)


Definition = Mapping[str, Wanted]
#: What is done, to which resource, with which other one, and a letter.
Edit = tuple[str, str, str, str]

EDITS = (
    *("value", "size", *EDGES),
    *("add", "remove", "rename", "turn", "part", "retain", "type", "condition"),
)
names = st.sampled_from(NAMES)
edits = st.lists(
    st.tuples(st.sampled_from(EDITS), names, names, st.sampled_from("vwxyz")), min_size=1, max_size=5
)


@st.composite
def definitions(draw: st.DrawFn, *, most: int = len(NAMES)) -> Definition:
    """Draw a definition; which resource comes before which is drawn too, so that edges turn around."""
    order = draw(st.permutations(NAMES))[: draw(st.integers(1, most))]
    definition = {}
    for position, name in enumerate(order):
        before = (
            st.frozensets(st.sampled_from(order[:position]), max_size=2)
            if position
            else st.just(frozenset[str]())
        )
        edges: dict[str, Any] = {kind: draw(before) for kind in EDGES}
        definition[name] = Wanted(**edges)
    return definition


def nearest(definition: Definition, name: str) -> str:
    """Return a name of the definition for any name, if it has any."""
    there = sorted(definition)
    return name if name in there else there[NAMES.index(name) % len(there)]


def edited(definition: Definition, changes: Iterable[Edit]) -> Definition:
    """Return a definition after some edits; those that do not fit it change nothing."""
    wanted = dict(definition)
    for edit in changes:
        wanted = _edited(wanted, edit)
    return wanted


def _edited(before: dict[str, Wanted], edit: Edit) -> dict[str, Wanted]:
    kind, name, other, letter = edit
    wanted = dict(before)
    if kind == "add":
        wanted.setdefault(name, Wanted(value=letter))
        return wanted
    if not wanted:
        return wanted
    name = nearest(wanted, name)
    mine = wanted[name]
    if kind == "remove":
        del wanted[name]
        return {each: it.without(name) for each, it in wanted.items()}
    if kind == "rename":
        return (
            wanted
            if other in wanted
            else {_renamed(each, name, other): _moved(it, name, other) for each, it in wanted.items()}
        )
    if kind in (*EDGES, "turn", "part"):
        return _edged(wanted, edit)
    wanted[name] = {
        "value": replace(mine, value=letter),
        "size": replace(mine, size=letter),
        "retain": replace(mine, retained=not mine.retained),
        "type": replace(mine, type=TYPES[1 - TYPES.index(mine.type)]),
        "condition": replace(mine, enabled=not mine.enabled),
    }[kind]
    return wanted


def _edged(wanted: dict[str, Wanted], edit: Edit) -> dict[str, Wanted]:
    """Return the definition with another edge, one edge less, or one turned around, if it has no circle then."""
    kind, name, other = edit[0], nearest(wanted, edit[1]), edit[2]
    other = nearest(wanted, other)
    if other == name:
        return wanted
    mine, its = wanted[name], wanted[other]
    if kind == "part":
        return {**wanted, name: mine.without(other)}
    if kind == "turn":
        if other not in mine.others:
            return wanted
        changed = {**wanted, name: mine.without(other), other: replace(its, after=its.after | {name})}
    else:
        changed = {**wanted, name: replace(mine, **{kind: getattr(mine, kind) | {other}})}
    return wanted if name in _all(changed, name) else changed


def _all(wanted: Definition, name: str) -> set[str]:
    """Return all that a resource depends on, by whatever many steps."""
    found: set[str] = set()
    waiting = [*wanted[name].others]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += wanted[each].others
    return found


def _renamed(each: str, name: str, other: str) -> str:
    return other if each == name else each


def _moved(it: Wanted, name: str, other: str) -> Wanted:
    def moved(edges: frozenset[str]) -> frozenset[str]:
        return frozenset(_renamed(each, name, other) for each in edges)

    edges: dict[str, Any] = {kind: moved(getattr(it, kind)) for kind in EDGES}
    return replace(it, **edges)


# -- what it means ---------------------------------------------------------------------------------------------


def enabled(definition: Definition) -> Definition:
    """Return the resources whose condition is true, and what they mention of each other.

    A value or a size mentions only what is enabled; ``depends_on`` may name what is not.
    """
    there = frozenset(name for name, it in definition.items() if it.enabled)
    return {name: it.among(there) for name, it in definition.items() if name in there}


def value_of(definition: Definition, name: str) -> str:
    """Return the value that a resource is to have, by those it is made of."""
    wanted = definition[name]
    values = (value_of(definition, other) for other in sorted(wanted.of))
    return "+".join([wanted.value, *values, *(definition[other].size for other in sorted(wanted.like))])


def size_of(definition: Definition, name: str, ids: Mapping[str, str | None]) -> str:
    """Return the size that a resource is to have, by the ids of those it mentions."""
    wanted = definition[name]
    return "+".join([wanted.size, *(str(ids[other]) for other in sorted(wanted.beside))])


def template_of(definition: Definition) -> str:
    """Return the template; sizes and conditions are parameters, so that the same text may mean another thing."""
    if not definition:
        return "heat_template_version: 2021-04-16\nresources: {}\n"
    there = enabled(definition)
    lines = ["heat_template_version: 2021-04-16", "parameters:"]
    for name in definition:
        lines += [f"  size_{name}: {{type: string}}", f"  on_{name}: {{type: boolean}}"]
    lines += ["conditions:", *(f"  is_{name}: {{get_param: on_{name}}}" for name in definition), "resources:"]
    for name, wanted in definition.items():
        mentioned = there.get(name, Wanted())
        values = [
            wanted.value,
            *(f"{{get_attr: [{other}, value]}}" for other in sorted(mentioned.of)),
            *(f"{{get_attr: [{other}, measure]}}" for other in sorted(mentioned.like)),
        ]
        sizes = [
            f"{{get_param: size_{name}}}",
            *(f"{{get_resource: {other}}}" for other in sorted(mentioned.beside)),
        ]
        lines += [
            f"  {name}:",
            f"    type: {wanted.type}",
            f"    condition: is_{name}",
            f"    depends_on: [{', '.join(sorted(wanted.after))}]",
            f"    deletion_policy: {'retain' if wanted.retained else 'delete'}",
            f"    properties: {{value: {_joined(values)}, size: {_joined(sizes)}}}",
        ]
    return "\n".join([*lines, ""])


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{{list_join: ['+', [{', '.join(parts)}]]}}"


def parameters_of(definition: Definition) -> dict[str, str]:
    """Return the parameters of the definition's template."""
    sizes = {f"size_{name}": wanted.size for name, wanted in definition.items()}
    return {**sizes, **{f"on_{name}": str(wanted.enabled).lower() for name, wanted in definition.items()}}


def identity_of(definition: Definition, name: str) -> Any:
    """Return what an object is as long as it need not be replaced; None: it is not there."""
    there = enabled(definition)
    return (there[name].type, value_of(there, name)) if name in there else None
