"""Pages go compressed to browsers that take it: they are a tenth of their size then, which is what a phone waits for.

A page holds its reader's token beside words of others, and compression tells by the length of an answer what is in it
twice (BREACH). That needs many answers that a stranger brings about: the login cookie is ``SameSite=Strict``, so
no other site can have one of these pages fetched for a reader.
"""

from __future__ import annotations

import gzip

from flask import Response, request

_LEAST_BYTES = 1000
"""What is shorter fits into one packet anyway."""
_LEVEL = 5


def compress_page(response: Response) -> Response:
    """The answer, compressed where it is a page and the browser takes it."""
    is_page = response.mimetype == "text/html" and not response.is_streamed
    if not is_page or request.method == "HEAD" or response.headers.get("Content-Encoding"):
        return response
    response.vary.add("Accept-Encoding")
    body = response.get_data()
    if len(body) < _LEAST_BYTES or request.accept_encodings.quality("gzip") <= 0:
        return response
    response.set_data(gzip.compress(body, _LEVEL, mtime=0))
    response.headers["Content-Encoding"] = "gzip"
    return response
