"""What an agent may set in motion on the host: one folder for each capability.

Each describes itself in its ``capability.py``: what it is asked with, its command and help, its line in the prompt, its
switch, who decides, how a person is asked, what it does. ``table`` is the list of them; a new one is added there and
here. ``registry`` looks things up in that list. ``calls`` carries calls out, once each, however they came: as a
*hermit* command inside the cubicle or as a panel action of an answer. ``actions/`` reads and writes panel actions.
A folder holds the rows and the work of its capability too, and imports no other folder but ``delivery/``.

    ask/         a question to the person
    browser/     a browser of its own, after a person agreed to each site
    calendar/    entries that become turns
    checkpoint/  points of time of its files, to look at, name and go back to
    delivery/    files in out/, delivered to the person
    downloads/   a file from the internet, after a person agreed
    lessons/     what fixed a failure, told when a command fails like that again
    memory/      facts that outlive a conversation
    packages/    packages of Python and Node, after a person agreed
    plan/        what it is about to do, told to whoever watches
    recall/      what was said in earlier conversations
    roll/        dice that the host throws
    search/      pages of the web, by a search engine that the operator set up
    status/      budget, disk and what comes next
    video/       an animated video
"""
