"""Names in as many columns of a terminal as there are for them."""


def columns_of(text: str) -> int:
    """Return how many columns a text takes."""
    from rich.cells import cell_len

    return cell_len(text)


def shortened(text: str, width: int, *, ascii_only: bool = False) -> str:
    """Return a name in at most so many columns; one that is too long loses its middle, for its end tells it apart."""
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
    """Return a name as :func:`shortened`, in exactly so many columns."""
    from rich.cells import set_cell_size

    return set_cell_size(shortened(text, width, ascii_only=ascii_only), width)
