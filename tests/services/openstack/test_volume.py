"""``OS::Cinder::Volume`` on a real block storage service."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from isotherm.testing import Engine
from orchestrator.model.messages import DeleteSnapshotJob, RestoreJob, SnapshotJob
from orchestrator.views.stacks import StackView
from tests.services.openstack.cloud import CloudConformance, connected
from tests.services.openstack.servers import servers
from workers.resources.openstack.cinder.volume import Volume
from workers.resources.openstack.tokens import with_token


class TestVolume(CloudConformance):
    type = Volume
    # The cloud for tests has no backups: those of deletions are tested with a volume service in memory.
    test_a_crash_of_a_deletion_leaves_one_snapshot_where_one_is_wanted = None  # type: ignore[assignment]
    name = f"volume-{uuid.uuid4().hex[:8]}"
    properties = {"name": name, "size": 1, "metadata": {"a": "1", "b": "2"}}
    changes = {"metadata": {"b": "3"}}
    # A crash comes after every look: few of them are enough.
    poll_seconds = 0.3

    def objects(self) -> list[str]:
        volumes = self.service().get("/volumes/detail").json()["volumes"]
        return [each["id"] for each in volumes if each["name"] == self.name]


class TestGrowingVolume(TestVolume):
    """It grows in place; going back makes another."""

    lives = False
    changes = {"size": 2}


def template(**properties: Any) -> str:
    resources = {"it": {"type": "OS::Cinder::Volume", "properties": properties}}
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


def state_of(stack: StackView | None) -> str:
    """Return the state, with the reason of a failure."""
    assert stack is not None
    return f"{stack.state} {stack.reason}" if stack.status == "FAILED" else stack.state


class Cloud:
    """The service, and an engine with one stack at most."""

    def __init__(self, case: TestVolume, engine: Engine) -> None:
        self.engine = engine
        self.volumes = case.service()

    def id(self) -> str:
        return str(self.engine.resource("s", "it").physical_id)

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.volumes.get(f"/volumes/{self.id()}").json()["volume"]
        return shown

    def run(self, job: Any) -> str:
        stack = self.engine._run(job, "s", {})
        return state_of(stack)

    def create(self, **properties: Any) -> str:
        stack = self.engine.create("s", template(**properties))
        return state_of(stack)

    def update(self, **properties: Any) -> str:
        stack = self.engine.update("s", template(**properties))
        return state_of(stack)


pytestmark = TestVolume.pytestmark


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    case = TestVolume()
    engine = Engine({"OS::Cinder::Volume": Volume}, settings=case.settings, poll_seconds=0.2)
    try:
        yield Cloud(case, engine)
        if engine.store.stacks.all(project="default"):
            assert engine.delete("s") is None
    finally:
        engine.close()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with servers(1) as made:
        yield made[0]


def attach(cloud: Cloud, server: str) -> Any:
    compute = TestVolume().service("compute")
    compute.create_volume_attachment(server, volume_id=cloud.id())
    volume = cloud.volumes.get_volume(cloud.id())
    cloud.volumes.wait_for_status(volume, "in-use", interval=0.2, wait=60)
    return compute


def detach(cloud: Cloud, compute: Any, server: str) -> None:
    compute.delete_volume_attachment(server, cloud.id())
    volume = cloud.volumes.get_volume(cloud.id())
    cloud.volumes.wait_for_status(volume, "available", interval=0.2, wait=60)


def test_its_name_and_description_are_those_given_and_its_token_is_the_rows(cloud: Cloud) -> None:
    assert cloud.create(size=1, description="mine") == "CREATE_COMPLETE"
    row = cloud.engine.resource("s", "it")
    assert cloud.show()["description"] == with_token("mine", row.id)
    assert cloud.show()["name"].startswith("s-it-")


def test_it_grows_while_it_is_attached(cloud: Cloud, server: str) -> None:
    assert cloud.create(size=1) == "CREATE_COMPLETE"
    compute = attach(cloud, server)
    was = cloud.id()
    assert cloud.update(size=3) == "UPDATE_COMPLETE"
    assert cloud.id() == was
    assert (cloud.show()["size"], cloud.show()["status"]) == (3, "in-use")
    detach(cloud, compute, server)


def test_it_is_detached_meanwhile_where_the_service_demands_it(cloud: Cloud, server: str) -> None:
    assert cloud.create(size=1) == "CREATE_COMPLETE"
    compute = attach(cloud, server)
    assert cloud.update(size=1, read_only=True) == "UPDATE_COMPLETE"
    assert cloud.show()["status"] == "in-use"
    assert cloud.show()["metadata"]["readonly"] == "True"
    assert [each.id for each in compute.volume_attachments(server)]
    detach(cloud, compute, server)


def test_it_becomes_of_another_type_or_says_that_it_cannot(cloud: Cloud) -> None:
    admin: Any = connected("devcloud-admin").block_storage
    run = uuid.uuid4().hex[:8]
    first, second = (admin.create_type(name=f"{name}-{run}", is_public=True) for name in ("first", "second"))
    # The backend would have to move the volume.
    far = admin.create_type(name=f"far-{run}", is_public=True, extra_specs={"volume_backend_name": "none"})
    try:
        assert cloud.create(size=1, volume_type=first.name) == "CREATE_COMPLETE"
        was = cloud.id()
        assert cloud.update(size=1, volume_type=second.id) == "UPDATE_COMPLETE"
        assert (cloud.id(), cloud.show()["volume_type"]) == (was, second.name)
        # By its name it is the same type.
        assert cloud.update(size=1, volume_type=second.name) == "UPDATE_COMPLETE"
        assert "it could not be of type" in cloud.update(size=1, volume_type=far.name)
        assert (cloud.id(), cloud.show()["status"]) == (was, "available")
        assert cloud.engine.delete("s") is None
    finally:
        for each in (first, second, far):
            admin.delete_type(each)


def test_a_smaller_one_replaces_it(cloud: Cloud) -> None:
    assert cloud.create(size=2) == "CREATE_COMPLETE"
    was = cloud.id()
    assert cloud.update(size=1) == "UPDATE_COMPLETE"
    assert cloud.id() != was
    assert cloud.show()["size"] == 1
    assert cloud.volumes.get(f"/volumes/{was}").status_code == 404


def test_metadata_is_replaced_as_a_whole_and_numbers_become_texts(cloud: Cloud) -> None:
    assert cloud.create(size=1, read_only=True, metadata={"a": 1, "b": True}) == "CREATE_COMPLETE"
    assert cloud.show()["metadata"] == {"a": "1", "b": "True", "readonly": "True"}
    assert state_of(cloud.engine.operate("CHECK", "s")) == "CHECK_COMPLETE"
    assert cloud.update(size=1, read_only=False, metadata={"c": "x"}) == "UPDATE_COMPLETE"
    assert cloud.show()["metadata"] == {"c": "x", "readonly": "False"}


def test_it_is_copied_from_a_volume_and_from_a_snapshot(cloud: Cloud) -> None:
    assert cloud.create(size=2) == "CREATE_COMPLETE"
    snapshot = cloud.volumes.create_snapshot(volume_id=cloud.id())
    cloud.volumes.wait_for_status(snapshot, "available", interval=0.2, wait=60)
    for name, source in (("source_volid", cloud.id()), ("snapshot_id", snapshot.id)):
        other = Engine({}, settings=TestVolume().settings, poll_seconds=0.2)
        try:
            assert state_of(other.create("other", template(**{name: source}))) == "CREATE_COMPLETE"
            copy = other.resource("other", "it").physical_id
            shown = cloud.volumes.get(f"/volumes/{copy}").json()["volume"]
            assert (shown[name], shown["size"]) == (source, 2)
            assert other.delete("other") is None
        finally:
            other.close()
    # A snapshot that the stack did not make is not deleted with the volume.
    assert "it has snapshots that this resource did not make" in state_of(cloud.engine.delete("s"))
    cloud.volumes.delete_snapshot(snapshot)
    cloud.volumes.wait_for_delete(snapshot, interval=0.2, wait=60)


@pytest.mark.parametrize(
    "properties",
    [{}, {"image": "x"}, {"size": 1, "snapshot_id": "a", "source_volid": "b"}],
    ids=["nothing", "image-without-size", "two-sources"],
)
def test_impossible_sources_are_refused(properties: dict[str, Any]) -> None:
    from orchestrator.plugins.properties import PropertyError

    given = {**dict.fromkeys(Volume.properties_schema), **properties}
    with pytest.raises(PropertyError):
        Volume.validate(given)


@pytest.fixture(scope="module")
def backups() -> bool:
    """Whether the cloud has a backup service."""
    services = connected("devcloud-admin").block_storage.services()
    return any(each.binary == "cinder-backup" and each.state == "up" for each in services)


def test_a_backup_is_restored_into_a_new_volume_and_into_one_that_is_attached(
    cloud: Cloud, server: str, backups: bool
) -> None:
    if not backups:
        pytest.skip("the cloud has no backup service")
    volume = cloud.volumes.create_volume(size=1)
    cloud.volumes.wait_for_status(volume, "available", interval=0.2, wait=60)
    made = [cloud.volumes.create_backup(volume_id=volume.id, name="test-1")]
    cloud.volumes.wait_for_status(made[0], "available", interval=0.5, wait=60)
    made.append(cloud.volumes.create_backup(volume_id=volume.id, name="test-2"))
    cloud.volumes.wait_for_status(made[1], "available", interval=0.5, wait=60)
    try:
        assert cloud.create(backup_id="test-1", name="restored") == "CREATE_COMPLETE"
        assert (cloud.show()["size"], cloud.show()["name"]) == (1, "restored")
        was, compute = cloud.id(), attach(cloud, server)
        assert cloud.update(backup_id="test-2", name="restored") == "UPDATE_COMPLETE"
        assert (cloud.id(), cloud.show()["status"]) == (was, "in-use")
        assert cloud.engine.resource("s", "it").data == {"restored_backup": made[1].id}
        detach(cloud, compute, server)
    finally:
        for backup in made:
            cloud.volumes.delete_backup(backup)
        for backup in made:
            cloud.volumes.wait_for_delete(backup, interval=0.5, wait=60)
        cloud.volumes.delete_volume(volume)


def test_a_snapshot_of_the_stack_is_a_backup_where_there_is_a_service_for_it(
    cloud: Cloud, backups: bool
) -> None:
    if not backups:
        pytest.skip("the cloud has no backup service")
    assert cloud.create(size=1) == "CREATE_COMPLETE"
    was = cloud.id()
    assert cloud.run(SnapshotJob(name="s", snapshot="first")) == "SNAPSHOT_COMPLETE"
    found = cloud.volumes.get("/backups/detail", params={"volume_id": was}).json()["backups"]
    assert [each["status"] for each in found] == ["available"]
    # The backup outlives the volume, and is restored into its replacement.
    assert cloud.update(size=2) == "UPDATE_COMPLETE"
    assert cloud.run(RestoreJob(name="s", snapshot="first")) == "RESTORE_COMPLETE"
    assert cloud.id() != was
    assert (cloud.show()["size"], cloud.show()["status"]) == (1, "available")
    cloud.run(DeleteSnapshotJob(name="s", snapshot="first"))
    left = cloud.volumes.get("/backups/detail", params={"volume_id": was}).json()["backups"]
    assert [each["status"] for each in left] in ([], ["deleting"])


def test_a_snapshot_of_the_stack_can_be_restored_and_deleted(cloud: Cloud, backups: bool) -> None:
    if backups:
        pytest.skip("the cloud has a backup service")
    assert cloud.create(size=1, metadata={"a": "1"}) == "CREATE_COMPLETE"
    was = cloud.id()
    assert cloud.run(SnapshotJob(name="s", snapshot="first")) == "SNAPSHOT_COMPLETE"
    snapshots = cloud.volumes.get("/snapshots/detail", params={"volume_id": was}).json()["snapshots"]
    assert [each["status"] for each in snapshots] == ["available"]
    assert cloud.run(RestoreJob(name="s", snapshot="first")) == "RESTORE_COMPLETE"
    assert (cloud.id(), cloud.show()["status"]) == (was, "available")
    cloud.run(DeleteSnapshotJob(name="s", snapshot="first"))
    left = cloud.volumes.get("/snapshots/detail", params={"volume_id": was}).json()["snapshots"]
    assert [each["status"] for each in left] in ([], ["deleting"])
