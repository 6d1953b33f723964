"""Properties groups against truth tables that are made without them.

The oracle reads the declared form by itself, counts, and knows nothing of the tree, of three values or of paths.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations as combinations_of
from itertools import product
from typing import Any, Final

from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.definition import UNKNOWN
from orchestrator.errors import PluginMistake
from orchestrator.plugins.group_declarations import parse_groups, properties_groups
from orchestrator.plugins.group_tables import combinations, is_fine
from orchestrator.plugins.groups import Combination, group_error
from orchestrator.plugins.properties import Property, PropertyType

_DEPTH: Final = 4
_NAMES: Final = ("a", "b", "c", "d", "e")
Declared = Any


def declared_groups(paths: st.SearchStrategy[list[str]]) -> st.SearchStrategy[Declared]:
    """Return expressions in their declared form, of every operator, inside each other down to a depth of four."""
    below: st.SearchStrategy[Declared] = paths
    for _ in range(_DEPTH):
        operands = st.lists(paths | below, min_size=1, max_size=3, unique_by=repr)
        below = st.dictionaries(
            st.sampled_from(["AND", "OR", "XOR", "AT_MOST_ONE"]), operands, min_size=1, max_size=1
        )
    return below


flat = declared_groups(st.sampled_from(_NAMES).map(lambda name: [name]))


def said(declared: Declared, facts: frozenset[str]) -> bool:
    """Return what a declared expression comes to, by counting those of its operands that do."""
    if isinstance(declared, list):
        return ".".join(declared) in facts
    [(operator, operands)] = declared.items()
    true = len([operand for operand in operands if said(operand, facts)])
    return {
        "AND": true == len(operands),
        "OR": true != 0,
        "XOR": true == 1,
        "AT_MOST_ONE": true in (0, 1),
    }[operator]


def names_in(declared: Declared) -> set[str]:
    if isinstance(declared, list):
        return {".".join(declared)}
    return {name for operands in declared.values() for operand in operands for name in names_in(operand)}


def is_whole(declared: Declared, facts: frozenset[str]) -> bool:
    """Return whether nothing is given of those alternatives that were not chosen, wherever one was to be."""
    if isinstance(declared, list):
        return True
    [(operator, operands)] = declared.items()
    true = [operand for operand in operands if said(operand, facts)]
    if operator in ("XOR", "AT_MOST_ONE"):
        chosen = {name for operand in true for name in names_in(operand)} & facts
        chosen |= {above for name in chosen for above in facts if name.startswith(f"{above}.")}
        rejected = {name for operand in operands if operand not in true for name in names_in(operand)} & facts
        if rejected - chosen:
            return False
    return all(is_whole(operand, facts) for operand in true)


def is_allowed(declared: Declared, facts: frozenset[str]) -> bool:
    return said(declared, facts) and is_whole(declared, facts)


@given(flat)
def test_a_group_is_its_truth_table(declared: Declared) -> None:
    [group] = parse_groups([declared])
    for line in product((False, True), repeat=len(_NAMES)):
        facts = frozenset(name for name, flag in zip(_NAMES, line, strict=True) if flag)
        error = group_error(group, dict.fromkeys(facts, "x"))
        assert (error is None) == is_allowed(declared, facts), facts


@given(flat)
def test_the_table_of_a_group_shows_its_truth_table(declared: Declared) -> None:
    [group] = parse_groups([declared])
    assert isinstance(group, Combination)
    shown = [frozenset(map(str, line)) for line in combinations(group)]
    assert len(set(shown)) == len(shown) == 2 ** len(names_in(declared))
    for line in combinations(group):
        assert is_fine(group, line) == is_allowed(declared, frozenset(map(str, line)))


@given(flat, st.frozensets(st.sampled_from(_NAMES), max_size=2))
@example({"XOR": [["a"], ["b"]]}, frozenset({"a"}))
@example({"OR": [["a"], ["b"]]}, frozenset({"a"}))
@example({"AND": [["a"], {"XOR": [["a"], ["b"]]}, ["b"]]}, frozenset())
def test_a_group_is_a_mistake_exactly_where_its_truth_table_is_of_no_use(
    declared: Declared, required: frozenset[str]
) -> None:
    names, always = names_in(declared), required & names_in(declared)
    lines = [
        always | set(chosen)
        for count in range(len(names - always) + 1)
        for chosen in combinations_of(names - always, count)
    ]
    allowed = [line for line in lines if is_allowed(declared, line)]
    useful = 0 < len(allowed) < len(lines) and frozenset[str]().union(*allowed) == names
    schema = {name: Property(type=PropertyType.STRING, required=name in required) for name in _NAMES}
    try:
        properties_groups([declared], schema)
    except PluginMistake:
        assert not useful
    else:
        assert useful


#: Properties inside a map, and inside the items of a list; some values are not known, or null.
_LEAVES: Final = st.sampled_from([None, "", "x", 0, UNKNOWN])
_MAP: Final = st.dictionaries(st.sampled_from(["x", "y"]), _LEAVES)
_SHAPED: Final = st.fixed_dictionaries(
    {},
    optional={
        "a": _LEAVES,
        "b": _LEAVES,
        "m": _MAP | _LEAVES,
        "l": st.lists(_MAP | st.sampled_from([None, UNKNOWN]), max_size=3) | st.sampled_from([None, UNKNOWN]),
    },
)
_PATHS: Final = st.sampled_from(
    [["a"], ["b"], ["m"], ["m", "x"], ["m", "y"], ["l"], ["l", "*"], ["l", "*", "x"], ["l", "*", "y"]]
)


def facts_of(value: Any, path: str = "") -> Iterator[str]:
    """Yield the path of everything that is not null."""
    if value is None:
        return
    if path:
        yield path
    inside: Iterable[tuple[str, Any]] = ()
    if isinstance(value, (dict, list)):
        inside = value.items() if isinstance(value, dict) else (("*", item) for item in value)
    for name, child in inside:
        yield from facts_of(child, f"{path}.{name}".removeprefix("."))


def known(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(known, value.values()))
    return all(map(known, value)) if isinstance(value, list) else value is not UNKNOWN


def completions(value: Any, shape: str = "") -> list[Any]:
    """Return what a value may turn out to be, other than null: what a template names counts as given."""
    if value is UNKNOWN:
        maps: list[Any] = [{}, {"x": 1}, {"y": 1}, {"x": 1, "y": 1}]
        lists: list[Any] = [[], *([each] for each in maps)]
        return {"": ["some"], "m": maps, "*": maps, "l": lists}[shape]
    if isinstance(value, Mapping):
        options = [completions(child, name if name in "ml" else "") for name, child in value.items()]
        return [dict(zip(value, chosen, strict=True)) for chosen in product(*options)]
    if isinstance(value, list):
        return [list(chosen) for chosen in product(*(completions(item, "*") for item in value))]
    return [value]


@given(declared_groups(_PATHS), _SHAPED.filter(known))
# What is around the property that was chosen is given with it.
@example({"XOR": [["m", "x"], {"AND": [["m"], ["a"]]}]}, {"m": {"x": 1}})
def test_paths_lead_through_maps_and_lists(declared: Declared, properties: dict[str, Any]) -> None:
    [group] = parse_groups([declared])
    facts = frozenset(facts_of(properties))
    assert (group_error(group, properties) is None) == is_allowed(declared, facts), facts


@given(declared_groups(_PATHS), _SHAPED)
# An alternative that may not count in the end; half of one that may not be given; something around what may be chosen.
@example({"OR": [["b"], {"XOR": [["m", "x"], {"AND": [["a"], ["l"]]}]}]}, {"a": "x", "b": "x", "m": UNKNOWN})
@example({"XOR": [["b"], {"AND": [["m", "x"], ["a"]]}]}, {"b": "x", "m": UNKNOWN})
@example({"XOR": [{"OR": [["b"], ["m", "x"]]}, {"AND": [["m"], ["a"]]}]}, {"b": "x", "m": UNKNOWN})
@example({"AT_MOST_ONE": [["m", "x"], {"AND": [["m"], ["a"]]}]}, {"m": UNKNOWN})
def test_what_is_refused_before_all_is_known_is_never_right(
    declared: Declared, properties: dict[str, Any]
) -> None:
    [group] = parse_groups([declared])
    if group_error(group, properties) is not None:
        for whole in completions(properties):
            assert not is_allowed(declared, frozenset(facts_of(whole))), whole
