"""Pictures of web apps, for galleries and chats. What agents made is rendered in a helper container that is thrown
away, never on the host: ``app_bundle`` packs the app, ``renderer`` runs the container, and the host checks the first
bytes of the picture (``png``) and hands it on.
"""
