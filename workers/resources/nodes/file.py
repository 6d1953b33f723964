"""``Isotherm::Node::File``: a text file on a node."""

import base64
from collections.abc import Mapping
from typing import Any, Final

from orchestrator.plugins.constraints import AllowedPattern
from orchestrator.plugins.properties import Attribute, PropertyError, PropertyType
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure, Wait
from workers.agent.files.allowed import fault_of_file_path
from workers.resources.nodes.node_resource import SETTLED, SETTLING, NodeResource
from workers.resources.nodes.placing import PLACING_PROPERTIES
from workers.resources.schemas import live, text

#: The least number of bytes that is read of a file.
_LEAST_READ_BYTES: Final = 65536
#: The most bytes of a file in a snapshot, or in a template.
_MOST_KEPT: Final = 4 * 1024 * 1024
_MODE = AllowedPattern(
    r"0[0-7]{3}",
    description='expected four octal digits in quotes, such as "0640" (without quotes YAML reads a number)',
)


class NodeFile(NodeResource):
    """A file whose content the template gives.

    Creating never replaces an existing file. An update restores the definition over whatever
    was edited by hand; a deletion leaves a foreign file in its place alone.
    """

    description = "A text file in one of the directories that the settings of its node allow."
    example = """\
heat_template_version: 2021-04-16
resources:
  page:
    type: Isotherm::Node::File
    properties:
      path: pages/index.html
      mode: "0640"
      content: <p>Hello</p>
outputs:
  path:
    value: {get_attr: [page, path]}
"""
    properties_schema = {
        "path": text(
            "Where the file is; a relative path starts in the first allowed directory.", required=True
        ),
        "content": text("The text, stored as UTF-8.", default="", update_allowed=True),
        "mode": text(
            'Permissions in octal digits, such as "0640".',
            default="0644",
            update_allowed=True,
            constraints=(_MODE,),
        ),
        **PLACING_PROPERTIES,
    }
    attributes_schema = {
        "path": Attribute("The absolute path, symbolic links resolved.", PropertyType.STRING),
        "sha256": live("The digest of the content as it is now.", PropertyType.STRING),
        "size": live("The size in bytes as it is now.", PropertyType.INTEGER),
        "node": Attribute("The node it is on.", PropertyType.STRING),
    }

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse paths that climb, and texts that UTF-8 cannot hold.

        Raises:
            PropertyError: with the path of the property at fault.
        """
        super().validate(properties)
        path, content = properties.get("path"), properties.get("content")
        if isinstance(path, str) and (fault := fault_of_file_path(path)):
            raise PropertyError(("path",), fault)
        if isinstance(content, str):
            try:
                content.encode()
            except UnicodeEncodeError as error:
                message = f"the character at offset {error.start} cannot be stored as UTF-8"
                raise PropertyError(("content",), message) from error

    def handle_create(self) -> Any:
        """Write the file, once, where none was before."""
        if self.settle():
            return SETTLING
        return self._put_new()

    def check_create_complete(self, token: object) -> bool | Wait:
        """Return whether the file exists."""
        if token == SETTLING:
            return Wait(0, token=SETTLED)
        if token == SETTLED:
            self._put_new()
        return True

    def find(self) -> str | None:
        """Return the path if an interrupted create has made the file."""
        found = self.ask("file_find", owner=self._owner) if self.may_be_somewhere else None
        return None if found is None else str(found)

    def resume_create(self) -> Any:
        """Complete the interrupted create."""
        return self._put_new()

    def _put_new(self) -> None:
        self._put(self._content, self._mode, new=True)

    def handle_adopt(self) -> None:
        """Take over the existing file; its content stays as it is.

        Raises:
            ResourceFailure: it is not at the template's path, or not in an allowed directory.
        """
        self.settle()
        self.change(
            "file_take_over",
            owner=self._owner,
            path=self.properties["path"],
            expected=self.state.physical_id,
        )

    def handle_update(self, changes: PropertyChanges) -> None:  # noqa: ARG002  # both are always written
        """Write content and mode; a file that has gone is written again."""
        self._put(self._content, self._mode, new=False)

    def handle_delete(self) -> None:
        """Remove the file if this resource still owns it."""
        if self.may_be_somewhere:
            known = self.state.physical_id and self.properties.get("content") is not None
            path, content = (self.state.physical_id, self._content) if known else ("", None)
            self.change("file_remove", owner=self._owner, path=path, content=content)

    def handle_snapshot(self) -> dict[str, str]:
        """Return content and mode as they are on the disk.

        Raises:
            ResourceFailure: there is no file, or it is too large.
        """
        found = self._look(most_bytes=_MOST_KEPT + 1)
        if found is None:
            raise ResourceFailure("the file is not there any more")
        if len(found["content"]) > _MOST_KEPT:
            raise ResourceFailure(f"a snapshot keeps files of at most {_MOST_KEPT} bytes")
        return {"content": base64.b64encode(found["content"]).decode(), "mode": f"{found['mode']:04o}"}

    def handle_restore(self, entry: Any) -> None:
        """Write the content and the mode of a snapshot."""
        self._put(base64.b64decode(entry["content"]), int(entry["mode"], 8), new=False)

    def attribute(self, name: str) -> Any:
        """Return the attribute as it is on the disk now; digest and size are None when the file is gone."""
        if name == "path":
            return self.state.physical_id
        if name == "node":
            return self.state.on_node
        found = self._look(digests=name == "sha256")
        return None if found is None else found[name]

    def observe(self) -> Mapping[str, Any] | None:
        """Return the file on the disk; bytes that are no UTF-8 are shown as replacement characters.

        Of a file that is much larger than defined, the beginning.
        """
        # One byte more than defined shows that there is more; a foreign file may be large.
        most = len(str(self.properties.get("content") or "").encode()) + 1
        found = self._look(most_bytes=max(most, _LEAST_READ_BYTES))
        if found is None:
            return None
        return {
            # In the template's spelling: one path may have several.
            "path": self.properties.get("path", found["path"]),
            "content": found["content"].decode(errors="replace"),
            "mode": f"{found['mode']:04o}",
            "node": self.node_seen,
        }

    def describe(self) -> Mapping[str, Any] | None:
        """Return the whole file on the disk.

        Raises:
            ResourceFailure: it is too large for a template, or no text in UTF-8.
        """
        found = self._look(most_bytes=_MOST_KEPT + 1)
        if found is None:
            return None
        content = found["content"]
        if len(content) > _MOST_KEPT:
            raise ResourceFailure(f"a template may have files of at most {_MOST_KEPT} bytes")
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            raise ResourceFailure("the content is no text in UTF-8") from error
        return {
            "path": self.properties.get("path") or found["path"],
            "content": text,
            "mode": f"{found['mode']:04o}",
            "node": self.properties.get("node"),
        }

    @property
    def _owner(self) -> dict[str, str]:
        return {"uuid": self.state.uuid, "stack": self.stack.id, "resource": self.name}

    @property
    def _content(self) -> bytes:
        return str(self.properties["content"]).encode()

    @property
    def _mode(self) -> int:
        return int(self.properties["mode"], 8)

    def _look(self, **wanted: Any) -> Mapping[str, Any] | None:
        if not self.state.physical_id:
            return None
        found: Mapping[str, Any] | None = self.ask("file_look", path=self.state.physical_id, **wanted)
        return found

    def _put(self, content: bytes, mode: int, *, new: bool) -> None:
        path = self.properties["path"] if new else self.state.physical_id or self.properties["path"]
        owner = self._owner
        self.state.physical_id = self.change(
            "file_put", owner=owner, path=path, content=content, mode=mode, new=new
        )
