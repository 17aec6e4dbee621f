"""What an agent sets in motion, seen on a phone: downloads that are asked about, questions, the calendar and its runs,
end to end with a Bot API server on loopback, an internet of our own, and a real cubicle."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import docker
import pytest

from orchestrator.web.fetcher import tls_context
from orchestrator.web.limits import Internet
from tests.support.bot_api import BotApi
from tests.support.bot_api_people import Person
from tests.support.fake_internet import PUBLIC, FakeInternet, FakeSite, Visit, answer, make_certificate
from tests.support.real_app import RealApp, Talker, eventually, real_install
from tests.support.scripted_upstream import answers

pytestmark = pytest.mark.docker

OPERATOR = 4_200_002
PATIENCE_S = 60.0
HOST = "files.example"
PAPER = b"the paper\n" * 40


@dataclass
class Phone:
    """The operator's Telegram, with the bot of the first agent, and what the install sees of an internet."""

    api: BotApi
    install: RealApp
    bot: str
    ada: Person
    crab: Talker
    town: FakeInternet

    def plays(self, *commands: str, reply: str) -> None:
        """A message that has the agent run these commands."""
        self.ada.says(self.bot, self.install.plays.commands(*commands, reply=reply))

    def message(self, *words: str, is_asking: bool = False) -> dict[str, Any]:
        """The bot's last message that holds all these words, once it is there; with buttons where it is asking."""

        def found() -> dict[str, Any] | None:
            said = [m for m in self.api.messages(self.ada, bot=self.bot) if m["from"]["is_bot"]]
            fits = [m for m in said if all(word in text(m) for word in words) and (labels(m) or not is_asking)]
            return fits[-1] if fits else None

        try:
            return eventually(found, patience_s=PATIENCE_S)
        except AssertionError as error:
            said = "\n---\n".join(text(m) for m in self.api.messages(self.ada, bot=self.bot)[-8:])
            turn = self.install.api.get("/agents/crab/history")["turns"][-1]
            steps = [step["output"] for step in self.crab.turn(turn["turn"])["steps"]]
            raise AssertionError(f"no message with {words} among the last:\n{said}\nsteps: {steps}") from error

    def presses(self, message: dict[str, Any], label: str) -> None:
        """The button whose label begins so."""
        self.ada.presses(message, next(one for one in labels(message) if one.startswith(label)))

    def inbox(self, name: str) -> bytes:
        """A file in ``in/``, once it is there."""
        path = self.crab.work.parent / "in" / name
        eventually(path.exists, patience_s=PATIENCE_S)
        return path.read_bytes()


def _webapp(visit: Visit) -> None:
    """What every address of the site has."""
    visit.send(answer(PAPER, Content_Type="text/plain"))


def text(message: dict[str, Any]) -> str:
    """What a message says."""
    return str(message.get("text", message.get("caption", "")))


def labels(message: dict[str, Any]) -> list[str]:
    """What is on its buttons."""
    rows = message.get("reply_markup", {}).get("inline_keyboard", [])
    return [button["text"] for row in rows for button in row]


@pytest.fixture(scope="module")
def phone(
    tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient, image_tag: Callable[[str], str]
) -> Iterator[Phone]:
    """One install with one bot; one site, which has one paper under every name."""
    home = tmp_path_factory.mktemp("home")
    certificate, server_side = make_certificate(tmp_path_factory.mktemp("certificate"), f"DNS:{HOST}")
    trusted = tls_context()
    trusted.load_verify_locations(certificate)
    site = FakeSite(_webapp, server_side)
    town = FakeInternet(names={HOST: [[PUBLIC]]}, sites={PUBLIC: site})
    with BotApi() as api:
        bot = api.bot("Crab")
        ada = api.person(OPERATOR, "Ada")
        ada.opens(bot)
        settings = {
            "TELEGRAM_BOT_TOKEN": bot,
            "HERMIT_TELEGRAM_OPERATOR_ID": str(OPERATOR),
            "HERMIT_TELEGRAM_API_URL": api.url,
        }
        try:
            internet = Internet(network=town, tls=trusted)
            with real_install(home, client, image_tag, internet=internet, environment=settings) as install:
                crab = Talker(install.api, "crab", 1, install.home, install.install)
                crab.change(daily_budget_usd=1000, approval="off")
                yield Phone(api, install, bot, ada, crab, town)
        finally:
            site.close()


def test_where_somebody_is_is_asked_once(phone: Phone) -> None:
    """With the first message, and answered by a tap."""
    phone.plays("true", reply="Here I am.")
    asked = phone.message("Where are you?", is_asking=True)
    phone.presses(asked, "UTC is fine")
    phone.message("Your time zone", "UTC: it is")
    (user,) = phone.install.api.get("/users")["users"]
    assert (user["time_zone"], user["time_zone_known"]) == ("UTC", True)
    phone.message("Here I am.")


