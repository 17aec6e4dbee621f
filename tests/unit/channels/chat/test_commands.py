"""``channels.chat.commands``: what a person can tell the install itself, in words that somebody with a phone
understands, and never more than they may."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.channels.chat.commands import KEYBOARD
from orchestrator.channels.chat.message import Message
from orchestrator.channels.chat.system_text import (
    QuotedText,
    format_ago,
    format_clock,
    format_duration,
    format_size,
    show_foreign,
    system_note,
)
from orchestrator.core.models import CubicleKey, TurnStatus
from tests.support.chat_commands_fixture import CommandsFixture, commands_fixture
from tests.support.chat_fixture import ADA, BOB, EVE, GROUP

BOTH = [
    *(
        "start",
        "help",
        "status",
        "stop",
        "undo",
        "new",
        "conversations",
        "switch",
        "find",
        "clear",
        "reset",
        "workspace",
    ),
    *("files", "calendar", "memory", "budget", "timezone", "approvals", "grants", "logs", "apps"),
]
ALONE = ("agents", "containers", "users", "groups")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[CommandsFixture]:
    """An install without crabs; ada and bob use Telegram."""
    with commands_fixture(tmp_path) as made:
        yield made


# --- the table -------------------------------------------------------------------------------------------------


def test_the_menu_has_what_each_may(shop: CommandsFixture) -> None:
    """Names that Telegram takes, with descriptions; what concerns the whole install for operators alone."""
    member, operator = shop.commands.menu_entries(is_operator=False), shop.commands.menu_entries(is_operator=True)
    assert [name for name, _ in member] == BOTH
    assert [name for name, _ in operator] == [*BOTH, *ALONE]
    assert all(re.fullmatch("[a-z0-9_]{1,32}", name) and 3 <= len(text) <= 256 for name, text in operator)


def test_every_command_has_an_answer(shop: CommandsFixture) -> None:
    """In a fresh install too; it fits into messages, is ours, and each message has a ref of its own."""
    refs: list[str] = []
    for name in (*BOTH, *ALONE):
        messages = shop.messages(f"/{name}")
        assert messages, name
        for stored in messages:
            assert stored.body.rich.text.startswith("◆ "), name
            assert stored.body.rich.units <= 4096, name
            assert (stored.agent, stored.chat) == ("crab", ADA)
            assert not (stored.body.keyboard and stored.body.buttons)
            refs.append(stored.ref)
        assert bool(messages[0].body.keyboard) == (name in ("start", "help"))
    assert len(refs) == len(set(refs))


def test_a_member_has_no_command_about_the_install(shop: CommandsFixture) -> None:
    """It is as unknown as any other word; and to the operator it is told in private alone."""
    for name in ALONE:
        assert "is not a command" in shop.says(f"/{name}", by=BOB)
        assert "in our private chat" in shop.says(f"/{name}", chat=GROUP)


def test_unknown_commands_do_nothing(shop: CommandsFixture) -> None:
    """No command decides a question, and none reaches the agent."""
    approval = shop.wants()
    texts = ("/approve 1", "/deny 1", f"/approve {approval.id}", "/exec ls", "/\u202eevil", "/" + "x" * 90, "/")
    for text in texts:
        said = shop.says(text)
        assert "is not a command" in said, text
        assert "\u202e" not in said
    assert shop.install.services.approvals.get(approval.id).status == "pending"
    assert len(shop.install.services.turns.list_history(shop.key)) == 1


def test_in_a_group_it_replies_and_brings_no_keyboard(shop: CommandsFixture) -> None:
    """Everybody would get the keyboard."""
    (stored,) = shop.messages("/start", chat=GROUP)
    assert stored.body.reply_to is not None
    assert stored.body.keyboard == ()
    assert shop.messages("/help")[0].body.keyboard == KEYBOARD


# --- stop, clear, reset ----------------------------------------------------------------------------------------


def test_stop_ends_what_runs_and_what_waits(shop: CommandsFixture) -> None:
    """And says what that was; of others nothing is touched."""
    shop.waits("first", "second", "third")
    shop.works()
    (bobs,) = shop.waits("bob's", user=shop.bob)
    said = shop.says("/stop")
    assert [word for word in ("first", "second", "third", "bob's") if word in said] == ["first", "second", "third"]
    turns = shop.install.services.turns
    assert [turn.status for turn in turns.list_history(shop.key)] == ["running", "stopped", "stopped"]
    ((_, claim),) = turns.list_running()
    assert claim.stop_asked
    assert turns.get(bobs).status is TurnStatus.QUEUED
    assert "bob's" in shop.says("/stop", by=BOB)


def test_stop_of_nothing_is_said(shop: CommandsFixture) -> None:
    """Kindly."""
    assert "Nothing to stop" in shop.says("/stop")


def test_a_stop_button_ends_one_turn(shop: CommandsFixture) -> None:
    """For whom it is, or an operator."""
    shop.waits("long work", user=shop.bob)
    shop.works(shop.bob)
    turn = shop.install.services.turns.list_history(CubicleKey("crab", shop.bob.id))[0]
    data = shop.counter.buttons.make_button("crab", "update:1:1", BOB, "stop", str(turn.id))
    other = shop.counter.buttons.make_button("crab", "update:1:1", ADA, "stop", str(turn.id))
    shop.counter.outbox.post_message(Message("crab", GROUP, "update:1:1", shop.messages("/help")[0].body))
    message = shop.counter.arrives("update:1:1")
    stranger = shop.counter.a_press(data, by=EVE, chat=GROUP, message=message)
    assert shop.counter.callbacks.on_press(stranger) == "This button no longer works."
    assert (
        shop.counter.callbacks.on_press(shop.counter.a_press(data, by=BOB, chat=GROUP, message=message)) == "Stopping."
    )
    assert (
        shop.counter.callbacks.on_press(shop.counter.a_press(other, by=ADA, chat=GROUP, message=message)) == "Stopping."
    )


def test_clear_forgets_the_conversation(shop: CommandsFixture) -> None:
    """What has ended of it; files stay, and the other's stays."""
    for user in (shop.ada, shop.bob):
        (turn,) = shop.waits("hi", user=user)
        shop.install.services.turns.end_turn(CubicleKey("crab", user.id), turn, TurnStatus.DONE, reply="hello")
    assert "1 message" in shop.says("/clear")
    assert shop.install.services.turns.list_history(shop.key) == []
    assert len(shop.install.services.turns.list_history(CubicleKey("crab", shop.bob.id))) == 1
    assert "Nothing to forget" in shop.says("/clear")


