"""Zips that are made to harm whoever imports them: each is refused in a sentence or comes to nothing, within bounds of
time and memory, and nothing outside is read or written."""

from __future__ import annotations

import io
import random
import stat
import struct
import time
import tracemalloc
import zipfile
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from orchestrator.core.errors import BadInput, OrchestratorError, TooLarge
from orchestrator.operations.agent_import.archive import MOST_ENTRIES, MOST_READ_BYTES, MOST_ZIP_BYTES, open_archive
from orchestrator.operations.agent_import.planning import ImportPlan, plan_import
from tests.support.foreign_agents import HERMES, NANOBOT, OPENCLAW, zipped

SOUL = {"SOUL.md": "Kind.", "IDENTITY.md": "- **Name:** Molty\n"}
MB = 1 << 20


def plan(content: bytes) -> ImportPlan:
    """The dry run."""
    return plan_import(open_archive(content), zone="UTC", now=datetime(2026, 3, 2, tzinfo=UTC))


def with_entry(name: str, content: bytes = b"evil", *, mode: int = 0o100644) -> bytes:
    """A folder that would come, with one more entry, whatever its name."""
    packed = io.BytesIO(zipped(SOUL))
    info = zipfile.ZipInfo("placeholder")
    info.filename = info.orig_filename = name
    info.external_attr = mode << 16
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr(info, content)
    return packed.getvalue()


@pytest.mark.parametrize(
    "name",
    [
        *("../SOUL.md", "a/../../etc/passwd", "/etc/passwd", "//x", "a//b", "./a", "a/./b", "..", "a/.."),
        *("C:/x", "a\\..\\b", "..\\x", "a\nb", "a\x1bb", "a\x7fb", "x" * 500),
    ],
)
def test_names_that_lead_elsewhere(name: str) -> None:
    """The whole zip is refused: whoever packs such a name has nothing good in mind."""
    with pytest.raises(BadInput, match="name leads out of it"):
        plan(with_entry(name))


