"""Files of a workspace over the API, as tests send and fetch them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from werkzeug.test import TestResponse

from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture
from tests.support.openapi_check import check
from tests.unit.conftest import Api

FILES = "/agents/crab/files"


def prepared(webapp: AppFixture, user: int) -> Path:
    """A person's workspace with ``crab``."""
    key = CubicleKey("crab", user)
    return webapp.services.workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid()).out.parent


def put(api: Api, path: str, content: bytes, **headers: str) -> TestResponse:
    """An upload."""
    given = {"Authorization": f"Bearer {api.token}", **headers}
    return api.client.put(f"/api{FILES}/{path}", data=content, headers=given, buffered=True)


def fetch(api: Api, path: str) -> TestResponse:
    """A download, by the path as it is listed."""
    given = {"Authorization": f"Bearer {api.token}"}
    answer = api.client.get(f"/api{FILES}/{path}", headers=given, buffered=True)
    check("GET", f"/api{FILES}/{path}", answer.status_code, answer.get_json(silent=True))
    return answer


def entries(api: Api, folder: str) -> list[dict[str, Any]]:
    """What is in a folder."""
    found: list[dict[str, Any]] = api.get(f"{FILES}/{folder}")["entries"]
    return found
