"""The outputs of a stack, resolved with the stored data of its resources."""

from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from orchestrator.config.limits import Limits
from orchestrator.definition import StackDefinition, is_unknown
from orchestrator.errors import IsothermError
from orchestrator.model.plain import NotPlain, refuse_not_plain
from orchestrator.planning.rows import definition_of_rows, node_data_of
from orchestrator.planning.stored_templates import load_source
from orchestrator.sandbox.budget import TooMuch, evaluation, keep
from orchestrator.views.stacks import OutputView

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings
    from orchestrator.store.stacks.stacks import StackRow
    from orchestrator.store.store import Store
    from orchestrator.template.definitions import OutputDefinition
    from orchestrator.template.template import Template


def outputs_of(
    store: "Store", stack: "StackRow", template: "Template", context: Mapping[str, Any], settings: "Settings"
) -> tuple[OutputView, ...]:
    """Return a stack's outputs; one that cannot be resolved yet has an error in place of a value."""
    if not template.outputs or stack.deleted_at is not None:
        return ()
    rows = store.stacks.resources(stack.id)
    ready = [node_data_of(row) for row in rows if row.action != "INIT" and row.status == "COMPLETE"]
    source = cache(partial(load_source, store, stack.template_id, context, settings))
    definition = definition_of_rows(context, template, ready, template.files, source)
    with evaluation(Limits.of(settings)):
        return tuple(_output_view(key, output, definition) for key, output in template.outputs.items())


def _output_view(key: str, output: "OutputDefinition", definition: StackDefinition) -> OutputView:
    try:
        value = output.resolve(definition)
        keep(value)
    except TooMuch as error:
        return OutputView(key=key, description=output.description, error=f"the value {error}")
    except IsothermError as error:
        return OutputView(key=key, description=output.description, error=str(error))
    if is_unknown(value):
        missing = sorted(name for name in output.requirements if not definition.resources[name].known)
        return OutputView(key=key, description=output.description, error=f"waits for {', '.join(missing)}")
    try:
        # Attributes of an older version may be what no face can show.
        refuse_not_plain(value)
    except NotPlain as error:
        return OutputView(key=key, description=output.description, error=f"the value has {error}")
    return OutputView(key=key, description=output.description, value=value)
