"""What the Bot API accepts, as pure checks: text lengths, entities, formatting, buttons, previews.

Every check raises `Refused` with the status and description that Telegram's server gives; nothing here holds state.
Lengths and offsets are counted in UTF-16 units, as Telegram counts them.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

Json = dict[str, Any]


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


MAX_TEXT = 4096
MAX_CAPTION = 1024
MAX_BUTTONS = 100
MAX_CALLBACK_BYTES = 64

ENTITY_TYPES = words(
    "mention hashtag cashtag bot_command url email phone_number bold italic underline strikethrough spoiler blockquote "
    "expandable_blockquote code pre text_link text_mention custom_emoji date_time"
)
_ENTITY_KEYS = words("type offset length url user language custom_emoji_id unix_time date_time_format")
_PREVIEW_KEYS = words("is_disabled url prefer_small_media prefer_large_media show_above_text")
_BUTTON_ACTIONS = words(
    "url callback_data web_app login_url switch_inline_query switch_inline_query_current_chat "
    "switch_inline_query_chosen_chat copy_text callback_game pay"
)
_BUTTON_LOOKS = frozenset(("text", "style", "icon_custom_emoji_id"))
_KEYBOARD_KEYS = words("keyboard is_persistent resize_keyboard one_time_keyboard input_field_placeholder selective")
_KEY_KEYS = _BUTTON_LOOKS | words(
    "request_users request_chat request_contact request_location request_poll request_managed_bot web_app"
)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)([^<>]*)>")
_HTML_TAGS = words("b strong i em u ins s strike del span tg-spoiler a tg-emoji tg-time code pre blockquote")
_LINK = re.compile(r"!?\[(?:\\.|[^\]\\])*\]\((?:\\.|[^)\\])*\)")
_CODE = re.compile(r"```.*?```|`(?:\\.|[^`\\])*`", re.DOTALL)


class Refused(Exception):
    """The server answers with this error instead of a result."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters

    def body(self) -> Json:
        """The JSON object that carries the error."""
        answer: Json = {"ok": False, "error_code": self.code, "description": self.description}
        return {**answer, "parameters": self.parameters} if self.parameters else answer


def refuse(text: str) -> NoReturn:
    """The commonest refusal: 400."""
    raise Refused(400, f"Bad Request: {text}")


def units(text: str) -> int:
    """The length in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def check_text(text: str | None) -> str:
    """A message's text: not empty, not only whitespace, at most 4096 units."""
    if text is None or not text.strip():
        refuse("message text is empty")
    if units(text) > MAX_TEXT:
        refuse("message is too long")
    return text


def check_caption(caption: str | None) -> str | None:
    """A caption may be missing or empty, but not longer than 1024 units."""
    if caption is not None and units(caption) > MAX_CAPTION:
        refuse("message caption is too long")
    return caption or None


def check_entities(entities: Any, text: str) -> list[Json]:
    """Each entity has a known type and marks whole characters within the text."""
    if entities is None:
        return []
    if not isinstance(entities, list):
        refuse("can't parse entities: expected an Array of MessageEntity")
    borders = _borders(text)
    for entity in entities:
        _check_entity(entity, borders)
    return entities


def _borders(text: str) -> set[int]:
    """The offsets at which a character begins or the text ends."""
    borders, offset = {0}, 0
    for character in text:
        offset += units(character)
        borders.add(offset)
    return borders


def _check_entity(entity: Any, borders: set[int]) -> None:
    if not isinstance(entity, dict):
        refuse("can't parse entities: expected an Object as MessageEntity")
    if str(entity.get("type")) not in ENTITY_TYPES or not set(entity) <= _ENTITY_KEYS:
        refuse(f"can't parse MessageEntity: unsupported entity {entity!r}")
    offset, length = entity.get("offset"), entity.get("length")
    if not isinstance(offset, int) or offset < 0:
        refuse("receive an entity with incorrect offset")
    if not isinstance(length, int) or length <= 0:
        refuse("receive an entity with incorrect length")
    if offset + length > max(borders):
        refuse(
            f"entity beginning at UTF-16 offset {offset} ends after the end of the text at UTF-16 offset "
            f"{offset + length}"
        )
    if offset not in borders:
        refuse(f"entity begins in a middle of a UTF-16 symbol at UTF-16 offset {offset}")
    if offset + length not in borders:
        refuse(f"entity beginning at UTF-16 offset {offset} ends in a middle of a UTF-16 symbol")
    needs = {"text_link": "url", "text_mention": "user", "custom_emoji": "custom_emoji_id"}.get(entity["type"])
    if needs and not entity.get(needs):
        refuse(f"can't parse MessageEntity: field {needs} must be given")


def check_formatting(text: str, parse_mode: str | None) -> str:
    """The text without its marks; unbalanced or unescaped marks are refused. Entities are not made of them."""
    if not parse_mode:
        return text
    mode = parse_mode.lower()
    if mode == "html":
        return _check_html(text)
    if mode == "markdownv2":
        return _check_markdown_v2(text)
    if mode != "markdown":
        refuse("unsupported parse_mode")
    for mark in "*_`":
        if text.count(mark) % 2:
            at = len(text[: text.rindex(mark)].encode())
            refuse(f"can't parse entities: Can't find end of the entity starting at byte offset {at}")
    return text


