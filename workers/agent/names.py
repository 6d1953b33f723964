"""Names of instances and volumes: they become names of files and directories, so not every text will do."""

import re
from typing import Final

#: Of LVM the strictest: what begins with a hyphen is an option, what begins with a dot is hidden.
_NAME: Final = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_.+-]{0,126}")


def fault_of_name(name: str) -> str:
    """Return what is wrong with the name of an instance or a volume; empty: nothing."""
    if _NAME.fullmatch(name):
        return ""
    return f"expected a name of letters, digits and _ . + -, 127 characters at most, found {name[:140]!r}"
