"""An agent's Markdown: what a browser may get of it."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.markdown import MAX_CHARS, render_markdown
from dashboard.mathml import _KNOWN, _TAGS

ALLOWED = {
    **{tag: set() for tag in ("p", "br", "hr", "em", "strong", "s", "code", "blockquote", "ul", "li", "h3", "h4")},
    "pre": {"tabindex"},
    "button": {"type", "class", "data-copy", "data-wrap"},
    **{tag: set() for tag in ("h5", "h6", "table", "thead", "tbody", "tr")},
    "ol": {"start"},
    "th": {"class"},
    "td": {"class"},
    "div": {"class", "data-diagram", "tabindex"},
    "span": {"class", "role", "aria-label"},
    "a": {"href", "target", "rel"},
    "math": {"display"},
    **dict.fromkeys(_TAGS, _KNOWN),
}
"""Every tag and attribute that may come out."""


class Reader(HTMLParser):
    """Notes what is in a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[dict[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Fails for what is not allowed."""
        assert tag in ALLOWED, tag
        if (tag, attrs) == ("pre", [("class", "plain")]):
            return  # a text that is shown as it was written
        assert all(re.fullmatch(r"[\w .+-]*", value or "") for name, value in attrs if name in _KNOWN)
        assert {name for name, _ in attrs} <= ALLOWED[tag], (tag, attrs)
        if tag == "a":
            self.links.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        """Text."""
        self.text += data

    def handle_comment(self, data: str) -> None:
        """There is none."""
        raise AssertionError(data)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "a <b onmouseover=alert(1)>b</b> <!-- c -->",
        '<a href="javascript:alert(1)">x</a>',
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java\tscript:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:x)",
        "[x](file:///etc/passwd)",
        "[x](/api/agents)",
        "[x](//evil.example/x)",
        "[x](http:/evil.example)",
        "[x](http://)",
        "[x](https://[)",
        "[x][1]\n\n[1]: javascript:alert(1)",
        "<javascript:alert(1)>",
        "<mailto:a@b.example>",
    ],
)
def test_what_might_hurt_is_text(text: str) -> None:
    """No tag of the agent's own, and no link to anything but the web."""
    assert Reader(render_markdown(text)).links == []


@pytest.mark.parametrize(
    "text",
    [
        "![x](https://evil.example/p.png)",
        "![x][1]\n\n[1]: https://evil.example/p.png",
        "[![x](https://evil.example/p)](y)",
    ],
)
def test_a_picture_is_text(text: str) -> None:
    """The browser is given nothing to fetch, and the reader sees that there was something."""
    reader = Reader(render_markdown(text))
    assert "[picture: x https://evil.example/p" in reader.text
    assert reader.links == []


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("[bank.example](https://evil.example/x)", "evil.example"),
        ("[x](https://bank.example@evil.example/)", "evil.example"),
        ("[x](https://EVIL.example:8443/a?b=c#d)", "evil.example"),
        ("<https://evil.example/a>", "evil.example"),
        ("[x](http://[::1]:3000/)", "::1"),
        ("[x](https://bänk.example/)", "xn--bnk-qla.example"),
        ('[x](https://evil.example "a title that lies")', "evil.example"),
    ],
)
def test_a_link_shows_where_it_leads(text: str, host: str) -> None:
    """The real host stands beside it, it takes nothing along, and it has no title to lie in."""
    html = render_markdown(text)
    link = Reader(html).links[0]
    assert link["rel"] == "noopener noreferrer nofollow"
    assert link["target"] == "_blank"
    assert re.search(r'</a> <span class="host">([^<]*)</span>', html)[1] == host  # type: ignore[index]  # it is there


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("see https://example.org/x.", "https://example.org/x"),
        ("(https://example.org/a_(b))", "https://example.org/a_(b)"),
        ("**https://example.org/a_b_c?d=1&e=2#f**, yes", "https://example.org/a_b_c?d=1&e=2#f"),
        ("HTTPS://Example.org", "HTTPS://Example.org"),
        ("| https://example.org/t |\n|--|\n| x |", "https://example.org/t"),
        ("https://bänk.example/ä", "https://xn--bnk-qla.example/%C3%A4"),
    ],
)
def test_an_address_in_the_text_is_a_link(text: str, href: str) -> None:
    """As far as it goes, and no further; as careful as any other."""
    (link,) = Reader(render_markdown(text)).links
    assert link == {"href": href, "target": "_blank", "rel": "noopener noreferrer nofollow"}


