"""The prices in force: our table with the person's own rows over it, which may change while the program runs.

Owns the person's file (``HERMIT_HOME/prices.json``): it is read again when it has changed, and written whole or not at
all. A file that became unusable changes nothing: the prices before it stay in force.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from orchestrator.core import atomic_files as whole_files
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import ConfigError, NotFound, Unavailable
from orchestrator.core.models import MICRO
from orchestrator.core.text import one_line
from orchestrator.llm import ledger_rows as ledger
from orchestrator.llm.ledger_rows import Unpriced
from orchestrator.llm.pricing import Price, PriceRow, PriceTable, check_row, load_prices, normal_name, price_of

logger = logging.getLogger(__name__)

MOST_ROWS = 1_000


class Prices:
    """What models cost."""

    def __init__(self, file: Path, store: Store | None = None, *, now: Callable[[], float] = time.time) -> None:
        """Raises ConfigError when the person's file is unusable. Without a ``store`` nothing is audited and nothing is
        known of models that were called."""
        self._file = file
        self._store = store
        self._now = now
        self._lock = threading.Lock()  # protects what follows, and the file
        self._mark = _file_mark(file)
        self._table = load_prices(file)
        self._ours = len(load_prices().rows)

    def get_table(self) -> PriceTable:
        """The prices as they are now."""
        with self._lock:
            self._reload()
            return self._table

    def get_price(self, provider: str, model: str) -> Price:
        """What a provider's model costs now: a row's price, or the fallback."""
        return price_of(provider, model, self.get_table())

    def list_own(self) -> tuple[PriceRow, ...]:
        """The person's rows, in order of precedence."""
        rows = self.get_table().rows
        return rows[: len(rows) - self._ours]

    def list_unknown(self) -> list[Unpriced]:
        """Models that were called without a known price, and have none still; the last first."""
        if self._store is None:
            return []
        table = self.get_table()
        with self._store.reading() as db:
            seen = ledger.list_unpriced_models(db)
        return [model for model in seen if not price_of(model.provider, model.model, table).known]

    def set_price(self, provider: str, model: str, price: Mapping[str, Any], *, by: str) -> PriceRow:
        """Write a row down before all others; ``model`` may be a pattern. ``price`` has ``in`` and ``out``, and may
        have ``cached`` and ``written``, in dollars per million tokens. Raises ConfigError, or Unavailable."""
        entry = {"provider": provider.strip(), "model": normal_name(model), **price}
        row = check_row(entry)
        with self._lock:
            document = self._read_file()
            kept = [other for other in document["prices"] if not _is_of(other, row.provider, row.pattern)]
            if len(kept) >= MOST_ROWS:
                raise ConfigError(f"At most {MOST_ROWS:,} prices of your own fit. Use a pattern such as gpt-*.")
            self._write_file({**document, "prices": [entry, *kept]})
        self._write_audit(f"The price of {_row_name(row)} is {words_of(row.price)} now.", entry, by)
        return row

    def remove_price(self, provider: str, model: str, *, by: str) -> None:
        """Take a row of the person's away; raises NotFound when there is none. Ours stay."""
        with self._lock:
            document = self._read_file()
            kept = [other for other in document["prices"] if not _is_of(other, provider.strip(), normal_name(model))]
            if len(kept) == len(document["prices"]):
                raise NotFound(f"There is no price of yours for {one_line(f'{provider} {model}', 100)}.")
            self._write_file({**document, "prices": kept})
        entry = {"provider": provider, "model": normal_name(model)}
        self._write_audit(
            f"The price of {one_line(f'{provider} {normal_name(model)}', 100)} was taken away.", entry, by
        )

    # --- the file, under the lock ------------------------------------------------------------------------------

    def _reload(self) -> None:
        mark = _file_mark(self._file)
        if mark == self._mark:
            return
        self._mark = mark
        try:
            self._table = load_prices(self._file)
        except ConfigError as error:
            logger.warning("%s The prices before this change stay in force.", error.message)

    def _read_file(self) -> dict[str, Any]:
        """The person's file as it is; raises ConfigError rather than write over what can't be read."""
        load_prices(self._file)
        try:
            document = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            document = {}
        return {**document, "prices": list(document.get("prices", []))}

    def _write_file(self, document: dict[str, Any]) -> None:
        document["date"] = time.strftime("%Y-%m-%d", time.gmtime(self._now()))
        text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        try:
            whole_files.replace_file(self._file, text)
        except OSError as error:
            raise Unavailable(f"The prices can't be written ({error.strerror}). Check the disk.") from error
        self._mark = _file_mark(self._file)
        self._table = load_prices(self._file)

    def _write_audit(self, text: str, entry: dict[str, Any], by: str) -> None:
        if self._store is not None:
            with self._store.writing() as db:
                audit_rows.insert_record(db, "prices.changed", f"{text} By {by}.", now=self._now(), detail=entry)


def words_of(price: Price) -> str:
    """``$3 in, $15 out`` per million tokens."""
    cached = (
        ""
        if price.cached_micro_per_mtok == price.prompt_micro_per_mtok
        else f", ${_format_usd(price.cached_micro_per_mtok)} cached"
    )
    return (
        f"${_format_usd(price.prompt_micro_per_mtok)} in, ${_format_usd(price.completion_micro_per_mtok)} out{cached}"
    )


def row_json(row: PriceRow, *, is_own: bool) -> dict[str, Any]:
    """A row as the API shows it, in dollars per million tokens."""
    return {"provider": row.provider, "model": row.pattern, **price_json(row.price), "is_own": is_own}


def price_json(price: Price) -> dict[str, float]:
    """Dollars per million tokens."""
    return {
        "in": price.prompt_micro_per_mtok / MICRO,
        "out": price.completion_micro_per_mtok / MICRO,
        "cached": price.cached_micro_per_mtok / MICRO,
        "written": price.written_micro_per_mtok / MICRO,
    }


def as_json(prices: Prices) -> dict[str, Any]:
    """Every price, the person's own first, and what has none."""
    table, own = prices.get_table(), len(prices.list_own())
    return {
        "date": table.date,
        "fallback": price_json(table.fallback),
        "prices": [row_json(row, is_own=n < own) for n, row in enumerate(table.rows)],
        "unknown": [
            {"provider": m.provider, "model": m.model, "calls": m.calls, "tokens": m.tokens, "last_at": m.last_at}
            for m in prices.list_unknown()
        ],
    }


def _format_usd(micro: int) -> str:
    return f"{micro / MICRO:.6f}".rstrip("0").rstrip(".")


def _row_name(row: PriceRow) -> str:
    return one_line(f"{row.provider} {row.pattern}", 100)


def _is_of(entry: Any, provider: str, pattern: str) -> bool:
    return bool(entry["provider"] == provider and normal_name(entry["model"]) == pattern)


def _file_mark(file: Path) -> tuple[int, int, int] | None:
    """What changes whenever the file does."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
