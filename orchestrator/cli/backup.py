"""``backup`` and ``restore``: everything of an install in one file, and back. ``recover``: a database again where the
one that was there is damaged. They work on the files of HERMIT_HOME; only a backup is made while the install runs."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from functools import partial
from pathlib import Path

from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context
from orchestrator.cli.help import add_help
from orchestrator.core.errors import BadInput, NotFound
from orchestrator.core.text import terminal_safe
from orchestrator.engine.docker.client import HOME_LABEL, remove_labelled, translate_errors
from orchestrator.engine.setup.docker_setup import find_engine
from orchestrator.engine.setup.machine import LocalMachine
from orchestrator.engine.setup.progress import SetupProgress, Task
from orchestrator.operations.backup import create as making
from orchestrator.operations.backup import recovery as rescue
from orchestrator.operations.backup import restore as restoring
from orchestrator.operations.backup import write as writing
from orchestrator.operations.backup.db_salvage import Salvaged
from orchestrator.operations.backup.write import Written


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the three commands."""
    saving = commands.add_parser("backup", help="everything in HERMIT_HOME in one file; works while it runs")
    saving.add_argument("file", metavar="FILE", help="NAME.tar, or NAME.tar.gz to compress it; - is standard output")
    saving.add_argument("--force", action="store_true", help="replace a file that is there")
    saving.set_defaults(run=run_backup)
    restoring_ = commands.add_parser("restore", help="restore a backup into an empty HERMIT_HOME")
    restoring_.add_argument("file", metavar="FILE", type=Path, help="what ./hermit backup made")
    restoring_.add_argument("--force", action="store_true", help="replace an install that is there; it is kept")
    add_yes(restoring_)
    restoring_.set_defaults(run=run_restore)
    recovering = commands.add_parser("recover", help="save what is readable in a damaged database; it is kept as it is")
    recovering.add_argument(
        "copy", metavar="COPY", type=Path, nargs="?", help="a copy of it, to go back to that instead"
    )
    recovering.set_defaults(run=run_recover)
    add_help(
        saving,
        "Write everything in HERMIT_HOME into one file, also while it runs, and read it back to be sure.",
        "backup ~/hermit.tar.gz",
        "backup - | ssh nas 'cat > hermit.tar.gz'",
    )
    add_help(
        restoring_,
        "Put the install of a backup into an empty HERMIT_HOME. With --force it takes the place of the one that is\n"
        "there, which is kept under another name.",
        "restore ~/hermit.tar.gz",
        "restore ~/hermit.tar.gz --force",
    )
    add_help(
        recovering,
        "Save what can be read of a damaged database, or go back to a copy. The damaged one is kept.",
        "recover",
        "recover data/backups/before-upgrade-12.db",
    )


def run_backup(context: Context, options: argparse.Namespace) -> int:
    """Write a backup and read it back."""
    if not rescue.database_path(context.settings.home).is_file():
        raise NotFound(f"There is nothing in {context.settings.home} yet. './hermit up' creates it.")
    if options.file == "-":
        written = _to_output(context)
        said = "The backup is written"
    else:
        path = Path(options.file).absolute()
        written = _to_file(context, path, may_replace=options.force)
        said = f"The backup is in {path} and was read back"
    for line in making.describe_gaps(written):
        print(terminal_safe(line), file=sys.stderr)
    print(terminal_safe(f"{said}: {written.files:,} files, {written.bytes / 1e6:,.1f} MB."), file=sys.stderr)
    return 0


def run_restore(context: Context, options: argparse.Namespace) -> int:
    """Put an install back."""
    home = context.settings.home
    if options.force and sys.stdin.isatty() and home.is_dir() and any(home.iterdir()):
        # Without a terminal --force is enough: what is there now is kept beside the home, nothing of it is deleted.
        deed = f"This replaces the install in {home}; its files are kept under another name"
        confirm_deed(deed, yes=options.yes, undone="replaced")
    with SetupProgress().task("Restoring") as task:
        restored = restoring.restore_backup(
            options.file,
            home,
            may_replace=options.force,
            meter=_meter(task),
            make_way=lambda: end_cubicles(context, home),
        )
    made = restored.checked.manifest
    print(f"{home} is restored: {made.agents} agents, {made.people} people, {made.turns:,} messages.")
    if restored.before is not None:
        print(f"What was there before is in {restored.before}. Delete it when you no longer need it.")
    print("'./hermit up' starts it. The install that was backed up must not run at the same time.")
    return 0


def run_recover(context: Context, options: argparse.Namespace) -> int:
    """Put a database in the place of one that is damaged."""
    found = rescue.recover_database(context.settings.home, options.copy, now=time.time())
    if found.salvaged is not None:
        for line in _losses(found.salvaged):
            print(line)
    else:
        print(f"{options.copy} is the database now. What came after it is not there.")
    if found.kept is not None:
        print(f"The damaged one is in {found.kept}. Delete that when you no longer need it.")
    print("Agents' files were not touched. './hermit up' starts it.")
    return 0


def _losses(salvaged: Salvaged) -> list[str]:
    lines = [f"The database is recovered: {salvaged.rows:,} rows."]
    if not salvaged.lost:
        return [*lines, "Nothing seems to be lost."]
    for table, count in sorted(salvaged.lost.items()):
        lines.append(f"Lost from {table}: {'an unknown number of' if count is None else f'at most {count:,}'} rows.")
    return [*lines, "An earlier backup may be the better choice: './hermit restore FILE --force'."]


def _to_file(context: Context, path: Path, *, may_replace: bool) -> Written:
    with SetupProgress().task("Backing up") as task:
        return making.create_backup(context.home, path, _meter(task), may_replace=may_replace)


def _to_output(context: Context) -> Written:
    if sys.stdout.isatty():
        raise BadInput("A backup can't be printed to a terminal. Send it somewhere: './hermit backup - | …'.")
    with SetupProgress().task("Backing up") as task:
        out, tell = sys.stdout.buffer, partial(_meter(task), making.WRITING)
        written = writing.write_archive(context.home, out, tell, packed=True, check=lambda: None)
        out.flush()
    return written


def _meter(task: Task) -> making.Watch:
    def tell(doing: str, done: int, total: int) -> None:
        task.show_detail(f"{doing}: {min(99, 100 * done // max(total, 1))} %, {done / 1e6:,.0f} MB")

    return tell


def end_cubicles(context: Context, home: Path) -> None:
    """No container of the install that is to be replaced goes on working in its folders."""
    client = find_engine(LocalMachine(home / "logs", context.environment)).client
    if client is None:
        return
    failed = "The engine could not stop the cubicles of this install. Try again."
    with contextlib.closing(client), translate_errors(silent=failed):
        remove_labelled(client.api, f"{HOME_LABEL}={home}")
