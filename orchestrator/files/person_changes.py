"""What a person changes in a workspace by hand: a file or folder gets another name or place, a folder is made, the text
of a file is saved.

An agent may change the tree at any instant, so every step goes from descriptors that were opened without following a
link, nothing that is there is ever replaced unseen, and each change is there whole or not at all. What the agent owns
(``work``, ``out``, ``www``) stays the agent's, ``in`` is the host's, and nothing crosses from one to the other: whoever
owned it could write to it still. ``data`` is nobody's to change.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from orchestrator.core.errors import BadInput, Conflict, NotFound, Outdated, TooLarge, UnsafePath
from orchestrator.core.models import CubicleKey
from orchestrator.files import safe_open
from orchestrator.files.models import FilePath, Stored
from orchestrator.files.names import display_path, safe_name
from orchestrator.files.renames import exchange_names, rename_to_new
from orchestrator.files.uploads import PREFIX, clear_forgotten, write_all
from orchestrator.files.workspace import Workspaces, in_a_folder
from orchestrator.languages.told import worded

MOST_SAVED_BYTES = 1 << 20
"""What a file may have that is saved from an editor."""
_CHUNK = 1 << 18
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KEPT = "What is in data/ is kept by HermitShell itself and can't be changed here."

Parts = tuple[bytes, ...]
Note = Callable[[], None]
"""Called before anything is changed, when it is sure that there is something to do."""


def move_path(workspaces: Workspaces, key: CubicleKey, path: FilePath, to: FilePath, *, note: Note) -> Parts:
    """What is at ``path``, whatever it is, is at ``to``; a link is moved as a link. Says where it is now: a name in
    ``in`` is made safe.

    Raises NotFound, Conflict when something is at ``to``, BadInput for a name that hides something and for a folder
    that would be in itself, UnsafePath for what may not be moved there, Unavailable.
    """
    source, target = _changeable(path), _changeable(to)
    if (source[0] == b"in") != (target[0] == b"in"):
        raise UnsafePath(
            "Files that you sent stay in in/, which the agent can only read, and nothing else goes there. Ask the "
            "agent to copy it."
        )
    if target[: len(source)] == source and target != source:
        raise BadInput(worded("%(path)s can't be moved into itself.", path=display_path(*source)))
    if target[-1] != source[-1]:
        target = _with_good_name(target)
    with (
        workspaces.open_folder(key, source[:-1], named=source) as here,
        workspaces.open_folder(key, target[:-1], named=target[:-1]) as there,
    ):
        if not _is_there(here, source):
            raise _gone(source)
        _check_free(there, target)
        note()
        _rename(here, source, there, target)
    return target


def make_folder(workspaces: Workspaces, key: CubicleKey, path: FilePath, *, note: Note) -> None:
    """An empty folder of the agent's is at ``path``. Raises Conflict when something is there, NotFound when the folder
    above is not, BadInput, UnsafePath, Unavailable."""
    parts = _with_good_name(_changeable(path))
    if parts[0] == b"in":
        raise UnsafePath("There are no folders in in/: files that you send lie side by side.")
    hidden = f"{PREFIX}{secrets.token_hex(16)}"
    with workspaces.open_folder(key, parts[:-1], named=parts[:-1]) as above:
        _check_free(above, parts)
        note()
        os.mkdir(hidden, 0o755, dir_fd=above)
        try:
            _give_to_owner(above, hidden)
            with _nothing_replaced(parts):
                rename_to_new(above, hidden, above, parts[-1])
        except BaseException:
            with suppress(OSError):
                os.rmdir(hidden, dir_fd=above)
            raise


def create_file(workspaces: Workspaces, key: CubicleKey, path: FilePath, content: bytes, *, note: Note) -> Stored:
    """A new file of the agent's, with this content. Raises Conflict when something is there, NotFound when the folder
    is not, TooLarge, BadInput, UnsafePath, Unavailable."""
    parts = _with_good_name(_changeable(path))
    if parts[0] == b"in":
        raise UnsafePath("Upload a new file into in/ instead.")
    _check_size(parts, content)
    with workspaces.open_folder(key, parts[:-1], named=parts[:-1]) as folder:
        _check_free(folder, parts)
        note()
        owner = os.fstat(folder)
        with _laid(folder, content, mode=0o644, uid=owner.st_uid, gid=owner.st_gid) as hidden, _nothing_replaced(parts):
            rename_to_new(folder, hidden, folder, parts[-1])
    return _stored(parts, content)


def save_file(
    workspaces: Workspaces, key: CubicleKey, path: FilePath, content: bytes, *, expected: str, note: Note
) -> Stored:
    """The file at ``path`` has this content, if until now it had the one with the SHA-256 ``expected``; else nothing
    has changed. It keeps its owner and what may be done with it.

    The new file and the old change places at one instant, and only then it is certain what the old one was: were it
    another, they change back. Raises Outdated, NotFound, TooLarge, UnsafePath, Changing, Unavailable.
    """
    parts = _changeable(path)
    _check_size(parts, content)
    with (
        workspaces.open_folder(key, parts[:-1], named=parts) as folder,
        workspaces.open_file(key, parts, max_bytes=MOST_SAVED_BYTES) as old,
    ):
        if hash_of(old.descriptor) != expected:
            raise _outdated(parts)
        note()
        mode = old.facts.st_mode & 0o777
        with _laid(folder, content, mode=mode, uid=old.facts.st_uid, gid=old.facts.st_gid) as hidden:
            if not exchange_names(folder, hidden, parts[-1]):  # an old kernel or file system: as near as it gets
                _check_same(folder, parts[-1], old, expected, parts)
                os.rename(hidden, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
                return _stored(parts, content)
            try:
                _check_same(folder, hidden, old, expected, parts)
            except BaseException:
                exchange_names(folder, hidden, parts[-1])
                raise
    return _stored(parts, content)


def hash_of(descriptor: int) -> str:
    """The SHA-256 of a file from its beginning, at most a byte more than is ever saved of it. Raises OSError."""
    digest, at = hashlib.sha256(), 0
    while at <= MOST_SAVED_BYTES and (chunk := os.pread(descriptor, _CHUNK, at)):
        digest.update(chunk)
        at += len(chunk)
    return digest.hexdigest()


def _changeable(path: FilePath) -> Parts:
    parts = in_a_folder(path, is_inside=True)
    if parts[0] == b"data":
        raise UnsafePath(_KEPT)
    return parts


def _with_good_name(parts: Parts) -> Parts:
    """A name that a person gives hides nothing; in ``in`` it is one that an upload could have."""
    name = parts[-1]
    if parts[0] == b"in":
        return (*parts[:-1], safe_name(name).encode())
    if display_path(name).encode() != name or name != name.strip():
        raise BadInput("This name holds characters that can't be seen, or begins or ends with a space. Type another.")
    return parts


def _check_size(parts: Parts, content: bytes) -> None:
    if len(content) > MOST_SAVED_BYTES:
        raise TooLarge(
            worded(
                "%(path)s would be larger than the %(bytes)s bytes that fit here.",
                path=display_path(*parts),
                bytes=f"{MOST_SAVED_BYTES:,}",
            )
        )


def _is_there(folder: int, parts: Parts) -> bool:
    """Good to know before anything is noted down; the rename is sure of it."""
    try:
        os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _check_free(folder: int, parts: Parts) -> None:
    if _is_there(folder, parts):
        raise _taken(parts)


def _rename(here: int, source: Parts, there: int, target: Parts) -> None:
    try:
        with _nothing_replaced(target):
            rename_to_new(here, source[-1], there, target[-1])
    except FileNotFoundError as error:
        raise _gone(source) from error
    except OSError as error:
        if error.errno == errno.EINVAL:  # the agent moved one into the other meanwhile
            raise BadInput(worded("%(path)s can't be moved into itself.", path=display_path(*source))) from error
        raise
    os.fsync(there)


@contextmanager
def _nothing_replaced(parts: Parts) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise _taken(parts) from error


def _taken(parts: Parts) -> Conflict:
    return Conflict(f"There is something called {display_path(*parts)} already.")


def _gone(parts: Parts) -> NotFound:
    return NotFound(f"{display_path(*parts)} is not there any more.")


def _outdated(parts: Parts) -> Outdated:
    return Outdated(f"{display_path(*parts)} was changed since you opened it, so nothing was saved.")


@contextmanager
def _laid(folder: int, content: bytes, *, mode: int, uid: int, gid: int) -> Iterator[str]:
    """A file with this content under a hidden name; nothing has that name afterwards."""
    hidden = f"{PREFIX}{secrets.token_hex(16)}"
    clear_forgotten(folder)
    descriptor = os.open(hidden, _NEW, 0o600, dir_fd=folder)
    try:
        try:
            write_all(descriptor, content)
            ours = os.fstat(descriptor)
            if (ours.st_uid, ours.st_gid) != (uid, gid):
                os.fchown(descriptor, uid, gid)
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield hidden
        os.fsync(folder)
    finally:
        with suppress(OSError):  # it has its name already, or the agent took it away
            os.unlink(hidden, dir_fd=folder)


def _check_same(folder: int, name: str | bytes, old: safe_open.Opened, expected: str, parts: Parts) -> None:
    """What has this name is the file that was opened, as it was. Raises Outdated, NotFound."""
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        raise _gone(parts) from None
    is_same = (facts.st_dev, facts.st_ino) == (old.facts.st_dev, old.facts.st_ino)
    if not is_same or hash_of(old.descriptor) != expected:
        raise _outdated(parts)


def _give_to_owner(above: int, name: str) -> None:
    """The new folder belongs to whom the folder above belongs."""
    owner = os.fstat(above)
    made = os.open(name, _FOLDER, dir_fd=above)
    try:
        ours = os.fstat(made)
        if (ours.st_uid, ours.st_gid) != (owner.st_uid, owner.st_gid):
            os.fchown(made, owner.st_uid, owner.st_gid)
        os.fchmod(made, 0o755)
    finally:
        os.close(made)


def _stored(parts: Parts, content: bytes) -> Stored:
    return Stored(os.fsdecode(parts[-1]), len(content), hashlib.sha256(content).hexdigest())
