"""The steps of a volume's update or restore that take time, one after the other."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from orchestrator.plugins.steps import ResourceFailure, Wait
from workers.resources.openstack.cinder.attaching import Attaching, Place
from workers.resources.openstack.cinder.cinder_object import BACKUPS, VOLUME_TYPES, VOLUMES, CinderObject
from workers.resources.openstack.cloud_object import LOOK_SECONDS

#: Statuses of volumes that do not change any more by themselves.
SETTLED: Final = frozenset({"available", "in-use"})
#: The first microversions in which a volume that is attached can grow, and one can be reverted to a snapshot.
_GROWS_ATTACHED, _REVERTS = "3.42", "3.40"
#: The key of the backup that is in the volume, so that an update after a crash does not restore it again.
RESTORED: Final = "restored_backup"


class VolumeSteps(CinderObject):
    """A volume that is changed in steps, which the token names; each can be begun again after a crash.

    Tokens have ``steps``, the names of those that are left; ``sent``, whether the request of the first was sent;
    ``places``, where the volume is to be attached again; and ``source``, the backup or snapshot to restore.
    """

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Carry out the steps, one after the other; return whether all are done."""
        while token["steps"]:
            step, *rest = token["steps"]
            done: bool | Wait = getattr(self, f"_{step}")(token)
            if done is not True:
                return done
            token = {**token, "steps": rest, "sent": False}
        return True

    def detached_for(self, *steps: str, source: str | None) -> dict[str, Any]:
        """Return the token for steps that need the volume detached: it is attached again after them."""
        places = [place.to_token() for place in self.attaching.places(self.whole())]
        steps = ("record", "detach", *steps, "attach") if places else steps
        return {"steps": list(steps), "sent": False, "places": places, "source": source}

    def _begun(self, token: Any, what: str, *, needed: bool, send: Callable[[], None]) -> bool | Wait:
        """Send a request once, unless it is needed no longer, and wait until the volume is settled.

        Raises:
            ResourceFailure: it failed, or had no effect.
        """
        status = self.whole()["status"]
        if status in self.failed_statuses:
            raise ResourceFailure(f"it could not {what}: {self.failure(self.whole())}")
        if status not in SETTLED:
            return Wait(LOOK_SECONDS, token=token)
        if not needed:
            return True
        if token["sent"]:
            raise ResourceFailure(f"it could not {what}: the service gave it up")
        send()
        return Wait(LOOK_SECONDS, token={**token, "sent": True})

    def _record(self, token: Any) -> bool | Wait:
        """Let the engine store where it is attached, before it is not any more."""
        return bool(token["sent"]) or Wait(0, token={**token, "sent": True})

    def _extend(self, token: Any) -> bool | Wait:
        shown, size = self.whole(), self.properties["size"]
        version = _GROWS_ATTACHED if shown["status"] == "in-use" else None
        return self._begun(
            token,
            "grow",
            needed=size is not None and shown["size"] < size,
            send=lambda: self.act("os-extend", version, new_size=size),
        )

    def _retype(self, token: Any) -> bool | Wait:
        wanted = self.properties["volume_type"]
        return self._begun(
            token,
            f"be of type {wanted}",
            needed=bool(wanted) and not self.is_of_type(wanted),
            send=lambda: self.act("os-retype", new_type=wanted, migration_policy="never"),
        )

    def _read_only(self, token: Any) -> bool | Wait:
        return self._begun(
            token,
            "be made read-only or writable",
            needed=self.needs_read_only(self.whole()),
            send=lambda: self.act("os-update_readonly_flag", readonly=self.properties["read_only"]),
        )

    def _restore(self, token: Any) -> bool | Wait:
        path, body = (
            f"{BACKUPS.at(token['source'])}/restore",
            {"restore": {"volume_id": self.state.physical_id}},
        )
        done = self._begun(
            token,
            f"be restored from the backup {token['source']}",
            needed=not token["sent"],
            send=lambda: self._changed_by(path, body),
        )
        if done is True:
            self.state.data[RESTORED] = token["source"]
        return done

    def _revert(self, token: Any) -> bool | Wait:
        return self._begun(
            token,
            f"be reverted to the snapshot {token['source']}",
            needed=not token["sent"],
            send=lambda: self.act("revert", _REVERTS, snapshot_id=token["source"]),
        )

    def _detach(self, token: Any) -> bool | Wait:
        places = [Place(**each) for each in token["places"]]
        if not token["sent"]:
            for place in places:
                self.attaching.detach(place)
        self.changed()
        waits = [done for place in places if (done := self.attaching.is_detached(place)) is not True]
        return Wait(LOOK_SECONDS, token={**token, "sent": True}) if waits else True

    def _attach(self, token: Any) -> bool | Wait:
        places = [Place(**each) for each in token["places"]]
        if not token["sent"]:
            for place in places:
                self.attaching.attach(place)
        self.changed()
        waits = [done for place in places if (done := self.attaching.is_attached(place)) is not True]
        return Wait(LOOK_SECONDS, token={**token, "sent": True}) if waits else True

    # -- requests ----------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The path of the volume."""
        return VOLUMES.at(str(self.state.physical_id))

    @property
    def attaching(self) -> Attaching:
        """What attaches it to servers."""
        return Attaching(nova=self.openstack("nova"), cinder=self.service)

    def act(self, action: str, microversion: str | None = None, **values: Any) -> None:
        """Send an action of the volume."""
        self._changed_by(f"{self.path}/action", {action: values}, microversion)

    def _changed_by(self, path: str, body: Mapping[str, Any], microversion: str | None = None) -> None:
        self.service.ask("POST", path, body=body, microversion=microversion)
        self.changed()

    def needs_read_only(self, shown: Mapping[str, Any]) -> bool:
        """Return whether it is to be made read-only, or writable."""
        wanted = self.properties["read_only"]
        return wanted is not None and wanted != (shown["metadata"].get("readonly") == "True")

    def is_of_type(self, given: str) -> bool:
        """Return whether it is of a type, by its id or name; the service shows the name."""
        name = self.whole()["volume_type"]
        return bool(given == name or (VOLUME_TYPES.show(self.service, given) or {}).get("name") == name)
