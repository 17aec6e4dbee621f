"""What keeps an install healthy.

``watchdog`` ends turns and cubicles that hang, ``idle_stop`` stops idle cubicles, ``retention`` deletes what is old,
``deletion`` removes an agent or a user with everything that is theirs, ``metrics`` and ``usage_samples`` count,
``sbom`` lists what the product is made of, ``mcp_packages`` has the packages of MCP servers.
``quota/`` measures disks, ``backup/`` is everything in one file and back,
``agent_import/`` brings an agent over from another product,
``doctor/`` examines and says how to fix what it finds, ``proof/`` lets an agent try the ways out of its cubicle.
"""
