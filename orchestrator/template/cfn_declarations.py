"""Reader of the section ``Parameters`` of CFN templates."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Final

from orchestrator.config.limits import Limits
from orchestrator.plugins.constraints import AllowedPattern, AllowedValues, Constraint, Length, Range
from orchestrator.template.declarations import (
    DeclarationReader,
    allowed_pattern,
    allowed_values,
    number_of,
    whole_number_of,
)
from orchestrator.template.document import Path
from orchestrator.template.parameter_types import ParameterType
from orchestrator.template.parameters import ParameterGroup, ParameterSchema
from orchestrator.template.sections import SectionReader

_Maker = Callable[[Any, ParameterType, str, Limits], Constraint]

_KEYS: Final = (
    "Type",
    "Default",
    "NoEcho",
    "AllowedValues",
    "AllowedPattern",
    "MinLength",
    "MaxLength",
    "MinValue",
    "MaxValue",
    "Description",
    "ConstraintDescription",
    "Label",
)


class CfnDeclarationReader(DeclarationReader):
    """Reads CFN's declarations into schemas; an invalid declaration gives a problem and no schema."""

    types: ClassVar[Mapping[str, ParameterType]] = {
        "String": ParameterType.STRING,
        "Number": ParameterType.NUMBER,
        "CommaDelimitedList": ParameterType.LIST,
        "Json": ParameterType.JSON,
        "Boolean": ParameterType.BOOLEAN,
    }
    type_key: ClassVar[str] = "Type"

    def groups(self, raw: object, declared: Mapping[str, object]) -> tuple[ParameterGroup, ...]:  # noqa: ARG002
        """Return no groups: CFN has none."""
        return ()

    def _declared(self, name: str, raw: dict[str, object], path: Path) -> ParameterSchema | None:
        reader = self._reader
        reader.check_keys(raw, path, known=_KEYS)
        kind = self._type(raw, path)
        if kind is None:
            return None
        return ParameterSchema(
            name=name,
            type=kind,
            path=path,
            label=reader.as_text(raw.get("Label"), (*path, "Label")),
            description=reader.as_text(raw.get("Description"), (*path, "Description")),
            default=raw.get("Default"),
            default_key="Default",
            hidden=self._boolean(raw, path, "NoEcho"),
            constraints=tuple(self._constraints_in(raw, path, kind)),
        )

    def _constraints_in(
        self, raw: dict[str, object], path: Path, kind: ParameterType
    ) -> Iterator[Constraint]:
        """Yield the constraints that the keys of a declaration define; null defines none."""
        description = self._reader.as_text(raw.get("ConstraintDescription"), (*path, "ConstraintDescription"))
        for keys, constraint_class, make in _MAKERS:
            given = next((key for key in keys if raw.get(key) is not None), None)
            if given is None:
                continue
            made = partial(make, raw if len(keys) > 1 else raw[given], kind, description, self._limits)
            constraint = self._made(constraint_class, (*path, given), kind, made)
            if constraint:
                yield constraint


def _range(raw: dict[str, object], _kind: ParameterType, description: str, _limits: Limits) -> Constraint:
    low, high = (number_of(raw.get(key), key) for key in ("MinValue", "MaxValue"))
    return Range(min=low, max=high, description=description)


def _length(raw: dict[str, object], _kind: ParameterType, description: str, _limits: Limits) -> Constraint:
    low, high = (whole_number_of(raw.get(key), key) for key in ("MinLength", "MaxLength"))
    return Length(min=low, max=high, description=description)


#: The keys of each constraint, its class, and the function that builds one: from the value of the only key, else from
#: the whole declaration.
_MAKERS: Final[tuple[tuple[tuple[str, ...], type[Constraint], _Maker], ...]] = (
    (("MinValue", "MaxValue"), Range, _range),
    (("MinLength", "MaxLength"), Length, _length),
    (("AllowedValues",), AllowedValues, allowed_values),
    (("AllowedPattern",), AllowedPattern, allowed_pattern),
)


def declarations_of(reader: SectionReader, limits: Limits) -> DeclarationReader:
    """Return the reader of declarations in the template's format."""
    reads = DeclarationReader if reader.version.is_hot else CfnDeclarationReader
    return reads(reader, limits)
