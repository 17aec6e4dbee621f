# The browser's image: what takes a picture of a web app, and what draws the pages of a PDF, in a container without a
# network that is thrown away each time. No cubicle runs it. The browser, Poppler and the fonts are from Debian's own
# archive.

ARG BASE=debian:bookworm-slim

FROM ${BASE}
# The apt settings of the host (a proxy, say), one `-o Name=Value` each; usually empty.
ARG APT_OPTIONS=""
COPY cubicle/install /usr/local/sbin/cubicle-install
RUN /usr/local/sbin/cubicle-install chromium-headless-shell fonts-dejavu-core fonts-liberation2 fonts-noto-color-emoji poppler-utils python3
ENV LANG=C.UTF-8 HOME=/tmp PATH=/usr/bin:/bin
COPY cubicle/browser.py cubicle/pages.py /app/
WORKDIR /tmp
USER 1000:1000
CMD ["/usr/bin/python3", "-I", "/app/browser.py"]
