"""The floors of the house, held: imports only point down (``floors.py`` says which module is where), and the dangerous
things (processes, SQL, the engine, an agent's paths, the environment) each happen in their own place alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.floors import (
    BENEATH_THE_WORKSPACE,
    CRAB,
    DASHBOARD,
    DASHBOARD_SEES,
    FAMILIES,
    FLOORS,
    HOST_SEES,
    LOOPS,
    OF_OTHER_PYTHONS,
    RELATED,
    SHARED_WITH_CRAB,
)

ROOT = Path(__file__).resolve().parents[1]
TOPS = ("orchestrator", "dashboard", "crab")
MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 60
LONGER = {"orchestrator.nouns": 500, "orchestrator.migrations": 1200}
"""The one glossary, with nothing in it but fields and their sentences; and the list that only ever grows."""

<<<<<<< HEAD
=======
FLOORS: tuple[tuple[str, str], ...] = (
    ("words", "nouns errors files"),
    ("what bytes say", "file_contents"),
    (
        "pure",
        (
            "agenda agenda.telling bots config conversation delivery delivery.download_links delivery.settling disk "
            "disk.rules drafts fetch fetch.addresses fetch.cautions fetch.urls file_types http_framing http_streams "
            "migrations policy policy.code policy.git policy.judge policy.languages policy.parts policy.python "
            "policy.rules policy.wrappers pricing shell shell.bodies shell.parts shell.source shell.syntax shell.words "
            "llm.requests strict_json version previews previews.origins previews.policy previews.tickets "
            "telegram_entities "
            "telegram_markdown telegram_pieces telegram_text terminals terminals.inside terminals.lines "
            "terminals.screen text thumbnails thumbnails.png turn_json typed_ids"
        ),
    ),
    ("what a model may set in motion", "panel panel.actions panel.kinds panel.reading panel.schemas panel.writing"),
    ("how a part is", "examine examine.finding"),
    ("what it is made of", "bill"),
    ("what is remembered", "recall recall.block recall.ranking recall.words"),
    (
        "when things come due",
        (
            "schedule schedule.cron schedule.drafts schedule.ics schedule.missed schedule.plans schedule.repeats "
            "schedule.rules schedule.spread schedule.words schedule.zones"
        ),
    ),
    ("names that strangers give", "attachments file_names"),
    ("what a name or a beginning tells", "delivery.words delivery.file_kinds"),
    (
        "which packages a wish comes to",
        "packages packages.errand packages.lists packages.outside packages.sentences packages.wishes",
    ),
    ("opening what strangers made", "beneath folders"),
    ("what is done with it", "arrivals snapshots tree"),
    ("beneath the rows", "store.fact_words"),
    (
        "the outside world, wrapped",
        (
            "bells delivery.out_events descriptors disk.reserve engine_docker engine_errands engine_terminals "
            "events fetch.body fetch.fetcher "
            "fetch.internet fetch.network home http_server llm.keyring logs ports workspace store.published "
            "store.telegram_bots store.preferences throttle "
            "store.telegram_mail store.telegram_inbox store store.agents store.approvals store.audit store.database "
            "store.leaving store.deliveries live live.harbour store.agenda store.agenda_runs store.assets "
            "store.app_shares store.app_storage store.calls store.copies store.memories store.notices store.ledger "
            "store.motions store.packages store.samples store.retention store.tallies store.thumbnails store.upgrading "
            "store.damage store.salvage "
            "store.approval_history store.summaries store.turn_words "
            "store.people store.questions store.seen store.telegram_answers store.telegram_buttons "
            "store.telegram_carried "
            "store.telegram_marks store.telegram_people store.turns llm llm.upstreams llm.upstreams.answer "
            "llm.upstreams.anthropic llm.upstreams.catalog llm.upstreams.habits llm.upstreams.http "
            "llm.upstreams.models llm.upstreams.openai_compatible llm.upstreams.reading llm.upstreams.refusals "
            "llm.upstreams.rehearsal llm.upstreams.rehearsal_script llm.upstreams.rehearsal_texts llm.upstreams.secret "
            "llm.upstreams.sse llm.upstreams.wires host host.apt host.base_image host.engine_setup host.image host.machine "
            "host.progress host.test_tools"
        ),
    ),
    ("the doctor's round", "checkups"),
    ("files made of rows", "store.agenda_file store.published_memories"),
    ("what may be set in motion", "capabilities capabilities.table"),
    ("an errand's two folders, and who does what rows ask for", "errand_box row_worker"),
    ("what a wish for a video may be", "motion motion.sentences motion.wishes"),
    ("the courier and its shelf, the studio", "packages.courier packages.shelf motion.studio"),
    (
        "hands",
        (
            "delivery.trays agent_log agents archives audit budget doors drafting history locks notices outputs people "
            "preferences "
            "prices publishing seen"
        ),
    ),
    ("who can be asked for a model", "llm.providers"),
    (
        "rules",
        (
            "approvals budget_notices bots.codes bots.handshakes bots.proofs bots.registry capabilities.calls "
            "capabilities.status cubicles memories memories.catalog memories.embedder memories.facts "
            "memories.http_embedder memories.local_embedder memories.meaning memories.memory memories.nearest "
            "memories.offers memories.recollection memories.searching memories.vectorizing agenda.agenda "
            "agenda.announcing agenda.clock agenda.feeds agenda.offers agenda.outlook agenda.runs agenda.saying "
            "agenda.shapes "
            "agenda.snapshot agenda.wishes delivery.deliveries door_requests questions"
        ),
    ),
    (
        "everything in one file, and back",
        (
            "backup backup.gathering backup.keeping backup.layout backup.making backup.reading backup.rescue "
            "backup.restoring backup.tape backup.unpacking backup.writing"
        ),
    ),
    (
        "the loop's host half",
        (
            "assets assets.assets assets.downloads assets.endings assets.landing assets.words delivery.taking "
            "llm.proxy turns wake"
        ),
    ),
    ("asking a model for the house", "llm.trials summaries"),
    ("installations", "packages.installations"),
    ("videos", "motion.motions"),
    (
        "judging and watching",
        "delivery.sending delivery.tray_watch disk.metering hibernation leaving retention samples steps watch",
    ),
    ("the house in numbers", "metrics"),
    (
        "apps in a browser",
        (
            "previews.apps previews.changes previews.live previews.live_headers previews.previews previews.routes "
            "previews.server previews.shares previews.shim previews.static_files previews.storage previews.wire"
        ),
    ),
    ("shells for people", "terminals.terminal terminals.terminals"),
    ("pictures of them", "thumbnails.parcel thumbnails.photographer thumbnails.thumbnails"),
    ("noticing what was made", "delivery.out_watch"),
    ("the inside's table of calls", "door_routes"),
    ("the inside's requests", "door_calls door_streams"),
    ("what the inside and the surfaces may call", "door services"),
    (
        "chat apps",
        (
            "channels channels.telegram channels.telegram.answers channels.telegram.app_letters "
            "channels.telegram.arrivals channels.telegram.channel "
            "channels.telegram.asking channels.telegram.board channels.telegram.buttons channels.telegram.calls "
            "channels.telegram.carrier "
            "channels.telegram.cards channels.telegram.checkup channels.telegram.commands "
            "channels.telegram.commands_files channels.telegram.commands_operator channels.telegram.commands_own "
            "channels.telegram.commands_plans "
            "channels.telegram.contents channels.telegram.decisions channels.telegram.groups channels.telegram.hearing "
            "channels.telegram.inbox channels.telegram.incoming channels.telegram.inquiries "
            "channels.telegram.inquiry_text channels.telegram.letters channels.telegram.line "
            "channels.telegram.line_bot channels.telegram.line_parcels channels.telegram.line_wire "
            "channels.telegram.mail channels.telegram.mail_round channels.telegram.notes channels.telegram.noticing "
            "channels.telegram.office channels.telegram.whereabouts channels.telegram.zones "
            "channels.telegram.pacing channels.telegram.station "
            "channels.telegram.packing channels.telegram.papers channels.telegram.polling "
            "channels.telegram.presses channels.telegram.progress channels.telegram.prompting "
            "channels.telegram.questions channels.telegram.reception channels.telegram.refusals "
            "channels.telegram.replies channels.telegram.seams channels.telegram.showing "
            "channels.telegram.sorting channels.telegram.status_text"
        ),
    ),
    ("builders of the composition", "app_builders"),
    ("builders of one noun", "app_agenda app_assets"),
    ("what may be set in motion, put together", "app_capabilities"),
    ("composition", "app"),
    (
        "examinations",
        (
            "examine.embeddings examine.engine examine.inside examine.previews "
            "examine.services examine.surroundings examine.telegram examine.walls"
        ),
    ),
    (
        "commands",
        (
            "commands commands.agent commands.backup commands.calendar commands.chat commands.client commands.context "
            "commands.delivered commands.doctor commands.files commands.history commands.hosts commands.inbox "
            "commands.news commands.sending "
            "commands.look commands.memory commands.money commands.providers commands.questions "
            "commands.service commands.telegram commands.bench commands.sbom commands.tests commands.up"
        ),
    ),
    ("the program", "__main__"),
)  # fmt: skip
"""The orchestrator from the bottom up. Modules of one floor don't know each other, except within a family."""

