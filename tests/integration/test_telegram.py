"""Telegram, end to end: a person's phone (a Bot API server on loopback), the orchestrator as a process of its own, the
real python-telegram-bot, and real cubicles."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import docker
import pytest

from tests.support.bot_api import BotApi
from tests.support.bot_api_people import Person
from tests.support.real_app import AppProcess, Talker, eventually, process_install
from tests.support.scripted_upstream import answers

pytestmark = pytest.mark.docker

OPERATOR = 4_200_001
PATIENCE_S = 60.0


@dataclass
class Phone:
    """The operator's Telegram, with the bot of the first agent."""

    api: BotApi
    install: AppProcess
    bot: str
    ada: Person
    crab: Talker

    def says(self, text: str) -> dict[str, Any]:
        """A message to the bot."""
        return self.ada.says(self.bot, text)

    def texts(self) -> list[str]:
        """What the bot has in the chat, as it stands."""
        return self.api.said(self.ada, bot=self.bot)

    def hears(self, words: str, *, times: int = 1) -> None:
        """So many of the bot's messages hold these words, in time."""
        self.api.wait_for(lambda: sum(words in text for text in self.texts()) >= times, PATIENCE_S)

    def question(self, words: str) -> dict[str, Any]:
        """The message with buttons that holds these words, once it is there."""

        def found() -> dict[str, Any] | None:
            asked = [m for m in self.api.messages(self.ada, bot=self.bot) if words in _text(m) and _buttons(m)]
            return asked[-1] if asked else None

        return eventually(found, patience_s=PATIENCE_S)


def _text(message: dict[str, Any]) -> str:
    return str(message.get("text", message.get("caption", "")))


def _buttons(message: dict[str, Any]) -> list[str]:
    rows = message.get("reply_markup", {}).get("inline_keyboard", [])
    return [button["text"] for row in rows for button in row]


@pytest.fixture(scope="module")
def phone(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image: str,
) -> Iterator[Phone]:
    """One install with one bot for the tests of this module; what each asks has a word of its own."""
    with BotApi() as api:
        bot = api.bot("Crab")
        ada = api.person(OPERATOR, "Ada")
        ada.opens(bot)
        settings = {
            "TELEGRAM_BOT_TOKEN": bot,
            "HERMIT_TELEGRAM_OPERATOR_ID": str(OPERATOR),
            "HERMIT_TELEGRAM_API_URL": api.url,
        }
        with process_install(tmp_path_factory.mktemp("home"), client, settings) as install:
            crab = Talker(install.api, "crab", 1, install.home, install.install)
            crab.change(daily_budget_usd=1000)
            yield Phone(api, install, bot, ada, crab)


def test_a_text_gets_a_reply(phone: Phone) -> None:
    """A message becomes a turn in a real cubicle and its reply a message under the agent's name."""
    phone.says("good morning, this is the first one")
    phone.hears("good morning, this is the first one")
    heard = next(text for text in phone.texts() if "good morning" in text)
    assert heard.splitlines()[0] == "◆ crab:"
    turn = phone.install.api.get("/agents/crab/history")["turns"][-1]
    assert (turn["source"], turn["status"]) == ("telegram", "done")


def test_a_dangerous_command_waits_for_a_tap(phone: Phone) -> None:
    """Approve on the phone: the command runs, and the question says so and has no buttons any more."""
    phone.says(phone.install.plays.commands("touch doomed && rm doomed && echo gone", reply="It is deleted."))
    asked = phone.question("rm doomed")
    assert _buttons(asked)[:2] == ["Approve", "Deny"]
    assert not phone.crab.work.joinpath("doomed").exists()
    phone.ada.presses(asked, "Approve")
    phone.hears("It is deleted.")
    eventually(lambda: not any("rm doomed" in _text(m) and _buttons(m) for m in phone.api.messages(phone.ada)))
    steps = phone.install.api.get("/agents/crab/history")["turns"][-1]
    assert phone.install.api.get(f"/turns/{steps['turn']}")["steps"][0]["output"] == "gone\n"


