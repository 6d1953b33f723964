"""The limits that a machine's operator sets: allowed directories, programs and users.

They are the machine's own: a client with access to its queue can do no more than they allow.
"""

import os
import pwd
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from orchestrator.config.settings import Settings
from orchestrator.nodes.rpc.errors import RpcRefused
from orchestrator.plugins.steps import ResourceFailure
from workers.agent.files.allowed import allowed_directory, allowed_file
from workers.agent.hypervisors.hypervisor import InstanceSpec
from workers.agent.names import fault_of_name


class Limits:
    """The limits of one machine; checks have no side effects."""

    def __init__(self, node: str, settings: Settings) -> None:
        self._node, self._settings = node, settings

    def directory(self, text: str) -> Path:
        """Return the real path of an existing directory; empty: the first allowed one.

        Raises:
            RpcRefused: it is outside the allowed directories, or does not exist.
        """
        return self._within(allowed_directory, text)

    def file(self, text: str) -> Path:
        """Return the real path of a file, which need not exist.

        Raises:
            RpcRefused: it is outside the allowed directories.
        """
        return self._within(allowed_file, text)

    def _within(self, check: Callable[[str, Settings], Path], text: str) -> Path:
        try:
            return check(text, self._settings)
        except ResourceFailure as error:
            raise self._refused(str(error)) from error

    def owner(self, uuid: str) -> str:
        """Refuse a row's uuid that is not one: records are stored under that name.

        Raises:
            RpcRefused: it is no uuid.
        """
        if fault := fault_of_name(uuid):
            raise self._refused(f"the uuid of a row: {fault}")
        return uuid

    def command(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path | None) -> None:
        """Refuse a command whose program may not be run; ``cwd`` None: one of its own that is not known yet.

        Raises:
            RpcRefused: no pattern allows it, or it does not exist and cannot be compared.
        """
        allowed = self._settings.agent.commands
        if "*" in allowed:
            return
        if linker := next((name for name in env if name.startswith("LD_")), None):
            raise self._refused(f"variable {linker!r} would have an allowed program run something else")
        program = command[0]
        real = self._found(program, env.get("PATH", os.environ.get("PATH", os.defpath)), cwd)
        if real is None or not real.is_file():
            raise self._refused(f"there is no program {program!r} that could be allowed")
        if not any(fnmatchcase(str(real), pattern) for pattern in allowed):
            raise self._refused(
                f"the program {real} may not be run: allowed are {', '.join(allowed) or 'none'} "
                "(setting agent.commands)"
            )

    def _found(self, program: str, path: str, cwd: Path | None) -> Path | None:
        places = [program] if "/" in program else [each or "." for each in path.split(os.pathsep)]
        if cwd is None and not all(Path(each).is_absolute() for each in places):
            raise self._refused(f"where {program!r} is depends on where it runs: name it by its whole path")
        if "/" in program:
            return ((cwd or Path()) / program).resolve()
        found = shutil.which(program, path=os.pathsep.join(str((cwd or Path()) / each) for each in places))
        return None if found is None else Path(found).resolve()

    def user(self, name: str) -> None:
        """Refuse a user that is not allowed; empty, and the agent's own, always are.

        Raises:
            RpcRefused: the user is not allowed.
        """
        if not name or name in self._settings.agent.users or name == _own_user():
            return
        allowed = ", ".join(self._settings.agent.users) or "only the agent's own"
        raise self._refused(f"nothing may run as user {name!r}: allowed are {allowed} (setting agent.users)")

    def instance(self, spec: InstanceSpec, *, walled: bool) -> InstanceSpec:
        """Refuse an instance that would reach what is not allowed; return it with its directory's real path.

        Command, directory and user of a ``walled`` one are those of its image.

        Raises:
            RpcRefused: a path, the program or the user is not allowed.
        """
        if spec.image.startswith(("/", ".")):
            self.path(spec.image)
        elif spec.image and Path(spec.image).exists():
            # Usually the name of an image in a registry; this one would be taken for a file.
            self.path(str(Path(spec.image).absolute()))
        if walled:
            return spec
        self.user(spec.user)
        cwd = self.directory(spec.cwd) if spec.cwd else None
        if spec.command:
            self.command(spec.command, env=spec.env, cwd=cwd)
        # It is started in the very directory that was checked; empty is still the hypervisor's choice.
        return replace(spec, cwd="" if cwd is None else str(cwd))

    def path(self, text: str) -> None:
        """Refuse a file or directory that an instance is given, wherever its links lead.

        Raises:
            RpcRefused: it is outside the allowed directories.
        """
        path = Path(text)
        if not path.is_absolute():
            # The base of a relative path is ambiguous.
            raise self._refused(f"{text!r} depends on where one looks from: name it by its whole path")
        if path.is_dir():
            self.directory(text)
        else:
            self.file(str(path.resolve()))

    def _refused(self, sentence: str) -> RpcRefused:
        return RpcRefused(self._node, f"node {self._node!r} does not allow it: {sentence}")


def _own_user() -> Any:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None
