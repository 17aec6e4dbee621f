"""Where a file to be sent lies: within ``out/``, or copied there first, whole from its first moment under its name.

Acts as the agent, with the agent's rights; what the host sends is for the host to decide.
"""

from __future__ import annotations

import os
import stat

CHUNK = 1 << 20


class NoFile(Exception):
    """It can't be sent; the text is one sentence."""


def into_out(path: str, workspace: str) -> str:
    """The file's path within ``out/``, after a copy where it lay elsewhere. Raises NoFile."""
    out = os.path.realpath(f"{workspace}/out")
    asked = os.path.abspath(os.path.expanduser(path))
    # The folder is followed, the name itself is not: the host opens no links, so a link is copied as what it leads to.
    real = os.path.join(os.path.realpath(os.path.dirname(asked)), os.path.basename(asked))
    try:
        facts = os.lstat(real)
    except OSError as error:
        raise NoFile(f"{path}: {error.strerror}.") from None
    is_in_out = real.startswith(f"{out}/")
    if stat.S_ISDIR(facts.st_mode):
        if is_in_out:
            return real[len(out) + 1 :]
        raise NoFile(f"{path} is a folder. Copy it into {workspace}/out to have it sent as a zip.")
    if is_in_out and stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1:
        return real[len(out) + 1 :]
    return _copy_file(os.path.realpath(asked), out, os.path.basename(real))


def within(path: str, workspace: str) -> str:
    """The path within the workspace of a plain file that lies there, links followed. Raises NoFile."""
    top, real = os.path.realpath(workspace), os.path.realpath(os.path.expanduser(path))
    try:
        facts = os.stat(real)
    except OSError as error:
        raise NoFile(f"{path}: {error.strerror}.") from None
    if not stat.S_ISREG(facts.st_mode):
        raise NoFile(f"{path} is not a plain file.")
    if not real.startswith(f"{top}/"):
        raise NoFile(f"{path} is not in {workspace}. Copy it there first.")
    return real[len(top) + 1 :]


def _copy_file(source: str, out: str, name: str) -> str:
    """Copies to a name that nobody sends, then gives it its own: a file that is seen is whole."""
    draft = f"{out}/.{os.urandom(6).hex()}.part"
    try:
        if not stat.S_ISREG(os.stat(source).st_mode):
            raise NoFile(f"{name} is not a plain file.")
        with open(source, "rb") as file, open(draft, "xb") as copy:
            while chunk := file.read(CHUNK):
                copy.write(chunk)
        _give_name(draft, f"{out}/{name}")
    except OSError as error:
        raise NoFile(f"{name} could not be copied into out/: {error.strerror}.") from None
    finally:
        if os.path.lexists(draft):
            os.unlink(draft)
    return name


def _give_name(draft: str, target: str) -> None:
    """A link rather than a rename, where the disk has links: what is renamed into ``out/`` is sent at once by itself,
    and would be there before its caption."""
    try:
        if os.path.lexists(target):
            os.unlink(target)
        os.link(draft, target)
    except OSError:
        os.rename(draft, target)
