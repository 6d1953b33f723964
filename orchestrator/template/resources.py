"""Reader of the section of resources."""

from collections.abc import Collection
from functools import partial

from orchestrator.definition import UNKNOWN
from orchestrator.sandbox.budget import check_time
from orchestrator.template.conditions import Conditions
from orchestrator.template.definitions import DELETE, RETAIN, SNAPSHOT, ResourceDefinition
from orchestrator.template.document import Path
from orchestrator.template.expressions import Expression, ExpressionParser
from orchestrator.template.functions.base import kind_of
from orchestrator.template.sections import SectionReader
from orchestrator.template.versions import NEWTON

_POLICIES = (DELETE, RETAIN, SNAPSHOT)
_LONGEST_NAME = 255
#: Placeholder of an external_id that is not known yet; templates with it are only validated.
_SOME_ID = "(not known yet)"


class ResourceReader:
    """Reads the definitions of resources; an invalid one gives problems as well."""

    def __init__(
        self,
        reader: SectionReader,
        expressions: ExpressionParser,
        conditions: Conditions,
        all_files: frozenset[str],
    ) -> None:
        self._reader, self._expressions, self._conditions = reader, expressions, conditions
        self._dialect = reader.dialect
        self._all_files = all_files
        self._keys = _keys(reader)
        self._later = self._dialect.later(reader.version)
        #: The names of resources with a problem.
        self.broken: set[str] = set()
        #: The names of resources whose condition does not hold.
        self.disabled: set[str] = set()

    def resources(
        self, raw: object, parameters: Collection[str], max_resources: int
    ) -> dict[str, ResourceDefinition]:
        """Return the definitions in the template's order, without those that are disabled.

        ``parameters`` are names that resources may not have.
        """
        word = self._dialect.resources
        section = self._reader.as_map(raw, (word,), "resources by name")
        if len(section) > max_resources:
            message = f"there are {len(section)} resources; at most {max_resources} are allowed"
            hint = "make several stacks of it, or raise the setting max_resources_per_stack"
            self._reader.fault((word,), message, hint)
            return {}
        for name, resource in section.items():
            check_time(partial(self._reader.positions.problem, (word, name)))
            before = len(self._reader.problems)
            self._check(name, resource, (word, name), parameters)
            self._note_mistakes(name, before)
        definitions = {}
        for name, resource in section.items():
            check_time(partial(self._reader.positions.problem, (word, name)))
            if isinstance(resource, dict) and name not in self.disabled:
                before = len(self._reader.problems)
                definitions[name] = self._definition(name, resource, (word, name))
                self._note_mistakes(name, before)
        return definitions

    def _note_mistakes(self, name: str, before: int) -> None:
        if len(self._reader.problems) > before:
            self.broken.add(name)

    def _check(self, name: str, raw: object, path: Path, parameters: Collection[str]) -> None:
        self._check_name(name, path, parameters)
        if not isinstance(raw, dict):
            self._reader.fault(path, f"expected a resource, a map with a type, found {kind_of(raw)}")
            return
        if not self._dialect.lenient:
            self._reader.check_keys(raw, path, known=self._keys, later=self._later)
        word = self._dialect.condition
        decides = word in raw and word in self._keys
        if decides and self._conditions.holds(raw[word], (*path, word)) is False:
            self.disabled.add(name)

    def _check_name(self, name: str, path: Path, parameters: Collection[str]) -> None:
        if not 0 < len(name) <= _LONGEST_NAME:
            self._reader.fault(
                path, f"a resource's name has 1 to {_LONGEST_NAME} characters, this one {len(name)}"
            )
        if "/" in name or not name.isprintable():
            self._reader.fault(path, "a resource's name may not contain '/' or control characters")
        if name in parameters:
            self._reader.fault(path, f"{name!r} is the name of a parameter already")

    def _definition(self, name: str, raw: dict[str, object], path: Path) -> ResourceDefinition:
        reader, words = self._reader, self._dialect
        properties = self._map(raw, path, words.properties)
        metadata = self._map(raw, path, words.metadata)
        description = reader.as_text(raw.get(words.description), (*path, words.description))
        return ResourceDefinition(
            name=name,
            type=self._type(raw, path),
            version=reader.version,
            positions=reader.positions,
            depends_on=self._depends_on(raw, (*path, words.depends_on)),
            properties=properties.plain,
            metadata=metadata.plain,
            deletion_policy=self._policy(raw, (*path, words.deletion_policy)),
            update_policy=self._update_policy(raw, (*path, words.update_policy)),
            external_id=self._external_id(raw, path),
            description=description,
            properties_expression=properties,
            metadata_expression=metadata,
            all_files=self._all_files,
        )

    def _map(self, raw: dict[str, object], path: Path, key: str) -> Expression:
        """Return the expression of a section that is a map or a call."""
        section = self._reader.as_map(raw.get(key), (*path, key), f"the {key}")
        expression = self._expressions.parse(section, (*path, key))
        if expression.may_be_map:
            return expression
        self._reader.fault((*path, key), f"expected the {key}, a map, found {kind_of(expression.plain)}")
        return Expression({})

    def _type(self, raw: dict[str, object], path: Path) -> str:
        word = self._dialect.type
        kind = raw.get(word)
        if isinstance(kind, str) and kind:
            return kind
        if kind is None:
            self._reader.fault(path, "this resource has no type", f"expected the key {word!r}")
        else:
            found = "an empty text" if kind == "" else kind_of(kind)
            self._reader.fault((*path, word), f"expected the name of a resource type, found {found}")
        return ""

    def _depends_on(self, raw: dict[str, object], path: Path) -> tuple[str, ...]:
        given = raw.get(self._dialect.depends_on)
        if given is None:
            return ()
        names = given if isinstance(given, list) else [given]
        wrong = [name for name in names if not isinstance(name, str)]
        if wrong:
            hint = "calls are not evaluated here" if isinstance(wrong[0], dict) else ""
            message = f"expected a resource's name or a list of them, found {kind_of(wrong[0])}"
            self._reader.fault(path, message, hint)
            return ()
        return tuple(name for name in dict.fromkeys(names) if name not in self.disabled)

    def _policy(self, raw: dict[str, object], path: Path) -> str:
        given = self._expressions.settled(raw.get(self._dialect.deletion_policy), path)
        if given is None or given is UNKNOWN:
            return DELETE
        written = given if isinstance(given, str) else ""
        if self._reader.version >= NEWTON:
            written = written.capitalize() if written.islower() else written
        if written in _POLICIES:
            return written
        # The value of a parameter may be a secret.
        is_written = given == raw.get(self._dialect.deletion_policy)
        found = repr(given) if isinstance(given, str) and is_written else kind_of(given)
        self._reader.fault(path, f"expected one of {', '.join(_POLICIES)}, found {found}")
        return DELETE

    def _update_policy(self, raw: dict[str, object], path: Path) -> dict[str, object]:
        given = self._expressions.settled(raw.get(self._dialect.update_policy), path)
        return {} if given is UNKNOWN else self._reader.as_map(given, path, "an update policy")

    def _external_id(self, raw: dict[str, object], path: Path) -> str | None:
        word = self._dialect.external_id
        if word not in self._keys or raw.get(word) is None:
            return None
        place = (*path, word)
        if raw.get(self._dialect.depends_on) is not None:
            hint = "take one of the two away: what is not made here waits for nothing"
            self._reader.fault(place, "a resource with an external_id cannot have depends_on", hint)
        given = self._expressions.settled(raw[word], place)
        if given is UNKNOWN:
            return _SOME_ID
        if isinstance(given, str) and given:
            return given
        found = "an empty text" if given == "" else kind_of(given)
        self._reader.fault(place, f"expected the id of what exists already, found {found}")
        return _SOME_ID


def _keys(reader: SectionReader) -> tuple[str, ...]:
    words = reader.dialect
    keys = [words.type, words.properties, words.metadata, words.depends_on, words.deletion_policy]
    keys += [words.update_policy, words.description]
    if words.has_conditions(reader.version):
        keys += [word for word in (words.external_id, words.condition) if word]
    return tuple(keys)
