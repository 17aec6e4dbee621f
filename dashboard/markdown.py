"""An agent's text as HTML. It is hostile: no raw HTML, no pictures (the browser would fetch them), no inline style,
links to web addresses alone and each with the host it really leads to beside it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from orchestrator.markdown_cost import is_costly

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9.])?|[0-9a-f:.]+")

MAX_CHARS = 100_000
"""Longer texts are shown as they are, and those that would take long to lay out (``markdown_cost``)."""


@lru_cache(maxsize=512)
def render(text: str) -> Markup:
    """The text as HTML that is safe to put into a page. The same texts are asked for with every look at a page."""
    if len(text) > MAX_CHARS or is_costly(text):
        return Markup('<pre class="plain">{}</pre>').format(text)
    reader = _reader()
    tokens = list(_disarmed(reader.parse(text)))
    return Markup(reader.renderer.render(tokens, reader.options, {}))  # noqa: S704 - escaped by the renderer


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True})
    reader.enable(["table", "strikethrough"])
    reader.validateLink = _is_web  # type: ignore[method-assign]  # its own way to restrict links
    return reader


def _disarmed(tokens: list[Token]) -> Iterator[Token]:
    """The tokens, with what a browser must not be given changed into what it may have."""
    hosts: list[str] = []
    for token in tokens:
        if token.children is not None and token.type == "inline":
            token.children = list(_disarmed(list(_leading_somewhere(token.children))))
        elif token.type == "image":
            token.type, token.children = "text", None
            token.content = f"[picture: {token.content} {str(token.attrs.get('src', ''))[:200]}]"
        elif token.type == "link_open":
            href = str(token.attrs.get("href", ""))
            hosts.append(_host(href))
            token.attrs = {"href": href, "target": "_blank", "rel": "noopener noreferrer nofollow"}
        elif token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + 2, 6)}"  # below the page's own headings
        elif token.type == "fence":
            token.info = ""  # it would become a class
        elif token.type in ("th_open", "td_open"):
            token.attrs = _aligned(token)
        if token.type == "table_open":
            yield _html('<div class="table">')
        yield token
        if token.type == "link_close":
            yield _html(f' <span class="host">{escape(hosts.pop())}</span>')
        elif token.type == "table_close":
            yield _html("</div>")


def _leading_somewhere(tokens: list[Token]) -> Iterator[Token]:
    """The tokens, without links to nothing: ``[words]()`` stays as its words."""
    is_dropped = False  # links hold no links
    for token in tokens:
        if token.type == "link_open":
            is_dropped = not _is_web(str(token.attrs.get("href", "")))
        if not (is_dropped and token.type in ("link_open", "link_close")):
            yield token


def _aligned(token: Token) -> dict[str, str | int | float]:
    """A cell's alignment as a class: inline style is forbidden on our pages."""
    align = str(token.attrs.get("style", "")).partition(":")[2].strip()
    return {"class": align} if align in ("right", "center") else {}


def _html(ours: str) -> Token:
    """HTML of our own; none from the text can be such a token, as the reader has it turned off."""
    return Token("html_inline", "", 0, content=ours)


def _is_web(url: str) -> bool:
    return url.strip().lower().startswith(("http://", "https://")) and bool(_HOST.fullmatch(_host(url)))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
