"""A command that a variable names: ``$PYTHON a.py``, ``${CC:-gcc} x.c``, ``cmd="ls -l"; $cmd``.

Owns when such a name can be told: the variable is set once in the text, to words that are written out, or nowhere in
it but with a usual meaning: its value then comes from the cubicle's environment, which no command before has changed.
"""

from __future__ import annotations

import re

from orchestrator.approvals.bash.parts import ParsedCommand
from orchestrator.approvals.bash.words import Word, literal_word

_VARIABLE = re.compile(r'("?)\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::?-([\w./-]+))?\})\1')
_READS_OTHERS = re.compile(r"(?:^|[;&|({\s])(?:\.|source|eval|read|mapfile|readarray|getopts|let)\s")
_USUAL = {
    **dict.fromkeys(("PYTHON", "PYTHON3", "PY"), "python3"),
    **dict.fromkeys(("EDITOR", "VISUAL"), "vi"),
    "AR": "ar",
    "CC": "gcc",
    "CXX": "g++",
    "GO": "go",
    "MAKE": "make",
    "NODE": "node",
    "NPM": "npm",
    "PAGER": "less",
    "PIP": "pip",
    "SHELL": "bash",
}
"""What variables name that every build script uses, where the text does not set them."""


def commands_of(word: Word, text: str, reading: ParsedCommand) -> tuple[Word, ...] | None:
    """The words that a variable in the place of a command stands for; None where that can't be told."""
    found = _VARIABLE.fullmatch(word.raw)
    if found is None or _READS_OTHERS.search(text) or any(one.name == "IFS" for one in reading.assignments):
        return None
    name, default = found[2] or found[3], found[4]
    values = [one.value for one in reading.assignments if one.name == name]
    mentions = re.findall(rf"(?<![\w$])(?<!\$\{{){name}(?!\w)", text)
    if len(mentions) > len(values) or len(values) > 1:
        return None  # something else may set it
    if not values:
        program = default or _USUAL.get(name)
        return (literal_word(program),) if program else None
    value = values[0]
    if not value or (default and len(value.split()) > 1):
        return None
    return (literal_word(value),) if found[1] else tuple(literal_word(part) for part in value.split())