def test_a_denied_command_does_not_run(phone: Phone) -> None:
    """Deny: nothing runs, and the agent hears why."""
    phone.crab.work.joinpath("kept").write_text("x", encoding="utf-8")
    phone.says(phone.install.plays.add(answers(terminal="rm -f kept")))
    phone.ada.presses(phone.question("rm -f kept"), "Deny")
    phone.hears("said no")
    assert phone.crab.work.joinpath("kept").exists()


def test_only_the_person_who_was_asked_may_press(phone: Phone) -> None:
    """A stranger who got hold of the button, and forged data, change nothing."""
    phone.says(phone.install.plays.commands("rm -f nothing-here; echo ran", reply="Ran at last."))
    asked = phone.question("rm -f nothing-here")
    eve = phone.api.person(666, "Eve")
    eve.opens(phone.bot)
    data = asked["reply_markup"]["inline_keyboard"][0][0]["callback_data"]
    eve.presses(asked, data=data)
    forged = phone.ada.presses(asked, data="approve:crab:1")
    phone.api.wait_for(lambda: phone.api.answer_to(forged) is not None, PATIENCE_S)
    pending = phone.install.api.get("/approvals", status="pending")["approvals"]
    assert [one["text"] for one in pending] == ["rm -f nothing-here; echo ran"]
    phone.ada.presses(asked, "Approve")
    phone.hears("Ran at last.")


def test_a_photo_comes_in(phone: Phone) -> None:
    """It lies in the cubicle under a safe name, and the agent is told which; the caption is the prompt."""
    picture = b"\xff\xd8\xff\xe0" + bytes(range(256)) * 20
    caption = phone.install.plays.commands("cat /app/workspace/in/* | sha256sum | cut -c1-12", reply="I have seen it.")
    phone.ada.sends_photo(phone.bot, picture, caption=caption)
    phone.hears("I have seen it.")
    turn = phone.install.api.get("/agents/crab/history")["turns"][-1]
    name = re.search(r"in/(\S+\.jpe?g)", turn["prompt"])
    assert name is not None
    assert phone.crab.work.parent.joinpath("in", name[1]).read_bytes() == picture
    step = phone.install.api.get(f"/turns/{turn['turn']}")["steps"][0]
    assert len(step["output"].strip()) == 12


def test_files_go_out(phone: Phone) -> None:
    """What the agent puts into out/ arrives in the chat that asked for it, by kind, with its bytes, once."""
    picture = "printf '\\211PNG\\r\\n\\032\\n\\0\\0\\0\\rIHDR\\0\\0\\0\\001\\0\\0\\0\\001\\010\\0\\0\\0\\0'"
    command = f"cd ../out && echo 'all is well' > .r && mv .r report.txt && {picture} > .p && mv .p dot.png"
    phone.says(phone.install.plays.commands(command, reply="Two files for you."))
    phone.hears("Two files for you.")

    def arrived() -> list[dict[str, Any]]:
        files = [m for m in phone.api.messages(phone.ada, bot=phone.bot) if m["from"]["is_bot"]]
        return [m for m in files if "photo" in m or m.get("document", {}).get("file_name") == "report.txt"]

    phone.api.wait_for(lambda: len(arrived()) == 2, PATIENCE_S)
    document = next(m["document"] for m in arrived() if "document" in m)
    assert phone.api.bytes_of(document["file_id"]) == b"all is well\n"
    sent = phone.install.api.get("/agents/crab/deliveries")["deliveries"]
    eventually(
        lambda: {one["status"] for one in phone.install.api.get("/agents/crab/deliveries")["deliveries"]} == {"sent"}
    )
    assert {one["file"] for one in sent} == {"report.txt", "dot.png"}
    time.sleep(1.5)  # nothing comes a second time
    assert len(arrived()) == 2


