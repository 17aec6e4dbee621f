"""Docker as an engine.

engine.py      puts the parts together
cubicles.py    one agent's container each
helpers.py     helper containers: throw-away, or alive with a stream
exec.py        programs and terminals in a cubicle that runs
images.py      the images of all of them
hardening.py   creates every container and every exec: what they are denied
seccomp.py     the system calls that are let through
stream.py      bytes to and from a container
client.py      the library's errors as our own
"""
