"""Parts of a page as Markdown: headings, paragraphs, lists, tables, code; links where they are asked for."""

from __future__ import annotations

from urllib.parse import urljoin

from crab.reading.article import find_article
from crab.reading.tree import BLOCKS, DROPPED, Node, parse_page, prune_tree

_ENOUGH = 500
"""So many characters make an article; with less one looks again, less strictly."""
_TRIES = (
    (DROPPED, True),
    (DROPPED, False),
    (DROPPED - {"form", "header", "aside", "section"}, False),
)
"""What is left out, and whether a part's own marks count against it."""
_MAY_BE_LINKS = frozenset({"div", "section", "ul", "ol", "li", "header", "figure"})
_LISTS = frozenset({"ul", "ol"})


class Page:
    """What a page says."""

    __slots__ = ("links", "text", "title")

    def __init__(self, title: str, text: str, links: list[str]) -> None:
        self.title, self.text = title, text
        self.links = links
        """Addresses, in the order of their numbers in the text, from 1."""


def read_page(html: str, base: str = "", *, with_links: bool = False) -> Page:
    """The part of the page that is meant to be read. ``base`` is its address, for links that don't name their host."""
    title, found = "", Page("", "", [])
    for dropped, by_marks in _TRIES:
        title, root = parse_page(html)
        prune_tree(root, dropped, by_marks=by_marks)
        writer = MarkdownWriter(base, with_links=with_links)
        for part in find_article(root):
            writer.write(part)
        text = "\n\n".join(writer.lines)
        if not found.text or (len(text) > max(_ENOUGH, 3 * len(found.text))):
            found = Page(title, text, writer.links)
        if len(found.text) >= _ENOUGH:
            break
    return Page(title, found.text, found.links)


class MarkdownWriter:
    """Writes elements down, a block a line."""

    def __init__(self, base: str, *, with_links: bool, links: list[str] | None = None) -> None:
        self.lines: list[str] = []
        self.links: list[str] = [] if links is None else links
        self._base, self._with_links = base, with_links
        self._line: list[str] = []

    def write(self, node: Node) -> None:
        """The element's inside, and the end of its last line."""
        self._write_inside(node)
        self._end_line()

    def _end_line(self, prefix: str = "") -> None:
        text = " ".join("".join(self._line).split())
        self._line = []
        if text:
            self.lines.append(prefix + text)

    def _write_inside(self, node: Node) -> None:
        for kid in node.kids:
            if isinstance(kid, str):
                self._line.append(kid)
            elif kid.tag == "br":
                self._end_line()
            elif kid.tag in BLOCKS:
                self._write_block(kid)
            elif kid.tag == "a":
                self._write_link(kid)
            elif kid.tag != "img":
                self._write_inside(kid)

    def _write_block(self, node: Node) -> None:
        if _is_menu(node) or _is_caption(node):
            return
        self._end_line()
        begin = len(self.lines)
        if node.tag == "pre":
            self.lines.append("```\n" + node.text().strip("\n") + "\n```")
        elif node.tag == "tr":
            self._write_row(node)
        elif node.tag[0] == "h" and node.tag[1:].isdigit():
            self._write_inside(node)
            self._end_line("#" * int(node.tag[1]) + " ")
        else:
            self.write(node)
            if node.tag == "li" and len(self.lines) > begin:
                self.lines[begin] = f"- {self.lines[begin]}"

    def _write_row(self, row: Node) -> None:
        cells = []
        for cell in row.elements:
            writer = MarkdownWriter(self._base, with_links=self._with_links, links=self.links)
            writer.write(cell)
            cells.append(" ".join(writer.lines))
        if any(cells):
            self.lines.append("| " + " | ".join(cells) + " |")

    def _write_link(self, node: Node) -> None:
        self._write_inside(node)
        address = self._address_of(node) if self._with_links else ""
        if address:
            if address not in self.links:
                self.links.append(address)
            self._line.append(f" [{self.links.index(address) + 1}]")

    def _address_of(self, node: Node) -> str:
        try:
            address = urljoin(self._base, node.attributes.get("href", "").strip())
        except ValueError:
            return ""
        return address if address.startswith(("http://", "https://")) and address.isprintable() else ""


def _is_menu(node: Node) -> bool:
    """Mostly links, and little beside them."""
    if node.tag not in _MAY_BE_LINKS or not node.characters:
        return False
    return (node.density > 0.6 and node.characters < 1_500) or (node.tag in _LISTS and node.density > 0.5)


def _is_caption(node: Node) -> bool:
    has_code = any(kid.tag == "pre" for kid in node.elements)
    return node.tag == "figcaption" or (node.tag == "figure" and node.characters < 300 and not has_code)
