"""The words of the rehearsal: its notice, its menu, and the texts that its scenes show. Text only."""

from __future__ import annotations

from pathlib import Path

NOTICE = (
    "**This is a rehearsal.** No model answers here but a small script, and it costs nothing. "
    "Everything else is real: the container, the commands, the approvals, the files."
)

GREETING = "Hello! Try the machine with me before you pay anybody for a model."

MENU = """You can type:

- `run ls -la` (or any other command): it runs in the cubicle
- `dangerous`: a command that asks you first
- `file`: a file, which is sent to you from its `out/` folder
- `app`: a web page in its `www/` folder
- `remind me in 5 minutes to drink tea`: an entry in its calendar, which comes back to you
- `remember that I like tea`: a fact that it keeps; `what do you remember about tea` looks for it
- `ask`: a question to you in the middle of a command
- `fetch https://…`: a download that asks you first
- `long`: a long answer
- `slow`: a slow answer, good for trying the stop button

For a real model, give a provider's key in the dashboard's Settings."""

REMINDER = "This is the reminder that you asked for:"
"""How a calendar entry of the rehearsal speaks to it when it is due."""

SLOW = (
    "I say this slowly, one word after the other, so that you can see how an answer grows while it is being made. "
    "Press stop whenever you like: the answer ends at once and nothing is lost. "
    "If you let me finish, I thank you for your patience."
)

APP = Path(__file__).with_name("rehearsal_app.html").read_text(encoding="utf-8")
"""A page that needs nothing but itself."""

LONG = Path(__file__).with_name("rehearsal_long.md").read_text(encoding="utf-8").strip()
"""Longer than a chat message may be, with everything that Markdown has."""
