"""The dashboard and the HTTP API: what people's browsers and programs see of HermitShell.

``app`` puts it together · ``api/`` JSON, one blueprint for each subject · ``pages/`` HTML for people · ``hosts``,
``auth``, ``origin``, ``csrf``, ``cookies`` and ``headers`` one part of security each · ``shapes`` and ``times`` what
things look like outside · ``faults`` what is said when something fails · ``bundles`` and ``statics`` the scripts and
styles that pages load · ``openapi_…`` the description of the API. It calls
:class:`orchestrator.channels.services.DashboardServices` and nothing below it.
"""
