"""Names of instances and volumes, which become names of files and directories and are restricted accordingly."""

import re
from typing import Final

#: LVM's rules, the strictest: a leading hyphen would make an option, a leading dot a hidden file.
_NAME: Final = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_.+-]{0,126}")


def fault_of_name(name: str) -> str:
    """Return the fault of a name of an instance or a volume; empty: none."""
    if _NAME.fullmatch(name):
        return ""
    return f"expected a name of letters, digits and _ . + -, 127 characters at most, found {name[:140]!r}"
