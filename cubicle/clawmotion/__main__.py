"""Clawmotion: animates a text, in a container that has no network and is thrown away. It reads ``task.json`` beside the
folder of this program and leaves ``video.EXT`` and ``report.json`` in ``/helper/out``.

It draws each frame itself and hands ffmpeg bare pixels, so the text reaches no option, filter or file name. Nobody
trusts what it leaves: the host looks at the file's size and first bytes before anybody gets it.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

from PIL import Image
from scenes import Scene, colours_of, scenes_of, seed_of
from stage import HEIGHT, WIDTH, Stage, readable

GIVEN, BROUGHT, SCRATCH = Path("/helper/in"), Path("/helper/out"), Path("/tmp")  # noqa: S108 - of this container alone
MOST_BITS_S = 4_000_000
GIF_SIZE = (640, 360)
RATES = {"mp4": "24", "webm": "24", "gif": "25/2"}
FPS = {"mp4": 24.0, "webm": 24.0, "gif": 12.5}


class Failed(Exception):
    """There will be no video; ``why`` is a word for it."""

    def __init__(self, why: str, said: str = "") -> None:
        super().__init__(why)
        self.why, self.said = why, said


def main() -> None:
    """One video, and a word on how it went."""
    task = json.loads((GIVEN / "task.json").read_bytes())
    try:
        left_out = _made(str(task["text"]), float(task["seconds"]), str(task["ending"]), int(task["bytes"]))
        report = {"ok": True, "left_out": left_out}
    except Failed as failed:
        report = {"ok": False, "why": failed.why, "said": failed.said}
    fresh = BROUGHT / ".report"
    fresh.write_text(json.dumps(report), encoding="utf-8")
    fresh.rename(BROUGHT / "report.json")


def _made(text: str, seconds: float, ending: str, most_bytes: int) -> int:
    """The video is there; how many letters had to be left out."""
    scenes, left_out = _drawable(scenes_of(text, seconds))
    if not scenes:
        raise Failed("unreadable")
    stage = Stage(scenes, colours_of(text), seed_of(text), seconds, is_still=ending == "gif")
    count = max(1, round(seconds * FPS[ending]))
    palette = SCRATCH / "palette.png"
    if ending == "gif":
        _palette(stage, len({scene.number for scene in scenes})).save(palette)
    command = _command(ending, palette, min(MOST_BITS_S, int(most_bytes * 0.8 * 8 / seconds)))
    # ffmpeg is Debian's own, by its whole path, and its options are figures and words of this file.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as ffmpeg:
        assert ffmpeg.stdin is not None  # noqa: S101 - a pipe was asked for
        assert ffmpeg.stderr is not None  # noqa: S101 - a pipe was asked for
        try:
            for frame in stage.frames(count):
                ffmpeg.stdin.write((frame.resize(GIF_SIZE, Image.BOX) if ending == "gif" else frame).tobytes())
            ffmpeg.stdin.close()
        except BrokenPipeError:
            pass  # it ended before we did; what it said tells why
        said = ffmpeg.stderr.read(2000)
    if ffmpeg.returncode != 0:
        raise Failed("encoder", said.decode("utf-8", "replace"))
    return left_out


def _drawable(scenes: list[Scene]) -> tuple[list[Scene], int]:
    """The scenes without letters that the font lacks, and how many letters those were. A scene of which nothing is left
    gives its time to the one before."""
    kept: list[Scene] = []
    left_out = 0
    for scene in scenes:
        words = readable(scene.words)
        left_out += len("".join(scene.words)) - len("".join(words))
        if words:
            start = scene.start if kept else 0.0
            kept.append(replace(scene, words=words, start=start))
        elif kept:
            kept[-1] = replace(kept[-1], end=scene.end)
    return kept, left_out


def _palette(stage: Stage, count: int) -> Image.Image:
    """Sixteen times sixteen colours that fit all of a video, found before the first frame is made."""
    chosen = sorted({round(index * (count - 1) / 7) for index in range(8)})
    sheet = Image.new("RGB", (320, 180 * len(chosen)))
    for row, number in enumerate(chosen):
        sheet.paste(stage.still(number).resize((320, 180), Image.BOX), (0, 180 * row))
    colours = sheet.quantize(256, method=Image.MEDIANCUT).getpalette() or []
    colours += [0] * (768 - len(colours))
    palette = Image.new("RGB", (16, 16))
    palette.putdata([tuple(colours[at : at + 3]) for at in range(0, 768, 3)])
    return palette


def _command(ending: str, palette: Path, bits_s: int) -> list[str]:
    size = "x".join(map(str, GIF_SIZE if ending == "gif" else (WIDTH, HEIGHT)))
    exact = ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact"]
    frames = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", RATES[ending], "-i", "pipe:0"]
    colour = ["-vf", "scale=out_color_matrix=bt709:out_range=tv", "-pix_fmt", "yuv420p"]
    colour += ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"]
    h264 = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-g", "96", "-threads", "2"]
    h264 += ["-maxrate", str(bits_s), "-bufsize", str(bits_s * 2), "-movflags", "+faststart"]
    vp9 = ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "7", "-row-mt", "1", "-tile-columns", "1"]
    vp9 += ["-threads", "2", "-crf", "30", "-b:v", str(min(bits_s, 2_000_000))]
    gif = ["-lavfi", "paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle", "-loop", "0"]
    ways = {"mp4": [*h264, *colour], "webm": [*vp9, *colour], "gif": gif}
    second = ["-i", str(palette)] if ending == "gif" else []
    begin = ["/usr/bin/ffmpeg", "-hide_banner", "-loglevel", "error", "-y"]
    return [*begin, *frames, *second, "-an", *exact, *ways[ending], str(BROUGHT / f"video.{ending}")]


if __name__ == "__main__":
    os.umask(0o077)
    main()
