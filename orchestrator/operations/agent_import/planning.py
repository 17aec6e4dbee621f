"""What would come of a folder, and what would not and why: the dry run. Nothing is written anywhere. Pure but for the
time that it is given.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime

from orchestrator.agents.looks import MAX_DISPLAY_CHARS, parse_avatar, parse_display_name
from orchestrator.capabilities.calendar.recurrence.zones import zone_named
from orchestrator.capabilities.memory.facts import check_text
from orchestrator.core.errors import BadInput, OrchestratorError
from orchestrator.files.names import safe_name
from orchestrator.operations.agent_import import layouts, markdown
from orchestrator.operations.agent_import.archive import ForeignZip
from orchestrator.operations.agent_import.layouts import Layout, Part, Product
from orchestrator.operations.agent_import.schedules import LostEntry, PlannedEntry, read_jobs
from orchestrator.operations.agent_import.secrets import find_secret, names_secret

MOST_FACTS = 1_000
MOST_FILES = 100
MOST_LEFT_OUT = 200
_PERSONALITY_CHARS = 4_000
_ROLE_CHARS = 200
_READ_WHOLE = (Part.SOUL, Part.IDENTITY, Part.SKILL, Part.NOTE)
"""Of these all comes or nothing; of memories and schedules each for itself."""
_ZONE = re.compile(
    r"^\s*[\"']?(?:userTimezone|timezone)[\"']?\s*:\s*[\"']?([A-Za-z]+(?:/[A-Za-z0-9_+-]+){0,2})", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Persona:
    """Who the agent is."""

    display_name: str = ""
    avatar: str = ""
    role: str = ""
    personality: str = ""


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A memory, and the file that it is from."""

    text: str
    path: str


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that comes, under which name, and from where."""

    name: str
    path: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What doesn't come."""

    path: str
    why: str


@dataclass(slots=True)
class ImportPlan:
    """The dry run."""

    product: Product
    time_zone: str
    persona: Persona = field(default_factory=Persona)
    facts: list[FoundFact] = field(default_factory=list)
    files: list[FoundFile] = field(default_factory=list)
    entries: list[PlannedEntry] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    """Files that hold what looks like a secret: why one thinks so. What was taken of them was ticked."""


def plan_import(archive: ForeignZip, *, zone: str, now: datetime, ticked: Collection[str] = ()) -> ImportPlan:
    """What would come of it for somebody in ``zone``; of files with a secret only those that are ``ticked``. Raises
    BadInput for a folder of none of the products."""
    layout = layouts.recognise(archive.files)
    return _Planner(archive, layout, zone, now, frozenset(ticked)).run()