def test_reset_makes_a_new_container(shop: CommandsFixture) -> None:
    """What ran in it is stopped first, files stay."""
    shop.makes("work/kept.txt")
    shop.waits("dig")
    shop.works()
    assert "stopped" in shop.says("/reset")
    assert len(shop.install.engine.containers) == 1
    assert "files" in shop.says("/reset")
    assert "1 entry" in shop.says("/workspace")


def test_a_broken_engine_is_said(shop: CommandsFixture) -> None:
    """In a sentence with the fix."""
    shop.install.engine.is_broken = True
    assert "Start it, then try again" in shop.says("/reset")
    assert "Start it, then try again" in shop.says("/status")


# --- files -----------------------------------------------------------------------------------------------------


def test_files_are_listed_newest_first(shop: CommandsFixture) -> None:
    """With sizes and ages, from both folders, each with a button that sends it again and again."""
    now = shop.counter.now()
    shop.makes("out/report.pdf", b"x" * 2_500_000, at=now - 3_600)
    shop.makes("out/old.txt", at=now - 5 * 86_400)
    shop.install.services.workspaces.write_in(shop.key, "photo.jpg", io.BytesIO(b"12345"), max_bytes=100)
    (stored,) = shop.messages("/files")
    text = stored.body.rich.text
    assert [found[0] for found in re.finditer(r"(in|out)/\S+", text)] == [
        "in/photo.jpg",
        "out/report.pdf",
        "out/old.txt",
    ]
    assert all(words in text for words in ("2.4 MB, 1 hour ago", "5 bytes, just now", "5 days ago"))
    for _ in range(2):
        assert shop.counter.press(stored.ref, "report.pdf") == "Here it comes."
    sent = [shop.counter.body(ref) for ref in shop.counter.refs if shop.counter.body(ref).files]
    assert [(file.name, file.kind, file.path.stat().st_size) for body in sent for file in body.files] == [
        ("report.pdf", "document", 2_500_000)
    ] * 2


