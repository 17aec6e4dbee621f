"""Draws one picture: ``python painter.py FILE.svg`` reads ``{"title", "of", "curves"}`` as JSON. It runs where
matplotlib is, not in the program's environment. Colours are ones that can be read on white and on black alike."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

_COLOURS = ("#3b82c4", "#d9772b", "#3a9d5d", "#b565b0")
_INK = "#808080"
_SETTINGS = {
    "svg.hashsalt": "hermit",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def paint(file: str, title: str, of: str, curves: Sequence[dict[str, Any]]) -> None:
    """Both axes are logarithmic, so that what grows with the size is a line of slope one."""
    with mpl.rc_context(_SETTINGS):
        figure, axes = plt.subplots(figsize=(4.4, 2.8))
        for n, curve in enumerate(curves):
            sizes, values = zip(*curve["points"], strict=True)
            colour = _COLOURS[n % len(_COLOURS)]
            axes.plot(sizes, values, marker="o", markersize=3, color=colour, label=f"{curve['what']} ({curve['unit']})")
        axes.set_xscale("log")
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.set_ylim(low / 1.5, high * 1.5)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(of)
        axes.grid(visible=True, color=_INK, alpha=0.2, linewidth=0.5)
        axes.legend(frameon=False, fontsize=8)
        figure.savefig(file, transparent=True, bbox_inches="tight", metadata={"Date": None})


def main() -> None:
    """Draw what standard input says."""
    paint(sys.argv[1], **json.load(sys.stdin))


if __name__ == "__main__":
    main()
