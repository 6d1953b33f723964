"""Workers are killed, and the broker loses everything, while a stack is being made."""

import pytest

from orchestrator.views.stacks import HookView
from tests.bench.shapes import SHAPES, template
from tests.faults.history import assert_made_once_and_in_order
from tests.faults.installation import Installation
from tests.faults.statement_stop import stop_before
from tests.waiting import until

pytestmark = pytest.mark.slow

#: How many resources the stack of layers has.
SIZE = 1000
FILES = 36


def files_template() -> str:
    """Return a template of files, each of which waits for another resource."""
    lines = ["heat_template_version: 2021-04-16", "resources:"]
    for number in range(FILES):
        content = f"{{get_attr: [text{number}, value]}}"
        lines += [
            f"  text{number}: {{type: 'OS::Heat::Value', properties: {{value: 'text {number}'}}}}",
            f"  file{number}: {{type: 'Isotherm::Node::File', properties: {{path: file{number}, content: {content}}}}}",
        ]
    return "\n".join([*lines, ""])


def test_a_dead_worker_and_an_emptied_broker_cost_a_stack_nothing_but_time(
    installation: Installation,
) -> None:
    last, released = f"r{SIZE - 1}", list[HookView]()

    def lose_messages() -> int:
        released.extend(installation.service.clear_hooks(stack_id, last))
        return installation.lose_messages()

    stack_id = installation.create(template("layers", SIZE), held=last)
    installation.until_done(stack_id, SIZE // 10)
    installation.engine("w1").kill()
    with installation.engine("w2").standing_still(), installation.engine("w3").standing_still():
        # A connection of theirs may take a message; the next one that is published stays. If all is done but the
        # resource that is held, it is that one's.
        until(lose_messages)
    if not released:
        installation.release(stack_id, last)
    assert installation.ended(stack_id).state == "CREATE_COMPLETE"
    requires = {
        f"r{number}": [f"r{other}" for other in SHAPES["layers"](number, SIZE)] for number in range(SIZE)
    }
    assert_made_once_and_in_order(installation.events(stack_id), requires)


def maker(installation: Installation) -> str | None:
    """Return a worker that has made a file and not recorded it, if there is one."""
    claimed = installation.claimed("Isotherm::Node::File")
    made = (worker for name, worker in claimed.items() if (installation.files / name).exists())
    return next(made, None)


def test_what_a_worker_had_made_when_it_died_is_not_made_again(installation: Installation) -> None:
    installation.start_agent()
    is_made = "NEW.type = 'Isotherm::Node::File' AND NEW.status = 'COMPLETE'"
    with stop_before(installation.settings.database_url, "resource", "UPDATE", is_made) as stop:
        stack_id = installation.create(files_template())
        installation.engine(until(lambda: maker(installation))).kill()
        stop.end()
    assert installation.ended(stack_id).state == "CREATE_COMPLETE"
    assert installation.claimed_again()
    requires: dict[str, list[str]] = {}
    for number in range(FILES):
        requires |= {f"text{number}": [], f"file{number}": [f"text{number}"]}
    assert_made_once_and_in_order(installation.events(stack_id), requires)
    written = {path.name: path.read_text() for path in installation.files.iterdir()}
    assert written == {f"file{number}": f"text {number}" for number in range(FILES)}
