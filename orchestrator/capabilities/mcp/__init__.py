"""Tools of MCP servers for agents: `hermit mcp`.

    capability       the description: the command, how a person is asked
    deeds            what a command comes to: words at once, a question, or a job
    tool_calls       the job: one call, and what became of it
    call_records     a call as the row of its job has it
    arguments        from words to the arguments of a tool
    tool_text        what an agent reads of servers and tools
    tool_search      which tool fits some words
    result_text      what an agent reads of a result, and what becomes a file
    secret_search    whether a result holds a secret
    sessions         which servers run now, for which cubicle
    server_process   one server in its container
    server_files     the packages of servers

A server is a stranger. Its words are shown where an agent asks for them, as a stranger's, and enter no prompt.
"""
