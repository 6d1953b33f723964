"""``OS::Nova::KeyPair``: a key for logging in to servers."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.plugins.constraints import AllowedValues, Length
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.steps import Wait
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.cloud_object import UNSEEN
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.noted import Noted
from workers.resources.openstack.nova.generated_keys import generated
from workers.resources.openstack.nova.nova_object import NovaObject
from workers.resources.schemas import boolean, live, text


class KeyPair(NovaObject, Noted):
    """A key pair of the compute service, which knows the public key only.

    A key that is not given is generated here, since the service does so no longer. It is on record before the service
    is asked, so that a repeated request has the same key.
    """

    description = "A key pair for logging in to servers."
    example = """\
heat_template_version: 2021-04-16
resources:
  key:
    type: OS::Nova::KeyPair
    properties: {name: operators, save_private_key: true}
outputs:
  private_key: {value: {get_attr: [key, private_key]}}
"""
    collection = Collection(path="/os-keypairs", key="keypair", plural="keypairs", microversion="2.10")
    entity = "keypair"
    sent_as = {"save_private_key": "", "user": "user_id"}
    microversions = {"": "2.10"}
    properties_schema = {
        "name": text("Its name.", required=True, constraints=(Length(min=1, max=255),)),
        "save_private_key": boolean(
            "Whether a generated private key is kept, and shown by the attribute private_key.", default=False
        ),
        "public_key": text("The public key; one is generated where it is not given."),
        "type": text(
            "The kind of key: ssh, or x509 for a certificate; by default ssh.",
            constraints=(AllowedValues(("ssh", "x509")),),
        ),
        "user": text(
            "The id or name of the user to whom it belongs, which only an administrator may give; by default "
            "the one who logs in.",
            constraints=(Custom("keystone.user"),),
        ),
    }
    attributes_schema = {
        "public_key": live("The public key."),
        "private_key": live("The private key, if it was generated and kept; else empty.", sensitive=True),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Let the user be given by name."""
        return [looked_up("user", "user")]

    @property
    def query(self) -> Mapping[str, Any]:
        """The user to whom it belongs."""
        user = self.properties["user"]
        return {"user_id": user} if user else {}

    def handle_create(self) -> Any:
        """Note what there is before, and generate the key."""
        if not self.properties["public_key"] and "public_key" not in self.state.data:
            key = generated(self.properties["type"] or "ssh", self.properties["name"])
            self.state.data["public_key"] = key.public
            self.state.data["private_key"] = key.private
        return super().handle_create()

    def is_ready(self) -> bool | Wait:
        """Return whether it is there; a private key that is not to be kept is forgotten then."""
        ready = super().is_ready()
        if ready is True:
            self.state.data["serial"] = (self.show() or {}).get("id")
            if not self.properties["save_private_key"]:
                self.state.data.pop("private_key", None)
        return ready

    def show(self) -> dict[str, Any] | None:
        """Return the key pair; None if it is gone, even where another has its name now."""
        shown, serial = super().show(), self.state.data.get("serial")
        return shown if shown and serial in (None, shown.get("id")) else None

    def values(self, names: Any) -> dict[str, Any]:
        """Return the body of the request, with the key that was given or generated."""
        return {**super().values(names), "public_key": self._public_key}

    def alike(self) -> Sequence[dict[str, Any]]:
        """Return the key pair of this name."""
        shown = self.read(self.properties["name"])
        return [shown] if shown else []

    def found(self) -> dict[str, Any] | None:
        """Return the key pair of this name, if it was not there before and has this key."""
        found = super().found()
        return found if found and str(found["public_key"]).strip() == self._public_key.strip() else None

    def id_of(self, shown: dict[str, Any]) -> str:
        """Return the name, by which the service knows it."""
        return str(shown["name"])

    def handle_delete(self) -> bool:
        """Delete it, and no other that has its name now: its replacement may."""
        return super().handle_delete() if self.show() else False

    def prepare_for_replace(self) -> bool | Wait:
        """Delete it, if its replacement has the same name."""
        if self.properties["name"] == self.state.physical_id:
            self.handle_delete()
        return True

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        value = super().seen(name, shown)
        if name == "public_key" and isinstance(value, str):
            given = str(self.properties[name])
            return given if given.strip() == value.strip() else value
        return UNSEEN if value is None else value

    def attribute(self, name: str) -> Any:
        """Return the public key, or the private key if it was generated and kept."""
        if name == "private_key":
            return self.state.data.get("private_key", "") if self.properties["save_private_key"] else ""
        return super().attribute(name)

    @property
    def _public_key(self) -> str:
        return str(self.properties["public_key"] or self.state.data.get("public_key", ""))
