"""``Isotherm::Http::Object``: one object of a REST API."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from orchestrator.config.logger import get_logger
from orchestrator.plugins.groups import AT_MOST_ONE
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.steps import (
    CANNOT_TELL,
    CannotTell,
    NothingDone,
    PropertyChanges,
    ResourceFailure,
    RetryableFailure,
    Wait,
)
from workers.clients.http_failures import HttpError, HttpUnavailable
from workers.clients.rest import Answer
from workers.resources.http.answers import Phase, as_id, as_seen, found_at, id_in_header, phase_of
from workers.resources.http.asked_object import BROKEN, AskedObject
from workers.resources.http.requests import HttpRequest
from workers.resources.http.schema import PROPERTIES, refuse_misfits
from workers.resources.schemas import live

log = get_logger()

#: Set where the API refused to create the object: an object of its name is foreign.
_REFUSED: Final = "refused"


class HttpObject(AskedObject):
    """Created, read, changed and deleted by the requests in the template.

    Its *token* is the row's id: sent with the create, it identifies what an interrupted create has made.
    """

    description = (
        "An object of a REST API: made, read, changed and deleted by requests that the template defines."
    )
    properties_schema: ClassVar[Mapping[str, Property]] = PROPERTIES
    properties_groups_schema = ({AT_MOST_ONE: [["id", "json"], ["id", "header"], ["id", "value"]]},)
    attributes_schema = {
        "id": Attribute("The id of the object in the API.", PropertyType.STRING),
        "status": live("Its state, according to the property status."),
        "values": live("The values of the property values.", PropertyType.MAP),
        "answer": live("The complete answer to reading it."),
    }
    example = """\
heat_template_version: 2021-04-16
description: A network of an API that reports when it is ready, and a port in it.
resources:
  network:
    type: Isotherm::Http::Object
    properties:
      body: {name: inside, cidr: 10.0.0.0/24}
      create: {path: /networks, token_header: Idempotency-Key}
      update: {method: PATCH}
      status: {json: status, ready: [active], failed: [error], reason: fault.message}
      values: {gateway: gateway.address}
      compare: {name: name, cidr: cidr}
  port:
    type: Isotherm::Http::Object
    properties:
      body: {security: strict}
      create:
        path: {list_join: ["/", ["/networks", {get_resource: network}, ports]]}
        token_field: labels.token
      find: {path: "/ports?label.token={token}", json: "ports[0].id"}
      id: {json: port.id}
      read: {path: "/ports/{id}"}
outputs:
  gateway: {value: {get_attr: [network, values, gateway]}}
