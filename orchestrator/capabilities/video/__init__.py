"""Videos of animated text: a request is a row, ``renderer`` draws it in a helper container without a network, and the
file is put into ``out/``, from where it is delivered like any other."""
