"""The words of the rehearsal: its notice, its menu, and the texts that its scenes show. Text only."""

from __future__ import annotations

from pathlib import Path

NOTICE = (
    "**This is a rehearsal**, the built-in demo: a small script answers instead of a model, and it costs nothing. "
    "Everything else is real: the container, the commands, the approvals, the files."
)

GREETING = "Hello! Try everything with me before you pay for a model."

MENU = """You can type:

- `run ls -la` (or any other command): it runs in the cubicle
- `dangerous`: a command that asks you first
- `which files do you have`: what is in my folders
- `file`: a file, which I send to you from my `out/` folder
- `app`: a web page in my `www/` folder
- `remind me in 5 minutes to drink tea`: an entry in my calendar, which comes back to you
- `remember that I like tea`: a fact that I keep; `what do you remember about tea` looks it up
- `ask`: a question to you in the middle of a command
- `fetch https://…`: a download that asks you first
- `long`: a long answer
- `slow`: a slow answer, good for trying the stop button

To use a real model, add a provider's key in the dashboard's Settings."""

REMINDER = "This is the reminder that you asked for:"
"""How a calendar entry of the rehearsal speaks to it when it is due."""

SLOW = (
    "I say this slowly, one word after the other, so that you can see how an answer grows while it is being made. "
    "Press Stop whenever you like: the answer ends at once, and what I have said so far stays. "
    "If you let me finish, I thank you for your patience."
)

APP = Path(__file__).with_name("rehearsal_app.html").read_text(encoding="utf-8")
"""A page that needs nothing but itself."""

LONG = Path(__file__).with_name("rehearsal_long.md").read_text(encoding="utf-8").strip()
"""Longer than a chat message may be, with everything that Markdown has."""
