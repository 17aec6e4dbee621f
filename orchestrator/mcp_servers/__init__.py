"""MCP servers: which there are, what each said that its tools do, and what an operator decided about each of them.

    models.py    a server, its tools, what else it says
    fields.py    what each field of a server may be; pure
    rows.py      their rows
    pins.py      what a server says now beside what an operator has seen; pure
    wording.py   a difference in words that a person can read; pure
    secrets.py   the values of secrets: a file in HERMIT_HOME, written here, read for a start of the server alone
    servers.py   McpServers: adding, changing, removing, deciding, recording what a server says
    checks.py    a server is started once, to see what it offers
    imports.py   the files of other programs that list servers, as proposals; pure

Every word of a server's is a claim. A tool that is new or has changed is not called before an operator has seen how.
"""
