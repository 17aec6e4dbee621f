"""A page's HTML as a tree: lenient as browsers are, bounded in depth and number, and without what nobody reads."""

from __future__ import annotations

import re
from html.parser import HTMLParser

MOST_NODES = 200_000
MOST_DEPTH = 300
_LOOKS_UP = 60
"""So far up one looks for what an end tag closes."""


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


VOID = _set_of("area base br col embed hr img input link meta param source track wbr")
BLOCKS = _set_of(
    "p div section article main li ul ol dl dt dd table tr td th pre blockquote h1 h2 h3 h4 h5 h6 figure figcaption "
    "header details summary hr br body"
)
DROPPED = _set_of(
    "script style noscript template svg canvas iframe object embed form button input select textarea nav aside footer "
    "dialog head video audio map"
)
"""Elements whose text is no part of what a page says."""
_ENDS_PARAGRAPH = BLOCKS - {"br", "summary", "td", "th", "tr"}
_INLINE = frozenset({"p", "a", "b", "i", "em", "strong", "span"})
_CLOSE_THEIR_LIKE = frozenset({"li", "tr", "td", "th", "dt", "dd"})
_KEPT_ATTRIBUTES = frozenset(
    {"class", "id", "href", "src", "alt", "role", "hidden", "style", "itemprop", "aria-hidden"}
)
_HIDDEN_ROLES = frozenset({"navigation", "banner", "complementary", "contentinfo", "dialog", "search"})
_ASIDE = re.compile(
    r"(^|[\s_-])(comments?|disqus|share|sharing|social|related|recommend\w*|promo\w*|sponsor\w*|newsletter|subscribe|"
    r"subscription|signup|sign-up|breadcrumbs?|sidebar|footer|foot|menu|nav|navbar|navigation|masthead|banner|ads?|"
    r"advert\w*|cookie\w*|consent|popup|modal|overlay|paywall|pagination|pager|tags?|byline|author-bio|bio|widget|"
    r"outbrain|taboola|trending|popular|most-read|more-stories|read-?more|skip|hidden|sr-only|visually-hidden|toolbar|"
    r"tools|meta|credit|print-only|jump|onward\w*|teaser\w*|caption-credit)([\s_-]|$)",
    re.IGNORECASE,
)
_BODY_TEXT = re.compile(r"article|story|entry|post-?(body|content)|content", re.IGNORECASE)
_NEVER_ASIDE = frozenset({"html", "body", "article", "main"})


class Node:
    """An element, with what it holds in order: texts and elements."""

    __slots__ = ("attributes", "characters", "commas", "depth", "kids", "linked", "parent", "score", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], parent: Node | None) -> None:
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.kids: list[Node | str] = []
        self.depth: int = parent.depth + 1 if parent else 0
        self.characters = self.linked = self.commas = 0
        """Of its text: how many characters there are, how many of them in links, how many commas."""
        self.score = 0.0

    @property
    def elements(self) -> list[Node]:
        """The elements right within."""
        return [kid for kid in self.kids if isinstance(kid, Node)]

    @property
    def marks(self) -> str:
        """Its classes and its id, by which pages say what a part is."""
        return f"{self.attributes.get('class', '')} {self.attributes.get('id', '')}"

    @property
    def density(self) -> float:
        """How much of its text is links, 0 to 1."""
        return self.linked / self.characters if self.characters else 0.0

    @property
    def is_aside(self) -> bool:
        """By its marks it is beside the point."""
        return len(self.marks) > 1 and self.tag not in _NEVER_ASIDE and bool(_ASIDE.search(self.marks))

    def text(self) -> str:
        """All its text as it stands."""
        texts, stack = list[str](), list(reversed(self.kids))
        while stack:
            kid = stack.pop()
            if isinstance(kid, str):
                texts.append(kid)
            else:
                stack.extend(reversed(kid.kids))
        return "".join(texts)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.at = Node("html", {}, None)
        self.title = ""
        self._count = 0
        self._is_in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title" and not self.title:
            self._is_in_title = True
            return
        if self._count >= MOST_NODES:
            return
        self._count += 1
        if tag in _ENDS_PARAGRAPH:
            self._end_paragraph()
        if tag in _CLOSE_THEIR_LIKE and self.at.tag == tag and self.at.parent:
            self.at = self.at.parent
        node = Node(tag, {name: value or "" for name, value in attrs if name in _KEPT_ATTRIBUTES}, self.at)
        self.at.kids.append(node)
        if tag not in VOID and node.depth < MOST_DEPTH:
            self.at = node

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._is_in_title = False
            return
        node: Node | None = self.at
        for _ in range(_LOOKS_UP):
            if node is None or node is self.root:
                return
            if node.tag == tag:
                self.at = node.parent or self.root
                return
            node = node.parent

    def handle_data(self, data: str) -> None:
        if self._is_in_title:
            self.title += data
        else:
            self.at.kids.append(data)

    def unknown_decl(self, data: str) -> None:
        """What nobody knows is left out."""

    def _end_paragraph(self) -> None:
        node: Node | None = self.at
        for _ in range(4):
            if node is None or node.tag not in _INLINE:
                return
            if node.tag == "p":
                self.at = node.parent or self.root
                return
            node = node.parent


def parse_page(html: str) -> tuple[str, Node]:
    """The page's title, and its tree."""
    parser = _Parser()
    try:
        parser.feed(html)
    except AssertionError:  # what the standard library's parser says of some broken declarations; what came is kept
        pass
    return " ".join(parser.title.split()), parser.root


def prune_tree(root: Node, dropped: frozenset[str], *, by_marks: bool) -> None:
    """Takes out what is hidden, what is of ``dropped`` elements, and with ``by_marks`` what says that it is beside the
    point."""
    stack = [root]
    while stack:
        node = stack.pop()
        kept = [kid for kid in node.kids if isinstance(kid, str) or _is_kept(kid, dropped, by_marks=by_marks)]
        node.kids = kept
        stack.extend(kid for kid in kept if isinstance(kid, Node))


def _is_kept(node: Node, dropped: frozenset[str], *, by_marks: bool) -> bool:
    given = node.attributes
    is_hidden = "hidden" in given or given.get("aria-hidden") == "true"
    is_hidden = is_hidden or "display:none" in given.get("style", "").replace(" ", "")
    if is_hidden or node.tag in dropped or given.get("role") in _HIDDEN_ROLES:
        return False
    return not (by_marks and node.is_aside and not _BODY_TEXT.search(node.marks))
