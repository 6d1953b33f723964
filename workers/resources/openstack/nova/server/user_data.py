"""The user data of a server: the text that cloud-init gets."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from email.message import Message
from typing import Any, Final

from orchestrator.definition import ResourceProxy
from orchestrator.plugins.properties import PropertyError
from orchestrator.views.software import SoftwareConfigView
from workers.resources.core.multipart_mime import message_of, parts_of, text_part

_ID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
#: What cloud-init calls parts that the handler below takes.
_INIT_DATA: Final = "x-cfninitdata"
#: Takes parts of that kind: puts each into a file that only root may read.
_HANDLER: Final = '''\
#part-handler
"""Keeps parts for the tools that configure this server."""

import os

DIRECTORY = "/var/lib/heat-cfntools"


def list_types():
    return ["text/x-cfninitdata"]


def handle_part(data, ctype, filename, payload):
    if ctype == "__begin__":
        os.makedirs(DIRECTORY, mode=0o700, exist_ok=True)
    elif ctype != "__end__":
        content = payload if isinstance(payload, bytes) else payload.encode("utf-8")
        path = os.path.join(DIRECTORY, os.path.basename(filename))
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
'''
#: Runs the user's own part, once, with a log.
_RUNNER: Final = """\
#!/bin/sh
script=/var/lib/heat-cfntools/cfn-userdata
[ -s "$script" ] || exit 0
chmod 700 "$script"
"$script" >>/var/log/heat-provision.log 2>&1
result=$?
echo "user data ended with $result" >>/var/log/heat-provision.log
exit $result
"""


def resolved(
    given: str, resources: Iterable[ResourceProxy], look_up: Callable[[str], SoftwareConfigView | None]
) -> str:
    """Return user data; where it is the id of a config, the config's text: of the stack, or else as it is looked up.

    Raises:
        PropertyError: the config has no text.
    """
    if not _ID.fullmatch(given):
        return given
    for resource in resources:
        attributes = resource.attributes()
        if "config" in attributes and resource.reference_id() == given:
            text = attributes["config"]
            if not isinstance(text, str):
                raise PropertyError(("user_data",), f"the config of resource {resource.name!r} is no text")
            return text
    found = look_up(given)
    if found is not None and not isinstance(found.config, str):
        raise PropertyError(("user_data",), f"the config {given!r} is no text")
    return given if found is None else found.config


def encoded(
    kind: str, text: str, metadata: Mapping[str, Any], collects: Mapping[str, Any] | None = None
) -> str:
    """Return user data in one of the three formats, as the service takes it; empty if there is none.

    ``collects`` is how os-collect-config polls the metadata of the server.
    """
    if kind == "RAW":
        content = text
    elif kind == "SOFTWARE_CONFIG":
        whole = {**metadata, "os-collect-config": collecting(metadata, collects)}
        content = message_of([*_own_parts(text), _metadata_part(whole)])
    else:
        # The handler comes before what it handles, and the runner after that.
        parts = [_script(_HANDLER, "part-handler", "part-handler.py"), _init_part(text, "cfn-userdata")]
        parts += [_metadata_part(metadata)] if metadata else []
        content = message_of([*parts, _script(_RUNNER, "x-shellscript", "run-userdata.sh")])
    return base64.b64encode(content.encode()).decode()


def collecting(metadata: Mapping[str, Any], collects: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the section of os-collect-config: what the template says, and how the metadata are polled."""
    given = metadata.get("os-collect-config")
    return {**(given if isinstance(given, Mapping) else {}), **(collects or {})}


def _own_parts(text: str) -> list[Message]:
    if not text:
        return []
    is_message = text.lower().startswith(("content-type:", "mime-version:"))
    parts = parts_of(text) if is_message else None
    return [_script(text, "x-shellscript", "userdata")] if parts is None else parts


def _script(text: str, subtype: str, filename: str) -> Message:
    return text_part(text, subtype=subtype, filename=filename)


def _init_part(text: str, filename: str) -> Message:
    return text_part(text, subtype=_INIT_DATA, filename=filename)


def _metadata_part(metadata: Mapping[str, Any]) -> Message:
    return _init_part(json.dumps(metadata, sort_keys=True), "cfn-init-data")