DASHBOARD: tuple[tuple[str, str], ...] = (
    (
        "leaves",
        "ages browsers csrf faults headers house markdown marks openapi_schemas origin paths times transfers",
    ),
    ("requests and shapes", "bodies cookies hosts openapi_route shapes"),
    (
        "nouns described",
        (
            "openapi_terminal "
            "openapi_apps openapi_assets openapi_calendar openapi_memories openapi_money openapi_notices "
            "openapi_logins openapi_packages openapi_providers openapi_questions"
        ),
    ),
    ("what the operator looks after, described", "openapi_upkeep"),
    ("who asks", "auth"),
    ("what apps they may see, and which questions", "approval_filters apps roles"),
    (
        "routes",
        (
            "api.terminal pages.terminal "
            "pages.providers pages.setup "
            "api.backups api.doctor api.strangers pages.newcomers pages.upkeep "
            "api api.agents api.apps api.approvals api.assets api.audit api.audit_export api.budgets "
            "api.calendar api.cubicles api.deliveries "
            "api.events api.files api.health api.me api.memories api.messages api.notices api.openapi api.packages "
            "api.prices api.providers api.questions api.settings api.telegram api.tokens api.users pages pages.apps "
            "pages.asking pages.cards "
            "pages.approvals "
            "pages.audit pages.bot pages.calendar pages.chat pages.cubicle pages.curves pages.files pages.filters "
            "pages.glimpse pages.frame pages.home "
            "pages.install pages.log pages.login pages.memory pages.money pages.people pages.planner pages.settings "
            "pages.search pages.spending pages.views feed metrics pages.you webhook"
        ),
    ),
    ("the application", "app"),
)
CRAB: tuple[tuple[str, str], ...] = (
    ("leaves", "door ferry hermit_commands hermit_files hermit_install lenient locks log output prompt reaper turn"),
    ("reading, talking, running", "answer hermit_words live messages pier shell"),
    ("a turn's work", "work"),
    ("the loop, and the agent's own command", "agent hermit"),
)

