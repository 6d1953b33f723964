"""Width of texts on a terminal: measured, shortened and padded in columns."""


def columns_of(text: str) -> int:
    """Return the width of a text in columns."""
    from rich.cells import cell_len

    return cell_len(text)


def shortened(text: str, width: int, *, ascii_only: bool = False) -> str:
    """Return a name in at most ``width`` columns; its middle is cut, because names differ at their ends."""
    from rich.cells import set_cell_size, split_graphemes

    if columns_of(text) <= width:
        return text
    gap = "~" if ascii_only else "…"
    spans, _ = split_graphemes(text)
    keep = width - 1
    head = set_cell_size(text, keep - keep // 2)
    tail = ""
    for start, end, _cells in reversed(spans):
        if columns_of(text[start:end] + tail) > keep // 2:
            break
        tail = text[start:end] + tail
    return head + gap + tail


def fitted(text: str, width: int, *, ascii_only: bool = False) -> str:
    """Return a name as :func:`shortened`, padded to exactly ``width`` columns."""
    from rich.cells import set_cell_size

    return set_cell_size(shortened(text, width, ascii_only=ascii_only), width)
