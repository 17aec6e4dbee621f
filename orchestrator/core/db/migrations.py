"""The database's shape, as an append-only list: a migration that has landed is never edited, a change is a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.core.db.migration_list import MigrationList

if TYPE_CHECKING:
    from sqlite_utils import Database

migrations = MigrationList("hermitshell")


@migrations()
def m001_people(db: Database) -> None:
    """People and the ways they prove who they are."""
    _run_script(
        db,
        """
        CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
        CREATE TABLE users (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            role TEXT NOT NULL CHECK (role IN ('operator', 'member')),
            telegram_id INTEGER UNIQUE,
            time_zone TEXT NOT NULL,
            created_at REAL NOT NULL
        ) STRICT;
        CREATE TABLE passwords (
            user INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
            hash TEXT NOT NULL,
            changed_at REAL NOT NULL
        ) STRICT;
        CREATE TABLE sessions (
            sha256 TEXT PRIMARY KEY,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            created_at REAL NOT NULL,
            expires_at REAL NOT NULL
        ) STRICT;
        CREATE TABLE api_tokens (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            sha256 TEXT NOT NULL UNIQUE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            created_at REAL NOT NULL
        ) STRICT;
        CREATE TABLE login_links (
            sha256 TEXT PRIMARY KEY,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            expires_at REAL NOT NULL,
            used_at REAL
        ) STRICT;
        """,
    )


@migrations()
def m002_agents(db: Database) -> None:
    """Agents, and the cubicle that each has for each person."""
    _run_script(
        db,
        """
        CREATE TABLE agents (
            name TEXT PRIMARY KEY,
            role TEXT NOT NULL,
            personality TEXT NOT NULL,
            provider TEXT NOT NULL,
            model TEXT NOT NULL,
            fallback_model TEXT NOT NULL,
            image TEXT NOT NULL CHECK (image IN ('base', 'studio')),
            approval TEXT NOT NULL CHECK (approval IN ('off', 'dangerous', 'all')),
            approval_timeout_s INTEGER NOT NULL,
            step_limit INTEGER NOT NULL,
            command_timeout_s INTEGER NOT NULL,
            daily_budget_micro INTEGER NOT NULL,
            limits TEXT NOT NULL,
            toolsets TEXT NOT NULL,
            telegram_token TEXT,
            created_at REAL NOT NULL
        ) STRICT;
        CREATE TABLE cubicles (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            created_at REAL NOT NULL,
            UNIQUE (agent, user)
        ) STRICT;
        """,
    )


_APPROVALS = """
    CREATE TABLE approvals (
        id TEXT PRIMARY KEY,
        agent TEXT NOT NULL,
        user INTEGER NOT NULL,
        turn INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
        step INTEGER NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        reason TEXT NOT NULL,
        status TEXT NOT NULL,
        asked_at REAL NOT NULL,
        expires_at REAL NOT NULL,
        decided_at REAL,
        decided_by TEXT,
        used_at REAL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX approvals_pending ON approvals (asked_at) WHERE status = 'pending';
    CREATE INDEX approvals_by_time ON approvals (asked_at);
    CREATE INDEX approvals_of_turn ON approvals (turn);
"""


@migrations()
def m003_turns(db: Database) -> None:
    """Turns, their steps and the questions they asked."""
    _run_script(
        db,
        """
        CREATE TABLE turns (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL,
            user INTEGER NOT NULL,
            source TEXT NOT NULL,
            origin TEXT UNIQUE,
            prompt TEXT NOT NULL,
            status TEXT NOT NULL,
            boot TEXT,
            claims INTEGER NOT NULL DEFAULT 0,
            reply TEXT,
            error TEXT,
            action TEXT,
            forgotten INTEGER NOT NULL DEFAULT 0,
            stop_asked_at REAL,
            created_at REAL NOT NULL,
            started_at REAL,
            ended_at REAL
        ) STRICT;
        CREATE INDEX turns_of_cubicle ON turns (agent, user, id);
        CREATE INDEX turns_open ON turns (status) WHERE status IN ('queued', 'running', 'waiting_approval');
        CREATE TABLE steps (
            turn INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
            n INTEGER NOT NULL,
            thought TEXT NOT NULL,
            command TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            ruling TEXT NOT NULL,
            reason TEXT NOT NULL,
            approval TEXT,
            status TEXT NOT NULL,
            exit_code INTEGER,
            output TEXT NOT NULL DEFAULT '',
            started_at REAL NOT NULL,
            ended_at REAL,
            PRIMARY KEY (turn, n)
        ) STRICT, WITHOUT ROWID;
        """,
    )
    _run_script(db, _APPROVALS)


@migrations()
def m004_ledger(db: Database) -> None:
    """Spending: one row a model call, and the running sum of each agent's day."""
    _run_script(
        db,
        """
        CREATE TABLE spending (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            day TEXT NOT NULL,
            agent TEXT NOT NULL,
            user INTEGER NOT NULL,
            turn INTEGER,
            provider TEXT NOT NULL,
            model TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'kept', 'released')),
            reserved_micro INTEGER NOT NULL CHECK (reserved_micro >= 0),
            cost_micro INTEGER NOT NULL CHECK (cost_micro >= 0),
            prompt_tokens INTEGER,
            completion_tokens INTEGER,
            started_at REAL NOT NULL,
            ended_at REAL
        ) STRICT;
        CREATE INDEX spending_of_turn ON spending (turn);
        CREATE INDEX spending_open ON spending (id) WHERE state = 'reserved';
        CREATE TABLE spending_days (
            agent TEXT NOT NULL,
            day TEXT NOT NULL,
            reserved_micro INTEGER NOT NULL DEFAULT 0 CHECK (reserved_micro >= 0),
            cost_micro INTEGER NOT NULL DEFAULT 0 CHECK (cost_micro >= 0),
            PRIMARY KEY (agent, day)
        ) STRICT, WITHOUT ROWID;
        """,
    )


@migrations()
def m005_audit(db: Database) -> None:
    """The audit log: rows that can be added and searched, never changed."""
    _run_script(
        db,
        """
        CREATE TABLE audit (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at REAL NOT NULL,
            kind TEXT NOT NULL,
            agent TEXT,
            user INTEGER,
            turn INTEGER,
            text TEXT NOT NULL,
            detail TEXT NOT NULL
        ) STRICT;
        CREATE INDEX audit_of_agent ON audit (agent, id);
        CREATE INDEX audit_of_kind ON audit (kind, id);
        CREATE VIRTUAL TABLE audit_fts USING fts5 (text, detail, content='audit', content_rowid='id');
        CREATE TRIGGER audit_indexed AFTER INSERT ON audit BEGIN
            INSERT INTO audit_fts (rowid, text, detail) VALUES (new.id, new.text, new.detail);
        END;
        CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit BEGIN
            SELECT RAISE (ABORT, 'audit rows are never changed');
        END;
        CREATE TRIGGER audit_kept BEFORE DELETE ON audit BEGIN
            SELECT RAISE (ABORT, 'audit rows are never deleted');
        END;
        """,
    )


@migrations()
def m006_telegram(db: Database) -> None:
    """Bots, their chats, and strangers who wrote to them."""
    _run_script(
        db,
        """
        CREATE TABLE telegram_bots (
            agent TEXT PRIMARY KEY REFERENCES agents (name) ON DELETE CASCADE,
            bot INTEGER NOT NULL UNIQUE,
            username TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('pairing', 'paired', 'revoked')),
            code TEXT,
            code_way TEXT CHECK (code_way IN ('sent', 'shown')),
            code_expires_at REAL,
            code_tries INTEGER NOT NULL DEFAULT 0,
            next_update INTEGER,
            problem TEXT,
            added_at REAL NOT NULL,
            paired_at REAL
        ) STRICT;
        CREATE TABLE telegram_chats (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            chat INTEGER NOT NULL,
            title TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('open', 'closed', 'asked', 'enabled', 'ignored')),
            last_message INTEGER,
            changed_at REAL NOT NULL,
            PRIMARY KEY (agent, chat)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE telegram_strangers (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            person INTEGER NOT NULL,
            name TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('asked', 'ignored', 'blocked', 'allowed')),
            told_at REAL NOT NULL,
            PRIMARY KEY (agent, person)
        ) STRICT, WITHOUT ROWID;
        """,
    )


@migrations()
def m007_telegram_mail(db: Database) -> None:
    """What came in, what goes out, the buttons under it, and where a turn's progress is shown."""
    _run_script(
        db,
        """
        CREATE TABLE telegram_inbox (
            bot INTEGER NOT NULL,
            update_id INTEGER NOT NULL,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            chat INTEGER NOT NULL,
            thread INTEGER,
            person INTEGER NOT NULL,
            message INTEGER,
            album TEXT NOT NULL,
            origin TEXT,
            body TEXT,
            received_at REAL NOT NULL,
            handled_at REAL,
            PRIMARY KEY (bot, update_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX telegram_inbox_waiting ON telegram_inbox (agent, chat, update_id) WHERE handled_at IS NULL;
        CREATE INDEX telegram_inbox_of_origin ON telegram_inbox (origin) WHERE origin IS NOT NULL;
        CREATE INDEX telegram_inbox_of_message ON telegram_inbox (agent, chat, message);
        CREATE TABLE telegram_outbox (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            chat INTEGER NOT NULL,
            ref TEXT NOT NULL UNIQUE,
            body TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'sending', 'sent', 'failed')),
            message INTEGER,
            tries INTEGER NOT NULL DEFAULT 0,
            not_before REAL NOT NULL DEFAULT 0,
            why TEXT,
            amendment TEXT,
            created_at REAL NOT NULL,
            sent_at REAL
        ) STRICT;
        CREATE INDEX telegram_outbox_open ON telegram_outbox (agent, chat, id)
            WHERE state IN ('waiting', 'sending') OR amendment IS NOT NULL;
        CREATE INDEX telegram_outbox_of_message ON telegram_outbox (agent, chat, message);
        CREATE TABLE telegram_buttons (
            id TEXT PRIMARY KEY,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            ref TEXT NOT NULL,
            person INTEGER NOT NULL,
            kind TEXT NOT NULL,
            subject TEXT NOT NULL,
            expires_at REAL NOT NULL,
            used_at REAL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX telegram_buttons_of_ref ON telegram_buttons (ref);
        CREATE TABLE telegram_progress (
            turn INTEGER PRIMARY KEY,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            chat INTEGER NOT NULL,
            message INTEGER NOT NULL
        ) STRICT;
        """,
    )


@migrations()
def m007_deliveries(db: Database) -> None:
    """What left ``out/``, and until when everything there was looked at."""
    _run_script(
        db,
        """
        CREATE TABLE deliveries (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            turn INTEGER REFERENCES turns (id) ON DELETE SET NULL,
            asked INTEGER,
            is_again INTEGER NOT NULL,
            path BLOB NOT NULL,
            name TEXT NOT NULL,
            kind TEXT NOT NULL,
            caption TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            size_bytes INTEGER NOT NULL,
            at REAL NOT NULL,
            destination TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('kept', 'handed', 'sent', 'failed', 'withheld', 'refused')),
            why TEXT NOT NULL,
            copy TEXT NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX deliveries_once ON deliveries (agent, user, path, sha256) WHERE is_again = 0;
        CREATE UNIQUE INDEX deliveries_asked_once ON deliveries (asked, path) WHERE asked IS NOT NULL;
        CREATE INDEX deliveries_by_time ON deliveries (agent, user, at);
        CREATE INDEX deliveries_of_turn ON deliveries (turn);
        CREATE INDEX deliveries_open ON deliveries (id) WHERE status IN ('kept', 'handed');
        CREATE INDEX deliveries_copied ON deliveries (at) WHERE copy <> '';
        CREATE TABLE delivery_marks (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            until_ns INTEGER NOT NULL,
            PRIMARY KEY (agent, user)
        ) STRICT, WITHOUT ROWID;
        """,
    )


@migrations()
def m008_telegram_handshakes(db: Database) -> None:
    """When a handshake's code was sent and to whom, who proved themself, and which bots the settings named."""
    _run_script(
        db,
        """
        ALTER TABLE telegram_bots ADD COLUMN code_sent_at REAL;
        ALTER TABLE telegram_bots ADD COLUMN code_person INTEGER;
        ALTER TABLE telegram_bots ADD COLUMN paired_person INTEGER;
        ALTER TABLE telegram_bots ADD COLUMN is_from_settings INTEGER NOT NULL DEFAULT 0;
        """,
    )


@migrations()
def m009_told(db: Database) -> None:
    """When a turn's answer was handed to the chat that it came from; those without are few and found at once."""
    _run_script(
        db,
        """
        ALTER TABLE turns ADD COLUMN told_at REAL;
        CREATE INDEX turns_untold ON turns (id) WHERE source = 'telegram' AND told_at IS NULL;
        """,
    )


@migrations()
def m010_telegram_after(db: Database) -> None:
    """The highest message number that was known when a message's sending began: if it arrived, it has a higher one."""
    _run_script(db, "ALTER TABLE telegram_outbox ADD COLUMN after INTEGER;\n")


@migrations()
def m011_leaving(db: Database) -> None:
    """Who is being deleted, until they are."""
    _run_script(
        db,
        """
        CREATE TABLE leaving (
            agent TEXT UNIQUE REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER UNIQUE REFERENCES users (id) ON DELETE CASCADE,
            since REAL NOT NULL,
            CHECK ((agent IS NULL) <> (user IS NULL))
        ) STRICT;
        """,
    )


@migrations()
def m012_telegram_carried(db: Database) -> None:
    """Which message carries which delivery; several where it is an album."""
    _run_script(
        db,
        """
        CREATE TABLE telegram_carried (
            delivery INTEGER PRIMARY KEY REFERENCES deliveries (id) ON DELETE CASCADE,
            ref TEXT NOT NULL
        ) STRICT;
        CREATE INDEX telegram_carried_by ON telegram_carried (ref);
        """,
    )


@migrations()
def m013_approvals_of_the_host(db: Database) -> None:
    """Questions may be about what the host shall do, which no step of a turn stands for; ``detail`` says more of it."""
    _run_script(
        db,
        """
        CREATE TABLE approvals_new (
            id TEXT PRIMARY KEY,
            agent TEXT NOT NULL,
            user INTEGER NOT NULL,
            turn INTEGER REFERENCES turns (id) ON DELETE CASCADE,
            step INTEGER,
            kind TEXT NOT NULL,
            text TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            reason TEXT NOT NULL,
            detail TEXT NOT NULL DEFAULT '{}',
            status TEXT NOT NULL,
            asked_at REAL NOT NULL,
            expires_at REAL NOT NULL,
            decided_at REAL,
            decided_by TEXT,
            used_at REAL
        ) STRICT, WITHOUT ROWID;
        INSERT INTO approvals_new (id, agent, user, turn, step, kind, text, sha256, reason, status, asked_at,
            expires_at, decided_at, decided_by, used_at)
            SELECT id, agent, user, turn, step, kind, text, sha256, reason, status, asked_at, expires_at, decided_at,
            decided_by, used_at FROM approvals;
        DROP TABLE approvals;
        ALTER TABLE approvals_new RENAME TO approvals;
        CREATE INDEX approvals_pending ON approvals (asked_at) WHERE status = 'pending';
        CREATE INDEX approvals_by_time ON approvals (asked_at);
        CREATE INDEX approvals_of_turn ON approvals (turn);
        """,
    )


@migrations()
def m014_calls(db: Database) -> None:
    """What agents asked the host to do, and what the program has to say to people."""
    _run_script(
        db,
        """
        CREATE TABLE calls (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            id TEXT NOT NULL,
            turn INTEGER,
            name TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('waiting', 'done', 'failed')),
            text TEXT NOT NULL,
            result TEXT NOT NULL,
            waits_for TEXT NOT NULL,
            cost INTEGER NOT NULL,
            at REAL NOT NULL,
            ended_at REAL,
            PRIMARY KEY (agent, user, id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX calls_by_time ON calls (agent, user, at);
        CREATE INDEX calls_waiting ON calls (waits_for) WHERE status = 'waiting';
        CREATE INDEX calls_of_turn ON calls (turn) WHERE waits_for != '';
        CREATE TABLE notices (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            turn INTEGER,
            at REAL NOT NULL,
            kind TEXT NOT NULL,
            text TEXT NOT NULL,
            subject TEXT NOT NULL,
            detail TEXT NOT NULL,
            offers TEXT NOT NULL,
            settled_at REAL,
            outcome TEXT NOT NULL DEFAULT ''
        ) STRICT;
        CREATE INDEX notices_of_cubicle ON notices (agent, user, id);
        CREATE INDEX notices_standing ON notices (kind, subject) WHERE settled_at IS NULL;
        """,
    )


@migrations()
def m020_questions(db: Database) -> None:
    """What agents asked a person."""
    _run_script(
        db,
        """
        CREATE TABLE questions (
            id TEXT PRIMARY KEY,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            turn INTEGER,
            text TEXT NOT NULL,
            choices TEXT NOT NULL,
            free_text INTEGER NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('pending', 'answered', 'expired', 'cancelled')),
            answer TEXT,
            asked_at REAL NOT NULL,
            expires_at REAL NOT NULL,
            answered_at REAL,
            answered_by TEXT
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX questions_pending ON questions (turn) WHERE status = 'pending';
        CREATE INDEX questions_by_time ON questions (asked_at);
        """,
    )


@migrations()
def m023_said_of_turns(db: Database) -> None:
    """What was said and asked about one turn is found without looking at all of it."""
    _run_script(
        db,
        """
        CREATE INDEX notices_of_turn ON notices (turn) WHERE turn IS NOT NULL;
        CREATE INDEX questions_of_turn ON questions (turn) WHERE turn IS NOT NULL;
        """,
    )


@migrations()
def m017_assets(db: Database) -> None:
    """What agents asked to be fetched from the internet, and from where without a question."""
    _run_script(
        db,
        """
        CREATE TABLE assets (
            id TEXT PRIMARY KEY,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            turn INTEGER,
            description TEXT NOT NULL,
            url TEXT NOT NULL,
            host TEXT NOT NULL,
            file_type TEXT NOT NULL,
            status TEXT NOT NULL
                CHECK (status IN ('asked', 'denied', 'expired', 'cancelled', 'fetching', 'done', 'failed')),
            error TEXT NOT NULL DEFAULT '',
            onward TEXT NOT NULL DEFAULT '',
            wanted TEXT NOT NULL,
            name TEXT NOT NULL DEFAULT '',
            size_bytes INTEGER NOT NULL DEFAULT 0,
            sha256 TEXT NOT NULL DEFAULT '',
            content_type TEXT NOT NULL DEFAULT '',
            asked_at REAL NOT NULL,
            ended_at REAL,
            told_turn INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX assets_by_time ON assets (asked_at);
        CREATE INDEX assets_to_fetch ON assets (asked_at) WHERE status = 'fetching';
        CREATE INDEX assets_to_tell ON assets (agent, user, told_turn);
        CREATE TABLE allowed_hosts (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            host TEXT NOT NULL,
            by TEXT NOT NULL,
            at REAL NOT NULL,
            PRIMARY KEY (agent, host)
        ) STRICT, WITHOUT ROWID;
        """,
    )


@migrations()
def m016_memories(db: Database) -> None:
    """What agents remember, each fact of one agent and one person; its words and its vector go with it."""
    _run_script(
        db,
        """
        CREATE TABLE facts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            text TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            noted_by TEXT NOT NULL,
            turn INTEGER,
            at REAL NOT NULL,
            UNIQUE (agent, user, sha256)
        ) STRICT;
        CREATE INDEX facts_of_cubicle ON facts (agent, user, id);
        CREATE INDEX facts_of_user ON facts (user);
        CREATE TABLE fact_vectors (
            fact INTEGER PRIMARY KEY REFERENCES facts (id) ON DELETE CASCADE,
            model TEXT NOT NULL,
            vector BLOB NOT NULL
        ) STRICT;
        CREATE VIRTUAL TABLE fact_words USING fts5(
            text, scope, tokenize = "unicode61 remove_diacritics 2", prefix = '4 5 6');
        CREATE TRIGGER facts_gone AFTER DELETE ON facts BEGIN
            DELETE FROM fact_words WHERE rowid = old.id;
        END;
        """,
    )


@migrations()
def m021_zones(db: Database) -> None:
    """Whether a person's time zone was ever said, and when they were asked for it: once."""
    _run_script(
        db,
        """
        ALTER TABLE users ADD COLUMN time_zone_known INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE users ADD COLUMN time_zone_asked_at REAL;
        UPDATE users SET time_zone_known = 1 WHERE time_zone <> 'UTC';
        """,
    )


@migrations()
def m022_telegram_notices(db: Database) -> None:
    """Up to where notices were told on Telegram; and what the calendar began is owed an answer there too."""
    _run_script(
        db,
        """
        CREATE TABLE telegram_marks (
            name TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX turns_untold_of_calendar ON turns (id) WHERE source = 'calendar' AND told_at IS NULL;
        """,
    )


@migrations()
def m018_installations(db: Database) -> None:
    """Packages that agents asked for, what they came to, and how it went."""
    _run_script(
        db,
        """
        CREATE TABLE installations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            turn INTEGER,
            system TEXT NOT NULL CHECK (system IN ('pip', 'npm')),
            asked TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('resolving', 'asked', 'downloading', 'done', 'denied', 'expired',
                'cancelled', 'failed')),
            error TEXT NOT NULL DEFAULT '',
            packages TEXT NOT NULL DEFAULT '[]',
            approval TEXT,
            tries INTEGER NOT NULL DEFAULT 0,
            is_late INTEGER NOT NULL DEFAULT 0,
            told INTEGER,
            asked_at REAL NOT NULL,
            ended_at REAL
        ) STRICT;
        CREATE INDEX installations_of_cubicle ON installations (agent, user, id);
        CREATE INDEX installations_of_approval ON installations (approval) WHERE status = 'asked';
        CREATE INDEX installations_to_do ON installations (status, id) WHERE status IN ('resolving', 'downloading');
        """,
    )


@migrations()
def m015_agenda(db: Database) -> None:
    """The calendar: entries, what came of them when they were due, which times are dealt with, and the feeds."""
    _run_script(
        db,
        """
        CREATE TABLE agenda_entries (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            title TEXT NOT NULL,
            prompt TEXT NOT NULL,
            start TEXT NOT NULL,
            "end" TEXT NOT NULL,
            time_zone TEXT NOT NULL,
            repeat TEXT NOT NULL,
            color TEXT NOT NULL,
            missed TEXT NOT NULL CHECK (missed IN ('run', 'skip')),
            status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'ended')),
            by TEXT NOT NULL,
            turn INTEGER,
            created_at REAL NOT NULL, changed_at REAL NOT NULL, settled_at REAL NOT NULL, next_at REAL,
            failures INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX agenda_of_cubicle ON agenda_entries (agent, user);
        CREATE INDEX agenda_of_user ON agenda_entries (user);
        CREATE INDEX agenda_next ON agenda_entries (next_at) WHERE status = 'active';
        CREATE INDEX agenda_settled ON agenda_entries (settled_at);
        CREATE TABLE agenda_covered (
            entry INTEGER NOT NULL REFERENCES agenda_entries (id) ON DELETE CASCADE,
            begin REAL NOT NULL,
            until REAL NOT NULL
        ) STRICT;
        CREATE INDEX agenda_covered_of ON agenda_covered (entry, until);
        CREATE TABLE agenda_runs (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            entry INTEGER NOT NULL REFERENCES agenda_entries (id) ON DELETE CASCADE,
            due_at REAL NOT NULL,
            collapsed INTEGER NOT NULL,
            is_late INTEGER NOT NULL,
            by_hand INTEGER NOT NULL,
            origin TEXT NOT NULL UNIQUE,
            turn INTEGER,
            outcome TEXT NOT NULL,
            claimed_at REAL NOT NULL,
            ended_at REAL,
            UNIQUE (entry, due_at)
        ) STRICT;
        CREATE INDEX agenda_runs_of ON agenda_runs (entry, id);
        CREATE INDEX agenda_runs_open ON agenda_runs (entry) WHERE ended_at IS NULL;
        CREATE TABLE agenda_feeds (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            secret TEXT NOT NULL,
            sha256 TEXT NOT NULL UNIQUE,
            PRIMARY KEY (agent, user)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX agenda_feeds_of_user ON agenda_feeds (user);
        """,
    )


@migrations()
def m019_budgets(db: Database) -> None:
    """Tokens are counted where a price is unknown, and people hear once a day how a budget stands."""
    _run_script(
        db,
        """
        ALTER TABLE agents ADD COLUMN daily_budget_tokens INTEGER NOT NULL DEFAULT 2000000;
        ALTER TABLE spending ADD COLUMN reserved_tokens INTEGER NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0);
        ALTER TABLE spending ADD COLUMN cost_tokens INTEGER NOT NULL DEFAULT 0 CHECK (cost_tokens >= 0);
        CREATE INDEX spending_unpriced ON spending (provider, model) WHERE reserved_tokens > 0;
        ALTER TABLE spending_days ADD COLUMN reserved_tokens INTEGER NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0);
        ALTER TABLE spending_days ADD COLUMN cost_tokens INTEGER NOT NULL DEFAULT 0 CHECK (cost_tokens >= 0);
        ALTER TABLE spending_days ADD COLUMN refused_micro INTEGER;
        ALTER TABLE spending_days ADD COLUMN refused_tokens INTEGER;
        CREATE TABLE budget_told (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            day TEXT NOT NULL,
            level INTEGER NOT NULL,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            PRIMARY KEY (agent, day, level, user)
        ) STRICT, WITHOUT ROWID;
        """,
    )


@migrations()
def m024_app_storage(db: Database) -> None:
    """What web apps remember."""
    _run_script(
        db,
        """
        CREATE TABLE app_storage (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            app TEXT NOT NULL,
            stored TEXT NOT NULL,
            changed_at REAL NOT NULL,
            PRIMARY KEY (agent, user, app)
        ) STRICT, WITHOUT ROWID;
        """,
    )


@migrations()
def m025_fact_terms(db: Database) -> None:
    """How many memories hold a word, so that a search among very many leaves out the commonest."""
    _run_script(db, "CREATE VIRTUAL TABLE fact_terms USING fts5vocab(fact_words, row);")


@migrations()
def m026_app_shares(db: Database) -> None:
    """With whom a person shares a web app of theirs."""
    _run_script(
        db,
        """
        CREATE TABLE app_shares (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            app TEXT NOT NULL,
            guest INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            at REAL NOT NULL,
            PRIMARY KEY (agent, user, app, guest)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX app_shares_guest ON app_shares (guest);
        """,
    )


@migrations()
def m027_turn_apps(db: Database) -> None:
    """Which web apps a turn made or changed, as a JSON list of names."""
    _run_script(db, "ALTER TABLE turns ADD COLUMN apps TEXT NOT NULL DEFAULT '[]';")


@migrations()
def m028_motions(db: Database) -> None:
    """Videos that agents ask for. Agents that have all toolsets that there were have this one too."""
    _run_script(
        db,
        """
        CREATE TABLE motions (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            turn INTEGER,
            text TEXT NOT NULL,
            seconds REAL NOT NULL,
            name TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('queued', 'rendering', 'placing', 'done', 'failed')),
            error TEXT NOT NULL DEFAULT '',
            placed TEXT NOT NULL DEFAULT '',
            size_bytes INTEGER NOT NULL DEFAULT 0,
            left_out INTEGER NOT NULL DEFAULT 0,
            tries INTEGER NOT NULL DEFAULT 0,
            is_late INTEGER NOT NULL DEFAULT 0,
            told INTEGER,
            asked_at REAL NOT NULL,
            ended_at REAL
        ) STRICT;
        CREATE INDEX motions_open ON motions (id) WHERE status IN ('queued', 'rendering', 'placing');
        CREATE INDEX motions_cubicle ON motions (agent, user, asked_at);
        UPDATE agents SET toolsets = json_insert(toolsets, '$[#]', 'video')
            WHERE (SELECT count(*) FROM json_each(toolsets) WHERE value IN
                ('calendar', 'memory', 'assets', 'packages', 'questions')) = 5;
        """,
    )


@migrations()
def m029_spending_of_day(db: Database) -> None:
    """What was spent since a day is found without looking through all that was ever spent."""
    _run_script(db, "CREATE INDEX spending_of_day ON spending (day);")


@migrations()
def m030_thumbnails(db: Database) -> None:
    """Which web apps have a picture, and which are to be taken."""
    _run_script(
        db,
        """
        CREATE TABLE thumbnails (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            app TEXT NOT NULL,
            wanted_at REAL,
            tries INTEGER NOT NULL DEFAULT 0,
            file TEXT NOT NULL DEFAULT '',
            UNIQUE (agent, user, app)
        ) STRICT;
        CREATE INDEX thumbnails_wanted ON thumbnails (wanted_at) WHERE wanted_at IS NOT NULL;
        """,
    )


@migrations()
def m031_turns_with_apps(db: Database) -> None:
    """Turns that made web apps are few, and found without looking through all others."""
    _run_script(db, "CREATE INDEX turns_with_apps ON turns (told_at) WHERE apps <> '[]';")


@migrations()
def m032_preferences_and_sessions(db: Database) -> None:
    """What the operator chose in the dashboard, and what people see of their logins. An install that is in use already
    was set up."""
    _run_script(
        db,
        """
        CREATE TABLE preferences (name TEXT PRIMARY KEY, value TEXT NOT NULL, changed_at REAL NOT NULL)
            STRICT, WITHOUT ROWID;
        INSERT INTO preferences SELECT 'set_up', 'before', unixepoch()
            WHERE EXISTS (SELECT 1 FROM turns) OR EXISTS (SELECT 1 FROM passwords);
        ALTER TABLE sessions ADD COLUMN seen_at REAL NOT NULL DEFAULT 0;
        ALTER TABLE sessions ADD COLUMN browser TEXT NOT NULL DEFAULT '';
        ALTER TABLE sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';
        UPDATE sessions SET seen_at = created_at;
        ALTER TABLE api_tokens ADD COLUMN used_at REAL;
        """,
    )


@migrations()
def m033_approval_history(db: Database) -> None:
    """Past questions lie in order by kind and outcome: all of them, an agent's, a person's, and a cubicle's."""
    _run_script(
        db,
        """
        CREATE INDEX approvals_by_kind ON approvals (kind, status, asked_at, id);
        CREATE INDEX approvals_of_agent ON approvals (agent, kind, status, asked_at, id);
        CREATE INDEX approvals_of_user ON approvals (user, kind, status, asked_at, id);
        CREATE INDEX approvals_of_cubicle ON approvals (user, agent, kind, status, asked_at, id);
        """,
    )


@migrations()
def m034_samples(db: Database) -> None:
    """What running cubicles used, minute by minute for a day."""
    _run_script(
        db,
        """
        CREATE TABLE samples (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            at INTEGER NOT NULL,
            cpu_percent REAL NOT NULL,
            memory_bytes INTEGER NOT NULL,
            pids INTEGER NOT NULL,
            disk_bytes INTEGER,
            PRIMARY KEY (agent, user, at)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX samples_at ON samples (at);
        """,
    )


@migrations()
def m035_seen(db: Database) -> None:
    """What people have seen of their conversations: of those that are there already, all."""
    _run_script(
        db,
        """
        CREATE TABLE seen (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            turn INTEGER NOT NULL,
            at REAL NOT NULL,
            PRIMARY KEY (agent, user)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO seen SELECT agent, user, MAX(id), unixepoch() FROM turns
            WHERE agent IN (SELECT name FROM agents) AND user IN (SELECT id FROM users) GROUP BY agent, user;
        CREATE INDEX turns_of_user ON turns (user, id);
        """,
    )


@migrations()
def m036_summaries(db: Database) -> None:
    """What stands for the older part of a conversation; in the making while ``made_at`` is null."""
    _run_script(
        db,
        """
        CREATE TABLE summaries (
            id INTEGER PRIMARY KEY,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            upto INTEGER NOT NULL,
            text TEXT NOT NULL DEFAULT '',
            wanted_at REAL NOT NULL,
            made_at REAL,
            tries INTEGER NOT NULL DEFAULT 0,
            not_before REAL NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX summaries_of_cubicle ON summaries (agent, user, upto);
        """,
    )


@migrations()
def m037_retention(db: Database) -> None:
    """Up to where old rows were let go. Rows of the audit log can be deleted up to its mark alone, which nothing but
    the operator's setting moves, and their words leave the index with them."""
    _run_script(
        db,
        """
        CREATE TABLE retention (
            what TEXT PRIMARY KEY,
            upto INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        DROP TRIGGER audit_kept;
        CREATE TRIGGER audit_kept BEFORE DELETE ON audit
            WHEN old.id > COALESCE((SELECT upto FROM retention WHERE what = 'audit'), 0) BEGIN
            SELECT RAISE (ABORT, 'audit rows are never deleted');
        END;
        CREATE TRIGGER audit_let_go AFTER DELETE ON audit BEGIN
            INSERT INTO audit_fts (audit_fts, rowid, text, detail) VALUES ('delete', old.id, old.text, old.detail);
        END;
        """,
    )


@migrations()
def m038_turn_words(db: Database) -> None:
    """Conversations are searched by their words: turns that have ended and were not cleared. And what is new to a
    person is found by two indexes that hold nothing but what is told in the dashboard (as ``turns.read_mark_rows``
    asks).
    """
    _run_script(
        db,
        """
        CREATE VIEW turn_texts (id, whose, prompt, reply) AS
            SELECT id, 'a' || lower(hex(agent)) || 'u' || user, prompt, COALESCE(reply, '') FROM turns
            WHERE ended_at IS NOT NULL AND forgotten = 0;
        CREATE VIRTUAL TABLE turn_words USING fts5 (whose, prompt, reply, content='turn_texts', content_rowid='id',
            tokenize="unicode61 remove_diacritics 2", prefix='3 4 5 6');
        INSERT INTO turn_words (turn_words) VALUES ('rebuild');
        CREATE TRIGGER turn_added AFTER INSERT ON turns
        WHEN new.ended_at IS NOT NULL AND new.forgotten = 0 BEGIN
            INSERT INTO turn_words (rowid, whose, prompt, reply) VALUES (new.id,
                'a' || lower(hex(new.agent)) || 'u' || new.user, new.prompt, COALESCE(new.reply, ''));
        END;
        CREATE TRIGGER turn_ended AFTER UPDATE OF ended_at ON turns
        WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL AND new.forgotten = 0 BEGIN
            INSERT INTO turn_words (rowid, whose, prompt, reply) VALUES (new.id,
                'a' || lower(hex(new.agent)) || 'u' || new.user, new.prompt, COALESCE(new.reply, ''));
        END;
        CREATE TRIGGER turn_forgotten AFTER UPDATE OF forgotten ON turns
        WHEN old.ended_at IS NOT NULL AND old.forgotten = 0 AND new.forgotten <> 0 BEGIN
            INSERT INTO turn_words (turn_words, rowid, whose, prompt, reply) VALUES ('delete', old.id,
                'a' || lower(hex(old.agent)) || 'u' || old.user, old.prompt, COALESCE(old.reply, ''));
        END;
        CREATE TRIGGER turn_deleted AFTER DELETE ON turns
        WHEN old.ended_at IS NOT NULL AND old.forgotten = 0 BEGIN
            INSERT INTO turn_words (turn_words, rowid, whose, prompt, reply) VALUES ('delete', old.id,
                'a' || lower(hex(old.agent)) || 'u' || old.user, old.prompt, COALESCE(old.reply, ''));
        END;
        """,
    )
    for name, order in (("turns_told", "id"), ("turns_told_by_end", "ended_at")):
        db.execute(
            f"CREATE INDEX {name} ON turns (user, agent, {order}) WHERE forgotten = 0 "
            "AND status IN ('done', 'failed', 'stopped') AND source NOT IN ('telegram', 'terminal') "
            "AND NOT (source = 'calendar' AND ((status = 'done' "
            "AND TRIM(COALESCE(reply, ''), char(9, 10, 13, 32)) = '') "
            "OR UPPER(SUBSTR(LTRIM(prompt, char(9, 10, 13, 32)), 1, 9)) = 'INTERNAL:'))"
        )


@migrations()
def m039_turns_not_cleared(db: Database) -> None:
    """A conversation that was cleared is not read again: each turn asks for the newest that were not."""
    _run_script(db, "CREATE INDEX turns_not_cleared ON turns (agent, user, id) WHERE forgotten = 0;")


@migrations()
def m040_audit_words_later(db: Database) -> None:
    """The words of audit rows get into the index many rows at a time, soon after them (``core.db.audit_rows``): row
    by row they took more than everything else that a model call writes. A row that goes before that has no words to
    let go.
    """
    _run_script(
        db,
        """
        DROP TRIGGER audit_indexed;
        DROP TRIGGER audit_let_go;
        CREATE TRIGGER audit_let_go AFTER DELETE ON audit
            WHEN EXISTS (SELECT 1 FROM audit_fts_docsize WHERE id = old.id) BEGIN
            INSERT INTO audit_fts (audit_fts, rowid, text, detail) VALUES ('delete', old.id, old.text, old.detail);
        END;
        """,
    )


@migrations()
def m041_left_out(db: Database) -> None:
    """A series of the calendar may leave out days and times."""
    _run_script(db, "ALTER TABLE agenda_entries ADD COLUMN \"without\" TEXT NOT NULL DEFAULT '';")


@migrations()
def m042_grants(db: Database) -> None:
    """What was allowed in advance is one noun: hosts that were allowed for ever become grants."""
    _run_script(
        db,
        """
        CREATE TABLE grants (
            id TEXT PRIMARY KEY,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER REFERENCES users (id) ON DELETE CASCADE,
            kind TEXT NOT NULL CHECK (kind IN ('command', 'host')),
            subject TEXT NOT NULL,
            scope TEXT NOT NULL CHECK (scope IN ('hour', 'conversation', 'always')),
            since REAL NOT NULL,
            until REAL,
            by TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX grants_of_agent ON grants (agent, kind);
        INSERT INTO grants (id, agent, user, kind, subject, scope, since, until, by)
            SELECT lower(hex(randomblob(8))), agent, NULL, 'host', host, 'always', at, NULL, by FROM allowed_hosts;
        DROP TABLE allowed_hosts;
        """,
    )


@migrations()
def m043_written(db: Database) -> None:
    """What a running turn's model has written so far outlives the orchestrator (``turns.partial_reply_rows``)."""
    _run_script(db, "ALTER TABLE turns ADD COLUMN written TEXT;")


@migrations()
def m044_stale_offers(db: Database) -> None:
    """Buttons under an entry of the calendar that has had its last time are gone, as they go at once from now on."""
    _run_script(
        db,
        """
        UPDATE notices SET settled_at = at, outcome = 'It already ran.'
            WHERE kind = 'calendar' AND settled_at IS NULL AND offers LIKE '%"calendar.cancel"%'
            AND subject IN (SELECT CAST(id AS TEXT) FROM agenda_entries WHERE status = 'ended');
        """,
    )


@migrations()
def m045_jobs(db: Database) -> None:
    """Whatever is done in the background is a job; what is known by a number keeps it, and new numbers are higher."""
    _run_script(
        db,
        """
        CREATE TABLE jobs (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL,
            name TEXT,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            turn INTEGER,
            state TEXT NOT NULL,
            payload TEXT NOT NULL,
            progress TEXT NOT NULL DEFAULT '',
            tries INTEGER NOT NULL DEFAULT 0,
            waits_for TEXT NOT NULL DEFAULT '',
            result TEXT NOT NULL DEFAULT '{}',
            told INTEGER,
            not_before REAL NOT NULL DEFAULT 0,
            created REAL NOT NULL,
            started REAL,
            ended REAL,
            UNIQUE (kind, name),
            CHECK (state IN (iif(ended IS NULL, 'waiting', 'done'), iif(ended IS NULL, 'queued', 'failed'),
                iif(ended IS NULL, 'running', 'cancelled')))
        ) STRICT;
        CREATE INDEX jobs_of_cubicle ON jobs (agent, user, kind, created);
        CREATE INDEX jobs_of_kind ON jobs (kind);
        CREATE INDEX jobs_told ON jobs (agent, user, kind, told);
        CREATE INDEX jobs_open ON jobs (kind, agent, user) WHERE ended IS NULL;
        CREATE INDEX jobs_ended ON jobs (kind, ended) WHERE ended IS NOT NULL;
        INSERT INTO sqlite_sequence (name, seq) SELECT 'jobs', COALESCE(MAX(seq), 0) FROM sqlite_sequence
            WHERE name IN ('installations', 'motions', 'thumbnails');
        """,
    )


@migrations()
def m045b_assets_and_packages(db: Database) -> None:
    """Downloads and packages are jobs."""
    _run_script(
        db,
        """
        INSERT INTO jobs (kind, name, agent, user, turn, state, payload, progress, waits_for, result, told, created,
            ended)
            SELECT 'asset', id, agent, user, turn,
                CASE WHEN status IN ('done', 'failed', 'cancelled') THEN status
                    WHEN status IN ('denied', 'expired') THEN 'failed'
                    WHEN status = 'fetching' AND onward = '' THEN 'queued' ELSE 'waiting' END,
                json_object('description', description, 'url', url, 'host', host, 'file_type', file_type,
                    'wanted', wanted),
                status,
                CASE WHEN onward <> '' THEN 'asset:' || onward
                    WHEN EXISTS (SELECT 1 FROM approvals WHERE approvals.id = assets.id) THEN 'approval:' || id
                    ELSE '' END,
                json_object('error', error, 'name', name, 'size_bytes', size_bytes, 'sha256', sha256,
                    'content_type', content_type),
                iif(status = 'cancelled', 0, told_turn), asked_at, ended_at
            FROM assets ORDER BY asked_at, id;

        INSERT INTO jobs (kind, name, agent, user, turn, state, payload, progress, tries, waits_for, result, told,
            created, ended)
            SELECT 'packages', CAST(id AS TEXT), agent, user, turn,
                CASE WHEN status IN ('done', 'failed', 'cancelled') THEN status
                    WHEN status IN ('denied', 'expired') THEN 'failed'
                    WHEN status = 'asked' THEN 'waiting' ELSE 'queued' END,
                json_object('system', system, 'asked', json(asked), 'packages', json(packages)), status, tries,
                COALESCE('approval:' || approval, ''), json_object('error', error),
                iif(ended_at IS NOT NULL AND is_late = 0, 0, told), asked_at, ended_at
            FROM installations ORDER BY id;
        UPDATE jobs SET result = json_remove(result, '$.error') WHERE json_extract(result, '$.error') = '';
        DROP TABLE assets;
        DROP TABLE installations;
        """,
    )


@migrations()
def m045c_other_jobs(db: Database) -> None:
    """Videos, files that programs send, pictures of apps and summaries are jobs."""
    _run_script(
        db,
        """
        INSERT INTO jobs (kind, name, agent, user, turn, state, payload, progress, tries, result, told, created, ended)
            SELECT 'video', CAST(id AS TEXT), agent, user, turn, iif(status IN ('done', 'failed'), status, 'queued'),
                json_object('text', text, 'seconds', seconds, 'name', name), iif(status = 'queued', '', status), tries,
                json_object('error', error, 'placed', placed, 'size_bytes', size_bytes, 'left_out', left_out),
                iif(ended_at IS NOT NULL AND is_late = 0, 0, told), asked_at, ended_at
            FROM motions ORDER BY id;
        UPDATE calls SET waits_for = 'video:' || substr(waits_for, 8) WHERE substr(waits_for, 1, 7) = 'motion:';

        INSERT INTO jobs (kind, name, agent, user, turn, state, payload, created)
            SELECT 'send', substr(waits_for, 6), agent, user, turn, 'queued',
                json_object('file', json_extract(result, '$.file'), 'caption', json_extract(result, '$.caption')), at
            FROM calls WHERE name = 'SEND' AND status = 'waiting' ORDER BY at;

        INSERT INTO jobs (kind, agent, user, state, payload, tries, created)
            SELECT 'thumbnail', agent, user, 'queued', json_object('app', app), tries, wanted_at
            FROM thumbnails WHERE wanted_at IS NOT NULL ORDER BY wanted_at, id;

        INSERT INTO jobs (kind, agent, user, state, payload, tries, not_before, created)
            SELECT 'summary', agent, user, 'queued', '{}', tries, not_before, wanted_at
            FROM summaries WHERE made_at IS NULL ORDER BY wanted_at;
        DELETE FROM summaries WHERE made_at IS NULL;

        UPDATE jobs SET name = CAST(id AS TEXT) WHERE name IS NULL;
        UPDATE jobs SET result = json_remove(result, '$.error') WHERE json_extract(result, '$.error') = '';
        DROP TABLE motions;
        DROP INDEX thumbnails_wanted;
        ALTER TABLE thumbnails DROP COLUMN wanted_at;
        ALTER TABLE thumbnails DROP COLUMN tries;
        ALTER TABLE summaries DROP COLUMN wanted_at;
        ALTER TABLE summaries DROP COLUMN tries;
        ALTER TABLE summaries DROP COLUMN not_before;
        """,
    )


@migrations()
def m046_conversations(db: Database) -> None:
    """A cubicle may have several conversations, and a turn a parent turn; what there is becomes the first conversation
    of its cubicle. No foreign keys: turns outlive their person, and what began them, and no turn is to be given up
    because the row of its conversation was lost (``operations.backup.db_salvage``)."""
    _run_script(
        db,
        """
        CREATE TABLE conversations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL,
            user INTEGER NOT NULL,
            name TEXT NOT NULL DEFAULT '',
            created_at REAL NOT NULL
        ) STRICT;
        CREATE INDEX conversations_of_cubicle ON conversations (agent, user, id);
        INSERT INTO conversations (agent, user, created_at)
            SELECT agent, user, MIN(created_at) FROM turns GROUP BY agent, user ORDER BY MIN(id);
        ALTER TABLE turns ADD COLUMN conversation INTEGER;
        ALTER TABLE turns ADD COLUMN parent INTEGER;
        UPDATE turns SET conversation = (
            SELECT id FROM conversations WHERE agent = turns.agent AND user = turns.user
        );
        """,
    )


@migrations()
def m048_identities(db: Database) -> None:
    """Who is who in chat apps are rows of their own. The column that they come from stays, empty: SQLite drops none
    that is unique, and every other table refers to these rows. Turns that are owed an answer are found by channel."""
    _run_script(
        db,
        """
        CREATE TABLE identities (
            channel TEXT NOT NULL,
            external_id INTEGER NOT NULL,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            PRIMARY KEY (channel, external_id),
            UNIQUE (user, channel)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO identities (channel, external_id, user)
            SELECT 'telegram', telegram_id, id FROM users WHERE telegram_id IS NOT NULL;
        UPDATE users SET telegram_id = NULL;
        DROP INDEX turns_untold;
        DROP INDEX turns_untold_of_calendar;
        CREATE INDEX turns_untold ON turns (source, id) WHERE told_at IS NULL;
        """,
    )


@migrations()
def m048_chat_inbox(db: Database) -> None:
    """Where bots are, who wrote to them and what: every row carries the name of its channel."""
    _run_script(
        db,
        """
        CREATE TABLE chat_rooms (
            channel TEXT NOT NULL,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            chat INTEGER NOT NULL,
            title TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('open', 'closed', 'asked', 'enabled', 'ignored')),
            last_message INTEGER,
            changed_at REAL NOT NULL,
            PRIMARY KEY (channel, agent, chat)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO chat_rooms (channel, agent, chat, title, state, last_message, changed_at)
            SELECT 'telegram', agent, chat, title, state, last_message, changed_at FROM telegram_chats;
        CREATE TABLE chat_strangers (
            channel TEXT NOT NULL,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            person INTEGER NOT NULL,
            name TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('asked', 'ignored', 'blocked', 'allowed')),
            told_at REAL NOT NULL,
            PRIMARY KEY (channel, agent, person)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO chat_strangers (channel, agent, person, name, state, told_at)
            SELECT 'telegram', agent, person, name, state, told_at FROM telegram_strangers;
        CREATE TABLE chat_inbox (
            channel TEXT NOT NULL,
            bot INTEGER NOT NULL,
            update_id INTEGER NOT NULL,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            chat INTEGER NOT NULL,
            thread INTEGER,
            person INTEGER NOT NULL,
            message INTEGER,
            album TEXT NOT NULL,
            origin TEXT,
            body TEXT,
            received_at REAL NOT NULL,
            handled_at REAL,
            PRIMARY KEY (bot, update_id, channel)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO chat_inbox (channel, bot, update_id, agent, chat, thread, person, message, album, origin, body,
            received_at, handled_at)
            SELECT 'telegram', bot, update_id, agent, chat, thread, person, message, album, origin, body,
            received_at, handled_at FROM telegram_inbox;
        CREATE INDEX chat_inbox_waiting ON chat_inbox (channel, agent, chat, update_id) WHERE handled_at IS NULL;
        CREATE INDEX chat_inbox_of_origin ON chat_inbox (origin) WHERE origin IS NOT NULL;
        CREATE INDEX chat_inbox_of_message ON chat_inbox (agent, chat, message, channel);
        DROP TABLE telegram_chats;
        DROP TABLE telegram_strangers;
        DROP TABLE telegram_inbox;
        """,
    )


@migrations()
def m048_chat_outbox(db: Database) -> None:
    """What goes out, and the buttons under it: the same. The channel stands last in an index that is not for what is
    open alone, so that looking for what is open in a channel never reads the rest."""
    _run_script(
        db,
        """
        CREATE TABLE chat_outbox (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            channel TEXT NOT NULL,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            chat INTEGER NOT NULL,
            ref TEXT NOT NULL,
            body TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'sending', 'sent', 'failed')),
            message INTEGER,
            tries INTEGER NOT NULL DEFAULT 0,
            not_before REAL NOT NULL DEFAULT 0,
            why TEXT,
            amendment TEXT,
            created_at REAL NOT NULL,
            sent_at REAL,
            after INTEGER,
            UNIQUE (ref, channel)
        ) STRICT;
        INSERT INTO chat_outbox (id, channel, agent, chat, ref, body, state, message, tries, not_before, why, amendment,
            created_at, sent_at, after)
            SELECT id, 'telegram', agent, chat, ref, body, state, message, tries, not_before, why, amendment,
            created_at, sent_at, after FROM telegram_outbox;
        CREATE INDEX chat_outbox_open ON chat_outbox (channel, agent, chat, id)
            WHERE state IN ('waiting', 'sending') OR amendment IS NOT NULL;
        CREATE INDEX chat_outbox_of_message ON chat_outbox (agent, chat, message, channel);
        CREATE TABLE chat_buttons (
            id TEXT PRIMARY KEY,
            channel TEXT NOT NULL,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            ref TEXT NOT NULL,
            person INTEGER NOT NULL,
            kind TEXT NOT NULL,
            subject TEXT NOT NULL,
            expires_at REAL NOT NULL,
            used_at REAL
        ) STRICT, WITHOUT ROWID;
        INSERT INTO chat_buttons (id, channel, agent, ref, person, kind, subject, expires_at, used_at)
            SELECT id, 'telegram', agent, ref, person, kind, subject, expires_at, used_at FROM telegram_buttons;
        CREATE INDEX chat_buttons_of_ref ON chat_buttons (ref, channel);
        DROP TABLE telegram_outbox;
        DROP TABLE telegram_buttons;
        """,
    )


@migrations()
def m048_chat_progress(db: Database) -> None:
    """What is shown of turns, up to where things were told, and which message carries which file: the same."""
    _run_script(
        db,
        """
        CREATE TABLE chat_progress (
            turn INTEGER PRIMARY KEY,
            channel TEXT NOT NULL,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            chat INTEGER NOT NULL,
            message INTEGER NOT NULL
        ) STRICT;
        INSERT INTO chat_progress (turn, channel, agent, chat, message)
            SELECT turn, 'telegram', agent, chat, message FROM telegram_progress;
        CREATE TABLE chat_cursors (
            channel TEXT NOT NULL,
            name TEXT NOT NULL,
            value INTEGER NOT NULL,
            PRIMARY KEY (channel, name)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO chat_cursors (channel, name, value) SELECT 'telegram', name, value FROM telegram_marks;
        ALTER TABLE telegram_carried RENAME TO chat_deliveries;
        DROP INDEX telegram_carried_by;
        CREATE INDEX chat_deliveries_of_ref ON chat_deliveries (ref);
        DROP TABLE telegram_progress;
        DROP TABLE telegram_marks;
        """,
    )


@migrations()
def m049_conversation_tree(db: Database) -> None:
    """Each turn follows another, and a conversation knows the newest turn of the branch that goes on. What there is was
    one line. Conversations are called by their first words until their person names them. How far people have read, and
    what they allowed, is kept by conversation."""
    _run_script(
        db,
        """
        ALTER TABLE conversations ADD COLUMN title TEXT NOT NULL DEFAULT '';
        ALTER TABLE conversations ADD COLUMN head INTEGER;
        ALTER TABLE conversations ADD COLUMN forked_from INTEGER;
        ALTER TABLE conversations ADD COLUMN used_at REAL NOT NULL DEFAULT 0;
        ALTER TABLE conversations ADD COLUMN archived_at REAL;
        DROP INDEX conversations_of_cubicle;
        CREATE INDEX conversations_of_cubicle ON conversations (agent, user, used_at, id) WHERE archived_at IS NULL;
        WITH line AS (
            SELECT id, LAG(id) OVER (PARTITION BY conversation ORDER BY id) AS before FROM turns WHERE forgotten = 0
        )
        UPDATE turns SET parent = line.before FROM line WHERE line.id = turns.id;
        CREATE INDEX turns_of_conversation ON turns (conversation, id) WHERE forgotten = 0;
        CREATE INDEX turns_of_parent ON turns (parent) WHERE parent IS NOT NULL;
        UPDATE conversations SET
            head = (SELECT MAX(id) FROM turns WHERE conversation = conversations.id AND forgotten = 0),
            used_at = MAX(created_at, COALESCE((SELECT MAX(created_at) FROM turns
                WHERE conversation = conversations.id AND source <> 'calendar'), 0));
        DROP INDEX turns_not_cleared;
        CREATE TABLE read_marks (
            conversation INTEGER PRIMARY KEY,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            turn INTEGER NOT NULL,
            at REAL NOT NULL
        ) STRICT;
        INSERT INTO read_marks (conversation, agent, user, turn, at)
            SELECT conversations.id, seen.agent, seen.user, seen.turn, seen.at FROM seen JOIN conversations
            ON conversations.agent = seen.agent AND conversations.user = seen.user GROUP BY seen.agent, seen.user;
        DROP TABLE seen;
        ALTER TABLE grants ADD COLUMN conversation INTEGER;
        """,
    )
    for name, order in (("turns_told", "id"), ("turns_told_by_end", "ended_at")):
        db.execute(f"DROP INDEX {name}")
        db.execute(
            f"CREATE INDEX {name} ON turns (user, conversation, {order}) WHERE forgotten = 0 "
            "AND status IN ('done', 'failed', 'stopped') AND source NOT IN ('telegram', 'terminal') "
            "AND NOT (source = 'calendar' AND ((status = 'done' "
            "AND TRIM(COALESCE(reply, ''), char(9, 10, 13, 32)) = '') "
            "OR UPPER(SUBSTR(LTRIM(prompt, char(9, 10, 13, 32)), 1, 9)) = 'INTERNAL:'))"
        )
    for row in list(db.execute("SELECT id, head FROM conversations WHERE name = '' AND head IS NOT NULL")):
        first = db.execute(
            "SELECT prompt FROM turns WHERE conversation = ? AND forgotten = 0 "
            "ORDER BY source = 'calendar', id LIMIT 1",
            (row[0],),
        ).fetchone()
        db.execute("UPDATE conversations SET title = ? WHERE id = ?", (" ".join(first[0].split())[:60], row[0]))


@migrations()
def m050_chat_conversations(db: Database) -> None:
    """Which conversation a person writes to in a chat, or in one of its topics (0 is none). An entry of the calendar
    and a notice know which conversation they belong to."""
    _run_script(
        db,
        """
        CREATE TABLE chat_conversations (
            channel TEXT NOT NULL,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            chat INTEGER NOT NULL,
            thread INTEGER NOT NULL,
            conversation INTEGER,
            name TEXT NOT NULL DEFAULT '',
            PRIMARY KEY (channel, agent, user, chat, thread)
        ) STRICT, WITHOUT ROWID;
        ALTER TABLE agenda_entries ADD COLUMN conversation INTEGER;
        UPDATE agenda_entries SET conversation = (SELECT conversation FROM turns WHERE id = agenda_entries.turn)
            WHERE turn IS NOT NULL;
        ALTER TABLE notices ADD COLUMN conversation INTEGER;
        UPDATE notices SET conversation = (SELECT conversation FROM turns WHERE id = notices.turn)
            WHERE turn IS NOT NULL;
        """,
    )


@migrations()
def m051_first_turns(db: Database) -> None:
    """The turns that a conversation begins with are found at once: an edited first message is one more of them."""
    db.execute("CREATE INDEX turns_that_begin ON turns (conversation) WHERE parent IS NULL AND forgotten = 0")


@migrations()
def m052_turn_points(db: Database) -> None:
    """Between which points of its workspace's history a turn worked, and what the next turn should know of what was put
    back."""
    _run_script(
        db,
        """
        CREATE TABLE turn_points (
            turn INTEGER PRIMARY KEY REFERENCES turns (id) ON DELETE CASCADE,
            before INTEGER NOT NULL,
            before_at REAL NOT NULL,
            after INTEGER,
            changed INTEGER NOT NULL DEFAULT 0,
            undone_at REAL
        ) STRICT;
        CREATE INDEX turn_points_open ON turn_points (turn) WHERE after IS NULL;
        CREATE TABLE undos_under_way (
            turn INTEGER PRIMARY KEY REFERENCES turns (id) ON DELETE CASCADE,
            by TEXT NOT NULL,
            is_since INTEGER NOT NULL,
            including TEXT NOT NULL
        ) STRICT;
        CREATE TABLE workspace_notes (
            id INTEGER PRIMARY KEY,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            text TEXT NOT NULL,
            at REAL NOT NULL,
            turn INTEGER
        ) STRICT;
        CREATE INDEX workspace_notes_of_cubicle ON workspace_notes (agent, user, turn);
        """,
    )


@migrations()
def m053_push(db: Database) -> None:
    """Browsers that are told of things while nobody looks at them, each with its login; and what each was told."""
    _run_script(
        db,
        """
        CREATE TABLE push_devices (
            id TEXT PRIMARY KEY,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            session TEXT NOT NULL UNIQUE REFERENCES sessions (sha256) ON DELETE CASCADE,
            endpoint TEXT NOT NULL UNIQUE,
            p256dh TEXT NOT NULL,
            auth TEXT NOT NULL,
            tells TEXT NOT NULL,
            shows_text INTEGER NOT NULL,
            created_at REAL NOT NULL,
            sent_at REAL,
            trouble TEXT NOT NULL DEFAULT ''
        ) STRICT;
        CREATE INDEX push_devices_of_user ON push_devices (user);
        CREATE TABLE push_notes (
            device TEXT NOT NULL REFERENCES push_devices (id) ON DELETE CASCADE,
            ref TEXT NOT NULL,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            at REAL NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('later', 'queued', 'sent', 'gone')),
            is_over INTEGER NOT NULL DEFAULT 0,
            tries INTEGER NOT NULL DEFAULT 0,
            due_at REAL,
            used_at REAL,
            PRIMARY KEY (device, ref)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX push_notes_due ON push_notes (due_at) WHERE state = 'later';
        CREATE INDEX push_notes_standing ON push_notes (ref) WHERE is_over = 0;
        """,
    )


@migrations()
def m054_folder_looks(db: Database) -> None:
    """When people looked into folders of their workspaces, so that what came since is marked."""
    db.execute(
        "CREATE TABLE folder_looks (agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE, "
        "user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE, path BLOB NOT NULL, at REAL NOT NULL, "
        "before REAL, PRIMARY KEY (agent, user, path)) STRICT"
    )


@migrations()
def m055_agent_access(db: Database) -> None:
    """An agent may be for some people alone; those that there are, are for everybody as before. ``closed_cubicles`` is
    the one place that says to whom an agent is closed: to members who are not named where names were given."""
    _run_script(
        db,
        """
        ALTER TABLE agents ADD COLUMN is_limited INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE agent_people (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            PRIMARY KEY (agent, user)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX agent_people_of_user ON agent_people (user);
        CREATE VIEW closed_cubicles (agent, user) AS
            SELECT agents.name, users.id FROM agents, users
            WHERE agents.is_limited AND users.role <> 'operator' AND NOT EXISTS
                (SELECT 1 FROM agent_people WHERE agent_people.agent = agents.name AND agent_people.user = users.id);
        """,
    )


@migrations()
def m056_person_budgets(db: Database) -> None:
    """What a person may spend over all agents in a day and in a month, where somebody said so, and the sums that this
    is checked by: a period is a UTC day or month, ``2026-11-25`` or ``2026-11``."""
    _run_script(
        db,
        """
        ALTER TABLE users ADD COLUMN daily_budget_micro INTEGER;
        ALTER TABLE users ADD COLUMN monthly_budget_micro INTEGER;
        CREATE TABLE person_spending (
            user INTEGER NOT NULL,
            period TEXT NOT NULL,
            cost_micro INTEGER NOT NULL DEFAULT 0,
            reserved_micro INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (user, period)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO person_spending (user, period, cost_micro, reserved_micro)
            SELECT user, day, SUM(cost_micro), SUM(CASE state WHEN 'reserved' THEN reserved_micro ELSE 0 END)
            FROM spending GROUP BY user, day;
        INSERT INTO person_spending (user, period, cost_micro, reserved_micro)
            SELECT user, SUBSTR(period, 1, 7), SUM(cost_micro), SUM(reserved_micro)
            FROM person_spending GROUP BY user, SUBSTR(period, 1, 7);
        """,
    )


@migrations()
def m057_second_factors(db: Database) -> None:
    """A second factor of the login by password: the secret that a person's app makes codes from, until when codes were
    used, and codes for when the app is lost, as hashes."""
    _run_script(
        db,
        """
        CREATE TABLE totp (
            user INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
            secret TEXT NOT NULL,
            confirmed_at REAL,
            last_step INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE TABLE recovery_codes (
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            sha256 TEXT NOT NULL,
            used_at REAL,
            PRIMARY KEY (user, sha256)
        ) STRICT, WITHOUT ROWID;
        """,
    )


@migrations()
def m058_passkeys(db: Database) -> None:
    """Passkeys of people: public keys alone, each for the host that it was made at."""
    _run_script(
        db,
        """
        CREATE TABLE passkeys (
            id TEXT PRIMARY KEY,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            host TEXT NOT NULL,
            name TEXT NOT NULL,
            handle BLOB NOT NULL,
            credential BLOB NOT NULL,
            sign_count INTEGER NOT NULL,
            created_at REAL NOT NULL,
            used_at REAL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX passkeys_of_user ON passkeys (user);
        """,
    )


@migrations()
def m059_proofs(db: Database) -> None:
    """What came of it when agents were let try the ways out of their cubicles."""
    _run_script(
        db,
        """
        CREATE TABLE proofs (
            id INTEGER PRIMARY KEY,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            started_at REAL NOT NULL,
            ended_at REAL,
            stage TEXT NOT NULL,
            version TEXT NOT NULL,
            engine TEXT NOT NULL DEFAULT '',
            kernel TEXT NOT NULL DEFAULT '',
            outcomes TEXT NOT NULL DEFAULT '[]',
            problem TEXT NOT NULL DEFAULT ''
        ) STRICT;
        CREATE INDEX proofs_of_cubicle ON proofs (agent, user, id);
        """,
    )


@migrations()
def m060_visits(db: Database) -> None:
    """When people were here, and what agents did for a person meanwhile, found at once (``operations.recap_rows``)."""
    _run_script(
        db,
        """
        CREATE TABLE visits (
            user INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
            away_since REAL NOT NULL,
            began_at REAL NOT NULL,
            seen_at REAL NOT NULL
        ) STRICT;
        CREATE INDEX turns_of_user_by_end ON turns (user, ended_at) WHERE ended_at IS NOT NULL AND forgotten = 0;
        CREATE INDEX turns_of_user_with_apps ON turns (user, id) WHERE apps <> '[]';
        CREATE INDEX deliveries_of_user ON deliveries (user, at);
        CREATE INDEX spending_of_user ON spending (user, ended_at, cost_micro) WHERE state IN ('settled', 'kept');
        """,
    )


@migrations()
def m061_characters(db: Database) -> None:
    """What people call an agent, its sign and its colour; and files of an import on their way into its workspace."""
    _run_script(
        db,
        """
        ALTER TABLE agents ADD COLUMN display_name TEXT NOT NULL DEFAULT '';
        ALTER TABLE agents ADD COLUMN avatar TEXT NOT NULL DEFAULT '';
        ALTER TABLE agents ADD COLUMN color TEXT NOT NULL DEFAULT '';
        CREATE TABLE imported_files (
            id INTEGER PRIMARY KEY,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            name TEXT NOT NULL,
            content BLOB NOT NULL
        ) STRICT;
        CREATE INDEX imported_files_of_agent ON imported_files (agent, user, id);
        CREATE INDEX imported_files_of_user ON imported_files (user);
        """,
    )


@migrations()
def m062_oidc_accounts(db: Database) -> None:
    """Accounts at a provider of identities by which people log in: who somebody is there, never their address."""
    _run_script(
        db,
        """
        CREATE TABLE oidc_accounts (
            issuer TEXT NOT NULL,
            subject TEXT NOT NULL,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            label TEXT NOT NULL,
            connected_at REAL NOT NULL,
            used_at REAL,
            PRIMARY KEY (issuer, subject),
            UNIQUE (user, issuer)
        ) STRICT, WITHOUT ROWID;
        """,
    )


@migrations()
def m063_languages(db: Database) -> None:
    """The language that a person chose to read; empty for what their browser asks for."""
    db.execute("ALTER TABLE users ADD COLUMN language TEXT NOT NULL DEFAULT ''")


@migrations()
def m064_sources(db: Database) -> None:
    """What strangers may have written and a conversation has read (``approvals.source_rows``), with what is known of
    downloads so far; and of each grant how much had been read when it was given."""
    _run_script(
        db,
        """
        CREATE TABLE sources (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            conversation INTEGER REFERENCES conversations (id) ON DELETE CASCADE,
            turn INTEGER,
            kind TEXT NOT NULL,
            subject TEXT NOT NULL,
            detail TEXT NOT NULL,
            last_ref TEXT NOT NULL,
            count INTEGER NOT NULL,
            first_at REAL NOT NULL,
            last_at REAL NOT NULL,
            mark INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX sources_of_conversation ON sources (conversation, kind, subject);
        CREATE INDEX sources_of_cubicle ON sources (agent, user, conversation);
        CREATE INDEX sources_of_user ON sources (user);
        CREATE INDEX sources_of_turn ON sources (turn);
        CREATE TABLE source_links (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
            sha256 TEXT NOT NULL,
            UNIQUE (conversation, sha256)
        ) STRICT;
        INSERT INTO sources (agent, user, conversation, turn, kind, subject, detail, last_ref, count, first_at, last_at,
                mark)
            SELECT jobs.agent, jobs.user, turns.conversation, turns.id, 'web', json_extract(payload, '$.host'),
                MAX(json_extract(payload, '$.url')), '', COUNT(*), MIN(ended), MAX(ended), 0
            FROM jobs JOIN turns ON turns.id = jobs.turn
            WHERE jobs.kind = 'asset' AND jobs.state = 'done' AND json_extract(payload, '$.host') IS NOT NULL
                AND turns.conversation IN (SELECT id FROM conversations)
            GROUP BY jobs.agent, jobs.user, turns.id, json_extract(payload, '$.host') ORDER BY MIN(ended);
        UPDATE sources SET mark = (SELECT MIN(id) FROM sources AS first WHERE first.conversation = sources.conversation
            AND first.subject = sources.subject);
        ALTER TABLE approvals ADD COLUMN read_mark INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE grants ADD COLUMN read_mark INTEGER NOT NULL DEFAULT 0;
        UPDATE grants SET read_mark = COALESCE((SELECT MAX(id) FROM sources WHERE first_at <= grants.since), 0);
        """,
    )


@migrations()
def m065_asks_again(db: Database) -> None:
    """What has an agent ask again about hosts that it may fetch from (``core.asks_again``)."""
    db.execute("ALTER TABLE agents ADD COLUMN asks_again TEXT NOT NULL DEFAULT 'strict'")


@migrations()
def m066_sites(db: Database) -> None:
    """Sites that an agent's browser may open are allowed in advance too: a kind of grants is no longer one of two."""
    _run_script(
        db,
        """
        CREATE TABLE grants_new (
            id TEXT PRIMARY KEY,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER REFERENCES users (id) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            subject TEXT NOT NULL,
            scope TEXT NOT NULL CHECK (scope IN ('hour', 'conversation', 'always')),
            since REAL NOT NULL,
            until REAL,
            by TEXT NOT NULL,
            conversation INTEGER,
            read_mark INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID;
        INSERT INTO grants_new (id, agent, user, kind, subject, scope, since, until, by, conversation, read_mark)
            SELECT id, agent, user, kind, subject, scope, since, until, by, conversation, read_mark FROM grants;
        DROP TABLE grants;
        ALTER TABLE grants_new RENAME TO grants;
        CREATE INDEX grants_of_agent ON grants (agent, kind);
        """,
    )


@migrations()
def m067_page_secrets(db: Database) -> None:
    """What people's agents may type into pages of one host (``capabilities.browser.page_secrets``)."""
    _run_script(
        db,
        """
        CREATE TABLE page_secrets (
            id TEXT PRIMARY KEY,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            agent TEXT REFERENCES agents (name) ON DELETE CASCADE,
            name TEXT NOT NULL,
            host TEXT NOT NULL,
            value TEXT NOT NULL,
            created_at REAL NOT NULL,
            used_at REAL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX page_secrets_of_user ON page_secrets (user, name);
        """,
    )


@migrations()
def m068_kept_logins(db: Database) -> None:
    """Sites whose logins stay in an agent's browser (``capabilities.browser.kept_logins``)."""
    _run_script(
        db,
        """
        CREATE TABLE kept_logins (
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            site TEXT NOT NULL,
            since REAL NOT NULL,
            by TEXT NOT NULL,
            state TEXT NOT NULL,
            cookies INTEGER NOT NULL,
            saved_at REAL,
            PRIMARY KEY (agent, user, site)
        ) STRICT, WITHOUT ROWID;
        """,
    )


@migrations()
def m072_turn_stems(db: Database) -> None:
    """Conversations are searched by the stems of words, so that *hiking* finds *hiked*. Agents that have all toolsets
    that there were, but for the web's, may look through them too."""
    _run_script(
        db,
        """
        DROP TABLE turn_words;
        CREATE VIRTUAL TABLE turn_words USING fts5 (whose, prompt, reply, content='turn_texts', content_rowid='id',
            tokenize="porter unicode61 remove_diacritics 2", prefix='3 4 5 6');
        INSERT INTO turn_words (turn_words) VALUES ('rebuild');
        UPDATE agents SET toolsets = json_insert(toolsets, '$[#]', 'recall')
            WHERE (SELECT count(*) FROM json_each(toolsets) WHERE value IN
                ('calendar', 'memory', 'assets', 'packages', 'questions', 'video')) = 6;
        """,
    )


@migrations()
def m073_plans(db: Database) -> None:
    """What agents are about to do in a turn (``turns.plans``)."""
    _run_script(
        db,
        """
        CREATE TABLE plan_items (
            turn INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
            n INTEGER NOT NULL,
            text TEXT NOT NULL,
            is_done INTEGER NOT NULL,
            note TEXT NOT NULL,
            PRIMARY KEY (turn, n)
        ) STRICT, WITHOUT ROWID;
        """,
    )


@migrations()
def m074_lessons(db: Database) -> None:
    """What fixed a failure (``capabilities.lessons``). Agents that may look through past conversations may keep
    lessons too."""
    _run_script(
        db,
        """
        CREATE TABLE lessons (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL REFERENCES agents (name) ON DELETE CASCADE,
            user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            about TEXT NOT NULL,
            fix TEXT NOT NULL,
            holds TEXT NOT NULL,
            noted_by TEXT NOT NULL,
            turn INTEGER,
            at REAL NOT NULL,
            is_held INTEGER NOT NULL,
            told INTEGER NOT NULL DEFAULT 0,
            helped INTEGER NOT NULL DEFAULT 0,
            failed INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX lessons_of_cubicle ON lessons (agent, user, id);
        CREATE VIEW lesson_texts (id, whose, about, fix) AS
            SELECT id, 'a' || lower(hex(agent)) || 'u' || user, about, fix FROM lessons;
        CREATE VIRTUAL TABLE lesson_words USING fts5 (whose, about, fix, content='lesson_texts', content_rowid='id',
            tokenize="porter unicode61 remove_diacritics 2");
        CREATE TRIGGER lesson_added AFTER INSERT ON lessons BEGIN
            INSERT INTO lesson_words (rowid, whose, about, fix) VALUES (new.id,
                'a' || lower(hex(new.agent)) || 'u' || new.user, new.about, new.fix);
        END;
        CREATE TRIGGER lesson_deleted AFTER DELETE ON lessons BEGIN
            INSERT INTO lesson_words (lesson_words, rowid, whose, about, fix) VALUES ('delete', old.id,
                'a' || lower(hex(old.agent)) || 'u' || old.user, old.about, old.fix);
        END;
        CREATE TABLE lesson_uses (
            turn INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
            n INTEGER NOT NULL,
            lesson INTEGER NOT NULL REFERENCES lessons (id) ON DELETE CASCADE,
            is_judged INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (turn, n, lesson)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX lesson_uses_of ON lesson_uses (lesson);
        UPDATE agents SET toolsets = json_insert(toolsets, '$[#]', 'lessons')
            WHERE EXISTS (SELECT 1 FROM json_each(toolsets) WHERE value = 'recall');
        """,
    )


@migrations()
def m069_mcp_servers(db: Database) -> None:
    """MCP servers, and what of their words an operator has seen (``mcp_servers``). Their secrets are in a file."""
    _run_script(
        db,
        """
        CREATE TABLE mcp_servers (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            how TEXT NOT NULL,
            package TEXT NOT NULL,
            argv TEXT NOT NULL,
            env TEXT NOT NULL,
            secret_names TEXT NOT NULL,
            hosts TEXT NOT NULL,
            url TEXT NOT NULL,
            header_names TEXT NOT NULL,
            is_enabled INTEGER NOT NULL,
            created_at REAL NOT NULL,
            created_by TEXT NOT NULL,
            packages_digest TEXT NOT NULL,
            checked_at REAL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE mcp_pins (
            server TEXT NOT NULL REFERENCES mcp_servers (id) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            wire TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            state TEXT NOT NULL,
            decision TEXT NOT NULL,
            seen_at REAL NOT NULL,
            offered TEXT NOT NULL,
            PRIMARY KEY (server, kind, name)
        ) STRICT, WITHOUT ROWID;
        """,
    )


def _run_script(db: Database, script: str) -> None:
    """Each statement by itself: ``executescript`` would commit the migration's transaction."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        is_trigger = statement.lstrip().startswith("CREATE TRIGGER")
        if (is_trigger and line.strip() == "END;") or (not is_trigger and line.rstrip().endswith(";")):
            db.execute(statement)
            statement = ""
