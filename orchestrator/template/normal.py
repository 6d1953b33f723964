"""Normal form of templates: plain data in a fixed form, so that equivalent templates can be compared as texts.

Sections and their keys have a fixed order, and the version is its date. Comments, anchors and merge keys are removed,
and so are values that are null, empty or ignored by the engine. The returned data shares parts with the template and
must not be changed.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from orchestrator.definition import UNKNOWN
from orchestrator.errors import InvalidInput, Problem, cut
from orchestrator.template.document import Path
from orchestrator.template.parameter_types import ParameterType, as_boolean
from orchestrator.template.parameters import ParameterSchema
from orchestrator.template.template import Draft, Template

#: The keys of declarations of parameters, in the order in which they are written, in HOT and in CFN.
_HOT_KEYS: Final = ("type", "label", "description", "default", "hidden", "immutable", "tags", "constraints")
_CFN_KEYS: Final = (
    *("Type", "Label", "Description", "Default", "NoEcho", "AllowedValues", "AllowedPattern"),
    *("MinLength", "MaxLength", "MinValue", "MaxValue", "ConstraintDescription"),
)
_TEXTS: Final = frozenset({"label", "description", "Label", "Description", "ConstraintDescription"})
_BOOLEANS: Final = frozenset({"hidden", "immutable", "NoEcho"})
_MAY_BE_EMPTY: Final = _TEXTS | {"tags", "constraints"}
#: The keys of constraints with several numbers.
_BOUNDS: Final = ("min", "max", "step", "offset")
#: Longer lists of parameters are cut in messages.
_SHOWN_PARAMETERS: Final = 20


def normal(draft: Draft) -> dict[str, object]:
    """Return a valid template in normal form, with its calls as written.

    The result is equivalent to the template, and normalizing it again does not change it.
    """
    words = draft.dialect
    return _whole(
        draft,
        conditions=_section(draft, words.conditions),
        resources={name: _resource(draft, raw) for name, raw in _section(draft, words.resources).items()},
        outputs={name: _output(draft, raw) for name, raw in _section(draft, words.outputs).items()},
    )


def resolved(template: Template, missing: Collection[str] = ()) -> dict[str, Any]:
    """Return a valid template in normal form, with its conditions evaluated.

    Of each ``if`` the chosen value remains; resources and outputs whose condition does not hold are left out, and so
    are the conditions. Other values that are evaluated before any resource exists are inserted as well: names of
    resources that come from parameters, policies, look-ups in ``Mappings``. ``missing`` are the parameters without a
    value.

    Raises:
        InvalidInput: such a value depends on a parameter without a value; with a problem for each.
    """
    draft, words = template.draft, template.draft.dialect
    verdicts = {
        (word, name, words.condition): _verdict(template, (word, name))
        for word in (words.resources, words.outputs)
        for name in _section(draft, word)
    }
    outputs = (
        name for name in template.outputs if verdicts[words.outputs, name, words.condition] is not False
    )
    whole = _whole(
        draft,
        conditions={},
        resources={name: _decided_resource(template, name) for name in template.resources},
        outputs={name: _decided_output(template, name) for name in outputs},
    )
    undecided: list[Path] = [path for path, verdict in verdicts.items() if verdict is None]
    undecided += _unknown_places(whole, ())
    if undecided:
        raise InvalidInput(_undecided(template, path, missing) for path in undecided)
    return whole


def _whole(
    draft: Draft,
    *,
    conditions: Mapping[str, object],
    resources: Mapping[str, object],
    outputs: Mapping[str, object],
) -> dict[str, object]:
    words = draft.dialect
    sections = {
        words.description: draft.description,
        words.parameter_groups: _groups(draft),
        words.parameters: {name: _declaration(draft, schema) for name, schema in draft.parameters.items()},
        words.mappings: _section(draft, words.mappings),
        words.conditions: conditions,
        words.resources: resources,
        words.outputs: outputs,
    }
    in_order = {word: sections[word] for word in words.sections()}
    return {draft.version.key: draft.version.date, **_without_empty(in_order)}


def _section(draft: Draft, word: str) -> Mapping[str, Any]:
    section = draft.document.data.get(word) if word else None
    return section if isinstance(section, dict) else {}


def _without_empty(entries: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in entries.items() if value is not None and value not in ("", [], {})}


# -- parameters ------------------------------------------------------------------------------------------------


def _groups(draft: Draft) -> list[dict[str, object]]:
    return [
        {
            **_without_empty({"label": group.label, "description": group.description}),
            "parameters": [*group.parameters],
        }
        for group in draft.parameter_groups
    ]


def _declaration(draft: Draft, schema: ParameterSchema) -> dict[str, object]:
    raw = draft.section(schema.path)
    written = {}
    for key in _HOT_KEYS if draft.version.is_hot else _CFN_KEYS:
        value = raw.get(key)
        # An empty default differs from a missing one.
        is_empty = value in ("", []) and key in _MAY_BE_EMPTY
        if value is not None and not is_empty:
            written[key] = _declared(schema, key, value)
    return written


def _declared(schema: ParameterSchema, key: str, value: Any) -> object:
    if key in _TEXTS:
        return str(value)
    if key in _BOOLEANS or (key == schema.default_key and schema.type is ParameterType.BOOLEAN):
        return as_boolean(value)
    return [_constraint(each) for each in value] if key == "constraints" else value


def _constraint(raw: Mapping[str, object]) -> dict[str, object]:
    kind = next(key for key in raw if key != "description")
    value = raw[kind]
    if isinstance(value, dict):
        value = {key: value[key] for key in _BOUNDS if value.get(key) is not None}
    description = raw.get("description")
    return {kind: value, **({} if description in (None, "") else {"description": str(description)})}


# -- resources and outputs -------------------------------------------------------------------------------------


def _resource(draft: Draft, raw: Mapping[str, Any]) -> dict[str, object]:
    words = draft.dialect
    conditional = words.has_conditions(draft.version)
    names, policy = raw.get(words.depends_on), raw.get(words.deletion_policy)
    return _without_empty(
        {
            words.type: raw[words.type],
            words.description: _text(raw.get(words.description)),
            words.condition: raw.get(words.condition) if conditional else None,
            words.external_id: raw.get(words.external_id) if conditional and words.external_id else None,
            words.depends_on: list(dict.fromkeys([names] if isinstance(names, str) else names or ())),
            words.properties: raw.get(words.properties),
            words.metadata: raw.get(words.metadata),
            words.deletion_policy: policy.capitalize() if isinstance(policy, str) else policy,
            words.update_policy: raw.get(words.update_policy),
        }
    )


def _decided_resource(template: Template, name: str) -> dict[str, object]:
    words, definition = template.draft.dialect, template.resources[name]
    has_policy = template.draft.section(definition.path).get(words.deletion_policy) is not None
    return _without_empty(
        {
            words.type: definition.type,
            words.description: definition.description,
            words.external_id: definition.external_id,
            words.depends_on: list(definition.depends_on),
            words.properties: definition.properties,
            words.metadata: definition.metadata,
            words.deletion_policy: definition.deletion_policy if has_policy else None,
            words.update_policy: definition.update_policy,
        }
    )


def _output(draft: Draft, raw: Mapping[str, object]) -> dict[str, object]:
    words = draft.dialect
    condition = raw.get(words.condition) if words.has_conditions(draft.version) else None
    others = {words.description: _text(raw.get(words.description)), words.condition: condition}
    return {**_without_empty(others), words.value: raw[words.value]}


def _decided_output(template: Template, name: str) -> dict[str, object]:
    words, output = template.draft.dialect, template.outputs[name]
    return {**_without_empty({words.description: output.description}), words.value: output.expression.plain}


def _text(value: object) -> str:
    return "" if value is None else str(value)


# -- conditions ------------------------------------------------------------------------------------------------


def _verdict(template: Template, path: Path) -> bool | None:
    """Return whether the condition of the resource or output at ``path`` holds; None where that is not known."""
    words = template.draft.dialect
    if not words.has_conditions(template.draft.version):
        return True
    return template.holds(template.draft.section(path).get(words.condition), (*path, words.condition))


def _unknown_places(value: object, path: Path) -> Iterator[Path]:
    if value is UNKNOWN:
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _unknown_places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_places(item, (*path, index))


def _undecided(template: Template, path: Path, missing: Collection[str]) -> Problem:
    named = ", ".join(map(cut, islice(missing, _SHOWN_PARAMETERS)))
    more = ", ..." if len(missing) > _SHOWN_PARAMETERS else ""
    hint = f"parameters without a value: {named}{more}" if missing else ""
    return template.problem(path, "this depends on a parameter that has no value", hint)