def test_stop_in_the_middle_of_a_command(phone: Phone) -> None:
    """/stop ends a running command soon, and the person is told."""
    phone.says(phone.install.plays.commands("echo started > begun; sleep 300", reply="never said"))
    eventually(phone.crab.work.joinpath("begun").exists)
    began = time.monotonic()
    phone.says("/stop")
    eventually(lambda: phone.install.api.get("/agents/crab/history")["turns"][-1]["status"] == "stopped")
    assert time.monotonic() - began < 10  # two seconds when the machine is quiet
    phone.says(phone.install.plays.add(answers("Here again.")))
    phone.hears("Here again.")
    assert "never said" not in " ".join(phone.texts())


def test_a_restart_between_question_and_tap(phone: Phone) -> None:
    """The button made before the orchestrator was killed still works, once; the question isn't asked twice."""
    phone.says(phone.install.plays.commands("rm -f before-the-restart; echo once >> ran-after", reply="Survived."))
    asked = phone.question("rm -f before-the-restart")
    phone.install.restart()
    phone.ada.presses(asked, "Approve")
    phone.hears("Survived.")
    questions = [text for text in phone.texts() if "rm -f before-the-restart" in text and "may this run" in text]
    assert len(questions) == 1
    assert phone.crab.work.joinpath("ran-after").read_text(encoding="utf-8") == "once\n"


def test_a_kill_keeps_which_conversation_is_written_to(phone: Phone) -> None:
    """Chosen, begun by a message, begun by a topic: whenever the program is killed, each message is once in the right
    one, and its answer in the right topic."""
    api = phone.install.api
    first = next(one for one in api.get("/agents/crab/conversations")["conversations"] if one["is_first"])
    phone.says("/new The boat")
    phone.hears("Your next message begins it")
    phone.install.restart()
    phone.says("paint the hull")
    phone.install.kill()
    topic = phone.ada.opens_topic(phone.bot, "The house")
    phone.ada.says(phone.bot, "sweep the floor", topic=topic)
    phone.install.start()
    phone.hears("paint the hull")
    phone.hears("sweep the floor")
    phone.install.restart()
    phone.says("varnish the hull")
    phone.hears("varnish the hull")
    found = {one["name"]: one["id"] for one in api.get("/agents/crab/conversations")["conversations"]}
    said = {
        name: [turn["prompt"] for turn in api.get("/agents/crab/history", conversation=found[name])["turns"]]
        for name in ("The boat", "The house")
    }
    assert said == {"The boat": ["paint the hull", "varnish the hull"], "The house": ["sweep the floor"]}
    (answer,) = [one for one in phone.api.messages(phone.ada, bot=phone.bot) if "sweep the floor" in _text(one)][1:]
    assert answer["message_thread_id"] == topic["message_id"]
    phone.says("/conversations")
    listed = phone.question("Your conversations with crab")
    phone.ada.presses(listed, next(text for text in _buttons(listed) if first["name"].startswith(text[:20])))
    phone.says("/switch")
    phone.hears("Which conversation?")
    eventually(lambda: "you write here" in _text(phone.question("Your conversations with crab")))


def test_a_stranger_reaches_nothing(phone: Phone) -> None:
    """Told their own number once, the owner gets a card; after "Allow" the next message is answered."""
    before = len(phone.install.model.requests)
    bob = phone.api.person(5_550_123, "Bob")
    for text in ("hi", "let me in", "/start", "/stop"):
        bob.says(phone.bot, text)
    bob.sends_document(phone.bot, "virus.pdf", b"%PDF evil")
    card = phone.question("5550123")
    eventually(lambda: phone.api.said(bob, bot=phone.bot))
    assert len(phone.api.said(bob, bot=phone.bot)) == 1
    assert "5550123" in phone.api.said(bob, bot=phone.bot)[0]
    assert len(phone.install.model.requests) == before
    assert phone.api.fetched() == [file for file in phone.api.fetched() if b"evil" not in file.content]
    phone.ada.presses(card, next(text for text in _buttons(card) if text.startswith("Allow")))
    eventually(lambda: any(user["telegram_id"] == bob.id for user in phone.install.api.get("/users")["users"]))
    bob.says(phone.bot, "hello from Bob")
    phone.api.wait_for(lambda: any("hello from Bob" in text for text in phone.api.said(bob, bot=phone.bot)), PATIENCE_S)
    assert "hello from Bob" not in " ".join(phone.texts())


