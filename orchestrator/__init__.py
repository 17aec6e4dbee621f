"""The host side of HermitShell: it decides, records and carries; nothing made inside a cubicle is trusted here.

Floors, imports only point down (``tests/test_layers.py`` holds them):

    8  __main__, commands, app          commands and the composition root
    7  ../dashboard                     surfaces that people read
    6  services                         what surfaces may call
    4  turns, door, llm.proxy           the host half of the loop
    3  cubicles, approvals, budget, …   the rules
    2  store, workspace, engine, llm.upstreams   the outside world, wrapped
    1  config, policy, pricing, …       pure decisions
    0  nouns, errors                    data
"""
