"""The exact text that a person decides about, with everything marked that an eye would miss: characters that draw
nothing or reorder others, letters from outside ASCII, long runs of blanks and of empty lines, blanks at a line's
end. Pure.
"""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup, escape

from orchestrator.core.text import escape_invisible

_RUN = re.compile(
    r"(?P<lines>\n{4,})|(?P<end> +(?=\n|\Z))|(?P<gap> {9,})|(?P<tab>\t)|(?P<plain>[!-~]+| +|\n+)|(?P<odd>.)", re.DOTALL
)


def mark_hidden(text: str) -> Markup:
    """The text as HTML, nothing left out of it."""
    return Markup("").join(escape(run[0]) if run["plain"] else _mark(run) for run in _RUN.finditer(text))


def _mark(found: re.Match[str]) -> Markup:
    run = found[0]
    if found["lines"]:
        return _noted(f"⏎×{len(run)}", f"{len(run)} line ends") + "\n"
    if found["end"] or found["gap"]:
        return _noted(f"·×{len(run)}" if len(run) > 1 else "·", f"{len(run)} blanks")
    if found["tab"]:
        return _noted("⇥", "a tab") + "\t"
    shown = escape_invisible(run)
    title = f"U+{ord(run):04X} {unicodedata.name(run, 'unnamed').lower()}"
    return _noted(shown, title) if shown != run else Markup('<mark class="odd" title="{}">{}</mark>').format(title, run)


def _noted(sign: str, title: str) -> Markup:
    return Markup('<mark class="unseen" title="{}">{}</mark>').format(title, sign)
