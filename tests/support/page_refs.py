"""Finding the ref of what is called so in the text of a page, as an agent does by reading it."""

from __future__ import annotations

import re

from orchestrator.browser.session import BrowserSession

_CONTROL = r"\[(?:button|textbox|file|select|checkbox|radio|clickable|tab|link|menuitem|option) (\w+): {}(?=[\],( =])"
_LINK = r"\[{}\]\((\w+)"


def ref_in(text: str, name: str) -> str:
    """The ref of the control or link of this name."""
    for pattern in (_CONTROL, _LINK):
        found = re.search(pattern.format(re.escape(name)), text)
        if found:
            return found[1]
    raise AssertionError(f"{name} is not in:\n{text}")


async def ref_of(session: BrowserSession, name: str) -> str:
    """The same, in the page that is in front."""
    return ref_in((await session.snapshot()).body, name)


async def title_of(session: BrowserSession) -> str:
    """What the page in front calls itself."""
    return (await session.snapshot()).title
