"""``channels.chat.approval_kinds``: what the host is asked to do (a download, packages) is asked with all there is to
know, in plain words, and nothing that an agent wrote can be tapped, hide or pass for the install."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.rich_text import utf16_len
from orchestrator.core.models import ApprovalStatus
from tests.support.chat_fixture import ADA, BOB, EVE, GROUP, ChatFixture, chat_fixture
from tests.support.core_fixture import CoreFixture, at_once

URL = "https://data.example.org/a/table.csv?year=2025"
HOST = "data.example.org"
CARD: dict[str, Any] = {
    "host": HOST,
    "host_shown": HOST,
    "url_chars": 22,
    "description": "The yearly table",
    "file_type": "csv",
}
LIST = "pip install\nrequests==2.32.3  65 kB  sha256:" + "a" * 64 + "\nurllib3==2.2.2  121 kB  sha256:" + "b" * 64
PACKAGES: dict[str, Any] = {
    "system": "pip",
    "asked": ["requests"],
    "packages": [{"name": "requests"}, {"name": "urllib3"}],
    "total_bytes": 190_000,
}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[ChatFixture, CoreFixture]]:
    """A counter and its rooms."""
    with chat_fixture(tmp_path) as made:
        yield made


@pytest.fixture
def fixture(pair: tuple[ChatFixture, CoreFixture]) -> ChatFixture:
    """A counter."""
    return pair[0]


def stretches(fixture: ChatFixture, ref: str, kind: str) -> list[str]:
    """Every stretch of this kind in a message."""
    rich = fixture.body(ref).rich
    units = rich.text.encode("utf-16-le")
    return [units[2 * e.offset : 2 * e.end].decode("utf-16-le") for e in rich.entities if e.type == kind]


def test_a_download_is_asked_about_with_all_there_is_to_know(fixture: ChatFixture) -> None:
    """The whole address as text, the host, what it is for, every warning, and what agreeing for ever means."""
    warnings = ["It is not encrypted: anybody on the way can read and change it.", "It belongs to example.org."]
    ref = f"approval:{fixture.wants_host('asset', URL, **CARD, warnings=warnings).id}"
    text = fixture.text(ref)
    assert text.startswith(f"{MARK} crab asks: may this be downloaded?\nFor ada.\n")
    assert stretches(fixture, ref, "pre") == [URL]
    assert {"The yearly table", "csv", HOST} <= set(stretches(fixture, ref, "code"))
    assert all(words in text for words in ("22 characters", "⚠ It is not encrypted", "Nothing is downloaded unless"))
    assert "Its size isn't known until it's downloaded." in text
    longer = ["Approve for an hour", "… this conversation", f"Always allow {HOST}"]
    assert fixture.labels(ref) == ["Approve", "Deny", *longer]


def test_nothing_in_a_question_about_a_download_can_be_tapped(fixture: ChatFixture) -> None:
    """The address and whatever else the agent chose is code; a host in a warning is no address any more."""
    warnings = ["The host reads exаmple.org in other letters; its true name is xn--exmple-4nf.org."]
    detail = {**CARD, "host": "xn--exmple-4nf.org", "description": "see https://evil.example/x"}
    ref = f"approval:{fixture.wants_host('asset', 'https://xn--exmple-4nf.org/', **detail, warnings=warnings).id}"
    rich = fixture.body(ref).rich
    rest, units = "", rich.text.encode("utf-16-le")
    at = 0
    for entity in sorted((e for e in rich.entities if e.type in ("pre", "code")), key=lambda e: e.offset):
        rest += units[2 * at : 2 * entity.offset].decode("utf-16-le") + " "
        at = entity.end
    rest += units[2 * at :].decode("utf-16-le")
    assert "://" not in rest
    assert ".org" not in rest
    assert ".example" not in rest


@pytest.mark.parametrize("host", ["a" * 60 + ".example.org", "b.example"])
def test_of_a_long_host_the_button_shows_whose_it_is(fixture: ChatFixture, host: str) -> None:
    """The end of a name says who owns it; the whole name is in the message."""
    ref = f"approval:{fixture.wants_host('asset', f'https://{host}/', **{**CARD, 'host': host}).id}"
    label = fixture.labels(ref)[-1]
    assert label.endswith(host[-20:])
    assert len(label) <= 60
    assert host in stretches(fixture, ref, "code")


SAYS = {
    ("asset", "Approve"): ("Approved. It is being downloaded.", "Approved by ada (telegram), ", "It is being"),
    ("asset", "Deny"): ("Denied. It will not be downloaded.", "Denied by ada (telegram), ", "It was not downloaded."),
    ("asset", "Always"): ("Always allowed. It is being downloaded.", "and always for this host.", "It is being"),
    ("packages", "Approve"): ("Approved. They are being downloaded.", "Approved by ada", "They are being downloaded."),
    ("packages", "Deny"): ("Denied. It will not be installed.", "Denied by ada", "It was not installed."),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "label"), SAYS)
def test_each_kind_ends_in_its_own_words(fixture: ChatFixture, kind: str, label: str) -> None:
    """Over the chat and in the message, which has no buttons any more."""
    approval = (
        fixture.wants_host("asset", URL, **CARD) if kind == "asset" else fixture.wants_host(kind, LIST, **PACKAGES)
    )
    ref = f"approval:{approval.id}"
    toast, *words = SAYS[kind, label]
    assert fixture.press(ref, label) == toast
    assert all(part in fixture.text(ref) for part in words)
    assert fixture.labels(ref) == []
    assert fixture.approvals.get(approval.id).detail.get("always") is (True if label == "Always" else None)


@pytest.mark.parametrize(("label", "said"), [("Approve", "They are being put back."), ("Deny", "It was not done.")])
def test_going_back_is_asked_about_in_exact_words(fixture: ChatFixture, label: str, said: str) -> None:
    """Which point, of when, and which files; nothing of it can be tapped, and there is no button for longer."""
    text = "Put back all files as at point 3 (“[x](evil.example)”), taken 2026-03-02.\n1 file changes:\n  a"
    ref = f"approval:{fixture.wants_host('checkpoint', text, point=3, files=1, digest='0').id}"
    assert "crab asks: may these files be put back?" in fixture.text(ref)
    assert stretches(fixture, ref, "pre") == [text]
    assert "this can be taken back" in fixture.text(ref)
    assert fixture.labels(ref) == ["Approve", "Deny"]
    fixture.press(ref, label)
    assert said in fixture.text(ref)


def test_packages_are_asked_about_as_a_whole(fixture: ChatFixture) -> None:
    """Every name with its version, how many and how much, and no button for ever."""
    ref = f"approval:{fixture.wants_host('packages', LIST, **PACKAGES, reason='to read pages').id}"
    text = fixture.text(ref)
    assert stretches(fixture, ref, "pre") == [LIST]
    assert stretches(fixture, ref, "code") == ["to read pages", "requests"]
    assert "2 packages, 186 KB in total." in text
    assert fixture.labels(ref) == ["Approve", "Deny"]


@pytest.mark.parametrize("lines", [30, 400])
def test_a_long_list_goes_as_a_file(fixture: ChatFixture, lines: int) -> None:
    """Nobody decides about a part: the message holds all of it, or the file does; how it ended is said under it."""
    text = "pip install\n" + "\n".join(f"p{n}==1.0  1 kB  sha256:{n:064d}" for n in range(lines))
    approval = fixture.wants_host("packages", text, **PACKAGES)
    ref = f"approval:{approval.id}"
    body = fixture.body(ref)
    is_file = bool(body.files)
    assert is_file == (lines == 400)
    shown = body.files[0].path.read_text(encoding="utf-8") if is_file else stretches(fixture, ref, "pre")[0]
    assert shown == text
    assert utf16_len(body.rich.text) <= (1024 if is_file else 4096)
    fixture.press(ref, "Deny")
    assert "It was not installed." in fixture.text(ref)
    assert utf16_len(fixture.text(ref)) <= (1024 if is_file else 4096)


@pytest.mark.parametrize("length", [10, 1500, 2600, 2990, 8000])
def test_an_address_of_any_length_is_whole(fixture: ChatFixture, length: int) -> None:
    """With the longest facts around it, it is in the message, or else in the file."""
    url = f"https://{HOST}/" + "x" * length
    warnings = ["w" * 399] * 8
    detail = {**CARD, "description": "d" * 900, "url_chars": length, "host": "h" * 253}
    ref = f"approval:{fixture.wants_host('asset', url, **detail, warnings=warnings).id}"
    body = fixture.body(ref)
    shown = body.files[0].path.read_text(encoding="utf-8") if body.files else stretches(fixture, ref, "pre")[0]
    assert shown == url
    assert utf16_len(body.rich.text) <= (1024 if body.files else 4096)
    assert "Nothing is downloaded unless you agree." in body.rich.text
    assert "h" * 253 in body.rich.text


NASTY = f"{MARK} crab:\u202eevil\u200b\nApproved by ada"


def test_an_agents_words_stay_quoted(fixture: ChatFixture) -> None:
    """The mark, a line break, what turns or hides: all of it is written out, within one stretch of code."""
    detail = {**CARD, "description": NASTY, "file_type": NASTY}
    ref = f"approval:{fixture.wants_host('asset', URL + '#' + NASTY, **detail, reason=NASTY).id}"
    text = fixture.text(ref)
    assert text.count(MARK) == 1
    assert "\u202e" not in text
    assert "\u200b" not in text
    assert not any(line.startswith("Approved") for line in text.split("\n\n")[-1].splitlines())
    ref = f"approval:{fixture.wants_host('packages', LIST, **{**PACKAGES, 'asked': [NASTY]}, reason=NASTY).id}"
    assert fixture.text(ref).count(MARK) == 1


def test_what_was_decided_elsewhere_is_shown(fixture: ChatFixture) -> None:
    """The other surface's word stands, for ever where it said so; the button says that it was late."""
    approval = fixture.wants_host("asset", URL, **CARD)
    ref = f"approval:{approval.id}"
    fixture.approvals.decide(
        approval.id, approve=True, by=fixture.users.get_operator(), surface="dashboard", always=True
    )
    assert "was approved already, by ada (dashboard)" in fixture.press(ref, "Deny")
    assert "Approved by ada (dashboard)" in fixture.text(ref)
    assert fixture.labels(ref) == []


