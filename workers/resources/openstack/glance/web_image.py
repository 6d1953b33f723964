"""``OS::Glance::WebImage``: an image that the image service downloads."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.definition import is_unknown
from orchestrator.plugins.constraints import AllowedPattern, AllowedValues, Range
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import ResourceFailure, Wait
from workers.resources.openstack.cloud_object import LOOK_SECONDS, UNSEEN, CloudObject
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.comparing import as_texts, texts_as_given
from workers.resources.openstack.listing import by_ids
from workers.resources.openstack.recorded_first import RecordedFirst
from workers.resources.schemas import boolean, integer, listing, mapping, text

_METHOD: Final = "web-download"
_PATCH: Final = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
#: Properties that an image has only if they are given.
_OPTIONAL: Final = ("architecture", "kernel_id", "os_distro", "os_version", "ramdisk_id")
#: Properties that every image has, and that can be changed.
_CHANGED: Final = ("protected", "visibility", "owner", "tags")
#: Formats of which a container has no other inside.
_AMAZON: Final = frozenset({"ami", "ari", "aki"})
#: The key of the names of all optional and extra properties that the resource has set, or is about to set.
_NAMES: Final = "properties"
#: The token when the download was requested.
_REQUESTED: Final = "requested"
_IMAGE_ID: Final = AllowedPattern(
    "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    description="expected the id of an image",
)


class WebImage(RecordedFirst):
    """An image, whose id is chosen before it is made: that which is given, or the id of the resource's row."""

    description = "An image that the image service downloads from a web server."
    example = """\
heat_template_version: 2021-04-16
resources:
  image:
    type: OS::Glance::WebImage
    properties:
      name: small
      disk_format: qcow2
      container_format: bare
      location: https://images.example.org/small.qcow2
"""
    client_name = "glance"
    collection = Collection(path="/images", key="", plural="images")
    entity = "image"
    has_description = False
    sent_as = {"extra_properties": "", "location": "", "active": "", "members": ""}
    properties_schema = {
        "name": text("Its name, which others may have, too."),
        "id": text("Its id, which no image has or had; by default one is chosen."),
        "min_disk": integer("The size of the disk it needs, in GiB.", default=0, constraints=(Range(min=0),)),
        "min_ram": integer("The memory it needs, in MiB.", default=0, constraints=(Range(min=0),)),
        "protected": boolean("Whether it cannot be deleted.", default=False, update_allowed=True),
        "disk_format": text(
            "The format of the disk in it.",
            required=True,
            constraints=(
                AllowedValues(
                    ("ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "iso", "ploop")
                ),
            ),
        ),
        "container_format": text(
            "The format of the container around the disk; bare is none.",
            required=True,
            constraints=(AllowedValues(("ami", "ari", "aki", "bare", "ovf", "ova", "docker")),),
        ),
        "location": text("The URL from which the image service downloads it.", required=True),
        "tags": listing("Its tags.", update_allowed=True),
        "architecture": text("The processor architecture of its system.", update_allowed=True),
        "kernel_id": text("The image that is its kernel.", update_allowed=True, constraints=(_IMAGE_ID,)),
        "os_distro": text("The distribution of its system, in lower case.", update_allowed=True),
        "os_version": text("The version of that distribution.", update_allowed=True),
        "owner": text("The id of the project that owns it.", update_allowed=True),
        "extra_properties": mapping("Further properties: keys and texts.", default={}, update_allowed=True),
        "visibility": text(
            "Who sees it.",
            default="private",
            constraints=(AllowedValues(("public", "private", "community", "shared")),),
            update_allowed=True,
        ),
        "ramdisk_id": text(
            "The image that is its initial ramdisk.", update_allowed=True, constraints=(_IMAGE_ID,)
        ),
        "active": boolean(
            "Whether its data can be read; administrators change that.", default=True, update_allowed=True
        ),
        "members": listing(
            "The ids of further projects that see it, if it is shared.", schema=text(), update_allowed=True
        ),
    }

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that the formats fit together, and that only a shared image has members.

        Raises:
            PropertyError: they do not, or it has.
        """
        container, disk = properties["container_format"], properties["disk_format"]
        if container in _AMAZON and disk != container and not is_unknown(disk):
            raise PropertyError(("disk_format",), f"a container {container} has a disk of the same format")
        visibility = properties["visibility"]
        if properties["members"] and visibility != "shared" and not is_unknown(visibility):
            raise PropertyError(("members",), "only an image with the visibility shared has members")

    # -- creating ----------------------------------------------------------------------------------------------

    def record(self) -> None:
        """Record the id.

        Raises:
            ResourceFailure: the image service downloads nothing, or there is an image of this id.
        """
        methods = self.service.ask("GET", "/info/import")["import-methods"]["value"]
        if _METHOD not in methods:
            offered = ", ".join(methods) or "none"
            raise ResourceFailure(
                f"the image service downloads no images: it lacks the import method {_METHOD} (it has {offered})"
            )
        image_id = self.properties["id"] or self.state.uuid
        if self.collection.show(self.service, image_id) is not None:
            raise ResourceFailure(f"there is an image {image_id} already")
        self.state.physical_id = image_id
        self.state.data[_NAMES] = sorted(self._further)

    def make(self, token: Any) -> bool | Wait:
        """Make the image, have it downloaded, and wait for it; then share it, or deactivate it.

        Raises:
            ResourceFailure: the download failed.
        """
        shown = self.show()
        if shown is None:
            body = {**self.values(self.properties_schema.keys()), **self._further}
            self.collection.create(self.service, {**body, "id": self.state.physical_id})
            self.changed()
            return Wait(0)
        if shown["status"] in ("active", "deactivated"):
            self._complete()
            return True
        if shown["status"] in ("killed", "deleted", "pending_delete"):
            raise ResourceFailure(f"its status is {shown['status']}")
        if shown["status"] == "queued" and (waits := self._download(shown, token)) is not None:
            return waits
        return Wait(LOOK_SECONDS, token=_REQUESTED)

    def _download(self, shown: Mapping[str, Any], token: Any) -> Wait | None:
        """Request the download, unless that was done; return None when it was.

        Raises:
            ResourceFailure: it failed.
        """
        tasks = self._tasks()
        if failed := [each for each in tasks if each["status"] == "failure"]:
            raise ResourceFailure(
                f"it could not be downloaded: {failed[0].get('message') or 'no reason is told'}"
            )
        if shown.get("os_glance_failed_import"):
            raise ResourceFailure("it could not be downloaded")
        if tasks or token == _REQUESTED:
            return None
        body = {"method": {"name": _METHOD, "uri": self.properties["location"]}}
        try:
            self.service.ask("POST", f"{self._path}/import", body=body)
        except Exception as error:
            # An earlier request is being carried out.
            if not self.service.is_conflict(error):
                raise
        return Wait(LOOK_SECONDS, token=_REQUESTED)

    def _tasks(self) -> list[dict[str, Any]]:
        """Return the imports of the image; older services do not tell them."""
        try:
            found: list[dict[str, Any]] = self.service.ask("GET", f"{self._path}/tasks")["tasks"]
        except Exception as error:
            if self.service.is_not_found(error):
                return []
            raise
        return found

    # -- updating ----------------------------------------------------------------------------------------------

    def record_changes(self) -> None:
        """Record the names of properties that it may have from now on."""
        self.state.data[_NAMES] = sorted({*self._names, *self._further})

    def make_changes(self, token: Any) -> bool:  # noqa: ARG002 (the base's signature)
        """Change what differs."""
        shown = self.whole()
        wanted = {name: self.properties[name] for name in _CHANGED if self.properties[name] is not None}
        wanted.setdefault("tags", [])
        patch = [
            {"op": "replace", "path": f"/{name}", "value": value}
            for name, value in wanted.items()
            if (sorted(shown[name]) != sorted(value) if name == "tags" else shown[name] != value)
        ]
        for name, value in self._further.items():
            if shown.get(name) != value:
                patch.append(
                    {"op": "replace" if name in shown else "add", "path": _pointer(name), "value": value}
                )
        gone = self._names - self._further.keys()
        patch += [{"op": "remove", "path": _pointer(name)} for name in sorted(gone) if name in shown]
        if patch:
            self.service.ask("PATCH", self._path, body=patch, headers=_PATCH)
            self.changed()
        self.state.data[_NAMES] = sorted(self._further)
        self._complete()
        return True

    def needs_replace_failed(self) -> bool:
        """Return whether it has no data."""
        shown = self.show()
        return shown is None or shown["status"] not in ("active", "deactivated")

    def _complete(self) -> None:
        """Set its members, and whether it can be read."""
        if self.properties["visibility"] == "shared":
            wanted, has = set(self.properties["members"] or ()), set(self._members())
            for member in sorted(wanted - has):
                self.service.ask("POST", f"{self._path}/members", body={"member": member})
            for member in sorted(has - wanted):
                self._members_collection.delete(self.service, member)
        if self.properties["active"] != (self.whole()["status"] == "active"):
            action = "reactivate" if self.properties["active"] else "deactivate"
            self.service.ask("POST", f"{self._path}/actions/{action}")
            self.changed()

    # -- reading -----------------------------------------------------------------------------------------------

    @classmethod
    def list_query(cls, resources: Sequence[CloudObject]) -> Mapping[str, Any] | None:
        """Return the query for exactly the images of these resources."""
        return {"id": "in:" + ",".join(by_ids(resources)["id"])}

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name == "extra_properties":
            given = self.properties[name]
            return texts_as_given(given, {each: shown[each] for each in given if each in shown})
        if name == "active":
            return shown["status"] == "active"
        if name == "members":
            return self._members() if shown["visibility"] == "shared" else []
        return UNSEEN if name == "location" else super().seen(name, shown)

    def _members(self) -> list[str]:
        return [each["member_id"] for each in self._members_collection.listed(self.service)]

    @property
    def _members_collection(self) -> Collection:
        return Collection(path=f"{self._path}/members", key="", plural="members")

    @property
    def _path(self) -> str:
        return self.collection.at(str(self.state.physical_id))

    @property
    def _further(self) -> dict[str, str]:
        """The optional properties that are given, and the extra ones."""
        given = {name: self.properties[name] for name in _OPTIONAL if self.properties[name] is not None}
        return {**given, **as_texts(self.properties["extra_properties"])}

    @property
    def _names(self) -> set[str]:
        return set(self.state.data.get(_NAMES) or ())


def _pointer(name: str) -> str:
    """Return the path of a property in a patch."""
    return "/" + name.replace("~", "~0").replace("/", "~1")
