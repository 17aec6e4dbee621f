"""Which key does what. The deeds are handed in; while a card hears keys, every other one only says that somebody is
typing."""

from __future__ import annotations

from typing import Protocol

from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Condition, Filter, has_completions, is_searching
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys


class KeyDeeds(Protocol):
    """What keys can ask for."""

    def is_asking(self) -> bool:
        """A card hears keys."""

    def is_answering(self) -> bool:
        """A card is answered in words."""

    def press_card(self, key: str) -> None:
        """A key for the card."""

    def send_line(self) -> None:
        """What was typed is to be sent."""

    def send_answer(self) -> None:
        """The words that were typed answer the card."""

    def paste(self, text: str) -> None:
        """A paste, or files that were dropped."""

    def edit_line(self) -> None:
        """What was typed goes to an editor."""

    def go_back(self) -> None:
        """Esc."""

    def stop(self) -> None:
        """Ctrl+C."""

    def leave(self) -> None:
        """Ctrl+D on an empty line."""

    def go_to_tab(self, number: int | None) -> None:
        """Another tab, or the next."""

    def drop_file(self) -> bool:
        """The last file goes along after all not; False when there is none."""


def make_bindings(deeds: KeyDeeds) -> KeyBindings:
    """All of them."""
    keys = KeyBindings()
    asking = Condition(deeds.is_asking)
    answering = Condition(deeds.is_answering)
    typing = ~asking & ~answering & ~is_searching
    _bind_typing(keys, deeds, typing)
    _bind_cards(keys, deeds, asking, answering)

    @keys.add("escape", filter=~is_searching)
    def go_back(event: KeyPressEvent) -> None:
        if typing() and event.current_buffer.complete_state is not None:
            event.current_buffer.cancel_completion()
        else:
            deeds.go_back()

    @keys.add("c-c", filter=~is_searching)
    def stop(event: KeyPressEvent) -> None:  # noqa: ARG001  # the library's form
        deeds.stop()

    @keys.add("c-n", filter=~has_completions)
    def go_on(event: KeyPressEvent) -> None:  # noqa: ARG001
        deeds.go_to_tab(None)

    for number in range(1, 10):
        _bind_number(keys, deeds, number)
    return keys


def _bind_number(keys: KeyBindings, deeds: KeyDeeds, number: int) -> None:
    @keys.add("escape", str(number))
    def go(event: KeyPressEvent) -> None:  # noqa: ARG001
        deeds.go_to_tab(number)


def _bind_typing(keys: KeyBindings, deeds: KeyDeeds, typing: Filter) -> None:
    @keys.add("enter", filter=typing)
    @keys.add("c-j", filter=typing)
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        state = buffer.complete_state
        if state is not None and state.current_completion is not None and buffer.text.endswith(" "):
            buffer.complete_state = None  # chosen from the menu, and more words follow
        elif buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.complete_state = None
            deeds.send_line()

    @keys.add("escape", "enter", filter=typing)
    def begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("tab", filter=typing & ~has_completions)
    def complete(event: KeyPressEvent) -> None:
        event.current_buffer.start_completion(insert_common_part=True)

    @keys.add("backspace", filter=typing & Condition(lambda: not get_app().current_buffer.text))
    def drop(event: KeyPressEvent) -> None:
        if not deeds.drop_file():
            event.app.output.bell()

    @keys.add("c-d", filter=typing & Condition(lambda: not get_app().current_buffer.text))
    def leave(event: KeyPressEvent) -> None:  # noqa: ARG001
        deeds.leave()

    @keys.add("c-x", "c-e", filter=typing)
    def edit(event: KeyPressEvent) -> None:  # noqa: ARG001
        deeds.edit_line()

    @keys.add(Keys.BracketedPaste, filter=typing)
    def paste(event: KeyPressEvent) -> None:
        deeds.paste(event.data.replace("\r\n", "\n").replace("\r", "\n"))


def _bind_cards(keys: KeyBindings, deeds: KeyDeeds, asking: Filter, answering: Filter) -> None:
    @keys.add("<any>", filter=asking)
    @keys.add(Keys.BracketedPaste, filter=asking)
    @keys.add("enter", filter=asking)
    @keys.add("c-j", filter=asking)
    def press(event: KeyPressEvent) -> None:
        deeds.press_card(event.data if event.key_sequence[0].key != Keys.BracketedPaste else "")

    @keys.add("c-d", filter=asking)
    def leave(event: KeyPressEvent) -> None:  # noqa: ARG001
        deeds.leave()

    @keys.add("enter", filter=answering)
    @keys.add("c-j", filter=answering)
    def answer(event: KeyPressEvent) -> None:  # noqa: ARG001
        deeds.send_answer()

    @keys.add("c-d", filter=answering & Condition(lambda: not get_app().current_buffer.text))
    def put_off(event: KeyPressEvent) -> None:  # noqa: ARG001
        deeds.go_back()