FAMILIES = (
    "orchestrator.memories",
    "orchestrator.motion",
    "orchestrator.agenda",
    "orchestrator.assets",
    "orchestrator.backup",
    "orchestrator.capabilities",
    "orchestrator.engine_",
    "orchestrator.packages",
    "orchestrator.panel",
    "orchestrator.previews",
    "orchestrator.policy",
    "orchestrator.schedule",
    "orchestrator.shell",
    "orchestrator.store.",
    "orchestrator.llm.upstreams",
    "orchestrator.host",
    "orchestrator.commands",
    "orchestrator.examine",
    "orchestrator.fetch",
    "orchestrator.telegram_",
    "orchestrator.terminals",
    "orchestrator.thumbnails",
    "orchestrator.channels.telegram",
    "orchestrator.bots",
    "dashboard.api",
    "dashboard.pages",
)
"""Modules that share an idea and a beginning of their names may know each other, without a cycle."""
RELATED = frozenset({("orchestrator.policy", "orchestrator.shell"), ("orchestrator.telegram_", "orchestrator.text")})

SHARED_WITH_CRAB = frozenset({"crab.answer", "crab.lenient"})
"""One copy of the rules for reading answers serves both sides."""

_WORKS_WITH = ("services", "nouns", "errors", "text", "strict_json")
_SHOWS = (
    "agent_log",
    "agenda.outlook",
    "agenda.shapes",
    "agenda.telling",
    "agents",
    "approvals",
    "assets.words",
    "packages.installations",
    "budget",
    "cubicles",
    "delivery.deliveries",
    "disk.metering",
    "events",
    "history",
    "llm.providers",
    "llm.trials",
    "memories.facts",
    "notices",
    "people",
    "preferences",
    "previews.apps",
    "previews.policy",
    "prices",
    "questions",
    "store.approval_history",
    "backup.keeping",
    "checkups",
    "store.assets",
    "store.packages",
    "store.agenda",
    "store.audit",
    "store.ledger",
    "store.notices",
    "store.people",
    "store.summaries",
    "store.telegram_bots",
    "terminals.lines",
    "terminals.terminal",
    "turn_json",
    "turns",
    "version",
)
_HANDS_OVER = (
    "archives",
    "attachments",
    "delivery.file_kinds",
    "delivery.words",
    "file_contents",
    "file_names",
    "file_types",
    "files",
    "workspace",
)
DASHBOARD_SEES = frozenset(f"orchestrator.{name}" for name in (*_WORKS_WITH, *_SHOWS, *_HANDS_OVER))
BENEATH_THE_WORKSPACE = tuple(f"orchestrator.{name}" for name in ("arrivals", "beneath", "snapshots", "tree"))
"""How paths that an agent can touch are opened, walked, copied and stored: for the workspace alone."""
OF_OTHER_PYTHONS = frozenset({"_sha2", "_sha256"})
"""What the standard library calls its hash in versions before and after this one."""
LOOPS = ("orchestrator.channels.telegram", "orchestrator.previews", "orchestrator.live.harbour")
"""Who has an event loop of its own, in a thread of its own."""
HOST_SEES = frozenset({"orchestrator.errors"})

