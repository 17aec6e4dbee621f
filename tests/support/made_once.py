"""What every test would make again, always the same and slowly: an empty database of today's shape, the certificates
that are trusted, the routes that Flask reads from the addresses of its pages, the code that templates become, the
bundles of
scripts and stylesheets.

Each is made once in a process, by the code that makes it for an install. Tests about making them call that code. And
passwords are hashed in the least time that there is: ``test_users`` looks at what an install takes.
"""

from __future__ import annotations

import contextlib
import functools
import os
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import argon2
import httpx
import pytest
from httpx._transports import default
from jinja2 import Environment
from werkzeug.routing import Rule

from dashboard import statics
from orchestrator.core.db.database import Store
from orchestrator.web.fetcher import tls_context


def put_empty_database(path: Path) -> None:
    """An empty database of today's shape lies at ``path``, unless there is one already."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_bytes(_empty_database())


@functools.cache
def _empty_database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        path.touch(mode=0o600)
        Store(path).close()
        return path.read_bytes()


def _started_empty(start: Callable[..., None]) -> Callable[..., None]:
    def start_store(store: Store, path: Path, **options: Any) -> None:
        with contextlib.suppress(OSError):  # what keeps a file from being made is for the store to explain
            put_empty_database(path)
        start(store, path, **options)

    return start_store


@functools.cache
def usual_certificates() -> ssl.SSLContext:
    """What the host's own fetches trust, for apps that fetch nothing."""
    return tls_context()


def share_for_the_session(patch: pytest.MonkeyPatch) -> None:
    """What is always the same is made once, and passwords are hashed quickly."""
    quick_hasher = functools.partial(argon2.PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
    patch.setattr(argon2, "PasswordHasher", quick_hasher)
    patch.setattr(Store, "__init__", _started_empty(Store.__init__))
    patch.setattr(Environment, "compile", _shared_templates(Environment.compile))
    patch.setattr(Rule, "compile", _shared_routes(Rule.compile))
    patch.setattr(statics, "read_statics", functools.cache(statics.read_statics))
    patch.setattr(default, "create_ssl_context", _shared_contexts(httpx.create_ssl_context))


def _shared_routes(compile_rule: Callable[[Rule], None]) -> Callable[[Rule], None]:
    made: dict[object, dict[str, Any]] = {}
    read = ("_parts", "_trace", "_converters", "arguments")

    def compile_route(rule: Rule) -> None:
        assert rule.map is not None
        if rule.defaults or rule.map.host_matching:
            compile_rule(rule)
            return
        key = (rule.rule, rule.subdomain, rule.merge_slashes, tuple(rule.map.converters.items()))
        if key not in made:
            compile_rule(rule)
            builders = {name: getattr(rule, name).__func__ for name in ("_build", "_build_unknown")}
            made[key] = {**{name: getattr(rule, name) for name in read}, **builders}
            return
        known = made[key]
        for name in read:
            setattr(rule, name, known[name])
        for name in ("_build", "_build_unknown"):
            setattr(rule, name, known[name].__get__(rule, None))

    return compile_route


def _shared_templates(compiled: Callable[..., Any]) -> Callable[..., Any]:
    made: dict[object, Any] = {}

    def compile_template(environment: Environment, source: Any, *names: Any, **options: Any) -> Any:
        if not isinstance(source, str) or options:
            return compiled(environment, source, *names, **options)
        settings = (environment.trim_blocks, environment.lstrip_blocks, tuple(environment.extensions))
        key = (source, names, type(environment), settings, tuple(sorted(environment.filters)))
        if key not in made:
            made[key] = compiled(environment, source, *names)
        return made[key]

    return compile_template


def _shared_contexts(make: Callable[..., ssl.SSLContext]) -> Callable[..., ssl.SSLContext]:
    @functools.cache
    def usual(_place: tuple[str | None, ...], *, trust_env: bool) -> ssl.SSLContext:
        return make(trust_env=trust_env)

    def create_ssl_context(verify: object = True, cert: object = None, *, trust_env: bool = True) -> ssl.SSLContext:
        if verify is not True or cert is not None:
            return make(verify=verify, cert=cert, trust_env=trust_env)
        return usual((os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")), trust_env=trust_env)

    return create_ssl_context
