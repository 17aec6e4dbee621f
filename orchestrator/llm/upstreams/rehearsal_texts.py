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
    ("The workshop", "Commands start here, and what is put here stays.", "your agent's own folder", "."),
    (
        "The inbox",
        "Files that you upload appear here. The agent can read them and cannot change them.",
        "uploads",
        "../in",
    ),
    ("The outbox", "Whatever is put here is delivered to you, once.", "deliveries", "../out"),
    ("The stage", "A folder with an `index.html` is a web app that you can open.", "web apps", "../www"),
    ("The archive", "The calendar and the memories, as a copy for reading.", "databases", "../data"),
)

LONG = (
    "# A walk through the cubicle\n\nThis answer is long on purpose: it has headings, lists, tables and code.\n\n"
    + (
        "\n".join(
            _ROOM.format(number=number, title=title, text=" ".join([text] * 4), what=what, where=where)
            for number, (title, text, what, where) in enumerate(_ROOMS, start=1)
        )
    )
)
