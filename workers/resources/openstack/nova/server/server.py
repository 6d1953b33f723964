"""``OS::Nova::Server``: a server."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from orchestrator.model.collectors import POLLED
from orchestrator.plugins.siblings import Sibling, Siblings
from orchestrator.plugins.steps import Busy, PropertyChanges, ResourceFailure, Wait
from orchestrator.plugins.translation import Rule
from workers.resources.core.signalled import collector_of, renew_key
from workers.resources.openstack.cloud_object import LOOK_SECONDS, UNSEEN, CloudObject
from workers.resources.openstack.nova.nova_object import NovaObject
from workers.resources.openstack.nova.server import attributes, networks, schema, snapshots
from workers.resources.openstack.nova.server.block_devices import (
    block_devices,
    boots_from_volume,
    check_block_devices,
)
from workers.resources.openstack.nova.server.ports import Ports, cards_of_all
from workers.resources.openstack.nova.server.updating import CHANGEABLE, Updating
from workers.resources.openstack.nova.server.user_data import collecting, encoded, resolved
from workers.resources.openstack.nova.server.watch import SERVERS, Shown, instant, since, watch_of

#: The first version with tags in the request; later ones take no files.
_CREATED_AS: Final = "2.52"
_MARK: Final = "isotherm:"
#: The name in the private data under which an adopted server has the row that made it.
_MAKER: Final = "maker"
#: A server polls its metadata as long as it exists.
_KEY_DAYS: Final = 36525
#: Properties that are sent under these names as they are, if they are given.
_SENT_AS: Final = {
    "flavor": "flavorRef",
    "key_name": "key_name",
    "availability_zone": "availability_zone",
    "config_drive": "config_drive",
    "diskConfig": "OS-DCF:diskConfig",
    "admin_pass": "adminPass",
    "image": "imageRef",
}
#: Statuses that mean that it is no longer there.
_GONE: Final = frozenset({"DELETED", "SOFT_DELETED"})
_POLICIES: Final = {
    "flavor": "flavor_update_policy",
    "image": "image_update_policy",
    "user_data": "user_data_update_policy",
}


class Server(NovaObject):
    """A server of the compute service, found after a crash by a tag, which the attributes do not show."""

    description = "A server."
    example = """\
heat_template_version: 2021-04-16
parameters:
  image: {type: string, default: cirros}
  network: {type: string, default: private}
resources:
  server:
    type: OS::Nova::Server
    properties:
      image: {get_param: image}
      flavor: m1.tiny
      networks: [{network: {get_param: network}}]
      user_data_format: RAW
      user_data: |
        #!/bin/sh
        echo ready
outputs:
  addresses: {value: {get_attr: [server, networks]}}
