# The browser's image: what takes a picture of a web app, what draws the pages of a PDF, each in a container that is
# thrown away, and the browser that an agent uses, in one that lives longer. None has a network, and no cubicle runs it.
# The browser, Poppler and the fonts are from Debian's own archive; WenQuanYi Micro Hei has the Chinese, Japanese and
# Korean letters in 5 MB, Loma the Thai ones.

ARG BASE=debian:bookworm-slim

FROM ${BASE}
# The apt settings of the host (a proxy, say), one `-o Name=Value` each; usually empty.
ARG APT_OPTIONS=""
COPY cubicle/install /usr/local/sbin/cubicle-install
RUN /usr/local/sbin/cubicle-install chromium-headless-shell fonts-dejavu-core fonts-liberation2 fonts-noto-color-emoji fonts-tlwg-loma-ttf fonts-wqy-microhei poppler-utils python3
ENV LANG=C.UTF-8 HOME=/tmp PATH=/usr/bin:/bin
COPY cubicle/browser.py cubicle/live_browser.py cubicle/pages.py /app/
WORKDIR /tmp
USER 1000:1000
CMD ["/usr/bin/python3", "-I", "/app/browser.py"]
