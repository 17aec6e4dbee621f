"""The second half of ``hermit read``, a program of its own: the file that the host fetched is printed as text, a page
as Markdown, a PDF by its text. Long ones come in pieces.
"""

from __future__ import annotations

import json
import os
import re
import sys
from importlib import import_module

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # it is started by its path

from crab.reading.markdown import Page, read_page

PIECE = 15_000
"""Characters that are printed at once."""
MOST_BYTES = 3_000_000
"""Of a page; what comes after them is left out."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CHARSET = re.compile(rb"""charset=["']?([A-Za-z0-9_-]{2,30})""")


class NotReadable(Exception):
    """It can't be read; the text is a sentence."""


def main(arguments: list[str]) -> int:
    """``FILE ADDRESS FROM text|links|json``; the exit code, a sentence on stderr."""
    file, address, start, form = arguments
    try:
        page = read_file(file, address, with_links=form != "text")
        if form == "json":
            told = json.dumps({"title": page.title, "text": page.text, "links": page.links}, ensure_ascii=False)
        else:
            told = cut_piece(page.title, write_text(page), int(start))
    except NotReadable as error:
        os.write(2, f"hermit: {error}\n".encode("utf-8", "replace"))
        return 1
    sys.stdout.buffer.write(f"{told}\n".encode("utf-8", "replace"))
    return 0


def read_file(path: str, address: str, *, with_links: bool) -> Page:
    """What lies there says. Raises NotReadable."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES)
    except OSError as error:
        raise NotReadable(f"{path}: {error.strerror}.") from None
    if data.startswith(b"%PDF-"):
        return Page("", _read_pdf(path), [])
    if b"\0" in data[:4_096] and not data.startswith(_UTF16):
        raise NotReadable(f"{path} is no page and no text. It stays there as it came.")
    text = decode_text(data)
    if not is_page(text):
        return Page("", text, [])
    page = read_page(text, address, with_links=with_links)
    if not page.text.strip():
        raise NotReadable(
            f"the page says nothing without its scripts; `hermit read --browser` runs them. Its HTML is {path}."
        )
    return page


def write_text(page: Page) -> str:
    """Its text, with the addresses of its links below."""
    listed = [f"[{number}] {link}" for number, link in enumerate(page.links, start=1)]
    return "\n\n".join([page.text, "\n".join(listed)]) if listed else page.text


def cut_piece(title: str, text: str, start: int) -> str:
    """A piece of the text from this character on, with how to get the next. Raises NotReadable."""
    if start >= max(len(text), 1):
        raise NotReadable(f"it has {len(text):,} characters; there is nothing from {start:,} on.")
    end = len(text)
    if end - start > PIECE:
        end = start + PIECE
        line = text.rfind("\n", start + PIECE // 2, end)
        end = line + 1 if line > 0 else end
    head = [f"# {title}", ""] if title and start == 0 else []
    foot = ["", f"[{end:,} of {len(text):,} characters. Go on with --from {end}]"] if end < len(text) else []
    return "\n".join([*head, text[start:end].strip("\n"), *foot])


def decode_text(data: bytes) -> str:
    """The text as the page says it is written, else as UTF-8."""
    if data.startswith(_UTF16):
        return data.decode("utf-16", "replace")
    named = _CHARSET.search(data[:4_096])
    for encoding in (*([named[1].decode("ascii")] if named else []), "utf-8", "cp1252"):
        try:
            return data.decode(encoding)
        except (LookupError, UnicodeDecodeError):
            continue
    return data.decode("utf-8", "replace")


def is_page(text: str) -> bool:
    """It is HTML rather than text."""
    head = text[:2_000].lower()
    return "<html" in head or "<!doctype html" in head or ("<body" in head) or ("<p" in head and "</" in head)


def _read_pdf(path: str) -> str:
    try:
        pypdf = import_module("pypdf")
    except ImportError:
        raise NotReadable(f"{path} is a PDF. Ask for pypdf by 'hermit install pip pypdf', then read again.") from None
    try:
        pages = [page.extract_text() for page in pypdf.PdfReader(path).pages]
    except (pypdf.errors.PyPdfError, ValueError, KeyError, RecursionError, OSError) as error:
        raise NotReadable(f"{path} is a PDF that can't be read: {error}") from None
    text = "\n\n".join(f"[page {number}]\n{page}" for number, page in enumerate(pages, start=1) if page.strip())
    if not text:
        raise NotReadable(f"{path} is a PDF without text, perhaps of pictures.")
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
