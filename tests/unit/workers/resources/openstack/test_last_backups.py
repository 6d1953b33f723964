"""The backup that a volume leaves behind when it is deleted, with a volume service in memory."""

import re
import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.plugins.steps import Busy, ResourceFailure, ResourceState, Wait
from tests.unit.workers.resources.core.made import UUID, make
from workers.clients.openstack import OpenStack
from workers.resources.openstack.cinder.volume import Volume

NO_SERVICE = "Service cinder-backup could not be found."


class Cinder(OpenStack):
    """A volume, and its backups, which a test moves on."""

    def __init__(self, *, status: str = "available", volume_backups: bool = True) -> None:
        self.options = {"volume_backups": volume_backups}
        self.volume: dict[str, Any] | None = {"id": "v", "name": "v", "status": status, "attachments": []}
        self.backups: dict[str, dict[str, Any]] = {}

    def ask(self, method: str, path: str, *, body: Any = None, **_: Any) -> Any:
        """Answer what deletions ask for."""
        if path == "/volumes/v":
            if self.volume is None:
                raise LookupError(path)
            return {"volume": self.volume}
        found = re.fullmatch(r"/backups(?:/(.+))?", path)
        assert found, path
        if method == "POST":
            made = {**body["backup"], "id": str(uuid.uuid4()), "status": "creating"}
            self.backups[made["id"]] = made
            return {"backup": made}
        if found[1] not in self.backups:
            raise LookupError(path)
        return {"backup": self.backups.pop(found[1]) if method == "DELETE" else self.backups[found[1]]}

    def listed(
        self, path: str, plural: str, query: Mapping[str, Any], *, microversion: str | None = None
    ) -> list[Any]:
        """Return the backups that a query selects, and nothing of any other kind."""
        found = list(self.backups.values()) if plural == "backups" else []
        return [each for each in found if query.items() <= each.items()]

    def is_not_found(self, error: Exception) -> bool:
        """Return whether it is not there."""
        return isinstance(error, LookupError)

    def become(self, status: str, **more: Any) -> None:
        """Let all backups get on."""
        for each in self.backups.values():
            each.update(status=status, **more)


class Clients:
    """The one client that there is."""

    def __init__(self, cinder: Cinder) -> None:
        self._cinder = cinder

    def get(self, name: str) -> Any:
        """Return it."""
        return self._cinder


def volume(cinder: Cinder) -> Volume:
    state = ResourceState(uuid=UUID, physical_id="v", started_at=1000.0)
    made = make(Volume, {"size": 1}, state=state)
    made.clients = Clients(cinder)  # type: ignore[assignment]
    return made


def test_a_backup_is_made_once_and_waited_for() -> None:
    cinder = Cinder()
    token = volume(cinder).handle_snapshot_delete()
    assert volume(cinder).handle_snapshot_delete() == token
    assert list(cinder.backups) == [token]
    assert isinstance(volume(cinder).check_snapshot_delete_complete(token), Wait)
    cinder.become("available")
    assert volume(cinder).check_snapshot_delete_complete(token) is True
    assert volume(cinder).handle_snapshot_delete() == token


def test_a_backup_of_another_with_its_name_is_left_alone() -> None:
    cinder = Cinder()
    token = volume(cinder).handle_snapshot_delete()
    cinder.backups[str(token)]["description"] = "of another"
    assert volume(cinder).handle_snapshot_delete() != token
    assert len(cinder.backups) == 2


def test_a_backup_that_failed_fails_the_deletion_and_makes_way_for_another() -> None:
    cinder = Cinder()
    token = volume(cinder).handle_snapshot_delete()
    cinder.become("error", fail_reason="no space")
    with pytest.raises(ResourceFailure, match="failed: no space"):
        volume(cinder).check_snapshot_delete_complete(token)
    assert volume(cinder).handle_snapshot_delete() != token
    assert len(cinder.backups) == 1


def test_a_backup_that_is_gone_fails_the_deletion() -> None:
    cinder = Cinder()
    token = volume(cinder).handle_snapshot_delete()
    cinder.backups.clear()
    with pytest.raises(ResourceFailure, match="is gone"):
        volume(cinder).check_snapshot_delete_complete(token)


def test_without_a_service_for_backups_the_volume_stays() -> None:
    cinder = Cinder()
    token = volume(cinder).handle_snapshot_delete()
    cinder.become("error", fail_reason=NO_SERVICE)
    with pytest.raises(ResourceFailure, match="the volume service here has no backups"):
        volume(cinder).check_snapshot_delete_complete(token)


def test_where_the_settings_say_that_there_is_none_nothing_is_tried() -> None:
    cinder = Cinder(volume_backups=False)
    assert Volume.refuses_snapshots(Clients(cinder)).startswith("the volume service here has no backups")
    with pytest.raises(ResourceFailure, match="the volume service here has no backups"):
        volume(cinder).handle_snapshot_delete()
    assert cinder.backups == {}
    assert Volume.refuses_snapshots(Clients(Cinder())) == ""


def test_what_is_written_until_it_is_detached_is_in_the_backup() -> None:
    with pytest.raises(Busy, match="it is attached to a server"):
        volume(Cinder(status="in-use")).handle_snapshot_delete()


def test_a_failed_volume_fails_the_deletion() -> None:
    with pytest.raises(ResourceFailure, match="no backup of it can be made: its status is error"):
        volume(Cinder(status="error")).handle_snapshot_delete()


def test_a_volume_that_is_gone_leaves_nothing() -> None:
    cinder = Cinder()
    cinder.volume = None
    assert volume(cinder).handle_snapshot_delete() is None
