"""Reader of the section of outputs."""

from functools import partial

from orchestrator.sandbox.budget import check_time
from orchestrator.template.conditions import Conditions
from orchestrator.template.definitions import OutputDefinition
from orchestrator.template.document import Path
from orchestrator.template.expressions import Expression, ExpressionParser
from orchestrator.template.functions.base import kind_of
from orchestrator.template.sections import SectionReader


class OutputReader:
    """Reads the definitions of outputs; an invalid one gives problems as well."""

    def __init__(self, reader: SectionReader, expressions: ExpressionParser, conditions: Conditions) -> None:
        self._reader, self._expressions, self._conditions = reader, expressions, conditions

    def outputs(self, raw: object) -> dict[str, OutputDefinition]:
        """Return the definitions in the template's order."""
        word = self._reader.dialect.outputs
        outputs = {}
        for name, output in self._reader.as_map(raw, (word,), "outputs by name").items():
            path = (word, name)
            check_time(partial(self._reader.positions.problem, path))
            if isinstance(output, dict):
                outputs[name] = self._output(name, output, path)
            else:
                self._reader.fault(path, f"expected an output, a map with a value, found {kind_of(output)}")
        return outputs

    def _output(self, name: str, raw: dict[str, object], path: Path) -> OutputDefinition:
        reader = self._reader
        words, version = reader.dialect, reader.version
        keys = [words.value, words.description]
        if words.has_conditions(version):
            keys.append(words.condition)
        if not words.lenient:
            reader.check_keys(raw, path, known=keys, later=words.later(version))
        if words.value not in raw:
            reader.fault(path, "this output has no value", f"expected the key {words.value!r}")
        decides = words.condition in keys and words.condition in raw
        if decides and self._conditions.holds(raw[words.condition], (*path, words.condition)) is False:
            expression = Expression(None)
        else:
            expression = self._expressions.parse(raw.get(words.value), (*path, words.value))
        description = reader.as_text(raw.get(words.description), (*path, words.description))
        return OutputDefinition(name=name, path=path, description=description, expression=expression)
