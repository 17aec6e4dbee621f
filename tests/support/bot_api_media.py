"""Files in messages: how a sent or received file is described, and the Bot API's methods that send files.

Bytes that a bot uploads are kept; a URL or a file_id given instead of bytes is recorded as the string that it is.
"""

from __future__ import annotations

from typing import Any

from tests.support.bot_api_rules import Json, Refused, check_caption, check_entities, check_formatting, refuse, words
from tests.support.bot_api_sending import finish, opening
from tests.support.bot_api_world import Bot, Call, StoredFile, Upload, World

MAX_UPLOAD = 50 * 1024 * 1024
MAX_PHOTO = 10 * 1024 * 1024
_GROUPED = {"photo", "video", "document", "audio"}
_EXTRAS = words(
    "type media caption parse_mode caption_entities show_caption_above_media has_spoiler thumbnail cover "
    "start_timestamp width height duration supports_streaming disable_content_type_detection performer title"
)


def describe(kind: str, stored: StoredFile, extras: Json | None = None) -> Any:
    """The value of a message's field `kind` for this file."""
    extras = extras or {}
    base: Json = {"file_id": stored.file_id, "file_unique_id": stored.unique_id, "file_size": stored.size}
    if kind == "photo":
        small = {**base, "file_id": f"{stored.file_id}_s", "file_unique_id": f"{stored.unique_id}_s", "file_size": 1000}
        return [{**small, "width": 90, "height": 67}, {**base, "width": 1280, "height": 960}]
    if kind == "sticker":
        look = {"type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False}
        return {**base, **look, "emoji": "🦀"}
    named = {**base, "mime_type": stored.mime}
    if kind != "voice":
        named["file_name"] = stored.name
    if kind in ("voice", "audio", "video", "animation"):
        named["duration"] = extras.get("duration", 1)
    if kind in ("video", "animation"):
        named |= {"width": extras.get("width", 640), "height": extras.get("height", 480)}
    for name in ("performer", "title"):
        if kind == "audio" and name in extras:
            named[name] = extras[name]
    return named


def send_file(world: World, bot: Bot, call: Call) -> Json:
    """sendDocument, sendPhoto and their kin."""
    kind = call.method.removeprefix("send").lower()
    room, message = opening(world, bot, call)
    given = call.parameters.get(kind)
    stored = _take(world, call, kind, given)
    message |= _caption(call.parameters)
    message |= _fields(kind, stored, given, call.parameters)
    return finish(world, room, message)


def send_media_group(world: World, bot: Bot, call: Call) -> list[Json]:
    """sendMediaGroup: two to ten files, the messages share a media_group_id."""
    media = call.parameters.get("media")
    if not isinstance(media, list) or not all(isinstance(item, dict) for item in media):
        refuse("can't parse media JSON object")
    if not 2 <= len(media) <= 10:
        refuse("wrong number of items in the media group: 2-10 are allowed")
    kinds = [str(item.get("type")) for item in media]
    if not set(kinds) <= _GROUPED:
        refuse(f"can't parse InputMedia: media type {kinds!r} can't be sent in a group")
    if len(set(kinds)) > 1 and set(kinds) & {"document", "audio"}:
        refuse("can't mix these types of media in a group")
    room, opened = opening(world, bot, call)
    items = [_group_item(world, call, item) for item in media]
    album = str(world.number())
    return [finish(world, room, {**opened, **item, "media_group_id": album}) for item in items]


def _group_item(world: World, call: Call, item: Json) -> Json:
    if not set(item) <= _EXTRAS:
        refuse(f"can't parse InputMedia: unknown field {min(set(item) - _EXTRAS)!r}")
    stored = _take(world, call, item["type"], item.get("media"))
    return {**_caption(item), **_fields(item["type"], stored, item.get("media"), item)}


def _caption(given: Json) -> Json:
    caption = check_caption(given.get("caption"))
    if caption is None:
        return {}
    caption = check_formatting(caption, given.get("parse_mode"))
    entities = check_entities(given.get("caption_entities"), caption)
    return {"caption": caption, **({"caption_entities": entities} if entities else {})}


def _fields(kind: str, stored: StoredFile, given: Any, extras: Json) -> Json:
    shown = describe(kind, stored, extras)
    # Telegram repeats an animation as a document, for clients that don't know animations.
    return {kind: shown, **({"document": describe("document", stored)} if kind == "animation" else {})}


def _take(world: World, call: Call, kind: str, given: Any) -> StoredFile:
    """The file that a parameter means: uploaded bytes, a known file_id, or something for Telegram to fetch."""
    upload = _uploaded(call, kind, given)
    if upload is not None:
        _check_size(kind, upload)
        return world.keep_file(kind, upload.filename, upload.content, mime=upload.content_type)
    if not given or not isinstance(given, str):
        refuse(f"there is no {kind} in the request")
    if given in world.files:
        return world.files[given]
    if not given.startswith(("http://", "https://")):
        refuse("wrong file identifier/HTTP URL specified")
    return world.keep_file(kind, given.rsplit("/", 1)[-1], b"")


def _uploaded(call: Call, kind: str, given: Any) -> Upload | None:
    if isinstance(given, str) and given.startswith("attach://"):
        name = given.removeprefix("attach://")
        if name not in call.uploads:
            refuse(f"can't find the file attach://{name} in the request")
        return call.uploads[name]
    return call.uploads.get(kind) if given is None else None


def _check_size(kind: str, upload: Upload) -> None:
    size = len(upload.content)
    if size == 0:
        refuse("file must be non-empty")
    if size > MAX_UPLOAD:
        raise Refused(413, "Request Entity Too Large")
    if kind == "photo" and size > MAX_PHOTO:
        refuse(f"file of size {size} bytes is too big for a photo; the maximum size is {MAX_PHOTO} bytes")
