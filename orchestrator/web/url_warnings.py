"""What a person should know of a URL before saying yes to it. Pure.

A request is an upload too: whoever asks for ``https://host/?d=SECRET`` has told the host. These are hints for a
person's eyes, no wall: somebody patient gets a secret past them in small pieces.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from urllib.parse import unquote

from orchestrator.web.urls import DEFAULT_PORTS, Link

LONG_TARGET_CHARS = 200
LONG_QUERY_CHARS = 100
LONG_HOST_CHARS = 60
_RUN = re.compile(r"[A-Za-z0-9+_-]{20,}")
_DENSE_BITS = 3.4
"""Bits a character: a word of any length stays below it unless it is a made-up one, 20 random figures rarely do."""
_WRITTEN_TOGETHER = ({"CJK", "HIRAGANA", "KATAKANA"}, {"CJK", "HANGUL"}, {"CJK", "BOPOMOFO"})
_SITE_ENDINGS = frozenset({"com", "net", "org"})


class Caution(StrEnum):
    """A kind of hint."""

    PLAIN = "plain"
    ADDRESS = "address"
    PORT = "port"
    LONG = "long"
    DENSE = "dense"
    HOST = "host"
    LETTERS = "letters"
    SCRIPTS = "scripts"
    LOOKALIKE = "lookalike"


@dataclass(frozen=True, slots=True)
class Hint:
    """One thing to know, as a sentence."""

    kind: Caution
    text: str


def list_warnings(link: Link) -> tuple[Hint, ...]:
    """What to tell the person, the gravest first; empty for a plain link to a plain host."""
    return (*_of_the_host(link), *_of_what_is_sent(link), *_of_the_way(link))


def _of_the_way(link: Link) -> list[Hint]:
    hints = []
    if link.scheme == "http":
        hints.append(Hint(Caution.PLAIN, "It is not encrypted: anybody on the way can read and change it."))
    if link.port != DEFAULT_PORTS[link.scheme]:
        hints.append(Hint(Caution.PORT, f"The port {link.port} is unusual."))
    return hints


def _of_what_is_sent(link: Link) -> list[Hint]:
    hints = []
    if len(link.target) > LONG_TARGET_CHARS or len(link.query) > LONG_QUERY_CHARS:
        text = f"The part after the host has {len(link.target):,} characters, which are sent to the host."
        hints.append(Hint(Caution.LONG, text))
    if is_dense(unquote(link.query)) or is_dense(unquote(link.path)):
        hints.append(Hint(Caution.DENSE, "A part of it looks like data in disguise (a key, a token, a file)."))
    return hints


def _of_the_host(link: Link) -> list[Hint]:
    if link.address is not None:
        return [Hint(Caution.ADDRESS, "The host is a bare IP address, without a name.")]
    hints, labels = [], link.host.split(".")
    if len(link.host) > LONG_HOST_CHARS or any(is_dense(label) for label in labels[:-1] if "xn--" not in label):
        hints.append(Hint(Caution.HOST, "The host's name is so long or odd that it could carry data itself."))
    if set(labels[:-2]) & _SITE_ENDINGS:
        hints.append(
            Hint(Caution.LOOKALIKE, f"The host looks like another site; it belongs to {'.'.join(labels[-2:])}.")
        )
    if "xn--" in link.host:
        hints += _of_letters(link)
    return hints


def _of_letters(link: Link) -> list[Hint]:
    name = link.readable_host
    hints = [Hint(Caution.LETTERS, f"The host looks like {name}, but its real name is {link.host}.")]
    mixed = next((found for label in name.split(".") if len(found := find_scripts(label)) > 1), None)
    if mixed and not any(mixed <= together for together in _WRITTEN_TOGETHER):
        listed = " and ".join(sorted(script.capitalize() for script in mixed))
        hints.insert(0, Hint(Caution.SCRIPTS, f"The host mixes letters that look alike ({listed})."))
    return hints


def find_scripts(text: str) -> set[str]:
    """The scripts of a text's letters, as Unicode names them."""
    return {unicodedata.name(char, "UNKNOWN").split(" ")[0] for char in text if char.isalpha()}


def is_dense(text: str) -> bool:
    """Some part of it has more information in a character than words have."""
    return any(_is_coded(piece) for run in _RUN.findall(text) for piece in (run, *_between_dashes(run)))


def _between_dashes(run: str) -> list[str]:
    return [part for part in re.split(r"[-_]", run) if len(part) >= 20]


def _is_coded(run: str) -> bool:
    """Words joined by dashes have few figures; codes have many, or letters of both sizes in no order."""
    if len(words := re.split(r"[-_]", run)) > 2 and all(_is_wordlike(word) for word in words):
        return False
    figures = sum(char.isdigit() for char in run)
    turns = sum(a.islower() and b.isupper() for a, b in pairwise(run))
    is_odd = figures >= len(run) / 8 or turns >= len(run) / 10 or run.isupper()
    return is_odd and _bits_a_character(run) > (3.0 if re.fullmatch(r"[0-9a-fA-F]+", run) else _DENSE_BITS)


def _is_wordlike(part: str) -> bool:
    return part.isdigit() or (len(part) < 20 and sum(char.isdigit() for char in part) <= max(2, len(part) // 4))


def _bits_a_character(run: str) -> float:
    counts = Counter(run)
    return -sum(n / len(run) * math.log2(n / len(run)) for n in counts.values())
