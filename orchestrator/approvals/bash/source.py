"""The nodes of one parsed text as words and raw text.

Owns the way from a node of the tree back to what is written there, and the checks that the grammar ended a word where
bash ends it: a backslash at a line's end, a name that goes on behind a redirection. Raises ``UnreadableWord`` when in
doubt.
"""

from __future__ import annotations

import re
from itertools import pairwise

from tree_sitter import Node

from orchestrator.approvals.bash.words import HOME, UNKNOWN, UnreadableWord, Word, unquote_word

_SUBSTITUTIONS = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
)
_HOMES = frozenset({"$HOME", "${HOME}"})
_AFTER_WORD = frozenset(["", *" \t\n;|&<>()"])
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_HIDDEN = re.compile(r"(?<!\\)(?:`|\$\()")
_DESCRIPTOR = re.compile(r"\d+|\{[A-Za-z_]\w*\}")


class BashSource:
    """One text, and the bytes that stand for it in the parser.

    Each character is one byte there, so that places in the tree are places in the text. Characters outside ASCII are
    all the same letter: bash too takes them for nothing but parts of words, and the grammar's scanner reads beyond its
    tables for some of them (``{`` before U+CA6C0 ends the whole process with a segmentation fault).
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._knows_home = "HOME=" not in text
        self.bytes = (text if text.isascii() else _NOT_ASCII.sub("q", text)).encode()

    def list_words(self, nodes: list[Node]) -> tuple[Word, ...]:
        """The words that the nodes of one command make."""
        words: list[Word] = []
        at = 0
        while at < len(nodes):
            group = [nodes[at]]
            # a backslash at a line's end joins what stands on both sides of it; the grammar makes two words of that
            while at + 1 < len(nodes) and self._is_joined(group[-1], nodes[at + 1]):
                at += 1
                group.append(nodes[at])
            at += 1
            if not self._is_descriptor(group[-1]):
                words.append(self.join_word(group))
        return tuple(words)

    def _is_joined(self, left: Node, right: Node) -> bool:
        return not self.text_between(left, right).replace("\\\n", "")

    def _is_descriptor(self, node: Node) -> bool:
        """``3`` of ``3>file`` or ``{fd}`` of ``{fd}>file``, which the grammar takes for a word."""
        return self.next_char(node) in ("<", ">") and _DESCRIPTOR.fullmatch(self.raw_text(node)) is not None

    def join_word(self, group: list[Node]) -> Word:
        """The word that the nodes make together."""
        raw = self._text[group[0].start_byte : group[-1].end_byte]
        if len(group) == 1 and not group[0].child_count:
            return unquote_word(raw, raw)
        return unquote_word(raw, "".join(self.mask_text(node) for node in group))

    def last_word(self, node: Node) -> Word:
        """The word of a redirection. Raises when it may go on where the grammar let it end."""
        before = self._text[max(0, node.start_byte - 40) : node.start_byte].replace("\\\n", "").rstrip(" \t")
        if before.endswith("\n") or not self.is_last_word(node):
            raise UnreadableWord
        return self.join_word([node])

    def is_last_word(self, node: Node) -> bool:
        """The word that the node makes surely ends with it."""
        return self.ends_word(node) or self._ends_backquotes(node)

    def ends_word(self, node: Node) -> bool:
        """What follows the node is nothing that could belong to the same word."""
        return self.next_char(node) in _AFTER_WORD

    def _ends_backquotes(self, node: Node) -> bool:
        at: Node | None = node if self.next_char(node) == "`" else None
        while at is not None and at.end_byte == node.end_byte:
            at = at.parent
        return at is not None and at.type == "command_substitution"

    def check_one_line(self, node: Node) -> None:
        """Raises when a line that begins with a backslash was taken for more of the command before it."""
        for left, right in pairwise(node.children):
            if left.type != "variable_assignment" and "\n" in self.text_between(left, right).replace("\\\n", ""):
                raise UnreadableWord

    def check_nothing_hides(self, node: Node) -> None:
        """Raises when the node holds a command substitution that the grammar took for text."""
        if _HIDDEN.search(self._mask_node(node, list(reversed(node.children)))):
            raise UnreadableWord

    def mask_text(self, node: Node) -> str:
        """The node's text with ``UNKNOWN`` in place of each substitution in it."""
        return self._mask_node(node, [node])

    def _mask_node(self, node: Node, todo: list[Node]) -> str:
        pieces: list[str] = []
        at = node.start_byte
        while todo:
            inner = todo.pop()
            if inner.type not in _SUBSTITUTIONS:
                todo.extend(reversed(inner.children))
                continue
            raw = self.raw_text(inner)
            bare = raw.lstrip()  # the grammar may count blanks before a variable as part of it
            pieces.append(self._text[at : inner.start_byte] + raw[: len(raw) - len(bare)])
            is_home = self._knows_home and bare in _HOMES
            pieces.append(HOME if is_home else UNKNOWN)
            at = inner.end_byte
        pieces.append(self._text[at : node.end_byte])
        return "".join(pieces)

    def next_char(self, node: Node) -> str:
        """The character behind the node, or empty at the end."""
        return self._text[node.end_byte : node.end_byte + 1]

    def text_between(self, left: Node, right: Node) -> str:
        """What is written between two nodes."""
        return self._text[left.end_byte : right.start_byte]

    def raw_text(self, node: Node) -> str:
        """What is written there."""
        return self._text[node.start_byte : node.end_byte]
