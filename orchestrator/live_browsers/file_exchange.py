"""Files that go into a live browser, and files that come out of it while it lives. What comes out is opened once, as
the plain file that it is at that moment, and copied; nobody works on a file that a page still has its hands on."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import PurePosixPath
from typing import BinaryIO, Final

from orchestrator.core.errors import BadInput, NotFound, TooLarge
from orchestrator.engine import helper_folder
from orchestrator.engine.helpers import HelperSpec
from orchestrator.live_browsers.models import MAX_DOWNLOAD_BYTES, MAX_UPLOAD_BYTES

_INSIDE: Final = PurePosixPath("/helper/in")
_GUID: Final = re.compile(r"[0-9A-Fa-f-]{1,64}")
_NAME_BYTES = 200
_PIECE = 1 << 18
MAX_UPLOADS = 50


def put_upload(spec: HelperSpec, name: str, content: BinaryIO) -> PurePosixPath:
    """A file that a page of this browser may be given, under this name; where it lies inside.

    Args:
        spec: the browser.
        name: what the page sees as the file's name.
        content: is read from where it stands, at most 100 MiB.

    Raises:
        BadInput: the name is none.
        TooLarge: the file, or all that was given to this browser.
        OSError: the disk refuses.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name or len(os.fsencode(name)) > _NAME_BYTES:
        raise BadInput("The file's name must be a plain one of at most 200 bytes. Rename the file.")
    if len(list(spec.given.iterdir())) >= MAX_UPLOADS:
        raise TooLarge(f"This browser was given {MAX_UPLOADS} files. Close it; the next call starts another.")
    place = secrets.token_hex(8)
    folder = spec.given / place
    folder.mkdir(mode=0o700)
    file = folder / name
    try:
        with file.open("xb") as target:
            _copy(content, target, MAX_UPLOAD_BYTES)
        file.chmod(0o400)
        if os.geteuid() == 0:
            for path in (folder, file):
                os.chown(path, spec.uid, spec.gid)
    except (OSError, TooLarge):
        file.unlink(missing_ok=True)
        folder.rmdir()
        raise
    return _INSIDE / place / name


def take_download(spec: HelperSpec, guid: str, target: BinaryIO, *, stays: bool = False) -> int:
    """Copies the file that this browser downloaded under the number ``guid``, and takes it away from there; how many
    bytes it has. Its name and what is in it are a stranger's.

    Args:
        spec: the browser.
        guid: as the browser tells of it.
        target: is written to from where it stands.
        stays: it is left there, too.

    Raises:
        NotFound: there is no such plain file with one name.
        TooLarge: it has more than 100 MiB.
        OSError: the disk refuses.
    """
    if not _GUID.fullmatch(guid):
        raise NotFound("There is no such download.")
    path = spec.brought / guid
    try:
        source = helper_folder.open_result(path)
    except OSError as error:
        raise NotFound("There is no such download.") from error
    with source:
        if os.fstat(source.fileno()).st_nlink != 1:
            raise NotFound("There is no such download.")
        size = _copy(source, target, MAX_DOWNLOAD_BYTES)
    if not stays:
        path.unlink(missing_ok=True)
    return size


def drop_download(spec: HelperSpec, guid: str) -> None:
    """The file that this browser downloaded under this number is gone; none is fine. Raises OSError."""
    if _GUID.fullmatch(guid):
        (spec.brought / guid).unlink(missing_ok=True)


def _copy(source: BinaryIO, target: BinaryIO, most: int) -> int:
    size = 0
    while piece := source.read(min(_PIECE, most + 1 - size)):
        size += len(piece)
        if size > most:
            raise TooLarge(f"The file has more than {most >> 20} MiB.")
        target.write(piece)
    target.flush()
    return size
