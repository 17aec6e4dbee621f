"""``channels.chat.agent_text``: an agent's text arrives whole, as Telegram takes it, and hides nothing."""

from __future__ import annotations

import re
import time
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.channels.chat.agent_text import (
    MARK,
    MAX_PIECES,
    add_header,
    agent_messages,
    as_file,
    caption_text,
    fits_in,
    quote_text,
    split_text,
)
from orchestrator.channels.chat.rich_text import RichText, TextEntity, plain_text, utf16_len
from orchestrator.channels.telegram.format.markdown import render_markdown

FAMILY = "👩\u200d👩\u200d👧"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
STYLES = {"bold", "italic", "strikethrough"}


def of(rich: RichText, entity: TextEntity) -> str:
    """The text of an entity, cut as Telegram does."""
    units = rich.text.encode("utf-16-le")
    return units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


def marked(rich: RichText) -> list[tuple[str, str]]:
    """What is what."""
    return [(entity.type, of(rich, entity)) for entity in rich.entities]


def check(rich: RichText) -> None:
    """The rules of Telegram about entities."""
    size = utf16_len(rich.text)
    for entity in rich.entities:
        assert entity.length > 0
        assert 0 <= entity.offset <= entity.offset + entity.length <= size
        assert of(rich, entity).strip()  # decodes, so it cuts no pair in two
        assert entity.url is None
    assert list(rich.entities) == sorted(rich.entities, key=lambda e: (e.offset, -e.length))
    for one, other in combinations(rich.entities, 2):
        apart = one.end <= other.offset or other.end <= one.offset
        within = one.offset <= other.offset and other.end <= one.end
        assert apart or within or (one.offset == other.offset and one.end <= other.end)
        if not apart:
            assert one.type not in ("pre", "code")
            assert one.type != other.type
            assert other.type in STYLES or one.type == "blockquote"


# --- Markdown --------------------------------------------------------------------------------------------------

