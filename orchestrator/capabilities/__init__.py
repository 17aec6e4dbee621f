"""What an agent may set in motion on the host: ``table`` says what a capability is, ``calls`` carries calls out, once
each, however they came: as a command inside the cubicle or as a panel action of an answer."""
