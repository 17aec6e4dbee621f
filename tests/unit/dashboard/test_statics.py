"""``dashboard.statics`` and ``dashboard.bundles``: one file of a kind, kept for good; a changed one has another URL."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import pytest
from flask import Flask

import dashboard
from dashboard.bundles import Unbundled, bundle_script, bundle_stylesheet
from dashboard.headers import FOR_GOOD
from dashboard.statics import Statics
from tests.unit.conftest import Browser

FOLDER = Path(dashboard.__file__).parent / "static"


def theirs(name: str) -> str:
    """Where a file lies that others made."""
    return f"/theirs/{name}"


def folder_of(root: Path, **files: str) -> Path:
    """A folder with these scripts."""
    for name, text in files.items():
        (root / f"{name}.js").write_text(text, encoding="utf-8")
    return root


def assets(html: str) -> list[str]:
    """What a page loads from us."""
    return re.findall(r'(?:src|href)="(/static/[^"]+)"', html)


def test_a_page_names_one_style_and_one_script_and_they_are_kept_for_good(app: Flask, browser: Browser) -> None:
    """Compressed for whoever takes that, with a type each, and without a login."""
    html = browser.client.get("/agents/crab").get_data(as_text=True)
    found = set(assets(html))
    assert sorted(url.rpartition("/")[2] for url in found) == [
        "apple-touch-icon.png",
        "logo.svg",
        "main.css",
        "main.js",
    ]
    client = app.test_client()
    kinds = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    for url in found:
        if url.endswith(".png"):  # what systems ask for by its own name
            continue
        plain, packed = client.get(url), client.get(url, headers={"Accept-Encoding": "br, gzip"})
        assert (plain.status_code, plain.mimetype) == (200, kinds[url.rpartition(".")[2]])
        assert plain.headers["Cache-Control"] == packed.headers["Cache-Control"] == FOR_GOOD
        assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"
        assert "Set-Cookie" not in plain.headers
        assert ("Content-Encoding" in plain.headers, packed.headers["Content-Encoding"]) == (False, "gzip")
        assert gzip.decompress(packed.data) == plain.data
        assert len(packed.data) < len(plain.data) * 0.6
        refused = client.get(url, headers={"Accept-Encoding": "gzip;q=0"})
        assert "Content-Encoding" not in refused.headers


def test_a_digest_that_is_not_the_files_own_is_not_found(app: Flask, browser: Browser) -> None:
    """And that answer is not kept; nor is a file served under its digest that no page uses."""
    client = app.test_client()
    url = next(url for url in assets(browser.client.get("/you").get_data(as_text=True)) if url.endswith("main.js"))
    digest = url.split("/")[2]
    for wrong in (
        f"/static/{'0' * 16}/main.js",
        f"/static/{digest}/main.css",
        f"/static/{digest}/api.js",
        f"/static/{digest}/../../app.py",
    ):
        answer = client.get(wrong)
        assert (answer.status_code, answer.headers["Cache-Control"]) == (404, "no-store"), wrong
        answer.close()


def test_a_file_under_its_own_name_is_asked_for_again_each_time(app: Flask) -> None:
    """Nobody keeps what may change under its URL."""
    with app.test_client().get("/static/api.js") as answer:
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-cache")


@pytest.mark.parametrize(
    ("changed", "has_another_url"),
    [
        ("logo.svg", {"logo.svg"}),
        ("install.css", {"main.css"}),
        ("chat.js", {"main.js", "terminal.js", "editor.js", "browser.js", "rare.js"}),
        ("planner.js", {"rare.js"}),
        ("terminal-line.js", {"terminal.js"}),
        ("editor-dress.js", {"editor.js"}),
        ("vendor/xterm/xterm.css", {"terminal.css"}),
        ("vendor/xterm/xterm.mjs", {"vendor/xterm/xterm.mjs", "terminal.js"}),
    ],
)
def test_what_changed_has_another_url_and_nothing_else(tmp_path: Path, changed: str, has_another_url: set[str]) -> None:
    """Also whatever names it."""
    copy = tmp_path / "static"
    shutil.copytree(FOLDER, copy)
    before = Statics(copy)
    with (copy / changed).open("a", encoding="utf-8") as file:
        file.write("p{}" if changed.endswith("css") else "\n;\n")
    after = Statics(copy)
    scripts = "main.js terminal.js editor.js browser.js rare.js vendor/xterm/xterm.mjs vendor/xterm/addon-fit.mjs"
    names = f"logo.svg main.css terminal.css {scripts}"
    assert {name for name in names.split() if before.url_of(name) != after.url_of(name)} == has_another_url


def test_every_style_of_ours_is_in_one_of_them() -> None:
    """None was forgotten in a list."""
    known = {"main.css", "terminal.css", "browser.css", "mcp.css"}
    named = {
        name
        for entry in known
        for name in re.findall(r'@import "\./([\w/.-]+)"', (FOLDER / entry).read_text(encoding="utf-8"))
    }
    assert {path.name for path in FOLDER.glob("*.css")} == known | {name for name in named if "/" not in name}


def test_every_script_of_ours_is_in_one_alone() -> None:
    """What the terminal, the editor and some pages share with every page runs once. Frames have theirs."""
    main = bundle_script(FOLDER, "main.js", url=theirs)
    terminal = bundle_script(FOLDER, "terminal.js", url=theirs, beside=dict.fromkeys(main.modules, "/main.js"))
    editor = bundle_script(FOLDER, "editor.js", url=theirs, beside=dict.fromkeys(main.modules, "/main.js"))
    rare = bundle_script(FOLDER, "rare.js", url=theirs, beside=dict.fromkeys(main.modules, "/main.js"))
    browser = bundle_script(FOLDER, "browser.js", url=theirs, beside=dict.fromkeys(main.modules, "/main.js"))
    ours = (*main.modules, *terminal.modules, *editor.modules, *rare.modules, *browser.modules)
    all_modules = (*ours, "sw.js", "diagram-frame.js")
    assert sorted(all_modules) == sorted(path.name for path in FOLDER.glob("*.js"))
    assert 'import { $api } from "/main.js";' in terminal.text
    assert 'import { Terminal } from "/theirs/vendor/xterm/xterm.mjs";' in terminal.text


def test_modules_are_put_together_in_the_order_of_their_imports(tmp_path: Path) -> None:
    """Each once, its names its own."""
    folder = folder_of(
        tmp_path,
        a='import { b } from "./b.js";\nimport {\n  c,\n} from "./c-d.js";\n\nb(c);\n',
        b='import { c } from "./c-d.js";\n\nexport function b() {}\n',
        **{"c-d": "export const c = 1; // the end"},
    )
    assert bundle_script(folder, "a.js", url=theirs).text.splitlines() == [
        "const $c_d = (() => {",
        "const c = 1;",
        "return { c };",
        "})();",
        "const $b = (() => {",
        "const { c } = $c_d;",
        "function b() {}",
        "return { b };",
        "})();",
        "const $a = (() => {",
        "const { b } = $b;",
        "const { c } = $c_d;",
        "b(c);",
        "return {  };",
        "})();",
        "export { $c_d, $b, $a };",
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("export default 1;\n", "export default 1;"),
        ("export let a = 1;\n", "export let a"),
        ("const a = 1;\nexport { a };\n", "export { a };"),
        ('import a from "./b.js";\n', "import a from"),
        ('import * as a from "./b.js";\n', "import * as a"),
        ('import { b as c } from "./b.js";\n', "'b as c'"),
        ('import { b } from "elsewhere";\n', "import { b }"),
        ('  import { b } from "./b.js";\n', "import { b }"),
        ('const a = await import("./b.js");\n', "import("),
        ("const a = import.meta.url;\n", "import.meta"),
        ('import { nothing } from "./b.js";\n', "does not export nothing"),
        ('import { c } from "./c.js";\n', "a.js imports c.js imports a.js"),
        ('import { x } from "./x.js";\n', "x.js can't be read"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, text: str, why: str) -> None:
    """Rather than put together wrongly."""
    c = 'import { d } from "./a.js";\n\nexport const c = 1;\n'
    folder = folder_of(tmp_path, a=text + "export const d = 1;\n", b="export const b = 1;\n", c=c)
    with pytest.raises(Unbundled, match=re.escape(why)):
        bundle_script(folder, "a.js", url=theirs)


@pytest.mark.parametrize("text", ['@import url("b.css");', "a { background: url(b.png) }", '@import "./b.css" print;'])
def test_a_style_that_names_other_files_is_refused(tmp_path: Path, text: str) -> None:
    """Its names would lead elsewhere; what is in the text itself is fine."""
    (tmp_path / "a.css").write_text(text, encoding="utf-8")
    with pytest.raises(Unbundled, match=re.escape(text.partition(" {")[0][:4] if "@" in text else "url(b.png)")):
        bundle_stylesheet(tmp_path, "a.css")
    (tmp_path / "b.css").write_text('b { background: url("data:,") }\n', encoding="utf-8")
    (tmp_path / "a.css").write_text('@import "./b.css";\na {}\n', encoding="utf-8")
    assert bundle_stylesheet(tmp_path, "a.css") == 'b{background: url("data:,")}a{}'
