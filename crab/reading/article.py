"""The part of a page that is meant to be read: each block of text speaks for what holds it, and what is spoken for most
wins. The way of Readability (https://github.com/mozilla/readability), with other weights.
"""

from __future__ import annotations

import re

from crab.reading.tree import BLOCKS, Node

_SHORTEST_BLOCK = 25
_LEVELS = (1.0, 0.5, 0.33, 0.2)
"""How much a block's points count for its parent, and so on upwards."""
_ARTICLE = re.compile(
    r"(^|[\s_-])(article|articlebody|article-body|story|story-body|post|post-content|entry|entry-content|content|main|"
    r"body|text|blog|page-content|richtext)([\s_-]|$)",
    re.IGNORECASE,
)
_HOLDS_TEXT = frozenset({"p", "pre", "blockquote", "td"})
_COMMAS = ",，、"


def find_article(root: Node) -> list[Node]:
    """The parts to read, in order; the whole page where nothing stands out."""
    nodes = _count_text(root)
    for node in nodes:
        if node.characters >= _SHORTEST_BLOCK and _is_block_of_text(node):
            _speak_for_parents(node)
    return _with_siblings(_choose_best(nodes, root))


def _count_text(root: Node) -> list[Node]:
    """All elements, each with what its text holds."""
    nodes, at = [root], 0
    while at < len(nodes):
        nodes += nodes[at].elements
        at += 1
    for node in reversed(nodes):
        for kid in node.kids:
            if isinstance(kid, str):
                node.characters += len(" ".join(kid.split()))
                node.commas += sum(kid.count(comma) for comma in _COMMAS)
            else:
                node.characters += kid.characters
                node.linked += kid.linked
                node.commas += kid.commas
        if node.tag == "a":
            node.linked = node.characters
    return nodes


def _is_block_of_text(node: Node) -> bool:
    return node.tag in _HOLDS_TEXT or (node.tag == "div" and not any(kid.tag in BLOCKS for kid in node.elements))


def _speak_for_parents(node: Node) -> None:
    points = 1 + node.commas + min(node.characters / 100, 3)
    parent, share = node.parent, 1.0
    for level in range(len(_LEVELS)):
        if parent is None:
            return
        if parent.score == 0:
            parent.score = _first_score(parent)
        parent.score += points * share
        share = _LEVELS[min(level + 1, len(_LEVELS) - 1)]
        parent = parent.parent


def _first_score(node: Node) -> float:
    marks = f"{node.marks} {node.attributes.get('itemprop', '')}"
    score = 0.01
    score += 25 if _ARTICLE.search(marks) else 0
    score += 30 if node.tag in ("article", "main") or "articleBody" in marks else 0
    return score - (25 if node.is_aside else 0)


def _weight(node: Node) -> float:
    return node.score * (1 - node.density)


def _choose_best(nodes: list[Node], root: Node) -> Node:
    best = max((node for node in nodes if node.score), key=_weight, default=root)
    # A parent that holds nearly as much of the same is the better one.
    while best.parent is not None and best.parent.tag != "html" and _weight(best.parent) > _weight(best) * 0.9:
        best = best.parent
    return best


def _with_siblings(best: Node) -> list[Node]:
    """The best part, and those beside it that go on with it."""
    if best.parent is None:
        return [best]
    least = max(10.0, best.score * 0.2)
    return [node for node in best.parent.elements if node is best or _goes_on(node, best, least)]


def _goes_on(node: Node, best: Node, least: float) -> bool:
    mark = best.attributes.get("class")
    is_alike = bool(mark) and node.attributes.get("class") == mark and node.tag == best.tag
    if _weight(node) + (best.score * 0.2 if is_alike else 0) >= least and node.characters > 80:
        return True
    if node.tag == "p":
        return node.characters > 80 and node.density < 0.25
    return node.tag in ("h1", "h2", "h3") and node.density < 0.3
