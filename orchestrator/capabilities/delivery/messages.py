"""The sentences of deliveries, and what an answer's ``FILE:…`` names. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from crab.answer import split_action
from orchestrator.core.models import CubicleKey, Delivery
from orchestrator.core.rates import Rates
from orchestrator.core.text import one_line
from orchestrator.files.names import display_path

NO_LINK = "This link is wrong or has expired."
NO_CARRIER = "Its destination can't be reached any more. It can be downloaded in the dashboard."
NOT_TAKEN = "It could not be sent. It can be downloaded in the dashboard."
MOST_ASKED = 20
MOST_CAPTION = 900
_ROOTS = (b"/app/workspace/out/", b"../out/", b"./", b"out/")
_IGNORED = (b".part", b".partial", b".tmp", b".temp", b".crdownload", b".download", b"~")


def is_ignored(name: bytes) -> bool:
    """A name by which programs say that a file is not for people, or not finished."""
    return name.startswith(b".") or name.lower().endswith(_IGNORED)


def asked_for(action: str) -> tuple[bytes, ...]:
    """The files within ``out/`` that an answer's ``FILE:a|b`` names, each once; paths that lead elsewhere too, so that
    it can be said that they are not there."""
    name, fields = split_action(action)
    if name.upper() != "FILE":
        return ()
    paths = (within_out(field.strip().encode("utf-8", "surrogateescape")) for field in fields)
    return tuple(dict.fromkeys(path for path in paths if path))[:MOST_ASKED]


def within_out(path: bytes) -> bytes:
    """A file's path within ``out/``, however it was written."""
    for root in _ROOTS:
        path = path.removeprefix(root)
    return path.rstrip(b"/")


def quote_caption(caption: str) -> str:
    """What an agent says of a file, so that it can't pass for the install's own words; empty for nothing."""
    return f"“{one_line(caption, MOST_CAPTION)}”" if caption else ""


def not_there(paths: Sequence[bytes]) -> str:
    """For files that were promised; empty without any."""
    if not paths:
        return ""
    names = ", ".join(display_path(path) for path in paths)
    return f"(Not sent, as it is not in out/: {names})"


def not_plain(path: bytes) -> str:
    """For what nobody opens."""
    return (
        f"{display_path(b'out', path)} is not a plain file (but a link, a pipe or a second name), so it was not sent."
    )


def describe_rate(most: Rates) -> str:
    """How much is sent, and where that is set."""
    return (
        f"At most {most.files_per_minute} files a minute and {most.files_per_day} a day are sent "
        "(HERMIT_FILES_PER_MINUTE and HERMIT_FILES_PER_DAY in hermit.env), 1 GB a minute and 4 GB a day."
    )


def describe_withheld(key: CubicleKey, count: int, most: Rates) -> str:
    """For a flood."""
    files = "file was" if count == 1 else "files were"
    return (
        f"{count:,} more {files} put into out/ and not sent. {describe_rate(most)} "
        f"They are in the dashboard under {key.agent}'s files, or ask {key.agent} to put them into one zip."
    )


def over_the_day(path: bytes, most: Rates) -> str:
    """For one file too many that was asked for."""
    return (
        f"{display_path(b'out', path)} was not sent: today's limit of {most.files_per_day} files or 4 GB is reached "
        "(HERMIT_FILES_PER_DAY in hermit.env). It is in the dashboard under the files."
    )


def left_out(count: int) -> str:
    """For a zip that has not everything; empty when it has."""
    if not count:
        return ""
    return f"{count:,} {'thing' if count == 1 else 'things'} in it left out: not regular files."


def too_large(delivery: Delivery, link: str) -> str:
    """For a file that its carrier can't take."""
    size = format_size(delivery.size_bytes)
    return f"{delivery.name} ({size}) is too large for this chat. For seven days it is here: {link}"


def format_size(count: int) -> str:
    """Bytes as a person says them."""
    if count < 1000:
        return f"{count} bytes" if count != 1 else "1 byte"
    for unit, scale in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if count < scale * 999.5:
            return f"{count / scale:.1f} {unit}" if count < scale * 9.95 else f"{count / scale:.0f} {unit}"
    return f"{count / 1e9:,.0f} GB"
