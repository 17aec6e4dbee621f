"""A browser that is driven by its DevTools protocol: what an agent sees of it, and what it can do with it.

The rest of the product makes a ``session.BrowserSession`` from a ``policy.BrowserPolicy`` (what may be opened,
downloaded, uploaded, and which secrets there are) and calls ``attend(reader, writer)`` for each connection that the
browser's relay makes.

    session.py          one browser as others use it; every deed returns a ``reports.BrowserReport``
    reports.py          what the agent is told, as text and as JSON
    telling.py          what the agent has not seen yet, without secrets
    policy.py           what the caller decides, and settings
    faults.py           the errors, each with a sentence for the agent
    supervisor.py       what is known of a browser, kept true by its events
    setup.py            what a browser and its pages are told first
    tabs.py             pages and the sessions to speak with them
    frames.py           their frames, in whatever process
    dialogs.py          alert, confirm, prompt: open ones, and who closed the last
    dialog_bridge.py    dialogs for browsers that close them by themselves
    dialog_notes.py     such dialogs, when the connection was lost meanwhile
    console.py          what pages wrote to the console
    downloads.py        files that pages give
    page_calls.py       commands to a page, which never wait behind a dialog or a crash
    snapshots.py        the text of a page with all its frames (by snapshot.js); refs to elements
    snapshot_text.py    a piece of that text, a search in it, what changed
    navigation.py       addresses, back, tabs, waiting
    pointer.py          the mouse
    keyboard.py         typing and keys
    uploads.py          files and secrets for pages
    pictures.py         screenshots, PDF, images
    raw_methods.py      DevTools methods that an agent may call as they are
    screencast.py       a person's view and hands
    storage_state.py    cookies and localStorage, to be kept
    remote_address.py   where a browser of somebody else's is
    web_socket.py       the connection to it
    own_context.py      the part of it that is one cubicle's
    request_guard.py    what its pages may ask for
    wire.py             commands, answers and events over a connection
    noise.py            pages that make the browser talk without end
    fields.py           reading what a hostile peer sent

It knows nothing of containers, approvals or the database. Everything that comes from the browser is an adversary's: it
is read within bounds, never trusted to have a field or a type, and nothing in it ends the reading.
"""