def test_a_download_is_asked_about_and_its_host_allowed(phone: Phone) -> None:
    """The card has the whole address and is no link; after Always, and once more as the host was read, nobody asks."""
    phone.plays(f"hermit fetch https://{HOST}/one.txt --why 'the paper'", reply="The first is there.")
    asked = phone.message("may this be downloaded?", f"https://{HOST}/one.txt", is_asking=True)
    kinds = {entity["type"] for entity in asked["entities"]}
    assert kinds <= {"bold", "code", "pre"}
    longer = ["Approve for an hour", "… this conversation", f"Always allow {HOST}"]
    assert labels(asked) == ["Approve", "Deny", *longer]
    assert phone.town.connected == []
    phone.presses(asked, "Always")
    assert phone.inbox("one.txt") == PAPER
    phone.message("The first is there.")
    ended = phone.message(f"https://{HOST}/one.txt", "It is being downloaded.")
    assert labels(ended) == []
    phone.plays(f"hermit fetch https://{HOST}/two.txt --why 'the other paper'", reply="The second is there.")
    again = phone.message(f"https://{HOST}/two.txt", f"It has read {HOST} since you allowed this", is_asking=True)
    assert f"This conversation has read {HOST}." in text(again)
    phone.presses(again, "Always")
    phone.message("The second is there.")
    phone.plays(f"hermit fetch https://{HOST}/three.txt --why 'the last paper'", reply="The third is there.")
    assert phone.inbox("three.txt") == PAPER
    phone.message("The third is there.")
    said = [text(m) for m in phone.api.messages(phone.ada, bot=phone.bot)]
    assert not any("may this be downloaded?" in one and "three.txt" in one for one in said)


def test_a_question_is_answered_by_a_press(phone: Phone) -> None:
    """The command prints the choice, and the message says who answered."""
    phone.plays("hermit ask 'Tea or coffee?' --choices tea,coffee", reply="I know now.")
    asked = phone.message("Tea or coffee?", is_asking=True)
    phone.presses(asked, "coffee")
    phone.message("I know now.")
    assert labels(phone.message("Tea or coffee?", "Answered by")) == []
    step = phone.crab.turn(phone.install.api.get("/agents/crab/history")["turns"][-1]["turn"])["steps"][0]
    assert step["output"].strip().endswith("coffee")


def test_a_question_is_answered_by_words(phone: Phone) -> None:
    """The next message is the answer and no message to the agent."""
    phone.plays("hermit ask 'What is it called?'", reply="A fine name.")
    phone.message("What is it called?", "with your answer")
    phone.ada.says(phone.bot, "Waldemar the third")
    phone.message("Answer received", "What is it called?")
    phone.message("A fine name.")
    history = phone.install.api.get("/agents/crab/history")["turns"]
    assert not any(turn["prompt"] == "Waldemar the third" for turn in history)
    assert "Waldemar the third" in phone.crab.turn(history[-1]["turn"])["steps"][0]["output"]


def test_what_goes_into_the_calendar_is_announced_and_cancelled(phone: Phone) -> None:
    """By the button under the notice; then /calendar is empty."""
    phone.plays("hermit calendar add 'Water the plants' 'Water them.' --start 2031-03-01T09:00", reply="Planned.")
    told = phone.message("Water the plants", is_asking=True)
    phone.message("Planned.")
    phone.ada.says(phone.bot, "/calendar")
    phone.message("crab's calendar", "/calendar link", is_asking=True)
    phone.presses(told, "Cancel it")
    eventually(lambda: not labels(_again(phone, told)), patience_s=PATIENCE_S)
    assert phone.install.api.get("/agents/crab/history")["turns"][-1]["status"] == "done"
    phone.ada.says(phone.bot, "/calendar")
    phone.message("crab's calendar is empty")


def test_a_run_of_the_calendar_is_told(phone: Phone) -> None:
    """Under its title, with the file that it made; a silent one is not."""
    loud = phone.install.plays.commands(
        "echo done > ../out/.r && mv ../out/.r ../out/watered.txt", reply="All watered."
    )
    quiet = phone.install.plays.add(answers(""))
    soon = (datetime.now(UTC) + timedelta(seconds=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for title, prompt in (("Quiet", f"INTERNAL: {quiet}"), ("Plants", loud)):
        phone.plays(f"hermit calendar add '{title}' '{prompt}' --start {soon}", reply=f"{title} is planned.")
        phone.message(f"{title} is planned.")
        soon = (datetime.now(UTC) + timedelta(seconds=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = phone.message("All watered.")
    assert text(told).splitlines() == ["◆ crab:", "⏰ Plants", "All watered."]

    def files() -> list[str]:
        return [m["document"]["file_name"] for m in phone.api.messages(phone.ada, bot=phone.bot) if "document" in m]

    eventually(lambda: files() == ["watered.txt"], patience_s=PATIENCE_S)
    time.sleep(1.0)  # nothing comes a second time, and nothing of the silent one
    said = [text(m) for m in phone.api.messages(phone.ada, bot=phone.bot)]
    assert sum("All watered." in one for one in said) == 1
    assert not any("⏰ Quiet" in one for one in said)


def test_memory_is_noted_by_both_and_forgotten_by_a_tap(phone: Phone) -> None:
    """What the agent noted and what the person noted stand side by side."""
    phone.plays("hermit memory add 'Ada drinks coffee'", reply="Noted.")
    phone.message("Noted.")
    phone.ada.says(phone.bot, "/memory add my cat is called Waldemar")
    phone.message("Remembered", "Waldemar")
    phone.ada.says(phone.bot, "/memory")
    listed = phone.message("crab remembers", "Ada drinks coffee", "Waldemar", is_asking=True)
    assert len(labels(listed)) == 2
    phone.presses(listed, "✕ Forget")
    eventually(lambda: "Waldemar" not in text(_again(phone, listed)), patience_s=PATIENCE_S)


def _again(phone: Phone, message: dict[str, Any]) -> dict[str, Any]:
    """The same message as it stands."""
    every = phone.api.messages(phone.ada, bot=phone.bot)
    return next(one for one in every if one["message_id"] == message["message_id"])
