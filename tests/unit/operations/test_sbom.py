"""``orchestrator.operations.sbom``, the locks and the lists of what is others': nothing is in use that is not
named, pinned and hashed, and the bill of materials says all of it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import tomllib
from datetime import UTC, datetime
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from orchestrator.core.errors import ConfigError
from orchestrator.operations.sbom import (
    LOCKS,
    VENDORED,
    cyclonedx_document,
    licence_of,
    of_repository,
    read_debian,
    read_lock,
)

ROOT = Path(__file__).resolve().parents[3]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
DIRECT = [Requirement(text) for text in PROJECT["project"]["dependencies"]]
FOR_MEANING = [Requirement(text) for text in PROJECT["project"]["optional-dependencies"]["embeddings"]]
FOR_TESTS = [Requirement(text) for text in PROJECT["dependency-groups"]["test"]]
WITH_FLASK = {"werkzeug", "markupsafe", "jinja2"}
"""Parts of Flask with packages of their own, of the same makers and released with it."""
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def _locked(name: str) -> dict[str, Version]:
    materials = read_lock((ROOT / name).read_text(encoding="utf-8"))
    assert all(one.hashes for one in materials), [one.name for one in materials if not one.hashes]
    return {one.name: Version(one.version) for one in materials}


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements.lock", DIRECT),
        ("requirements-test.lock", [*DIRECT, *FOR_TESTS]),
        ("requirements-embeddings.lock", FOR_MEANING),
    ],
)
def test_a_lock_is_in_step_with_what_is_asked_for(lock: str, wanted: list[Requirement]) -> None:
    """Each direct dependency is pinned, with hashes, to a version that ``pyproject.toml`` allows."""
    locked = _locked(lock)
    assert {one.name: one.specifier.contains(locked[one.name.lower()], prereleases=True) for one in wanted} == {
        one.name: True for one in wanted
    }


def test_tests_run_what_runs() -> None:
    """Everything of the one lock is in the lock for tests in the same version."""
    tested = _locked("requirements-test.lock")
    assert {name: tested.get(name) for name in _locked("requirements.lock")} == _locked("requirements.lock")


def test_everything_that_is_imported_is_asked_for() -> None:
    """No module is used that is only there because something else needs it, but for Flask's own parts."""
    of_module = packages_distributions()
    used: set[str] = set()
    for place in ("orchestrator", "dashboard", "crab"):
        for path in (ROOT / place).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module:
                    used.add(node.module.partition(".")[0])
                elif isinstance(node, ast.Import):
                    used |= {alias.name.partition(".")[0] for alias in node.names}
    found = {name.lower().replace("_", "-") for module in used for name in of_module.get(module, ())}
    known = {one.name.lower() for one in [*DIRECT, *FOR_MEANING]}
    assert found - known - WITH_FLASK == set()


def test_the_page_has_every_dependency_and_its_reason() -> None:
    """And none that there is no more."""
    rows = re.findall(r"^\| ([a-z][^|`]*) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
    reasons = {name.strip(): (what, why) for names, what, why in rows for name in names.split(",")}
    reasons.pop("package", None)
    reasons.pop("file", None)
    assert set(reasons) == {one.name for one in DIRECT}
    assert all(len(why) > 10 for _, why in reasons.values())
    assert [one.name for one in [*FOR_MEANING, *FOR_TESTS] if one.name.removeprefix("types-") not in PAGE] == []


def test_every_vendored_file_is_on_the_list_as_it_was_published() -> None:
    """With its hash; and each that scripts or pages use is on the page as well."""
    there = {
        str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in ("dashboard/static/vendor", "tests/vendor")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    }
    assets = tomllib.loads((ROOT / VENDORED).read_text(encoding="utf-8"))["asset"]
    said = {path: digest for asset in assets for path, digest in asset["files"].items()}
    assert there == said
    for asset in assets:
        assert asset["version"]
        assert asset["licence"]
        assert asset["version"] in asset["source"]
        assert asset["name"] in PAGE


def test_the_bill_names_everything_once() -> None:
    """Every locked package and vendored file, under names of its own, with hashes and with the licences that are known;
    and the same materials have the same number."""
    materials = of_repository(ROOT)
    bill = cyclonedx_document(materials, version="1.2", now=NOW)
    assert (bill["bomFormat"], bill["specVersion"], bill["metadata"]["component"]["version"]) == (
        "CycloneDX",
        "1.5",
        "1.2",
    )
    parts = {part["purl"]: part for part in bill["components"]}
    assert len(parts) == len(bill["components"])
    locked = {f"pkg:pypi/{name}@{version}" for lock in LOCKS for name, version in _locked(lock).items()}
    assert locked <= set(parts)
    assert all(part["hashes"] for part in bill["components"])
    assert [part["name"] for part in bill["components"] if part["purl"].startswith("pkg:npm/")] != []
    flask = next(part for purl, part in parts.items() if purl.startswith("pkg:pypi/flask@"))
    assert flask["licenses"] == [{"license": {"name": "BSD-3-Clause"}}]
    assert next(part for purl, part in parts.items() if "numpy" in purl)["scope"] == "optional"
    assert set(bill["dependencies"][0]["dependsOn"]) == set(parts)
    assert cyclonedx_document(materials, version="1.2", now=NOW) == json.loads(json.dumps(bill))


def test_what_is_not_installed_has_no_licence() -> None:
    """It is left out, not guessed."""
    assert licence_of("hermit-no-such-package") == ""
    (one,) = read_lock("hermit-no-such-package==1.0 ; sys_platform == 'win32' \\\n    --hash=sha256:" + "a" * 64)
    assert (one.where, one.hashes, one.licence) == ("sys_platform == 'win32'", ("a" * 64,), "")
    assert "licenses" not in cyclonedx_document([one], version="1", now=NOW)["components"][0]


@pytest.mark.parametrize(
    "line", ["flask", "flask>=3", "-r other.lock", "git+https://example.com/x", "--hash=sha256:" + "a" * 64]
)
def test_a_lock_that_pins_nothing_is_refused(line: str) -> None:
    """Nothing is left out of the bill in silence."""
    with pytest.raises(ConfigError, match="pins nothing"):
        read_lock(line)


def test_debian_packages_have_their_names() -> None:
    """As scanners know them."""
    (one,) = read_debian("bash\t5.2.15-2+b7\tamd64\nno package\n", "debian-12")
    assert (one.name, one.version) == ("bash", "5.2.15-2+b7")
    assert one.purl == "pkg:deb/debian/bash@5.2.15-2%2Bb7?arch=amd64&distro=debian-12"
