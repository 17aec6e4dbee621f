"""Points of time of trees of 1,000, 10,000 and 100,000 files: what a point costs by what changed, with the kernel's
journal and with a full look, beside plain git over the same tree in the same run.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench.figures import Found, number
from orchestrator.checkpoints.checkpoints import Checkpoints
from orchestrator.checkpoints.models import PointKind
from orchestrator.core.models import CubicleKey
from orchestrator.files.workspace import Workspaces
from tests.support.history_fixture import folder_size

SIZES, QUICK_SIZES = (1_000, 10_000, 100_000), (1_000, 10_000)
CHANGES = (0, 1, 100)
ROUNDS = 7
KEY = CubicleKey("crab", 1)
_A_FOLDER = 12
_REST_S = 0.03
"""A file that changed in the last moments is read once more at the next point; that is no part of what is measured."""
_WORDS = b"the tide comes in and the tide goes out while the crab walks along the beach "
_GOAL_CPU_MS, _GOAL_RESTORE_MS = 5.0, 500.0

Column = dict[str, list[float]]


@dataclass
class Tree:
    """A workspace of so many files, about as a project's are: text for the most part, of 1.5 kB in the median."""

    home: Path
    count: int
    files: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.workspaces = Workspaces(self.home)
        self.work = self.workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid()).work
        self.chance = random.Random(self.count)  # noqa: S311 - no secret
        for index in range(self.count):
            folder = self.work / f"part{index // (_A_FOLDER * 50)}" / f"d{index // _A_FOLDER}"
            if index % _A_FOLDER == 0:
                folder.mkdir(parents=True)
            self.files.append(folder / f"file{index}.txt")
            self.files[-1].write_bytes(self._content())

    def change(self, count: int) -> None:
        """So many files are others than before, and at rest."""
        for path in self.chance.sample(self.files, count):
            path.write_bytes(self._content())
        time.sleep(_REST_S)

    def _content(self) -> bytes:
        size = min(200_000, int(self.chance.lognormvariate(7.3, 1.4)))
        start = self.chance.randrange(len(_WORDS))
        return b"%d " % self.chance.getrandbits(60) + (_WORDS[start:] + _WORDS * (size // len(_WORDS)))[:size]


def timed(column: Column, what: str, deed: Callable[[], object]) -> None:
    """Note how long it took, and of which the processor: of ours, or of the programs that it started."""
    cpu, began = _cpu_s(), time.perf_counter()
    deed()
    column[what].append((time.perf_counter() - began) * 1000)
    column[f"{what}, processor"].append((_cpu_s() - cpu) * 1000)


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def measure_ours(tree: Tree, column: Column, name: str, *, has_journal: bool) -> None:
    """A history of its own."""
    history = tree.home / f"history-{name.replace(' ', '-')}"
    points = Checkpoints(history, tree.workspaces, cap=lambda _: 4 << 30, has_journal=has_journal)
    if has_journal and not points.has_journal:
        points.close()
        return
    timed(column, f"{name}: first", lambda: points.take(KEY, PointKind.BEFORE))
    time.sleep(_REST_S)
    points.take(KEY, PointKind.BEFORE)
    for count in CHANGES * ROUNDS:
        tree.change(count)
        timed(column, f"{name}: {count}", lambda: points.take(KEY, PointKind.COMMAND))
    column[f"{name}: disk"].append(folder_size(history) / 1e6)
    for _ in range(ROUNDS):
        tree.change(0)
        before = points.take(KEY, PointKind.BEFORE)
        tree.change(100)
        after = points.take(KEY, PointKind.AFTER)
        timed(column, f"{name}: diff", partial(points.diff, KEY, before.id, after.id))
        timed(column, f"{name}: undo", partial(points.revert, KEY, before.id, after.id))
    points.close()


def measure_git(tree: Tree, column: Column) -> None:
    """``git add -A && git write-tree``, with its own folder elsewhere and nobody's settings."""
    git = shutil.which("git")
    if git is None:
        return
    folder = tree.home / "git"
    environment = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "PATH": "/usr/bin:/bin"}

    def call(*arguments: str) -> None:
        command = [git, f"--git-dir={folder}", f"--work-tree={tree.work}", *arguments]
        subprocess.run(command, check=True, capture_output=True, env=environment)

    def add() -> None:
        call("add", "-A", ".")
        call("write-tree")

    subprocess.run([git, "init", "-q", "--bare", str(folder)], check=True, env=environment)
    timed(column, "git: first", add)
    for count in CHANGES * ROUNDS:
        tree.change(count)
        timed(column, f"git: {count}", add)
    column["git: disk"].append(folder_size(folder) / 1e6)


def measure(*, is_quick: bool) -> Found:
    """The table."""
    columns: dict[int, Column] = {}
    for size in QUICK_SIZES if is_quick else SIZES:
        columns[size] = defaultdict(list)
        with tempfile.TemporaryDirectory(prefix="hermit-points-") as home:
            tree = Tree(Path(home), size)
            measure_ours(tree, columns[size], "journal", has_journal=True)
            measure_ours(tree, columns[size], "full look", has_journal=False)
            measure_git(tree, columns[size])
    return Found(_table(columns))


_ROWS = (
    ("first point", "full look: first"),
    ("first, `git add -A && git write-tree`", "git: first"),
    *((f"{count} changed, with the journal", f"journal: {count}") for count in CHANGES),
    *((f"{count} changed, by a full look", f"full look: {count}") for count in CHANGES),
    *((f"{count} changed, git", f"git: {count}") for count in CHANGES),
    ("difference of two points, 100 files", "journal: diff"),
    ("undo of a turn, 100 files, with the journal", "journal: undo"),
    ("undo of a turn, 100 files, by full looks", "full look: undo"),
)
_DISKS = (("disk after all of these points", "full look: disk"), ("disk, git", "git: disk"))
_GOALS: Mapping[str, tuple[str, float]] = {
    "journal: 1": ("processor ≤ 5", _GOAL_CPU_MS),
    "journal: undo": ("≤ 500", _GOAL_RESTORE_MS),
}


def _table(columns: Mapping[int, Column]) -> str:
    heads = [f"{size:,} files" for size in columns]
    lines = [f"| what | {' | '.join(heads)} | goal | met |", f"|---|{'---:|' * len(columns)}---|---|"]
    for what, name in _ROWS:
        if all(column[name] for column in columns.values()):
            cells = [_times(column, name) for column in columns.values()]
            lines.append(f"| {what} | {' | '.join(cells)} | {_goal(columns, name)} |")
    for what, name in _DISKS:
        if all(column[name] for column in columns.values()):
            cells = [f"{number(column[name][0])} MB" for column in columns.values()]
            lines.append(f"| {what} | {' | '.join(cells)} | | |")
    return "\n".join(lines)


def _times(column: Column, name: str) -> str:
    return f"{number(statistics.median(column[name]))} ({number(min(column[f'{name}, processor']))})"


def _goal(columns: Mapping[int, Column], name: str) -> str:
    if name not in _GOALS:
        return " | "
    text, most = _GOALS[name]
    kind = f"{name}, processor" if text.startswith("processor") else name
    is_met = all(statistics.median(column[kind]) <= most for column in columns.values())
    return f"{text} | {'yes' if is_met else 'no'}"
