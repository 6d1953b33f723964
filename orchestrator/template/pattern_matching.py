"""Child process that matches regular expressions; see :mod:`orchestrator.sandbox.process`.

A question is a map with a pattern and a text; the answer is whether the pattern matches the whole text. Without a text,
the pattern is only compiled, and the answer is null.
"""

import re
import sys
from typing import Any, Final

from orchestrator.sandbox.child import Fault, serve

#: The kind of fault for a pattern that is no regular expression; the detail is the compiler's message.
SYNTAX: Final = "syntax"


def answer(question: dict[str, Any]) -> bool | None:
    """Answer one question.

    Raises:
        Fault: the pattern is no regular expression.
    """
    try:
        pattern = re.compile(question["pattern"])
    except (re.error, OverflowError) as error:
        raise Fault(SYNTAX, str(error)[:200]) from error
    return pattern.fullmatch(question["text"]) is not None if "text" in question else None


if __name__ == "__main__":
    serve(answer, memory_mib=int(sys.argv[1]))
