"""Formulas (LaTeX) as MathML, which browsers draw by themselves. Pure.

latex2mathml reads the formula and makes a tree of elements. What it would write as text is not used: it leaves the
formula's own characters unescaped. The tree is written here, with a few elements and attributes and nothing else, and
no length in it is large.
"""

from __future__ import annotations

import re
from functools import lru_cache
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element
from markupsafe import escape

MAX_CHARS = 1_000
_MOST_ELEMENTS, _MOST_DEPTH = 3_000, 40
_TAGS = frozenset(
    ("menclose", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow", "mspace", "msqrt")
) | {"mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover"}
_LENGTH = r"[+-]?\d?(?:\.\d{1,4})?(?:em|ex)"
_VALUES = re.compile(
    rf"true|false|[0-2]|none|solid|dashed|left|right|center|prefix|postfix|infix|{_LENGTH}|[a-z-]{{1,24}}"
)
_ATTRIBUTES = frozenset(
    ("accent", "columnalign", "columnlines", "depth", "displaystyle", "fence", "form", "height", "largeop")
) | {"linethickness", "lspace", "mathvariant", "maxsize", "minsize", "movablelimits", "notation", "rowlines", "rspace"}
_KNOWN = _ATTRIBUTES | {"scriptlevel", "stretchy", "voffset", "width"}
_MACROS = re.compile(r"\\(?:\w*newcommand|\w*def|let|providecommand|DeclareMathOperator)")
_CODE_POINT = re.compile(r"&#x([0-9A-Fa-f]{1,6});")


@lru_cache(maxsize=512)
def render_formula(latex: str, *, is_block: bool) -> str | None:
    """The formula as a ``math`` element that is safe to put into a page; None when it is too long, defines commands of
    its own, or can't be read."""
    if len(latex) > MAX_CHARS or not latex.strip() or _MACROS.search(latex):
        return None
    try:
        tree = convert_to_element(latex, display="block" if is_block else "inline")
        pieces: list[str] = []
        for child in tree:
            _write(child, pieces, 0)
    except Exception:  # noqa: BLE001 - a stranger's formula breaks the library in ways that it does not name
        return None
    return f'<math display="{"block" if is_block else "inline"}">{"".join(pieces)}</math>'


def _write(element: Element, pieces: list[str], depth: int) -> None:
    """Raises ValueError for what is too large, or unknown."""
    if element.tag not in _TAGS or depth > _MOST_DEPTH or len(pieces) > _MOST_ELEMENTS * 3:
        raise ValueError(element.tag)
    attributes = "".join(
        f' {name}="{value}"'
        for name, value in element.attrib.items()
        if name in _KNOWN and all(map(_VALUES.fullmatch, value.split(" ")))
    )
    pieces.append(f"<{element.tag}{attributes}>{escape(_CODE_POINT.sub(_character, element.text or ''))}")
    for child in element:
        _write(child, pieces, depth + 1)
    pieces.append(f"</{element.tag}>")


def _character(found: re.Match[str]) -> str:
    """The character that the library names by its number."""
    number = int(found[1], 16)
    return chr(number) if 0xA0 <= number < 0xD800 or 0x20 <= number < 0x7F or 0x1D400 <= number < 0x1D800 else found[0]
