"""Sources in words: what a conversation has read, summed up for whoever is asked about it; and which of it has an agent
ask again. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from orchestrator.approvals.source_rows import Source, SourceKind
from orchestrator.core.asks_again import AsksAgain
from orchestrator.core.text import one_line
from orchestrator.languages.speech import IN_ENGLISH, SpokenLanguage
from orchestrator.languages.told import to_say, worded

COUNTED: Mapping[AsksAgain, tuple[SourceKind, ...]] = {
    AsksAgain.STRICT: tuple(SourceKind),
    AsksAgain.WEB: (SourceKind.WEB, SourceKind.SEARCH, SourceKind.PACKAGES, SourceKind.MCP),
    AsksAgain.OFF: (),
}
"""By the agent's setting: what a grant for a host does not outlive."""
_MOST_HOSTS = 3
_WORDS = {
    SourceKind.WEB: (to_say("another host"), to_say("%(count)s other hosts")),
    SourceKind.SEARCH: (to_say("a web search"), to_say("%(count)s web searches")),
    SourceKind.PACKAGES: (to_say("a package"), to_say("%(count)s packages")),
    SourceKind.FILE: (to_say("a file that you gave"), to_say("%(count)s files that you gave")),
    SourceKind.MESSAGE: (to_say("a forwarded message"), to_say("%(count)s forwarded messages")),
    SourceKind.MCP: (to_say("another service's tool"), to_say("%(count)s other services' tools")),
    SourceKind.TRANSCRIPT: (to_say("an imported conversation"), to_say("%(count)s imported conversations")),
}


class SourcePhrase(NamedTuple):
    """A part of the list of what was read."""

    text: str
    is_name: bool
    """It is a stranger's name, to be shown as data; else words of ours."""


def sum_up(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """What was read, short enough to stand with a question: the newest hosts by name, everything else counted."""
    hosts = {source.subject: source.count for source in sources if source.kind is SourceKind.WEB and source.subject}
    named = list(hosts)[::-1][:_MOST_HOSTS]
    found: list[dict[str, Any]] = [{"kind": str(SourceKind.WEB), "subject": host, "count": 1} for host in named]
    counts = dict.fromkeys(SourceKind, 0)
    for source in sources:
        if source.kind is not SourceKind.WEB or not source.subject:
            counts[source.kind] += source.count
    counts[SourceKind.WEB] += len(hosts) - len(named)
    found += [{"kind": str(kind), "subject": "", "count": count} for kind, count in counts.items() if count]
    return found


def list_phrases(summed_up: object) -> list[SourcePhrase]:
    """The parts of the list for a person; of anything that ``sum_up`` did not make, nothing."""
    phrases = []
    for entry in summed_up if isinstance(summed_up, list) else ():
        if entry["subject"]:
            phrases.append(SourcePhrase(one_line(str(entry["subject"]), 260), is_name=True))
            continue
        one, many = _WORDS[SourceKind(entry["kind"])]
        count = int(entry["count"])
        phrases.append(SourcePhrase(one if count == 1 else worded(many, count=f"{count:,}"), is_name=False))
    return phrases


def describe_sources(detail: Mapping[str, Any], speech: SpokenLanguage = IN_ENGLISH) -> list[str]:
    """What a question's ``detail`` tells of it, in sentences: why it is asked again, and what was read."""
    since, read = (_list_words(detail.get(name), speech) for name in ("since_allowed", "sources"))
    sentences = []
    if since:
        told = speech.say("It has read %(sources)s since you allowed this, so you are asked again.", sources=since)
        sentences.append(told)
    if read:
        sentences.append(speech.say("This conversation has read %(sources)s.", sources=read))
    return sentences


def describe_turn(sources: Sequence[Source], speech: SpokenLanguage = IN_ENGLISH) -> str:
    """What was read in one turn, as a list of words; empty where that is nothing."""
    return _list_words(sum_up(sources), speech)


def _list_words(summed_up: object, speech: SpokenLanguage) -> str:
    """``a, b and c``."""
    words = [each.text if each.is_name else speech.retell(each.text) for each in list_phrases(summed_up)]
    if len(words) < 2:
        return "".join(words)
    return speech.say("%(others)s and %(last)s", others=", ".join(words[:-1]), last=words[-1])


def as_json(source: Source) -> dict[str, Any]:
    """One of them as surfaces show it."""
    return {
        "kind": str(source.kind),
        "subject": source.subject,
        "detail": source.detail,
        "count": source.count,
        "turn": source.turn,
        "first_at": source.first_at,
        "last_at": source.last_at,
    }