def test_only_who_was_asked_may_say_always(fixture: ChatFixture) -> None:
    """A stranger, another member, another message and made-up data decide nothing; what is for a command can't."""
    approval = fixture.wants_host("asset", URL, **CARD)
    ref = f"approval:{approval.id}"
    data, message = fixture.data(ref, "Always"), fixture.arrives(ref)
    other = fixture.arrives(f"approval:{fixture.wants().id}")
    tries = [
        fixture.a_press(data, by=EVE, chat=ADA, message=message),
        fixture.a_press(data, by=BOB, chat=ADA, message=message),
        fixture.a_press(data, by=ADA, chat=ADA, message=other),
        fixture.a_press(data, by=ADA, chat=GROUP, message=message),
        fixture.a_press(f"always:{approval.id}", by=ADA, chat=ADA, message=message),
    ]
    assert {fixture.callbacks.on_press(press) for press in tries} == {"This button no longer works."}
    assert fixture.approvals.get(approval.id).status is ApprovalStatus.PENDING


def test_two_presses_at_once_decide_once(fixture: ChatFixture) -> None:
    """Deny on the phone and Always on the other: one holds, and the message says which."""
    approval = fixture.wants_host("asset", URL, **CARD)
    ref = f"approval:{approval.id}"
    fixture.arrives(ref)
    at_once(lambda: fixture.press(ref, "Deny"), lambda: fixture.press(ref, "Always"))
    decided = fixture.approvals.get(approval.id)
    assert (decided.status is ApprovalStatus.APPROVED) == (decided.detail.get("always") is True)
    word = "Approved by" if decided.status is ApprovalStatus.APPROVED else "Denied by"
    assert word in fixture.text(ref)
    assert fixture.labels(ref) == []


def test_an_expired_wish_can_be_asked_for_again(fixture: ChatFixture) -> None:
    """In words that fit what it was."""
    approval = fixture.wants_host("asset", URL, **CARD)
    with fixture.store.writing() as db:
        db.execute("UPDATE approvals SET expires_at = 1")
    fixture.approvals.expire_due()
    fixture.asking.show_approval(approval.id)
    ref = f"approval:{approval.id}"
    assert "so it was not downloaded" in fixture.text(ref)
    assert fixture.press(ref, "Ask again") == "crab was asked to try again."
    with fixture.store.reading() as db:
        (prompt,) = db.execute("SELECT prompt FROM turns ORDER BY id DESC LIMIT 1").fetchone()
    assert URL in prompt
    assert "command" not in prompt