def _check_html(text: str) -> str:
    open_tags: list[str] = []
    for tag in _TAG.finditer(text):
        at, name = len(text[: tag.start()].encode()), tag[2].lower()
        if name not in _HTML_TAGS:
            refuse(f'can\'t parse entities: Unsupported start tag "{name}" at byte offset {at}')
        if not tag[1]:
            open_tags.append(name)
        elif not open_tags:
            refuse(f"can't parse entities: Unexpected end tag at byte offset {at}")
        elif open_tags[-1] != name:
            refuse(
                f'can\'t parse entities: Unmatched end tag at byte offset {at}, expected "</{open_tags[-1]}>", '
                f'found "</{name}>"'
            )
        else:
            open_tags.pop()
    if open_tags:
        refuse(f"can't parse entities: Can't find end tag corresponding to start tag \"{open_tags[-1]}\"")
    plain = _TAG.sub("", text)
    if "<" in plain:
        at = len(text[: text.rindex("<")].encode())
        refuse(f'can\'t parse entities: Unsupported start tag "" at byte offset {at}')
    for name, character in (("lt", "<"), ("gt", ">"), ("quot", '"'), ("amp", "&")):
        plain = plain.replace(f"&{name};", character)
    return plain


def _check_markdown_v2(text: str) -> str:
    rest = _LINK.sub("", _CODE.sub("", text))
    rest = re.sub(r"\\[\x01-\x7e]", "", rest)
    rest = re.sub(r"^>", "", rest, flags=re.MULTILINE).replace("||", "\x00")
    reserved = re.search(r"[\[\]()>#+\-=|{}.!]", rest)
    if reserved:
        refuse(
            f"can't parse entities: Character '{reserved[0]}' is reserved and must be escaped with the preceding '\\'"
        )
    for mark in "*_~`\x00":
        if rest.count(mark) % 2:
            at = len(text[: max(text.find(mark), 0)].encode())
            refuse(f"can't parse entities: Can't find end of the entity starting at byte offset {at}")
    return text


def check_preview(options: Any) -> None:
    """`link_preview_options` is an object with known fields."""
    if options is None:
        return
    if not isinstance(options, dict) or not set(options) <= _PREVIEW_KEYS:
        refuse("can't parse link preview options: unexpected object")


def check_markup(markup: Any, *, inline_only: bool = False) -> Json | None:
    """The inline keyboard to keep with the message, or None; other keyboards are checked and not kept."""
    if markup is None:
        return None
    if not isinstance(markup, dict):
        refuse("object expected as reply markup")
    if "inline_keyboard" in markup:
        return _check_inline(markup)
    if inline_only:
        refuse("inline keyboard expected")
    if "keyboard" in markup:
        _check_keyboard(markup)
    elif markup.get("remove_keyboard") is True:
        _only(markup, {"remove_keyboard", "selective"})
    elif markup.get("force_reply") is True:
        _only(markup, {"force_reply", "selective", "input_field_placeholder"})
    else:
        refuse("object expected as reply markup")
    return None


def _only(markup: Json, known: set[str] | frozenset[str]) -> None:
    if not set(markup) <= known:
        refuse(f"can't parse reply markup: unknown field {min(set(markup) - known)}")


def _rows(rows: Any, what: str) -> list[list[Any]]:
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        refuse(f"can't parse {what}: expected an Array of Array of buttons")
    if sum(map(len, rows)) > MAX_BUTTONS:
        refuse("reply markup is too long")
    return rows


def _check_inline(markup: Json) -> Json | None:
    _only(markup, {"inline_keyboard"})
    rows = [row for row in _rows(markup["inline_keyboard"], "inline keyboard") if row]
    for button in (button for row in rows for button in row):
        _check_button(button)
    return {"inline_keyboard": rows} if rows else None


def _check_button(button: Any) -> None:
    if not isinstance(button, dict) or not isinstance(button.get("text"), str):
        refuse('can\'t parse inline keyboard button: Field "text" must be of type String')
    if not button["text"]:
        refuse("can't parse inline keyboard button: Button text must be non-empty")
    _only(button, _BUTTON_ACTIONS | _BUTTON_LOOKS)
    actions = set(button) & _BUTTON_ACTIONS
    if not actions:
        refuse("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
    if len(actions) > 1:
        refuse("can't parse inline keyboard button: exactly one action must be given")
    if "callback_data" in button:
        given = button["callback_data"]
        if not isinstance(given, str) or not 1 <= len(given.encode()) <= MAX_CALLBACK_BYTES:
            refuse("BUTTON_DATA_INVALID")
    if "url" in button and not re.match(r"(?:https?|tg)://[^\s/]|mailto:", str(button["url"])):
        refuse("BUTTON_URL_INVALID")


def _check_keyboard(markup: Json) -> None:
    _only(markup, _KEYBOARD_KEYS)
    for key in (key for row in _rows(markup["keyboard"], "keyboard") for key in row):
        if isinstance(key, str) and key:
            continue
        if not isinstance(key, dict) or not key.get("text"):
            refuse("can't parse keyboard button: Button text must be non-empty")
        _only(key, _KEY_KEYS)
