"""How wide text is: the advance widths of Arial, which Liberation Sans and Helvetica share.

With them a drawing is typeset without a browser and comes out the same on every machine. A line's width is also written
into the SVG (``textLength``), so that a reader with another font sees the same line breaks and no text outside its box.
"""

from __future__ import annotations

from collections.abc import Iterable

_FIRST = 32
_REGULAR = (
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556,) * 10,
    *(278, 278, 584, 584, 584, 556, 1015),
    *(667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667),
    *(667, 611, 278, 278, 278, 469, 556, 333),
    *(556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500),
    *(500, 500, 334, 260, 334, 584),
)
_BOLD = (
    *(278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556,) * 10,
    *(333, 333, 584, 584, 584, 611, 975),
    *(722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667),
    *(667, 611, 333, 278, 333, 584, 556, 333),
    *(556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556),
    *(556, 500, 389, 280, 389, 584),
)
"""In thousandths of the font size, from the space to the tilde."""
_OTHERS = 1000
"""For any other letter: arrows, signs and wide scripts fit into it."""


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line of text, in the unit of ``size`` (the font size)."""
    widths = _BOLD if bold else _REGULAR
    places = (ord(letter) - _FIRST for letter in text)
    return sum(widths[place] if 0 <= place < len(widths) else _OTHERS for place in places) * size / 1000


def fill(pieces: Iterable[str], width: float, size: float, *, taken: float = 0.0) -> list[str]:
    """Set unbreakable pieces in lines no wider than ``width``, except where a single piece is.

    ``taken`` is not free on the first line, which is left empty where nothing fits beside it.
    """
    lines, line, free = list[str](), "", width - taken
    for piece in pieces:
        longer = f"{line} {piece}" if line else piece
        if (line or free < width) and text_width(longer, size) > free:
            lines.append(line)
            line, free = piece, width
        else:
            line = longer
    return [*lines, line] if line else lines
