"""Collects the texts of the tree: ``python -m orchestrator.languages.extract`` writes ``catalogues/messages.pot`` and
brings the ``.po`` file of each language up to date with it. Run it after a change of texts; a test asks for it.

A text that was reworded is a new text, to be translated anew; nothing is guessed ("fuzzy"). One that is gone from the
tree goes from the catalogues. For those who develop HermitShell: nothing that runs imports this.
"""

from __future__ import annotations

import ast
import io
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

from orchestrator.languages.speech import FOLDER
from orchestrator.languages.table import TRANSLATED

ROOT = Path(__file__).resolve().parents[2]
POT = FOLDER / "messages.pot"
IN_PYTHON = {"say": None, "say_many": (1, 2), "say_as": ((1, "c"), 2), "to_say": None, "worded": None}
IN_TEMPLATES = {"_": None, "gettext": None, "ngettext": (1, 2), "pgettext": ((1, "c"), 2)}
IN_SCRIPTS = {"t": None, "tn": (1, 2)}
_ERRORS = frozenset(
    {"BadInput", "NotFound", "Conflict", "Forbidden", "Unauthorized", "TooMany", "TooLarge", "Unavailable", "Outdated"}
)
_FIXED_PARTS = (
    "dashboard",
    "orchestrator/agents",
    "orchestrator/approvals/answers.py",
    "orchestrator/approvals/approvals.py",
    "orchestrator/approvals/grants.py",
    "orchestrator/files/person_changes.py",
    "orchestrator/files/safe_open.py",
    "orchestrator/files/tree.py",
    "orchestrator/files/workspace.py",
    "orchestrator/llm/provider_check.py",
    "orchestrator/llm/providers.py",
    "orchestrator/turns/conversations.py",
    "orchestrator/turns/prompts.py",
    "orchestrator/turns/restores.py",
    "orchestrator/turns/transcripts.py",
)
"""Where the errors are made that a person meets in the dashboard. One whose sentence is fixed is looked up by it, so
nothing marks it where it is raised; one with a name or number in it says it by ``worded``."""
_TABLES = (
    ("orchestrator/web/url_warnings.py", "Hint", (1,)),
    ("orchestrator/llm/first_tasks.py", "FirstTask", (1, 2, 4)),
    ("orchestrator/operations/proof/attempts.py", "Attempt", (1, 2, 5)),
    ("orchestrator/capabilities", "Toolset", (1, 2)),
    ("orchestrator/capabilities", "ApprovalKind", ("many", "wants", "asks")),
)
"""Tables of the orchestrator that pages show: what makes a row, and which of its fields are texts for people."""
_FINDING = re.compile(r"It [a-z][^\n]*[^.\s]")
_TWO_FORMS = {"fr": "(n > 1)", "es": "(n != 1)"}
"""CLDR knows a third form in these, for whole millions; nothing here counts so far."""
_AT = datetime(2026, 1, 1, tzinfo=UTC)
"""Written into the files, so that collecting the same texts again changes nothing."""


def collect() -> Catalog:
    """All texts of the tree, each with the files that it is in."""
    found = Catalog(project="HermitShell", creation_date=_AT, revision_date=_AT, charset="utf-8", fuzzy=False)
    for path in _files("dashboard", ".html"):
        _add(
            found,
            path,
            "jinja2.ext:babel_extract",
            IN_TEMPLATES,
            {"trimmed": "true", "silent": "false", "newstyle_gettext": "true"},
        )
    for folder in ("dashboard", "orchestrator"):
        for path in _files(folder, ".py"):
            _add(found, path, "python", IN_PYTHON, {})
    for path in _files("dashboard/static", ".js"):
        _add(found, path, "javascript", IN_SCRIPTS, {})
    for part in _FIXED_PARTS:
        for path in _files(part, ".py"):
            _add_fixed(found, path, _ERRORS, (0,))
    for part, name, fields in _TABLES:
        for path in _files(part, ".py"):
            _add_fixed(found, path, frozenset({name}), fields)
    for path in _files("orchestrator/approvals/policy", ".py"):
        _add_findings(found, path)
    return found


def write_pot(catalogue: Catalog) -> str:
    """The file of all texts, without translations."""
    return _written(catalogue)


def update(path: Path, template: Catalog, locale: str) -> str:
    """The ``.po`` file of a language with the texts of ``template``: what was translated stays."""
    known = Catalog(locale=locale)
    if path.exists():
        with path.open("rb") as file:
            known = read_po(file, locale=locale)
    made = Catalog(
        locale=locale, project="HermitShell", creation_date=_AT, revision_date=_AT, charset="utf-8", fuzzy=False
    )
    if locale in _TWO_FORMS:
        vars(made).update(_num_plurals=2, _plural_expr=_TWO_FORMS[locale])  # there is no other way
    made.header_comment = f"# {made.locale.english_name if made.locale else locale} texts of HermitShell."
    for message in template:
        if not message.id:
            continue
        was = known.get(message.id, message.context)
        string = was.string if was is not None else ""
        made.add(message.id, string, message.locations, message.flags, context=message.context)
    return _written(made)


def main() -> None:
    """Everything up to date."""
    template = collect()
    POT.write_text(write_pot(template), encoding="utf-8")
    for language in TRANSLATED:
        path = FOLDER / f"{language.locale}.po"
        path.write_text(update(path, template, language.locale), encoding="utf-8")


def _written(catalogue: Catalog) -> str:
    out = io.BytesIO()
    write_po(out, catalogue, width=110, sort_by_file=True, include_lineno=False, omit_header=False)
    return out.getvalue().decode()


def _files(folder: str, ending: str) -> list[Path]:
    """Those of a folder, or the one that it is."""
    whole = ROOT / folder
    found = [whole] if whole.is_file() else sorted(whole.rglob(f"*{ending}"))
    return [path for path in found if not {"vendor", "languages", "cli"} & set(path.relative_to(ROOT).parts[:-1])]


def _add(catalogue: Catalog, path: Path, method: str, keywords: Any, options: dict[str, str]) -> None:
    found = extract_from_file(
        method, path, keywords=keywords, comment_tags=("i18n:",), options=options, strip_comment_tags=True
    )
    for _, text, comments, context in found:
        catalogue.add(text, locations=[(_name(path), 0)], auto_comments=comments, context=context)


def _add_fixed(catalogue: Catalog, path: Path, callees: frozenset[str], fields: tuple[int | str, ...]) -> None:
    """What stands as a fixed text in these fields of calls with one of these names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if not (isinstance(call.func, ast.Name) and call.func.id in callees):
            continue
        given: dict[int | str | None, ast.expr] = {
            **dict(enumerate(call.args)),
            **{k.arg: k.value for k in call.keywords},
        }
        for field in fields:
            value = given.get(field)
            value = known.get(value.id) if isinstance(value, ast.Name) else value
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
                catalogue.add(value.value, locations=[(_name(path), 0)])


def _add_findings(catalogue: Catalog, path: Path) -> None:
    """Why the command policy asks: it says ``It …`` of a command, in many tables, and nothing else begins so there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _FINDING.fullmatch(node.value):
            catalogue.add(node.value, locations=[(_name(path), 0)])


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    main()
