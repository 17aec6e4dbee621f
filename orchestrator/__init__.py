"""The host side of HermitShell: it decides, records and delivers; nothing made inside a cubicle is trusted here.

Packages from the top down. A package imports only those below it (``tests/test_layers.py`` holds this order):

    cli/            the commands of ./hermit
    app/            the composition root: builds every part, starts and stops them
    channels/       chat apps: one shared core, one folder for each app
    services.py     what the dashboard, the API and chat apps may call
    apps/           what people open in a browser: previews of web apps, thumbnails, terminals, PDF pages
    operations/     what keeps an install healthy: watchdog, disk quota, backups, doctor, retention, metrics
    door/           the cubicle's one way out: sockets, HTTP, the API inside, the reverse tunnel
    capabilities/   what an agent may set in motion on the host: one folder for each, and the jobs they start
    turns/          the turn queue, steps, history, summaries, live output
    llm/            the model proxy, budgets, prices, providers
    jobs/           work in the background: one table and one worker pool
    mcp_servers/    MCP servers that operators added: fields, secrets, what each said, what was decided
    approvals/      questions to a person about one exact text, grants, the command policy
    checkpoints/    points of time of the workspaces: taken, compared, gone back to
    agents/         agents, users, cubicles, settings of the install
    live_browsers/  live browsers of cubicles: one container each, its life, its files
    engine/         containers: the protocol, one hardening profile, Docker, the set-up of the host
    gate/           the way out of helper containers: a proxy that asks a policy before anything is looked up
    browser/        a browser that agents use: driven by its DevTools protocol, told of as text
    mcp/            a client of the Model Context Protocol: other people's tools, as data
    web/            fetching from the public internet, and nothing else
    files/          the only code that opens what agents made
    languages/      the texts of pages and notifications in several languages, dates and numbers
    core/           shared ground: models, errors, hooks, settings, the database

``docs/architecture.md`` follows a message, a command and a file through them.
"""
