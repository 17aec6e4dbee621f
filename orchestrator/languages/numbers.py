"""Numbers, amounts and lists as each language writes them: ``1,234.5`` and ``1.234,5``.

English is written without the data of other languages (Unicode's CLDR, by Babel), so that an install in English loads
none of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.languages.table import ENGLISH, Language

_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d+")


def write_number(value: float, language: Language = ENGLISH, *, places: int = 0) -> str:
    """With thousands set apart, and so many digits behind the point."""
    plain = f"{value:,.{places}f}"
    if language is ENGLISH:
        return plain
    from babel.numbers import format_decimal  # noqa: PLC0415 - 4 MB that an install in English does without

    return str(format_decimal(value, "#,##0" + ("." + "0" * places if places else ""), locale=language.locale))


def respell_numbers(text: str, language: Language) -> str:
    """A short text such as ``1,234.5 kB`` or ``3 min 5 s`` with its numbers as the language writes them."""
    return text if language is ENGLISH else _NUMBER.sub(lambda found: _respell(found[0], language), text)


def _respell(number: str, language: Language) -> str:
    if "," not in number and "." not in number:
        return number
    plain = number.replace(",", "")
    return write_number(float(plain), language, places=len(plain.partition(".")[2]))


def write_dollars(amount: str, language: Language = ENGLISH) -> str:
    """An amount in US dollars that is written ``$1,234.50``, with as many digits as that has."""
    if language is ENGLISH or not amount.startswith("$"):
        return amount
    from babel import Locale  # noqa: PLC0415 - see above

    pattern = str(Locale.parse(language.locale).currency_formats["standard"].pattern).partition(";")[0]
    number = _respell(amount[1:], language)
    return re.sub(r"[#0,.]+", lambda _: number, pattern).replace("¤", "$")


def join_list(items: Sequence[str], language: Language = ENGLISH) -> str:
    """``A, B and C``."""
    if len(items) < 2:
        return "".join(items)
    if language is ENGLISH:
        return f"{', '.join(items[:-1])} and {items[-1]}"
    from babel.lists import format_list  # noqa: PLC0415 - see above

    return str(format_list(list(items), locale=language.locale))
