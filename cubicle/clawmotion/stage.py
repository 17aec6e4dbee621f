"""The stage: draws any moment of a video of animated text. Letters come word by word, glide to their place and leave.

Text is only ever drawn; no tool sees it. What does not change from one frame to the next is drawn once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFilter, ImageFont
from scenes import Colours, Scene

WIDTH, HEIGHT = 1280, 720
_FONTS = "/usr/share/fonts/truetype/dejavu/DejaVuSans"
_MARGIN, _ROOM_Y, _SMALLEST = 110, 500, 14
_SLACK = 64
"""By so much the ground is larger than the frame, on each side, as it drifts."""
_BAR = 5
_ENTER_S, _LEAVE_S, _SPREAD_S = 0.55, 0.32, 0.075
_RISE, _FALL = 42, 26


@dataclass(frozen=True)
class _Word:
    """One word, drawn."""

    mask: Image.Image
    x: int
    y: int
    colour: tuple[int, int, int]


@dataclass(frozen=True)
class _Page:
    """A scene's words in their places, and where its ornament begins and ends."""

    words: tuple[_Word, ...]
    rule: tuple[int, int, int, int]


class Stage:
    """All moments of one video."""

    def __init__(
        self, scenes: list[Scene], colours: Colours, seed: int, seconds: float, *, is_still: bool = False
    ) -> None:
        """With ``is_still`` the ground does not drift, for a format that would take each moved pixel for a new one."""
        self._scenes, self._seconds, self._seed, self._is_still = scenes, seconds, seed, is_still
        self._ink, self._accent = ImageColor.getrgb(colours.ink), ImageColor.getrgb(colours.accent)
        self._dark = ImageColor.getrgb(colours.ground[0])
        self._ground = _ground(colours, seed)
        self._page = lru_cache(maxsize=4)(self._laid_out)
        self._steady = lru_cache(maxsize=2)(self._layer)
        self._track = Image.new("L", (WIDTH, _BAR), 46)

    def frames(self, count: int) -> Iterator[Image.Image]:
        """So many moments, evenly through the video."""
        at = 0
        for index in range(count):
            now = self._seconds * index / count
            while at + 1 < len(self._scenes) and now >= self._scenes[at].end:
                at += 1
            yield self._moment(self._scenes[at], now)

    def still(self, number: int) -> Image.Image:
        """A scene in its middle."""
        scene = self._scenes[number]
        return self._moment(scene, (scene.start + scene.end) / 2)

    def _moment(self, scene: Scene, now: float) -> Image.Image:
        frame = self._ground_at(now)
        self._draw_scene(frame, scene, now)
        self._draw_progress(frame, now / self._seconds)
        dusk = max(1 - now / 0.35, 1 - (self._seconds - now) / 0.45, 0.0) if self._seconds > 2 else 0.0
        if dusk > 0:
            frame = Image.blend(frame, Image.new("RGB", frame.size, self._dark), min(1.0, dusk) * 0.92)
        return frame

    def _ground_at(self, now: float) -> Image.Image:
        turn = (0.0 if self._is_still else now * 0.21) + self._seed % 628 / 100
        x = round(_SLACK + (_SLACK - 1) * math.sin(turn))
        y = round(_SLACK + (_SLACK - 1) * math.sin(turn * 0.73 + 1.1))
        return self._ground.crop((x, y, x + WIDTH, y + HEIGHT))

    # --- a scene -----------------------------------------------------------------------------------------------

    def _draw_scene(self, frame: Image.Image, scene: Scene, now: float) -> None:
        page, length = self._page(scene), scene.end - scene.start
        pace = min(1.0, length / 2.2)
        enter, leave = _ENTER_S * pace, _LEAVE_S * pace
        spread = min(_SPREAD_S * pace, (length * 0.38) / max(1, len(page.words)))
        since, left = now - scene.start, scene.end - now
        gone = _ease_in(1 - left / leave) if left < leave else 0.0
        self._draw_rule(frame, page, _ease_out(since / (enter * 1.5)), 1 - gone)
        if gone == 0 and since >= enter + spread * len(page.words):
            corner, ink, mask = self._steady(scene)
            frame.paste(ink, corner, mask)
            return
        for index, word in enumerate(page.words):
            come = _ease_out((since - index * spread) / enter)
            if come > 0:
                shift = round((1 - come) * _RISE - gone * _FALL)
                _draw_word(frame, word, shift, come * (1 - gone))

    def _layer(self, scene: Scene) -> tuple[tuple[int, int], Image.Image, Image.Image]:
        """All its words at once."""
        words = self._page(scene).words
        left, top = min(w.x for w in words), min(w.y for w in words)
        right = max(w.x + w.mask.width for w in words)
        bottom = max(w.y + w.mask.height for w in words)
        mask = Image.new("L", (right - left, bottom - top))
        ink = Image.new("RGB", mask.size, self._ink)
        for word in words:
            place = (word.x - left, word.y - top)
            ink.paste(word.colour, (*place, place[0] + word.mask.width, place[1] + word.mask.height))
            mask.paste(255, (*place, place[0] + word.mask.width, place[1] + word.mask.height), word.mask)
        return (left, top), ink, mask

    def _draw_rule(self, frame: Image.Image, page: _Page, come: float, stay: float) -> None:
        """The ornament: a bar beside the lines, which grows down, or under a title, which grows from its middle."""
        left, top, right, bottom = page.rule
        if come <= 0 or stay <= 0:
            return
        if right - left > bottom - top:
            middle, half = (left + right) / 2, (right - left) / 2 * come
            box = (round(middle - half), top, max(round(middle - half) + 1, round(middle + half)), bottom)
        else:
            box = (left, top, right, max(top + 1, round(top + (bottom - top) * come)))
        frame.paste(self._accent, box, Image.new("L", (box[2] - box[0], box[3] - box[1]), round(255 * stay)))

    def _draw_progress(self, frame: Image.Image, share: float) -> None:
        frame.paste(self._ink, (0, HEIGHT - _BAR), self._track)
        frame.paste(self._accent, (0, HEIGHT - _BAR, max(1, round(WIDTH * share)), HEIGHT))

    # --- letters in their places -------------------------------------------------------------------------------

    def _laid_out(self, scene: Scene) -> _Page:
        is_centred = scene.is_title or (scene.number + self._seed) % 3 == 0
        indent = 0 if is_centred else 44
        font, lines = _fitted(scene, WIDTH - 2 * _MARGIN - indent)
        step = round(font.size * 1.32)
        height = step * len(lines)
        top = (HEIGHT - height) // 2 - (20 if scene.is_title else 0)
        star = "" if scene.is_title else _star(scene.words)
        words = []
        for row, line in enumerate(lines):
            x = (WIDTH - font.getlength(" ".join(line))) / 2 if is_centred else _MARGIN + indent
            for word in line:
                colour = self._accent if word == star else self._ink
                words.append(_drawn(word, font, (round(x), top + row * step), colour))
                x += font.getlength(word + " ")
        if is_centred:
            half = 90 if scene.is_title else 36
            rule = (WIDTH // 2 - half, top + height + 26, WIDTH // 2 + half, top + height + 32)
        else:
            rule = (_MARGIN, top + 4, _MARGIN + 8, top + height - 4)
        return _Page(tuple(words), rule)


def readable(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without what the font has no letters for; none where nothing is left."""
    kept = ("".join(char for char in word if _has_letter(char)) for word in words)
    return tuple(word for word in kept if any(not char.isspace() for char in word))


@lru_cache(maxsize=4096)
def _has_letter(char: str) -> bool:
    font = _font(40, is_bold=True)
    return bytes(font.getmask(char)) != bytes(font.getmask("\U0010fffe"))


@lru_cache(maxsize=64)
def _font(size: int, *, is_bold: bool) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(f"{_FONTS}{'-Bold' if is_bold else ''}.ttf", size)


def _fitted(scene: Scene, width: int) -> tuple[ImageFont.FreeTypeFont, list[list[str]]]:
    """The largest letters with which all of it has room, and its lines."""
    largest = 116 if scene.is_title else 92 if len(scene.words) <= 5 else 76
    for size in range(largest, _SMALLEST, -4):
        font = _font(size, is_bold=scene.is_title or size >= 48)
        lines = _wrapped(scene.words, font, width)
        if max(font.getlength(word) for word in scene.words) <= width and len(lines) * size * 1.32 <= _ROOM_Y:
            return font, lines
    font = _font(_SMALLEST, is_bold=False)
    return font, _wrapped(scene.words, font, width)


def _wrapped(words: tuple[str, ...], font: ImageFont.FreeTypeFont, width: int) -> list[list[str]]:
    """As few lines as can be, of about the same length."""
    lengths = [font.getlength(word) for word in words]
    space = font.getlength(" ")
    lines = _greedy(words, lengths, space, width)
    if len(lines) == 1:
        return lines
    even = (sum(lengths) + space * len(words)) / len(lines)
    tried = [_greedy(words, lengths, space, min(width, even * slack)) for slack in (1.04, 1.1, 1.18, 1.28)]
    return next((better for better in tried if len(better) == len(lines)), lines)


def _greedy(words: tuple[str, ...], lengths: list[float], space: float, width: float) -> list[list[str]]:
    lines: list[list[str]] = [[]]
    used = 0.0
    for word, length in zip(words, lengths, strict=True):
        if lines[-1] and used + space + length > width:
            lines.append([])
            used = 0.0
        used += length + (space if lines[-1] else 0)
        lines[-1].append(word)
    return lines


def _star(words: tuple[str, ...]) -> str:
    """The word that stands out: the longest, if it is long and not all there is."""
    longest = max(words, key=len)
    return longest if len(words) > 2 and len(longest) >= 6 else ""


def _drawn(word: str, font: ImageFont.FreeTypeFont, place: tuple[int, int], colour: tuple[int, int, int]) -> _Word:
    box = font.getbbox(word)
    mask = Image.new("L", (max(1, box[2] - box[0] + 2), max(1, box[3] - box[1] + 2)))
    ImageDraw.Draw(mask).text((1 - box[0], 1 - box[1]), word, fill=255, font=font)
    return _Word(mask, place[0] + box[0] - 1, place[1] + box[1] - 1, colour)


def _draw_word(frame: Image.Image, word: _Word, shift: int, share: float) -> None:
    mask = word.mask if share >= 1 else word.mask.point([round(level * share) for level in range(256)])
    frame.paste(word.colour, (word.x, word.y + shift), mask)


# --- ground and time -------------------------------------------------------------------------------------------


def _ground(colours: Colours, seed: int) -> Image.Image:
    """A soft gradient with two glows, grained so that it shows no bands."""
    random = np.random.RandomState(seed)
    width, height = WIDTH + 2 * _SLACK, HEIGHT + 2 * _SLACK
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    x, y = x / width, y / height
    first, second = (np.array(ImageColor.getrgb(colour), np.float32) for colour in colours.ground)
    slope = ((x * 0.6 + y * 0.8) / 1.4)[..., None]
    image = first * (1 - slope) + second * slope
    places = ((0.14 + 0.2 * random.rand(), 0.9), (0.78 + 0.15 * random.rand(), 0.12 + 0.1 * random.rand()))
    for colour, (at_x, at_y) in zip(colours.glow, places, strict=True):
        far = ((x - at_x) * 1.5) ** 2 + (y - at_y) ** 2
        share = (0.62 * np.exp(-far / 0.11))[..., None]
        image = image * (1 - share) + np.array(ImageColor.getrgb(colour), np.float32) * share
    image += random.uniform(-0.8, 0.8, (height, width, 1)).astype(np.float32)
    picture = Image.fromarray(np.clip(image, 0, 255).astype(np.uint8), "RGB")
    return _with_rings(picture, colours, random)


def _with_rings(picture: Image.Image, colours: Colours, random: np.random.RandomState) -> Image.Image:
    """Two faint circles, which give the drift something to be seen by."""
    mask = Image.new("L", picture.size)
    draw = ImageDraw.Draw(mask)
    for share_x, share_y in ((0.9, 0.95), (0.06, 0.05)):
        x, y = picture.width * share_x, picture.height * share_y
        radius = 190 + 120 * random.rand()
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), outline=26, width=34)
    picture.paste(ImageColor.getrgb(colours.accent), (0, 0), mask.filter(ImageFilter.GaussianBlur(2)))
    return picture


def _ease_out(share: float) -> float:
    share = min(1.0, max(0.0, share))
    return 1 - (1 - share) ** 3


def _ease_in(share: float) -> float:
    share = min(1.0, max(0.0, share))
    return share**2
