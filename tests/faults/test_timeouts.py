"""What nobody ends by itself is ended by the stack's time-out, and can be deleted then."""

import json

import pytest

from tests.faults.installation import STACK, Installation

pytestmark = pytest.mark.slow

#: The condition alone would wait for ten minutes.
NEVER_SIGNALLED = """\
heat_template_version: 2021-04-16
resources:
  page: {type: Isotherm::Node::File, properties: {path: page, content: text}}
  handle: {type: OS::Heat::WaitConditionHandle, depends_on: page}
  condition:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, timeout: 600}
  behind: {type: OS::Heat::None, depends_on: condition}
"""
#: Six seconds, in minutes: on a busy machine the agent takes some of them for the page, and again to take it away.
TIMEOUT = "0.1"


def states(installation: Installation) -> dict[str, str]:
    return {each.name: each.state for each in installation.service.resources(STACK)}


def test_a_stack_that_nobody_signals_times_out_and_can_be_deleted(installation: Installation) -> None:
    installation.start_agent()
    template = installation.directory / "never.yaml"
    template.write_text(NEVER_SIGNALLED)
    created = installation.isotherm("stack", "create", STACK, "-t", str(template), "--timeout", TIMEOUT)
    assert created.returncode == 1, created
    assert f"Stack CREATE timed out after {TIMEOUT} minutes" in created.stderr
    assert states(installation) == {
        "page": "CREATE_COMPLETE",
        "handle": "CREATE_COMPLETE",
        "condition": "CREATE_FAILED",
        "behind": "INIT_COMPLETE",
    }
    assert (installation.files / "page").read_text() == "text"
    deleted = installation.isotherm("stack", "delete", STACK, "--yes")
    assert deleted.returncode == 0, deleted
    assert list(installation.files.iterdir()) == []
    assert json.loads(installation.isotherm("stack", "list", "-f", "json").stdout) == []
