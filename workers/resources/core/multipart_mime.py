"""``OS::Heat::MultipartMime``: several configs in one message, as cloud-init takes them.

Equal parts always give the same message, byte for byte, so that servers configured with it do not change needlessly.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from email import message_from_string
from email.message import Message
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any, Final

from orchestrator.definition import is_unknown
from orchestrator.plugins.constraints import AllowedPattern, AllowedValues
from orchestrator.plugins.properties import Attribute, PropertyError, PropertyType
from workers.resources.core.row import RowResource
from workers.resources.core.software_config import group
from workers.resources.schemas import listing, mapping, text

TEXT: Final = "text"
MULTIPART: Final = "multipart"
_ID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SIMPLE_NAME: Final = re.compile(r"[A-Za-z0-9._+/-]+")


def text_part(text: str, *, subtype: str = "", filename: str = "") -> Message:
    """Return a part of a message from which ``text`` can be read back exactly."""
    # A message has line ends of its own, so a text with carriage returns is encoded in base64, as is any text with
    # non-ASCII letters.
    plain = text.isascii() and "\r" not in text
    part = MIMEText(text, subtype or "plain", "us-ascii" if plain else "utf-8")
    if filename:
        # Some other characters do not survive in an encoded name.
        encoded = filename if _SIMPLE_NAME.fullmatch(filename) else ("utf-8", "", filename)
        part.add_header("Content-Disposition", "attachment", filename=encoded)
    return part


def parts_of(message: str) -> list[Message] | None:
    """Return the parts of a message; None if it is no multipart message."""
    found = message_from_string(message).get_payload()
    return [each for each in found if isinstance(each, Message)] if isinstance(found, list) else None


def message_of(parts: Sequence[Message]) -> str:
    """Return a message of these parts; equal for equal parts."""
    # The boundary must not occur in any part: no text contains its own digest.
    digest = hashlib.sha256("\0".join(part.as_string() for part in parts).encode(errors="replace"))
    return MIMEMultipart(boundary=f"=== {digest.hexdigest()[:48]} ===", _subparts=parts).as_string()


class MultipartMime(RowResource):
    """One message of several configs; any change makes a replacement.

    The text is made once and stored: its sources may be replaced while the message stays.
    """

    description = "Puts several configs together in one multipart message."
    example = """\
heat_template_version: 2021-04-16
resources:
  script:
    type: OS::Heat::SoftwareConfig
    properties:
      config: |
        #!/bin/sh
        echo ready > /run/ready
  settings:
    type: OS::Heat::CloudConfig
    properties:
      cloud_config: {timezone: Europe/London}
  user_data:
    type: OS::Heat::MultipartMime
    properties:
      parts:
        - config: {get_resource: settings}
        - config: {get_resource: script}
          subtype: x-shellscript
          filename: ready.sh
outputs:
  user_data:
    value: {get_attr: [user_data, config]}
"""
    pure = True
    reads = frozenset({"config"})
    properties_schema = {
        "group": group(),
        "parts": listing(
            "The parts, in their order.",
            default=[],
            schema=mapping(
                schema={
                    "config": text(
                        "A text, or get_resource of another config, whose text is used.", required=True
                    ),
                    "type": text(
                        "text: the text is one part; multipart: it is a message whose parts are used.",
                        default=TEXT,
                        constraints=(AllowedValues((TEXT, MULTIPART)),),
                    ),
                    "filename": text(
                        "The name of the file that a part of type text is attached as.",
                        constraints=(
                            AllowedPattern(
                                r"[^\x00-\x1f\x7f]*", description="expected no control characters"
                            ),
                        ),
                    ),
                    "subtype": text(
                        "The subtype of a part of type text, such as x-shellscript; by default plain, and cloud-init "
                        "detects the type by the first line.",
                        constraints=(
                            AllowedPattern(
                                r"[A-Za-z0-9!#$&^_.+-]*",
                                description="expected letters, digits and some of !#$&^_.+-",
                            ),
                        ),
                    ),
                }
            ),
        ),
    }
    attributes_schema = {"config": Attribute("The message.", PropertyType.STRING)}

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check the parts whose text is known."""
        parts = properties.get("parts")
        for index, part in enumerate(parts if isinstance(parts, list) else ()):
            if not is_unknown(part) and not _ID.fullmatch(part["config"]):
                _messages(index, part, part["config"])

    @classmethod
    def validate_written(cls, properties: Mapping[str, Any]) -> None:
        """Refuse literal ids of configs: only references give access to their texts.

        Raises:
            PropertyError: a config is given by a literal id.
        """
        parts = properties.get("parts")
        for index, part in enumerate(parts if isinstance(parts, list) else ()):
            if not is_unknown(part) and _ID.fullmatch(part["config"]):
                raise _not_referred_to(index)

    def handle_create(self) -> object:
        """Compose the message."""
        self.state.data["config"] = self._message()
        return super().handle_create()

    def handle_adopt(self) -> None:
        """Take the message from the adopt file, or else compose it."""
        if not isinstance(self.state.data.get("config"), str):
            self.state.data["config"] = self._message()

    def attribute(self, name: str) -> Any:
        """Return the message."""
        return self.state.data.get("config") if name == "config" else None

    def _message(self) -> str:
        messages: list[Message] = []
        for index, part in enumerate(self.properties["parts"]):
            messages += _messages(index, part, self._text(index, part["config"]))
        return message_of(messages)

    def _text(self, index: int, given: str) -> str:
        for resource in self.stack.resources.values():
            attributes = resource.attributes()
            if "config" in attributes and resource.reference_id() == given:
                text = attributes["config"]
                if not isinstance(text, str):
                    message = f"the config of resource {resource.name!r} is no text"
                    raise PropertyError(("parts", index, "config"), message)
                return text
        return given


def _not_referred_to(index: int) -> PropertyError:
    message = "this is an id, but not that of a config that is referred to here"
    hint = "refer to the config with get_resource, or take its text with get_attr: [NAME, config]"
    return PropertyError(("parts", index, "config"), message, hint)


def _messages(index: int, part: Mapping[str, Any], text: str) -> list[Message]:
    if _ID.fullmatch(text):
        raise _not_referred_to(index)
    if part["type"] == TEXT:
        return [text_part(text, subtype=part["subtype"] or "", filename=part["filename"] or "")]
    found = parts_of(text)
    if found is None:
        message = "the type of this part is multipart, but its text is no message with parts"
        raise PropertyError(("parts", index, "config"), message, "take the type away, or put a message here")
    return found
