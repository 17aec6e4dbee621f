# The package resolver's image: what looks packages up and fetches them, in a container that is thrown away after each task. No
# cubicle runs it, and it runs nothing that it fetches. Python and Node are those of the cubicle, from Debian's own archive.

ARG BASE=debian:bookworm-slim

FROM ${BASE}
# The apt settings of the host (a proxy, say), one `-o Name=Value` each; usually empty.
ARG APT_OPTIONS=""
COPY cubicle/install /usr/local/sbin/cubicle-install
RUN /usr/local/sbin/cubicle-install ca-certificates nodejs npm python3 python3-pip
ENV LANG=C.UTF-8 HOME=/tmp PATH=/usr/bin:/bin
COPY cubicle/gateway.py /app/gateway.py
COPY cubicle/resolver.py /app/resolver.py
WORKDIR /tmp
USER 1000:1000
CMD ["/usr/bin/python3", "-I", "/app/gateway.py", "/usr/bin/python3", "-I", "/app/resolver.py"]
