"""``Isotherm::Node::File``: a text file on the worker's machine."""

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from orchestrator.plugins.constraints import AllowedPattern
from orchestrator.plugins.properties import Attribute, CacheMode, Property, PropertyError, PropertyType
from orchestrator.plugins.resource import PropertyChanges, Resource, ResourceFailure
from workers.agent.allowed import allowed_file, fault_of_file_path, root_of
from workers.agent.owned_file import OwnedFile, digest
from workers.agent.records import records_directory
from workers.resources.nodes.host import NODE_PROPERTY, refuse_other_nodes

#: How many bytes of a file a snapshot keeps.
_MOST_KEPT: Final = 4 * 1024 * 1024
_MODE = AllowedPattern(
    r"0[0-7]{3}",
    description='expected four octal digits in quotes, such as "0640" (without quotes YAML reads a number)',
)
#: How much of a file is read at least.
_LEAST_READ_BYTES: Final = 65536


class NodeFile(Resource):
    """A file whose content the template gives.

    Creating never takes the place of a file that is there. An update puts the definition back over whatever
    was edited by hand; a deletion leaves alone what somebody else has put in the file's place.
    """

    description = "A text file in one of the directories that the worker's settings allow."
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
        "path": Property(
            type=PropertyType.STRING,
            required=True,
            description="Where the file is; a relative path starts in the first allowed directory.",
        ),
        "content": Property(
            type=PropertyType.STRING,
            default="",
            update_allowed=True,
            description="The text, stored as UTF-8.",
        ),
        "mode": Property(
            type=PropertyType.STRING,
            default="0644",
            update_allowed=True,
            constraints=(_MODE,),
            description='Permissions in octal digits, such as "0640".',
        ),
        "node": NODE_PROPERTY,
    }
    attributes_schema = {
        "path": Attribute("The absolute path, symbolic links resolved.", PropertyType.STRING),
        "sha256": Attribute(
            "The digest of the content as it is now.", PropertyType.STRING, cache_mode=CacheMode.NONE
        ),
        "size": Attribute("The size in bytes as it is now.", PropertyType.INTEGER, cache_mode=CacheMode.NONE),
    }

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse other nodes, paths that climb, and texts that UTF-8 cannot hold.

        Raises:
            PropertyError: with the path of the property at fault.
        """
        refuse_other_nodes(properties)
        path, content = properties.get("path"), properties.get("content")
        if isinstance(path, str) and (fault := fault_of_file_path(path)):
            raise PropertyError(("path",), fault)
        if isinstance(content, str):
            try:
                content.encode()
            except UnicodeEncodeError as error:
                message = f"the character at offset {error.start} cannot be stored as UTF-8"
                raise PropertyError(("content",), message) from error

    def handle_create(self) -> None:
        """Write the file, once, where nothing was before."""
        path = allowed_file(self.properties["path"], self.settings, makes=True)
        self._file.create(path, self._content, self._mode, root=root_of(path, self.settings))
        self.state.physical_id = str(path)

    def find(self) -> str | None:
        """Return the path if an interrupted create has made the file."""
        found = self._file.find()
        return None if found is None else str(found)

    def handle_adopt(self) -> None:
        """Take over the file that is there; its content stays as it is.

        Raises:
            ResourceFailure: it is not where the template says, or not in an allowed directory.
        """
        path = allowed_file(self.properties["path"], self.settings, makes=True)
        if self.state.physical_id != str(path):
            raise ResourceFailure(f"the template's path is {path}, the id in the adopt file is another")
        self._file.take_over(path)

    def handle_update(self, changes: PropertyChanges) -> None:  # noqa: ARG002 -- both are always written
        """Put content and mode in place; a file that has gone is written again."""
        path = allowed_file(self.state.physical_id or self.properties["path"], self.settings, makes=True)
        self._file.replace(path, self._content, self._mode, root=root_of(path, self.settings))

    def handle_delete(self) -> None:
        """Remove the file if it is still ours."""
        if self.state.physical_id and self.properties.get("content") is not None:
            self._file.adopt(Path(self.state.physical_id), self._content)
        self._file.remove()

    def handle_snapshot(self) -> dict[str, str]:
        """Return content and mode as they are on the disk.

        Raises:
            ResourceFailure: there is no file, or too much in it.
        """
        path = self._present()
        if path is None:
            raise ResourceFailure("the file is not there any more")
        with path.open("rb") as file:
            content = file.read(_MOST_KEPT + 1)
            mode = os.fstat(file.fileno()).st_mode & 0o777
        if len(content) > _MOST_KEPT:
            raise ResourceFailure(f"a snapshot keeps files of at most {_MOST_KEPT} bytes")
        return {"content": base64.b64encode(content).decode(), "mode": f"{mode:04o}"}

    def handle_restore(self, entry: Any) -> None:
        """Put the content and the mode that a snapshot holds in place."""
        path = allowed_file(self.state.physical_id or self.properties["path"], self.settings, makes=True)
        content, mode = base64.b64decode(entry["content"]), int(entry["mode"], 8)
        self._file.replace(path, content, mode, root=root_of(path, self.settings))

    def attribute(self, name: str) -> Any:
        """Return the attribute as the disk has it now; digest and size are None when the file is gone."""
        if name == "path":
            return self.state.physical_id
        path = self._present()
        if path is None:
            return None
        match name:
            case "sha256":
                return digest(path)
            case "size":
                return path.stat().st_size
        return None

    def observe(self) -> Mapping[str, Any] | None:
        """Return what is on the disk; bytes that are no UTF-8 are shown as replacement characters.

        Of a file that is much larger than it should be, the beginning.
        """
        path = self._present()
        if path is None or path != allowed_file(str(path), self.settings):
            return None
        # One byte more than there should be tells that there is more; what somebody put there may be large.
        most = len(str(self.properties.get("content") or "").encode()) + 1
        with path.open("rb") as file:
            content = file.read(max(most, _LEAST_READ_BYTES))
        return {
            # As the template spells it: the same place may have several spellings.
            "path": self.properties.get("path", str(path)),
            "content": content.decode(errors="replace"),
            "mode": f"{path.stat().st_mode & 0o777:04o}",
            "node": "",
        }

    @property
    def _file(self) -> OwnedFile:
        records = records_directory(self.settings.state_directory)
        return OwnedFile(records, uuid=self.state.uuid, stack=self.stack.id, resource=self.name)

    @property
    def _content(self) -> bytes:
        return str(self.properties["content"]).encode()

    @property
    def _mode(self) -> int:
        return int(self.properties["mode"], 8)

    def _present(self) -> Path | None:
        path = Path(self.state.physical_id or "")
        return path if path.name and path.is_file() and not path.is_symlink() else None
