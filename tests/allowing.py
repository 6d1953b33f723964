"""The variables of an agent that allows everything, for tests in which something else is in question."""

import json
from pathlib import Path


def everything(*directories: Path) -> dict[str, str]:
    """Return them, with the directories of files and processes; where tests run as root, processes do, too."""
    return {
        "ISOTHERM_AGENT__COMMANDS": json.dumps(["*"]),
        "ISOTHERM_AGENT__RUN_AS": "root",
        "ISOTHERM_NODE_DIRECTORIES": json.dumps([str(each) for each in directories]),
    }
