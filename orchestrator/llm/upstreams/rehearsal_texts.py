"""The words of the rehearsal: its notice, its menu, and the long texts that its scenes show. Text only."""

from __future__ import annotations

NOTICE = (
    "**This is a rehearsal.** No model answers here but a small script, and it costs nothing. "
    "Everything else is real: the container, the commands, the approvals, the files."
)

GREETING = "Hello! Try the machine with me before you pay anybody for a model."

MENU = """You can type:

- `run ls -la` (or any other command): it runs in the cubicle
- `dangerous`: a command that asks you first
- `file`: a file that is delivered to you
- `app`: a web app that you can open
- `remind me in 2 minutes to drink tea`: an entry in the calendar
- `remember that I like tea`: a memory that stays
- `fetch https://example.org/`: a download that a person must agree to
- `long`: a long answer
- `slow`: a slow answer, good for trying the stop button

For a real model, set a key such as `OPENROUTER_API_KEY` or `ANTHROPIC_API_KEY` and start again."""

REMINDER = "This is the reminder that you asked for:"
"""How a calendar entry of the rehearsal speaks to it when it is due."""

APP = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hello from the cubicle</title>
<style>
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: #10243a; color: #f4efe6;
         font: 18px/1.5 system-ui, sans-serif; }
  main { text-align: center; padding: 2rem; }
  button { font: inherit; padding: .6rem 1.4rem; border: 0; border-radius: 2rem; background: #e8743b; color: #fff;
           cursor: pointer; }
  .crab { font-size: 5rem; transition: transform .3s; display: inline-block; }
</style>
</head>
<body>
<main>
  <div class="crab" id="crab">&#129408;</div>
  <h1>Hello!</h1>
  <p>An agent wrote this page in its cubicle. It has no network, and neither have I.</p>
  <button id="wave">Wave</button>
  <p id="count" aria-live="polite"></p>
</main>
<script>
  let waves = 0;
  document.getElementById("wave").addEventListener("click", () => {
    waves += 1;
    document.getElementById("crab").style.transform = `rotate(${waves % 2 ? 20 : -20}deg)`;
    document.getElementById("count").textContent = `${waves} ${waves === 1 ? "wave" : "waves"} so far`;
  });
</script>
</body>
</html>
"""

SLOW = (
    "I say this slowly, one word after the other, so that you can see how an answer grows while it is being made. "
    "Press stop whenever you like: the answer ends at once and nothing is lost. "
    "If you let me finish, I thank you for your patience."
)

_ROOM = """## {number}. {title}

{text}

| what | where |
|---|---|
| {what} | `{where}` |

- First, look at it: `ls {where}`
- Then *change* something, and look **again**.

```bash
ls -la {where}
```
"""

_ROOMS = (
    (
        "The workshop",
        "Every command starts here, and what is put here stays, also when the container is stopped and started again. "
        "It is the agent's own folder: notes, half-finished drafts, downloaded data, programs that it wrote for itself. "
        "Each command runs in a shell of its own, so a change of folder or a variable does not last from one to the "
        "next; files do. Beside the rest lies the agent's log, in which every thought, command and output is written "
        "down as it happens. You can read it at any time, and you need not ask the agent for it.",
        "your agent's own folder",
        ".",
    ),
    (
        "The inbox",
        "What you upload appears here: a table to sum up, a picture to describe, a folder to tidy. The agent can read "
        "it and cannot change it, so your originals are safe whatever goes wrong. If it wants to work on a file, it "
        "makes a copy in the workshop first. Files from the internet arrive here too, but only after a person has "
        "looked at the address and agreed, for the container itself has no network at all.",
        "uploads",
        "../in",
    ),
    (
        "The outbox",
        "Whatever is put here is delivered to you, once, by itself: a report, a picture, an archive. The agent writes "
        "a file elsewhere and moves it here when it is finished, so that you never get half of one. Links and other "
        "tricks are not followed, and what is too large for a chat is offered as a download instead. The dashboard "
        "keeps a list of all deliveries with their sizes and check sums, so you can see what has ever left the house.",
        "deliveries",
        "../out",
    ),
    (
        "The stage",
        "A folder with a page called index.html is a web app that you can open from the dashboard. It runs in a frame "
        "of its own, on an address of its own, and it can load nothing from the internet and send nothing there. That "
        "makes it a fine place for charts, small games, forms and drawings that an agent made for you. Ask me for an "
        "app and I will put one on this stage; it waves when you press its button, and that is all it can do.",
        "web apps",
        "../www",
    ),
    (
        "The archive",
        "Here lie the calendar and the memories, as copies for reading. The agent may look into them with SQL whenever "
        "it likes, and nothing that it could write there would ever be believed: the originals are kept outside. To "
        "change something it asks, with an action in its answer, and the host does it, writes it down and says what "
        "came of it. So an entry in your calendar always has a history, and a memory can always be taken back.",
        "databases",
        "../data",
    ),
)

LONG = (
    "# A walk through the cubicle\n\nThis answer is long on purpose: it has headings, lists, tables and code.\n\n"
    + (
        "\n".join(
            _ROOM.format(number=number, title=title, text=text, what=what, where=where)
            for number, (title, text, what, where) in enumerate(_ROOMS, start=1)
        )
    )
)