@pytest.mark.parametrize(
    "text",
    [
        "www.evil.example",
        "xhttps://evil.example",
        "`https://evil.example`",
        "ftp://evil.example",
        "https://",
        "http://[",
        "```\nhttps://evil.example\n```",
        "javascript:https://",
    ],
)
def test_what_is_no_web_address_is_text(text: str) -> None:
    """So is one within code."""
    assert Reader(render_markdown(text)).links == []


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("https://example.org/x", None),
        ("https://example.org", None),
        ("https://example.org@evil.example/", "evil.example"),
        ("https://example.org:x@evil.example", "evil.example"),
        ("https://bänk.example/", "xn--bnk-qla.example"),
        ("https://EXAMPLE.org?a", None),
    ],
)
def test_the_host_stands_beside_an_address_that_hides_it(text: str, host: str | None) -> None:
    """Where it can be read from the address it is not said twice."""
    found = re.search(r'<span class="host">([^<]*)</span>', render_markdown(text))
    assert (found and found[1]) == host


def test_a_link_holds_no_link() -> None:
    """Words that look like an address lead where their link does."""
    (link,) = Reader(render_markdown("[https://bank.example/](https://evil.example/)")).links
    assert link["href"] == "https://evil.example/"


def test_code_scrolls_by_keyboard_and_can_be_copied() -> None:
    """With its language, where that is a word, and its text as it is."""
    html = render_markdown("```python x\na < 1\n```\n\n    indented\n\n```<b>\nc\n```")
    assert html.count('<pre tabindex="0"><code>') == html.count("data-copy") == 3
    assert "<span>python</span>" in html
    assert html.count('<div class="code-head"><span></span>') == 2
    assert '<code>a &lt; <span class="t-n">1\n</span></code>' in html


@pytest.mark.parametrize("text", ["[words]()", "[words](<>)", "[words][x]\n\n[x]: <>", "*[words]()* [words]( 'title')"])
def test_a_link_to_nothing_is_its_words(text: str) -> None:
    """It would lead to the page it stands on."""
    read = Reader(render_markdown(text))
    assert read.links == []
    assert "words" in read.text


def test_a_page_is_laid_out() -> None:
    """Headings below the page's own, lists, code, tables without inline style."""
    html = render_markdown(
        "# One\n\n- a\n- b\n\n```python\nx < 1\n```\n\n| a | b |\n|--:|:-:|\n| 1 | 2 |\n\n~~old~~ **new**\nline"
    )
    Reader(html)
    for piece in ("<h3>One</h3>", "<li>a</li>", "x &lt; ", '<td class="right">1</td>', "<s>old</s>", "<br"):
        assert piece in html
    assert "style" not in html
    assert "language-" not in html


def test_a_very_long_text_is_shown_as_it_is() -> None:
    """Without layout, escaped."""
    html = render_markdown("<b>" + "x" * MAX_CHARS)
    assert html.startswith('<pre class="plain">&lt;b&gt;x')


@pytest.mark.parametrize(
    "piece",
    ["http://a ", "https://x.y/))", "[", "(", "*", "`", "> ", "- ", "| a ", "![", "<", "\\", "&", "[x](", "_a_", "~~"],
)
def test_no_text_takes_long(piece: str) -> None:
    """Tricky nesting is done in a moment, too."""
    started = time.thread_time()
    Reader(render_markdown(piece * (20_000 // len(piece))))
    assert time.thread_time() - started < 20


def test_items_are_ticked_off() -> None:
    """A box for each, with what it says for those who don't see it; brackets elsewhere are brackets."""
    html = render_markdown("- [x] *one*\n- [ ] two\n\n  [x] three\n- [x]four\n\n[ ] five")
    assert re.findall(r'<span class="task( done)?" role="img" aria-label="(.*?)">', html) == [
        (" done", "Done"),
        ("", "To do"),
    ]
    assert Reader(html).text.split() == ["one", "two", "[x]", "three", "[x]four", "[", "]", "five"]


def test_a_diagram_is_marked() -> None:
    """For the page to draw; what it says is there as code."""
    html = render_markdown("```mermaid\ngraph TD\n```\n\n```mermaids\nx\n```")
    assert html.count('<div class="code" data-diagram>') == html.count("data-diagram") == 1


@given(st.text(alphabet=st.sampled_from(list("[]()!<>*_`~|#-:\\/\"'&;= \nahtps.javscrit:@"))), st.text())
def test_whatever_comes_only_the_allowed_goes_out(tricky: str, any_text: str) -> None:
    """No input leads to another tag, attribute or kind of link."""
    for link in Reader(render_markdown(tricky + any_text)).links:
        assert str(link["href"]).lower().startswith(("http://", "https://"))