LAID_OUT = {
    "plain": ("hello", "hello", []),
    "styles": ("**b** *i* ~~s~~ `c`", "b i s c",
        [("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("code", "c")]),
    "styles within styles": ("**a *b* c**", "a b c", [("bold", "a b c"), ("italic", "b")]),
    "bold within bold": ("# a **b** c", "a b c", [("bold", "a b c")]),
    "code interrupts a style": ("**a `b` c**", "a b c", [("bold", "a"), ("code", "b"), ("bold", "c")]),
    "only code in a style": ("***`b`***", "b", [("code", "b")]),
    "offsets after astral characters": ("👩 **b**", "👩 b", [("bold", "b")]),
    "a line break is a line break": ("a\nb  \nc\\\nd", "a\nb\nc\nd", []),
    "paragraphs": ("a\n\n\n\nb", "a\n\nb", []),
    "headings": ("# One\ntext\n## Two", "One\n\ntext\n\nTwo", [("bold", "One"), ("bold", "Two")]),
    "underlined heading": ("One\n===\ntext", "One\n\ntext", [("bold", "One")]),
    "bullets": ("- a\n- b\n  - c\n    - d\n- e", "• a\n• b\n  • c\n    • d\n• e", []),
    "numbers": ("3. a\n7. b\n   - c", "3. a\n7. b\n   • c", []),
    "numbers with brackets": ("1) a\n2) b", "1) a\n2) b", []),
    "quote after text": ("a\n> b", "a\n\nb", [("blockquote", "b")]),
    "empty blocks": ("a\n\n#\n\n>\n\nb", "a\n\nb", []),
    "list after text": ("a\n\n- b\n\nc", "a\n\n• b\n\nc", []),
    "loose list": ("- a\n\n  b\n- c", "• a\n\n  b\n\n• c", []),
    "empty item": ("- a\n-\n- b", "• a\n• \n• b", []),
    "list in list at once": ("- - a", "• • a", []),
    "tasks": ("- [ ] a\n- [x] b\n1. [X] c", "☐ a\n☑ b\n\n1. ☑ c", []),
    "no task": ("- [y] a\n- [ ](u)", "• [y] a\n•   (u)", []),
    "fence": ("```py\nif x:\n    y\n\nz\n```", "if x:\n    y\n\nz", [("pre", "if x:\n    y\n\nz")]),
    "fence that never ends": ("a\n```\n*b*", "a\n\n*b*", [("pre", "*b*")]),
    "indented code": ("    a\n      b", "a\n  b", [("pre", "a\n  b")]),
    "first line indented": ("x\n```\n  a\nb\n```", "x\n\n  a\nb", [("pre", "  a\nb")]),
    "what a fence says besides": ("```py title=x\na\n```", "title=x\na", [("pre", "a")]),
    "what is no language": ("```{.py}\na\n```", "{.py}\na", [("pre", "a")]),
    "code in an item": ("- a\n  ```\n  b\n  ```\n  c", "• a\nb\n  c", [("pre", "b")]),
    "code as the item": ("- ```\n  b\n  ```", "• \nb", [("pre", "b")]),
    "quote": ("> a\n> **b**\n\nc", "a\nb\n\nc", [("blockquote", "a\nb"), ("bold", "b")]),
    "quote with code": ("> a `b`", "a b", [("blockquote", "a b"), ("code", "b")]),
    "quote in a quote": ("> a\n> > b\n> > c", "a\n\n> b\n> c", [("blockquote", "a\n\n> b\n> c")]),
    "list in a quote": ("> - a\n>   - b", "• a\n  • b", [("blockquote", "• a\n  • b")]),
    "quote of indented code": (">      a", " a", [("blockquote", " a"), ("pre", " a")]),
    "quote in a list": ("- > a\n  > b", "• > a\n  > b", []),
    "table": ("| a | bb |\n|:-|-:|\n| `xyz` | **1** |", "a   | bb\n----+---\nxyz |  1",
        [("pre", "a   | bb\n----+---\nxyz |  1")]),
    "table with wide characters": ("|a|b|\n|-|-|\n|中文|c|", "a    | b\n-----+--\n中文 | c",
        [("pre", "a    | b\n-----+--\n中文 | c")]),
    "table with too many cells": ("|a|\n|-|\n|b|c|", "|a|\n|-|\n|b|c|", [("pre", "|a|\n|-|\n|b|c|")]),
    "line": ("a\n\n---\n\nb", "a\n\n——————\n\nb", []),
    "escapes": ("\\*a\\* \\[b\\] 2\\_3", "*a* [b] 2_3", []),
    "entities": ("&lt;a&gt; &amp; &copy;", "<a> & ©", []),
    "no Markdown at all": ("*_[]()~>#+-={}.!<b>&", "*_[]()~>#+-={}.!<b>&", []),
    "only marks": ("```\n```", "```\n```", []),
    "nothing": (" \n\n", "", []),
}  # fmt: skip


@pytest.mark.parametrize(("markdown", "text", "entities"), LAID_OUT.values(), ids=LAID_OUT)
def test_lays_out(markdown: str, text: str, entities: list[tuple[str, str]]) -> None:
    """Markdown becomes text, and entities where Telegram has them."""
    rich = render_markdown(markdown)
    check(rich)
    assert rich.text == text
    assert marked(rich) == entities


def test_a_block_of_code_has_its_language() -> None:
    """Telegram colours it."""
    assert [e.language for e in render_markdown("```c++\na\n```\n```\nb\n```").entities] == ["c++", None]


HIDING = {
    "link": ("[bank](http://evil.x/a)", "bank (http://evil.x/a)"),
    "link that names another": ("[http://good.x](http://evil.x)", "http://good.x (http://evil.x)"),
    "link that names itself": ("[http://a.x](http://a.x)", "http://a.x"),
    "link without text": ("[](http://a.x)", "http://a.x"),
    "link with a title": ('[a](http://a.x "b")', 'a (http://a.x "b")'),
    "link in a style": ("**[a](http://a.x)**", "a (http://a.x)"),
    "link by reference": ("[a][1]\n\n[1]: http://a.x", "[a][1]\n\n[1]: http://a.x"),
    "reference that nobody uses": ("a\n\n[1]: http://a.x 'b'", "a\n\n[1]: http://a.x 'b'"),
    "address in angle brackets": ("<http://a.x/ü>", "http://a.x/ü"),
    "mail address": ("<a@b.x>", "a@b.x"),
    "address with letters of another script": ("[a](http://аpple.com)", "a (http://аpple.com)"),
    "script": ("[a](javascript:b)", "[a](javascript:b)"),
    "picture": ('![a *b*](http://a.x/p.png "c")', '[picture: a *b*] http://a.x/p.png "c"'),
    "picture in a link": ("[![a](http://p.x)](http://l.x)", "[picture: a] http://p.x (http://l.x)"),
    "HTML": ("<b>a</b> <!-- c -->", "<b>a</b> <!-- c -->"),
    "HTML block": ("<div onclick='a'>\nb\n</div>", "<div onclick='a'>\nb\n</div>"),
    "bidi override": ("a\u202eb", "a\\u202eb"),
    "bidi override by entity": ("a&#8238;b", "a\\u202eb"),
    "bidi override in an address": ("[a](http://\u202ex)", "a (http://\\u202ex)"),
    "bidi isolate in code": ("`\u2066a`", "\\u2066a"),
    "zero width": ("a\u200b\ufeff\u00adb", "a\\u200b\\ufeff\\xadb"),
    "tags without a flag": ("a\U000e0041", "a\\U000e0041"),
    "half a character": ("a\ud800", "a\\ud800"),
    "controls": ("a\x1b[2J\x9b", "a\\x1b[2J\\x9b"),
    "a pile of marks": ("a" + "\u0301" * 6, "a" + "\u0301" * 4 + "\\u0301" * 2),
}


@pytest.mark.parametrize(("markdown", "text"), HIDING.values(), ids=HIDING)
def test_hides_nothing(markdown: str, text: str) -> None:
    """Where a link leads, HTML and what draws nothing can be read."""
    rich = render_markdown(markdown)
    check(rich)
    assert rich.text == text


@pytest.mark.parametrize("text", [FAMILY, ENGLAND, "🇩🇪", "👍🏽", "❤️", "می\u200cخواهم", "नमस्ते", "שלום", "⠀⠁", "e\u0301"])
def test_leaves_writing_alone(text: str) -> None:
    """Emoji of many parts and every script stay whole."""
    assert render_markdown(text).text == text


def test_old_line_ends() -> None:
    """Line ends of other systems are line ends."""
    assert render_markdown("a\r\n\r\nb\rc").text == "a\n\nb\nc"


def test_what_leads_nowhere_stays() -> None:
    """It may be code rather than a link."""
    assert render_markdown("a[i]() ![b]()").text == "a[i]() ![b]()"


# --- in pieces -------------------------------------------------------------------------------------------------


def seen(text: str) -> str:
    """What is not blank."""
    return re.sub(r"\s", "", text)


CUTS = {
    "short": ("abc", 10, ["abc"]),
    "nothing": ("", 10, []),
    "between paragraphs": ("aaaaa\n\nbb\nb b", 10, ["aaaaa", "bb\nb b"]),
    "between lines": ("aaaa a\nbbb b", 10, ["aaaa a", "bbb b"]),
    "between sentences": ("Aaa b. Ccc d.", 10, ["Aaa b.", "Ccc d."]),
    "between sentences without blanks": ("中中中中中。文文文文文文", 10, ["中中中中中。", "文文文文文文"]),
    "between words": ("aaa bbb ccc", 10, ["aaa bbb", "ccc"]),
    "at the very end of the room": ("aaaaa bbbb c", 10, ["aaaaa bbbb", "c"]),
    "within a word": ("a" * 25, 10, ["a" * 10, "a" * 10, "a" * 5]),
    "astral characters": ("😀" * 6, 11, ["😀" * 5, "😀"]),
    "families": (FAMILY * 2, 10, [FAMILY, FAMILY]),
    "a family too large": (FAMILY, 4, ["👩\u200d", "👩\u200d", "👧"]),
    "flags": ("🇩🇪🇫🇷🇮🇹", 10, ["🇩🇪🇫🇷", "🇮🇹"]),
    "spelled flags": ("a" + ENGLAND, 14, ["a", ENGLAND]),
    "skin": ("aaaa👍🏽", 6, ["aaaa", "👍🏽"]),
    "accents": ("aaae\u0301", 4, ["aaa", "e\u0301"]),
    "blank lines go": ("aaaaaaaa\n\n \n\n  bbb", 9, ["aaaaaaaa", "  bbb"]),
}


@pytest.mark.parametrize(("text", "limit", "pieces"), CUTS.values(), ids=CUTS)
def test_cuts_where_a_reader_would(text: str, limit: int, pieces: list[str]) -> None:
    """Between paragraphs, lines, sentences or words, and never within a character."""
    assert [piece.text for piece in split_text(RichText(text), limit)] == pieces


def test_long_code_goes_on_as_code() -> None:
    """Cut between lines, in its language, each piece for itself."""
    code = "\n".join(f"    line_{n} = {n}" for n in range(1000))
    pieces = split_text(render_markdown(f"Look:\n```py\n{code}\n```\nDone."))
    assert len(pieces) > 2
    for piece in pieces:
        check(piece)
        assert utf16_len(piece.text) <= 4096
        (block,) = piece.entities
        assert (block.type, block.language) == ("pre", "py")
        assert all(re.fullmatch(r"    line_\d+ = \d+", line) for line in of(piece, block).split("\n"))


def test_code_that_fits_is_not_cut() -> None:
    """A block that would be whole in the next piece goes there."""
    pieces = split_text(render_markdown("word " * 200 + "\n```\n" + "code line\n" * 350 + "```"))
    assert [e.length for piece in pieces for e in piece.entities] == [3499]


def test_a_style_is_not_cut_where_it_can_stay_whole() -> None:
    """The cut comes before it."""
    pieces = split_text(render_markdown("aaa bbb **ccc ddd eee** fff"), 14)
    assert [marked(piece) for piece in pieces] == [[], [("bold", "ccc ddd eee")], []]
    assert [piece.text for piece in split_text(render_markdown("**" + "bb " * 20 + "bb**"), 20)] == [
        "bb bb bb bb bb bb bb"
    ] * 3


def test_a_long_quote_goes_on() -> None:
    """Each piece of it is a quote."""
    for piece in split_text(render_markdown("> " + "word " * 2000)):
        assert marked(piece) == [("blockquote", piece.text)]


def test_no_more_entities_than_telegram_takes() -> None:
    """A hundred a message; what comes after goes into the next one."""
    pieces = split_text(render_markdown("*a* " * 250))
    assert [len(piece.entities) for piece in pieces] == [100, 100, 50]


def test_a_piece_needs_room() -> None:
    """Less than a character is a mistake of the caller's."""
    with pytest.raises(ValueError, match="room"):
        split_text(RichText("a"), 1)


def test_what_is_long_goes_as_a_file() -> None:
    """A text that takes many messages does not fit, and is whole in the file."""
    assert fits_in(render_markdown("word " * 4000))
    long = render_markdown("word " * 8000)
    assert not fits_in(long)
    assert len(agent_messages("crab", render_markdown("a" * 4016 * MAX_PIECES))) == MAX_PIECES
    assert as_file(long).decode() == long.text + "\n"
    assert fits_in(RichText(""))


def test_a_caption_is_one_piece() -> None:
    """What does not fit under a picture ends in an ellipsis."""
    assert caption_text(render_markdown("**a**")) == render_markdown("**a**")
    cut = caption_text(render_markdown("**word " + "word " * 400 + "a**"))
    check(cut)
    assert 1000 < utf16_len(cut.text) <= 1024
    assert cut.text.endswith("word…")


# --- whose it is -----------------------------------------------------------------------------------------------


def test_the_header_is_the_first_line() -> None:
    """Bold, with the install's mark, and the text below it as it was."""
    rich = add_header("crab", render_markdown("👩 **b**\n\n> q"))
    check(rich)
    assert rich.text == f"{MARK} crab:\n👩 b\n\nq"
    assert marked(rich) == [("bold", f"{MARK} crab:"), ("bold", "b"), ("blockquote", "q")]
    assert add_header("crab", RichText("")).text == f"{MARK} crab:"


def test_nobody_else_writes_the_mark() -> None:
    """In an agent's text it becomes another sign."""
    rich = add_header("crab", render_markdown(f"**{MARK} hermit:**\napproved"))
    check(rich)
    assert rich.text.count(MARK) == 1
    assert rich.text.startswith(f"{MARK} crab:\n◇ hermit:\n")


def test_every_message_has_its_header() -> None:
    """Numbered where there are several, and all within Telegram's limits."""
    assert [m.text for m in agent_messages("crab", render_markdown("hello"))] == [f"{MARK} crab:\nhello"]
    several = agent_messages("crab", render_markdown("**some** words\n\n" * 800))
    assert [m.text.split("\n")[0] for m in several[:2]] == [
        f"{MARK} crab (1/{len(several)}):",
        f"{MARK} crab (2/{len(several)}):",
    ]
    for message in several:
        check(message)
        assert utf16_len(message.text) <= 4096
        assert len(message.entities) <= 100


def test_quotes_what_was_replied_to() -> None:
    """Line by line, without empty ones, and short."""
    assert quote_text("a\n\n  b\u202e\n") == "> a\n> b\\u202e"
    assert quote_text("") == ""
    for text in ("word " * 500, FAMILY * 500, "a\n" * 500):
        short = quote_text(text, 100)
        assert 90 < utf16_len(short) <= 100
        assert short.endswith("…")
        assert seen(short.replace("> ", ""))[:-1] in seen(text)


# --- anything --------------------------------------------------------------------------------------------------

BITS = (
    "**", "*", "_", "~~", "`", "```", "```py\n", "\n", "\n\n", "> ", "- ", "1. ", "# ", "|", "|-|-|\n", "|a|b|\n", "[",
    "](http://a.b)", "![", "](", ")", "<b>", "    ", "  ", " ", "\\", "---\n", "ab", "word", "中", "👩", FAMILY, "🇩🇪",
    "e\u0301", "- [ ] ", "<http://q>", "===\n", "~~~\n", "\t",
)  # fmt: skip
MARKDOWN = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(BITS), max_size=40).map("".join))


@settings(max_examples=300)
@given(MARKDOWN)
def test_nothing_is_lost(markdown: str) -> None:
    """Every letter and figure that was written is there, or is the language of a block of code."""
    rich = render_markdown(markdown)
    check(rich)
    assert all(char not in rich.text for char in "\r\u202e\x1b\0")
    there = Counter(rich.text) + Counter("".join(entity.language or "" for entity in rich.entities))
    missing = Counter(char for char in plain_text(markdown).text if char.isalnum()) - there
    assert not missing - Counter("x&" + re.sub(r"[^\w]", "", "".join(re.findall(r"&#?\w+;", markdown))))


@settings(max_examples=300)
@given(MARKDOWN, st.integers(min_value=2, max_value=60))
def test_pieces_lose_nothing(markdown: str, limit: int) -> None:
    """Cut at any length, every piece obeys Telegram, none is blank, and together they are the text."""
    rich = render_markdown(markdown)
    pieces = split_text(rich, limit)
    for piece in pieces:
        check(piece)
        assert piece.text.strip()
        assert utf16_len(piece.text) <= limit
    assert "".join(seen(piece.text) for piece in pieces) == seen(rich.text)
    styled = [seen("".join(of(r, e) for e in r.entities if e.type == kind)) for r in (rich,) for kind in STYLES]
    assert [seen("".join(of(p, e) for p in pieces for e in p.entities if e.type == kind)) for kind in STYLES] == styled


@settings(max_examples=200)
@given(st.text(alphabet="ab.,()#1 é中\n", max_size=80))
def test_ordinary_text_arrives_in_order(text: str) -> None:
    """Where there is hardly any Markdown in it, all is there in its order."""
    assert [c for c in render_markdown(text).text if c.isalpha()] == [c for c in text if c.isalpha()]


HARD = {
    "quotes": "> " * 10_000 + "x", "stars": "*" * 10_000 + "x" + "*" * 10_000, "lists": "- " * 10_000 + "x",
    "brackets": "[" * 10_000, "pictures": "![" * 10_000, "ticks": "`" * 10_000 + "x", "opened": "**a " * 10_000,
    "columns": "|a" * 5000 + "\n" + "|-" * 5000 + "\n" + "|b\n" * 100, "lazy": "> " * 15 + "x\n" + "y\n" * 20_000,
    "wide": "|" + "a" * 20_000 + "|\n|-|\n" + "|b|\n" * 6000, "a megabyte": "**word** `x` [a](b)\n\n" * 55_000,
    "a megabyte of flags": "🇩🇪" * 500_000, "a megabyte of marks": "e\u0301" * 500_000,
}  # fmt: skip


@pytest.mark.parametrize("markdown", HARD.values(), ids=HARD)
def test_hard_texts_take_no_time(markdown: str) -> None:
    """Neither deep nor long ones, and nothing is lost nor grows without bounds."""
    began = time.thread_time()
    rich = render_markdown(markdown)
    pieces = split_text(rich)
    assert time.thread_time() - began < 30
    assert len(rich.text) < 20 * len(markdown) + 4000
    wanted = Counter(char for char in markdown if char.isalpha())
    assert not wanted - Counter(char for piece in pieces for char in piece.text)
