"""Words for what a value of settings or options is, where another type was expected."""

from typing import Final

_WORDS: Final = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    dict: "a table",
    list: "a list",
    tuple: "a list",
}


def type_word(value: object, otherwise: str = "") -> str:
    """Return what a value is, in words that show nothing of it; ``otherwise`` for other types."""
    return _WORDS.get(type(value), otherwise)
