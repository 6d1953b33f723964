"""The update of a server in place: one change after the other, each once those before it are complete."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from orchestrator.plugins.steps import ResourceFailure, Wait
from workers.clients.openstack_errors import status_of
from workers.resources.openstack.nova.server.schema import texts_of

if TYPE_CHECKING:
    from workers.resources.openstack.nova.server.server import Server

#: The properties that are changed by requests.
CHANGEABLE: Final = frozenset({"name", "image", "flavor", "metadata", "tags", "networks", "admin_pass"})
#: Statuses that pass by themselves.
_PASSING: Final = frozenset(
    {"BUILD", "RESIZE", "REVERT_RESIZE", "REBUILD", "MIGRATING", "PASSWORD", "REBOOT"}
)
#: Later versions show no longer what they changed.
_REBUILT_AS: Final = "2.26"

Shown = Mapping[str, Any]


class Updating:
    """An update, as the token of its step tells it: the names of what is to be changed, and what was begun.

    What is to be done next follows from how the server is, so that each request may be repeated after a crash.
    """

    def __init__(self, server: "Server", token: Mapping[str, Any]) -> None:
        self._server, self._token, self._given = server, token, server.properties
        self._names = frozenset(token["names"])

    def go_on(self, shown: Shown) -> bool | Wait:
        """Make the next change of a server that is as shown; return whether there is none left.

        Raises:
            ResourceFailure: a change had no effect.
        """
        if shown.get("OS-EXT-STS:task_state") or shown["status"] in _PASSING:
            return self._server.waiting(self._token)
        if shown["status"] == "VERIFY_RESIZE":
            return self._confirm()
        begun = self._resize(shown) or self._rebuild(shown)
        if begun:
            return begun
        self._change_at_once(shown)
        return self._change_networks()

    def _resize(self, shown: Shown) -> Wait | None:
        if "flavor" not in self._names or shown["flavor"]["id"] == self._given["flavor"]:
            return None
        if self._token.get("resized"):
            raise ResourceFailure("it was not resized: its flavor is the same as before")
        body = {"flavorRef": self._given["flavor"]}
        if self._given["diskConfig"]:
            body["OS-DCF:diskConfig"] = self._given["diskConfig"]
        self._server.act("resize", body)
        return self._server.waiting(self._token, resized=True)

    def _confirm(self) -> Wait:
        if not self._token.get("confirmed"):
            try:
                self._server.act("confirmResize")
            except Exception as error:
                # It is confirmed already, by a step that died: its status remains until that is done.
                if status_of(error) != HTTPStatus.BAD_REQUEST:
                    raise
        return self._server.waiting(self._token, confirmed=True)

    def _rebuild(self, shown: Shown) -> Wait | None:
        image = self._server.image_of(shown)
        # A server that boots from a volume has no image.
        if "image" not in self._names or not image or image == self._given["image"]:
            return None
        body: dict[str, Any] = {"imageRef": self._given["image"]}
        if self._given["image_update_policy"] == "REBUILD_PRESERVE_EPHEMERAL":
            body["preserve_ephemeral"] = True
        if self._given["admin_pass"]:
            body["adminPass"] = self._given["admin_pass"]
        self._server.state.data.pop("restored", None)
        self._server.act("rebuild", body, microversion=_REBUILT_AS)
        return self._server.waiting(self._token)

    def _change_at_once(self, shown: Shown) -> None:
        server, given = self._server, self._given
        at = server.collection.at(str(server.state.physical_id))
        if "name" in self._names and shown["name"] != server.physical_name:
            server.service.ask("PUT", at, body={"server": {"name": server.physical_name}})
        metadata = texts_of(given["metadata"] or {})
        if "metadata" in self._names and shown["metadata"] != metadata:
            server.service.ask("PUT", f"{at}/metadata", body={"metadata": metadata})
        if "tags" in self._names and sorted(shown["tags"]) != sorted(server.tags):
            body = {"tags": server.tags}
            server.service.ask("PUT", f"{at}/tags", body=body, microversion=server.collection.microversion)
        if "admin_pass" in self._names and given["admin_pass"] and not self._token.get("networks"):
            server.act("changePassword", {"adminPass": given["admin_pass"]})
        server.changed()

    def _change_networks(self) -> bool | Wait:
        if "networks" not in self._names:
            return True
        server, ports = self._server, self._server.ports
        server_id = str(server.state.physical_id)
        ports.disassociate(self._token["floating_ips"])
        differ = ports.lacking(server_id, self._given["networks"], self._token["ports"])
        begun = self._token.get("detached", [])
        if differ.surplus:
            for port in differ.surplus:
                if port not in begun:
                    ports.detach(server_id, port)
            return server.waiting(self._token, detached=differ.surplus, networks=True)
        for number, network in sorted(differ.missing.items()):
            ports.attach(server_id, number, network)
        if differ.missing:
            return server.waiting(self._token, networks=True)
        ports.delete_own(but=differ.used)
        return True
