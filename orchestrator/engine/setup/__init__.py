"""What the host needs before a cubicle can run. Each part does nothing if what it installs is there.

cubicle_image.py  the cubicle's image, rebuilt when what it is made of changed
base_image.py     the Debian that the image starts from
docker_setup.py   a container engine that answers
apt.py            Debian packages, installed on the host
test_tools.py     what the test suite needs beside that
machine.py        the host's commands and facts, behind a protocol that tests replace
progress.py       what a person sees meanwhile
"""
