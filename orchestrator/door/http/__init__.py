"""An HTTP/1.1 server with strict framing, bounds on everything a client sends, and streamed bodies. The door and the
dashboard use it; ``docs/architecture.md`` says why it is our own."""
