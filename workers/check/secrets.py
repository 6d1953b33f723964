"""The secrets of an attempt, which no text that it leaves behind may show."""

from collections.abc import Iterator

from orchestrator.definition import NodeData
from orchestrator.planning.secrets import Given, ResourceSecrets
from orchestrator.template.template_resource import kind_of_type
from workers.check.rebuilding import Attempt


class AttemptSecrets:
    """The secrets of an attempt as far as it has got; they are found only once there is a text to be masked."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt

    def masked(self, text: str) -> str:
        """Return a text without the secrets."""
        return self._found().masked(text) if text else text

    def _found(self) -> ResourceSecrets:
        attempt, claim, check = self._attempt, self._attempt.claim, self._attempt.check
        return ResourceSecrets(
            settings=check.settings,
            context=check.context,
            kind=kind_of_type(check.types, claim.type),
            given=self._given(),
            properties=(attempt.given, attempt.target, claim.properties, claim.in_flight),
            data={**claim.data, **_data_of(attempt)},
            inputs=(each for each in attempt.inputs),
            own=(NodeData.from_wire(list(wire)) for wire in (claim.recorded,) if wire is not None),
            clients=attempt.clients,
        )

    def _given(self) -> Iterator[Given]:
        attempt, claim = self._attempt, self._attempt.claim
        if attempt.definition is not None:
            for values in (attempt.target, attempt.given):
                yield attempt.definition, values, attempt.stack
        # Nothing was applied before a create of the present definition.
        is_first = claim.action == "CREATE" and attempt.given == attempt.target
        if not is_first and (applied := attempt.applied_definition) is not None:
            for values in (claim.properties, claim.in_flight, attempt.given):
                yield applied, values, attempt.stack


def _data_of(attempt: Attempt) -> dict[str, object]:
    """Return the private data of the resource, whatever its type has made of them."""
    try:
        data = None if attempt.resource is None else attempt.resource.state.data
        return dict(data) if isinstance(data, dict) else {}
    except Exception:  # noqa: BLE001  # an author's own state
        return {}
