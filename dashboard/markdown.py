"""An agent's text as HTML. It is hostile: no raw HTML, no pictures (the browser would fetch them), no inline style,
links to web addresses alone, each with the host it really leads to beside it where that can't be read from it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink
from markdown_it.token import Token
from markupsafe import Markup, escape

from dashboard.formulas import add_formulas
from dashboard.highlight import highlight_code
from dashboard.mathml import render_formula
from orchestrator.core.markdown_cost import is_costly
from orchestrator.languages.speech import IN_ENGLISH, SpokenLanguage

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9.])?|[0-9a-f:.]+")

_ADDRESS = re.compile(r"\bhttps?://[^\s<>\"`|\\^{}]{1,2000}", re.IGNORECASE)
_AFTER = ".,;:!?'*_~"
"""What stands after an address in a sentence is no part of it."""
_PAIRS = {")": "(", "]": "["}
_LANGUAGE = re.compile(r"[A-Za-z0-9+#._-]{1,20}")
_TASK = re.compile(r"\[([ xX])\](?=\s)\s?")
_DIAGRAM = "mermaid"


def code_buttons(spoken: SpokenLanguage) -> str:
    """To wrap code and to copy it."""
    wrap, unwrap, copy = spoken.say("Wrap"), spoken.say("Unwrap"), spoken.say("Copy")
    return (
        f'<button type="button" class="plain" data-wrap><span class="wrap">{wrap}</span>'
        f'<span class="unwrap">{unwrap}</span></button><button type="button" class="plain" data-copy>{copy}</button>'
    )


CODE_BUTTONS = code_buttons(IN_ENGLISH)
"""Beside code, in English; a page in another language puts its own in their place."""

MAX_CHARS = 100_000
"""Longer texts are shown as they are, and those that would take long to lay out (``markdown_cost``)."""


@lru_cache(maxsize=512)
def render_markdown(text: str) -> Markup:
    """The text as HTML that is safe to put into a page. The same texts are asked for with every look at a page."""
    if is_plain(text):
        return Markup('<pre class="plain">{}</pre>').format(text)
    reader = make_reader()
    return Markup(render_tokens(reader, reader.parse(text)))  # noqa: S704 - escaped by the renderer


def is_plain(text: str) -> bool:
    """The text is shown as it is, without layout."""
    return len(text) > MAX_CHARS or is_costly(text)


def render_tokens(reader: MarkdownIt, tokens: list[Token]) -> str:
    """What ``reader`` parsed, as HTML that is safe to put into a page."""
    rendered: str = reader.renderer.render(list(_disarmed(tokens)), reader.options, {})
    return rendered


def make_reader() -> MarkdownIt:
    """What parses our Markdown. Of one thread."""
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True})
    reader.enable(["table", "strikethrough"])
    add_formulas(reader)
    reader.validateLink = _is_web  # type: ignore[method-assign]  # its own way to restrict links
    return reader


def _disarmed(tokens: list[Token]) -> Iterator[Token]:
    """The tokens, with what a browser must not be given changed into what it may have."""
    hosts: list[str] = []
    before: list[str] = []
    for token in tokens:
        if token.children is not None and token.type == "inline":
            if before[-2:] == ["list_item_open", "paragraph_open"]:
                _check_off(token.children)
            token.children = list(_disarmed(list(_linked(_leading_somewhere(token.children)))))
        elif token.type == "image":
            token.type, token.children = "text", None
            token.content = f"[picture: {token.content} {str(token.attrs.get('src', ''))[:200]}]"
        elif token.type == "link_open":
            href = str(token.attrs.get("href", ""))
            hosts.append("" if token.meta.get("is_plain") else _host(href))
            token.attrs = {"href": href, "target": "_blank", "rel": "noopener noreferrer nofollow"}
        elif token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + 2, 6)}"  # below the page's own headings
        elif token.type in _DRAWN:
            token.type, token.content = "html_block", _DRAWN[token.type](token)
        elif token.type in ("th_open", "td_open"):
            token.attrs = _aligned(token)
        before = [*before[-1:], token.type]
        if token.type == "table_open":
            yield _html('<div class="table">')
        yield token
        if token.type == "link_close" and (host := hosts.pop()):
            yield _html(f' <span class="host">{escape(host)}</span>')
        elif token.type == "table_close":
            yield _html("</div>")


def _check_off(tokens: list[Token]) -> None:
    """The words of an item of a list: ``[x]`` before them is a box with a tick in it."""
    if tokens and tokens[0].type == "text" and (found := _TASK.match(tokens[0].content)):
        is_done = found[1] != " "
        tokens[0].content = tokens[0].content[found.end() :]
        sign, said = (" done", "Done") if is_done else ("", "To do")
        tokens.insert(0, _html(f'<span class="task{sign}" role="img" aria-label="{said}"></span>'))


def _leading_somewhere(tokens: list[Token]) -> Iterator[Token]:
    """The tokens, without links to nothing: ``[words]()`` stays as its words."""
    is_dropped = False  # links hold no links
    for token in tokens:
        if token.type == "link_open":
            is_dropped = not _is_web(str(token.attrs.get("href", "")))
        if not (is_dropped and token.type in ("link_open", "link_close")):
            yield token


def _linked(tokens: Iterator[Token]) -> Iterator[Token]:
    """The tokens, with web addresses in the text as links."""
    depth = 0
    for token in tokens:
        depth += token.nesting if token.type.startswith("link_") else 0
        if token.type != "text" or depth:
            yield token
            continue
        at = 0
        for found in _ADDRESS.finditer(token.content):
            address = _address(found[0])
            href = normalizeLink(address)
            if not _is_web(href):
                continue
            yield _text(token.content[at : found.start()])
            yield Token("link_open", "a", 1, attrs={"href": href}, meta={"is_plain": _is_plain(address, href)})
            yield _text(address)
            yield Token("link_close", "a", -1)
            at = found.start() + len(address)
        yield _text(token.content[at:])


def _address(found: str) -> str:
    """An address without what the sentence around it has put behind it."""
    while found:
        last = found[-1]
        if last not in _AFTER and (last not in _PAIRS or found.count(last) <= found.count(_PAIRS[last])):
            break
        found = found[:-1]
    return found


def _is_plain(address: str, href: str) -> bool:
    """Whoever reads the address sees where it leads."""
    host, rest = _host(href), address.partition("://")[2].lower()
    return rest == host or rest.startswith((f"{host}/", f"{host}?", f"{host}#"))


def _code(token: Token) -> str:
    """A block of code that scrolls by keyboard, too, with its language, and buttons that wrap and copy it."""
    language = (token.info.split() or [""])[0]
    language = language if _LANGUAGE.fullmatch(language) else ""
    mark = " data-diagram" if language == _DIAGRAM else ""
    return (
        f'<div class="code"{mark}><div class="code-head"><span>{escape(language)}</span>'
        f"{CODE_BUTTONS}</div>"
        f'<pre tabindex="0"><code>{highlight_code(token.content, language)}</code></pre></div>\n'
    )


def _formula(token: Token) -> str:
    """A formula, or its source where it can't be drawn."""
    is_alone = token.type == "math_block"
    found = render_formula(token.content, is_block=is_alone or bool(token.meta.get("is_block")))
    if found is None:
        source = f"<code>{escape(token.content)}</code>"
        return f'<pre tabindex="0">{source}</pre>\n' if is_alone else source
    return f'<div class="formula" tabindex="0">{found}</div>\n' if is_alone else f'<span class="formula">{found}</span>'


_DRAWN = {"fence": _code, "code_block": _code, "math_inline": _formula, "math_block": _formula}
"""What becomes HTML of ours as a whole."""


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


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
