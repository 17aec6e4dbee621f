"""A client of the Model Context Protocol: synchronous, bounded, of all revisions from 2024-11-05 to 2026-07-28.

    models.py     what a server offers, asks and answers
    faults.py     what can go wrong with one
    session.py    one conversation: agreeing on a protocol, lists, calls, questions
    transport.py  the seam between a session and its wire
    stdio.py      a server that is a program: one message a line
    http.py       a server at a URL: streamable HTTP, and the two channels of old servers

A server is a stranger. Every message is bounded before it is read as JSON, and no schema of a server's is evaluated.
"""