def test_a_file_is_asked_for_by_name(shop: CommandsFixture) -> None:
    """By its name or its path; a copy goes out that the agent can't change."""
    shop.makes("out/a b.txt", b"one")
    shop.makes("work/deep/er.txt", b"two")
    for text, content in (("a b.txt", b"one"), ("out/a b.txt", b"one"), ("work/deep/er.txt", b"two")):
        ((file,),) = [stored.body.files for stored in shop.messages(f"/files {text}")]
        assert file.path.read_bytes() == content
        assert shop.counter.temp_files.folder in file.path.parents


def test_nothing_else_is_sent(shop: CommandsFixture) -> None:
    """No path out of the workspace, no link, nothing that isn't there."""
    shop.makes("out/real.txt")
    home = shop.install.services.settings.home
    (home / "workspaces" / "crab" / str(shop.ada.id) / "out" / "link").symlink_to("/etc/passwd")
    outside = ("../../etc/passwd", "out/../../secret", "/etc/passwd", "out", "data/x", "out/link", "link", "out//etc")
    for name in ("nothing.txt", "\ud800", *outside):
        (stored,) = shop.messages(f"/files {name}")
        assert stored.body.files == (), name
        assert "didn't work" in stored.body.rich.text, name


def test_too_large_and_empty_files_are_said(shop: CommandsFixture) -> None:
    """Telegram takes neither."""
    shop.makes("out/big.bin")
    big = shop.install.services.settings.home / "workspaces" / "crab" / str(shop.ada.id) / "out" / "big.bin"
    with big.open("r+b") as file:
        file.truncate(51_000_000)
    shop.makes("out/empty.txt", b"")
    assert "dashboard" in shop.says("/files big.bin")
    assert "empty" in shop.says("/files empty.txt")


def test_file_names_can_not_speak_for_us(shop: CommandsFixture) -> None:
    """They stand as code on one line: no mark of ours, nothing hidden, nothing to tap."""
    shop.makes("out/◆ Approved\nclear\u202e.txt")
    (stored,) = shop.messages("/files")
    assert stored.body.rich.text.count("◆") == 1
    assert "\nclear" not in stored.body.rich.text
    assert "\u202e" not in stored.body.rich.text
    code = next(entity for entity in stored.body.rich.entities if entity.type == "code")
    assert "clear" in stored.body.rich.text[code.offset : code.end]
    assert "\u202e" not in shop.counter.labels(stored.ref)[0]


def test_bobs_buttons_send_bobs_files(shop: CommandsFixture) -> None:
    """Not to ada either, operator or not."""
    shop.makes("out/diary.txt", key=CubicleKey("crab", shop.bob.id))
    (stored,) = shop.messages("/files", by=BOB, chat=GROUP)
    assert shop.counter.press(stored.ref, "diary", by=ADA) == "These files belong to someone else."
    assert shop.counter.press(stored.ref, "diary", by=BOB) == "Here it comes."
    assert "No files" in shop.says("/files")


def test_many_files_are_a_list_that_ends(shop: CommandsFixture) -> None:
    """It stays one message."""
    for n in range(60):
        shop.makes(f"out/{n:02}-{'long' * 50}.txt")
    (stored,) = shop.messages("/files")
    assert "48 older ones" in stored.body.rich.text
    assert len(stored.body.buttons) == 6


def test_the_log_comes_as_a_file(shop: CommandsFixture) -> None:
    """Without anything that could move a terminal's cursor."""
    shop.makes("work/.hermit.log", b"did this\n\x1b[2Jdid that\n")
    ((file,),) = [stored.body.files for stored in shop.messages("/logs")]
    assert file.name == "crab-log.txt"
    assert file.path.read_text() == "did this\n\\x1b[2Jdid that\n"