>>>>>>> c58d65c (The door answers from a table of its own, and model calls go through h11 over our sockets: half the time of a call was frameworks)

@dataclass(frozen=True)
class Module:
    """One file."""

    name: str
    path: Path
    tree: ast.Module
    lines: int

    @property
    def top(self) -> str:
        """The package that it is in."""
        return self.name.partition(".")[0]

    def imports(self) -> Iterator[tuple[str, int]]:
        """Every module that it imports, anywhere in it, and the line."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((_target(node.module or "", alias.name), node.lineno) for alias in node.names)

    def own_imports(self) -> set[str]:
        """Those of ours."""
        return {name for name, _ in self.imports() if name.partition(".")[0] in TOPS}


def _target(module: str, name: str) -> str:
    """``from a import b`` means the module ``a.b`` where there is one."""
    inner = ROOT.joinpath(*module.split("."), name)
    return f"{module}.{name}" if inner.with_suffix(".py").exists() or inner.is_dir() else module


@cache
def modules() -> dict[str, Module]:
    """Every module of the three packages, by name."""
    found = {}
    for top in TOPS:
        for path in sorted((ROOT / top).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Module(name, path, ast.parse(text), len(text.splitlines()))
    return found


@cache
def floors() -> dict[str, int]:
    """Which floor each module is on, as the tables say."""
    placed = {"orchestrator": 0, "dashboard": 0, "crab": 0}
    for top, table in (("orchestrator", FLOORS), ("dashboard", DASHBOARD), ("crab", CRAB)):
        for floor, (_, names) in enumerate(table):
            placed |= {f"{top}.{name}": floor for name in names.split()}
    return placed


def _family(name: str) -> str:
    return next((family for family in FAMILIES if name.startswith(family)), name)


def _may_know(module: str, other: str) -> bool:
    """Downwards, within a family, or between two families that belong together."""
    if floors()[other] < floors()[module]:
        return True
    mine, theirs = _family(module), _family(other)
    return floors()[other] == floors()[module] and (mine == theirs or (mine, theirs) in RELATED)


ALL = sorted(modules())


def test_every_module_has_its_floor() -> None:
    """The tables name each module that there is, once, and no other."""
    listed = [f"{top}.{name}" for top, table in (("orchestrator", FLOORS), ("dashboard", DASHBOARD), ("crab", CRAB))
              for _, names in table for name in names.split()]  # fmt: skip
    assert sorted(listed) == sorted(name for name in ALL if name not in TOPS)


def test_imports_point_down() -> None:
    """No module knows one above it, nor a stranger beside it."""
    wrong = {}
    for name, module in modules().items():
        own = {other for other in module.own_imports() if other.partition(".")[0] == module.top}
        known = {other for other in own if name in floors() and other in floors() and _may_know(name, other)}
        wrong[name] = sorted(own - known)
    assert _offences(wrong) == {}


def test_nothing_knows_itself_by_a_detour() -> None:
    """There is no cycle, within families neither."""
    finished: set[str] = set()

    def walk(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " → ".join((*way, name))
        if name in finished or name not in modules():
            return
        for other in sorted(modules()[name].own_imports() - {name}):
            walk(other, (*way, name))
        finished.add(name)

    for name in ALL:
        walk(name, ())


def test_packages_know_only_what_they_may() -> None:
    """The crab knows nobody, the orchestrator of the crab only how to read answers, the dashboard only the services."""
    allowed = {"crab": frozenset[str](), "dashboard": DASHBOARD_SEES, "orchestrator": SHARED_WITH_CRAB}
    wrong = {}
    for name, module in modules().items():
        foreign = {other for other in module.own_imports() if other.partition(".")[0] != module.top}
        composed = {"dashboard.app"} if name == "orchestrator.app" else set()
        wrong[name] = sorted(foreign - allowed[module.top] - composed)
    assert _offences(wrong) == {}


def test_the_set_up_of_the_host_stands_alone() -> None:
    """It runs before anything else is there, so it needs nothing else."""
    wrong = {
        name: sorted(o for o in module.own_imports() - HOST_SEES if not o.startswith("orchestrator.host"))
        for name, module in modules().items()
        if name.startswith("orchestrator.host")
    }
    assert _offences(wrong) == {}


def test_the_crab_needs_the_standard_library_alone() -> None:
    """Nothing is installed for it inside the cubicle."""
    may = sys.stdlib_module_names | OF_OTHER_PYTHONS | {"crab"}
    wrong = {
        name: sorted({other.partition(".")[0] for other, _ in module.imports()} - may)
        for name, module in modules().items()
        if module.top == "crab"
    }
    assert _offences(wrong) == {}


def test_imports_of_our_own_stand_at_the_top() -> None:
    """An import within a function hides a cycle."""
    wrong = {
        name: [
            node.lineno
            for function in _functions(module)
            for node in ast.walk(function)
            if (isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in TOPS)
            or (isinstance(node, ast.Import) and any(alias.name.partition(".")[0] in TOPS for alias in node.names))
        ]
        for name, module in modules().items()
    }
    assert _offences(wrong) == {}


# --- sizes -----------------------------------------------------------------------------------------------------


def test_files_stay_small() -> None:
    """One idea a file."""
    sizes = {name: module.lines for name, module in modules().items()}
    assert {name: lines for name, lines in sizes.items() if lines > LONGER.get(name, MAX_FILE_LINES)} == {}


def test_functions_stay_small() -> None:
    """One thought a function."""
    sizes = {
        f"{name}.{function.name}": (function.end_lineno or function.lineno) - function.lineno + 1
        for name, module in modules().items()
        for function in _functions(module)
    }
    assert {name: lines for name, lines in sizes.items() if lines > MAX_FUNCTION_LINES} == {}


def test_files_open_with_what_they_own() -> None:
    """A docstring, always; only a package's empty file may go without."""
    assert [name for name, module in modules().items() if module.lines and not ast.get_docstring(module.tree)] == []


