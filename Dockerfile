# minibroker from scratch: one static binary, any user, data in /var/lib/minibroker.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /out/minibroker ./cmd/minibroker \
 && mkdir -p /out/image/var/lib && mkdir -m 1777 /out/image/var/lib/minibroker

FROM scratch
COPY --from=build /out/minibroker /minibroker
# open to every user, as is a new volume that is mounted over it
COPY --from=build /out/image/ /
USER 65532:65532
VOLUME /var/lib/minibroker
EXPOSE 9092
# Defaults, which KAFKA_* variables, a properties file and flags go over.
ENV MINIBROKER_DATA_DIR=/var/lib/minibroker MINIBROKER_LISTEN=0.0.0.0:9092
ENTRYPOINT ["/minibroker"]
