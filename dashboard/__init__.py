"""The dashboard and the HTTP API: what people's browsers and programs see of the install.

``app`` puts it together · ``api/`` JSON, a blueprint a noun · ``pages/`` HTML for people · ``hosts``, ``auth``,
``origin``, ``csrf``, ``cookies``, ``headers`` one security idea each · ``shapes`` and ``times`` what things look
like outside · ``faults`` what is told when something fails · ``bundles`` and ``statics`` the scripts and styles that
pages load. It calls :class:`orchestrator.services.Services` and
nothing below it.
"""
