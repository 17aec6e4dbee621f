"""Packages of Python and Node for cubicles: ``resolver`` looks them up and fetches them in helper containers,
``package_store`` lays them into a read-only folder of the cubicle, ``installs`` asks the person about the whole list in
between. The host runs nothing of them."""
