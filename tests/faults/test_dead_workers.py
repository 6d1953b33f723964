"""Workers are killed, and the broker loses everything, while a stack is being made."""

import pytest

from tests.bench.shapes import SHAPES, template
from tests.faults.history import assert_made_once_and_in_order
from tests.faults.installation import Installation
from tests.waiting import until

pytestmark = pytest.mark.slow

#: How many resources the stack of layers has.
SIZE = 1000
FILES = 36


def files_template() -> str:
    """Return a template of files that each wait for a resource whose attribute keeps a worker busy for a while."""
    lines = ["heat_template_version: 2021-04-16", "resources:"]
    for number in range(FILES):
        busy = f"{{value: 'text {number}', attr_wait_secs: 0.2}}"
        content = f"{{get_attr: [busy{number}, output]}}"
        lines += [
            f"  busy{number}: {{type: 'OS::Heat::TestResource', properties: {busy}}}",
            f"  file{number}: {{type: 'Isotherm::Node::File', properties: {{path: f{number}, content: {content}}}}}",
        ]
    return "\n".join([*lines, ""])


def test_a_dead_worker_and_an_emptied_broker_cost_a_stack_nothing_but_time(
    installation: Installation,
) -> None:
    last = f"r{SIZE - 1}"
    stack_id = installation.create(template("layers", SIZE), held=last)
    installation.until_done(stack_id, SIZE // 10)
    installation.engine("w1").kill()
    with installation.engine("w2").standing_still(), installation.engine("w3").standing_still():
        # A connection of theirs may take a message; the next one that is published stays.
        installation.release(stack_id, last)
        until(installation.lose_messages)
    assert installation.ended(stack_id).state == "CREATE_COMPLETE"
    requires = {
        f"r{number}": [f"r{other}" for other in SHAPES["layers"](number, SIZE)] for number in range(SIZE)
    }
    assert_made_once_and_in_order(installation.events(stack_id), requires)


def test_what_a_worker_had_made_when_it_died_is_not_made_again(installation: Installation) -> None:
    installation.start_agent()
    stack_id = installation.create(files_template())
    installation.until_done(stack_id, FILES // 4)
    installation.engine("w1").kill()
    assert installation.ended(stack_id).state == "CREATE_COMPLETE"
    assert installation.claimed_again(), "the worker died with nothing in its hands"
    requires: dict[str, list[str]] = {}
    for number in range(FILES):
        requires |= {f"busy{number}": [], f"file{number}": [f"busy{number}"]}
    assert_made_once_and_in_order(installation.events(stack_id), requires)
    written = {path.name: path.read_text() for path in installation.files.iterdir()}
    assert written == {f"f{number}": f"text {number}" for number in range(FILES)}
