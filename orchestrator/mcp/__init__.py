"""A client of the Model Context Protocol: synchronous, bounded, of all revisions from 2024-11-05 to 2026-07-28.

    models.py        what a server offers, asks and answers
    faults.py        what can go wrong with one
    session.py       one conversation: agreeing on a protocol, lists, calls
    hearing.py       what a server says meanwhile: progress, news, questions
    questions.py     forms for a person
    entries.py       entries of lists, one by one
    results.py       parts of results
    messages.py      messages as bytes and back, bounded
    transport.py     the seam between a session and its wire
    stdio.py         a server that is a program: one message a line
    http.py          a server at a URL
    two_channels.py  the same, as servers of 2024-11-05 speak
    side_stream.py   the stream on which older servers ask questions
    wire.py          single HTTP requests to addresses that were checked
    events.py        server-sent events
    headers.py       what the newest protocol says in headers
    oauth.py         logins: begun, made by a person, finished, kept alive
    oauth_models.py, oauth_discovery.py, oauth_http.py    what they are made of, where they are made, their requests

A server is a stranger. Every message is bounded before it is read as JSON, and no schema of a server's is evaluated.
"""