class _Planner:
    def __init__(self, archive: ForeignZip, layout: Layout, zone: str, now: datetime, ticked: frozenset[str]) -> None:
        self._archive, self._layout, self._now, self._ticked = archive, layout, now, ticked
        self._parts = {path: layout.part_of(path) for path in archive.files}
        self._plan = ImportPlan(layout.product, zone)
        self._skipped: Counter[tuple[str, str]] = Counter()

    def run(self) -> ImportPlan:
        plan = self._plan
        for path, why in self._archive.left_out:
            self._leave_out(path, why)
        plan.time_zone = self._find_zone() or plan.time_zone
        self._take_secrets()
        self._take_persona()
        for part, take in (
            (Part.MEMORY, self._take_memories),
            (Part.SKILL, self._take_skill),
            (Part.NOTE, self._take_file),
            (Part.SCHEDULES, self._take_schedules),
        ):
            for path in self._paths(part):
                self._guarded(path, take)
        for path in (*self._paths(Part.OTHER), *self._paths(Part.CONFIG)):
            if path not in plan.secrets:
                self._skipped[(_group(path), layouts.why_not(path))] += 1
        self._tell_skipped()
        return plan

    def _paths(self, part: Part) -> list[str]:
        return sorted(path for path, is_part in self._parts.items() if is_part is part)

    def _guarded(self, path: str, take: Callable[[str], object]) -> None:
        """A file that can't be read is left out, and said; the others come."""
        if self._parts[path] in _READ_WHOLE and path in self._plan.secrets and path not in self._ticked:
            return
        try:
            take(path)
        except OrchestratorError as error:
            self._leave_out(path, error.message)

    def _leave_out(self, path: str, why: str) -> None:
        if len(self._plan.left_out) < MOST_LEFT_OUT:
            self._plan.left_out.append(LeftOut(path, why))

    def _tell_skipped(self) -> None:
        for (group, why), count in sorted(self._skipped.items()):
            self._leave_out(group if count == 1 else f"{group} ({count:,} files)", why)

    # --- secrets ---

    def _take_secrets(self) -> None:
        """By name; and by what stands in a text that would come."""
        for path, part in sorted(self._parts.items()):
            if names_secret(path):
                self._plan.secrets[path] = "Such files usually hold keys or passwords."
            elif part in _READ_WHOLE and (what := self._secret_in(path)):
                self._plan.secrets[path] = f"It seems to hold {what}."
        for path in self._plan.secrets:
            if path in self._ticked and self._parts[path] in (Part.OTHER, Part.CONFIG):
                self._guarded(path, self._take_file)

    def _secret_in(self, path: str) -> str:
        try:
            return find_secret(self._archive.read(path).decode("utf-8", "replace"))
        except OrchestratorError:
            return ""  # it is left out when its turn comes

    def _text_of(self, path: str) -> str:
        """Empty where it holds a secret, or can't be read; the latter is said."""
        if path in self._plan.secrets and path not in self._ticked:
            return ""
        try:
            return self._archive.read_text(path)
        except OrchestratorError as error:
            self._leave_out(path, error.message)
            return ""

    # --- who it is ---

    def _find_zone(self) -> str:
        for path in (*self._paths(Part.CONFIG), *self._paths(Part.MEMORY)):
            try:
                text = self._archive.read_text(path)
            except OrchestratorError:
                continue
            found = _ZONE.search(text)
            named = found[1] if found else markdown.read_fields(text).get("timezone", "")
            try:
                return zone_named(named).key if named else ""
            except BadInput:
                continue
        return ""

    def _take_persona(self) -> None:
        home = self._layout.home
        soul, fields = "", dict[str, str]()
        for path in self._paths(Part.IDENTITY):
            fields = markdown.read_fields(self._text_of(path))
        for path in self._paths(Part.SOUL):
            soul = markdown.without_front(self._text_of(path)).strip()
        if len(soul) > _PERSONALITY_CHARS:
            self._leave_out(
                f"{home}SOUL.md", f"Only its first {_PERSONALITY_CHARS:,} characters fit; all of it comes as a file."
            )
            self._take_file(f"{home}SOUL.md")
        self._plan.persona = Persona(
            display_name=_display_name(fields.get("name", "")),
            avatar=_avatar(fields.get("emoji", "")),
            role=" ".join((fields.get("vibe") or fields.get("role") or "").split())[:_ROLE_CHARS],
            personality=markdown.cut_text(soul, _PERSONALITY_CHARS),
        )

    # --- what it knows ---

    def _take_memories(self, path: str) -> None:
        text, day = self._archive.read_text(path), layouts.day_of(path)
        is_hermes = self._layout.product is Product.HERMES
        facts = markdown.split_entries(text) if is_hermes and "§" in text else markdown.split_facts(text)
        label = day or ("About the person" if path.endswith("USER.md") else "")
        known = {fact.text for fact in self._plan.facts}
        for fact in facts:
            if self._holds_back(path, "memories", fact):
                continue
            if len(self._plan.facts) >= MOST_FACTS:
                self._leave_out(path, f"At most {MOST_FACTS:,} memories come; the rest of it doesn’t.")
                return
            words = check_text(f"{label}: {fact}" if label else fact)
            if words not in known:
                self._plan.facts.append(FoundFact(words, path))

    def _take_skill(self, path: str) -> None:
        _, within = self._layout.skill_of(path)
        folder, _, name = within.rpartition("/")
        if not folder:
            self._skipped[(path, "It belongs to no skill.")] += 1
            return
        flat = "-".join(re.sub(r"[^A-Za-z0-9._-]+", "-", part) for part in within.split("/"))
        if name == "SKILL.md":
            skill = markdown.read_skill(self._archive.read_text(path), folder.rpartition("/")[2])
            flat = flat.removesuffix("-SKILL.md") + ".md"
            stored = self._take_file(path, f"skill-{flat}")
            about = (
                f"Skill “{skill.name}”: {skill.description or 'no description.'} Read ../in/{stored} before using it."
            )
            self._plan.facts.append(FoundFact(check_text(about), path))
        else:
            self._take_file(path, f"skill-{flat}")

    def _take_file(self, path: str, name: str = "") -> str:
        """Raises TooLarge, and BadInput over the count."""
        if len(self._plan.files) >= MOST_FILES:
            raise BadInput(f"At most {MOST_FILES} files come.")
        content = self._archive.read(path)
        wanted = safe_name(name or path.rpartition("/")[2].lstrip("."))
        taken = {file.name for file in self._plan.files}
        number = 2
        while wanted in taken:
            stem, dot, suffix = safe_name(name or path.rpartition("/")[2].lstrip(".")).rpartition(".")
            wanted = f"{stem}-{number}{dot}{suffix}" if dot else f"{suffix}-{number}"
            number += 1
        self._plan.files.append(FoundFile(wanted, path, content))
        return wanted

    def _take_schedules(self, path: str) -> None:
        for found in read_jobs(self._archive.read(path), self._plan.time_zone, self._now):
            if isinstance(found, LostEntry):
                self._leave_out(f"{path}: {found.title}", found.why)
            elif not self._holds_back(path, "schedules", f"{found.entry.title}\n{found.entry.prompt}"):
                self._plan.entries.append(found)

    def _holds_back(self, path: str, what: str, text: str) -> bool:
        """One of many in a file seems to hold a secret, and the file is not ticked."""
        found = find_secret(text)
        if found:
            self._plan.secrets.setdefault(path, f"Some of its {what} seem to hold {found}. The others come.")
        return bool(found) and path not in self._ticked


def _display_name(words: str) -> str:
    try:
        return parse_display_name("display_name", words[:MAX_DISPLAY_CHARS])
    except BadInput:
        return ""


def _avatar(words: str) -> str:
    try:
        return parse_avatar("avatar", words)
    except BadInput:
        return ""


def _group(path: str) -> str:
    """Many files of one folder are told as one."""
    parts = path.split("/")
    return path if len(parts) <= 2 else f"{'/'.join(parts[:2])}/…"
