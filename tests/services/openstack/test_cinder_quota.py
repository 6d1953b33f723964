"""``OS::Cinder::Quota`` on a real block storage service."""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from tests.services.openstack.cloud import CloudConformance, connected
from workers.resources.openstack.cinder.quota import Quota


class TestQuota(CloudConformance):
    type = Quota
    is_shown = False
    cloud = "devcloud-admin"
    project: ClassVar[str]
    changes = {"volumes": 20, "snapshots": 5}

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _project(cls) -> Iterator[None]:
        identity: Any = connected(cls.cloud).identity
        cls.project = identity.create_project(name=f"quota-{uuid.uuid4().hex[:8]}").id
        yield
        identity.delete_project(cls.project)

    @property
    def properties(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"project": self.project, "volumes": 10, "gigabytes": 100}

    def objects(self) -> list[str]:
        path = f"/os-quota-sets/{self.project}"
        shown, defaults = (
            self.service().get(each).json()["quota_set"] for each in (path, f"{path}/defaults")
        )
        return ["limits"] if any(shown[name] != defaults[name] for name in ("volumes", "gigabytes")) else []

    def test_a_limit_that_is_no_longer_given_is_the_default(self) -> None:
        with self._engine() as engine:
            engine.create("s", self._template("snapshots"))
            path = f"/os-quota-sets/{self.project}"
            assert self.service().get(path).json()["quota_set"]["snapshots"] == 5
            engine.update("s", self._template())
            defaults = self.service().get(f"{path}/defaults").json()["quota_set"]
            assert self.service().get(path).json()["quota_set"]["snapshots"] == defaults["snapshots"]
            engine.delete("s")