# --- what happens in one place alone ---------------------------------------------------------------------------


def _offences(found: dict[str, Any]) -> dict[str, Any]:
    return {name: offences for name, offences in found.items() if offences}


def _functions(module: Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(module.tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _on_the_host(*but: str) -> Iterator[Module]:
    """The modules of the host, but for those whose names begin so."""
    return (module for name, module in modules().items() if module.top != "crab" and not name.startswith(but or ("-",)))


def _uses(module: Module, *dotted: str) -> list[int]:
    """The lines that use ``module.attribute``, or import it by name."""
    wanted = {tuple(path.rsplit(".", 1)) for path in dotted}
    found = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found += [node.lineno] if (node.value.id, node.attr) in wanted else []
        elif isinstance(node, ast.ImportFrom):
            found += [node.lineno for alias in node.names if (node.module, alias.name) in wanted]
    return found


def _imports_of(module: Module, *tops: str) -> list[int]:
    return [line for other, line in module.imports() if other.partition(".")[0] in tops]


def test_only_the_program_reads_the_environment() -> None:
    """Everybody else is handed the settings."""
    calls = ("os.environ", "os.environb", "os.getenv", "os.putenv", "os.unsetenv")
    assert _offences({m.name: _uses(m, *calls) for m in _on_the_host("orchestrator.__main__")}) == {}


def test_only_the_set_up_and_the_commands_start_processes() -> None:
    """While the house runs, no program of the host is started; chat apps and previews have a loop."""
    calls = ("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "execv", "execve", "execvp")
    loops = ("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "asyncio.subprocess")
    wrong = {
        m.name: _imports_of(m, "subprocess", "multiprocessing", "pty")
        + (_uses(m, *loops) if m.name.startswith(LOOPS) else _imports_of(m, "asyncio"))
        + _uses(m, *(f"os.{c}" for c in calls))
        for m in _on_the_host("orchestrator.host", "orchestrator.commands")
    }
    assert _offences(wrong) == {}


def test_only_the_engine_and_the_set_up_talk_to_docker() -> None:
    """Every restriction of a cubicle is written in one file, and of an errand in another."""
    engines = ("orchestrator.engine_docker", "orchestrator.engine_errands", "orchestrator.engine_terminals")
    may = (*engines, "orchestrator.host", "orchestrator.commands", "orchestrator.examine")
    assert _offences({m.name: _imports_of(m, "docker") for m in _on_the_host(*may)}) == {}


def test_only_the_line_knows_the_library_for_telegram() -> None:
    """The library, its HTTP and with them the tokens stay in a bot's line and its parts."""
    may = "orchestrator.channels.telegram.line"
    assert _offences({m.name: _imports_of(m, "telegram", "httpx") for m in _on_the_host(may)}) == {}


def test_only_the_store_speaks_sql() -> None:
    """Everybody else calls its functions."""
    wrong = {
        m.name: [
            node.lineno
            for node in ast.walk(m.tree)
            if isinstance(node, ast.Attribute) and node.attr in ("execute", "executemany", "executescript")
        ]
        for m in _on_the_host("orchestrator.store", "orchestrator.migrations")
    }
    assert _offences(wrong) == {}


def test_only_the_workspace_names_the_folders_of_agents() -> None:
    """Nobody else joins a path to them, nor to what is mounted into a cubicle."""
    wrong = {
        m.name: [
            node.lineno
            for node in ast.walk(m.tree)
            if (isinstance(node, ast.Constant) and node.value == "workspaces")
            or (
                isinstance(node, ast.Attribute)
                and node.attr in ("work", "inbox", "out", "www")
                and "mounts" in ast.unparse(node.value)
            )
        ]
        for m in _on_the_host("orchestrator.workspace", "orchestrator.home", "orchestrator.engine_docker")
    }
    assert _offences(wrong) == {}


def test_only_those_who_open_agents_folders_work_from_descriptors() -> None:
    """Locks, doors and the doctor do so too, in folders that no agent can write."""
    openers = ("orchestrator.workspace", *BENEATH_THE_WORKSPACE)
    may = (
        *openers,
        "orchestrator.locks",
        "orchestrator.doors",
        "orchestrator.delivery.trays",
        "orchestrator.examine.surroundings",
        "orchestrator.folders",
        "orchestrator.packages.shelf",
    )
    wrong = {
        m.name: [n.value.lineno for n in ast.walk(m.tree) if isinstance(n, ast.keyword) and "dir_fd" in (n.arg or "")]
        for m in _on_the_host(*may)
    }
    assert _offences(wrong) == {}


def test_only_the_workspace_sends_for_what_lies_beneath_it() -> None:
    """Everybody else asks the workspace, and gets copies and words. What is in ``data`` no agent made."""
    may = ("orchestrator.workspace", *BENEATH_THE_WORKSPACE, "orchestrator.packages.shelf")
    wrong = {m.name: sorted(m.own_imports() & set(BENEATH_THE_WORKSPACE)) for m in _on_the_host(*may)}
    assert _offences(wrong) == {}


def test_only_the_edges_know_the_web_framework() -> None:
    """The door and the dashboard are HTTP; nothing below them is."""
    wrong = {
        m.name: _imports_of(m, "flask", "werkzeug", "jinja2") for m in _on_the_host("orchestrator.door", "dashboard")
    }
    assert _offences(wrong) == {}


# --- the tests themselves --------------------------------------------------------------------------------------


def test_every_test_says_what_holds() -> None:
    """A sentence each."""
    silent = [
        f"{path.name}:{node.name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []
