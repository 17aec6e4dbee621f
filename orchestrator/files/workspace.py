"""Workspaces: the folders that a cubicle sees, and all that the host may do in them. Whoever wants something of a path
that an agent can touch asks here.

Every step goes from a directory descriptor, so no link that an agent made is ever followed. Names are data. Layout:
``HOME/workspaces/AGENT/USER/{work,in,out,www,data}`` and ``HOME/run/AGENT/USER`` for the door. How a path is opened, a
tree walked, a file copied or stored, is the business of ``beneath``, ``tree``, ``snapshots`` and ``arrivals``.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from orchestrator.core import dirs as folders
from orchestrator.core.errors import BadInput, Conflict, NotFound, Unavailable, UnsafePath
from orchestrator.core.models import CubicleKey, Mounts
from orchestrator.files import private_copy as snapshots
from orchestrator.files import safe_open as beneath
from orchestrator.files import tree
from orchestrator.files import uploads as arrivals
from orchestrator.files.models import DirEntry, FilePath, Kind, Listing, PrivateCopy, Readable, Stored, Use
from orchestrator.files.names import display_path, parts_of

NOTE = Path(__file__).resolve().parents[2] / "workspace_template" / "README.txt"
_AGENT_OWNED = ("work", "out", "www")
_HOST_OWNED = ("in", "data")
_FOLDERS = tuple(sorted(name.encode() for name in (*_AGENT_OWNED, *_HOST_OWNED)))
_TOPS = ("workspaces", "run")
_MOST_LISTED = 10_000
_LAST_SECOND = 253_402_300_799.0  # the end of the year 9999, the last that calendars agree on


class Workspaces:
    """The folders of all cubicles of one install."""

    def __init__(self, home: Path, *, opening: beneath.Opening | None = None) -> None:
        """``opening``: how to open what an agent made; the best that this kernel has, unless a test says otherwise."""
        self._home = home
        self._opening = opening or beneath.best_opening()

    def prepare_folders(self, key: CubicleKey, *, uid: int, gid: int) -> Mounts:
        """The cubicle's folders exist, are real folders all the way, and belong to whom they must.

        Raises UnsafePath when one is a link or no folder, Unavailable when the disk refuses.
        """
        base, run = ("workspaces", key.agent, str(key.user)), ("run", key.agent, str(key.user))
        try:
            with self._folder(*base, create=True, mode=0o711) as folder:
                for name in (*_AGENT_OWNED, *_HOST_OWNED):
                    is_theirs = name in _AGENT_OWNED
                    folders.make_folder(folder, name, 0o700 if is_theirs else 0o755)
                    with folders.open_child(folder, name) as child:
                        folders.set_owner(child, uid if is_theirs else os.geteuid(), gid if is_theirs else os.getegid())
                self._leave_note(folder)
            with self._folder(*run, create=True, mode=0o755):
                pass
        except OSError as error:
            raise _explain_error(error, key) from error
        top = self._home.joinpath(*base)
        work, inbox, out, www, data = (top / name for name in ("work", "in", "out", "www", "data"))
        return Mounts(work=work, inbox=inbox, out=out, www=www, data=data, run=self._home.joinpath(*run))

    @property
    def root(self) -> Path:
        """Where all of them lie, for whoever asks the kernel what changes there."""
        return self._home / "workspaces"

    @contextmanager
    def cubicle_folder(self, key: CubicleKey) -> Iterator[int]:
        """A descriptor of the cubicle's folder, in which its five lie, for points of time. Raises FileNotFoundError
        when there is none."""
        with self._cubicle(key) as folder:
            yield folder

    @contextmanager
    def run_folder(self, key: CubicleKey) -> Iterator[int]:
        """A descriptor of the folder that holds the cubicle's door and lock files; made if missing."""
        with self._folder("run", key.agent, str(key.user), create=True, mode=0o755) as folder:
            yield folder

    @contextmanager
    def out_folder(self, key: CubicleKey) -> Iterator[int]:
        """A descriptor of the cubicle's ``out``; raises OSError when there is none."""
        with self._cubicle(key) as base, folders.open_child(base, "out") as folder:
            yield folder

    @contextmanager
    def data_folder(self, key: CubicleKey) -> Iterator[int]:
        """A descriptor of the cubicle's ``data``, which the host alone writes; raises OSError when there is none."""
        with self._cubicle(key) as base, folders.open_child(base, "data") as folder:
            yield folder

    def _leave_note(self, folder: int) -> None:
        """A word to whoever finds the folder on the host. It lies beside the five, where no cubicle sees it."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(NOTE.name, flags, 0o644, dir_fd=folder)
        except FileExistsError:
            return
        with os.fdopen(descriptor, "wb") as note:
            note.write(NOTE.read_bytes())

    def log_text(self, key: CubicleKey, *, max_bytes: int = 1 << 20) -> str:
        """The end of the agent's own log, ``work/.hermit.log``; empty when there is none or it is no plain file."""
        try:
            with self.open_file(key, (b"work", b".hermit.log")) as opened:
                return snapshots.read_tail(opened, max_bytes).decode("utf-8", "replace")
        except (OSError, NotFound, UnsafePath, Conflict, Unavailable):  # whatever the agent made of it
            return ""

    def list_folder(
        self, key: CubicleKey, folder: FilePath = (), *, after: str | bytes | None = None, limit: int = 200
    ) -> Listing:
        """A page of what is in a folder, in the order of the raw names; without ``folder``, the workspace's own five.

        Raises NotFound, UnsafePath, TooLarge for a folder of a million names, Unavailable. One of the five that was
        not made yet is empty.
        """
        if not 1 <= limit <= _MOST_LISTED:
            raise BadInput(f"limit must be a number from 1 to {_MOST_LISTED:,}.")
        parts = in_a_folder(folder) if folder else ()
        try:
            last = os.fsencode(after or b"")
        except UnicodeEncodeError as error:
            raise BadInput("after must be the name that the page before gave as next.") from error
        try:
            with self._cubicle(key) as base, beneath.open_folder(self._opening, base, parts) as opened:
                names = tree.names_after(opened, last, limit + 1) if parts else [n for n in _FOLDERS if n > last]
                entries = [entry for name in names[:limit] if (entry := read_entry(opened, name)) is not None]
        except (FileNotFoundError, NotFound) as error:
            if len(parts) > 1:
                raise NotFound(f"{display_path(*parts)} is not there.") from error
            return Listing((), None)
        except OSError as error:
            raise beneath.explain_failure(error, parts) from error
        return Listing(tuple(entries), names[limit - 1] if len(names) > limit else None)

    def get_entry(self, key: CubicleKey, path: FilePath) -> DirEntry:
        """What is at ``path``, as a listing has it; good to look at, as it may be something else a moment later.

        Raises NotFound, UnsafePath for what lies behind a link, Unavailable.
        """
        parts = in_a_folder(path)
        with self.open_folder(key, parts[:-1], named=parts) as folder:
            found = read_entry(folder, parts[-1])
        if found is None:
            raise NotFound(f"{display_path(*parts)} is not there.")
        return found

    def read_head(self, key: CubicleKey, path: FilePath, *, max_bytes: int) -> bytes:
        """The beginning of a regular file, to tell what it is. Raises NotFound, UnsafePath, Changing, Unavailable."""
        parts = in_a_folder(path, is_inside=True)
        with self.open_file(key, parts) as opened:
            return os.read(opened.descriptor, max_bytes)

    def open_inside(self, key: CubicleKey, path: FilePath) -> tuple[BinaryIO, os.stat_result]:
        """A regular file open for reading as it is, and what its descriptor says of it; the caller closes it. For what
        is given back to where it came from, such as a web app to its own page: its content may change under the reader.

        Raises NotFound, UnsafePath, Changing, Unavailable.
        """
        parts = in_a_folder(path, is_inside=True)
        with self.open_file(key, parts) as opened:
            return os.fdopen(os.dup(opened.descriptor), "rb", buffering=0), opened.facts

    def copy_out(
        self,
        key: CubicleKey,
        path: FilePath,
        *,
        max_bytes: int,
        keep_in: Path | None = None,
        only_finished: bool = False,
    ) -> PrivateCopy:
        """A private copy of one regular file as it is now; whoever wants the file uses the copy alone, and closes it.

        With ``keep_in`` it is a new file of mode 0600 in that folder, which no agent may reach; else it is nameless
        and gone when closed. Raises NotFound, UnsafePath, TooLarge, Changing when it is being written (with
        ``only_finished`` also when a program could still write to it), Unavailable.
        """
        parts = in_a_folder(path, is_inside=True)
        with self.open_file(key, parts, max_bytes=max_bytes) as opened:
            if only_finished:
                beneath.check_finished(opened, parts)
            return snapshots.make_copy(opened, parts, max_bytes=max_bytes, keep_in=keep_in, home=self._home)

    def write_in(
        self, key: CubicleKey, name: str | bytes, stream: Readable, *, max_bytes: int, is_numbered: bool = True
    ) -> Stored:
        """The bytes of ``stream`` are a new file in ``in/``, under a safe name; a taken one gets a number, or raises
        Conflict unless ``is_numbered``. Raises TooLarge, UnsafePath when ``in`` is no folder, Unavailable when the disk
        refuses, and what reading the stream raises; then nothing is left behind."""
        with self._inbox(key) as inbox:
            return arrivals.store_upload(inbox, name, stream, max_bytes=max_bytes, is_numbered=is_numbered)

    def lay_out(self, key: CubicleKey, hidden: str, stream: Readable, *, max_bytes: int) -> Stored:
        """As ``arrivals.lay_hidden`` in ``out``; raises OSError when there is none."""
        with self.out_folder(key) as out:
            return arrivals.lay_hidden(out, hidden, stream, max_bytes=max_bytes)

    def show_out(self, key: CubicleKey, hidden: str, name: str, *, chosen: Callable[[str], None]) -> str | None:
        """As ``arrivals.show`` in ``out``, for what ``lay_out`` hid."""
        with self.out_folder(key) as out:
            return arrivals.publish_upload(out, hidden, name, chosen=chosen)

    def publish_file(self, key: CubicleKey, name: str, stream: Readable, *, max_bytes: int) -> None:
        """The bytes of ``stream`` are ``data/NAME``, which only the host writes. Raises NotFound for a cubicle without
        folders, TooLarge, UnsafePath, Unavailable."""
        try:
            with self._cubicle(key) as base, folders.open_child(base, "data") as data:
                arrivals.replace_upload(data, name, stream, max_bytes=max_bytes)
        except OSError as error:
            raise beneath.explain_failure(error, (b"data",)) from error

    def delete_path(self, key: CubicleKey, path: FilePath, *, note: Callable[[], None] | None = None) -> None:
        """Nothing is at ``path`` any more, file or folder with all that is in it; a link goes, its target stays.
        ``note`` is called before that, when it is sure that there is something to delete.

        Raises NotFound when nothing was there, UnsafePath for the five folders themselves and what is in ``data``,
        Unavailable.
        """
        parts = in_a_folder(path, is_inside=True)
        if parts[0] == b"data":
            raise UnsafePath("What is in data/ is kept by HermitShell itself and can't be deleted here.")
        with self.open_folder(key, parts[:-1], named=parts) as folder:
            os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
            if note is not None:
                note()
            tree.remove_tree(folder, parts[-1])

    def measure_usage(self, key: CubicleKey, *, max_entries: int = 1_000_000) -> Use:
        """What the workspace takes on the disk, in bytes and in inodes; at most ``max_entries`` names are looked at."""
        try:
            with self._cubicle(key) as base:
                return tree.measure_tree(base, max_entries=max_entries)
        except FileNotFoundError:
            return Use(0, 0, is_complete=True)
        except OSError as error:
            raise beneath.explain_failure(error, ()) from error

    def is_newer(self, key: CubicleKey, folder: FilePath, since: float, *, max_entries: int) -> bool:
        """Something in the folder was changed after ``since``; at most ``max_entries`` names are looked at. Raises
        NotFound, UnsafePath, Unavailable."""
        parts = in_a_folder(folder, is_inside=True)
        with self.open_folder(key, parts, named=parts) as opened:
            return tree.is_newer(opened, since, max_entries=max_entries)

    def list_largest(self, key: CubicleKey, count: int = 3) -> list[tuple[str, int]]:
        """What takes the most, one level below the five folders: its path, to be shown, and its bytes."""
        try:
            with self._cubicle(key) as base:
                return [(display_path(*parts), size) for parts, size in tree.find_largest(base, _FOLDERS, count)]
        except OSError:  # not made yet: nothing to be shown
            return []

    def remove_cubicle(self, key: CubicleKey, *, tops: tuple[str, ...] = _TOPS) -> None:
        """Nothing is left of the cubicle's folders below these, whatever the agent made of them. Gone is success.
        Raises UnsafePath when permissions or a link in the place of a folder of ours refuse, Unavailable."""
        self._remove_folder((key.agent,), str(key.user), tops=tops)

    def remove_agent(self, agent: str) -> None:
        """Nothing is left of an agent's folders, for any person. Already gone is success; raises as
        ``remove_cubicle``.
        """
        self._remove_folder((), agent)

    def _remove_folder(self, above: tuple[str, ...], name: str, *, tops: tuple[str, ...] = _TOPS) -> None:
        for top in tops:
            try:
                with self._folder(top, *above) as parent:
                    tree.remove_tree(parent, name)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise beneath.explain_failure(
                    error, (top.encode(), *(part.encode() for part in (*above, name)))
                ) from error

    @contextmanager
    def _cubicle(self, key: CubicleKey) -> Iterator[int]:
        """A descriptor of the cubicle's folder, in which its five lie. Raises FileNotFoundError when there is none."""
        with self._folder("workspaces", key.agent, str(key.user)) as folder:
            yield folder

    @contextmanager
    def open_folder(self, key: CubicleKey, parts: tuple[bytes, ...], *, named: tuple[bytes, ...]) -> Iterator[int]:
        """A descriptor of a folder in the workspace; no parts means the one in which its five lie. What fails, within
        the block too, is said of ``named``."""
        try:
            with self._cubicle(key) as base, beneath.open_folder(self._opening, base, parts) as folder:
                yield folder
        except OSError as error:
            raise beneath.explain_failure(error, named) from error

    @contextmanager
    def open_file(
        self, key: CubicleKey, parts: tuple[bytes, ...], *, max_bytes: int | None = None
    ) -> Iterator[beneath.Opened]:
        """A regular file in the workspace, open for reading. What fails, within the block too, is said of it."""
        try:
            with (
                self._cubicle(key) as base,
                beneath.open_file(self._opening, base, parts, max_bytes=max_bytes) as opened,
            ):
                yield opened
        except OSError as error:
            raise beneath.explain_failure(error, parts) from error

    @contextmanager
    def _inbox(self, key: CubicleKey) -> Iterator[int]:
        """A descriptor of the cubicle's ``in``; made if missing, since one may send a file before the first word."""
        try:
            with self._folder("workspaces", key.agent, str(key.user), create=True, mode=0o711) as base:
                folders.make_folder(base, "in", 0o755)
                inbox = folders.open_folder(base, "in")
        except OSError as error:
            raise beneath.explain_failure(error, (b"in",)) from error
        try:
            yield inbox
        finally:
            os.close(inbox)

    @contextmanager
    def _folder(self, *names: str, create: bool = False, mode: int = 0o700) -> Iterator[int]:
        """A descriptor of HOME/names…, each step taken without following a link."""
        folder = os.open(self._home, folders.DIRECTORY)
        try:
            for name in names:
                if create:
                    folders.make_folder(folder, name, mode)
                below = folders.open_folder(folder, name)
                os.close(folder)
                folder = below
            yield folder
        finally:
            os.close(folder)


