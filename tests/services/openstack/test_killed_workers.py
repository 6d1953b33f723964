"""A worker is killed at the boundaries of its calls, and the services then have neither too much nor too little."""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.model.messages import StackJob
from orchestrator.store import migrations
from orchestrator.views.stacks import StackView
from tests.faults.installation import STACK, Installation
from tests.services.engine import running
from tests.services.openstack.call_boundaries import Boundaries
from tests.services.openstack.cloud import connected, own_file, whole
from tests.services.openstack.outside import Inside, inside, outside
from tests.services.openstack.stacks import FLAVOR, IMAGE, furnished
from tests.waiting import until

pytestmark = [pytest.mark.devcloud, pytest.mark.slow]

__all__ = ["inside", "outside"]

Properties = Callable[[Inside, str], Mapping[str, Any]]
#: By type: the properties of a resource; a replacement wants what the resource before it has.
PROPERTIES: Final[Mapping[str, Properties]] = {
    "OS::Neutron::Port": lambda there, _: {
        "network": there.network,
        "fixed_ips": [{"subnet": there.subnets[1], "ip_address": "10.5.0.77"}],
    },
    "OS::Neutron::RouterInterface": lambda there, _: {"router": there.router, "subnet": there.subnets[1]},
    "OS::Neutron::FloatingIP": lambda there, outside: {
        "floating_network": outside,
        "port_id": there.ports[0],
    },
    "OS::Cinder::Volume": lambda *_: {"size": 1, "metadata": {"part": "data"}},
    "OS::Nova::Server": lambda there, _: {
        "image": IMAGE,
        "flavor": FLAVOR,
        "networks": [{"port": there.ports[1]}, {"subnet": there.subnets[1]}],
    },
}
NAME: Final = "it"


class Attacked:
    """An installation with one worker, which is killed at calls and started again."""

    def __init__(self, installation: Installation, type_name: str, properties: Mapping[str, Any]) -> None:
        self._installation = installation
        resources = {NAME: {"type": type_name, "properties": properties}}
        self._template = json.dumps({"heat_template_version": "2021-04-16", "resources": resources})
        self.boundaries = Boundaries(self._kill)

    def create(self) -> StackView:
        """Create the stack; return it when that is over."""
        return self._through(self._installation.service.create(self._job()).id)

    def replace(self) -> StackView:
        """Replace the resource by one just like it; return the stack when that is over."""
        self._installation.service.mark_unhealthy(STACK, NAME)
        return self._through(self._installation.service.update(self._job()).id)

    def delete(self) -> StackView:
        """Delete the stack; return it when that is over."""
        deleted = self._installation.service.delete(STACK)
        assert deleted is not None
        return self._through(deleted.id)

    def _job(self) -> StackJob:
        return StackJob(name=STACK, template=self._template)

    def _kill(self) -> None:
        self._installation.engines[-1].kill()

    def _through(self, stack_id: str) -> StackView:
        def over() -> StackView | None:
            progress = self._installation.service.progress(stack_id)
            return progress.stack if progress.finished else None

        ended = until(lambda: over() or self.boundaries.killed)
        if self.boundaries.killed:
            self._installation.start_another("w1")
            ended = until(over)
        assert isinstance(ended, StackView)
        return ended


@pytest.fixture(params=PROPERTIES)
def attacked(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    redis_url: str,
    postgres_url: str,
    inside: Inside,
    outside: Any,
) -> Iterator[Attacked]:
    """Give an installation for a stack of one resource of a type."""
    migrations.upgrade(postgres_url)
    clients = {"openstack": {"cloud": "devcloud", "config_file": own_file()}}
    installation = Installation(tmp_path, broker_url=redis_url, database_url=postgres_url, clients=clients)
    attacked = Attacked(installation, request.param, PROPERTIES[request.param](inside, outside.id))
    coordinator = installation.start("coordinator")
    installation.environment |= {"http_proxy": attacked.boundaries.url, "no_proxy": "", "NO_PROXY": ""}
    with furnished(), installation.service:
        processes = [coordinator, installation.start("w1")]
        with running(processes) as installation.engines:
            yield attacked
            # Shown where a test failed.
            print(installation.log)
    attacked.boundaries.end()


def test_a_killed_worker_leaves_neither_a_second_object_nor_an_orphan(attacked: Attacked) -> None:
    cloud = connected("devcloud")
    before = whole(cloud)
    attacked.create()
    amount = len(whole(cloud) - before)
    assert amount, "nothing was made"
    attacked.delete()
    assert whole(cloud) == before
    killed: list[str] = []
    for number in count():
        once = len(killed)
        for after in (False, True):
            for act, state, left in (
                (attacked.create, "CREATE_COMPLETE", amount),
                (attacked.replace, "UPDATE_COMPLETE", amount),
                (attacked.delete, "DELETE_COMPLETE", 0),
            ):
                attacked.boundaries.choose(number, after=after)
                ended = act()
                words = f"{act.__name__}, killed {attacked.boundaries.killed or 'at no call'}"
                killed += [words] if attacked.boundaries.killed else []
                attacked.boundaries.forget()
                assert ended.state == state, f"{words}: {ended.state}: {ended.reason}"
                there = whole(cloud) - before
                assert len(there) == left, f"{words}: there are {sorted(there)}, and there are to be {left}"
        if len(killed) == once:
            break
    print(*killed, sep="\n")
    assert {each.split(",")[0] for each in killed} == {"create", "replace", "delete"}
