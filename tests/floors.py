"""The floors of the house, as tables that know every module: what ``test_layers.py`` holds the imports to.

A new module needs a word here; where it goes is a decision, not an accident.
"""

from __future__ import annotations

from pathlib import Path

_CAPABILITIES = Path(__file__).parents[1] / "orchestrator" / "capabilities"
_DESCRIBED = " ".join(
    f"capabilities.{path.parent.name} capabilities.{path.parent.name}.capability"
    for path in sorted(_CAPABILITIES.glob("*/capability.py"))
)
"""A capability's folder and its description need no word here."""

FLOORS: tuple[tuple[str, str], ...] = (
    ("words", "nouns errors files"),
    ("packages", "channels channels.chat channels.telegram channels.telegram.accounts channels.telegram.format"),
    ("what bytes say, and what they cost", "file_contents http_statuses markdown_cost user_fields"),
    (
        "pure",
        (
            "agenda agenda.telling config conversation delivery delivery.download_links delivery.settling disk "
            "disk.rules drafts fetch fetch.addresses fetch.cautions fetch.urls file_types http_framing http_streams "
            "migrations policy policy.code policy.git policy.judge policy.kinds "
            "policy.languages policy.options policy.parts policy.scripts policy.variables policy.wrapper_table "
            "policy.python policy.rules policy.wrappers pricing shell shell.bodies shell.parts "
            "shell.source shell.syntax shell.words "
            "llm.requests strict_json version previews previews.origins previews.policy previews.tickets "
            "prompts hooks "
            "terminals "
            "terminals.screen text thumbnails thumbnails.png turn_json typed_ids"
        ),
    ),
    (
        "what may be set in motion",
        (
            "capabilities capabilities.actions capabilities.actions.field_types capabilities.actions.fields "
            "capabilities.actions.format capabilities.actions.json_schema capabilities.actions.parse "
            f"capabilities.approval_kind capabilities.capability capabilities.registry capabilities.table {_DESCRIBED}"
        ),
    ),
    ("whose disk is looked at", "disk.rota"),
    ("how a part is", "examine examine.finding"),
    ("what it is made of", "bill"),
    ("what is remembered", "recall recall.block recall.ranking recall.words"),
    (
        "when things come due",
        (
            "schedule schedule.cron schedule.drafts schedule.ics schedule.missed schedule.phrases schedule.plans "
            "schedule.repeats schedule.rules schedule.spread schedule.words schedule.zones"
        ),
    ),
    (
        "what an engine is asked, and what runs inside",
        "engine engine.helpers engine.kill_session engine.probe_inside engine.protocol engine.tty",
    ),
    ("names that strangers give", "attachments file_names"),
    ("what a name or a beginning tells", "delivery.words delivery.file_kinds"),
    (
        "which packages a wish comes to",
        "packages packages.lists packages.outside packages.sentences packages.wishes",
    ),
    ("opening what strangers made", "beneath folders"),
    ("what is done with it", "arrivals snapshots tree"),
    ("beneath the rows", "store.fact_words"),
    ("what the house writes is whole", "whole_files"),
    ("who waits is woken, who looks goes round", "bells rounds"),
    ("a client's connection", "crowd http_connections"),
    ("what a cubicle's requests may hold", "door_bodies"),
    (
        "the outside world, wrapped",
        (
            "delivery.out_events descriptors disk.reserve "
            "events fetch.body fetch.fetcher "
            "fetch.internet fetch.network home http_server llm.keyring logs ports workspace store.published "
            "store.preferences throttle "
            "store store.agents store.approvals store.audit store.database "
            "store.leaving store.deliveries live live.harbour store.agenda store.agenda_runs store.jobs "
            "store.app_shares store.app_storage store.calls store.copies store.memories store.notices store.ledger "
            "store.samples store.retention store.tallies store.thumbnails store.upgrading "
            "store.damage store.salvage "
            "store.approval_history store.turn_sizes store.grants store.summaries store.turn_words "
            "store.people store.questions store.seen "
            "store.conversations store.partial_replies store.turns "
            "llm llm.upstreams llm.upstreams.answer "
            "llm.upstreams.anthropic llm.upstreams.catalog llm.upstreams.habits llm.upstreams.http "
            "llm.upstreams.models llm.upstreams.openai_compatible llm.upstreams.reading llm.upstreams.refusals "
            "llm.upstreams.rehearsal llm.upstreams.rehearsal_script llm.upstreams.rehearsal_texts llm.upstreams.secret "
            "llm.upstreams.shortlist "
            "llm.upstreams.sse llm.upstreams.wires "
        ),
    ),
    (
        "containers",
        (
            "engine.docker engine.docker.client engine.docker.cubicles engine.docker.engine engine.docker.exec "
            "engine.docker.hardening engine.docker.helpers engine.docker.images engine.docker.stream "
            "engine.helper_folder engine.probe engine.setup engine.setup.apt engine.setup.base_image "
            "engine.setup.cubicle_image engine.setup.docker_setup engine.setup.machine engine.setup.progress "
            "engine.setup.test_tools"
        ),
    ),
    ("the doctor's round", "checkups"),
    ("files made of rows", "store.agenda_file store.published_memories"),
    ("what a job is, and its records", "job_kinds assets.records packages.records"),
    ("what a wish for a video may be", "motion motion.sentences motion.wishes"),
    ("the courier and its shelf, the studio", "packages.courier packages.shelf motion.studio"),
    (
        "hands",
        (
            "delivery.trays agent_log agents archives audit budget doors drafting history locks notices outputs people "
            "partial_replies preferences "
            "prices publishing seen"
        ),
    ),
    ("what is done in the background", "jobs"),
    ("who can be asked for a model, and where others find us", "llm.providers reach"),
    ("what a person may be asked, and say", "approval_answers approval_json approval_limits"),
    ("what was allowed in advance, and what files hold that run", "grants scripts"),
    (
        "rules",
        (
            "approvals budget_notices "
            "capabilities.calls "
            "capabilities.memory.deeds capabilities.status.report "
            "cubicles memories memories.catalog memories.embedder memories.facts "
            "memories.http_embedder memories.local_embedder memories.meaning memories.memory memories.nearest "
            "memories.recollection memories.searching memories.vectorizing agenda.agenda "
            "agenda.announcing agenda.clock agenda.feeds agenda.outlook agenda.runs agenda.saying "
            "agenda.shapes "
            "agenda.snapshot agenda.wishes delivery.deliveries door_requests questions"
        ),
    ),
    ("what the calendar's actions do", "capabilities.calendar.deeds"),
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
    ("the question about a command", "step_approvals"),
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
    ("pictures of them, and of pages", "pdf_pages thumbnails.parcel thumbnails.photographer thumbnails.thumbnails"),
    ("noticing what was made", "delivery.out_watch"),
    ("the inside's table of calls", "door_routes"),
    ("the inside's requests", "door_calls door_streams"),
    (
        "what chats are made of, and whose bots there are",
        (
            "channels.chat.adapter channels.chat.button_rows channels.chat.channel_store "
            "channels.chat.contact_rows channels.chat.cursor_rows channels.chat.delivery_link_rows "
            "channels.chat.inbox_rows channels.chat.message channels.chat.outbox_rows channels.chat.rich_text "
            "channels.chat.turn_reply_rows channels.telegram.accounts.bots channels.telegram.accounts.pairing "
            "channels.telegram.accounts.pairing_codes channels.telegram.accounts.rows "
            "channels.telegram.accounts.token_check"
        ),
    ),
    ("what the inside and the surfaces may call", "door services"),
    (
        "chat apps",
        (
            "channels.chat.access_context channels.chat.access_requests channels.chat.address_book "
            "channels.chat.agent_text channels.chat.app_messages channels.chat.approval_kinds "
            "channels.chat.approval_prompts channels.chat.approval_text channels.chat.buttons "
            "channels.chat.callbacks channels.chat.command_context channels.chat.commands "
            "channels.chat.commands_calendar channels.chat.commands_files channels.chat.commands_operator "
            "channels.chat.commands_own channels.chat.events channels.chat.file_sender channels.chat.groups "
            "channels.chat.inbound channels.chat.inbound_files channels.chat.inbound_messages channels.chat.inbox "
            "channels.chat.message_json channels.chat.notifications channels.chat.outbox "
            "channels.chat.outbox_sender channels.chat.progress channels.chat.progress_rows_view "
            "channels.chat.progress_text channels.chat.progress_view channels.chat.question_prompts "
            "channels.chat.question_text channels.chat.replies channels.chat.replies_to_turns "
            "channels.chat.runner channels.chat.send_errors channels.chat.split channels.chat.system_text "
            "channels.chat.temp_files channels.chat.text_pages channels.chat.throttle "
            "channels.chat.time_zone_prompt channels.chat.wiring channels.telegram.api_errors "
            "channels.telegram.bot channels.telegram.bot_check channels.telegram.channel channels.telegram.client "
            "channels.telegram.client_types channels.telegram.format.markdown channels.telegram.lazy_import "
            "channels.telegram.ptb_bot channels.telegram.ptb_objects channels.telegram.ptb_request "
            "channels.telegram.update_filter channels.telegram.update_inbox channels.telegram.update_parser "
            "channels.telegram.updates"
        ),
    ),
    ("builders of the composition", "app_builders"),
    ("builders of one noun", "app_agenda app_assets"),
    ("what may be set in motion, put together", "app_capabilities"),
    ("composition", "app"),
    (
        "examinations",
        (
            "examine.embeddings examine.engine examine.previews "
            "examine.services examine.surroundings channels.telegram.doctor"
        ),
    ),
    (
        "commands",
        (
            "commands commands.agent commands.audit commands.backup commands.calendar commands.chat commands.client "
            "commands.colours commands.completion commands.confirm commands.context commands.cubicle "
            "commands.delivered commands.doctor commands.explaining commands.files "
            "commands.following commands.grants commands.history commands.hosts commands.inbox commands.news "
            "commands.overview "
            "commands.people commands.sending commands.talking commands.tunnel "
            "commands.look commands.memory commands.money commands.providers commands.questions "
            "commands.service commands.telegram commands.bench commands.sbom commands.tests commands.up "
            "commands.update commands.ways_in"
        ),
    ),
    ("the program", "__main__"),
)  # fmt: skip
"""The orchestrator from the bottom up. Modules of one floor don't know each other, except within a family."""

