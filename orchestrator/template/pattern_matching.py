"""The process that matches regular expressions; see :mod:`orchestrator.sandbox.process`.

A question is a map with a pattern, and with the text that it must match as a whole; the answer says whether it does.
Without a text, only the pattern is compiled, and the answer is null.
"""

import re
import sys
from typing import Any, Final

from orchestrator.sandbox.child import Fault, serve

#: Why there is no answer: the pattern is no regular expression. The detail says what is wrong with it.
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