def test_an_hour_without_network(phone: Phone) -> None:
    """What was asked and answered meanwhile arrives afterwards: everything, once, in order."""
    phone.api.offline()
    texts = [f"while offline number {n}" for n in range(5)]
    for text in texts:
        phone.says(text)
    time.sleep(0.5)
    phone.api.online()
    phone.hears(f"{texts[-1]}")
    assert [text.rpartition("\n")[2] for text in phone.texts() if "while offline" in text] == texts


def test_everything_that_was_sent_is_tame(phone: Phone) -> None:
    """After all of the above: previews off, no markup parsed, no token in any log or in the database's audit."""
    texted = [call for call in phone.api.calls() if "text" in call.parameters or "caption" in call.parameters]
    sent = [call for call in texted if call.method.lower().startswith(("send", "edit")) and "Draft" not in call.method]
    assert sent
    assert [call.method for call in sent if "text" in call.parameters and not call.has_preview_off] == []
    assert [call.method for call in sent if call.parse_modes] == []
    secret = phone.bot.partition(":")[2]
    for log in phone.install.home.rglob("*.log"):
        assert secret not in log.read_text(encoding="utf-8", errors="replace"), log
    assert secret not in str(phone.install.api.get("/audit"))


class Crowd:
    """Two people who talk to two bots at the same time."""

    def __init__(self, api: BotApi, bots: list[str], users: list[Person]) -> None:
        self.api = api
        self.pairs = list(itertools.product(users, bots))
        self.asked: dict[tuple[int, str], list[str]] = {(person.id, bot): [] for person, bot in self.pairs}

    def talk(self, messages: int, pause_s: float) -> None:
        """They say so many things, in turn, each to one of the bots."""
        for n in range(messages):
            person, bot = self.pairs[n % len(self.pairs)]
            text = f"number {n} from {person.user['first_name']}"
            self.asked[person.id, bot].append(text)
            person.says(bot, text)
            time.sleep(pause_s)

    def answered(self, person: Person, bot: str) -> list[str]:
        """What of it came back, in order."""
        return [text.rpartition("\n")[2] for text in self.api.said(person, bot=bot) if "\nnumber " in text]

    def is_done(self) -> bool:
        """Every message has an answer, or more than one."""
        return all(len(self.answered(p, bot)) >= len(self.asked[p.id, bot]) for p, bot in self.pairs)


def test_two_bots_two_people_and_kills_in_between(phone: Phone) -> None:
    """Two hundred messages interleaved while the orchestrator is killed again and again: each gets its own answer, in
    order, none lost, none twice."""
    second = phone.api.bot("Scout")
    phone.ada.opens(second)
    phone.install.api.post("/agents", {"name": "scout", "daily_budget_usd": 1000})
    phone.install.api.post("/agents/scout/telegram", {"token": second})
    pattern = re.compile(r"\b\d{6}\b")
    phone.api.wait_for(lambda: any(pattern.search(text) for text in phone.api.said(phone.ada, bot=second)), PATIENCE_S)
    code = next(found[0] for text in phone.api.said(phone.ada, bot=second) if (found := pattern.search(text)))
    phone.install.api.post("/agents/scout/telegram/confirm", {"code": code})
    eve = phone.api.person(5_550_777, "Eva")
    phone.install.api.post("/users", {"name": "Eva", "role": "member", "telegram_id": eve.id})
    crowd = Crowd(phone.api, [phone.bot, second], [phone.ada, eve])
    talking = threading.Thread(target=crowd.talk, args=(200, 0.03))
    talking.start()
    for pause_s in (0.9, 2.1, 1.4):
        time.sleep(pause_s)
        phone.install.restart()
    talking.join()
    phone.api.wait_for(crowd.is_done, 180)
    for person, bot in crowd.pairs:
        assert crowd.answered(person, bot) == crowd.asked[person.id, bot]
