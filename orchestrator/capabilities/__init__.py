"""What an agent may set in motion on the host. Each capability is a folder that describes itself in ``capability.py``;
``table`` is the list of them, ``registry`` what is looked up in it, and ``calls`` carries calls out, once each, however
they came: as a command inside the cubicle or as a panel action of an answer."""
