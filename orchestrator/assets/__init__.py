"""Assets: files from the internet that an agent asks for, a person agrees to, and the host fetches.

``words`` says what a person is shown and what the agent is told, ``assets`` asks and hears the answer, ``endings`` ends
what was asked for, ``downloads`` fetches in threads of its own, ``landing`` puts a file into ``in/`` once. Before
somebody has agreed, no name is looked up and nothing is connected.
"""
