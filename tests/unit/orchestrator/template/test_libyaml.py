"""PyYAML works in Python, too, after it was imported for libyaml's parser; only its patterns are compiled later."""

import subprocess
import sys

import pytest

TEXT = """
date: 2026-01-02
time: 2026-01-02t03:04:05.5Z
numbers: [1, 0x1F, 1.5e+3, 1:30, .inf]
flags: {a: yes, b: ~}
merged: {<<: {c: d}, e: "\\u00e9"}
"""

PROGRAM = """
import re, sys, threading
import orchestrator.template.reader
import yaml, yaml.reader
assert not isinstance(yaml.reader.Reader.NON_PRINTABLE, re.Pattern)
assert re.compile("a+") is re.compile("a+") and isinstance(re.compile("a+"), re.Pattern)
text = sys.argv[1]
in_python, in_c = yaml.load(text, yaml.SafeLoader), yaml.load(text, yaml.CSafeLoader)
assert in_python == in_c and len(in_c) == 5, in_python
assert yaml.safe_load(yaml.dump(in_c, Dumper=yaml.SafeDumper)) == in_c
try:
    yaml.safe_load("a: \\x01")
except yaml.reader.ReaderError:
    pass
else:
    raise AssertionError
"""


def carried_out(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program, TEXT], capture_output=True, text=True)
    return done.stderr


@pytest.mark.parametrize("before", ["", "import yaml\nassert yaml.safe_load('2026-01-02')\n"])
def test_python_reads_and_writes_what_libyaml_does(before: str) -> None:
    program = PROGRAM
    if before:
        program = before + program.replace("assert not isinstance(yaml", "assert isinstance(yaml")
    assert carried_out(program) == ""


def test_other_threads_compile_at_once_meanwhile() -> None:
    assert (
        carried_out("""
import re, threading
from orchestrator.template.libyaml import _compiling_on_demand
found = []
def compile():
    found.append(re.compile("b+"))
with _compiling_on_demand():
    thread = threading.Thread(target=compile)
    thread.start()
    thread.join()
    compile()
assert isinstance(found[0], re.Pattern) and not isinstance(found[1], re.Pattern)
assert found[1].fullmatch("bbb") and found[1].pattern == "b+"
""")
        == ""
    )