def test_apps_are_folders_with_a_page(shop: CommandsFixture) -> None:
    """Nothing else in www/ is one."""
    shop.makes("www/clock/index.html")
    shop.makes("www/half/style.css")
    shop.makes("www/index.html")
    said = shop.says("/apps")
    assert "1 web app" in said
    assert "clock" in said
    assert "half" not in said
    assert shop.install.url in said


# --- approvals, money, the install -------------------------------------------------------------------------------


def test_approvals_can_be_decided_in_the_list(shop: CommandsFixture) -> None:
    """And where the same was asked before, it shows."""
    approval = shop.wants()
    shop.counter.asking.show_approval(approval.id)
    messages = shop.messages("/approvals")
    assert [len(stored.body.buttons) for stored in messages] == [0, 2]
    assert shop.counter.press(messages[1].ref, "Approve") == "Approved. It runs now."
    for ref in (messages[1].ref, f"approval:{approval.id}"):
        assert "Approved by ada (telegram)" in shop.counter.text(ref)
        assert shop.counter.labels(ref) == []
    assert "Nothing is waiting" in shop.says("/approvals")


def test_a_member_sees_their_own_questions(shop: CommandsFixture) -> None:
    """The operator sees all, but in a group their own."""
    shop.wants("rm -rf adas")
    shop.wants("rm -rf bobs", user=shop.bob)
    seen = {
        "bob": shop.says("/approvals", by=BOB),
        "ada": shop.says("/approvals"),
        "group": shop.says("/approvals", chat=GROUP),
    }
    assert {who: [name for name in ("adas", "bobs") if name in text] for who, text in seen.items()} == {
        "bob": ["bobs"],
        "ada": ["adas", "bobs"],
        "group": ["adas"],
    }


def test_status_says_what_goes_on(shop: CommandsFixture) -> None:
    """Working on what, since when, what waits, what it takes."""
    shop.wants()
    shop.waits("next")
    said = shop.says("/status")
    for words in ("Waiting for your decision: tidy up", "1 step", "1 message", "/approvals", "$0.00 of $5.00"):
        assert words in said
    assert "rehearsal" in said


def test_the_budget_says_when_it_begins_anew(shop: CommandsFixture) -> None:
    """In the reader's time."""
    shop.install.services.agents.update_agent("crab", {"daily_budget_usd": 12.5})
    said = shop.says("/budget")
    assert f"of ${12.5:.2f}" in said
    assert "02:00 CEST" in said or "01:00 CET" in said


def test_users_can_be_shut_out_and_groups_enabled(shop: CommandsFixture) -> None:
    """From the lists, as from the cards."""
    messages = shop.messages("/users")
    assert "bob" in messages[0].body.rich.text
    assert shop.counter.press(messages[1].ref, "Remove") == "Removed."
    assert shop.install.services.users.of_identity("telegram", BOB) is None
    shop.counter.joins(title="Family")
    messages = shop.messages("/groups")
    assert shop.counter.press(messages[1].ref, "Enable") == "Enabled."
    assert shop.counter.labels(messages[1].ref) == ["Stop listening"]


def test_containers_are_told_by_whose_they_are(shop: CommandsFixture) -> None:
    """With what they use."""
    shop.install.services.cubicles.start(CubicleKey("crab", shop.bob.id))
    assert "crab for bob: 6.7 MB, 2 % CPU, 3 processes" in shop.says("/containers")
    assert "Idle" in shop.says("/agents")


# --- words -----------------------------------------------------------------------------------------------------


