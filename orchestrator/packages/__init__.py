"""Packages of Python and Node for cubicles: looked up by a courier in a container that is thrown away, fetched by one
when a person agreed to the whole list, laid into a read-only folder of the cubicle. The host runs nothing of them."""
