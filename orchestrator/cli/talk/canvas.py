"""What is drawn in the chat becomes text for the terminal: rich lays it out, and nothing but words and colours gets
through. Prints nothing itself."""

from __future__ import annotations

import io
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.segment import Segment, Segments
from rich.style import Style
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from orchestrator.core.text import terminal_safe

_TAB = 4
_THEME = Theme(
    {
        "markdown.h1": "bold underline",
        **dict.fromkeys((f"markdown.h{level}" for level in range(2, 7)), "bold"),
        "markdown.code": "cyan",
        "markdown.block_quote": "dim",
        "markdown.item.number": "cyan",
        "markdown.table.header": "bold",
        "markdown.table.border": "dim",
    }
)
"""In the terminal's own colours, so that it can be read on a light one and on a dark one."""


class Canvas:
    """Draws for one terminal, at the width that it has right now."""

    def __init__(self, *, has_colors: bool) -> None:
        # Real consoles are asked what colours there are; this one writes nowhere.
        colors = Console().color_system if has_colors else None
        self._console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system=colors or "standard",  # type: ignore[arg-type]  # rich gives a str where it takes literals
            no_color=not has_colors,
            highlight=False,
            theme=_THEME,
            width=80,
        )

    def draw(self, what: RenderableType, width: int) -> list[str]:
        """Its lines, none longer than ``width`` cells, without empty ones around them. Whatever was written inside,
        also by way of an entity such as ``&#x202e;``, moves no cursor and turns no text around."""
        options = self._console.options.update(width=max(width, 8), max_width=max(width, 8))
        lines = [_clean_line(line) for line in self._console.render_lines(what, options, pad=False)]
        while lines and not _words_of(lines[0]):
            del lines[0]
        while lines and not _words_of(lines[-1]):
            del lines[-1]
        return [self._paint(line) for line in lines]

    def _paint(self, line: list[Segment]) -> str:
        with self._console.capture() as captured:
            self._console.print(Segments(line), end="", soft_wrap=True)
        return captured.get()


def _words_of(line: list[Segment]) -> str:
    return "".join(segment.text for segment in line).strip()


def _clean_line(line: list[Segment]) -> list[Segment]:
    """Without links, controls and the blanks at its end, which would be in every copy."""
    clean = [
        Segment(terminal_safe(text).replace("\n", "\\n").replace("\t", " " * _TAB), _without_link(style))
        for text, style, control in line
        if not control
    ]
    while clean and not clean[-1].text.rstrip(" "):
        clean.pop()
    if clean:
        clean[-1] = Segment(clean[-1].text.rstrip(" "), clean[-1].style)
    return clean


def _without_link(style: Style | None) -> Style | None:
    return style.update_link(None) if style is not None and style.link else style


class _Title(Heading):
    """At the left, where the eye is."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:  # rich's own
        text = self.text.copy()
        text.justify = "left"
        yield text


class _Code(CodeBlock):
    """In the terminal's own colours, indented, with its language above it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:  # rich's own
        if self.lexer_name != "text":
            yield Text(f"  {self.lexer_name}", style="dim")
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme="ansi_dark", word_wrap=True, padding=(0, 2), tab_size=_TAB)


class _Table(TableElement):
    """Without the empty lines that its missing edges would be."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                table.show_edge = False
            yield table


class AgentMarkdown(Markdown):
    """An agent's Markdown: what looks like HTML is text, and links show where they lead."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Title,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }

    def __init__(self, markup: str) -> None:
        safe = terminal_safe(markup)
        super().__init__("", hyperlinks=False, code_theme="ansi_dark")
        self.markup = safe
        self.parsed = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(safe)