"""
    collection = SERVERS
    entity = "server"
    longest_name = 53
    failed_statuses = frozenset({"error", "deleted", "soft_deleted"})
    microversions = {"": _CREATED_AS}
    reads = frozenset({"config"})
    properties_schema = schema.PROPERTIES
    attributes_schema = schema.ATTRIBUTES

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        #: When this step began, and whether it has changed the server.
        self._began = time.monotonic()
        self._has_acted = False
        #: Whether its key was stored by an earlier step.
        self._has_key = True
        #: Its cards, as an observation has listed them.
        self.listed_cards: list[dict[str, Any]] | None = None

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Let old names stand for new ones, and names for ids."""
        return schema.rules()

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check the disks, the networks and the transport of metadata."""
        schema.check_transport(properties)
        check_block_devices(properties)
        networks.check_networks(properties)

    @classmethod
    def implied_requirements(cls, own: Sibling, siblings: Siblings) -> Iterable[str]:
        """Return the subnets of its networks, which give it its addresses."""
        return networks.subnets_before(own, siblings)

    # -- looking -----------------------------------------------------------------------------------------------

    def poll(self, token: Any) -> Shown | None:
        """Return the server as it is after the change that a token tells of, by a look that polls share."""
        server_id = str(self.state.physical_id)
        shown = watch_of(self.service).server(self.service, server_id, self._since(token))
        self._shown = (shown,)
        return shown

    def waiting(self, token: Any, **more: Any) -> Wait:
        """Return that the action goes on: the next look is later than any change of this step."""
        moment = instant()
        if not self._has_acted:
            moment[1] = self._since(token)
        kept = token if isinstance(token, Mapping) else {}
        return Wait(LOOK_SECONDS, token={**kept, **more, "after": moment})

    def _since(self, token: Any) -> float:
        return since(token.get("after") if isinstance(token, Mapping) else None, self._began)

    def act(self, action: str, body: Any = None, *, microversion: str | None = None) -> Any:
        """Request an action on the server.

        Raises:
            Busy: it is busy with another.
        """
        path = f"{self.collection.at(str(self.state.physical_id))}/action"
        self._has_acted = True
        try:
            answer = self.service.ask("POST", path, body={action: body}, microversion=microversion)
        except Exception as error:
            if self.service.is_conflict(error):
                raise Busy(f"{action}: {error}") from error
            raise
        finally:
            self.changed()
        return answer

    def failure(self, shown: Mapping[str, Any]) -> str:
        """Return why it failed, in the words of the service."""
        fault = shown.get("fault") or (self.read(str(shown["id"])) or {}).get("fault") or {}
        said = fault.get("message")
        code = f" (code {fault['code']})" if fault.get("code") else ""
        return (
            f"its status is {shown['status']}: {said}{code}" if said else f"its status is {shown['status']}"
        )

    def refuse_failed(self, shown: Shown | None) -> Shown:
        """Return a server that is there, and in order.

        Raises:
            ResourceFailure: it is gone, or failed.
        """
        if shown is None or shown["status"] in _GONE:
            raise ResourceFailure("the server is gone")
        if shown["status"] == "ERROR":
            raise ResourceFailure(self.failure(shown))
        return shown

    @property
    def ports(self) -> Ports:
        """Its ports."""
        return Ports(
            nova=self.service,
            neutron=self.openstack("neutron"),
            names=self.client("openstack"),
            token=self._token,
            name=self.name,
            security_groups=self.properties["security_groups"] or (),
        )

    @property
    def tags(self) -> list[str]:
        """The tags that are given, and the one by which it is found."""
        return [*(self.properties["tags"] or ()), self.own_tag]

    @property
    def own_tag(self) -> str:
        """The tag by which it is found."""
        return f"{_MARK}{self._token}"

    @property
    def _token(self) -> str:
        """The token of its tag and its ports: the id of the row that made it."""
        return str(self.state.data.get(_MAKER) or self.state.uuid)

    # -- creating ----------------------------------------------------------------------------------------------

    def handle_create(self) -> Any:
        """Make the ports that the service does not make by itself, and the server."""
        if self._polls:
            # Its user data have the key, which is stored before: whatever happens, the server keeps it.
            renew_key(self, days=_KEY_DAYS)
            self._has_key = False
            self.state.data[POLLED] = True
            return {"keyed": True}
        return self._make()

    @property
    def _polls(self) -> bool:
        """Whether it polls its metadata."""
        return bool(self.settings.api_url) and self.properties["user_data_format"] == "SOFTWARE_CONFIG"

    @property
    def _collects(self) -> Mapping[str, Any] | None:
        """How it polls them."""
        collector = collector_of(self) if self.state.data.get(POLLED) else None
        return None if collector is None else collector.options

    def _make(self) -> None:
        answer = self.service.ask("POST", "/servers", body=self._request(), microversion=_CREATED_AS)
        self.state.physical_id = str(answer["server"]["id"])
        self._has_acted = True
        self.changed()

    def _request(self) -> dict[str, Any]:
        given = self.properties
        server = {sent: given[name] for name, sent in _SENT_AS.items() if given[name] not in (None, "")}
        server |= {"name": self.physical_name, "tags": self.tags}
        server["networks"] = self.ports.requested(given["networks"])
        if devices := block_devices(given):
            server["block_device_mapping_v2"] = devices
        if given["security_groups"]:
            server["security_groups"] = [{"name": each} for each in given["security_groups"]]
        if given["metadata"]:
            server["metadata"] = schema.texts_of(given["metadata"])
        if user_data := self._user_data():
            server["user_data"] = user_data
        if given["personality"]:
            server["personality"] = schema.files_of(given["personality"])
        hints = {name: value for name, value in (given["scheduler_hints"] or {}).items() if value is not None}
        return {"server": server, **({"os:scheduler_hints": hints} if hints else {})}

    def _user_data(self) -> str:
        given, kind = self.properties["user_data"] or "", self.properties["user_data_format"]
        text = resolved(given, self.stack.resources.values(), lambda each: self.software.config(each))  # noqa: PLW0108
        return encoded(kind, text, self.state.metadata, self._collects)

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Return whether it is active."""
        if self.state.physical_id is None:
            if not self._has_key:
                return Wait(0)
            self.state.physical_id = self.find()
            if self.state.physical_id is None:
                self._make()
        return self._is("ACTIVE", token)

    def _is(self, status: str, token: Any) -> bool | Wait:
        if self._has_acted:
            return self.waiting(token)
        shown = self.refuse_failed(self.poll(token))
        is_there = shown["status"] == status and not shown.get("OS-EXT-STS:task_state")
        return True if is_there else self.waiting(token)

    def found(self) -> dict[str, Any] | None:
        """Return the server with the tag of this row."""
        listed = self.collection.listed(self.service, tags=f"{_MARK}{self.state.uuid}")
        return listed[0] if listed else None

    # -- adopting ----------------------------------------------------------------------------------------------

    def handle_adopt(self) -> None:
        """Note which row made the server: its ports have that token, and are deleted with it."""
        tags = (self.show() or {}).get("tags") or ()
        self.state.data[_MAKER] = next(
            (each.removeprefix(_MARK) for each in tags if each.startswith(_MARK)), None
        )

    # -- updating ----------------------------------------------------------------------------------------------

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Return whether a policy has it replaced, or the image of a server changes that boots from a volume."""
        # What is null before is not known: an interrupted update is resumed, which was in place.
        known = {name for name in changes.names if changes.before.get(name) is not None}
        if any(name in known and changes.after[policy] == "REPLACE" for name, policy in _POLICIES.items()):
            return True
        return "image" in known and (not changes.after["image"] or boots_from_volume(changes.after))

    def handle_update(self, changes: PropertyChanges) -> Any:
        """Return what is to be changed; each change is made when those before it are complete."""
        before, after = changes.before.get("networks"), changes.after["networks"]
        names = changes.names & CHANGEABLE
        if not before and not after:
            names -= {"networks"}
        return {
            "names": sorted(names),
            "ports": networks.dropped(before, after, "port"),
            "floating_ips": networks.dropped(before, after, "floating_ip"),
        }

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Make the next change, and return whether there is none left."""
        return Updating(self, token).go_on(self.refuse_failed(self.poll(token)))

    # -- deleting ----------------------------------------------------------------------------------------------

    def handle_delete(self) -> bool:
        """Begin to delete it, and free its floating IPs."""
        self._has_acted = True
        for_ports = [each for each in self.properties["networks"] or () if each.get("floating_ip")]
        if for_ports and self.state.physical_id is not None:
            self.ports.disassociate([str(each["floating_ip"]) for each in for_ports])
        return super().handle_delete()

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Return whether it is gone, and with it the ports that were made for it."""
        kept = token if isinstance(token, Mapping) else {"was_there": bool(token)}
        if kept["was_there"]:
            if self._has_acted:
                return self.waiting(kept)
            shown = self.poll(kept)
            if shown is not None and shown["status"] not in _GONE:
                if shown["status"] == "ERROR" and not shown.get("OS-EXT-STS:task_state"):
                    raise ResourceFailure(self.failure(shown))
                return self.waiting(kept)
        self.ports.delete_own()
        return True

    def handle_snapshot_delete(self) -> str | None:
        """Begin to make an image of it, which stays; return the image's id.

        Raises:
            ResourceFailure: it is in a state in which no image of it can be made.
        """
        shown = self.show()
        if shown is None or shown["status"] in _GONE:
            return None
        self.refuse_failed(shown)
        return snapshots.last_image_of(self, self.openstack("glance"))

    def check_snapshot_delete_complete(self, token: Any) -> bool | Wait:
        """Return whether the image is complete."""
        return True if snapshots.is_complete(self.openstack("glance"), token) else Wait(LOOK_SECONDS)

    def prepare_for_replace(self) -> bool | Wait:
        """Detach its ports, which its replacement may have."""
        shown = self.show()
        if shown is None:
            return True
        return True if self.ports.detach_all(shown) else Wait(LOOK_SECONDS)

    # -- other actions -----------------------------------------------------------------------------------------

    def handle_check(self) -> None:
        """Look whether it is active.

        Raises:
            ResourceFailure: it is not.
        """
        shown = self.refuse_failed(self.show())
        if shown["status"] != "ACTIVE":
            raise ResourceFailure(f"its status is {shown['status']}, not ACTIVE")

    def handle_suspend(self) -> None:
        """Begin to suspend it."""
        shown = self.refuse_failed(self.show())
        if shown["status"] != "SUSPENDED" and shown.get("OS-EXT-STS:task_state") != "suspending":
            self.act("suspend")

    def check_suspend_complete(self, token: Any) -> bool | Wait:
        """Return whether it is suspended."""
        return self._is("SUSPENDED", token)

    def handle_resume(self) -> None:
        """Begin to resume it."""
        shown = self.refuse_failed(self.show())
        if shown["status"] == "SUSPENDED" and shown.get("OS-EXT-STS:task_state") != "resuming":
            self.act("resume")

    def check_resume_complete(self, token: Any) -> bool | Wait:
        """Return whether it is active."""
        return self._is("ACTIVE", token)

    def handle_snapshot(self) -> Any:
        """Begin to make an image of it; return the image's id."""
        self.refuse_failed(self.show())
        name = f"{self.unique_name}-{round(self.state.started_at * 1000)}"
        return {"image": snapshots.image_of(self, self.openstack("glance"), name)}

    def check_snapshot_complete(self, token: Any) -> bool | Wait:
        """Return whether the image is complete."""
        return True if snapshots.is_complete(self.openstack("glance"), token["image"]) else Wait(LOOK_SECONDS)

    def handle_restore(self, entry: Any) -> None:
        """Begin to rebuild it from the image of a snapshot."""
        body = {"imageRef": entry["image"]}
        # Its image then differs from the property, which is as it was given.
        self.state.data["restored"] = {"from": entry["image"], "instead_of": self.properties["image"]}
        self.act("rebuild", body)

    def check_restore_complete(self, token: Any) -> bool | Wait:
        """Return whether it is active again."""
        return self._is("ACTIVE", token)

    def handle_delete_snapshot(self, entry: Any) -> None:
        """Delete the image of a snapshot."""
        snapshots.delete(self.openstack("glance"), entry["image"])

    # -- reading -----------------------------------------------------------------------------------------------

    def image_of(self, shown: Mapping[str, Any]) -> str:
        """Return the id of its image; after a restore, that of the property in whose place it is."""
        image = str((shown.get("image") or {}).get("id", ""))
        restored = self.state.data.get("restored") or {}
        return str(restored["instead_of"]) if image and restored.get("from") == image else image

    @classmethod
    def list_query(cls, resources: Sequence[CloudObject]) -> Mapping[str, Any] | None:
        """Return the query for exactly the servers with the tags of these resources."""
        tags = sorted(each.own_tag for each in resources if isinstance(each, Server))
        return {"tags-any": ",".join(tags)}

    @classmethod
    def list_further(cls, resources: Sequence[CloudObject]) -> None:
        """List the ports of all servers with networks."""
        servers = [each for each in resources if isinstance(each, Server) and each.properties["networks"]]
        if servers:
            cards = cards_of_all(servers[0].openstack("neutron"), [each.object_id for each in servers])
            for each in servers:
                each.listed_cards = cards[each.object_id]

    def _seen_networks(self, server_id: str) -> Any:
        given = self.properties["networks"]
        if not given:
            return UNSEEN
        # The compute service also shows ports that the user may not see.
        if self.listed_cards is not None and networks.observed(given, self.listed_cards) == list(given):
            return given
        return networks.observed(given, self.ports.cards(server_id))

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        given = self.properties[name]
        if name in ("name", "key_name"):
            return shown[name]
        if name == "image":
            return self.image_of(shown) or UNSEEN
        if name == "networks":
            return self._seen_networks(str(shown["id"]))
        seen: Mapping[str, Callable[[], Any]] = {
            "flavor": lambda: shown["flavor"]["id"],
            "metadata": lambda: given if schema.texts_of(given) == shown["metadata"] else shown["metadata"],
            "tags": lambda: given if sorted(given) == sorted(_own_tags(shown)) else _own_tags(shown),
            "config_drive": lambda: shown["config_drive"] == "True",
        }
        return seen[name]() if name in seen else UNSEEN

    def whole(self) -> dict[str, Any]:
        """Return the server as the service shows it, without the tag by which it is found."""
        shown = super().whole()
        return {**shown, "tags": _own_tags(shown)}

    def attribute(self, name: str) -> Any:
        """Return an attribute of the server, read from the services."""
        shown = self.whole()
        server_id = str(shown["id"])

        def network(network_id: str) -> Shown:
            return attributes.network_with_subnets(self.openstack("neutron"), network_id)

        read: Mapping[str, Callable[[], Any]] = {
            "addresses": lambda: attributes.addresses_of(shown, self.ports.cards(server_id), network),
            "networks": lambda: attributes.networks_of(shown, self.ports.cards(server_id)),
            "first_address": lambda: attributes.first_address_of(shown),
            "instance_name": lambda: shown.get("OS-EXT-SRV-ATTR:instance_name"),
            "console_urls": lambda: attributes.console_urls(self.service, server_id),
            "os_collect_config": lambda: collecting(self.state.metadata, self._collects),
        }
        return read[name]() if name in read else shown.get(name)


def _own_tags(shown: Mapping[str, Any]) -> list[str]:
    return [tag for tag in shown.get("tags") or () if not tag.startswith(_MARK)]
