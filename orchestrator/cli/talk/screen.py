"""The terminal: what stands for good is printed above, into the terminal's own scrollback; below it grow the words that
are being written, and under them stay the input, what is attached and the status. Decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition, has_completions, is_searching
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    DynamicContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import BeforeInput, ConditionalProcessor
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth
from prompt_toolkit.widgets import SearchToolbar
from rich.text import Text

from orchestrator.cli.talk.canvas import AgentMarkdown, Canvas
from orchestrator.cli.talk.desk import Desk
from orchestrator.cli.talk.status import activity_line, status_line, tab_strip
from orchestrator.cli.talk.tabs import Tab

_LONGEST_LIVE = 6_000
"""Characters of a block that grows which are drawn as Markdown; a longer one is plain until it is whole."""
_STYLE = Style.from_dict(
    {
        "tab": "",
        "tab.here": "reverse",
        "mark.asks": "bold ansiyellow",
        "mark.works": "ansicyan",
        "mark.new": "bold ansigreen",
        "quiet": "ansibrightblack",
        "ask": "bold",
        "ask.key": "bold ansiyellow",
        "chip": "ansicyan",
        "prompt": "bold ansicyan",
        "completion-menu": "noinherit",
        "completion-menu.completion": "noinherit",
        "completion-menu.completion.current": "noinherit reverse",
        "completion-menu.meta.completion": "noinherit ansibrightblack",
        "completion-menu.meta.completion.current": "noinherit reverse",
        "scrollbar.background": "noinherit",
        "scrollbar.button": "noinherit reverse",
    }
)


class ChatScreen:
    """Of one chat."""

    def __init__(
        self,
        desk: Desk,
        *,
        keys: KeyBindings,
        completer: Completer,
        seconds: Callable[[Tab], float | None],
        history: Callable[[str], FileHistory],
    ) -> None:
        self._desk = desk
        self._seconds = seconds
        self._history = history
        self._completer = completer
        has_colors = desk.context.paint.is_on
        self._canvas = Canvas(has_colors=has_colors)
        self._live: tuple[tuple[str, int], list[str]] = (("", 0), [])
        self._inputs: dict[Tab, Window] = {}
        self._search = SearchToolbar()
        self.answer = Buffer(multiline=False)
        """Words that answer a card."""
        self._answer_window = Window(
            BufferControl(self.answer, input_processors=[BeforeInput(self._answer_prompt)]),
            height=Dimension(min=1, max=5),
            wrap_lines=True,
            dont_extend_height=True,
        )
        self._keys_window = Window(
            FormattedTextControl(self._ask_line, focusable=True, show_cursor=False),
            wrap_lines=True,
            dont_extend_height=True,
        )
        self._editor: asyncio.Task[None] | None = None
        self.is_answering = False
        """A card is answered in words."""
        self.app: Application[int] = Application(
            layout=Layout(self._build()),
            key_bindings=keys,
            style=_STYLE,
            color_depth=None if has_colors else ColorDepth.DEPTH_1_BIT,
            erase_when_done=True,
            min_redraw_interval=0.04,
        )
        # An Esc alone is told from the first byte of a key soon; Alt+Enter is two bytes at once.
        self.app.ttimeoutlen = 0.1
        self.app.timeoutlen = 0.3

    @property
    def buffer(self) -> Buffer:
        """What is being typed in the tab that is looked at."""
        control = self._input_of(self._desk.tabs.current).content
        assert isinstance(control, BufferControl)  # noqa: S101  # that is what it was made with
        return control.buffer

    def show_tab(self) -> None:
        """The tab that is current now is the one that is looked at, and where keys go."""
        tab = self._desk.tabs.current
        card = tab.cards[0] if tab.cards else None
        if self.app.layout.is_searching:
            pass
        elif self.is_answering and card is not None:
            self.app.layout.focus(self._answer_window)
        elif card is not None and card.guard is not None and card.guard.is_armed:
            self.app.layout.focus(self._keys_window)
        else:
            self.app.layout.focus(self._input_of(tab))
        self.app.invalidate()

    def forget_tab(self, tab: Tab) -> None:
        """It was closed."""
        self._inputs.pop(tab, None)

    def edit_line(self) -> None:
        """What is being typed, in the person's editor. Until it is left, the terminal is the editor's."""
        self._editor = self.buffer.open_in_editor()
        self._editor.add_done_callback(lambda _: self._desk.changed.set())

    def print_pieces(self) -> None:
        """What the current tab has to say stands in the scrollback from now on."""
        if self.app.is_done or not self.app.is_running or (self._editor is not None and not self._editor.done()):
            return
        lines = self._take_lines()
        if lines:
            self._print_lines(lines)

    def print_first(self) -> None:
        """What was said before stands there already when the parts below are drawn for the first time."""
        self.app.output.write_raw("".join(f"{line}\r\n" for line in self._take_lines()))
        self.app.output.flush()

    def _take_lines(self) -> list[str]:
        tab = self._desk.tabs.current
        told, tab.unprinted = tab.unprinted, []
        card = tab.cards[0] if tab.cards else None
        width = self._width
        lines: list[str] = []
        for piece in told:
            lines += [] if piece.is_tight else [""]
            lines += self._canvas.draw(piece.what, width)
        if card is not None and not card.is_printed:
            if not card.id.startswith("/"):  # an agent asks: whoever looks elsewhere may hear it
                self.app.output.bell()
            card.is_printed = True
            lines += ["", *self._canvas.draw(card.body, width)]
        return lines

    def _print_lines(self, lines: list[str]) -> None:
        """Above the parts that stay. The library's own way hands the terminal back for each print: a Ctrl+C in that
        moment would end the chat, and keys would be echoed."""
        renderer = self.app.renderer
        renderer.erase()
        self.app.output.write_raw("".join(f"{line}\r\n" for line in lines))
        renderer.request_absolute_cursor_position()
        renderer.render(self.app, self.app.layout)

    # --- the parts below ------------------------------------------------------------------------------------------

    def _build(self) -> HSplit:
        is_asking = Condition(self._is_asking)
        is_answering = Condition(lambda: self.is_answering)
        return HSplit(
            [
                Window(FormattedTextControl(self._live_lines), dont_extend_height=True, wrap_lines=False),
                ConditionalContainer(self._keys_window, is_asking & ~is_answering),
                ConditionalContainer(self._answer_window, is_answering),
                ConditionalContainer(
                    DynamicContainer(lambda: self._input_of(self._desk.tabs.current)), ~is_asking & ~is_answering
                ),
                self._search,
                ConditionalContainer(CompletionsMenu(max_height=8, scroll_offset=1), has_completions),
                ConditionalContainer(
                    Window(FormattedTextControl(self._chips), wrap_lines=True, dont_extend_height=True),
                    Condition(lambda: bool(self._chips())),
                ),
                Window(FormattedTextControl(self._strip), height=1, wrap_lines=False),
                Window(FormattedTextControl(self._status), height=1, wrap_lines=False, style="class:quiet"),
            ],
            align=VerticalAlign.TOP,
        )

    def _input_of(self, tab: Tab) -> Window:
        if tab not in self._inputs:
            buffer = Buffer(
                multiline=True,
                history=self._history(tab.agent),
                completer=self._completer,
                complete_while_typing=Condition(lambda: buffer.text.startswith("/") and "\n" not in buffer.text),
                enable_history_search=False,
            )
            hint = f"Message {tab.called}, or / for commands"
            prompt = BeforeInput("› ", style="class:prompt")
            is_empty = Condition(lambda: not buffer.text) & ~is_searching
            empty = ConditionalProcessor(BeforeInput([("class:prompt", "› "), ("class:quiet", hint)]), is_empty)
            full = ConditionalProcessor(prompt, ~is_empty)
            control = BufferControl(
                buffer,
                input_processors=[full, empty],
                search_buffer_control=self._search.control,
                preview_search=True,
            )
            self._inputs[tab] = Window(
                control, height=Dimension(min=1, max=10), wrap_lines=True, dont_extend_height=True
            )
        return self._inputs[tab]

    @property
    def _width(self) -> int:
        return max(self.app.output.get_size().columns, 10)

    def _is_asking(self) -> bool:
        tab = self._desk.tabs.current
        return bool(tab.cards) and tab.cards[0].guard is not None and tab.cards[0].guard.is_armed

    def _live_lines(self) -> ANSI:
        """What grows, the end of it; then what the agent does."""
        tab = self._desk.tabs.current
        stories = tab.open_stories
        if not stories:
            return ANSI("")
        story, width = stories[0], self._width
        room = max(3, self.app.output.get_size().rows - 14)
        lines = self._draw_growing(story.growing, width) if story.growing.strip() else []
        lines = [*lines[-room:], *self._canvas.draw(Text("\n".join(f"    {one}" for one in story.live_output)), width)]
        told = activity_line(tab, self._seconds(tab), width)
        return ANSI("\n".join(["", *lines, f"\x1b[2m{told}\x1b[0m"]))

    def _draw_growing(self, growing: str, width: int) -> list[str]:
        if self._live[0] != (growing, width):
            what = AgentMarkdown(growing) if len(growing) < _LONGEST_LIVE else Text(growing[-_LONGEST_LIVE:])
            self._live = ((growing, width), self._canvas.draw(what, width))
        return self._live[1]

    def _ask_line(self) -> StyleAndTextTuples:
        tab = self._desk.tabs.current
        if not tab.cards:
            return []
        card = tab.cards[0]
        line: StyleAndTextTuples = [("class:ask", card.ask)]
        room = self._width - get_cwidth(card.ask)
        for key, told in [*card.keys.items(), ("Esc", "later")]:
            need = get_cwidth(key) + get_cwidth(told) + 3
            line.append(("", "  " if need < room else "\n"))
            room = (room if need < room else self._width) - need
            line += [("class:ask.key", key), ("", f" {told}")]
        return line

    def _answer_prompt(self) -> StyleAndTextTuples:
        tab = self._desk.tabs.current
        card = tab.cards[0] if tab.cards else None
        return [("class:ask", (card.line if card is not None else "") or "Why, or what to do instead: ")]

    def _chips(self) -> StyleAndTextTuples:
        tab = self._desk.tabs.current
        said: StyleAndTextTuples = []
        if tab.editing is not None:
            said.append(("class:chip", " Your last message, with other words; Esc keeps it "))
        said += [("class:chip", f" ⎙ {file.label} ") for file in tab.files]
        if tab.files:
            said.append(("class:quiet", " Backspace removes"))
        if tab.cards and not self._is_asking() and not self.is_answering:
            said.append(("class:mark.asks", f" {tab.called} asks: pause typing to answer "))
        return said

    def _strip(self) -> StyleAndTextTuples:
        here = {tab.agent for tab in self._desk.tabs.all if tab.cards}
        elsewhere = sorted(set(self._desk.elsewhere.values()) - here)
        return tab_strip(self._desk.tabs, elsewhere, self._width)

    def _status(self) -> str:
        return status_line(self._desk.tabs.current, is_live=self._desk.is_live, width=self._width)
