"""The conversation of one turn as the model gets it: the standing prompt, the history, and what happens now.

Owns its size: when the turn grows too long, the oldest outputs of commands are shortened, never what people said.
"""

from __future__ import annotations

from crab.output import shorten

MAX_CHARS = 200_000
MAX_ANSWER_CHARS = 32_000
SHORT_CHARS = 400


class CrabConversation:
    """Messages for the model, only ever appended to."""

    __slots__ = ("_outputs", "messages")

    def __init__(self, system: str, history: list[dict[str, object]], text: str) -> None:
        self.messages: list[dict[str, object]] = [{"role": "system", "content": system}, *history]
        self._outputs: list[int] = []
        self.add_message(text)

    def add_message(self, text: str) -> None:
        """The person, or the crab itself, says something to the model."""
        self.messages.append({"role": "user", "content": text})

    def tell_output(self, text: str) -> None:
        """A result that may be shortened later, when there are many."""
        self._outputs.append(len(self.messages))
        self.add_message(text)
        self._drop_oldest()

    def add_answer(self, text: str) -> None:
        """What the model said; an endless answer is kept in part."""
        said = shorten(text, MAX_ANSWER_CHARS) if text.strip() else "(nothing)"  # providers refuse an empty message
        self.messages.append({"role": "assistant", "content": said})

    def _drop_oldest(self) -> None:
        sizes = [len(str(message.get("content", ""))) for message in self.messages]
        excess = sum(sizes) - MAX_CHARS
        while excess > 0 and len(self._outputs) > 1:  # the newest stays whole
            place = self._outputs.pop(0)
            short = shorten(str(self.messages[place]["content"]), SHORT_CHARS)
            excess -= sizes[place] - len(short)
            self.messages[place] = {"role": "user", "content": short}