"""

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check paths, expressions and headers, and their consistency."""
        refuse_misfits(properties)

    def find(self) -> str | None:
        """Return the object that an earlier attempt has made, by the token.

        Raises:
            ResourceFailure: it is unknown whether it has made any.
        """
        if self.state.physical_id is not None:
            return self.state.physical_id
        if self.state.action != "CREATE":
            return self._found_to_delete()
        if (look := self._requests.find()) is not None:
            return self._looked_up(*look)
        if self._requests.recognizes_token:
            return None
        raise ResourceFailure(self._in_doubt("an earlier attempt was interrupted"))

    def _found_to_delete(self) -> str | None:
        """Return the id of an object that may have been made before its id was recorded."""
        if (look := self._requests.find()) is not None:
            return self._looked_up(*look)
        if self.state.data.get(_REFUSED):
            return None
        fixed = self._requests.fixed_id
        return self._made_with_token() if fixed is None and self._requests.recognizes_token else fixed

    def _made_with_token(self) -> str | None:
        """Return the id of the object with the token: a repeated create returns it, or makes it now."""
        try:
            return self._id_of(self._ask(self._requests.create()))
        except HttpUnavailable:
            raise
        except HttpError:
            return None

    def _looked_up(self, request: HttpRequest, expression: str) -> str | None:
        try:
            answer = self._ask(request)
        except HttpError as error:
            if self._http.is_not_found(error):
                return None
            raise
        found = found_at(expression, answer.document())
        if found is not None and as_id(found) is None:
            raise ResourceFailure(f"{answer.asked}: what is at {expression!r} (find.json) is no id")
        return as_id(found)

    @staticmethod
    def _in_doubt(what: str) -> str:
        return (
            f"{what}, and nobody can tell whether the object was made: give create.token_header, or find, so that this "
            "can be told"
        )

    def handle_create(self) -> bool:
        """Send the request that creates the object, and record its id.

        Raises:
            NothingDone: the API did nothing, and a retry may help.
            RetryableFailure: a retry with the same token may help.
            ResourceFailure: it is unknown whether the object was made.
            HttpError: the API refused.
        """
        self.state.data.pop(BROKEN, None)
        self.state.data.pop(_REFUSED, None)
        request = self._requests.create()
        try:
            answer = self._ask(request)
            self.state.physical_id = self._id_of(answer)
        except HttpUnavailable as error:
            if error.undone:
                raise NothingDone(str(error)) from error
            if not request.repeatable and self._requests.find() is None:
                raise ResourceFailure(self._in_doubt(str(error))) from error
            raise
        except HttpError as error:
            if self._http.is_conflict(error) and self.properties["create"]["token_header"]:
                # The first create with this token may not be over yet.
                raise RetryableFailure(str(error)) from error
            self.state.data[_REFUSED] = True
            raise
        return True

    def _id_of(self, answer: Answer) -> str:
        if (fixed := self._requests.fixed_id) is not None:
            return fixed
        places = self._properties_of("id")
        if header := places.get("header"):
            found = id_in_header(answer.headers.get(header.lower(), ""))
            where = f"in the header {header!r}"
        else:
            expression = places.get("json") or "id"
            found = as_id(found_at(expression, answer.document()))
            where = f"at {expression!r}"
        if found is None:
            raise ResourceFailure(
                f"{answer.asked}: the answer has no id {where} (property id); what it made is there"
            )
        return found

    def resume_create(self) -> bool:
        """Continue with the object that was found."""
        return True

    def check_create_complete(self, token: object) -> bool | Wait:  # noqa: ARG002 (the contract's signature)
        """Check whether it can be used."""
        return self._is_ready()

    check_adopt_complete = check_create_complete

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Return whether an update is impossible: another path, another id, or no request that changes it."""
        before, after = changes.before, changes.after
        value = (after["id"] or {}).get("value")
        if value and value != self.state.physical_id:
            return True
        # None marks a value that an interrupted update may not have applied.
        made, make = before.get("create"), after["create"]
        if made is not None and any(made[name] != make[name] for name in ("path", "method")):
            return True
        is_other = "body" in changes.names and before.get("body") is not None
        return is_other and not after["update"]

    def handle_update(self, changes: PropertyChanges) -> bool:
        """Send the request that changes the object, if its definition differs.

        Raises:
            HttpError: the API failed or refused.
        """
        own_body = (changes.after["update"] or {}).get("body")
        if "body" not in changes.names and not ("update" in changes.names and own_body is not None):
            return False
        request = self._requests.update(self.state.physical_id)
        if request is None:
            return False
        self.state.data.pop(BROKEN, None)
        try:
            self._ask(request)
        except HttpError as error:
            if self._http.is_not_found(error):
                self.state.data[BROKEN] = True
            raise
        self._document = None
        return True

    def check_update_complete(self, token: object) -> bool | Wait:
        """Check whether it can be used again."""
        return self._is_ready() if token else True

    def needs_replace_failed(self) -> bool:
        """Return whether it cannot be repaired: never made, gone, unusable, or unchangeable."""
        return (
            self.state.physical_id is None
            or bool(self.state.data.get(BROKEN))
            or not self.properties["update"]
        )

    def handle_delete(self) -> bool:
        """Send the request that deletes the object; return whether it may still exist.

        Raises:
            RetryableFailure: the API reports a conflict, which may pass.
            HttpError: the API failed or refused.
        """
        if self.state.physical_id is None:
            log.info("nothing to delete: no object is known to have been made", resource=self.name)
            return False
        try:
            self._ask(self._requests.delete(self.state.physical_id))
        except HttpError as error:
            if self._http.is_not_found(error):
                return False
            if self._http.is_conflict(error):
                # A dependent object may be about to go.
                raise RetryableFailure(str(error)) from error
            raise
        self._document = None
        return bool(self._properties_of("delete").get("awaited"))

    def check_delete_complete(self, token: object) -> bool | Wait:
        """Check whether the object is gone."""
        if not token:
            return True
        document = self._look()
        if isinstance(document, Wait):
            return document
        status = self._properties_of("status")
        if document is None:
            return True
        if status and phase_of(found_at(status["json"], document[0]), status) is Phase.GONE:
            return True
        self._refuse_too_late("it is still there")
        return self._later()

    def check_check_complete(self, token: object) -> bool:  # noqa: ARG002 (the contract's signature)
        """Check whether it reached a state in which it is unusable."""
        document, status = self._read(), self._properties_of("status")
        if document is not None and status:
            self._refuse_failed(document[0], status)
        return True

    def observe(self) -> Mapping[str, Any] | CannotTell | None:
        """Return the body with the API's values, as far as ``compare`` gives their places."""
        if not self.properties.get("create"):
            # A foreign object, and the template does not define how to read it.
            return CANNOT_TELL
        document = self._read()
        if document is None:
            return None
        compare = self.properties["compare"]
        return {"body": as_seen(self.properties["body"], compare, document[0])} if compare else {}

    def attribute(self, name: str) -> Any:
        """Return the attribute from reading the object.

        Raises:
            ResourceFailure: the object is gone, or the template does not define how to read it.
        """
        if name == "id":
            return self.state.physical_id
        if not self.properties.get("create"):
            raise ResourceFailure("it is not ours (external_id), and nobody said how to read it")
        document = self._read()
        if document is None:
            raise ResourceFailure("it is not there any more")
        if name == "values":
            return {key: found_at(where, document[0]) for key, where in self.properties["values"].items()}
        if name == "status":
            status = self._properties_of("status")
            return found_at(status["json"], document[0]) if status else None
        return document[0]
