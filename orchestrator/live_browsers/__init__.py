"""Live browsers: at most one for each cubicle, in a helper container of its own, started when it is first asked for,
paused between calls, ended when nobody has asked for a while.

models.py            limits, and what this package asks of the gate and of the driver
cubicle_browser.py   one browser from its start to its end
remote_browser.py    the same of one that is at a place of somebody else's, in no container of ours
browsers.py          all of them, for callers in threads: which there are, and who has to give way
file_exchange.py     files that go into a browser and come out of it

A browser lives with the orchestrator: what is left of another run is removed at the start. All that comes out of a
container is a stranger's word.
"""
