"""Pictures of web apps, for galleries and chats: what agents made is shown by a browser in a container of its own that
is thrown away, never on the host. The host looks at the first bytes of what that brings, and hands it on.
"""
