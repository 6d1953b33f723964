"""Delays: time passes, and nobody waits for it in a worker."""

from tests.scenarios.deaths import die_everywhere
from tests.scenarios.world import World
from workers.resources.core.delay import Delay

TYPES = {"OS::Heat::Delay": Delay}

TEMPLATE = """\
heat_template_version: wallaby
resources:
  first: {type: Cloud::Object}
  pause:
    type: OS::Heat::Delay
    depends_on: first
    properties: {min_wait: 60, max_jitter: 10, actions: [CREATE, DELETE]}
  second: {type: Cloud::Object, depends_on: pause}
"""


def deliver_all(world: World) -> None:
    while world.messages:
        world.deliver()


def test_what_depends_on_a_delay_starts_when_it_is_over() -> None:
    world = World(TYPES)
    began = world.now
    world.create(TEMPLATE)
    deliver_all(world)
    assert world.made_names() == ["first"]
    due = world.store.sweeper.next_due()
    assert due is not None
    assert 60 <= due <= 70
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.made_names() == ["first", "second"]
    assert 60 <= world.now - began <= 71


@die_everywhere
def test_whenever_a_worker_dies_the_delay_is_as_long(instruction: int) -> None:
    world = World(TYPES)
    began = world.now
    world.create(TEMPLATE)
    world.cloud.crash_after(instruction)
    world.survive(world.settle)
    world.cloud.crash_at = None
    assert "second" not in world.made_names() or world.now - began >= 60
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.made_names() == ["first", "second"]
    # Beyond the delay itself: until the lease of whoever died is over, and the message is sent again.
    assert 60 <= world.now - began <= 71 + 60 + 11


def test_a_deletion_waits_only_where_it_is_told_to() -> None:
    world = World(TYPES)
    stack_id = world.create(TEMPLATE)
    world.settle()
    began = world.now
    world.delete()
    deliver_all(world)
    assert world.unmade_names() == ["second"]
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert 60 <= world.now - began <= 71


def test_a_suspend_and_a_resume_wait_only_where_they_are_told_to() -> None:
    world = World(TYPES)
    world.create(TEMPLATE.replace("CREATE, DELETE", "SUSPEND"))
    deliver_all(world)
    assert world.state() == "CREATE_COMPLETE"
    began = world.now
    world.suspend()
    deliver_all(world)
    # What depends on it rests first, and what it depends on when it is over.
    assert world.cloud.log[-1] == ("suspend", "second")
    world.settle()
    assert world.state() == "SUSPEND_COMPLETE"
    assert world.cloud.log[-1] == ("suspend", "first")
    assert 60 <= world.now - began <= 71
    world.resume()
    deliver_all(world)
    assert world.state() == "RESUME_COMPLETE"


def test_an_update_of_a_delay_changes_what_comes_later_and_takes_no_time() -> None:
    world = World(TYPES)
    world.create(TEMPLATE)
    world.settle()
    began = world.now
    world.update(TEMPLATE.replace("min_wait: 60", "min_wait: 5").replace("max_jitter: 10", "max_jitter: 0"))
    deliver_all(world)
    assert world.state() == "UPDATE_COMPLETE"
    world.delete()
    world.settle()
    assert world.now - began <= 6
