"""The rehearsal's scenes for the first tasks (``llm.first_tasks``): each does its task for real, by commands that any
agent could run, and ends with what its card promises. The programs and pages that it writes lie in
``rehearsal_works/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from orchestrator.llm.upstreams.rehearsal_talk import (
    Reply,
    Scene,
    Talk,
    output_text,
    panel_command,
    quote_markdown,
    report_text,
    result_text,
    was_refused,
    went_well,
)
from orchestrator.llm.upstreams.rehearsal_texts import REMINDER

_FOLDER = Path(__file__).with_name("rehearsal_works")


@dataclass(frozen=True, slots=True)
class _Script:
    """Commands one after the other, as long as each goes well, and what is said in the end."""

    steps: tuple[tuple[str, str], ...]
    """What is said before each, and the command."""
    ending: str
    """``{output}`` stands for what the last command printed."""
    file: str = ""
    """What is delivered, by its name in ``out/``."""

    def __call__(self, talk: Talk) -> Reply:
        """What is next."""
        done = len(talk.results)
        if done and not went_well(talk.results[-1]):
            return Reply(report_text(talk.results[-1]))
        if done < len(self.steps):
            words, command = self.steps[done]
            return Reply(words, terminal=command)
        said = self.ending.replace("{output}", output_text(talk.results[-1]).strip())
        return Reply(said, action=f"FILE:{self.file}" if self.file else "")


def _write_file(name: str, source: str) -> str:
    """A command that writes one of our texts."""
    return f"cat > {name} <<'END'\n{(_FOLDER / source).read_text(encoding='utf-8')}END"


def _build_app(app: str, source: str) -> _Script:
    command = f"mkdir -p ../www/{app} && {_write_file(f'../www/{app}/index.html', source)}"
    return _Script(
        (("I write it as one page without anything from elsewhere.", command),),
        f"Your app is ready: open it beside this chat. It is one page, `www/{app}/index.html`, and needs no network.",
    )


def _play_packing(talk: Talk) -> Reply:
    results = talk.results
    if results and not went_well(results[-1]):
        return Reply(report_text(results[-1]))
    if not results:
        command = "hermit ask 'Where does your weekend go?' --choices 'The sea,The mountains,A city' --free-text"
        return Reply("First a question.", terminal=command)
    place = next((one for one in _THINGS if one.split()[-1] in output_text(results[0]).casefold()), "the city")
    if len(results) == 1:
        things = "\n".join(f"- [ ] {thing}" for thing in (*_ALWAYS, *_THINGS[place]))
        command = (
            f"cat > packing-list.md <<'END'\n# A weekend: {place}\n\n{things}\nEND\n"
            "mv packing-list.md ../out/packing-list.md"
        )
        return Reply(f"Then I pack for {place}.", terminal=command)
    return Reply(f"Here is your packing list for {place}: `packing-list.md`.", action="FILE:packing-list.md")


_ALWAYS = ("Keys, phone and charger", "Toothbrush", "A book", "Clothes for three days")
_THINGS: Mapping[str, tuple[str, ...]] = {
    "the sea": ("Swimming things", "Sun cream", "A towel", "A jumper for the evening"),
    "the mountains": ("Walking boots", "A rain jacket", "A map", "A bottle of water"),
    "the city": ("Comfortable shoes", "An umbrella", "Something smart for dinner", "Tickets"),
}


def _play_week(talk: Talk) -> Reply:
    if talk.results:
        said = "It is in your calendar: every Monday at 9, beginning with the next."
        return Reply(result_text(said, talk.results[-1]))
    monday = talk.now.date() + timedelta(days=7 - talk.now.weekday())
    start, weekly = f"{monday.isoformat()}T09:00", "FREQ=WEEKLY;BYDAY=MO"
    fields = ("Plan the week", f"{REMINDER} plan the week", start, "", "", weekly)
    return Reply("I put it into your calendar.", panel_actions=(panel_command("CALENDAR_CREATE", *fields),))


def _play_drafts(talk: Talk) -> Reply:
    if not talk.results:
        write = 'echo "Draft $n, no longer needed." > old-drafts/draft-$n.txt'
        command = f"mkdir -p old-drafts && for n in 1 2 3; do {write}; done && ls old-drafts"
        return Reply("I make the folder with three drafts.", terminal=command)
    last = talk.results[-1]
    if was_refused(last):
        return Reply(f"All right, the drafts stay. I was told:\n\n{quote_markdown(last)}")
    if not went_well(last):
        return Reply(report_text(last))
    if len(talk.results) == 1:
        return Reply("Now I want to delete it, which needs your approval.", terminal="rm -r old-drafts")
    return Reply("Deleted: the folder `old-drafts` is gone, because you approved it. *Undo* would bring it back.")


TASK_SCENES: Mapping[str, Scene] = {
    "calculator": _build_app("calculator", "calculator.html"),
    "todo": _build_app("todo", "todo.html"),
    "game": _build_app("pairs", "game.html"),
    "chart": _Script(
        (
            ("I write a program that draws the chart.", _write_file("chart.py", "chart.txt")),
            ("I run it, and send you the picture.", "python3 chart.py && mv chart.png ../out/chart.png"),
        ),
        "Here is your chart. {output}.",
        "chart.png",
    ),
    "sales": _Script(
        (
            ("I make up some messy sales.", _write_file("sales.csv", "sales.txt")),
            ("I write a program that cleans them and adds them up.", _write_file("clean.py", "clean.txt")),
            ("I run it, and send you the clean file.", "python3 clean.py && mv sales-clean.csv ../out/sales-clean.csv"),
        ),
        "The clean file is `sales-clean.csv`. The sums:\n\n{output}",
        "sales-clean.csv",
    ),
    "packing": _play_packing,
    "week": _play_week,
    "drafts": _play_drafts,
    "pictures": _Script(
        (
            ("I write a program that draws.", _write_file("pictures.py", "pictures.txt")),
            ("I run it, and send you the archive.", "python3 pictures.py && mv pictures.zip ../out/pictures.zip"),
        ),
        "Here are three pictures in `pictures.zip`: a shell, the sea and a sunset.",
        "pictures.zip",
    ),
    "report": _Script(
        (
            ("I write a program that looks around.", _write_file("look_around.py", "report.txt")),
            ("I run it, and send you the report.", "python3 look_around.py && mv report.md ../out/report.md"),
        ),
        "This is where I live. The report is `report.md`.\n\n{output}",
        "report.md",
    ),
}
"""By the task's id."""