DASHBOARD: tuple[tuple[str, str], ...] = (
    (
        "leaves",
        (
            "ages browsers bundles csrf faults headers house markdown marks openapi_schemas origin paths qr times "
            "transfers"
        ),
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
    ("what the operator looks after, and what was allowed, described", "openapi_grants openapi_upkeep"),
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
            "api.events api.files api.grants api.health api.me api.memories api.messages api.notices api.openapi "
            "api.packages "
            "api.prices api.providers api.questions api.settings api.telegram api.tokens api.users pages pages.apps "
            "pages.asking pages.cards "
            "pages.approvals "
            "pages.audit pages.bot pages.calendar pages.chat pages.cubicle pages.curves pages.files pages.filters "
            "pages.glimpse pages.frame pages.home "
            "pages.install pages.log pages.login pages.memory pages.money pages.people pages.planner pages.settings "
            "pages.search pages.spending pages.views feed metrics pages.you pages.welcome statics webhook"
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
    "orchestrator.engine",
    "orchestrator.packages",
    "orchestrator.previews",
    "orchestrator.policy",
    "orchestrator.schedule",
    "orchestrator.shell",
    "orchestrator.store.",
    "orchestrator.llm.upstreams",
    "orchestrator.commands",
    "orchestrator.examine",
    "orchestrator.fetch",
    "orchestrator.terminals",
    "orchestrator.thumbnails",
    "orchestrator.channels",
    "dashboard.api",
    "dashboard.pages",
)
"""Modules that share an idea and a beginning of their names may know each other, without a cycle."""
RELATED = frozenset(
    {
        ("orchestrator.policy", "orchestrator.shell"),
        ("orchestrator.channels", "orchestrator.text"),
        ("orchestrator.capabilities", "orchestrator.memories"),
        ("orchestrator.memories", "orchestrator.capabilities"),
    }
)

SHARED_WITH_CRAB = frozenset({"crab.answer", "crab.hermit_commands", "crab.lenient"})
"""One copy of the rules for reading answers, and of what a command is, serves both sides."""

_WORKS_WITH = ("services", "nouns", "errors", "http_statuses", "text", "strict_json", "markdown_cost")
_SHOWS = (
    "agent_log",
    "agenda.outlook",
    "agenda.shapes",
    "agenda.telling",
    "agents",
    "approval_answers",
    "approval_json",
    "assets.words",
    "budget",
    "capabilities.approval_kind",
    "capabilities.table",
    "cubicles",
    "delivery.deliveries",
    "disk.metering",
    "events",
    "grants",
    "store.grants",
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
    "reach",
    "store.approval_history",
    "backup.keeping",
    "checkups",
    "assets.records",
    "packages.records",
    "store.agenda",
    "store.audit",
    "store.ledger",
    "store.notices",
    "store.people",
    "store.summaries",
    "channels.telegram.accounts.rows",
    "engine.tty",
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
LOOPS = ("orchestrator.channels", "orchestrator.previews", "orchestrator.live.harbour")
"""Who has an event loop of its own, in a thread of its own."""
HOST_SEES = frozenset({"orchestrator.errors"})
