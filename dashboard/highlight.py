"""Code as HTML with its words marked by what they are (keyword, string, comment), as classes; the stylesheet has the
colours. Pure.

The code is hostile, and so is its language. Pygments' lexers are regular expressions, and some take very long for some
texts: only those of a list are used, which were tried with texts made for that, on code of limited length without very
long lines. For the languages with braces, whose lexers there take seconds for a page of blank lines, there is one of
our own. Whatever a lexer does, what comes out are the characters that went in, escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from markupsafe import escape
from pygments.lexer import Lexer, RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String, Text, Token
from pygments.token import _TokenType as TokenType

MAX_CHARS = 12_000
MAX_LINE_CHARS = 1_000
_LANGUAGES = {
    "bash": "bash sh shell zsh",
    "console": "console shell-session",
    "css": "css",
    "diff": "diff patch udiff",
    "docker": "docker dockerfile",
    "go": "go golang",
    "html": "html xhtml",
    "ini": "cfg conf ini",
    "javascript": "javascript js jsx mjs",
    "json": "json json5 jsonc jsonl",
    "lua": "lua",
    "make": "make makefile",
    "nginx": "nginx",
    "php": "php",
    "powershell": "powershell ps1 pwsh",
    "python": "py python python3",
    "r": "r",
    "ruby": "rb ruby",
    "rust": "rs rust",
    "scss": "scss",
    "sql": "sql sqlite postgresql mysql",
    "swift": "swift",
    "toml": "toml",
    "typescript": "ts tsx typescript",
    "xml": "svg xml",
    "yaml": "yaml yml",
}
"""Pygments' name of a lexer, and what people write for it."""
_BRACES = "c h c++ cpp hpp cc cxx c# cs csharp dart java kotlin kt scala"
_WORDS = """
    abstract as async auto await base bool boolean break byte case catch char class companion const constexpr
    continue data decimal default delegate delete do double else enum explicit export extends extern final finally
    float for foreach friend fun get goto if implements implicit import in inline inner instanceof int interface
    internal is lateinit let lock long mutable namespace native new noexcept object open operator out override
    package params private protected public readonly record ref register required return sealed set short signed
    sizeof static string struct super suspend switch synchronized template this throw throws trait try typedef
    typename typeof union unsigned using val var virtual void volatile when where while with yield
"""
_KEYWORDS = frozenset(_WORDS.split())
_CONSTANTS = frozenset(("false", "nil", "null", "nullptr", "true"))
_LEXERS = dict.fromkeys(_BRACES.split(), "braces") | {
    word: lexer for lexer, words in _LANGUAGES.items() for word in words.split()
}
_CLASSES = {
    Keyword: "k",
    Keyword.Constant: "n",
    Operator.Word: "k",
    Name.Tag: "k",
    Name.Attribute: "b",
    Name.Builtin: "b",
    Name.Class: "f",
    Name.Decorator: "f",
    Name.Exception: "b",
    Name.Function: "f",
    Literal: "n",
    Literal.String: "s",
    Literal.String.Doc: "c",
    Comment: "c",
    Comment.Preproc: "k",
    Generic.Deleted: "d",
    Generic.Inserted: "s",
    Generic.Heading: "f",
    Generic.Subheading: "f",
    Generic.Prompt: "c",
}


def _name_word(lexer: Lexer, found: re.Match[str], context: object = None) -> Iterator[tuple[int, TokenType, str]]:
    """A word is a keyword, a function where a parenthesis follows, or a name."""
    del lexer, context
    word, is_called = found[0], found.string[found.end() : found.end() + 1] == "("
    kind = Keyword if word in _KEYWORDS else Keyword.Constant if word in _CONSTANTS else Name
    yield found.start(), Name.Function if kind is Name and is_called else kind, word


class BracesLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """C and its many children, in linear time."""

    flags = re.MULTILINE
    tokens = {  # noqa: RUF012 - as Pygments has it
        "root": [
            (r"\s+", Text),
            (r"//[^\n]*", Comment),
            (r"/\*", Comment, "comment"),
            (r"^#[^\n]*", Comment.Preproc),
            (r'"(?:[^"\\\n]|\\.)*"?', String),
            (r"'(?:[^'\\\n]|\\.)*'?", String),
            (r"@\w+", Name.Decorator),
            (r"\d[\w.]*", Number),
            (r"[^\W\d]\w*", _name_word),
            (r".", Text),
        ],
        "comment": [(r"\*/", Comment, "#pop"), (r"[^*]+|\*", Comment)],
    }


def highlight_code(code: str, language: str) -> str:
    """The code as HTML: text, and spans with a class from ``t-k`` (keyword) to ``t-d`` (deleted). Without spans where
    the language is unknown, or the code is long."""
    name = _LEXERS.get(language.lower())
    if name is None or len(code) > MAX_CHARS or any(len(line) > MAX_LINE_CHARS for line in code.split("\n")):
        return str(escape(code))
    pieces: list[tuple[str, str]] = []
    for kind, text in _lexer(name).get_tokens(code):
        mark = _class_of(kind)
        if pieces and (pieces[-1][0] == mark or not text.strip()):  # white space has no colour
            pieces[-1] = (pieces[-1][0], pieces[-1][1] + text)
        else:
            pieces.append((mark, text))
    if "".join(text for _, text in pieces) != code:
        return str(escape(code))
    return "".join(f'<span class="t-{mark}">{escape(text)}</span>' if mark else escape(text) for mark, text in pieces)


@cache
def _lexer(name: str) -> Lexer:
    """Loaded when it is first wanted."""
    if name == "braces":
        return BracesLexer(stripnl=False, ensurenl=False)
    return get_lexer_by_name(name, stripnl=False, ensurenl=False)


@cache
def _class_of(kind: TokenType) -> str:
    while kind is not Token and kind not in _CLASSES:
        assert kind.parent is not None  # noqa: S101 - all come from Token
        kind = kind.parent
    return _CLASSES.get(kind, "")
