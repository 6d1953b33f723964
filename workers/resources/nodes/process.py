"""``Isotherm::Node::Process``: a command that runs on a machine, and outlives the machine's agent."""

import re
import signal
from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from hooks.values.secret_texts import masked
from orchestrator.definition import UNKNOWN, is_unknown
from orchestrator.plugins.constraints import Range
from orchestrator.plugins.properties import Attribute, PropertyError, PropertyType
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure, Wait
from workers.agent.commands.readiness import ReadyWhen
from workers.agent.files.allowed import fault_of_path
from workers.agent.owners import PROCESS
from workers.resources.nodes.command import parse_command, parse_env, parse_signal
from workers.resources.nodes.node_resource import SETTLED, SETTLING, NodeResource, Unfinished
from workers.resources.nodes.placing import PLACING_PROPERTIES
from workers.resources.nodes.readiness import READY_GROUP, READY_SCHEMA, Readiness
from workers.resources.schemas import anything, live, mapping, number, text

#: The run of a create; unique per row, so that a repeated create is the same run.
_FIRST_RUN: Final = "create"
_STOP_INTERVAL_SECONDS: Final = 0.1
#: A process that survives a kill this long waits for a device, and no signal helps.
_KILL_SECONDS: Final = 30.0
_GRACE_SECONDS: Final = 10.0
#: The private fact with the row under which the process is on record.
_RECORD: Final = "record"
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class NodeProcess(NodeResource):
    """A command, run without a shell, in a session of its own and under a small supervisor.

    Its environment is a few of the agent's variables (PATH, HOME, the language) and those of ``env``, nothing else.
    A change of command, env or cwd restarts it in place; a change of ready waits again without
    a restart. Deleting signals its process group and all processes with its ISOTHERM_RESOURCE variable; suspending
    stops all of them (SIGSTOP), and resuming continues them.

    It outlives the agent, unless a service manager ends all processes that the agent ever started: systemd needs
    ``KillMode=process``, and a container an init that reaps ended processes.
    """

    description = "A command that runs on a node until it ends or is deleted."
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
        "command": anything(
            "The arguments as a list, or one text that is split as in a shell; no shell is run.",
            required=True,
            update_allowed=True,
        ),
        "env": mapping("Variables of its environment.", default={}, update_allowed=True),
        "cwd": text(
            "The working directory, inside an allowed directory; empty: the first of them.",
            default="",
            update_allowed=True,
        ),
        "ready": mapping(
            "What to wait for: one of tcp, http and exit; without one, that it runs.",
            default={},
            update_allowed=True,
            schema=READY_SCHEMA,
        ),
        "stop_signal": text("The signal that requests its end.", default="TERM", update_allowed=True),
        "grace": number(
            "Seconds between stop_signal and KILL.",
            default=_GRACE_SECONDS,
            update_allowed=True,
            constraints=(Range(0, 86400),),
        ),
        **PLACING_PROPERTIES,
    }
    properties_groups_schema = (READY_GROUP,)
    attributes_schema = {
        "pid": live("The number of the process.", PropertyType.INTEGER),
        "state": live(
            "running, exited, or gone (its end was not observed, or it was never started).",
            PropertyType.STRING,
        ),
        "started_at": live("Seconds since the epoch, by the node's clock.", PropertyType.NUMBER),
        "exit_code": live(
            "How it ended; negative: the signal that ended it; null while it runs.", PropertyType.INTEGER
        ),
        "log": Attribute("The file on the node with its output.", PropertyType.STRING),
        "node": Attribute("The node it is on.", PropertyType.STRING),
    }

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse empty and invalid commands.

        Raises:
            PropertyError: with the path of the property at fault.
        """
        super().validate(properties)
        command, cwd = properties.get("command", UNKNOWN), properties.get("cwd")
        if not is_unknown(command):
            parse_command(command)
        if isinstance(cwd, str) and cwd and (fault := fault_of_path(cwd)):
            raise PropertyError(("cwd",), fault)
        for name, parse in (("env", parse_env), ("ready", Readiness.parse), ("stop_signal", parse_signal)):
            if (value := properties.get(name)) is not UNKNOWN and value is not None:
                parse(value)

    def handle_create(self) -> dict[str, Any]:
        """Start the command, unless an interrupted attempt has done so."""
        self.state.data[_RECORD] = self.state.uuid
        if self.settle():
            return dict(SETTLING)
        begun = self._begin(_FIRST_RUN, SETTLED)
        return dict(begun.token) if isinstance(begun, Wait) else self._token(_FIRST_RUN)

    def find(self) -> str | None:
        """Return the number of the process that an interrupted create has started, even if it has ended."""
        found = self._found()
        return None if found is None else str(found["pid"])

    def resume_create(self) -> dict[str, Any]:
        """Continue to wait until the found process is ready."""
        found = self._found()
        return self._token(_FIRST_RUN if found is None else found["run"])

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Return whether the process is ready."""
        if token == SETTLING:
            return Wait(0, token=SETTLED)
        if "stage" in token:
            begun = self._begin(_FIRST_RUN, token)
            return begun if isinstance(begun, Wait) else self._ready_or_later(self._token(_FIRST_RUN))
        return self._ready(token)

    def _found(self) -> Mapping[str, Any] | None:
        if not self.may_be_somewhere:
            return None
        found: Mapping[str, Any] | None = self._look()["status"]
        # A process without a record is found by its marker, and recorded again.
        return found or self.change("process_find", uuid=self._record)

    def handle_adopt(self) -> None:
        """Take over a process that was started on the node for a stack that was abandoned since.

        Raises:
            ResourceFailure: the record of the adopt file's ``resource_data`` is of another process, or belongs to
                another project.
        """
        self.settle()
        status = self._look()["status"]
        if status is None or str(status["pid"]) != self.state.physical_id:
            raise ResourceFailure(
                f"no record of a process {self.state.physical_id} was found: only one that was started for a stack "
                "can be adopted, with the resource_data that its export tells"
            )
        self.take_over(PROCESS, self._record)

    def handle_update(self, changes: PropertyChanges) -> dict[str, Any]:
        """Request the process to end if it must be restarted: its definition has changed, or it is gone."""
        status = self._look()["status"]
        fits = status is not None and self._as_wanted(status)
        if fits and not changes.names & {"command", "env", "cwd"}:
            return self._token(status["run"])
        self._signal(self._stop_signal)
        return self._token(uuid4().hex)

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Return whether the old process has ended and the new one is ready."""
        seen = self._look(members=True)
        status = seen["status"]
        if status is not None and status["run"] == token["run"]:
            return self._ready(token)
        if (later := self._await_end(token, seen)) is not None:
            return later
        begun = self._begin(token["run"], token)
        if isinstance(begun, Wait):
            return begun
        if begun is None:
            # A process of the old run appeared once more.
            return Wait(_STOP_INTERVAL_SECONDS, token=_once_more(token))
        return self._ready_or_later(self._token(token["run"]))

    def handle_suspend(self) -> dict[str, Any]:
        """Stop the process and all its children; one that has ended is at rest."""
        self._signal(signal.SIGSTOP)
        return self._token("")

    def check_suspend_complete(self, token: Any) -> bool | Wait:
        """Return whether all of it is stopped; stop children started meanwhile.

        Raises:
            ResourceFailure: the process runs on long after it was stopped.
        """
        if self._look(members=True)["still"]:
            return True
        if self.now - token["since"] >= _KILL_SECONDS:
            raise ResourceFailure(f"the process still runs {_KILL_SECONDS:g} s after it was stopped")
        self._signal(signal.SIGSTOP, token)
        return Wait(_STOP_INTERVAL_SECONDS, token=_once_more(token))

    def handle_resume(self) -> dict[str, Any]:
        """Continue the process.

        Raises:
            ResourceFailure: the process is gone.
        """
        status = self._look()["status"]
        if status is None:
            raise ResourceFailure("the process is gone")
        self._signal(signal.SIGCONT)
        return self._token(status["run"])

    def check_resume_complete(self, token: Any) -> bool | Wait:
        """Return whether all of it runs, and is ready as after a start."""
        if not self._look(members=True)["moves"]:
            self._signal(signal.SIGCONT, token)
            return Wait(_STOP_INTERVAL_SECONDS, token=_once_more(token))
        return self._ready(token)

    def handle_delete(self) -> dict[str, Any]:
        """Request the process to end; a suspended one is continued, so that it can."""
        if self.may_be_somewhere:
            self._signal(self._stop_signal, go_on=True)
        return self._token("")

    def check_delete_complete(self, token: object) -> bool | Wait:
        """Return whether all of it has ended; kill what outlives the grace."""
        if not self.may_be_somewhere:
            return True
        if (later := self._await_end(token, self._look(members=True))) is not None:
            return later
        self.change("process_forget", uuid=self._record)
        return True

    def attribute(self, name: str) -> Any:
        """Return the attribute as it is now."""
        if name == "node":
            return self.state.on_node
        seen = self._look()
        if name == "log":
            return seen["log"]
        status = seen["status"]
        if name == "state":
            return _state(status)
        return status[name] if status is not None and name in self.attributes_schema else None

    def observe(self) -> Mapping[str, Any] | None:
        """Return the properties with the command and the directory it was started with, or None if it is gone.

        A process that was expected to end, and ended well, exists. The variables are those last applied: a process may
        change its own.
        """
        if not self.may_be_somewhere:
            return None
        seen = self._look(cwd=self.properties["cwd"] or "")
        status, order = seen["status"], seen["order"]
        if status is None or not self._as_wanted(status):
            return None
        observed = {**self.properties, "node": self.node_seen}
        if order is not None and order["run"] == status["run"]:
            if order["argv"] != parse_command(self.properties["command"]):
                observed["command"] = order["argv"]
            if order["cwd"] != seen["cwd"]:
                observed["cwd"] = order["cwd"]
        return observed

    def _look(self, **wanted: Any) -> Mapping[str, Any]:
        seen: Mapping[str, Any] = self.ask("process_look", uuid=self._record, **wanted)
        return seen

    def _signal(
        self, number: signal.Signals, token: Mapping[str, Any] | None = None, *, go_on: bool = False
    ) -> None:
        turn = str(token.get("turn", 0)) if token is not None else ""
        self.change("process_signal", turn, uuid=self._record, number=int(number), go_on=go_on)

    def _begin(self, run: str, token: Mapping[str, Any]) -> Mapping[str, Any] | Wait | None:
        """Start a run, at most once, and return its status.

        None: an earlier run is still there; a pause: it is being started, and the same must be
        requested again afterwards.
        """
        try:
            status: Mapping[str, Any] | None = self.change(
                "process_start",
                str(token.get("turn", "")),
                uuid=self._record,
                run=run,
                argv=parse_command(self.properties["command"]),
                cwd=self.properties["cwd"] or "",
                env=parse_env(self.properties["env"]),
                probe=self._readiness.to_wire(),
            )
        except Unfinished as error:
            return error.wait(token)
        self._note_pid(status, run)
        return status

    def _ready_or_later(self, token: dict[str, Any]) -> bool | Wait:
        """Return whether a run that was just started is ready: its time-out begins with ``token``."""
        ready = self._ready(token)
        return Wait(ready.seconds, token=token) if isinstance(ready, Wait) else ready

    def _note_pid(self, status: Mapping[str, Any] | None, run: str) -> None:
        if status is not None and status["run"] == run:
            self.state.physical_id = str(status["pid"])

    def _ready(self, token: Any) -> bool | Wait:
        readiness = self._readiness
        seen = self._look(probe=readiness.to_wire())
        status = seen["status"]
        if status is None or status["run"] != token["run"]:
            return self._wait(token, "it was not started yet", seen)
        self._note_pid(status, token["run"])
        if status["error"]:
            command = parse_command(self.properties["command"])[0]
            raise ResourceFailure(f"cannot run {command!r}: {status['error']}")
        if readiness.when is ReadyWhen.EXIT:
            if status["running"]:
                return self._wait(token, "it is still running", seen)
            if status["exit_code"] != 0:
                raise self._failed(f"the process {_ending(status)}, expected exit code 0", seen)
            return True
        if not status["running"]:
            raise self._failed(f"the process {_ending(status)} before it was ready", seen)
        return self._wait(token, seen["fault"], seen) if seen["fault"] else True

    def _wait(self, token: Any, fault: str, seen: Mapping[str, Any]) -> Wait:
        if self.now - token["since"] >= self._readiness.timeout:
            raise self._failed(
                f"the process was not ready after {self._readiness.timeout:g} s: {fault}", seen
            )
        return Wait(self._readiness.interval)

    def _await_end(self, token: Any, seen: Mapping[str, Any]) -> Wait | None:
        """Return the pause until the next poll, unless all has ended; kill what outlives the grace."""
        if seen["gone"]:
            return None
        grace = self.properties.get("grace")
        if self.now - token["since"] < (_GRACE_SECONDS if grace is None else grace):
            return Wait(_STOP_INTERVAL_SECONDS)
        # Not measured from the request to end: the node may have been silent meanwhile.
        if self.now - token.get("killed", self.now) >= _KILL_SECONDS:
            raise ResourceFailure(f"the process did not end {_KILL_SECONDS:g} s after it was killed")
        self.change("process_kill", str(token.get("turn", 0)), uuid=self._record)
        return Wait(_STOP_INTERVAL_SECONDS, token={"killed": self.now, **_once_more(token)})

    def _failed(self, sentence: str, seen: Mapping[str, Any]) -> ResourceFailure:
        printed = masked(seen["printed"], parse_env(self.properties["env"]).values())
        return ResourceFailure(
            f"{sentence}; it printed:\n{printed}" if printed else f"{sentence}; it printed nothing"
        )

    def _as_wanted(self, status: Mapping[str, Any]) -> bool:
        if self._readiness.when is ReadyWhen.EXIT:
            return bool(status["running"] or status["exit_code"] == 0)
        return bool(status["running"])

    def _token(self, run: str) -> dict[str, Any]:
        return {"run": run, "since": self.now}

    @property
    def _readiness(self) -> Readiness:
        return Readiness.parse(self.properties["ready"])

    @property
    def _stop_signal(self) -> signal.Signals:
        return parse_signal(self.properties.get("stop_signal") or "TERM")

    def let_go(self) -> None:
        """Forget the process that was to be adopted, and the row under which it is on record."""
        super().let_go()
        self.state.data.pop(_RECORD, None)

    @property
    def _record(self) -> str:
        """The row under which the process is on record: another than its own, if it was adopted."""
        record = self.state.data.get(_RECORD)
        # An adopt file must never supply a path.
        return record if isinstance(record, str) and _UUID.fullmatch(record) else self.state.uuid


def _once_more(token: Mapping[str, Any]) -> dict[str, Any]:
    """Return the token of the next turn, in which repeated requests are new changes."""
    return {**token, "turn": token.get("turn", 0) + 1}


def _state(status: Mapping[str, Any] | None) -> str:
    if status is None:
        return "gone"
    if status["running"]:
        return "running"
    return "gone" if status["exit_code"] is None else "exited"


def _ending(status: Mapping[str, Any]) -> str:
    code = status["exit_code"]
    if code is None:
        return "ended unseen, since its supervisor was killed,"
    return f"ended with exit code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