def test_notes_are_measured() -> None:
    """However much there is, a note is a message, and its entities lie where they should with emoji before them."""
    rich = system_note("Emoji 🦀", ("a 🦀 ", QuotedText("na\u202eme 🦀")), *[("– ", QuotedText("x" * 200))] * 100)
    assert rich.units <= 4096
    assert len(rich.entities) <= 100
    cut = [rich.text.encode("utf-16-le")[2 * e.offset : 2 * e.end].decode("utf-16-le") for e in rich.entities]
    assert cut[:2] == ["◆ Emoji 🦀", "na\\u202eme 🦀"]
    assert show_foreign(QuotedText("  ")) == "(no name)"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (format_size(0), "0 bytes"),
        (format_size(1), "1 byte"),
        (format_size(1_500), "1.5 KB"),
        (format_size(20_000_000), "19 MB"),
        (format_size(3 * 1024**3), "3.0 GB"),
        (format_duration(5), "a moment"),
        (format_duration(60), "1 minute"),
        (format_duration(7_300), "2 hours"),
        (format_ago(0, 30), "just now"),
        (format_ago(0, 86_400 * 3), "3 days ago"),
        (format_ago(100, 0), "just now"),
        (format_clock(1_767_225_600, "Europe/Vienna", 1_767_225_600), "01:00 CET"),
        (format_clock(1_767_225_600, "UTC", 1_767_225_600 + 86_400), "Thu 1 Jan, 00:00 UTC"),
        (format_clock(1_767_225_600, "Mars/Base", 1_767_225_600), "00:00 UTC"),
    ],
)
def test_measures_are_words(words: str, expected: str) -> None:
    """As people say them."""
    assert words == expected


def test_every_text_in_one_table(shop: CommandsFixture, tmp_path: Path) -> None:
    """All that the install says, to be read as somebody with a phone would: run with ``-s``. No text is without a
    mark of ours, none shows a path of the host, a trace, or a word from inside the program.
    """
    told: dict[str, str] = {}
    fixture = shop.counter
    for name in (*BOTH, *ALONE, "bogus", "files nothing.txt"):
        told[f"/{name}"] = shop.says(f"/{name}")
    shop.makes("out/report.pdf", b"x" * 40_000)
    shop.makes("www/clock/index.html")
    shop.makes("work/.hermit.log")
    approval = shop.wants()
    shop.waits("and then make a summary of it", "and mail it")
    shop.install.services.cubicles.start(shop.key)
    fixture.asking.show_approval(approval.id)
    told["question"] = fixture.text(f"approval:{approval.id}")
    fixture.stranger(username="eve99")
    fixture.joins()
    for ref in fixture.refs:
        if ref.startswith(("card:", "stranger:", "group:")):
            told[ref.partition(":")[0]] = fixture.text(ref)
    for name in (
        "status",
        "files",
        "workspace",
        "apps",
        "logs",
        "approvals",
        "containers",
        "agents",
        "users",
        "groups",
    ):
        told[f"/{name}, busy"] = shop.says(f"/{name}")
    for label in ("Allow", "Remove"):
        card = next(ref for ref in fixture.refs if ref.startswith("card:"))
        told[f"toast {label}"] = f"◆ {fixture.press(card, label)}"
        told[f"after {label}"] = fixture.text(card)
    told["welcome"] = fixture.text(next(ref for ref in fixture.refs if ref.startswith("welcome:")))
    for label in ("Enable", "Stop listening"):
        group = next(ref for ref in fixture.refs if ref.startswith("group:"))
        told[f"toast {label}"] = f"◆ {fixture.press(group, label)}"
        told[f"after {label}"] = fixture.text(group)
    told["toast approve"] = f"◆ {fixture.press(f'approval:{approval.id}', 'Approve')}"
    told["approved"] = fixture.text(f"approval:{approval.id}")
    told["/stop, busy"] = shop.says("/stop")
    long = shop.wants(f"rm -rf {'a/' * 3_000}x", user=shop.bob)
    told["long question"] = shop.says("/approvals", by=BOB)
    with fixture.store.writing() as db:
        db.execute("UPDATE approvals SET expires_at = 1 WHERE id = ?", (long.id,))
    fixture.approvals.expire_due()
    fixture.asking.show_approval(long.id)
    told["expired"] = shop.counter.text(next(ref for ref in reversed(fixture.refs) if ref.startswith("update:")))
    for name, text in told.items():
        print(f"--- {name}\n{text}\n")  # noqa: T201 - the table, for whoever reads it
        assert text.startswith("◆ "), name
        assert str(tmp_path) not in text, name
        assert not re.search(r"Traceback|Error\b|None\b|cubicle|\bturn\b|CubicleKey|telegram_", text), name