@pytest.mark.parametrize(
    "mode", [stat.S_IFLNK | 0o777, stat.S_IFIFO | 0o644, stat.S_IFCHR | 0o666, stat.S_IFSOCK | 0o600]
)
def test_links_and_devices_are_not_followed(mode: int) -> None:
    """They are left out, and what they would lead to is read by nobody."""
    found = plan(with_entry("MEMORY.md", b"/etc/passwd", mode=mode))
    assert found.facts == []
    assert [one.path for one in found.left_out] == ["MEMORY.md"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("second", ["MEMORY.md", "memory.md"])
def test_two_files_of_one_name(second: str) -> None:
    """Which of them was shown, and which comes? Neither does."""
    packed = io.BytesIO(zipped(SOUL))
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("MEMORY.md", "- good")
        archive.writestr(second, "- evil")
    with pytest.raises(BadInput, match="two files of the same name"):
        plan(packed.getvalue())


def test_a_bomb_of_one_file() -> None:
    """A megabyte that says it is a gigabyte costs as much as its bound."""
    content = zipped({**SOUL, "MEMORY.md": b"\0" * (200 * MB)})
    assert len(content) < MB
    tracemalloc.start()
    began = time.monotonic()
    found = plan(content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.facts == []
    assert "MEMORY.md" in {one.path for one in found.left_out}
    assert peak < 32 * MB
    assert time.monotonic() - began < 30


def test_a_bomb_that_lies_about_its_size() -> None:
    """What the list says counts for nothing: reading ends at the bound."""
    content = bytearray(zipped({**SOUL, "MEMORY.md": b"- a\n" * (50 * MB)}))
    at = content.rfind(b"PK\x01\x02", 0, content.rfind(b"MEMORY.md"))
    struct.pack_into("<L", content, at + 24, 1000)
    found = plan(bytes(content))
    assert "MEMORY.md" in {one.path for one in found.left_out}
    assert all(len(fact.text) < 2000 for fact in found.facts)


def test_a_bomb_of_many_files() -> None:
    """Together they have a bound, too."""
    many = {f"memory/2026-01-{n:02}.md": b"- x\n" * (60 << 10) for n in range(1, 100)}
    found = plan(zipped({**SOUL, **many}))
    assert len(found.facts) <= 1000
    read = MOST_READ_BYTES // (240 << 10)
    assert sum("All files together" in one.why for one in found.left_out) >= len(many) - read - 1 or found.facts


def test_too_many_names() -> None:
    """Told by the list's end, before the list is read."""
    with pytest.raises(TooLarge):
        plan(zipped({**SOUL, **{f"{n}": b"" for n in range(MOST_ENTRIES + 1)}}))
    lying = bytearray(zipped({**SOUL, **{f"{n:080}": b"" for n in range(9000)}}))
    struct.pack_into("<2H", lying, len(lying) - 14, 3, 3)
    with pytest.raises(OrchestratorError):
        plan(bytes(lying))


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x05\x06" + b"\0" * 18, b"\0" * 100, b"PK\x05\x06" + b"\xff" * 18])
def test_what_is_no_zip(content: bytes) -> None:
    """One sentence."""
    with pytest.raises(OrchestratorError) as caught:
        plan(content)
    assert "\n" not in caught.value.message


def test_too_large() -> None:
    """Not even looked at."""
    with pytest.raises(TooLarge):
        plan(b"\0" * (MOST_ZIP_BYTES + 1))


def test_a_second_list_of_names_is_refused() -> None:
    """Comments and zip64 are where readers disagree about what is in a zip."""
    plain = zipped(SOUL)
    hidden = zipped({**SOUL, "MEMORY.md": "- evil"})
    commented = plain[:-2] + struct.pack("<H", len(hidden)) + hidden
    zip64 = plain[:-22] + b"PK\x06\x07" + b"\0" * 16 + plain[-22:]
    with pytest.raises(BadInput, match="no zip that can be read"):
        plan(zip64)
    try:  # a whole zip in the comment: what is at the very end counts, and nothing before it
        found = plan(commented)
    except BadInput:
        return
    assert [fact.text for fact in found.facts] == ["evil"]


def test_locked_files_are_left_out() -> None:
    """Nobody is asked for a password."""
    content = bytearray(zipped({**SOUL, "MEMORY.md": "- a"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.rfind(
            mark, 0, content.rfind(b"MEMORY.md") if mark == b"PK\x01\x02" else content.find(b"MEMORY.md")
        )
        content[at + offset] |= 1
    found = plan(bytes(content))
    assert found.facts == []
    assert any("password" in one.why for one in found.left_out)


@pytest.mark.parametrize("files", [OPENCLAW, HERMES, NANOBOT])
def test_damaged_zips_end_in_a_sentence(files: dict[str, str]) -> None:
    """Hundreds of them, bytes turned at random: nothing but errors of ours, and no long wait."""
    chance = random.Random(7)  # noqa: S311 - no secret
    whole = zipped(files)
    began = time.monotonic()
    for _ in range(400):
        content = bytearray(whole)
        for _ in range(chance.choice((1, 3, 20))):
            content[chance.randrange(len(content))] = chance.randrange(256)
        if chance.random() < 0.2:
            del content[chance.randrange(len(content)) :]
        with suppress(OrchestratorError):
            plan(bytes(content))
    assert time.monotonic() - began < 120


@pytest.mark.parametrize(
    "text",
    [
        "- " + "a" * 200_000,
        "#" * 200_000,
        "*" * 200_000,
        "**" * 100_000,
        "- [ ] " * 30_000,
        "<!--" * 60_000,
        "---\n" * 60_000,
        "§\n" * 100_000,
        "- **a:** " * 25_000,
        "_(" * 100_000,
        "password" * 30_000,
        "sk-" + "a-" * 100_000,
        "a://" * 60_000,
        "eyJ" + "a" * 200_000,
        ("x" * 500 + "\n") * 400,
    ],
)
def test_texts_that_cost_time(text: str) -> None:
    """Every pattern that reads a text is done with the worst of them in seconds."""
    began = time.monotonic()
    for name in ("SOUL.md", "IDENTITY.md", "MEMORY.md", "USER.md", "skills/a/SKILL.md", "AGENTS.md"):
        found = plan(zipped({**SOUL, name: text}))
        assert len(found.facts) <= 1000
    assert time.monotonic() - began < 20


def test_what_a_zip_says_is_text_in_the_plan() -> None:
    """A name of markup, one that turns the line around, and a long one."""
    for name in ("<script>alert(1)</script>", "a\u202eb", "x" * 900, "🦞", ""):
        found = plan(zipped({"SOUL.md": "x", "IDENTITY.md": f"- **Name:** {name}\n- **Emoji:** <b>\n"}))
        called = found.persona.display_name
        assert len(called) <= 40
        assert "\u202e" not in called
        assert found.persona.avatar == ""