def in_a_folder(path: FilePath, *, is_inside: bool = False) -> tuple[bytes, ...]:
    """The parts of a path that begins with one of the five folders, and goes on when ``is_inside``."""
    parts = parts_of(path)
    if not parts or parts[0] not in _FOLDERS:
        raise NotFound(
            f"{display_path(*parts) or 'This'} is not in the workspace, which has in, out, work, www and data."
        )
    if is_inside and len(parts) == 1:
        raise UnsafePath(f"{display_path(*parts)} is one of the workspace's own folders. Name something in it.")
    return parts


def list_tops(base: int) -> list[bytes]:
    """Those of the five that were made, in a cubicle's folder."""
    return [name for name in _FOLDERS if read_entry(base, name) is not None]


def read_entry(folder: int, name: bytes) -> DirEntry | None:
    """What a name stands for; None when it is gone."""
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    is_file = stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1
    kind: Kind = "file" if is_file else "folder" if stat.S_ISDIR(facts.st_mode) else "other"
    modified = min(max(facts.st_mtime, 0.0), _LAST_SECOND)
    return DirEntry(display_path(name), name, kind, facts.st_size if is_file else 0, modified, facts.st_ctime)


def _explain_error(error: OSError, key: CubicleKey) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unavailable("The disk is full: free some space where HERMIT_HOME lies, then send the message again.")
    return Unavailable(f"The workspace of {key} cannot be prepared ({error.strerror}). Check who owns HERMIT_HOME.")
