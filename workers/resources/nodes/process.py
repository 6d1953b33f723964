"""``Isotherm::Node::Process``: a command that runs on the worker's machine, and outlives the worker."""

import re
import signal
from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from orchestrator.definition import UNKNOWN, is_unknown
from orchestrator.plugins.constraints import Range
from orchestrator.plugins.properties import Attribute, CacheMode, Property, PropertyError, PropertyType
from orchestrator.plugins.resource import PropertyChanges, Resource, ResourceFailure, Wait
from workers.agent.allowed import allowed_directory, fault_of_path
from workers.agent.environment import environment
from workers.agent.records import records_directory
from workers.agent.supervised import Status, SupervisedProcess, tail
from workers.masking import masked
from workers.resources.nodes.command import parse_command, parse_env, parse_signal
from workers.resources.nodes.host import NODE_PROPERTY, refuse_other_nodes
from workers.resources.nodes.readiness import READY_GROUP, READY_SCHEMA, Readiness, ReadyWhen

#: The run of a create; one of its own for each row, so that a create done again is the same run.
_FIRST_RUN: Final = "create"
_STOP_INTERVAL_SECONDS: Final = 0.1
#: A process that is there so long after it was killed waits for a device, and no signal helps.
_KILL_SECONDS: Final = 30.0
_GRACE_SECONDS: Final = 10.0
_LINES_SHOWN: Final = 10
#: The row's private fact that names the row under which the process is on record.
_RECORD: Final = "record"
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class NodeProcess(Resource):
    """A command, run without a shell, in a session of its own and under a small supervisor.

    It is given a few of the worker's variables (PATH, HOME, the language) and those of ``env``, nothing else.
    A change of command, env or cwd stops it and starts it again in place; a change of ready waits again without
    a restart. Deleting signals its process group and whatever else carries its ISOTHERM_RESOURCE variable; suspending
    stops all of that where it stands (SIGSTOP), and resuming lets it go on.

    It outlives the worker, unless a service manager ends all that the worker ever started: systemd needs
    ``KillMode=process``, and a container an init that asks about ended processes.
    """

    description = "A command that runs on the worker's machine until it ends or is deleted."
    example = """\
heat_template_version: 2021-04-16
resources:
  page:
    type: Isotherm::Node::File
    properties:
      path: index.html
      content: <p>Hello</p>
  server:
    type: Isotherm::Node::Process
    depends_on: page
    properties:
      command: [python3, -m, http.server, "8080", --bind, 127.0.0.1]
      ready:
        http: http://127.0.0.1:8080/
        timeout: 20
outputs:
  pid:
    value: {get_attr: [server, pid]}
"""
    properties_schema = {
        "command": Property(
            type=PropertyType.ANY,
            required=True,
            update_allowed=True,
            description="The arguments as a list, or one text that is split as a shell would; no shell is run.",
        ),
        "env": Property(
            type=PropertyType.MAP,
            default={},
            update_allowed=True,
            description="Variables of its environment.",
        ),
        "cwd": Property(
            type=PropertyType.STRING,
            default="",
            update_allowed=True,
            description="Where it runs, inside an allowed directory; empty: in the first of them.",
        ),
        "ready": Property(
            type=PropertyType.MAP,
            default={},
            update_allowed=True,
            schema=READY_SCHEMA,
            description="What to wait for: one of tcp, http and exit; without one, that it runs.",
        ),
        "stop_signal": Property(
            type=PropertyType.STRING, default="TERM", update_allowed=True, description="What asks it to end."
        ),
        "grace": Property(
            type=PropertyType.NUMBER,
            default=_GRACE_SECONDS,
            update_allowed=True,
            constraints=(Range(0, 86400),),
            description="Seconds between stop_signal and KILL.",
        ),
        "node": NODE_PROPERTY,
    }
    properties_groups_schema = (READY_GROUP,)
    attributes_schema = {
        "pid": Attribute("The number of the process.", PropertyType.INTEGER, cache_mode=CacheMode.NONE),
        "state": Attribute(
            "running, exited, or gone (it ended and nobody saw how, or was never started).",
            PropertyType.STRING,
            cache_mode=CacheMode.NONE,
        ),
        "started_at": Attribute(
            "Seconds since the epoch, by the machine's clock.", PropertyType.NUMBER, cache_mode=CacheMode.NONE
        ),
        "exit_code": Attribute(
            "How it ended; negative: the signal that ended it; null while it runs.",
            PropertyType.INTEGER,
            cache_mode=CacheMode.NONE,
        ),
        "log": Attribute("The file that holds what it prints.", PropertyType.STRING),
    }

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse other nodes, empty commands, and what cannot be read.

        Raises:
            PropertyError: with the path of the property at fault.
        """
        refuse_other_nodes(properties)
        command, cwd = properties.get("command", UNKNOWN), properties.get("cwd")
        if not is_unknown(command):
            parse_command(command)
        if isinstance(cwd, str) and cwd and (fault := fault_of_path(cwd)):
            raise PropertyError(("cwd",), fault)
        for name, parse in (("env", parse_env), ("ready", Readiness.parse), ("stop_signal", parse_signal)):
            if (value := properties.get(name)) is not UNKNOWN and value is not None:
                parse(value)

    # -- creating ----------------------------------------------------------------------------------------------

    def handle_create(self) -> dict[str, Any]:
        """Start the command, unless an interrupted attempt has done so."""
        self.state.data[_RECORD] = self.state.uuid
        self._start(_FIRST_RUN)
        return self._token(_FIRST_RUN)

    def find(self) -> str | None:
        """Return the number of the process that an interrupted create has started, even if it has ended."""
        found = self._process.find()
        return None if found is None else str(found.pid)

    def resume_create(self) -> dict[str, Any]:
        """Go on waiting until the process that was found is ready."""
        found = self._process.find()
        return self._token(_FIRST_RUN if found is None else found.run)

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Tell whether the process is ready."""
        return self._ready(token)

    # -- adopting ----------------------------------------------------------------------------------------------

    def handle_adopt(self) -> None:
        """Take over a process that was started on this machine for a stack that has been abandoned since.

        Raises:
            ResourceFailure: what is on record under the adopt file's ``resource_data`` is another process.
        """
        status = self._process.status()
        if status is None or str(status.pid) != self.state.physical_id:
            raise ResourceFailure(
                f"no record of a process {self.state.physical_id} was found: only one that was started for a stack "
                "can be adopted, with the resource_data that its export tells"
            )

    # -- updating ----------------------------------------------------------------------------------------------

    def handle_update(self, changes: PropertyChanges) -> dict[str, Any]:
        """Ask the process to end if it must be started anew: what it is given has changed, or it is gone."""
        status = self._process.status()
        fits = status is not None and self._as_wanted(status)
        if status is not None and fits and not changes.names & {"command", "env", "cwd"}:
            return self._token(status.run)
        self._process.stop(self._stop_signal)
        return self._token(uuid4().hex)

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Tell whether the old process has ended and the new one is ready."""
        status = self._process.status()
        if status is not None and status.run == token["run"]:
            return self._ready(token)
        if not self._stopped(token):
            return Wait(_STOP_INTERVAL_SECONDS)
        self._start(token["run"])
        return self._ready(token)

    # -- as it is ----------------------------------------------------------------------------------------------

    def handle_suspend(self) -> dict[str, Any]:
        """Stop the process where it stands, with all that it has started; one that has ended is at rest."""
        self._process.stop(signal.SIGSTOP)
        return self._token("")

    def check_suspend_complete(self, token: Any) -> bool | Wait:
        """Tell whether all of it stands still; stop what it started in the meantime."""
        if self._process.stands_still():
            return True
        if self.now - token["since"] >= _KILL_SECONDS:
            raise ResourceFailure(f"the process still runs {_KILL_SECONDS:g} s after it was stopped")
        self._process.stop(signal.SIGSTOP)
        return Wait(_STOP_INTERVAL_SECONDS)

    def handle_resume(self) -> dict[str, Any]:
        """Let the process go on where it stands."""
        status = self._process.status()
        if status is None:
            raise ResourceFailure("the process is gone")
        self._process.stop(signal.SIGCONT)
        return self._token(status.run)

    def check_resume_complete(self, token: Any) -> bool | Wait:
        """Tell whether all of it goes on, and is ready as it was when it was started."""
        if not self._process.is_moving():
            self._process.stop(signal.SIGCONT)
            return Wait(_STOP_INTERVAL_SECONDS)
        return self._ready(token)

    # -- deleting ----------------------------------------------------------------------------------------------

    def handle_delete(self) -> dict[str, Any]:
        """Ask the process to end; one that was suspended goes on, so that it can."""
        self._process.ask_to_end(self._stop_signal)
        return self._token("")

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Tell whether all of it has ended; kill what outlives the grace."""
        if not self._stopped(token):
            return Wait(_STOP_INTERVAL_SECONDS)
        self._process.forget()
        return True

    # -- telling -----------------------------------------------------------------------------------------------

    def attribute(self, name: str) -> Any:
        """Return the attribute as it is now."""
        if name == "log":
            return str(self._process.log)
        status = self._process.status()
        if name == "state":
            return _state(status)
        return getattr(status, name) if status is not None and name in self.attributes_schema else None

    def observe(self) -> Mapping[str, Any] | None:
        """Return the properties with the command and the directory it was started with, or None if it is gone.

        A process that was to end, and has ended well, exists. The variables are those last applied: a process may
        change its own.
        """
        status, order = self._process.status(), self._process.order()
        if status is None or not self._as_wanted(status):
            return None
        observed = dict(self.properties)
        if order is not None and order["run"] == status.run:
            if order["argv"] != parse_command(self.properties["command"]):
                observed["command"] = order["argv"]
            if order["cwd"] != str(allowed_directory(self.properties["cwd"] or "", self.settings)):
                observed["cwd"] = order["cwd"]
        return observed

    # -- the steps themselves ----------------------------------------------------------------------------------

    def _start(self, run: str) -> None:
        status = self._process.status()
        if status is None or status.run != run:
            readiness = self._readiness
            if readiness.occupied():
                # Its answers would be taken for those of the process, which cannot even get the port.
                raise ResourceFailure(
                    f"{readiness.host}:{readiness.port} answers before the process was started: "
                    "something else has this port"
                )
            self._process.start(
                run,
                argv=parse_command(self.properties["command"]),
                cwd=allowed_directory(self.properties["cwd"] or "", self.settings, makes=True),
                env=environment(parse_env(self.properties["env"])),
                now=self.now,
            )
        self._note_pid(self._process.status(), run)

    def _note_pid(self, status: Status | None, run: str) -> None:
        if status is not None and status.run == run:
            self.state.physical_id = str(status.pid)

    def _ready(self, token: Any) -> bool | Wait:
        status = self._process.status()
        if status is None or status.run != token["run"]:
            return self._wait(token, "it was not started yet")
        self._note_pid(status, token["run"])
        if status.error:
            raise ResourceFailure(
                f"cannot run {parse_command(self.properties['command'])[0]!r}: {status.error}"
            )
        if self._readiness.when is ReadyWhen.EXIT:
            if status.running:
                return self._wait(token, "it is still running")
            if status.exit_code != 0:
                raise self._failed(f"the process {_ending(status)}, expected exit code 0")
            return True
        fault = self._readiness.fault() if status.running else ""
        # Asked again after the probe, which another process may have answered while ours ended.
        status = self._process.status() or status
        if not status.running:
            raise self._failed(f"the process {_ending(status)} before it was ready")
        return self._wait(token, fault) if fault else True

    def _wait(self, token: Any, fault: str) -> Wait:
        order = self._process.order()
        since = max(token["since"], order["ordered_at"] if order else 0.0)
        if self.now - since >= self._readiness.timeout:
            raise self._failed(f"the process was not ready after {self._readiness.timeout:g} s: {fault}")
        return Wait(self._readiness.interval)

    def _stopped(self, token: Any) -> bool:
        if self._process.gone():
            return True
        grace = self.properties.get("grace")
        waited = self.now - token["since"] - (_GRACE_SECONDS if grace is None else grace)
        if waited >= _KILL_SECONDS:
            raise ResourceFailure(f"the process did not end {_KILL_SECONDS:g} s after it was killed")
        if waited >= 0:
            self._process.kill()
        return False

    def _failed(self, sentence: str) -> ResourceFailure:
        env = parse_env(self.properties["env"])
        said = masked(tail(self._process.log, lines=_LINES_SHOWN), env.values())
        return ResourceFailure(
            f"{sentence}; it printed:\n{said}" if said else f"{sentence}; it printed nothing"
        )

    def _as_wanted(self, status: Status) -> bool:
        if self._readiness.when is ReadyWhen.EXIT:
            return status.running or status.exit_code == 0
        return status.running

    def _token(self, run: str) -> dict[str, Any]:
        return {"run": run, "since": self.now}

    @property
    def _readiness(self) -> Readiness:
        return Readiness.parse(self.properties["ready"])

    @property
    def _stop_signal(self) -> signal.Signals:
        return parse_signal(self.properties.get("stop_signal") or "TERM")

    @property
    def _process(self) -> SupervisedProcess:
        return SupervisedProcess(records_directory(self.settings.state_directory), uuid=self._record)

    @property
    def _record(self) -> str:
        """The row under which the process is on record: another than its own, if it was adopted."""
        record = self.state.data.get(_RECORD)
        # What an adopt file says is never a path.
        return record if isinstance(record, str) and _UUID.fullmatch(record) else self.state.uuid


def _state(status: Status | None) -> str:
    if status is None:
        return "gone"
    if status.running:
        return "running"
    return "gone" if status.exit_code is None else "exited"


def _ending(status: Status) -> str:
    if status.exit_code is None:
        return "ended unseen, since its supervisor was killed,"
    if status.exit_code >= 0:
        return f"ended with exit code {status.exit_code}"
    return f"was ended by {signal.Signals(-status.exit_code).name}"
