"""Videos of animated text for agents: a wish is a row, a program of ours draws it in a container without network, which
is thrown away, and the file is put into the cubicle's ``out/``, from where it is delivered as every other."""
