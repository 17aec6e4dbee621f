"""Web apps of agents, shown on an origin of their own: ``tickets`` says who may see which app until when, ``origins``
where that is, ``policy`` what an app may do there, ``apps`` which there are. The server knows no login and no cookie.
"""
