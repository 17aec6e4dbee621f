"""Containers: what the program asks of whoever runs them, and Docker's answer. Nothing else starts or enters one.

protocol.py                what an engine can be asked: cubicles, helpers, exec, images
helpers.py, tty.py         kinds of helper containers, a terminal's stream
helper_folder.py           the two private folders of a helper container
sandbox_probe.py           tests a cubicle's isolation, with sandbox_probe_inside.py on its inside
browser_sandbox.py         tries whether Chromium's own sandbox stands in a container
kill_session.py            ends what was started in a terminal; runs inside
docker/                    the engine that there is; with setup/ the only importer of its library
setup/                     what has to stand on the host first: Docker, base image, cubicle image
"""
