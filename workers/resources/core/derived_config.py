"""The config that a deployment derives of its own for a server: with the values of inputs in it.

Pure: from the source config, the values and the action to the derived config, and from a signal to the verdict.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.views.software import SoftwareConfigView
from workers.resources.core.software_config import UNGROUPED

STATUS_CODE: Final = "deploy_status_code"
#: The outputs that every deployment has, with their descriptions.
OUTPUTS: Final = {
    "deploy_stdout": "What the tool wrote to its standard output.",
    "deploy_stderr": "What the tool wrote to its standard error.",
    STATUS_CODE: "The status with which the tool ended; another than 0 is a failure.",
}
#: The configs of this group say themselves for which actions they are.
_COMPONENT: Final = "component"
#: The most of an output that is shown in a reason.
_LONGEST_SHOWN: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a deployment uses of the config that it deploys; by default of none."""

    name: str = ""
    group: str = UNGROUPED
    config: Any = ""
    inputs: Sequence[Mapping[str, Any]] = ()
    outputs: Sequence[Mapping[str, Any]] = ()
    options: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, config: SoftwareConfigView) -> "Source":
        """Return that of a config."""
        return cls(
            name=config.name,
            group=config.group,
            config=config.config,
            inputs=config.inputs,
            outputs=config.outputs,
            options=config.options,
        )

    def actions(self, wanted: Collection[str]) -> Collection[str]:
        """Return the actions at which it is deployed, where a deployment has these."""
        if self.group != _COMPONENT or not isinstance(self.config, Mapping):
            return wanted
        return {action for part in self.config.get("configs") or () for action in part.get("actions") or ()}

    def with_values(self, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return its inputs with their values, and those of values that it declares no input for."""
        declared = {each["name"] for each in self.inputs}
        return [
            *({**each, "value": values.get(each["name"], each.get("default"))} for each in self.inputs),
            *(an_input(name, value) for name, value in values.items() if name not in declared),
        ]

    def derived(
        self, name: str, inputs: Sequence[Mapping[str, Any]], substitute: Callable[[Any], Any]
    ) -> dict[str, Any]:
        """Return the fields of the derived config."""
        return {
            "name": self.name or name,
            "group": self.group,
            "config": substitute(self.config),
            "inputs": [dict(each) for each in inputs],
            "outputs": [dict(each) for each in self.outputs],
            "options": dict(self.options or {}),
        }


def an_input(name: str, value: Any, description: str = "") -> dict[str, Any]:
    """Return an input with a value."""
    described = {"description": description} if description else {}
    return {"name": name, "type": "String", **described, "value": value}


def changed_inputs(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of inputs with ``replace_on_change`` whose values are others than before."""
    known = {each["name"]: each.get("value") for each in before}
    for each in after:
        name = each["name"]
        if each.get("replace_on_change") and name in known and known[name] != each.get("value"):
            yield name


class MissingInput(ValueError):
    """The config refers to an input that has no value."""


def substituted(config: Any, values: Mapping[str, Any], key: str, *, strict: bool) -> Any:
    """Return a config in which ``{KEY: NAME}`` stands for nothing but the value of the input.

    Raises:
        MissingInput: there is no such input, and it is ``strict``; otherwise its value is null.
    """
    if isinstance(config, Mapping):
        name = config.get(key) if len(config) == 1 else None
        if isinstance(name, str):
            if strict and name not in values:
                raise MissingInput(name)
            return values.get(name)
        return {each: substituted(value, values, key, strict=strict) for each, value in config.items()}
    if isinstance(config, (list, tuple)):
        return [substituted(each, values, key, strict=strict) for each in config]
    return config


def outputs_of(details: Mapping[str, Any], declared: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the outputs in a signal: those that are declared, and those that every deployment has."""
    names = {each["name"] for each in declared if each["name"] in details}
    return {name: details.get(name) for name in (*sorted(names), *OUTPUTS)}


def failure_of(outputs: Mapping[str, Any], declared: Sequence[Mapping[str, Any]]) -> str:
    """Return why a deployment with these outputs failed; empty if it did not."""
    reasons = [
        f"{each['name']}: {str(outputs[each['name']])[:_LONGEST_SHOWN]}"
        for each in declared
        if each.get("error_output") and outputs.get(each["name"]) not in (None, "")
    ]
    code = outputs.get(STATUS_CODE)
    if code is not None and str(code).strip() not in ("", "0"):
        said = str(outputs.get("deploy_stderr") or "").strip()
        reasons.insert(
            0, f"the tool ended with status {code}" + (f": {said[-_LONGEST_SHOWN:]}" if said else "")
        )
    return "; ".join(reasons)
