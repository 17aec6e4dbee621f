"""The scripts and stylesheets of a folder put together, so that a browser fetches one file of each. Pure but for
reading the files.

Only what our own files use is understood: imports and exports by name, each at the beginning of a line. Anything else
is refused rather than put together wrongly, and the folder works without us as well. Comments are for readers of the
source, and stay there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.core.errors import OrchestratorError

_IMPORT = re.compile(r'^import \{([\w\s,]+)\} from "\./([\w./-]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_NOT_UNDERSTOOD = re.compile(r"^\s*(?:import|export)\b.*|\bimport\s*[.(].*", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*//.*\n|(?<=[;{},)])[ \t]+// [^\"'`\n]*$|^[ \t]+", re.MULTILINE)
"""A line that is a comment, one at the end of a line, and what a line is set in by."""
_COMMENT_IN_SHEETS = re.compile(r"/\*.*?\*/\n?|^[ \t]+", re.DOTALL | re.MULTILINE)
_SHEET = re.compile(r'^@import "\./([\w./-]+)";$', re.MULTILINE)
_NOT_UNDERSTOOD_IN_SHEETS = re.compile(r"@import\b.*|\burl\((?!\"?data:).*")
_THEIRS = ".mjs"
"""How files end that others made: they stay as they are, each by itself."""


class Unbundled(OrchestratorError):
    """A file can't be put together with the others."""


@dataclass(frozen=True, slots=True)
class Script:
    """A module with everything that it imports."""

    text: str
    modules: tuple[str, ...]
    """What is in it, and can be imported from it by the names that ``object_of`` gives."""


@dataclass(frozen=True, slots=True)
class _Module:
    name: str
    text: str
    imports: tuple[tuple[str, tuple[str, ...]], ...]
    """From which file, and what."""
    exports: tuple[str, ...]


def bundle_script(
    folder: Path, entry: str, *, url: Callable[[str], str], beside: Mapping[str, str] | None = None
) -> Script:
    """``entry`` and what it imports as one module, which runs each of them once, in the order of the imports.

    What is ``beside`` is imported from the script at that URL, and what others made from its own ``url``. Raises
    Unbundled.
    """
    beside = beside or {}
    modules: dict[str, _Module] = {}
    _gather_modules(folder, entry, beside, modules, ())
    heads = dict.fromkeys(
        f'import {{ {", ".join(names) if source.endswith(_THEIRS) else object_of(source)} }} from "{at}";'
        for module in modules.values()
        for source, names in module.imports
        if (at := url(source) if source.endswith(_THEIRS) else beside.get(source, ""))
    )
    tail = f"export {{ {', '.join(object_of(name) for name in modules)} }};"
    whole = "\n".join([*heads, *map(_wrap_module, modules.values()), tail, ""])
    return Script(_COMMENT.sub("", whole), tuple(modules))


def bundle_stylesheet(folder: Path, entry: str) -> str:
    """``entry`` with what it imports in its place. Raises Unbundled."""
    text = _COMMENT_IN_SHEETS.sub("", _read_text(folder, entry))
    rest = _SHEET.sub("", text)
    if found := _NOT_UNDERSTOOD_IN_SHEETS.search(rest):
        raise Unbundled(f"{entry}: {found[0]!r} can't be put together with other stylesheets.")
    return _SHEET.sub(lambda found: bundle_stylesheet(folder, found[1]), text)


def object_of(module: str) -> str:
    """What a module's exports are called within a script."""
    return "$" + re.sub(r"\W", "_", module.removesuffix(".js"))


def _gather_modules(
    folder: Path, name: str, beside: Mapping[str, str], modules: dict[str, _Module], above: tuple[str, ...]
) -> None:
    """The module and all below it, those that are imported first."""
    if name in above:
        raise Unbundled(f"{' imports '.join((*above[above.index(name) :], name))}.")
    if name in modules or name in beside or name.endswith(_THEIRS):
        return
    module = _read_module(folder, name)
    for source, names in module.imports:
        _gather_modules(folder, source, beside, modules, (*above, name))
        known = modules.get(source)
        if known is not None and (missing := sorted(set(names) - set(known.exports))):
            raise Unbundled(f"{name}: {source} does not export {', '.join(missing)}.")
    modules[name] = module


def _read_module(folder: Path, name: str) -> _Module:
    text = _read_text(folder, name)
    imports = tuple(
        (found[2], tuple(word for part in found[1].split(",") if (word := part.strip())))
        for found in _IMPORT.finditer(text)
    )
    rest = _IMPORT.sub("", text)
    exports = tuple(found[1] for found in _EXPORT.finditer(rest))
    rest = _EXPORT.sub("", rest)
    if found := _NOT_UNDERSTOOD.search(rest):
        raise Unbundled(f"{name}: {found[0].strip()!r} can't be put together with other modules.")
    if any(line.count("`") % 2 for line in rest.split("\n")):
        raise Unbundled(f"{name}: a text in ` that goes over several lines can't be put together with other modules.")
    if odd := [word for _, words in imports for word in words if not word.isidentifier()]:
        raise Unbundled(f"{name}: the import of {odd[0]!r} can't be put together with other modules.")
    return _Module(name, rest, imports, exports)


def _wrap_module(module: _Module) -> str:
    """The module as a function that is called at once, so that its names stay its own."""
    taken = [
        f"const {{ {', '.join(names)} }} = {object_of(source)};"
        for source, names in module.imports
        if not source.endswith(_THEIRS)
    ]
    lines = [f"const {object_of(module.name)} = (() => {{", *taken, module.text.strip()]
    return "\n".join([*lines, f"return {{ {', '.join(module.exports)} }};", "})();"])


def _read_text(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8")
    except OSError as error:
        raise Unbundled(f"{name} can't be read: {error.strerror}.") from error
