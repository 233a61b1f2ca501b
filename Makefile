# make help lists the targets.
GO ?= go
FUZZTIME ?= 5m
ROUNDS ?= 500
STREAMS ?= 20
CONNECT ?= 20
TOPICS ?= 1000,5000
PIPELINE ?= 50
MINUTES ?= 30
BASE ?=
PKGS = ./...

.PHONY: $(shell sed -nE 's/^([a-z]+):.*/\1/p' Makefile)

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: ## start a broker on 127.0.0.1:9092 with its data in ./minibroker-data
	$(GO) run ./cmd/minibroker

build: ## build bin/minibroker, static and small
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/minibroker ./cmd/minibroker

test: ## all tests but the slow suites; what needs Java says so where Java or Maven is missing
	$(GO) vet $(PKGS)
	$(GO) test -timeout 18m -json $(PKGS) | $(GO) run ./internal/testreport

check: ## formatting, vet, the house rules, and module files that are tidy
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these'; exit 1; }
	$(GO) vet $(PKGS)
	$(GO) vet -tags images ./integration
	$(GO) test ./internal/lint
	$(GO) mod tidy -diff

race: ## all tests under the race detector
	$(GO) test -race -timeout 20m $(PKGS)

fuzz: ## every fuzz target for FUZZTIME (5m), one after the other
	@internal/fuzzall.sh $(FUZZTIME)

torture: ## kill -9 under load, ROUNDS (500) times
	MINIBROKER_TORTURE_ROUNDS=$(ROUNDS) $(GO) test -timeout 60m -count 1 -run TestTorture -v ./integration

pipeline: ## exactly-once pipelines in Java, Python and Go while they and the broker are killed, PIPELINE (50) times
	MINIBROKER_PIPELINE_ROUNDS=$(PIPELINE) $(GO) test -timeout 60m -count 1 -run TestPipeline -v ./integration

handover: ## minibroker and Apache Kafka on one data directory, there and back three times, with clean stops and with kill -9
	MINIBROKER_HANDOVER_ROUNDS=3 $(GO) test ./integration -count=1 -timeout 20m -run 'TestHandover|TestCleaningHandover|TestGroupsHandOver|TestCaptures' -v

clients: ## groups of each client library in each protocol: members come, crash, return and leave
	MINIBROKER_ALL_CLIENTS=1 $(GO) test ./integration -count=1 -timeout 20m -run TestMembersComeAndGo -v

suites: ## the test suites of Kafka's clients against a fresh broker each, then COMPATIBILITY.md; make suite-NAME runs one; with KAFKA_HOME against Apache Kafka too
	$(GO) build -o bin/suites ./suites
	bin/suites all
	test -z "$$KAFKA_HOME" || bin/suites -broker kafka all

fastsuites: ## the fast part of three of these suites, on ports that are free, compared with suites/results; part of every submission's checks
	$(GO) build -o bin/suites ./suites
	bin/suites fast

suite-%:
	$(GO) build -o bin/suites ./suites
	bin/suites $*
	test -z "$$KAFKA_HOME" || bin/suites -broker kafka $*

streams: ## a Kafka Streams application, exactly once, killed with the broker STREAMS (20) times, on minibroker and on Apache Kafka
	MINIBROKER_STREAMS_ROUNDS=$(STREAMS) $(GO) test ./integration -count=1 -timeout 60m -run TestStreams -v

connect: ## two workers of Kafka Connect, exactly-once sources, ended and killed with the broker CONNECT (20) times, on minibroker and on Apache Kafka
	MINIBROKER_CONNECT_ROUNDS=$(CONNECT) $(GO) test ./integration -count=1 -timeout 60m -run TestConnect -v

bench: ## all brokers side by side and the machine's limits, three rounds: about an hour; KAFKA_HOME names Kafka, KLITE klite, BENCH more flags
	$(GO) run ./bench report $(BENCH)

costs: ## what one more partition, connection or segment costs
	$(GO) run ./bench cost $(BENCH)

benchdocs: ## costs and bench, with their tables put into docs/benchmarks.md
	$(GO) run ./bench cost -docs docs/benchmarks.md
	$(GO) run ./bench report -docs docs/benchmarks.md -json bin/bench.json $(BENCH)

soak: ## everything at once for MINUTES (30), in which nothing may grow
	$(GO) run ./bench soak -minutes $(MINUTES) $(BENCH)

benchcompare: ## the Go benchmarks of this tree against BASE (the parent commit), in turns; fails where something allocates more
	$(GO) run ./bench compare -base "$(BASE)" $(BENCH)

gobench: ## Go benchmarks of the hot paths, with allocations
	$(GO) test -run '^$$' -bench . -benchmem $(PKGS)

images: image ## both container images, and all that is tried on them; needs a Docker daemon and docker-compose
	docker build -f images/compat/Dockerfile -t minibroker:compat .
	docker images minibroker
	MINIBROKER_COMPAT_IMAGE=minibroker:compat $(GO) test -tags images ./integration -count=1 -timeout 20m -run 'TestContainerModules|TestComposeFiles' -v

cleanbench: ## compaction beside Apache Kafka (a case of bench)
	$(GO) run ./bench report -only '^compaction' -peers kafka,minibroker $(BENCH)

txnbench: ## transactions beside Apache Kafka (a case of bench)
	$(GO) run ./bench report -only '^transactions' -peers kafka,minibroker $(BENCH)

groupbench: ## groups beside Apache Kafka (cases of bench)
	$(GO) run ./bench report -only '^groups|^idle' -peers kafka,minibroker $(BENCH)

topicbench: ## TOPICS (1000,5000) topics and 10,000 partitions, made and started with, beside Apache Kafka (cases of bench)
	$(GO) run ./bench report -only '^topics|^partitions' -topics $(TOPICS) -peers kafka,minibroker $(BENCH)

image: ## container image minibroker:latest, from scratch
	docker build -t minibroker:latest .

tidy: ## bring go.mod and go.sum in order, those of examples/gotest and bench/kfake too
	$(GO) mod tidy
	cd bench/kfake && $(GO) mod tidy
	cd examples/gotest && $(GO) mod tidy
