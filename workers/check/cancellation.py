"""What a plugin's method may raise, asyncio's cancellation included: most processes never import asyncio."""

import sys


def whatever_plugins_raise() -> tuple[type[BaseException], ...]:
    """Return the classes of what a plugin's method may raise and a thread of the engine survives.

    They are looked up while an exception is handled: if it is a ``CancelledError``, asyncio has been imported.
    """
    asyncio = sys.modules.get("asyncio.exceptions")
    return (Exception,) if asyncio is None else (Exception, asyncio.CancelledError)
