"""Tests that hold a package to its contract: derive a class, name it ``Test...``, say what it is about, and run pytest.

::

    from isotherm.testing import ResourceConformance
    from shelf import Box

    class TestBox(ResourceConformance):
        type = Box
        properties = {"room": "attic", "label": "hats"}
        changes = {"label": "coats", "room": "cellar"}

``ResourceConformance``
    a resource type, in the real engine: crashes before and after each of its calls, calls that come twice or late,
    updates as its schema says, what is gone, what cannot be stored, and what its pages say
``ClientConformance``
    a client plugin: look-ups by name and id, what is not there, and errors
``LifecycleConformance``
    a lifecycle plugin: calls that come twice, each way in which an operation ends, previews that change nothing
``EventSinkConformance``
    an event sink: events that come again, and another process that goes on
``Engine``
    the engine that these tests use, with messages, a clock and crashes in your hands, for tests of your own
``Crash``
    what ends a process of that engine

The classes need no pytest to be imported: each test is a method, and what does not apply raises ``unittest.SkipTest``.
"""

from isotherm.testing.clients import ClientConformance
from isotherm.testing.engine import Crash, Engine
from isotherm.testing.hooks import EventSinkConformance, LifecycleConformance
from isotherm.testing.resources import ResourceConformance

__all__ = [
    "ClientConformance",
    "Crash",
    "Engine",
    "EventSinkConformance",
    "LifecycleConformance",
    "ResourceConformance",
]
