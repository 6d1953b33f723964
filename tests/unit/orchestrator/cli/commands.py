"""Commands that tests run: in this process, as a process of their own, or on a terminal; and templates for them."""

import os
import pty
import subprocess
import sys

from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm

TEMPLATE = """\
heat_template_version: 2021-04-16
description: Two that depend on each other
parameters:
  word: {type: string, default: hello}
  password: {type: string, hidden: true, default: s3cret}
resources:
  first:
    type: OS::Heat::TestResource
    properties: {value: {get_param: word}}
  second:
    type: OS::Heat::TestResource
    properties: {value: {get_attr: [first, output]}}
outputs:
  said:
    description: What was said
    value: {get_attr: [second, output]}
"""


FAILING = """\
heat_template_version: 2021-04-16
resources:
  good: {type: OS::Heat::TestResource}
  bad:
    type: OS::Heat::TestResource
    properties: {fail: true}
"""


WAITING = """\
heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  condition:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, timeout: 60}
outputs:
  told: {value: {get_attr: [condition, data]}}
"""


WRONG = """\
heat_template_version: 2021-04-16
resources:
  first:
    type: OS::Heat::TestResorce
  second:
    type: OS::Heat::TestResource
  third:
    type: OS::Heat::Nonee
"""


def run(*words: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(isotherm, list(words), prog_name="isotherm")


def start(*words: str, **streams: int) -> "subprocess.Popen[str]":
    """Start a command as a process of its own."""
    command = [sys.executable, "-m", "orchestrator.cli.main", *words]
    return subprocess.Popen(command, text=True, **streams)  # type: ignore[call-overload, no-any-return]  # streams are file descriptors


def on_terminal(*words: str) -> tuple[int, str]:
    """Run a command on a terminal; return its exit code and all that it wrote."""
    ours, theirs = pty.openpty()
    process = start(*words, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b"".join(iter(lambda: read_all(ours), b""))
    os.close(ours)
    return process.wait(), written.decode()


def read_all(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says this, and not an empty read, once the last process has closed its end
        return b""
