"""What people open in a browser beside the dashboard.

previews/     the web apps in an agent's ``www/``, on an origin of their own
thumbnails/   pictures of these apps, taken in a throw-away container
terminals/    a shell inside a cubicle, for a person
pdf_pages.py  a PDF that an agent made, as pictures
"""
