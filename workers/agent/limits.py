"""The limits that a machine's operator sets: allowed directories, programs, images, networks, targets and users.

They are the machine's own: a client with access to its queue can do no more than they allow.
"""

import os
import pwd
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from psutil import Process

from hooks.http.targets import Targets
from orchestrator.config.settings import Settings
from orchestrator.nodes.rpc.errors import RpcRefused
from orchestrator.plugins.steps import ResourceFailure
from workers.agent.allowances import Allowance
from workers.agent.commands.account import Account, NoAccount, account_of
from workers.agent.commands.reach import Reach
from workers.agent.commands.readiness import Probe
from workers.agent.files.allowed import allowed_directory, allowed_file
from workers.agent.hypervisors.hypervisor import InstanceSpec
from workers.agent.names import fault_of_name
from workers.agent.owners import requesting_project


class Limits:
    """The limits of one machine, for the project that the present call is made for; checks have no side effects."""

    def __init__(self, node: str, settings: Settings) -> None:
        self._node, self._settings = node, settings

    @property
    def allowance(self) -> Allowance:
        """What the project that the present call is made for may use."""
        return Allowance.of(self._settings, requesting_project())

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

    def _within(self, check: Callable[[str, Allowance], Path], text: str) -> Path:
        try:
            return check(text, self.allowance)
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

    def command(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path | None) -> str:
        """Return the file that is to be run as a command: the very program that was compared; empty: any.

        ``cwd`` None: one of its own that is not known yet.

        Raises:
            RpcRefused: no pattern allows it, or it does not exist and cannot be compared.
        """
        allowed = self.allowance.commands
        if allowed is None or "*" in allowed:
            return ""
        if linker := next((name for name in env if name.startswith("LD_")), None):
            raise self._refused(f"variable {linker!r} would have an allowed program run something else")
        program = command[0]
        real = self._found(program, env.get("PATH", os.environ.get("PATH", os.defpath)), cwd)
        if real is None or not real.is_file():
            raise self._refused(f"there is no program {program!r} that could be allowed")
        if not any(fnmatchcase(str(real), pattern) for pattern in allowed):
            raise self._refused(f"the program {real} may not be run: {self._allowed('commands', allowed)}")
        return str(real)

    def _allowed(self, name: str, entries: Sequence[str]) -> str:
        return f"allowed are {', '.join(entries) or 'none'} {self.allowance.where(name)}"

    def _found(self, program: str, path: str, cwd: Path | None) -> Path | None:
        places = [program] if "/" in program else [each or "." for each in path.split(os.pathsep)]
        if cwd is None and not all(Path(each).is_absolute() for each in places):
            raise self._refused(f"where {program!r} is depends on where it runs: name it by its whole path")
        if "/" in program:
            return ((cwd or Path()) / program).resolve()
        found = shutil.which(program, path=os.pathsep.join(str((cwd or Path()) / each) for each in places))
        return None if found is None else Path(found).resolve()

    def user(self, name: str) -> None:
        """Refuse a user that is not allowed; empty, and the agent's own unless it is root, always are.

        Raises:
            RpcRefused: the user is not allowed.
        """
        allowance = self.allowance
        if not name or name in (*allowance.users, allowance.run_as):
            return
        if name == _own_user() and not self.switches_users:
            return
        allowed = ", ".join(allowance.users) or "only the agent's own"
        raise self._refused(
            f"nothing may run as user {name!r}: allowed are {allowed} {allowance.where('users')}"
        )

    @property
    def confines(self) -> bool:
        """Whether processes run without new privileges: several projects share the machine."""
        return self.allowance.is_shared

    @property
    def switches_users(self) -> bool:
        """Whether processes run as the user of their project: they share the machine, and the agent is root."""
        return self.confines and os.geteuid() == 0

    def run_as(self) -> str:
        """Return the user of processes for which none is requested; empty: the agent's own.

        Raises:
            RpcRefused: the agent is root, and no user is set for the project.
        """
        if not self.switches_users:
            return ""
        allowance = self.allowance
        if not allowance.run_as:
            of_one = f"{allowance.own('run_as')} for this project, or " if allowance.project else ""
            raise self._refused(
                "its agent is root, and there is no user for the project's processes and files: an operator sets "
                f"{of_one}agent.run_as for all projects, in the settings of the node's agent"
            )
        return allowance.run_as

    def account(self) -> Account | None:
        """Return the account of :meth:`run_as`; None: the agent's own user.

        Raises:
            RpcRefused: no user is set, or the machine has no such user.
        """
        try:
            return account_of(self.run_as())
        except NoAccount as error:
            raise self._refused(f"{error} {self.allowance.where('run_as')}") from error

    def reach(self, probe: Probe, own: Callable[[], Iterable[Process]]) -> Reach | None:
        """Return what a probe of an object may reach, whose processes ``own`` returns; None: everything.

        Raises:
            RpcRefused: it may never reach what it is to probe.
        """
        allowed = self.allowance.targets
        if allowed is None:
            return None
        reach = Reach(Targets(allowed), own)
        if probe.probes and not reach.may_reach(probe.host, probe.port):
            raise self._refused(
                f"{probe.host}:{probe.port} may not be probed: {self._allowed('targets', allowed)}"
            )
        return reach

    def instance(self, spec: InstanceSpec, *, walled: bool) -> InstanceSpec:
        """Refuse an instance that would reach what is not allowed; return it with its directory's real path, its user.

        Command, directory and user of a ``walled`` one are those of its image.

        Raises:
            RpcRefused: a path, the image, the program or the user is not allowed.
        """
        if spec.image:
            self._image(spec.image)
        if walled:
            return spec
        self.user(spec.user)
        cwd = self.directory(spec.cwd) if spec.cwd else None
        if spec.command:
            self.command(spec.command, env=spec.env, cwd=cwd)
        # It is started in the very directory that was checked; empty is still the hypervisor's choice.
        return replace(spec, cwd="" if cwd is None else str(cwd), user=spec.user or self.run_as())

    def _image(self, text: str) -> None:
        # The name of an image in a registry may be that of a file here, for which it would be taken.
        is_path = text.startswith(("/", ".")) or Path(text).exists()
        if self.allowance.images is not None:
            self._listed_image(text, is_path=is_path)
        elif is_path:
            self.path(text if text.startswith((".", "/")) else str(Path(text).absolute()))

    def image_file(self, text: str) -> None:
        """Refuse a file that is part of an image, such as a kernel, wherever its links lead.

        Raises:
            RpcRefused: it is not among the allowed images; where there is no list, outside the allowed directories.
        """
        if self.allowance.images is None:
            self.path(text)
        else:
            self._listed_image(text, is_path=True)

    def fixed(self, text: str) -> None:
        """Refuse a path that others could have lead elsewhere after it was checked, on a machine of several projects.

        Raises:
            RpcRefused: one of its directories can be written to by others than root and the agent's user.
        """
        if self.confines and (other := _exchangeable(Path(text).parent)):
            raise self._refused(
                f"{text!r} could be exchanged after this check: others than root and the agent's user may write "
                f"to {other}"
            )

    def _listed_image(self, text: str, *, is_path: bool) -> None:
        allowed = self.allowance.images or ()
        names = {text, str(Path(text).resolve())} if is_path else {text}
        patterns = [each for each in allowed if each.startswith("/") == is_path]
        if ".." in PurePosixPath(text).parts or not all(
            any(fnmatchcase(name, pattern) for pattern in patterns) for name in names
        ):
            raise self._refused(f"the image {text!r} may not be used: {self._allowed('images', allowed)}")
        if is_path and self.confines and (other := _exchangeable(Path(text))):
            raise self._refused(
                f"the image {text!r} could be exchanged after this check: others than root and the agent's user may "
                f"write to {other}"
            )

    def networks(self, names: Sequence[str]) -> None:
        """Refuse networks that an instance may not be given, each named by mode, or mode and name.

        Raises:
            RpcRefused: no pattern allows one.
        """
        allowed = self.allowance.networks
        for name in names if allowed is not None else ():
            if ".." in name or not any(fnmatchcase(name, pattern) for pattern in allowed or ()):
                raise self._refused(
                    f"the network {name!r} may not be used: {self._allowed('networks', allowed or ())}"
                )

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


def _exchangeable(path: Path) -> Path | None:
    """Return the first part of a path, as written or as it really is, that other users may exchange; None: none."""
    real = path.resolve()
    for each in (*path.parents, real, *real.parents):
        try:
            found = each.stat()
        except OSError:
            return each
        is_shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX
        if is_shared or found.st_uid not in (0, os.geteuid()):
            return each
    return None


def _own_user() -> Any:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None
