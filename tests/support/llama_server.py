"""A real language model behind an OpenAI-compatible server, as a process: ``python -m tests.support.llama_server
MODEL.gguf``.

Prints its address when it answers, and ends when stdin does.
"""

from __future__ import annotations

import sys

import xllamacpp


def main(model: str) -> None:
    """Serve ``model`` on a free port of loopback."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.n_ctx = 1600
    parameters.n_predict = 200  # so small a model may talk without end
    parameters.n_parallel = 1
    parameters.port = 0
    parameters.cpuparams.n_threads = 1  # two that share a busy processor wait for each other all the time
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
