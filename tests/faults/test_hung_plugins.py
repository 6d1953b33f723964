"""Plugins that hang for ever in real processes, or end them: they are replaced, and other stacks go on."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.errors import Conflict
from orchestrator.store import migrations
from tests.faults.installation import Installation
from tests.services.engine import running
from tests.unit.packages import install
from tests.waiting import until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
#: A resource type whose first step hangs for ever, however many processes there are; a mark says that it was there.
HANGING = """
    import os, threading
    from isotherm.resources import Resource

    class Hanging(Resource):
        def handle_create(self):
            try:
                os.close(os.open(os.environ["MARK"] + ".hung", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
            threading.Event().wait()
"""
#: A resource type whose creation takes its process down, each time.
DEADLY = """
    import os
    from isotherm.resources import Resource

    class Deadly(Resource):
        def handle_create(self):
            os._exit(1)
"""
#: A lifecycle plugin that hangs in both calls about stacks of some names, and notes the others.
WAITING = """
    import os, threading
    from isotherm.hooks import LifecyclePlugin

    class Waiting(LifecyclePlugin):
        time_limit_seconds = 1.0

        def do_pre_op(self, context, stack, current_stack, action):
            self.note("pre", stack)

        def do_post_op(self, context, stack, current_stack, action, is_stack_failure):
            self.note("post", stack)

        def note(self, call, stack):
            if stack.name.startswith("hangs"):
                threading.Event().wait()
            with open(os.environ["MARK"], "a") as marks:
                print(call, stack.name, file=marks)
"""
HANGS = "heat_template_version: 2021-04-16\nresources: {a: {type: Acme::Hanging}}\n"
KILLS = "heat_template_version: 2021-04-16\nresources: {a: {type: Acme::Deadly}, b: {type: OS::Heat::None}}\n"
FINE = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}}\n"
POOLS = {"prefork": (), "threads": ("--pool", "threads"), "solo": ("--pool", "solo")}


@pytest.fixture
def installation(tmp_path: Path, redis_url: str, postgres_url: str) -> Iterator[Installation]:
    """An installation of which nothing runs yet, with the types and plugins that hang."""
    packages = tmp_path / "packages"
    packages.mkdir()
    install(packages, "hanging", HANGING, {"isotherm.resources": ["Acme::Hanging = hanging:Hanging"]})
    install(packages, "deadly", DEADLY, {"isotherm.resources": ["Acme::Deadly = deadly:Deadly"]})
    install(packages, "waiting", WAITING, {"isotherm.lifecycle": ["waiting = waiting:Waiting"]})
    migrations.upgrade(postgres_url)
    installation = Installation(tmp_path, broker_url=redis_url, database_url=postgres_url)
    path = [str(packages), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    installation.environment |= {
        "PYTHONPATH": os.pathsep.join(path),
        "MARK": str(tmp_path / "mark"),
        "ISOTHERM_STEP_TIMEOUT_SECONDS": "1",
    }
    with installation.service:
        yield installation


@pytest.mark.parametrize("pool", POOLS)
def test_a_step_that_hangs_is_taken_over_and_its_process_is_replaced(
    installation: Installation, pool: str
) -> None:
    worker = installation._start("worker", "--name", "w1", "--concurrency", "1", *POOLS[pool])
    with running([installation.start("coordinator"), worker]) as installation.engines:
        try:
            _, hung = installation.engines
            installation.submit(HANGS)
            if pool != "prefork":
                # A supervisor starts it again, which knows it by its code.
                hung.expected_code = 75
                until(lambda: hung.process.poll() is not None)
                installation.start_another("w2")
            (stack,) = until(installation.service.stacks)
            assert installation.ended(stack.id).state == "CREATE_COMPLETE"
            # Nothing was lost but that one step.
            assert installation.ended(installation.create(FINE, "fine")).state == "CREATE_COMPLETE"
            assert installation.claimed_again() == 1
        finally:
            print(installation.log)
    (line,) = [each for each in hung.log.splitlines() if "a step hangs and is given up" in each]
    assert all(word in line for word in ("resource=a", "type=Acme::Hanging", "seconds="))


def test_a_step_that_takes_its_process_down_each_time_fails_and_can_be_deleted(
    installation: Installation,
) -> None:
    installation.environment |= {"ISOTHERM_LOST_ATTEMPT_LIMIT": "2"}
    engines = [installation.start("coordinator"), installation.start("w1")]
    with running(engines) as installation.engines:
        try:
            installation.submit(KILLS)
            (begun,) = until(installation.service.stacks)
            stack = installation.ended(begun.id)
            assert stack.state == "CREATE_FAILED"
            assert "resources.a: its worker was lost 2 times" in stack.reason
            rows = {row.name: row.state for row in installation.service.resources(stack.id)}
            assert rows == {"a": "CREATE_FAILED", "b": "CREATE_COMPLETE"}
            # The worker has new children, which take work.
            assert installation.ended(installation.create(FINE, "fine")).state == "CREATE_COMPLETE"
            installation.service.delete(stack.id)
            assert installation.ended(stack.id).state == "DELETE_COMPLETE"
        finally:
            print(installation.log)


def test_a_process_in_which_calls_of_a_plugin_hang_is_replaced_and_loses_no_operation(
    installation: Installation, tmp_path: Path
) -> None:
    # No order expires, and no job is delivered again, while the one process is replaced.
    installation.environment |= {
        "ISOTHERM_JOB_LEASE_SECONDS": "300",
        "ISOTHERM_SWEEP_SECONDS": "5",
        "ISOTHERM_NODE_STATE_CACHE__WATCH_SECONDS": "300",
    }
    coordinator = installation._start("coordinator", "--concurrency", "1")
    with running([coordinator, installation.start("w1")]) as installation.engines:
        try:
            for name in ("hangs-1", "hangs-2"):
                with pytest.raises(Conflict, match="'waiting': it has not answered within"):
                    installation.create(FINE, name)
            assert installation.ended(installation.create(FINE, "fine")).state == "CREATE_COMPLETE"
            until(lambda: "post fine" in (tmp_path / "mark").read_text())
            log = installation.engines[0].log
            assert log.count("a process in which third-party code hangs is replaced") == 2
        finally:
            print(installation.log)
