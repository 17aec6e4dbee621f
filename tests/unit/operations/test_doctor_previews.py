"""``orchestrator.operations.doctor.previews``: it answers and is ours, nothing answers, something else does."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

from orchestrator.core.db.database import Store
from orchestrator.core.finding import FindingState
from orchestrator.operations.doctor.previews import examine_previews
from tests.support.preview_fixture import preview_install


def test_it_answers(tmp_path: Path) -> None:
    """Also where it listens on every address."""
    store = Store(tmp_path / "hermit.db")
    with preview_install(tmp_path, store) as install:
        assert examine_previews("127.0.0.1", install.port).state is FindingState.OK
        assert examine_previews("0.0.0.0", install.port).state is FindingState.OK
    store.close()


def test_nothing_answers() -> None:
    """That is a warning with the setting to change."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found = examine_previews("127.0.0.1", probe.getsockname()[1])
    assert (found.state, "refused" in found.text.lower()) == (FindingState.WARN, True)
    assert "HERMIT_PREVIEW_PORT" in found.fix


def test_somebody_else_answers() -> None:
    """In HTTP or not."""
    for said in (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"220 mail.example ESMTP\r\n"):
        with socket.create_server(("127.0.0.1", 0)) as server:
            answering = threading.Thread(target=_answer, args=(server, said))
            answering.start()
            assert examine_previews("127.0.0.1", server.getsockname()[1]).state is FindingState.WARN
            answering.join()


def _answer(server: socket.socket, said: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(4_096)
        connection.sendall(said)
