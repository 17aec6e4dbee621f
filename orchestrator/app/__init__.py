"""The composition root: the one place that names concrete classes.

``app`` builds the parts, starts them in order and stops them in reverse; the ``wiring`` modules build one group of
parts each. No other module imports this package, but for the command line.
"""
